"""An exception in any word: told as a bug, and the session goes on in every face."""

import asyncio
import dataclasses
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rdmalab.lab import Lab
from rdmalab.shell import face_requests
from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.reply_text import say
from rdmalab.shell.script import pause
from rdmalab.vocabulary import VOCABULARY
from tests.labs import RECV, SEND, everything, lab_of
from tests.logs import close_all, opened
from tests.shell.prompts import Prompt
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
# A lab in which two words raise: `faults` looks, `dereg_mr` has changed the world by then.
BROKEN = """
import dataclasses, functools, sys
from rdmalab.vocabulary import VOCABULARY

def broken(real):
    @functools.wraps(real)
    def function(*given, **named):
        real(*given, **named)
        raise ZeroDivisionError("\\x1b[2Jof nothing")
    return function

for name in ("faults", "dereg_mr"):
    word = VOCABULARY[name]
    VOCABULARY[name] = dataclasses.replace(word, function=broken(word.function))
from rdmalab.cli import main
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def break_word(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that does its work, and raises then."""
    word = VOCABULARY[name]

    @functools.wraps(word.function)
    def broken(*given: Any, **named: Any) -> Any:
        word.function(*given, **named)
        raise ZeroDivisionError("of nothing")

    monkeypatch.setitem(VOCABULARY, name, dataclasses.replace(word, function=broken))


