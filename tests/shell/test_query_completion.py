from rdmalab.shell.query_completion import question_choices, sentence
from tests.shell.talk import Talk


def test_paths_go_on_and_say_what_they_are() -> None:
    session = Talk("use rc_pair").lab.session
    found = dict(question_choices(session, "until A.qp0.st", "A.qp0.st"))
    assert found["A.qp0.state"] == "its state"
    assert sentence(session, "qp0.state") == found["A.qp0.state"]
    assert sentence(session, "nonsense") == ""


def test_members_behind_a_comparison() -> None:
    session = Talk("use rc_pair").lab.session
    assert ("ERR", "") in question_choices(session, "until A.qp0.state == ", "")
    assert ("ERR", "") in question_choices(session, "until qp0.state != E", "E")
    assert question_choices(session, "until nothing.here == ", "") != []
