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
from tests.digest import digest
from tests.labs import RECV, SEND
from tests.logs import close_all, opened
from tests.shell.prompts import Prompt

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


def world_of(prompt: Prompt) -> str:
    return digest(prompt.lab.session.world.trace)


def test_each_request_has_a_handler() -> None:
    assert {Open, Shared} < set(REQUEST_HANDLERS)


def test_a_folder_of_lessons_is_listed() -> None:
    prompt = Prompt("use rc_pair", width=100)
    first, *rows = prompt.ask("load err")
    assert first == "err is a folder; load one of its lessons:"
    named = [name for row in rows for name in row.split() if name.startswith("err/")]
    assert {"err/rnr-retry-exceeded", "err/bad-response"} <= set(named)
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert prompt.lab.look("A.qp0.state == RTS")


def test_load_of_a_folder_without_lessons_is_refused(tmp_path: Path) -> None:
    assert "Is a directory" in Prompt().ask(f"load {tmp_path}")[0]


def test_what_one_shares_another_opens() -> None:
    one = Prompt(
        "use rc_pair", RECV, SEND, "run", "modify_qp A.qp0 state=INIT", "run 3us", width=40
    )
    (word,) = one.ask("share")
    assert len(word) > 40  # never folded
    other = Prompt("node B", "alloc_pd A.pd3")
    assert other.ask(f"open {word}") == ["20 steps; it is 5.215 us, event 20"]
    assert other.conversation.end is LineEnd.FINE
    assert world_of(other) == world_of(one)
    assert other.lab.session.default_node == "B"
    assert other.ask("show A.qp0")[0] == "A.qp0"
    assert other.ask("share") == [word]


def test_where_there_is_a_clipboard_it_is_there_too() -> None:
    prompt, copied = Prompt("use rc_pair"), list[str]()

    def copy(text: str) -> str:
        copied.append(text)
        return "copied"

    prompt.conversation.copy = copy
    printed = prompt.ask("share")
    assert copied == [printed[0]]
    assert printed[1:] == ["copied"]


def test_settings_changed_is_called_after_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    prompt, themes = Prompt(), list[str]()
    prompt.conversation.settings_changed = lambda: themes.append(read().theme)
    prompt.ask("settings theme")
    assert "theme = light, in " in " ".join(prompt.ask("set theme light"))
    assert themes == ["light"]


def test_lessons_are_listed_and_those_walked_to_their_end_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    prompt = Prompt(width=100)
    rows = prompt.ask("lessons basics")
    assert rows[3].split()[:2] == ["2", "rc/send"]
    assert rows[1].startswith("basics: ")
    prompt.ask("load rc/send")
    for _ in range(20):
        assert "rc/send" not in done()
        if "end of the lesson" in " ".join(prompt.ask("next")):
            break
    assert done() == {"rc/send"}
    assert prompt.ask("lessons basics")[3].split()[:4] == ["2", "✓", "done", "rc/send"]
    assert 'no lesson has "bassics"' in prompt.ask("lessons bassics")[0]
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD


def test_a_lesson_that_fails_is_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    file = tmp_path / "x.rdmalab.yaml"
    file.write_text("rdmalab: 1\ntitle: x\nsteps:\n  - do: show\n    expect: [now == 1]\n")
    assert "failed" in " ".join(Prompt().ask(f'load "{file}"; next'))
    assert done() == frozenset()


def test_a_damaged_text_changes_nothing() -> None:
    prompt = Prompt("use rc_pair")
    (word,) = prompt.ask("share")
    before = prompt.lab.session
    printed = prompt.ask(f"open {word[:-3]}x")
    assert " ".join(" ".join(printed).split()).startswith(
        "not understood (nothing happened): this cannot be opened: the text is damaged or "
    )
    assert prompt.lab.session is before
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD


