"""The tour: from RESET to a cause, kept over sessions, also where nothing can be kept."""

from pathlib import Path

import pytest

from rdmalab.classroom.lab_file import load
from rdmalab.scenario.files import found
from rdmalab.shell import tour
from rdmalab.shell.styled_text import text_of
from rdmalab.vocabulary import VOCABULARY
from rdmalab.workbench.user_paths import STATE
from tests.diaries import close_all, opened
from tests.shell.talk import Talk

INIT = [f"modify_qp {n}.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0" for n in "AB"]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE, str(tmp_path))
    return tmp_path


def typed(talk: Talk, line: str) -> str:
    return "\n".join(talk.ask(line))


def files(state: Path) -> list[str]:
    return sorted(path.name for path in state.glob("tour-*"))


def shown_lines() -> list[str]:
    """What the tour asks to be typed: the lines of its first accepted solution."""
    solutions = load(found(tour.NAME), VOCABULARY, "1").document.solutions
    assert solutions is not None
    return solutions.accept[0].lines


def test_from_reset_to_the_end(state: Path) -> None:
    talk = Talk("tour", width=200)
    done = []
    for line in shown_lines():
        if line == "goto @before":
            assert "2. an RNR NAK" in typed(talk, "task")
            done += typed(talk, "answer no-receive 2").splitlines()
            assert "rnr-infinite" in typed(talk, "why A.qp0.wr[2]")
            done += typed(talk, "answer cause rnr-infinite").splitlines()
        done += typed(talk, line).splitlines()
    told = [line for line in done if line.startswith(("done", "All tasks"))]
    assert told == [
        "done  1. RESET to INIT", "done  2. A receive for B",
        "done  3. INIT to RTR: ready to receive", "done  4. RTR to RTS: ready to send",
        "done  5. A message", "done  6 of 8 tasks", "done  7 of 8 tasks",
        "done  8. Back, and better", "All tasks are done.",
    ]  # fmt: skip
    assert "load labs/by-hand" in done[-1]
    assert "1. RESET to INIT" in "\n".join(Talk("tour", width=200).ask("task"))


def test_a_wrong_answer_gets_its_words_and_a_hint_its_line(state: Path) -> None:
    talk = Talk("tour", width=200)
    assert typed(talk, "hint").endswith(INIT[1])
    for line in shown_lines()[:9]:
        typed(talk, line)
    assert "An ACK came for the first message." in typed(talk, "answer no-receive 1")
    assert "now   6." in typed(talk, "task")


def test_it_goes_on_where_it_was_left(state: Path) -> None:
    talk = Talk("tour", width=200)
    typed(talk, INIT[0])
    again = Talk("tour", width=200)
    assert again.lab.session.world.event == talk.lab.session.world.event
    assert "done  1. RESET to INIT" in typed(again, INIT[1])
    assert "now   2. A receive for B" in typed(Talk("tour", width=200), "task")
    assert "now   1. RESET to INIT" in typed(Talk("tour again", width=200), "task")
    for _ in range(12):
        Talk("tour again")
    assert len(files(state)) <= 12  # those of sessions that may still be restored


def test_work_of_another_version_or_damaged_is_left(state: Path) -> None:
    typed(Talk("tour"), INIT[0])
    newest = state / files(state)[-1]
    newest.write_text(newest.read_text().replace("lab: tour", "lab: tour 0"))
    assert "now   1." in typed(Talk("tour", width=200), "task")
    (state / files(state)[-1]).write_text("kind: submission\nrdmalab: [")
    assert "now   1." in typed(Talk("tour", width=200), "task")


def test_where_nothing_can_be_kept_the_tour_goes_on(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk("tour", width=200)
    monkeypatch.setattr(tour, "_write", _full)
    found = typed(talk, "; ".join(INIT))
    assert "the tour is not kept any more: No space left" in found
    assert "now   2." in found
    (state / "file").write_text("")
    monkeypatch.setenv(STATE, str(state / "file"))
    talk = Talk("tour", width=200)
    assert "the tour is not kept: File exists" in "\n".join(map(text_of, talk.said))
    assert "now   2." in typed(talk, "; ".join(INIT))


def test_a_crash_loses_nothing(state: Path) -> None:
    typed(Talk("tour"), INIT[0])  # another day
    lost = Talk("tour", INIT[1], width=200, diary=opened(state))
    close_all()
    again = Talk("continue", width=200, diary=opened(state))
    assert again.lab.session.world.event == lost.lab.session.world.event
    assert "now   2. A receive for B" in typed(again, "task")


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")
