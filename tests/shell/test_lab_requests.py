"""A lab at a prompt: tasks, hints, answers, rules, and a submission that the grader takes."""

from pathlib import Path

import pytest

from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.owner import given, owner_of
from rdmalab.classroom.progress import done
from rdmalab.shell.evaluation import LineEnd
from rdmalab.shell.styled_text import text_of
from tests.classroom.courses import lab_text
from tests.classroom.labs import RECV, TEMPLATE
from tests.classroom.labs import text_of as text_of_lab
from tests.logs import close_all, opened
from tests.shell.prompts import Prompt
from tests.shell.test_session_recovery import stop_after


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prompt:
    monkeypatch.chdir(tmp_path)
    Path("x.lab.yaml").write_text(TEMPLATE)
    return Prompt("load x.lab.yaml student=s1", width=200)


def typed(talk: Prompt, line: str) -> str:
    return "\n".join(talk.ask(line))


def size(talk: Prompt) -> str:
    assert talk.conversation.exercise is not None
    return talk.conversation.exercise.lab.params["size"]


def test_a_lab_begins_with_its_tasks(talk: Prompt) -> None:
    text = "\n".join(text_of(line).rstrip() for line in talk.printed)
    assert "A receive before the message  (s1)" in text
    assert "LAB-ID  0 of 4 points, 1 hidden are judged by the instructor" in text
    assert "  a) Nothing." in text
    assert "The pair still works in the other direction." in text


def test_an_answer_without_words_is_refused_with_an_example(talk: Prompt) -> None:
    refused = typed(talk, "answer")
    assert "answer needs choice_or_task" in refused
    assert "for example: answer b" in refused


def test_a_student_gets_from_a_wrong_answer_to_the_submission(talk: Prompt) -> None:
    assert "Look at show wire." in typed(talk, "answer answer-of-b 1")
    assert "1 of 4 points" in typed(talk, "answer answer-of-b 2")
    assert "A SEND takes a receive at the peer." in typed(talk, "hint deliver")
    assert "costs 1 point: hint deliver yes" in typed(talk, "hint deliver")
    typed(talk, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]")
    assert "met  deliver: B.cq0.total(status=SUCCESS" in typed(talk, f"{RECV}; run 1ms")
    assert "4 of 4 points" in typed(talk, "task")
    assert "work.yaml: hand in this file" in typed(talk, "submit work")
    text = Path("work.yaml").read_text()
    assert "show" not in text
    assert grade_submission(Item(TEMPLATE, "x", text, "w", given("s1"))).score == 5
    word = typed(talk, "submit").splitlines()[-1]
    assert grade_submission(Item(TEMPLATE, "x", word, "w", given("s1"))).score == 5


def test_a_lab_with_all_tasks_that_are_judged_here_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("scenarios").mkdir()
    Path("scenarios/x.lab.yaml").write_text(TEMPLATE)
    prompt = Prompt("load x student=s1", "answer answer-of-b 2", width=200)
    assert done() == frozenset()
    typed(prompt, f"{RECV}; post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(prompt)}]; run 1ms")
    assert done() == {"x"}  # at once, not at the next task


def test_work_that_was_handed_in_is_continued(talk: Prompt) -> None:
    typed(talk, "answer answer-of-b 2")
    typed(talk, f"{RECV}; post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]")
    typed(talk, "submit work.yaml")
    answer = typed(talk, "load x.lab.yaml work=work.yaml")
    assert "A receive before the message  (s1)" in answer
    assert "4 of 4 points" in answer
    Path("other.yaml").write_text(Path("work.yaml").read_text().replace("lab: LAB-ID", "lab: b"))
    assert "a submission of the lab b" in typed(talk, "load x.lab.yaml work=other.yaml")
    assert "none.yaml" in typed(talk, "load x.lab.yaml work=none.yaml")


def test_a_crash_loses_no_line_of_the_work(talk: Prompt, tmp_path: Path) -> None:
    """Also a run that ^C has stopped is in the work as far as it went."""
    state = tmp_path / "state"
    state.mkdir()
    lost = Prompt("load x.lab.yaml student=s1", "answer answer-of-b 2", log=opened(state))
    lost.ask(f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]", "show A.qp0")
    stop_after(lost, "run 1s", 1)
    before = lost.conversation.exercise
    close_all()
    found = Prompt("continue", width=200, log=opened(state)).conversation.exercise
    assert before is not None
    assert found is not None
    assert (found.lines, found.answers) == (before.lines, before.answers)
    assert found.lines[-1].startswith("step ")
    assert found.student == "s1"


def test_a_hint_that_is_taken_costs_its_points(talk: Prompt) -> None:
    typed(talk, "hint deliver")
    assert "post_recv B.qp0 sg=B.mr0[0:64]" in typed(talk, "hint deliver yes")
    assert "all hints were given" in typed(talk, "hint deliver yes")
    assert "this task has no hints" in typed(talk, "hint both-ways")
    typed(talk, f"{RECV}; post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]; run 1ms")
    typed(talk, "answer answer-of-b 2")
    assert "3 of 4 points" in typed(talk, "task")


