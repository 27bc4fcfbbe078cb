"""What a process left behind comes back: every line, every journey, as far as it went."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.recovery.recovered_sessions import NOT_AGAIN, offer, read, waiting
from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.styled_text import text_of
from rdmalab.views import fmt
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.each import examples
from tests.labs import BUSY, RECV, SEND
from tests.logs import close_all, opened
from tests.shell.prompts import Prompt

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = (
    "use rc_pair rnr_retry=7 min_rnr_timer=1",
    "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
)
LESSON = """\
rdmalab: 1
title: A lesson
setup:
  - use rc_pair
steps:
  - note: one
  - post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
  - run: step packet
  - note: two
  - post_recv B.qp0 sg=B.mr0[0:64]
  - run: until idle
"""


def kept(folder: Path, *lines: str) -> Prompt:
    """A session whose lines are written down."""
    return Prompt(*lines, width=400, log=opened(folder))


def fresh(folder: Path, *lines: str) -> Prompt:
    """The processes before have ended; a new one, which continues."""
    close_all()
    return kept(folder, *lines)


def world_of(prompt: Prompt) -> tuple[str, int, int]:
    world = prompt.lab.session.world
    return digest(world.trace), world.event, world.now_ns


def stop_after(prompt: Prompt, line: str, slices: int) -> None:
    """^C, so many slices after the line was typed."""

    async def pause() -> None:
        nonlocal slices
        slices -= 1
        if slices == 0:
            prompt.conversation.stop()

    asyncio.run(prompt.conversation.evaluate(line, prompt.printed.append, pause))


# --------------------------------------------------------------------------- all of it
def test_a_session_comes_back(tmp_path: Path) -> None:
    before = kept(tmp_path, "use rc_pair", *BUSY, "step 3; run 4us", "node B", "run", "poll_cq cq0")
    again = fresh(tmp_path)
    printed = again.ask("continue")
    assert world_of(again) == world_of(before)
    assert again.lab.session.default_node == "B"
    assert printed == [f"Continued: 11 lines; it is {_clock(before)}."]
    assert again.conversation.end is LineEnd.FINE
    assert len(list(tmp_path.iterdir())) == 1


def _clock(prompt: Prompt) -> str:
    world = prompt.lab.session.world
    return f"{fmt.clock(world.now_ns)}, event {world.event}"


def test_it_goes_on_being_kept(tmp_path: Path) -> None:
    """A session may be cut off and continued any number of times."""
    whole = Prompt("use rc_pair", RECV, SEND, "run", "poll_cq A.cq0")
    kept(tmp_path, "use rc_pair")
    for line in (RECV, SEND, "run", "poll_cq A.cq0"):
        prompt = fresh(tmp_path, "continue", line)
    assert world_of(fresh(tmp_path, "continue")) == world_of(whole)
    del prompt


def test_continue_after_quit_restores_the_session_just_left(tmp_path: Path) -> None:
    kept(tmp_path, "use ud_pair")  # interrupted, and older
    close_all()
    log = opened(tmp_path)
    left = Prompt("use rc_pair", log=log)
    log.leave()  # as quit does
    assert "interrupted: continue 2 restores" in offer(tmp_path)
    assert world_of(fresh(tmp_path, "continue")) == world_of(left)


def test_what_was_typed_before_continue_is_a_session_of_its_own(tmp_path: Path) -> None:
    kept(tmp_path, "use rc_pair")
    prompt = fresh(tmp_path, "use ud_pair", "continue 1")
    assert prompt.lab.look("A.qp0.qp_type == RC")
    close_all()
    assert len(waiting(tmp_path)) == 2
    other = fresh(tmp_path, "continue 2")
    assert "A.ah0" in other.lab.session.names.all()


@pytest.mark.parametrize("opens", ["tour", "load rc/send", "load labs/access student=s1"])
def test_the_session_that_a_lesson_replaces_can_be_restored(tmp_path: Path, opens: str) -> None:
    own = ("use rc_pair", RECV, SEND, "run")
    prompt = kept(tmp_path, *own)
    before = world_of(prompt)
    printed = prompt.ask(opens)
    assert "The session before is kept: new, then continue 2 restores it." in printed
    there = world_of(prompt)
    prompt.ask("new")
    assert prompt.ask("continue 2")[-1].startswith("Continued: 4 lines")
    assert world_of(prompt) == before
    assert world_of(fresh(tmp_path, "continue 2")) == there


def test_a_lesson_after_a_lesson_is_no_session_of_its_own(tmp_path: Path) -> None:
    prompt = kept(tmp_path, "use rc_pair", "load rc/send", "load rc/write", "next")
    there = world_of(prompt)
    close_all()
    assert len(waiting(tmp_path)) == 2
    assert world_of(fresh(tmp_path, "continue")) == there


def test_a_lab_that_was_not_there_yet_is_not_opened_by_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))
    tmp_path /= "logs"
    prompt = kept(tmp_path, "use rc_pair", "lab", RECV, SEND, "run")
    before = world_of(prompt)
    prompt.ask("tour")
    again = fresh(tmp_path, "continue 2")
    assert world_of(again) == before


def test_continue_does_not_close_a_session_with_commands_without_being_asked_to(
    tmp_path: Path,
) -> None:
    """In a debugger `continue` goes on in time, and there is a `break` here, too."""
    kept(tmp_path, "use ud_pair")
    close_all()
    kept(tmp_path, "use rc_pair", "step")
    prompt = fresh(tmp_path, "use srq_pair", "break B.srq0.used == 0")
    before = world_of(prompt)
    printed = prompt.ask("continue")
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert world_of(prompt) == before
    assert "run goes on in time" in printed[0]
    rows = [row for row in printed if row.startswith("continue ")]
    assert [row.rpartition(": ")[2] for row in rows[-2:]] == ["use rc_pair", "use ud_pair"]
    assert "2 lines: use rc_pair" in rows[-2]
    prompt.ask("continue 1")
    assert "A.qp0" in prompt.lab.session.names.all()
    assert "B.srq0" not in prompt.lab.session.names.all()
    assert fresh(tmp_path).ask("show A.qp0", "continue")[-1].startswith("Continued: ")


def test_enter_repeats_the_last_step_as_before(tmp_path: Path) -> None:
    before = kept(tmp_path, "use rc_pair", RECV, SEND, "step packet")
    prompt = fresh(tmp_path, "continue")
    assert world_of(prompt) == world_of(before)
    prompt.ask("")
    assert world_of(prompt) == world_of(
        Prompt("use rc_pair", RECV, SEND, "step packet", "step packet")
    )


@pytest.mark.parametrize("slices", [1, 2, 7])
def test_a_run_that_was_stopped_comes_back_as_far_as_it_went(tmp_path: Path, slices: int) -> None:
    before = kept(tmp_path, *ENDLESS)
    stop_after(before, "run 10000s; post_recv B.qp0 sg=B.mr0[0:64]", slices)
    assert before.conversation.end is LineEnd.STOPPED
    before.ask("write A.mr0 hello")
    prompt = fresh(tmp_path, "continue")
    assert world_of(prompt) == world_of(before)
    assert prompt.lab.session.names.all() == before.lab.session.names.all()


def test_a_line_whose_second_command_failed_comes_back_as_far_as_it_went(tmp_path: Path) -> None:
    lines = (
        "use rc_pair; modify_qp A.qp0 state=INIT; alloc_pd A.pd7",
        "alloc_pd A.pd8; show A.nothing; alloc_pd A.pd9",
        "alloc_pd A.pd9; alloc_pd A.pd9; alloc_pd A.pd10",
        "frobnicate; alloc_pd A.pd11",
        "alloc_pd A.pd12; quit; alloc_pd A.pd13",
    )
    before = kept(tmp_path, *lines)
    prompt = fresh(tmp_path, "continue")
    assert world_of(prompt) == world_of(before)
    assert "A.pd8" in prompt.lab.session.names.all()
    assert "A.pd13" not in prompt.lab.session.names.all()


def test_lines_of_braces_remarks_and_aliases(tmp_path: Path) -> None:
    before = kept(
        tmp_path,
        "use rc_pair rnr_retry=1 # a pair",
        "post_send A.qp0 wr={opcode=SEND # one\n wr_id=3} ; s 2 # two",
        "c",
    )
    assert world_of(fresh(tmp_path, "continue")) == world_of(before)


def test_no_file_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "kept"
    before = kept(folder, "use rc_pair; save x.yaml; step", "export pcapng x.pcapng")
    for name in ("x.yaml", "x.pcapng"):
        (tmp_path / name).unlink()
    prompt = fresh(folder, "continue")
    assert world_of(prompt) == world_of(before)
    assert list(tmp_path.iterdir()) == [folder]


def test_each_word_that_is_left_out_changes_nothing() -> None:
    known = [each for each in VOCABULARY.values() if each.facts.recovery in NOT_AGAIN]
    assert {"show", "save", "export", "new", "continue"} <= {each.name for each in known}
    assert not any(command.changes_world for command in known)


LINES = st.sampled_from(
    (*BUSY, "step", "step 7", "run 2us", "run", "until A.cq0.count > 0", "poll_cq A.cq0",
     "modify_qp A.qp0 state=INIT", "show", "show nothing", "node B", "use rc_pair rnr_retry=1",
     "step; bad", "write A.mr0[0:4] abcd; write A.mr7 x; write A.mr0 y", "checkpoint x",
     "back", "back 3", "back packet", "rewind", "rewind 1us", "goto ev16", "goto @x", "goto 1us",
     "goto end", "switch main", "switch branch-1", "watch B.mr0[0:8]", "break A.cq0.count > 0",
     "diff ev3 ev9; step", "delete 1")
)  # fmt: skip


@settings(max_examples=examples(40), derandomize=True)
@given(lines=st.lists(LINES, max_size=12))
def test_any_session_comes_back(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("kept")
    before = kept(folder, "use rc_pair rnr_retry=1 retry_cnt=1", *lines)
    assert world_of(fresh(folder, "continue")) == world_of(before)
    close_all()


def test_branches_of_time_come_back(tmp_path: Path) -> None:
    lines = ("use rc_pair", RECV, SEND, "checkpoint x", "run", "back 2", "write A.mr0 other", "run",
             "goto @x", "poll_cq A.cq0", "switch branch-1", "rewind 1us")  # fmt: skip
    before = kept(tmp_path, *lines)
    prompt = fresh(tmp_path, "continue")
    assert list(prompt.lab.session.history.branches) == ["main", "branch-1", "branch-2"]
    for line in ("", "goto end", "switch branch-2", "switch main"):
        for each in (before, prompt):
            each.ask(line)
        assert world_of(prompt) == world_of(before), line


def test_a_rewind_that_was_stopped_ends_where_it_began(tmp_path: Path) -> None:
    before = kept(tmp_path, *ENDLESS, "step 4000", "watch A.mr0[0:8]")
    stop_after(before, "rewind", 1)
    assert before.conversation.end is LineEnd.STOPPED
    (answer,) = [text_of(line) for line in before.printed[-1:]]
    assert answer.endswith("; stopped.")  # run would not go on with it, it goes forward
    prompt = fresh(tmp_path, "continue")
    assert world_of(prompt) == world_of(before)
    assert prompt.lab.session.world.event > 4000


# --------------------------------------------------------------------------- the last line
def torn(folder: Path, records: int) -> None:
    """The process ended so many records earlier."""
    close_all()
    (path,) = folder.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) - records]) + lines[-records][:5])


def test_a_line_that_was_not_ended_is_carried_out(tmp_path: Path) -> None:
    before = kept(tmp_path, "use rc_pair", SEND)
    torn(tmp_path, 1)
    prompt = fresh(tmp_path)
    printed = prompt.ask("continue")
    assert world_of(prompt) == world_of(before)
    assert printed[1] == f"> {SEND}"
    assert printed[2].startswith("ok [ev 14]")
    assert world_of(fresh(tmp_path, "continue")) == world_of(before)


def test_a_run_with_an_unknown_end_is_not_replayed(tmp_path: Path) -> None:
    """It may have been the reason; what was answered before it is there."""
    before = kept(tmp_path, *ENDLESS, "step 2")
    there = world_of(before)
    stop_after(before, "write A.mr0 x; run; write A.mr0 y", 2)
    torn(tmp_path, 2)  # neither where it ended nor that it did
    prompt = fresh(tmp_path)
    printed = prompt.ask("continue")
    assert printed[-1] == "It had not finished when the lab ended: type it again to continue."
    expected = Prompt(*ENDLESS, "step 2", "write A.mr0 x")
    assert world_of(prompt) == world_of(expected) != there
    assert world_of(fresh(tmp_path, "continue")) == world_of(expected)


def test_a_run_that_was_over_is_over_though_its_line_was_not(tmp_path: Path) -> None:
    before = kept(tmp_path, *ENDLESS)
    stop_after(before, "run 10000s", 2)
    torn(tmp_path, 1)
    assert world_of(fresh(tmp_path, "continue")) == world_of(before)


def test_a_line_that_ended_the_lab_twice_is_left_out(tmp_path: Path) -> None:
    kept(tmp_path, "use rc_pair", SEND)
    torn(tmp_path, 1)
    fresh(tmp_path, "continue")
    torn(tmp_path, 1)
    prompt = fresh(tmp_path)
    assert prompt.ask("continue")[-1] == f"skipped, because the lab ended in it twice: {SEND}"
    assert world_of(prompt) == world_of(Prompt("use rc_pair"))


# --------------------------------------------------------------------------- lessons
@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lesson.rdmalab.yaml"
    path.write_text(LESSON)
    return path


@pytest.mark.usefixtures("lesson")
@pytest.mark.parametrize("nexts", [0, 1, 2])
def test_a_walk_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nexts: int) -> None:
    folder = tmp_path / "kept"
    before = kept(folder, "alloc_pd A.pd3", "load lesson.rdmalab.yaml", *["next"] * nexts, "step")
    monkeypatch.chdir(folder)  # the next process may be started anywhere
    prompt = fresh(folder)
    printed = prompt.ask("continue")
    assert printed[-1].startswith(f"Continued: {2 + nexts} lines")  # of the walk alone
    assert world_of(prompt) == world_of(before)
    walks = [t.conversation.lesson for t in (prompt, before)]
    assert walks[0] is not None
    assert walks[1] is not None
    assert walks[0].runner.position == walks[1].runner.position
    prompt.ask("next")
    before.ask("next")
    assert world_of(prompt) == world_of(before)


def test_a_next_that_was_not_ended_is_walked(lesson: Path, tmp_path: Path) -> None:
    del lesson
    folder = tmp_path / "kept"
    before = kept(folder, "load lesson.rdmalab.yaml", "next")
    torn(folder, 2)
    assert world_of(fresh(folder, "continue")) == world_of(before)


def test_recovery_ends_at_a_changed_scenario(lesson: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    kept(folder, "load lesson.rdmalab.yaml", "next")
    lesson.write_text(LESSON + "  - note: three\n")
    prompt = fresh(folder)
    text = " ".join(prompt.ask("continue"))
    assert "load lesson.rdmalab.yaml does not end at the same event as before: " in text
    assert f"{lesson} has changed since the session was recorded." in text
    assert text.endswith("The other 2 of 2 lines are kept.")
    lesson.write_text(LESSON)
    close_all()
    assert len(waiting(folder)) == 2
    assert fresh(folder).ask("continue 2")[-1].startswith("Continued: 2 lines")


def test_a_scenario_that_is_gone(lesson: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    kept(folder, "load lesson.rdmalab.yaml", "next")
    lesson.unlink()
    assert "cannot be read: No such file" in " ".join(fresh(folder).ask("continue"))


# --------------------------------------------------------------------------- it cannot be
def test_nothing_waits(tmp_path: Path) -> None:
    prompt = kept(tmp_path)
    assert prompt.ask("continue") == ["no session has number 1 to continue: there is none"]
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD
    kept(tmp_path / "x", "step")
    close_all()
    assert (
        kept(tmp_path / "x")
        .ask("continue 2")[0]
        .endswith("number 2 to continue: there is 1 of them")
    )


def test_scripts_have_nothing_to_continue() -> None:
    assert Prompt().ask("continue") == ["scripts keep no session: continue works at a prompt only"]


def test_recovery_reports_another_end_of_a_run(tmp_path: Path) -> None:
    """As after a change of the lab itself."""
    kept(tmp_path, "use rc_pair", SEND, "run 5us", "step")
    close_all()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"ended":[14,', b'"ended":[15,'))
    prompt = fresh(tmp_path)
    assert " ".join(prompt.ask("continue")) == (
        f"{SEND} does not end at the same event as before.  The other 3 of 4 lines are kept."
    )
    assert path.exists()
    assert prompt.ask("show A.qp0")[0].startswith("A.qp0")


def test_ctrl_c_ends_a_long_way_back(tmp_path: Path) -> None:
    kept(tmp_path, *ENDLESS, "step 30000", "step 30000")
    prompt = fresh(tmp_path)
    stop_after(prompt, "continue", 2)
    assert "Stopped.  The other 2 of 4 lines are kept." in "".join(
        part[1] for line in prompt.printed for part in line
    )
    assert 0 < prompt.lab.session.world.event < 30000
    there = world_of(prompt)
    assert world_of(fresh(tmp_path, "continue")) == there


def test_a_file_that_vanished_is_no_traceback(tmp_path: Path) -> None:
    prompt = kept(tmp_path / "x", "step")
    for path in (tmp_path / "x").iterdir():
        path.unlink()
    answer, done = prompt.ask("alloc_pd A.pd0")[:2]
    assert answer == "nothing is kept of this session: No such file or directory"
    assert done.startswith("ok")
    assert prompt.ask("alloc_pd A.pd1")[0].startswith("ok")


def test_a_session_that_cannot_be_kept_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    prompt = kept(tmp_path / "file")
    printed = prompt.ask("use rc_pair", "step", "step")
    assert printed[0] == "nothing is kept of this session: File exists"
    assert sum("nothing is kept" in line for line in printed) == 1
    assert any("A.qp0 is in RTS" in line for line in printed)


# --------------------------------------------------------------------------- its parts
def test_the_file_says_what_was_typed_and_not_what_ran_again(tmp_path: Path) -> None:
    kept(tmp_path, "use rc_pair; show", "frobnicate")
    fresh(tmp_path, "continue")
    close_all()
    (path,) = tmp_path.iterdir()
    book = read(path.read_bytes())
    assert book is not None
    assert [line.text for line in book.lines] == ["use rc_pair; show", "frobnicate"]


def test_a_session_that_stands_at_the_start_says_so(tmp_path: Path) -> None:
    kept(tmp_path, "use rc_pair", "goto start")
    assert fresh(tmp_path).ask("continue") == ["Continued: 2 lines; it is 0.000 us, the start."]


# --------------------------------------------------------------------------- on one line
def named(prompt: Prompt, name: str) -> bool:
    return prompt.lab.session.names.find(name) is not None


def test_what_follows_load_on_a_line_is_done_in_its_world(lesson: Path, tmp_path: Path) -> None:
    prompt = kept(tmp_path, f'alloc_pd A.old; load "{lesson}"; alloc_pd A.zz; next')
    assert named(prompt, "A.zz")
    assert named(prompt, "A.qp0")
    assert not named(prompt, "A.old")
    again = fresh(tmp_path, "continue")
    assert world_of(again) == world_of(prompt)
    assert named(again, "A.zz")


def test_what_follows_open_on_a_line_is_done_in_its_world() -> None:
    word = Prompt("alloc_pd A.shared").ask("share")[0]
    prompt = Prompt(f"alloc_pd A.old; open {word}; alloc_pd A.zz")
    assert named(prompt, "A.shared")
    assert named(prompt, "A.zz")
    assert not named(prompt, "A.old")


def test_what_follows_continue_on_a_line_is_kept_with_what_came_back(tmp_path: Path) -> None:
    kept(tmp_path, "use rc_pair", "alloc_pd A.p1")
    second = fresh(tmp_path, "alloc_pd A.p0; continue 1; alloc_pd A.p2; alloc_pd A.p3")
    assert named(second, "A.p1")
    assert named(second, "A.p3")
    assert not named(second, "A.p0")
    third = fresh(tmp_path, "continue")
    assert world_of(third) == world_of(second)
    assert [named(third, f"A.p{number}") for number in range(4)] == [False, True, True, True]


def test_a_long_session_says_that_it_is_restored_and_serves_the_screen(tmp_path: Path) -> None:
    kept(tmp_path, *["show pd"] * 30)
    pauses = 0

    async def pause() -> None:
        nonlocal pauses
        pauses += 1

    prompt = fresh(tmp_path)
    asyncio.run(prompt.conversation.evaluate("continue", prompt.printed.append, pause))
    first = text_of(prompt.printed[0])
    assert first == "Restoring 30 lines, each is carried out again; ^C stops."
    assert text_of(prompt.printed[1]) == "20 of 30 lines are restored."
    assert pauses == 30


@pytest.mark.parametrize("given", ["a", "1", "a)", "answer attributes a"])
def test_an_answer_of_one_letter_comes_back(tmp_path: Path, given: str) -> None:
    kept(tmp_path, "load labs/by-hand student=me", given)
    again = fresh(tmp_path)
    again.ask("continue")
    lab = again.conversation.exercise
    assert lab is not None
    assert set(lab.answers) == {"attributes"}
