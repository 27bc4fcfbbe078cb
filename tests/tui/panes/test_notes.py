"""The notes of a scenario."""

from rdmalab.classroom.lab_session import LabSession
from rdmalab.lab import Lab
from rdmalab.scenario.runner import StepOutcome
from rdmalab.shell.styled_text import text_of
from rdmalab.vocabulary import VOCABULARY
from tests.classroom.labs import TEMPLATE
from tests.tui.playing import Free, first, panes_of, playing


def test_without_a_scenario_it_says_how_to_load_one() -> None:
    _, panes = first()
    assert "load FILE" in panes["notes"].text()


def test_note_and_next_step() -> None:
    scene, panes = playing("rc/send")
    scene.walk.next_stop()
    scene.walk.next_stop()
    text = panes["notes"].text()
    assert "B posts a buffer first." in text
    assert "next (F8): A sends 64 bytes" in text
    assert text_of(panes["notes"].title()) == "step 4/15"


def test_lines_of_the_file_are_folded_to_the_width_of_the_pane() -> None:
    scene, _ = playing("err/rnr-retry-exceeded")
    notes = panes_of(scene, columns=80)["notes"]
    rows = [row.strip(" │") for row in notes.text().splitlines()]
    at = next(n for n, row in enumerate(rows) if row.endswith("retried once"))
    assert rows[at + 1].startswith("after 0.64 ms, and then completes with")


def test_an_open_lab_shows_its_tasks_and_goals() -> None:
    lab = LabSession(TEMPLATE, "x.lab.yaml", VOCABULARY, "s1")
    panes = panes_of(Free(Lab(), exercise=lab))
    text = panes["notes"].text()
    assert "0 of 4 points, 1 hidden are judged by the instructor" in text
    assert "1. Nothing." in text
    assert 'not yet  deliver: B.mr0[0:5] == "hello"' in text
    lab.answers["answer-of-b"] = "2"
    lab.grade()
    text = panes["notes"].text()
    assert "1/1  done" in text
    assert text_of(panes["notes"].title()) == "LAB-ID 1 of 4"


def test_the_end_and_what_went_wrong() -> None:
    scene, panes = playing("rc/send")
    scene.walk.run()
    assert "The end." in panes["notes"].text()
    scene.walk.results[-1].outcome = StepOutcome.FAILED
    assert "The end." not in panes["notes"].text()
