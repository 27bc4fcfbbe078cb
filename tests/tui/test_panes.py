"""Each pane shows the numbers of the sentence it stands for, after every step of five scenarios."""

import re

import pytest

from rdmalab.shell.fragments import text_of
from rdmalab.shell.show import text_lines
from rdmalab.tui import layout
from rdmalab.tui.pane import Pane
from rdmalab.tui.panes.node import NodePane
from tests.tui.playing import playing

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


def _said(pane: Pane, sentence: str) -> str:
    """What the sentence says; of a node's memory region the pane has only the first bytes."""
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
        pane.place = layout.Place(str(pane.id), 0, 0, size[0] + 2, size[1] + 2)
        for line in pane._framed(size[0] + 2, size[1] + 2):
            assert len(text_of(line)) == size[0] + 2


def test_what_a_pane_cannot_show_says_so_instead() -> None:
    scene, panes = playing("bringup/by-hand")
    assert scene.walk.position == 0
    assert "use rc_pair" in panes[layout.LEFT].text()
    assert "no memory region" in panes[layout.MEMORY].text()
    assert panes[layout.COMPLETIONS].text()
    assert panes[layout.WIRE].text() or panes[layout.WIRE].lines(80, 10)