@pytest.mark.parametrize("name", [name for name in VOCABULARY if name != "quit"])
def test_no_word_ends_a_session(name: str, monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    raises, word = True, VOCABULARY[name]

    @functools.wraps(word.function)
    def broken(*given: Any, **named: Any) -> Any:
        nonlocal raises
        if raises:
            raises = False
            raise ZeroDivisionError("of nothing")
        return word.function(*given, **named)

    prompt = Prompt("use rc_pair", RECV, SEND, "step 2", width=1000)
    before = everything(prompt.lab)
    monkeypatch.setitem(VOCABULARY, name, dataclasses.replace(word, function=broken))
    example = next(line for line in word.documentation.splitlines() if "Example: " in line)
    printed = prompt.ask(example.partition("Example: ")[2])
    if prompt.conversation.end is LineEnd.BUG:
        assert len(printed) == 1
        assert printed[0].startswith("a bug in rdmalab ")
        assert (
            "ZeroDivisionError: of nothing; the state before this command is restored" in printed[0]
        )
        assert Path(printed[0].rpartition("report: ")[2]).parent == state / "bugs"
    else:  # its example needs more than a pair
        assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert everything(prompt.lab) == before
    monkeypatch.undo()
    assert prompt.ask("run")[-1].startswith("2.215 us after")


@pytest.mark.parametrize("line", ["dereg_mr B.mr0", "alloc_pd A.pd7; dereg_mr A.mr0; run"])
def test_a_word_that_had_changed_the_world_is_undone(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = Prompt("use rc_pair", RECV, SEND, "step 2")
    twin = lab_of(RECV, SEND, "step 2", *(["alloc_pd A.pd7"] if ";" in line else []))
    with monkeypatch.context() as patched:
        break_word("dereg_mr", patched)
        prompt.ask(line)
    assert prompt.conversation.end is LineEnd.BUG
    assert everything(prompt.lab) == everything(twin)


def test_a_short_form_ends_at_the_verb_that_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = Prompt()
    with monkeypatch.context() as patched:
        break_word("create_cq", patched)
        prompt.ask("use rc_pair")
    assert prompt.conversation.end is LineEnd.BUG
    assert prompt.lab.session.names.all() == ["A", "B", "A.pd0", "A.mr0"]
    assert prompt.ask("create_cq A.cq0 cqe=16")[0].startswith("ok [ev 2]")


def test_a_run_that_raises_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    from rdmalab.hca.device import Hca

    prompt = Prompt("use rc_pair", RECV, SEND, "step")
    before = everything(prompt.lab)
    real: Callable[..., None] = Hca.receive

    def broken(*given: Any) -> None:
        real(*given)
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(Hca, "receive", broken)
        prompt.ask("run")
    assert prompt.conversation.end is LineEnd.BUG
    assert not prompt.conversation.running
    assert everything(prompt.lab) == before
    assert prompt.ask("run")[-1].startswith("2.215 us after")


def test_an_exception_while_printing_is_reported_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = Prompt("use rc_pair")
    before = everything(prompt.lab)
    real = say

    def broken(output: Any, reply: Any) -> Any:
        if not reply.bug:
            raise ZeroDivisionError
        return real(output, reply)

    with monkeypatch.context() as patched:
        patched.setattr("rdmalab.shell.evaluation.say", broken)
        assert prompt.ask("alloc_pd A.pd7")[0].startswith("a bug in rdmalab")
    assert everything(prompt.lab) == before


def test_a_bug_while_a_scenario_is_opened_leaves_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompt = Prompt("use rc_pair", "load scenarios/rc/send.rdmalab.yaml", "next")
    before, lesson = prompt.lab.session, prompt.conversation.lesson

    async def broken(evaluation: Any, *_given: Any) -> None:
        evaluation.conversation.start_over(Lab().session)
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        request = type(VOCABULARY["new"].function(None))
        patched.setitem(face_requests.REQUEST_HANDLERS, request, broken)
        prompt.ask("new")
    assert prompt.conversation.end is LineEnd.BUG
    assert prompt.lab.session is before
    assert prompt.conversation.lesson is lesson


def test_what_raised_is_not_carried_out_when_the_session_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = Prompt("use rc_pair", log=opened(tmp_path))
    with monkeypatch.context() as patched:
        break_word("dereg_mr", patched)
        prompt.ask("alloc_pd A.pd7; dereg_mr A.mr0; alloc_pd A.pd8")
    prompt.ask("alloc_pd A.pd9")
    close_all()
    again = Prompt("continue", log=opened(tmp_path), width=200)
    assert again.printed[0][0][1].startswith("Continued: 3 lines")
    assert everything(again.lab) == everything(prompt.lab)


def test_output_that_cannot_be_written_is_no_bug() -> None:
    prompt = Prompt()

    def closed(_line: Any) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        asyncio.run(prompt.conversation.evaluate("use rc_pair", closed, pause))


# --------------------------------------------------------------------------- from outside
def broken_lab(*arguments: str) -> list[str]:
    return [sys.executable, "-c", BROKEN, *arguments]


def played(*arguments: str, state: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RDMALAB_STATE": str(state)}
    return subprocess.run(
        broken_lab("repl", *arguments), check=False, capture_output=True, text=True,
        env=environment, timeout=120,
    )  # fmt: skip


LINES = ("-c", "use rc_pair", "-c", "dereg_mr A.mr0", "-c", "show qp")


def test_a_script_ends_there_with_3(state: Path) -> None:
    done = played(*LINES, state=state)
    assert done.returncode == 3
    assert done.stderr.startswith("-c 2: a bug in rdmalab ")
    (report,) = (state / "bugs").iterdir()
    assert "> dereg_mr A.mr0\n" in report.read_text(encoding="utf-8")


def test_json_has_all_up_to_there(state: Path) -> None:
    done = played(*LINES, "--json", state=state)
    replies = json.loads(done.stdout)["replies"]
    assert done.returncode == 3
    assert replies[-1]["error"]["kind"] == "bug"
    assert replies[-1]["line"] == "dereg_mr A.mr0"
    assert len(replies) > 10


@pytest.mark.parametrize(
    "face", [(), ("repl",), ("repl", "--plain")], ids=["app", "prompt", "plain"]
)
def test_an_interactive_face_goes_on(face: tuple[str, ...], state: Path) -> None:
    size = {"COLUMNS": "", "LINES": ""}
    env = {"RDMALAB_STATE": str(state), "PYTHONPATH": str(ROOT), **size}
    with Terminal(broken_lab(*face), columns=120, rows=40, cwd=ROOT, env=env) as it:
        it.wait_for("A>")
        it.send(b"alloc_pd A.pd8\r")
        it.wait_for("A.pd8")
        for line in (b"faults\r", b"dereg_mr B.mr7\r", b"dereg_mr A.mr0\r", b"faults\r"):
            it.send(line)
        it.wait_until(lambda rows: sum("a bug in rdmalab" in row for row in rows) >= 2)
        it.send(b"dealloc_pd A.pd8\r")
        it.wait_for("A.pd8 is destroyed")
        it.send(b"quit\r")
        assert it.wait_exit() == 0
        assert b"Traceback" not in it.raw
        assert b"\x1b[2J" + b"of" not in it.raw
