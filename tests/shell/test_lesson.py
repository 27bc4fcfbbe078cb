from rdmalab.shell.conversation import End
from tests.shell.talk import Talk


def test_a_lesson_is_walked_through() -> None:
    talk = Talk("load scenarios/err/rnr-retry-exceeded.rdmalab.yaml")
    first = talk.ask("")
    assert talk.conversation.end is End.FINE
    assert first == []
    assert any("Post a SEND" in row for row in talk.ask("next"))
    assert talk.lab.look("A.qp0.sq.used") == 1
    talk.ask("show")
    for _ in range(6):
        said = talk.ask("next")
    assert "that was all" in said[-1]


def test_a_file_that_is_no_scenario() -> None:
    talk = Talk()
    said = talk.ask("load pyproject.toml")
    assert talk.conversation.end is End.NOT_UNDERSTOOD
    assert said[0].startswith("pyproject.toml")
