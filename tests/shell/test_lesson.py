from pathlib import Path

import pytest

from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.output_format import NOTE_PAGE, NOTE_STRIP
from tests.shell.prompts import Prompt

LESSON = "load scenarios/err/rnr-retry-exceeded.rdmalab.yaml"


def test_a_lesson_is_walked_through() -> None:
    prompt = Prompt()
    loaded = prompt.ask(LESSON)
    assert any("Post a SEND" in row for row in loaded)
    assert prompt.ask("") == []
    assert prompt.conversation.end is LineEnd.FINE
    assert not any("Post a SEND" in row for row in prompt.ask("next"))
    assert prompt.lab.look("A.qp0.sq.used") == 1
    prompt.ask("show")
    for _ in range(6):
        printed = prompt.ask("next")
    assert printed[-2:] == [
        "the next lesson: load err/retry-exceeded   all lessons: lessons",
        "14/14  end of the lesson; the session stays open",
    ]


def test_a_question_is_asked_before_its_steps_run_and_answered_after_them() -> None:
    prompt = Prompt(LESSON)
    asked = prompt.ask("next")
    assert any(row.endswith("How does wr7 end?") for row in asked)
    assert "  c) wr7 fails when the RNR timer expires. A sends no second packet." in asked
    assert "a, b or c answers; next shows the answer" in asked[-1]
    assert prompt.lab.look("A.cq0.count") == 0
    printed = prompt.ask("next")
    answer = next(
        n for n, row in enumerate(printed) if row.startswith("✓ b) The RNR timer expires")
    )
    assert printed[answer - 1].startswith("✓")
    assert prompt.lab.look("A.cq0.count") == 1


def test_what_another_part_of_the_screen_shows_is_not_printed() -> None:
    prompt = Prompt()
    prompt.conversation.output.notes_beside = NOTE_STRIP
    printed = prompt.ask(LESSON)
    assert not any("Post a SEND" in row for row in printed)
    asked = prompt.ask("next")
    assert any("How does wr7 end?" in row for row in asked)  # it does not fit in a strip
    prompt.conversation.output.notes_beside = NOTE_PAGE
    printed = prompt.ask(LESSON, "next", "next")
    assert not any("B never posts" in row or "wr7 end" in row or "b) " in row for row in printed)
    assert printed[0] == "A SEND meets an empty receive queue"


def test_a_file_that_is_no_scenario() -> None:
    prompt = Prompt()
    printed = prompt.ask("load pyproject.toml")
    assert prompt.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert printed[0].startswith("pyproject.toml")


def straight() -> tuple[Prompt, list[list[str]]]:
    """The lesson as it goes undisturbed: what each `next` says."""
    prompt = Prompt(LESSON)
    return prompt, [prompt.ask("next") for _ in range(4)]


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
    plain, answer = straight()
    prompt = Prompt(LESSON)
    assert prompt.ask("next") == answer[0]
    assert prompt.ask("next") == answer[1]
    where = prompt.lab.session.history.here
    for line in elsewhere:
        prompt.ask(line)
    branches = set(prompt.lab.session.history.branches)
    text, *rest = prompt.ask("next")
    assert text.startswith(f"back to the last step of the scenario: ev {where.event}, ")
    assert text.endswith("on main") == (len(branches) > 1)
    assert rest == answer[2]
    assert prompt.ask("next") == answer[3]
    assert prompt.lab.session.history.live
    assert list(prompt.lab.session.world.trace.records) == list(
        plain.lab.session.world.trace.records
    )
    assert set(prompt.lab.session.history.branches) == branches


TIME = sorted((Path(__file__).parents[2] / "scenarios" / "time").glob("*.rdmalab.yaml"))


def printed(lesson: Path, *strolls: str) -> list[str]:
    """What a walk finds to be so, if somebody strolls about at each of its stops."""
    prompt, rows = Prompt(f'load "{lesson}"'), []
    while not (walk := prompt.conversation.lesson) or not walk.runner.over:
        rows += prompt.ask("next")
        prompt.ask(*strolls)
    assert walk.runner.ok, rows[-9:]
    return [row for row in rows if row.startswith("✓")]


