"""The first and the last line."""

import pytest

from rdmalab.shell.styled_text import text_of
from rdmalab.tui.app_model import AppModel
from rdmalab.tui.console.paint import Paint
from rdmalab.tui.status_bars import footer_line, header_line
from rdmalab.tui.stylesheet import sheet
from rdmalab.tui.world_view import WorldView
from tests.tui.playing import first


def header(scene: AppModel, width: int) -> str:
    return text_of(header_line(WorldView(scene), scene, width))


def test_the_header_says_where_time_and_link_stand() -> None:
    scene = AppModel()
    scene.begin()
    said = header(scene, 120)
    for text in ("t=2.215us", "ev 20", "paused", "link UP", "seed=0", "nothing planned", "strict"):
        assert text in said
    for line in ("fault drop A->B nth=1", "fault drop B->A nth=1", "link down"):
        scene.lab.do(line)
    assert "link ! DOWN" in header(scene, 120)
    assert "! 2 faults" in header(scene, 120)


def test_the_past_a_branch_and_breakpoints_are_told() -> None:
    scene = AppModel()
    scene.begin()
    assert "ev 20 LIVE" in header(scene, 80)
    assert "branch" not in header(scene, 200)
    for line in ("back", "break A.qp0.state == ERR"):
        scene.lab.do(line)
    assert "ev 19/20  PAST " in header(scene, 80)
    assert "1 break " in header(scene, 80)
    for line in ("alloc_pd A.pd7", "watch B.qp0.state"):
        scene.lab.do(line)
    for text in ("ev 20 LIVE", "branch-1 of 2", "2 breaks"):
        assert text in header(scene, 80)
    scene.lab.do("switch main")
    assert "branch main of 2" in header(scene, 80)


@pytest.mark.parametrize("colour", [True, False])
def test_the_past_looks_unlike_the_rest_of_the_header(colour: bool) -> None:
    paint = Paint(sheet(colour=colour), colour=colour)
    past, rest = paint.style("class:bar.past"), paint.style("class:bar")
    assert rest.reverse
    assert not past.reverse
    assert past.bold


@pytest.mark.parametrize("width", [0, 1, 10, 40, 80])
def test_the_least_important_gives_way(width: int) -> None:
    scene = AppModel()
    scene.begin()
    said = header(scene, width)
    assert len(said.rstrip()) <= width
    assert ("seed" in said) <= ("ev 20" in said)


def test_the_footer_knows_where_the_focus_is() -> None:
    scene = AppModel()
    _, panes = first()
    assert "Tab Complete" in text_of(footer_line(scene, 80, None))
    assert "Esc Prompt" in text_of(footer_line(scene, 80, panes["wire"]))
    panes["why"].text()
    assert "Esc Prompt  c Checklist" in text_of(footer_line(scene, 80, panes["why"]))
