"""The first and the last line."""

import pytest

from rdmalab.shell.fragments import text_of
from rdmalab.tui.bars import footer_line, header_line
from rdmalab.tui.scene import Scene
from rdmalab.tui.stage import Stage


def header(scene: Scene, width: int) -> str:
    return text_of(header_line(Stage(scene), scene, width))


def test_the_header_says_where_time_and_link_stand() -> None:
    scene = Scene()
    scene.begin()
    said = header(scene, 120)
    for text in ("t=2.215us", "ev 20", "paused", "link UP", "seed=0", "nothing planned", "strict"):
        assert text in said
    for line in ("fault drop A->B nth=1", "fault drop B->A nth=1", "link down"):
        scene.lab.do(line)
    assert "link ! DOWN" in header(scene, 120)
    assert "! 2 faults" in header(scene, 120)


@pytest.mark.parametrize("width", [0, 1, 10, 40, 80])
def test_the_least_important_gives_way(width: int) -> None:
    scene = Scene()
    scene.begin()
    said = header(scene, width)
    assert len(said.rstrip()) <= width
    assert ("seed" in said) <= ("ev 20" in said)


def test_the_footer_knows_where_the_focus_is() -> None:
    scene = Scene()
    assert "Tab Complete" in text_of(footer_line(scene, 80, in_pane=False))
    assert "Esc Prompt" in text_of(footer_line(scene, 80, in_pane=True))
