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
    model = AppModel()
    model.begin()
    for line in CARD:
        for style, text in line:
            if style == "class:pygments.keyword" and "FILE" not in text:
                assert model.lab.do(text)[-1].error is None, text


def test_it_begins_with_one_finished_send() -> None:
    model = AppModel()
    model.begin()
    assert model.lab.look("A.cq0.next.status == SUCCESS")
    assert model.lab.look("B.cq0.next.byte_len") == 64
    assert FIRST[0] == "use rc_pair"


async def test_nothing_typed_walks_on() -> None:
    model, lines = AppModel(), list[Line]()
    path = ROOT / "scenarios/rc/send.rdmalab.yaml"
    assert model.way_on == "step"
    assert await model.evaluate(f'load "{path}"', lines.append, pause)
    assert model.is_walking
    assert model.way_on == "next"
    assert model.walk is not None
    before = model.walk.position
    await model.evaluate("", lines.append, pause)
    assert model.walk.position > before
    assert not await model.evaluate("quit", lines.append, pause)


async def test_what_the_face_did_first_comes_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    lines = list[Line]()
    model, again = AppModel(Lab(profile="mlx5", seed=4)), AppModel()
    model.begin()
    with closing(model.keep()) as log:
        assert log.file is None
        await model.evaluate("poll_cq A.cq0", lines.append, pause)
    assert model.offers == []
    with closing(again.keep()):
        assert "A session of 1 line was interrupted" in again.offers[0]
        await again.evaluate("continue", lines.append, pause)
        assert again.session.seed == 4
        traces = [each.session.world.trace for each in (model, again)]
        assert digest(traces[0]) == digest(traces[1])


async def test_at_the_end_tab_takes_what_leads_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    model, lines = AppModel(), list[Line]()
    await model.evaluate("load rc/send", lines.append, pause)
    while model.is_walking:
        await model.evaluate("next", lines.append, pause)
    assert model.offered == model.note_command(1) == "load posting/later"  # as in paths.yaml
    assert model.way_on == "next"  # a step would find nothing
    lines.clear()
    await model.evaluate("next", lines.append, pause)
    assert text_of(lines[0]).startswith("the next lesson: load posting/later")
    await model.evaluate("post_recv B.qp0 sg=B.mr0[0:64]", lines.append, pause)
    await model.evaluate("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", lines.append, pause)
    assert model.way_on == "step"
    await model.evaluate("tour", lines.append, pause)
    for _ in range(40):  # the tour as its hints have it
        line = model.offered or {7: "b", 8: "answer rnr-infinite"}[_open(model)]
        if line.startswith("load "):
            break
        await model.evaluate(line, lines.append, pause)
    assert model.offered == "load labs/by-hand student="  # the id is typed: work without is foreign


def _open(model: AppModel) -> int:
    """The number of the open task."""
    assert model.exercise is not None
    done = [result.passed for result in model.exercise.latest.results]
    return done.index(False) + 1


async def test_tab_takes_the_line_of_the_open_task_or_what_comes_in_a_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    model, lines = AppModel(), list[Line]()
    assert model.offered == ""
    await model.evaluate("load rc/send", lines.append, pause)
    assert model.offered == "post_recv B.qp0 wr_id=11 sg=B.mr0[256:512]"
    await model.evaluate("tour", lines.append, pause)
    assert model.offered.startswith("modify_qp A.qp0 state=INIT")