@pytest.mark.parametrize("lesson", TIME, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize(
    "stroll", ["goto start", "back 2; alloc_pd A.pd9", "goto start; switch main; rewind"]
)
def test_a_lesson_prints_the_same_after_detours_in_time(lesson: Path, stroll: str) -> None:
    straight_on = printed(lesson)
    assert straight_on
    assert printed(lesson, *stroll.split("; ")) == straight_on


def test_no_message_after_a_manual_return_to_the_lesson() -> None:
    prompt = Prompt(LESSON, "next", "next", "back 2", "alloc_pd A.pd7", "switch main")
    assert not any("back to the last step" in row for row in prompt.ask("next"))
    prompt.ask("goto start", "goto end")
    assert not any("back to the last step" in row for row in prompt.ask("next"))


def test_what_is_typed_where_the_walk_stands_belongs_to_it() -> None:
    prompt = Prompt(LESSON, "next", "alloc_pd A.pd7")
    assert not any("back to the last step" in row for row in prompt.ask("next"))
    assert prompt.lab.session.names.find("A.pd7")
    prompt.ask("back 1")
    assert any("back to the last step" in row for row in prompt.ask("next"))
    assert prompt.lab.session.names.find("A.pd7")


def test_a_walk_that_itself_went_back_goes_on_there(tmp_path: Path) -> None:
    file = tmp_path / "back.rdmalab.yaml"
    file.write_text(
        "rdmalab: 1\ntitle: back\nsetup:\n  - use rc_pair\nsteps:\n"
        "  - note: one\n  - do: goto 3\n  - note: two\n  - do: goto 2\n"
    )
    prompt = Prompt(f'load "{file}"', "next")
    prompt.ask("goto end")
    assert prompt.ask("next")[0].startswith("back to the last step of the scenario: ev 3, ")
    assert prompt.lab.session.world.event == 2


def test_next_at_the_end_of_a_lesson_moves_no_event() -> None:
    prompt = Prompt(LESSON)
    while not prompt.conversation.lesson or not prompt.conversation.lesson.runner.over:
        prompt.ask("next")
    prompt.ask("goto 3")
    assert prompt.ask("next")[-1].endswith("the session stays open")
    assert prompt.lab.session.world.event == 3


def test_task_prints_the_notes_of_a_lesson_so_far() -> None:
    prompt = Prompt(LESSON, width=100)
    prompt.ask("next")
    printed = prompt.ask("task")
    assert printed[0].startswith("A SEND meets an empty receive queue  ")
    assert any(row.endswith("How does wr7 end?") for row in printed)
    prompt.ask("next")
    assert any(row.startswith("✓ b) The RNR timer expires") for row in prompt.ask("task"))


def test_prose_is_not_indented_in_its_later_rows() -> None:
    prompt = Prompt(width=60)
    about = prompt.ask(LESSON)[2:5]
    assert about[0].startswith("B never posts a receive.")
    assert not [row for row in about if row.startswith(" ")]
    asked = prompt.ask("next")
    at = next(n for n, row in enumerate(asked) if row.startswith("  b) "))
    assert asked[at + 1].startswith("     "), asked


def walked(*lines: str) -> Prompt:
    """A prompt after these lines, whose lesson has not failed."""
    prompt = Prompt(LESSON)
    for line in lines:
        rows = prompt.ask(line)
        lesson = prompt.conversation.lesson
        assert lesson is not None
        assert lesson.runner.ok, rows
    return prompt


def test_the_next_line_of_a_lesson_is_its_step_also_when_it_is_typed() -> None:
    line = "post_send A.qp0 opcode=SEND  wr_id=7 sg=A.mr0[0:64] flags=SIGNALED"
    prompt = walked(line, "next", "until A.cq0.count == 1")
    assert prompt.lab.look("A.qp0.sq.used") == 1
    assert any(row.startswith("✓ b) The RNR timer") for row in prompt.ask("task"))
    assert len(prompt.lab.session.history.branches) == 1
    last = walked("next", "next").lab.session.world.event
    assert prompt.lab.session.world.event == last


@pytest.mark.parametrize(
    "own", ["post_recv B.qp0 sg=B.mr0[0:64]", "run", "step 2", "post_send A.qp0 opcode=SEND"]
)
def test_own_steps_that_would_change_a_lesson_stay_on_their_branch(own: str) -> None:
    prompt = walked("next", own)
    where = prompt.lab.session.history.here
    rows = prompt.ask("next")
    assert rows[0].startswith("your own steps stay on main; the lesson goes on from its last step")
    assert not any("FAIL" in row for row in rows)
    walked_on = [prompt.ask("next") for _ in range(2)]
    assert walked_on == [walked("next", "next").ask("next"), walked(*["next"] * 3).ask("next")]
    prompt.ask("switch main")
    assert prompt.lab.session.history.here == where


def test_notes_in_the_past_are_those_of_the_branch_and_its_past() -> None:
    prompt = walked("next", "run", "next")
    text = "\n".join(prompt.ask("goto 19", "task"))
    assert "Nothing is posted on B." in text


def test_f8_goes_on_where_the_lesson_itself_went_to_the_past() -> None:
    prompt = Prompt("load time/there-and-back", "next", "next")
    lesson = prompt.conversation.lesson
    assert lesson is not None
    assert (prompt.lab.session.history.live, lesson.is_left) == (False, False)
    prompt.ask("goto start")
    assert lesson.is_left


def test_a_wrong_answer_stands_before_the_right_one() -> None:
    prompt = walked("next", "c")
    told = prompt.ask("task")
    at = told.index("✗ c) is not the answer.")
    assert told[at + 1].startswith("✓ b) The RNR timer")
    assert "is not the answer" not in "\n".join(walked("next", "b").ask("task"))


def test_an_answer_that_is_given_twice_runs_no_time() -> None:
    talk = Prompt("load loss/lost-packet", width=100)
    while "no question is open" in "".join(talk.ask("answer c")):
        talk.ask("next")
    here = talk.lab.session.history.here
    for letter in "abc":
        assert "no question is open" in "".join(talk.ask(letter))
    assert talk.lab.session.history.here == here
