import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.styled_text import Line, text_of
from tests.shell.prompts import Prompt

if TYPE_CHECKING:
    from rdmalab.shell.conversation import Conversation


def test_it_stops_between_two_events_and_goes_on() -> None:
    prompt = Prompt("use rc_pair min_rnr_timer=1", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    conversation: Conversation = prompt.conversation
    pauses = 0
    printed: list[Line] = []

    async def pause() -> None:
        nonlocal pauses
        pauses += 1
        assert conversation.running
        if pauses == 3:
            conversation.stop()

    assert asyncio.run(conversation.evaluate("run 10000s", printed.append, pause))
    assert conversation.end is LineEnd.STOPPED
    assert not conversation.running
    assert "stopped" in " ".join(map(text_of, printed))
    world = prompt.lab.session.world
    assert world.trace.records[-1][0] == world.event
    prompt.ask("post_recv B.qp0 sg=B.mr0[0:64]", "run")
    assert prompt.lab.look("A.qp0.sq.acked") == 1


def test_nothing_runs_after_a_stop_in_the_same_line() -> None:
    prompt = Prompt("use rc_pair min_rnr_timer=1", "post_send A.qp0 opcode=SEND")

    async def pause() -> None:
        prompt.conversation.stop()

    printed: list[Line] = []
    asyncio.run(prompt.conversation.evaluate("run 10000s ; alloc_pd A.pd9", printed.append, pause))
    assert prompt.lab.session.names.find("A.pd9") is None


def test_a_paste_stops_at_its_first_mistake() -> None:
    prompt = Prompt()
    printed = prompt.ask("alloc_pd A.pd0\nalloc_pd A.pd0\nalloc_pd A.pd1")
    assert printed[-1] == "stopped at line 2 of 3."
    assert prompt.lab.session.names.find("A.pd1") is None


def test_a_paste_of_a_command_that_the_screen_has_folded_is_one_command() -> None:
    prompt = Prompt()
    prompt.ask(
        "A> use rc_pair\nA> post_send A.qp0 wr_id=3 opcode=SEND\n      sg=A.mr0[0:5]\nrun 1us"
    )
    assert prompt.conversation.end is LineEnd.FINE
    assert prompt.lab.look("A.qp0.wr[3].length") == 5


def test_quit_leaves() -> None:
    prompt = Prompt("quit")
    assert prompt.conversation.end is LineEnd.LEFT


def test_export_writes_a_capture_or_prints_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prompt = Prompt("use rc_pair")
    assert prompt.ask("export pcapng run.pcapng") == ["run.pcapng: 0 frames"]
    assert (tmp_path / "run.pcapng").exists()
    assert prompt.ask("export pcapng no/such/run.pcapng") == [
        "not understood (nothing happened): no/such/run.pcapng cannot be written: No such",
        "       file or directory",
        "  export pcapng no/such/run.pcapng",
        "                ^^^^^^^^^^^^^^^^^^",
        "  name a file in an existing directory with write permission",
    ]
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD


RNR = ("use rc_pair rnr_retry=7", "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64]")


@pytest.mark.parametrize("line", ["share", "save kept", "export pcapng kept.pcapng"])
def test_what_takes_long_ends_when_it_is_interrupted(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half written remains, and the world is where it was; the next line is done."""
    monkeypatch.chdir(tmp_path)
    prompt = Prompt(*RNR, "step 80000", "step 10")
    here, count = prompt.lab.session.history.here, len(prompt.lab.session.world.trace.records)
    threading.Timer(0.05, prompt.conversation.interrupt).start()
    assert prompt.ask(line) == ["stopped: the command changed and wrote nothing"]
    assert prompt.conversation.end is LineEnd.STOPPED
    assert not list(tmp_path.iterdir())
    assert prompt.lab.session.history.here == here
    assert prompt.lab.session.history.live
    assert len(prompt.lab.session.world.trace.records) == count
    prompt.ask("step 1")
    assert prompt.lab.session.world.event == here.event + 1


def test_a_stopped_run_prints_its_events() -> None:
    prompt = Prompt(*RNR, "step 40000")
    printed: list[Line] = []

    async def pause() -> None:
        prompt.conversation.stop()

    asyncio.run(prompt.conversation.evaluate("run 10000s", printed.append, pause))
    texts = [text_of(line) for line in printed]
    assert texts[0].startswith("ev 40015")
    assert "stopped" in texts[-1] or "stopped" in texts[-2]
    assert not any("changed and wrote nothing" in text for text in texts)
