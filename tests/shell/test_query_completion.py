from rdmalab.shell.legal_values import question_choices, sentence
from tests.shell.prompts import Prompt


def test_paths_go_on_and_say_what_they_are() -> None:
    session = Prompt("use rc_pair").lab.session
    found = dict(question_choices(session, "until A.qp0.st", "A.qp0.st"))
    assert found["A.qp0.state"] == "its state"
    assert sentence(session, "qp0.state") == found["A.qp0.state"]
    assert sentence(session, "nonsense") == ""


def test_members_after_a_comparison() -> None:
    session = Prompt("use rc_pair").lab.session
    assert ("ERR", "") in question_choices(session, "until A.qp0.state == ", "")
    assert ("ERR", "") in question_choices(session, "until qp0.state != E", "E")
    assert question_choices(session, "until nothing.here == ", "") != []


def test_filters_of_a_count_and_their_words() -> None:
    session = Prompt("use rc_pair", "checkpoint ready").lab.session

    def words(before: str, partial: str = "") -> list[str]:
        return [text for text, _ in question_choices(session, before + partial, partial)]

    assert {"status=", "wr_id=", "since="} <= set(words("until A.cq0.total("))
    assert {"opcode=", "from=", "since="} <= set(words("until 1 + wire.count(from=A, ", "op"))
    assert "WR_FLUSH_ERR" in words("until A.cq0.total(status!=", "WR")
    assert "ENOMEM" in words("break log.any(errno=")
    assert words("until log.count(since=", "@") == ["@ready", "@start"]
    assert words("until wire.count(from!=") == ["A", "B"]


def test_functions_and_kinds_go_on() -> None:
    session = Prompt("use rc_pair").lab.session
    found = dict(question_choices(session, "until an", "an"))
    assert found["any(A.qp.state == RTS)"].startswith("whether")
    assert "A.qp.state" in dict(question_choices(session, "until any(A.qp.st", "A.qp.st"))
    assert "A.qp0.wr[7].completed_ns" in dict(
        question_choices(session, "until A.qp0.wr", "A.qp0.wr")
    )
