"""Words that ask something of the face: handed out, handed on, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdmalab.classroom.progress import done
from rdmalab.scenario.share_text import shared
from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.face_requests import REQUEST_HANDLERS
from rdmalab.workbench.files import Open, Shared
from rdmalab.workbench.settings import read
from tests.diaries import close_all, opened
from tests.digest import digest
from tests.labs import RECV, SEND
from tests.shell.talk import Talk

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = """rdmalab: 1
title: endless
steps:
  - use rc_pair rnr_retry=7 min_rnr_timer=1
  - post_send A.qp0 opcode=SEND sg=A.mr0[0:64]
  - run: step 15000
  - run: step 15000
"""


def world_of(talk: Talk) -> str:
    return digest(talk.lab.session.world.trace)


def test_each_request_has_a_handler() -> None:
    assert {Open, Shared} < set(REQUEST_HANDLERS)


def test_a_folder_of_lessons_is_listed() -> None:
    talk = Talk("use rc_pair", width=100)
    first, *rows = talk.ask("load err")
    assert first == "err is a folder; load one of its lessons:"
    named = [name for row in rows for name in row.split() if name.startswith("err/")]
    assert {"err/rnr-retry-exceeded", "err/bad-response"} <= set(named)
    assert talk.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert talk.lab.look("A.qp0.state == RTS")


def test_a_folder_without_lessons_of_ours_is_said_to_be_one(tmp_path: Path) -> None:
    assert "Is a directory" in Talk().ask(f"load {tmp_path}")[0]


def test_what_one_shares_another_opens() -> None:
    one = Talk("use rc_pair", RECV, SEND, "run", "modify_qp A.qp0 state=INIT", "run 3us", width=40)
    (word,) = one.ask("share")
    assert len(word) > 40  # never folded
    other = Talk("node B", "alloc_pd A.pd3")
    assert other.ask(f"open {word}") == ["20 steps; it is 5.215 us, event 20"]
    assert other.conversation.end is LineEnd.FINE
    assert world_of(other) == world_of(one)
    assert other.lab.session.default_node == "B"
    assert other.ask("show A.qp0")[0] == "A.qp0"
    assert other.ask("share") == [word]


def test_where_there_is_a_clipboard_it_is_there_too() -> None:
    talk, copied = Talk("use rc_pair"), list[str]()

    def copy(text: str) -> str:
        copied.append(text)
        return "copied"

    talk.conversation.copy = copy
    said = talk.ask("share")
    assert copied == [said[0]]
    assert said[1:] == ["copied"]


def test_a_face_is_told_that_a_setting_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    talk, themes = Talk(), list[str]()
    talk.conversation.settings_changed = lambda: themes.append(read().theme)
    talk.ask("settings theme")
    assert "theme = light, in " in " ".join(talk.ask("set theme light"))
    assert themes == ["light"]


def test_lessons_are_listed_and_those_walked_to_their_end_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    talk = Talk(width=100)
    rows = talk.ask("lessons basics")
    assert rows[3].split()[:2] == ["2", "rc/send"]
    assert rows[1].startswith("basics: ")
    talk.ask("load rc/send")
    for _ in range(20):
        assert "rc/send" not in done()
        if "end of the lesson" in " ".join(talk.ask("next")):
            break
    assert done() == {"rc/send"}
    assert talk.ask("lessons basics")[3].split()[:4] == ["2", "✓", "done", "rc/send"]
    assert 'no lesson has "bassics"' in talk.ask("lessons bassics")[0]
    assert talk.conversation.end is LineEnd.NOT_UNDERSTOOD


def test_a_lesson_that_fails_is_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    file = tmp_path / "x.rdmalab.yaml"
    file.write_text("rdmalab: 1\ntitle: x\nsteps:\n  - do: show\n    expect: [now == 1]\n")
    assert "failed" in " ".join(Talk().ask(f'load "{file}"; next'))
    assert done() == frozenset()


def test_a_damaged_text_changes_nothing() -> None:
    talk = Talk("use rc_pair")
    (word,) = talk.ask("share")
    before = talk.lab.session
    said = talk.ask(f"open {word[:-3]}x")
    assert " ".join(" ".join(said).split()).startswith(
        "not understood (nothing happened): this cannot be opened: the text is damaged or "
    )
    assert talk.lab.session is before
    assert talk.conversation.end is LineEnd.NOT_UNDERSTOOD


def test_what_is_shared_and_no_scenario_is_told_with_its_place() -> None:
    talk = Talk()
    said = talk.ask(f"open {shared('rdmalab: 1')}")
    assert said[0].startswith("shared:1:1: ")
    word = shared("rdmalab: 1\ntitle: x\nsteps:\n  - save x.yaml\n")
    assert "save works at the prompt only, not in a scenario" in talk.ask(f"open {word}")[0]


def test_an_opening_that_fails_says_where() -> None:
    word = shared("rdmalab: 1\ntitle: x\nsteps:\n  - alloc_pd A.pd0\n  - dealloc_pd A.pd1\n")
    talk = Talk()
    said = talk.ask(f"open {word}")
    assert "shared:5" in said[0]
    assert talk.conversation.end is LineEnd.FAILED


def test_a_long_one_can_be_stopped_and_comes_back_as_far_as_it_went(tmp_path: Path) -> None:
    from tests.shell.test_session_recovery import stop_after

    talk = Talk(diary=opened(tmp_path))
    stop_after(talk, f"open {shared(ENDLESS)}", 5)
    event = talk.lab.session.world.event
    assert 0 < event < 30000
    close_all()
    again = Talk("continue", diary=opened(tmp_path))
    assert (again.lab.session.world.event, world_of(again)) == (event, world_of(talk))


# --------------------------------------------------------------------------- an empty world
def test_new_makes_an_empty_world_of_the_same_devices() -> None:
    talk = Talk("use rc_pair", RECV, SEND, "run", profile="rxe")
    said = talk.ask("new")
    assert said == ["Empty world: nodes A (rxe), B (rxe); time 0. use rc_pair makes a connection."]
    world = talk.lab.session.world
    assert (world.event, world.now_ns) == (-1, 0)
    assert {hca.profile.name for hca in world.nodes.values()} == {"rxe"}
    assert talk.lab.session.names.all() == ["A", "B"]
    assert talk.conversation.end is LineEnd.FINE


def test_new_is_undone_by_continue(tmp_path: Path) -> None:
    talk = Talk("use rc_pair", RECV, SEND, "run", diary=opened(tmp_path), width=200)
    before = world_of(talk)
    said = talk.ask("new; alloc_pd A.pd9")
    assert said[1] == "continue restores the previous session."
    assert talk.lab.session.names.find("A.pd9") is not None
    assert talk.lab.session.names.find("A.qp0") is None
    talk.ask("continue")
    assert world_of(talk) == before


def test_what_is_typed_after_new_is_a_session_of_its_own(tmp_path: Path) -> None:
    talk = Talk("use rc_pair", "new", "alloc_pd A.pd9", diary=opened(tmp_path))
    close_all()
    again = Talk("continue", diary=opened(tmp_path))
    assert world_of(again) == world_of(talk)
    assert again.lab.session.names.find("A.qp0") is None


def test_new_after_a_lesson_has_the_devices_of_the_lab() -> None:
    word = shared(ENDLESS.replace("title: endless", "title: x\nnodes:\n  A: {profile: rxe}"))
    talk = Talk(f"open {word}", "new", "alloc_pd A.pd0")
    assert talk.lab.session.world.nodes["A"].profile.name == "strict"
    assert "no scenario is loaded" in talk.ask("next")[0]


@pytest.mark.parametrize("line", ["clear", "restart", "reset world", "reset all", "cls", "CLEAR"])
def test_words_that_people_type_for_an_empty_world_name_it(line: str) -> None:
    assert any("new makes an empty world" in row for row in Talk("use rc_pair").ask(line))


def test_help_tells_the_way_to_the_beginning() -> None:
    assert any("goto start" in row for row in Talk().ask("help goto"))
    assert any("goto start" in row for row in Talk().ask("help new"))


def test_a_request_to_the_screen_is_for_the_app_only() -> None:
    talk = Talk("use rc_pair")
    assert talk.ask("copy wire") == ["copy: only in the app, which is started with rdmalab"]
    assert talk.conversation.end is LineEnd.NOT_UNDERSTOOD
    talk.conversation.screen = lambda request: f"{request.word} {request.what} {request.file}"
    assert talk.ask("snapshot ladder file=x.svg") == ["snapshot ladder x.svg"]
