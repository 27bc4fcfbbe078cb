"""Questions of lessons and labs: a letter answers while one is open; a wrong one is reported."""

from pathlib import Path

import pytest

from rdmalab.recovery.user_paths import STATE
from tests.shell.prompts import Prompt
from tests.shell.test_kept_labs import shown_lines

LESSON = "load err/rnr-retry-exceeded"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))


def at_the_question() -> Prompt:
    """The lesson before its question, which b answers."""
    return Prompt(LESSON, "next", width=200)


@pytest.mark.parametrize("word", ["a", "c", "answer a", "3", "C", "c)"])
def test_a_wrong_letter_is_called_wrong_before_the_answer(word: str) -> None:
    printed = at_the_question().ask(word)
    assert printed[0].endswith("is not the answer.")
    assert "✓ b) The RNR timer expires" in "\n".join(printed)


@pytest.mark.parametrize("word", ["b", "answer b", "2"])
def test_the_right_letter_is_right(word: str) -> None:
    printed = at_the_question().ask(word)
    assert printed[0] == "✓ b) is right."
    assert "In ERR work may still be posted" in "\n".join(printed)


def test_the_prompt_says_which_letters_answer() -> None:
    prompt = Prompt(LESSON, width=200)
    assert prompt.ask("next")[-1].startswith("6/14  a, b or c answers; next shows the answer")
    assert prompt.ask("answer d") == ["a, b or c answers this question"]
    assert prompt.ask("next")
    assert prompt.ask("answer a") == ["no question is open; next goes on"]


def test_a_letter_is_a_command_again_after_the_answer() -> None:
    prompt = at_the_question()
    prompt.ask("b")
    assert "is right" not in "\n".join(prompt.ask("a"))


def test_continue_does_not_replace_a_lesson() -> None:
    prompt = at_the_question()
    session = prompt.lab.session
    (answer,) = prompt.ask("continue")
    assert answer.startswith("continue restores an earlier session, and a lesson is open here.")
    assert prompt.lab.session is session


def tour_at_task_7() -> Prompt:
    lines = shown_lines()
    return Prompt("tour", *lines[: lines.index("goto @before")], width=200)


def test_a_run_without_end_completes_no_task() -> None:
    prompt = tour_at_task_7()
    text = "\n".join(prompt.ask("run"))
    assert "All tasks are done" not in text
    assert "only a call changes that" in " ".join(text.split())
    lab = prompt.conversation.exercise
    assert lab is not None
    assert lab.open_task is not None
    assert lab.open_task.id == "no-receive"
    assert "done  7 of 9 tasks" in "\n".join(prompt.ask("b"))
    assert "done  8 of 9 tasks" in "\n".join(prompt.ask("answer rnr-infinite"))
    lines = shown_lines()
    assert "All tasks are done." in prompt.ask(*lines[lines.index("goto @before") :])


def test_work_that_a_limit_ended_is_not_done() -> None:
    prompt = Prompt("tour", width=200)
    assert "stopped at the limit of this lab: 10 s of virtual time" in " ".join(
        prompt.ask("run 11s")
    )
    assert "All tasks are done" not in "\n".join(prompt.ask("task"))


@pytest.mark.parametrize("word", ["a", "1", "answer a", "answer no-receive 1"])
def test_the_tour_calls_a_wrong_answer_wrong_first(word: str) -> None:
    printed = tour_at_task_7().ask(word)
    assert printed[0].startswith("✗ That is not the answer. An ACK came for the first message.")
    assert "  a, b or c answers" in printed


def test_the_name_of_a_cause_answers_a_question_for_a_text() -> None:
    prompt = tour_at_task_7()
    assert "  type: answer TEXT" in prompt.ask("b")
    assert "That is not the answer" in prompt.ask("unsignaled")[0]
    assert "done  8 of 9 tasks" in prompt.ask("rnr-infinite")


def test_an_answer_without_a_text_is_refused() -> None:
    printed = tour_at_task_7().ask("answer no-receive")
    assert printed == ["answer no-receive: write the answer after the name of the task"]


def test_the_right_answer_of_a_task_is_called_right_and_the_next_task_follows() -> None:
    prompt = tour_at_task_7()
    choice, done, now, *asked = prompt.ask("b")
    assert choice == "✓ b) is right: an RNR NAK"
    assert done == "done  7 of 9 tasks"
    assert now.startswith("now   8. ")
    assert "type answer, a space and that name" in "\n".join(asked)
    assert "9. " not in "\n".join(asked)  # what follows the next task is in the list of tasks
    assert prompt.ask("answer rnr-infinite")[0] == "✓ rnr-infinite is right."
