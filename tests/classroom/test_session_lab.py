"""A lab that is made of a session passes `lab check`, and asks for what has happened."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from rdmalab.classroom import trust
from rdmalab.classroom.model import Bars
from rdmalab.classroom.session_lab import NoLab, lab_of, lines_of
from rdmalab.cli import Exit, main
from rdmalab.scenario.source import FileError
from tests.classroom.labs import TEMPLATE, loaded, passed
from tests.shell.prompts import Prompt

SESSIONS = {
    "a message": """
        use rc_pair
        write A.mr0[0:5] "hello"
        post_recv B.qp0 sg=B.mr0[0:64]
        post_send A.qp0 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED
        run 1ms
    """,
    "a retry that fails": """
        use rc_pair rnr_retry=1 min_rnr_timer=1
        post_send A.qp0 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED
        run
    """,
    "a receive that comes late": """
        use rc_pair
        post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED
        run 10us
        post_recv B.qp0 sg=B.mr0[0:64]
        run 2s
        poll_cq A.cq0
    """,
    "a full queue and a fault": """
        use rc_pair max_send_wr=1
        fault drop A->B nth=1
        post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]
        post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]
        run 1s
        modify_qp A.qp0 state=ERR
    """,
    "a refused call before the first request": """
        use rc_pair
        modify_qp A.qp0 state=INIT
        post_recv B.qp0 sg=B.mr0[0:64]
        post_send A.qp0 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED
        run
    """,
    "a program": """
        use rc_pair
        post_recv B.qp0 sg=B.mr0[0:64]
        program A.tx lines={post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; poll A.cq0}
        run 1ms
    """,
}


def text_of(name: str) -> str:
    return re.sub(r"(?m)^ +", "", SESSIONS[name]).strip()


@pytest.mark.parametrize("name", SESSIONS)
def test_a_lab_of_a_session_is_one_that_check_accepts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("typed.lines").write_text(text_of(name))
    assert main(["lab", "new", "mine", "--from-session", "typed.lines"]) == Exit.WELL
    assert main(["check", "mine.lab.yaml"]) == Exit.WELL
    code = main(["lab", "check", "mine.lab.yaml", "--students", "2"])
    assert code == Exit.WELL, capsys.readouterr()
    assert main(["lab", "publish", "mine.lab.yaml", "-o", "handout.lab.yaml"]) == Exit.WELL


def test_goals_are_completions_bytes_states_and_refusals() -> None:
    tasks = {
        name: {
            task.id: [goal.question for goal in task.goal or ()]
            for task in loaded(lab_of(lines_of(text_of(name), "x"), "mine")).document.tasks
        }
        for name in ("a message", "a retry that fails", "a full queue and a fault")
    }
    assert tasks["a message"]["bytes"] == ['B.mr0[0:5] == "hello"']
    assert tasks["a message"]["completions"] == [
        "B.cq0.total(status=SUCCESS, opcode=RECV, byte_len=16) >= 1",
        "A.cq0.total(status=SUCCESS, opcode=SEND) >= 1",
        "wire.count(opcode=SEND_ONLY, from=A, length=16) >= 1",
    ]
    failed = tasks["a retry that fails"]
    assert failed["completions"] == [
        "A.cq0.total(status=RNR_RETRY_EXC_ERR) >= 1",
        "wire.count(opcode=SEND_ONLY, from=A, length=16) >= 1",
    ]
    assert failed["states"] == ["A.qp0.state == ERR"]
    assert "refused" in tasks["a full queue and a fault"]


def test_equal_bytes_at_two_places_are_two_goals() -> None:
    """Else a WRITE to any address would pass."""
    text = """
        use rc_pair
        write A.mr0[0:15] "a lecture here!"
        post_recv B.qp0 sg=B.mr0[100:200]
        post_send A.qp0 opcode=SEND sg=A.mr0[0:15] flags=SIGNALED
        run 1ms
        post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:15] remote=B.mr0[512:527] flags=SIGNALED
        run 1ms
    """
    made = loaded(lab_of(lines_of(re.sub(r"(?m)^ +", "", text).strip(), "x"), "mine"))
    (goals,) = (task.goal for task in made.document.tasks if task.id == "bytes")
    assert [goal.question for goal in goals or ()] == [
        'B.mr0[100:115] == "a lecture here!"', 'B.mr0[512:527] == "a lecture here!"',
    ]  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_ways_without_work_get_no_more_than_a_guess_and_no_bar_allows_more(name: str) -> None:
    text = lab_of(lines_of(text_of(name), "x"), "mine")
    assert loaded(text).document.bars == Bars()
    guess = trust.guessed(text, "x", ["1"])
    found = trust.figures(text, "x", ["1"], guess)
    assert [each.wrong for each in found] == [""] * len(trust.WAYS)


@pytest.mark.parametrize(
    "cheat",
    [
        ('write B.mr0[0:5] "hello"',),
        ("program B.p lines={ write B.mr0[0:5] hello }", "run 1us"),
        ("post_recv B.qp0 sg=B.mr0[0:64]", "post_send A.qp0 opcode=SEND flags=SIGNALED", "run 1ms"),
        ("modify_qp A.qp0 state=ERR", "modify_qp B.qp0 state=ERR"),
    ],
)
def test_bytes_of_the_application_and_empty_messages_reach_no_goal(cheat: Sequence[str]) -> None:
    """A line of the session writes, so that `write` is allowed, and not into what B receives."""
    written_later = text_of("a message").replace(
        "post_recv", 'post_recv B.qp0\nwrite A.mr0[9:10] "x"\npost_recv', 1
    )
    for session in (text_of("a message"), written_later):
        text = lab_of(lines_of(session, "x"), "mine")
        assert not any(passed(text, *cheat)), text


def test_the_world_is_what_was_made_before_the_first_request() -> None:
    document = loaded(lab_of(lines_of(text_of("a message"), "x"), "mine")).document
    lines = [step.do or "" for step in document.setup]
    assert any(line.startswith("create_qp A.qp0") for line in lines)
    assert lines[-1].startswith("write A.mr0")
    assert document.solutions is not None
    assert document.solutions.accept[0].lines[0].startswith("post_recv B.qp0")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("use rc_pair", "no request was posted: post one, run, and save again"),
        ("use rc_pair\npost_recv B.qp0 sg=B.mr0[0:8]", "nothing has happened that a goal can ask"),
    ],
)
def test_a_session_without_a_result_is_one_clear_error(text: str, wrong: str) -> None:
    with pytest.raises(NoLab, match=wrong):
        lab_of(lines_of(text, "x"), "mine")


def test_a_line_that_is_not_understood_has_its_place() -> None:
    with pytest.raises(FileError) as caught:
        lines_of("use rc_pair\npost_recv B.qp7", "x.lines")
    assert str(caught.value).startswith("x.lines:2:1: nothing is called B.qp7")


def test_save_writes_a_lab_at_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prompt = Prompt(*text_of("a message").splitlines())
    assert "mine.lab.yaml: edit it, then: rdmalab lab check" in " ".join(
        prompt.ask("save mine.lab.yaml")
    )
    assert main(["lab", "check", "mine.lab.yaml", "--students", "1"]) == Exit.WELL
    again = " ".join(prompt.ask("save mine.lab.yaml"))
    assert "mine.lab.yaml: replaced the previous lab; edit it" in again
    edited = Path("mine.lab.yaml").read_text().replace("title: ", "title: Of my course, ")
    for name, text in (("mine", edited), ("own", TEMPLATE), ("notes", "mine\n")):
        Path(f"{name}.lab.yaml").write_text(text)
        told = " ".join(prompt.ask(f"save {name}.lab.yaml"))
        assert f"{name}.lab.yaml exists and is not a lab as save wrote it; choose another" in told
        assert Path(f"{name}.lab.yaml").read_text() == text
    empty = Prompt("use rc_pair")
    assert "no request was posted" in " ".join(empty.ask("save other.lab.yaml"))