def test_the_rules_hold_at_the_prompt(talk: Prompt) -> None:
    before = talk.lab.session.world.event
    assert "use is not allowed in this lab" in typed(talk, "use rc_pair")
    assert "fault is not allowed in this lab" in typed(talk, "post_recv B.qp0; fault clear")
    assert talk.conversation.end is LineEnd.NOT_UNDERSTOOD
    assert talk.lab.session.world.event == before


def test_a_line_that_goes_before_the_setup_changes_nothing_there(talk: Prompt) -> None:
    """Its second command is judged at the moment at which it would run."""
    answer = typed(talk, "goto 1; alloc_pd A.pd9")
    assert "alloc_pd: the setup of this lab cannot be changed; goto @start is its end" in answer
    assert talk.lab.session.names.find("A.pd9") is None
    assert talk.lab.session.world.event == 1
    assert "A.pd9 created" in typed(talk, "goto @start; alloc_pd A.pd9")
    lab = talk.conversation.exercise
    assert lab is not None
    assert lab.lines == ["alloc_pd A.pd9"]


def test_apply_is_refused_and_costs_are_printed_at_load(talk: Prompt) -> None:
    assert "apply is not allowed in this lab: type the lines" in typed(talk, "apply")
    Path("y.lab.yaml").write_text(TEMPLATE.replace("rules:", "rules:\n  doctor: 1\n  apply: 2"))
    answer = typed(talk, "load y.lab.yaml student=s1")
    assert [f"each {word} costs {cost}" in answer for word, cost in (
        ("why", "1 point"), ("checklist", "1 point"), ("apply", "2 points")
    )] == [True] * 3  # fmt: skip
    typed(talk, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]; run 1ms")
    typed(talk, "why")
    typed(talk, "apply")
    assert "0 of 4 points" in typed(talk, "task")
    lab = talk.conversation.exercise
    assert lab is not None
    assert (lab.latest.doctor, lab.latest.results[1].score) == (3, 3)


def test_what_is_undone_is_handed_in_as_undone(talk: Prompt) -> None:
    typed(talk, "modify_qp A.qp0 state=ERR")
    typed(talk, "back 1")
    typed(talk, f"{RECV}; post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]")
    typed(talk, "show A.qp0")
    typed(talk, "submit work.yaml")
    assert (
        grade_submission(Item(TEMPLATE, "x", Path("work.yaml").read_text(), "w", given("s1"))).score
        == 4
    )


def test_wrong_words_get_one_line(talk: Prompt) -> None:
    assert "no task is called x: answer-of-b deliver both-ways" in typed(talk, "hint x")
    assert "deliver asks for no answer" in typed(talk, "answer deliver 3")
    Path("other.yaml").write_text("mine")
    assert "is not a submission" in typed(talk, "submit other.yaml")
    assert "cannot be written" in typed(talk, "submit no/such/folder.yaml")
    typed(talk, "new")
    for word in ("task", "hint a", "answer a 1", "submit"):
        assert "no lab is open" in typed(talk, word)
    Path("bad.lab.yaml").write_text(TEMPLATE.replace("points:", "pionts:"))
    assert 'no key "pionts" here' in typed(talk, "load bad.lab.yaml")


def test_a_lab_without_why_does_not_offer_it_after_a_run(talk: Prompt) -> None:
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0x1000 rkey=0xdead"
    assert "  next   why (evidence, tested fix) · explain" in typed(talk, f"{write}; run 1ms")
    Path("z.lab.yaml").write_text(TEMPLATE.replace("rules:", "rules:\n  doctor: shut"))
    talk.ask("load z.lab.yaml student=s1")
    assert "  next   explain REM_ACCESS_ERR" in typed(talk, f"{write}; run 1ms")


def test_a_lab_without_a_student_says_how_to_name_one(talk: Prompt) -> None:
    """`grade` accepts no work without a student: first said when the lab begins, not at its end."""
    answer = typed(talk, "load x.lab.yaml")
    assert "No student is named: grade accepts no such work." in answer
    assert "load x.lab.yaml student=ID" in answer
    assert "No student is named" not in typed(talk, "load x.lab.yaml student=s1")


def test_a_work_without_a_student_is_taken_over_by_one(talk: Prompt) -> None:
    typed(talk, "load x.lab.yaml")
    typed(talk, "answer answer-of-b 2")
    for line in (f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]", RECV, "run 1ms"):
        typed(talk, line)
    assert "submit FILE writes a file instead." in typed(talk, "submit")
    answer = typed(talk, "submit work")
    assert "hand in this file" not in answer
    assert "grade rejects it as foreign" in answer
    assert "load x.lab.yaml work=work.yaml student=ID" in answer
    assert "  (s1)" in typed(talk, "load x.lab.yaml work=work.yaml student=s1")
    assert "s1.yaml: hand in this file" in typed(talk, "submit s1")
    text = Path("s1.yaml").read_text()
    assert "student: s1" in text
    grade = grade_submission(Item(TEMPLATE, "x", text, "s1.yaml", owner_of("s1.yaml", None)))
    assert (grade.verdict, grade.log) == ("graded", "intact")
    assert grade.score > 0


