"""Questions of lessons and labs: a letter answers while one is open; a wrong one is reported."""

from pathlib import Path

import pytest

from rdmalab.recovery.user_paths import STATE
from tests.shell.talk import Talk
from tests.shell.test_kept_labs import shown_lines

LESSON = "load err/rnr-retry-exceeded"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))


def at_the_question() -> Talk:
    """The lesson before its question, which b answers."""
    return Talk(LESSON, "next", width=200)


@pytest.mark.parametrize("word", ["a", "c", "answer a", "3", "C", "c)"])
def test_a_wrong_letter_is_called_wrong_before_the_answer(word: str) -> None:
    said = at_the_question().ask(word)
    assert said[0].endswith("is not the answer.")
    assert "✓ b) The RNR timer expires" in "\n".join(said)


@pytest.mark.parametrize("word", ["b", "answer b", "2"])
def test_the_right_letter_is_right(word: str) -> None:
    said = at_the_question().ask(word)
    assert said[0] == "✓ b) is right."
    assert "In ERR work may still be posted" in "\n".join(said)


def test_the_prompt_says_which_letters_answer() -> None:
    talk = Talk(LESSON, width=200)
    assert talk.ask("next")[-1].startswith("6/14  a, b or c answers; next shows the answer")
    assert talk.ask("answer d") == ["a, b or c answers this question"]
    assert talk.ask("next")
    assert talk.ask("answer a") == ["no question is open; next goes on"]


def test_a_letter_is_a_command_again_after_the_answer() -> None:
    talk = at_the_question()
    talk.ask("b")
    assert "is right" not in "\n".join(talk.ask("a"))


def test_continue_does_not_replace_a_lesson() -> None:
    talk = at_the_question()
    session = talk.lab.session
    (said,) = talk.ask("continue")
    assert said.startswith("continue restores an earlier session, and a lesson is open here.")
    assert talk.lab.session is session


def tour_at_task_6() -> Talk:
    lines = shown_lines()
    return Talk("tour", *lines[: lines.index("goto @before")], width=200)


def test_a_run_without_end_completes_no_task() -> None:
    talk = tour_at_task_6()
    said = "\n".join(talk.ask("run"))
    assert "All tasks are done" not in said
    assert "stopped at the limit" in said
    lab = talk.conversation.exercise
    assert lab is not None
    assert lab.open_task is not None
    assert lab.open_task.id == "no-receive"
    assert "done  6 of 8 tasks" in "\n".join(talk.ask("b"))
    assert "done  7 of 8 tasks" in "\n".join(talk.ask("answer rnr-infinite"))
    lines = shown_lines()
    assert "All tasks are done." in talk.ask(*lines[lines.index("goto @before") :])


def test_work_that_a_limit_ended_is_not_done() -> None:
    talk = Talk("tour", width=200)
    assert "stopped at the limit of this lab: 10 s of virtual time" in " ".join(talk.ask("run 11s"))
    assert "All tasks are done" not in "\n".join(talk.ask("task"))


@pytest.mark.parametrize("word", ["a", "1", "answer a", "answer no-receive 1"])
def test_the_tour_calls_a_wrong_answer_wrong_first(word: str) -> None:
    said = tour_at_task_6().ask(word)
    assert said[0].startswith("✗ That is not the answer. An ACK came for the first message.")
    assert "  a, b or c answers" in said


def test_the_name_of_a_cause_answers_a_question_for_a_text() -> None:
    talk = tour_at_task_6()
    assert "  type: answer TEXT" in talk.ask("b")
    assert "That is not the answer" in talk.ask("unsignaled")[0]
    assert "done  7 of 8 tasks" in talk.ask("rnr-infinite")


def test_an_answer_without_a_text_is_refused() -> None:
    said = tour_at_task_6().ask("answer no-receive")
    assert said == ["answer no-receive: write the answer after the name of the task"]