def test_open_of_shared_text_that_is_no_scenario_has_its_place() -> None:
    prompt = Prompt()
    printed = prompt.ask(f"open {shared('rdmalab: 1')}")
    assert printed[0].startswith("shared:1:1: ")
    word = shared("rdmalab: 1\ntitle: x\nsteps:\n  - save x.yaml\n")
    assert "save works at the prompt only, not in a scenario" in prompt.ask(f"open {word}")[0]


def test_an_opening_that_fails_says_where() -> None:
    word = shared("rdmalab: 1\ntitle: x\nsteps:\n  - alloc_pd A.pd0\n  - dealloc_pd A.pd1\n")
    prompt = Prompt()
    printed = prompt.ask(f"open {word}")
    assert "shared:5" in printed[0]
    assert prompt.conversation.end is LineEnd.FAILED


def test_a_long_one_can_be_stopped_and_comes_back_as_far_as_it_went(tmp_path: Path) -> None:
    from tests.shell.test_session_recovery import stop_after

    prompt = Prompt(log=opened(tmp_path))
    stop_after(prompt, f"open {shared(ENDLESS)}", 5)
    event = prompt.lab.session.world.event
    assert 0 < event < 30000
    close_all()
    again = Prompt("continue", log=opened(tmp_path))
    assert (again.lab.session.world.event, world_of(again)) == (event, world_of(prompt))


# --------------------------------------------------------------------------- an empty world
def test_new_makes_an_empty_world_of_the_same_devices() -> None:
    prompt = Prompt("use rc_pair", RECV, SEND, "run", profile="rxe")
    printed = prompt.ask("new")
    assert printed == [
        "Empty world: nodes A (rxe), B (rxe); time 0. use rc_pair makes a connection."
    ]
    world = prompt.lab.session.world
    assert (world.event, world.now_ns) == (-1, 0)
    assert {hca.profile.name for hca in world.nodes.values()} == {"rxe"}
    assert prompt.lab.session.names.all() == ["A", "B"]
    assert prompt.conversation.end is LineEnd.FINE


def test_new_is_undone_by_continue(tmp_path: Path) -> None:
    prompt = Prompt("use rc_pair", RECV, SEND, "run", log=opened(tmp_path), width=200)
    before = world_of(prompt)
    printed = prompt.ask("new; alloc_pd A.pd9")
    assert printed[1] == "continue restores the previous session."
    assert prompt.lab.session.names.find("A.pd9") is not None
    assert prompt.lab.session.names.find("A.qp0") is None
    assert "continue 1 does restore it" in " ".join(prompt.ask("continue"))  # for A.pd9
    prompt.ask("continue 1")
    assert world_of(prompt) == before


def test_what_is_typed_after_new_is_a_session_of_its_own(tmp_path: Path) -> None:
    prompt = Prompt("use rc_pair", "new", "alloc_pd A.pd9", log=opened(tmp_path))
    close_all()
    again = Prompt("continue", log=opened(tmp_path))
    assert world_of(again) == world_of(prompt)
    assert again.lab.session.names.find("A.qp0") is None


def test_new_after_a_lesson_has_the_devices_of_the_lab() -> None:
    word = shared(ENDLESS.replace("title: endless", "title: x\nnodes:\n  A: {profile: rxe}"))
    prompt = Prompt(f"open {word}", "new", "alloc_pd A.pd0")
    assert prompt.lab.session.world.nodes["A"].profile.name == "strict"
    assert "no scenario is loaded" in prompt.ask("next")[0]


@pytest.mark.parametrize("line", ["clear", "restart", "reset world", "reset all", "cls", "CLEAR"])
def test_words_that_people_type_for_an_empty_world_name_it(line: str) -> None:
    assert any("new makes an empty world" in row for row in Prompt("use rc_pair").ask(line))


def test_help_of_goto_and_new_has_goto_start() -> None:
    assert any("goto start" in row for row in Prompt().ask("help goto"))
    assert any("goto start" in row for row in Prompt().ask("help new"))