def test_shuffled_answers_of_another_student_are_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their numbers stand for other texts; the tries that they used up are not counted."""
    monkeypatch.chdir(tmp_path)
    question = "    ask: Post a SEND on A.qp0"
    text = TEMPLATE.replace(question, f"    shuffle: true\n    tries: 1\n{question}")
    Path("y.lab.yaml").write_text(text)
    prompt = Prompt("load y.lab.yaml", "answer answer-of-b 2", "submit work", width=200)
    answer = typed(prompt, "load y.lab.yaml work=work.yaml student=s1")
    assert "answer-of-b: the choices have another order here; answer it again" in answer
    assert prompt.conversation.exercise is not None
    assert prompt.conversation.exercise.answers == {}
    typed(prompt, "answer answer-of-b an RNR NAK")
    assert "✓ answer-of-b      1/1  done" in typed(prompt, "task")


def test_submit_proposes_a_file_that_grade_accepts(talk: Prompt) -> None:
    assert "submit s1.yaml writes a file instead" in typed(talk, "submit")
    assert "name it s1.yaml" in typed(talk, "submit work")
    assert "name it" not in typed(talk, "submit s1.yaml")


def test_locked_objects_and_forbidden_commands_are_listed_when_a_lab_begins(talk: Prompt) -> None:
    assert "not allowed: use" in typed(talk, "load x.lab.yaml again student=s1")
    assert typed(talk, "task").splitlines()[-1].startswith("not allowed: use")
    other = TEMPLATE.replace("  forbid: [use]", "  forbid: [use]\n  lock: [B.cq0]")
    Path("y.lab.yaml").write_text(other)
    assert "locked: B.cq0 · not allowed: use" in typed(talk, "load y.lab.yaml student=s1")


ESSAYS = [
    "psn #1 is lost",
    "B keeps no packet out of order; A goes back",
    "; new",
    'a "quoted" word, an open " one, and psn=5 {',
    "the adapter \\ the driver; load it → B",
    '"a" is not "b"',
]


@pytest.mark.parametrize("text", ESSAYS)
def test_the_whole_line_is_an_essay_and_is_printed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.lab.yaml").write_text(lab_text("x", essay=True))
    talk = Prompt("load x.lab.yaml student=s1", width=200)
    lab = talk.conversation.exercise
    assert lab is not None
    assert f"noted: {text}" in typed(talk, f"answer essay {text}")
    assert lab.answers == {"essay": text}
    typed(talk, 'answer essay "in quotes; as before"')
    assert lab.answers == {"essay": "in quotes; as before"}
    assert "write the answer after the name" in typed(talk, "answer essay")
    assert "not allowed: use" in typed(talk, "answer answer-of-b 2; task")  # divided as ever


def test_an_open_essay_needs_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asks = "  - id: explain\n    points: 4\n    ask: Why?\n    essay: true\n"
    Path("x.lab.yaml").write_text(text_of_lab(asks))
    talk = Prompt("load x.lab.yaml student=s1", width=200)
    assert "noted: because # of; this" in typed(talk, "answer because # of; this")


def test_submit_replaces_no_work_of_another_lab(talk: Prompt) -> None:
    Path("y.lab.yaml").write_text(TEMPLATE.replace("LAB-ID", "other"))
    typed(talk, "submit s1.yaml")
    before = Path("s1.yaml").read_text()
    typed(talk, "load y.lab.yaml student=s1")
    assert "submit s1_other.yaml writes a file instead" in typed(talk, "submit")
    assert "name it s1_other.yaml" in typed(talk, "submit work.yaml")
    refused = typed(talk, "submit s1.yaml")
    assert "s1.yaml exists and is not a submission of s1 in other" in refused
    assert "choose another name, such as s1_other.yaml" in refused
    assert Path("s1.yaml").read_text() == before
    assert "s1_other.yaml: hand in this file" in typed(talk, "submit s1_other.yaml")
    assert "s1_other.yaml: hand in this file" in typed(talk, "submit s1_other.yaml")


def test_submit_replaces_no_work_of_another_student(talk: Prompt) -> None:
    typed(talk, "submit work.yaml")
    assert "work.yaml: hand in this file" in typed(talk, "submit work.yaml")
    typed(talk, "load x.lab.yaml student=s2")
    assert "work.yaml exists and is not a submission of s2 in LAB-ID; choose another name" in typed(
        talk, "submit work.yaml"
    )
    assert "student: s1" in Path("work.yaml").read_text()
    typed(talk, "load x.lab.yaml")
    typed(talk, "submit mine.yaml")
    typed(talk, "load x.lab.yaml work=mine.yaml student=s2")
    assert "mine.yaml: hand in this file" in typed(talk, "submit mine.yaml")


def test_a_letter_that_comes_late_is_no_command(talk: Prompt) -> None:
    typed(talk, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size(talk)}]")
    typed(talk, "b")
    here = talk.lab.session.world.event
    for letter in "ab":
        assert "no question is open" in typed(talk, letter), letter
    assert talk.lab.session.world.event == here
