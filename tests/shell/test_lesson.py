from pathlib import Path

import pytest

from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.output_format import NOTE_PAGE, NOTE_STRIP
from tests.shell.talk import Talk

LESSON = "load scenarios/err/rnr-retry-exceeded.rdmalab.yaml"


def test_a_lesson_is_walked_through() -> None:
    talk = Talk()
    loaded = talk.ask(LESSON)
    assert any("Post a SEND" in row for row in loaded)
    assert talk.ask("") == []
    assert talk.conversation.end is LineEnd.FINE
    assert not any("Post a SEND" in row for row in talk.ask("next"))
    assert talk.lab.look("A.qp0.sq.used") == 1
    talk.ask("show")
    for _ in range(6):
        said = talk.ask("next")
    assert said[-2:] == [
        "the next lesson: load err/retry-exceeded   all lessons: lessons",
        "14/14  end of the lesson; the session stays open",
    ]


def test_a_question_is_asked_before_its_steps_run_and_answered_after_them() -> None:
    talk = Talk(LESSON)
    asked = talk.ask("next")
    assert any(row.endswith("How does wr7 end?") for row in asked)
    assert "  c) wr7 fails when the RNR timer expires. A sends no second packet." in asked
    assert "a, b or c answers; next shows the answer" in asked[-1]
    assert talk.lab.look("A.cq0.count") == 0
    said = talk.ask("next")
    answer = next(n for n, row in enumerate(said) if row.startswith("✓ b) The RNR timer expires"))
    assert said[answer - 1].startswith("✓")
    assert talk.lab.look("A.cq0.count") == 1


def test_what_another_part_of_the_screen_shows_is_not_printed() -> None:
    talk = Talk()
    talk.conversation.output.notes_beside = NOTE_STRIP
    said = talk.ask(LESSON)
    assert not any("Post a SEND" in row for row in said)
    asked = talk.ask("next")
    assert any("How does wr7 end?" in row for row in asked)  # it does not fit in a strip
    talk.conversation.output.notes_beside = NOTE_PAGE
    said = talk.ask(LESSON, "next", "next")
    assert not any("B never posts" in row or "wr7 end" in row or "b) " in row for row in said)
    assert said[0] == "A SEND meets an empty receive queue"


def test_a_file_that_is_no_scenario() -> None:
    talk = Talk()
    said = talk.ask("load pyproject.toml")
    assert talk.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert said[0].startswith("pyproject.toml")


def straight() -> tuple[Talk, list[list[str]]]:
    """The lesson as it goes undisturbed: what each `next` says."""
    talk = Talk(LESSON)
    return talk, [talk.ask("next") for _ in range(4)]


@pytest.mark.parametrize(
    "elsewhere",
    [
        ["back 3"],
        ["goto start"],
        ["goto 3", "run 1us"],
        ["back 2", "alloc_pd A.pd7"],
        ["goto start", "alloc_pd A.pd7", "goto start", "alloc_pd A.pd8", "back"],
    ],
)
def test_a_walk_goes_on_where_it_was_and_nothing_is_lost(elsewhere: list[str]) -> None:
    plain, said = straight()
    talk = Talk(LESSON)
    assert talk.ask("next") == said[0]
    assert talk.ask("next") == said[1]
    where = talk.lab.session.history.here
    for line in elsewhere:
        talk.ask(line)
    branches = set(talk.lab.session.history.branches)
    told, *rest = talk.ask("next")
    assert told.startswith(f"back to the last step of the scenario: ev {where.event}, ")
    assert told.endswith("on main") == (len(branches) > 1)
    assert rest == said[2]
    assert talk.ask("next") == said[3]
    assert talk.lab.session.history.live
    assert list(talk.lab.session.world.trace.records) == list(plain.lab.session.world.trace.records)
    assert set(talk.lab.session.history.branches) == branches


TIME = sorted((Path(__file__).parents[2] / "scenarios" / "time").glob("*.rdmalab.yaml"))


def told(lesson: Path, *strolls: str) -> list[str]:
    """What a walk finds to be so, if somebody strolls about at each of its stops."""
    talk, rows = Talk(f'load "{lesson}"'), []
    while not (walk := talk.conversation.lesson) or not walk.runner.over:
        rows += talk.ask("next")
        talk.ask(*strolls)
    assert walk.runner.ok, rows[-9:]
    return [row for row in rows if row.startswith("✓")]


@pytest.mark.parametrize("lesson", TIME, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("stroll", ["goto start", "back 2; alloc_pd A.pd9", "switch main; rewind"])
def test_a_lesson_about_time_is_told_alike_wherever_one_strolls(lesson: Path, stroll: str) -> None:
    straight_on = told(lesson)
    assert straight_on
    assert told(lesson, *stroll.split("; ")) == straight_on


def test_who_comes_back_by_himself_is_told_nothing() -> None:
    talk = Talk(LESSON, "next", "next", "back 2", "alloc_pd A.pd7", "switch main")
    assert not any("back to the last step" in row for row in talk.ask("next"))
    talk.ask("goto start", "goto end")
    assert not any("back to the last step" in row for row in talk.ask("next"))


def test_what_is_typed_where_the_walk_stands_belongs_to_it() -> None:
    talk = Talk(LESSON, "next", "alloc_pd A.pd7")
    assert not any("back to the last step" in row for row in talk.ask("next"))
    assert talk.lab.session.names.find("A.pd7")
    talk.ask("back 1")
    assert any("back to the last step" in row for row in talk.ask("next"))
    assert talk.lab.session.names.find("A.pd7")


def test_a_walk_that_itself_went_back_goes_on_there(tmp_path: Path) -> None:
    file = tmp_path / "back.rdmalab.yaml"
    file.write_text(
        "rdmalab: 1\ntitle: back\nsetup:\n  - use rc_pair\nsteps:\n"
        "  - note: one\n  - do: goto 3\n  - note: two\n  - do: goto 2\n"
    )
    talk = Talk(f'load "{file}"', "next")
    talk.ask("goto end")
    assert talk.ask("next")[0].startswith("back to the last step of the scenario: ev 3, ")
    assert talk.lab.session.world.event == 2


def test_at_the_end_of_a_walk_nobody_is_moved() -> None:
    talk = Talk(LESSON)
    while not talk.conversation.lesson or not talk.conversation.lesson.runner.over:
        talk.ask("next")
    talk.ask("goto 3")
    assert talk.ask("next")[-1].endswith("the session stays open")
    assert talk.lab.session.world.event == 3


def test_task_prints_the_notes_of_a_lesson_so_far() -> None:
    talk = Talk(LESSON, width=100)
    talk.ask("next")
    said = talk.ask("task")
    assert said[0].startswith("A SEND meets an empty receive queue  ")
    assert any(row.endswith("How does wr7 end?") for row in said)
    talk.ask("next")
    assert any(row.startswith("✓ b) The RNR timer expires") for row in talk.ask("task"))


def test_prose_is_not_indented_in_its_later_rows() -> None:
    talk = Talk(width=60)
    about = talk.ask(LESSON)[1:4]
    assert about[0].startswith("B never posts a receive.")
    assert not [row for row in about if row.startswith(" ")]
    asked = talk.ask("next")
    at = next(n for n, row in enumerate(asked) if row.startswith("  b) "))
    assert asked[at + 1].startswith("     "), asked
