"""What the application is about."""

from contextlib import closing
from pathlib import Path

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.styled_text import Line, text_of
from rdmalab.tui.app_model import CARD, FIRST, AppModel
from tests.digest import digest
from tests.tui.playing import ROOT


async def pause() -> None:
    pass


def test_the_card_has_five_lines_and_its_commands_are_understood() -> None:
    assert len(CARD) == 5
    assert max(len(text_of(line)) for line in CARD) <= 78
    scene = AppModel()
    scene.begin()
    for line in CARD:
        for style, text in line:
            if style == "class:pygments.keyword" and "FILE" not in text:
                assert scene.lab.do(text)[-1].error is None, text


def test_it_begins_with_one_finished_send() -> None:
    scene = AppModel()
    scene.begin()
    assert scene.lab.look("A.cq0.next.status == SUCCESS")
    assert scene.lab.look("B.cq0.next.byte_len") == 64
    assert FIRST[0] == "use rc_pair"


async def test_nothing_typed_walks_on() -> None:
    scene, said = AppModel(), list[Line]()
    path = ROOT / "scenarios/rc/send.rdmalab.yaml"
    assert scene.way_on == "step"
    assert await scene.evaluate(f'load "{path}"', said.append, pause)
    assert scene.is_walking
    assert scene.way_on == "next"
    assert scene.walk is not None
    before = scene.walk.position
    await scene.evaluate("", said.append, pause)
    assert scene.walk.position > before
    assert not await scene.evaluate("quit", said.append, pause)


async def test_what_the_face_did_first_comes_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    said = list[Line]()
    scene, again = AppModel(Lab(profile="mlx5", seed=4)), AppModel()
    scene.begin()
    with closing(scene.keep()) as diary:
        assert diary.file is None
        await scene.evaluate("poll_cq A.cq0", said.append, pause)
    assert scene.offers == []
    with closing(again.keep()):
        assert "A session of 1 line was interrupted" in again.offers[0]
        await again.evaluate("continue", said.append, pause)
        assert again.session.seed == 4
        traces = [each.session.world.trace for each in (scene, again)]
        assert digest(traces[0]) == digest(traces[1])


async def test_tab_takes_the_line_of_the_open_task_or_what_comes_in_a_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    scene, said = AppModel(), list[Line]()
    assert scene.offered == ""
    await scene.evaluate("load rc/send", said.append, pause)
    assert scene.offered == "post_recv B.qp0 wr_id=11 sg=B.mr0[256:512]"
    await scene.evaluate("tour", said.append, pause)
    assert scene.offered.startswith("modify_qp A.qp0 state=INIT")
