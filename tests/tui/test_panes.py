"""Each pane shows the numbers of the sentence it stands for, after every step of five scenarios."""

import re

import pytest

from rdmalab.command import Invocation
from rdmalab.grammar.line import parse
from rdmalab.session.moments import EVENTS_APART, HOT
from rdmalab.shell.show import text_lines
from rdmalab.shell.styled_text import text_of
from rdmalab.tui import layout, pane_table
from rdmalab.tui.pane import Pane
from rdmalab.tui.panes.node import NodePane
from rdmalab.tui.panes.why import WhyPane
from tests.tui.playing import first, playing

SCENARIOS = (
    "rc/send",
    "rc/rdma-read",
    "loss/lost-packet",
    "err/rnr-retry-exceeded",
    "bringup/by-hand",
)
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_pane_and_its_sentence_have_the_same_numbers(name: str) -> None:
    scene, panes = playing(name)
    while scene.walk.next_step() is not None:
        for pane in panes.values():
            shown = set(_NUMBER.findall(f"{text_of(pane.title())}\n{pane.text()}"))
            for sentence in pane.sentences():
                said = _said(pane, sentence)
                missing = set(_NUMBER.findall(said)) - shown
                assert not missing, f"{pane.id} {sentence}: {missing}\n{said}\n---\n{pane.text()}"


def invocation(pane: Pane, sentence: str) -> Invocation:
    (found,) = parse(sentence, pane.stage.session.vocabulary, None, file=True)
    return found


def _said(pane: Pane, sentence: str) -> str:
    """What the sentence says; of a node's memory region the pane has only the first bytes."""
    if isinstance(pane, WhyPane):
        report = pane.stage.session.perform(invocation(pane, sentence)).value
        return "\n".join(report.lines)
    lines = list(text_lines(pane.stage.look(sentence), 120))
    if isinstance(pane, NodePane):
        lines = [line for line in lines if not line.startswith(("+", "! ["))]
    return "\n".join(lines)


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("size", [(1, 1), (20, 3), (38, 6), (58, 13), (98, 40)])
def test_no_pane_is_too_small(name: str, size: tuple[int, int]) -> None:
    scene, panes = playing(name)
    scene.walk.run()
    for pane in panes.values():
        pane.place = layout.PanePlace(str(pane.id), 0, 0, size[0] + 2, size[1] + 2)
        for line in pane._framed(size[0] + 2, size[1] + 2):
            assert len(text_of(line)) == size[0] + 2


def test_what_a_pane_cannot_show_says_so_instead() -> None:
    scene, panes = playing("bringup/by-hand")
    assert scene.walk.position == 0
    assert "use rc_pair" in panes[pane_table.LEFT].text()
    assert "no memory region" in panes[pane_table.MEMORY].text()
    assert panes[pane_table.COMPLETIONS].text()
    assert panes[pane_table.WIRE].text() or panes[pane_table.WIRE].lines(80, 10)


POLLS = "program A.tx lines={poll A.cq0; poll A.cq0}"
ASKS_AGAIN = "post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:64]"


@pytest.mark.parametrize("line", [POLLS, ASKS_AGAIN])
def test_panes_are_drawn_without_replaying_the_past(line: str) -> None:
    """Ten times a second; who looks further back says so."""
    lab, panes = first(line)
    lab.session.max_events = HOT * EVENTS_APART + 5_000
    lab.do("run")
    history = lab.session.history
    assert history.world.trace.first > 0
    for pane in panes.values():
        pane.redraw()
        assert pane.lines(118, 40)
    assert not history.past.stretches


@pytest.mark.parametrize("line", [POLLS, ASKS_AGAIN])
def test_in_the_middle_of_a_long_past_panes_show_what_was_then(line: str) -> None:
    """What a pane shows after any way there is what it shows after any other."""
    lab, panes = first(line)
    lab.session.max_events = 6_000
    lab.do("run")
    lab.do("goto 1500")
    on_the_way = {}
    for event in (1_500, 1_501, 2_047, 2_048, 2_049, 3_000):
        lab.do(f"goto {event}")
        on_the_way[event] = {name: pane.text() for name, pane in panes.items()}
    for event in (3_000, 2_048, 2_047, 1_501, 2_049, 1_500):
        lab.do(f"goto {event}")
        for name, pane in panes.items():
            assert pane.text() == on_the_way[event][name], (event, name)


LINES = (
    "post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]",
    "fault drop B->A nth=1",
    "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
    *["step"] * 8,
    "poll_cq A.cq0 num_entries=4",
    'write B.mr0[100:103] "abc"',
)
OTHERWISE = ("post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[200]", *["step"] * 5)


def _texts(panes: dict[str, Pane]) -> dict[str, str]:
    return {name: f"{text_of(pane.title())}\n{pane.text()}" for name, pane in panes.items()}


def test_every_pane_shows_in_the_past_what_it_showed_then() -> None:
    """The marks of what the event has just touched included; and on a branch what a new lab has."""
    lab, panes = first()
    seen = {}
    for line in LINES:
        assert not lab.do(line)[-1].failed, line
        seen[lab.session.world.event] = _texts(panes)
    for way in (reversed(seen), seen, sorted(seen, key=lambda event: event * 7 % 11)):
        for event in list(way):
            lab.do(f"goto {event}")
            assert lab.session.world.event == event
            assert _texts(panes) == seen[event], event

    other, fresh = first(*LINES[:6])
    lab.do(f"goto {other.session.world.event}")
    for line in OTHERWISE:
        lab.do(line)
        other.do(line)
        assert _texts(panes) == _texts(fresh), line
    lab.do("switch main")
    assert _texts(panes) == seen[max(seen)]
    lab.do("rewind")
    assert "no queue pair yet" in panes[pane_table.LEFT].text()
    lab.do("goto end")
    assert _texts(panes) == seen[max(seen)]