def test_a_request_to_the_screen_is_for_the_app_only() -> None:
    prompt = Prompt("use rc_pair")
    assert prompt.ask("copy wire") == ["copy: only in the app, which is started with rdmalab"]
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD
    prompt.conversation.screen = lambda request: f"{request.word} {request.what} {request.file}"
    assert prompt.ask("snapshot ladder file=x.svg") == ["snapshot ladder x.svg"]


@pytest.mark.parametrize("file", ["x.pdf", "x.jpg", "x"])
def test_a_snapshot_of_another_suffix_is_refused(file: str) -> None:
    *_, hint = Prompt("use rc_pair").ask(f"snapshot ladder {file}")
    assert hint.endswith("end its name with .svg, .png or .txt")


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("save mine", "mine.rdmalab.yaml"), ("export pcapng run.pcapng", "run.pcapng"),
        ("save mine.lab.yaml", "mine.lab.yaml"),
    ],
)  # fmt: skip
def test_a_face_without_a_directory_hands_out_what_is_written(
    line: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prompt = Prompt("use rc_pair", RECV, SEND, "run")
    assert "downloaded" not in prompt.ask(line)[-1]
    (tmp_path / file).unlink()

    def hand_out(name: str) -> str:
        return f"downloaded: {name}, {len((tmp_path / name).read_bytes()) > 50}"

    prompt.conversation.hand_out = hand_out
    assert prompt.ask(line)[-1] == f"downloaded: {file}, True"


def test_a_submission_is_handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prompt = Prompt("load labs/by-hand student=s1")
    prompt.conversation.hand_out = lambda name: f"downloaded: {name}"
    assert prompt.ask("submit work")[-1] == "downloaded: work.yaml"


# --------------------------------------------------------------------------- session files
def saved_session(folder: Path) -> tuple[Path, Prompt]:
    """A session file, and the prompt that has written it."""
    path = folder / "kept.rdmalab"
    prompt = Prompt("use rc_pair", RECV, SEND, "run", "poll_cq A.cq0", f"save {path}")
    return path, prompt


@pytest.mark.parametrize("word", ["load", "open"])
def test_a_session_file_is_played_to_its_end_and_may_be_rewound(tmp_path: Path, word: str) -> None:
    path, before = saved_session(tmp_path)
    prompt = Prompt()
    assert prompt.ask(f"{word} {path}")[-1].startswith("17 calls; it is ")
    assert world_of(prompt) == world_of(before)
    assert prompt.conversation.lesson is None
    prompt.ask("rewind 1us", f"save {tmp_path}/part.rdmalab.yaml since 13")
    assert (tmp_path / "part.rdmalab.yaml").read_text().count("post_send") == 1


def test_a_damaged_session_file_is_one_line_and_changes_nothing(tmp_path: Path) -> None:
    path, _ = saved_session(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    prompt = Prompt("use rc_pair")
    before = world_of(prompt)
    assert prompt.ask(f"load {path}") == [f"{path}: the session file is damaged or incomplete"]
    assert world_of(prompt) == before


def test_after_a_crash_a_loaded_session_file_is_loaded_again(tmp_path: Path) -> None:
    path, before = saved_session(tmp_path)
    lost = Prompt(log=opened(tmp_path / "state"))
    lost.ask(f"load {path}", "alloc_pd A.pd5")
    close_all()
    again = Prompt(log=opened(tmp_path / "state"))
    assert "Continued: 2 lines" in again.ask("continue")[-1]
    assert world_of(again) == world_of(lost) != world_of(before)
    close_all()


def test_theme_and_labs_are_short_for_settings_theme_and_lessons_labs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    prompt, themes = Prompt(width=100), list[str]()
    prompt.conversation.settings_changed = lambda: themes.append(read().theme)
    assert "theme = light" in prompt.ask("theme light")[0]
    assert (read().theme, themes) == ("light", ["light"])
    assert "theme = light" in "\n".join(prompt.ask("theme"))
    listed = prompt.ask("labs")
    assert listed == prompt.ask("lessons labs")
    assert any("labs/by-hand" in line for line in listed)
    assert not any("rc/send" in line for line in listed)
