"""Grades: needs, points and hints, answers by the student's own world, hidden tasks, variation."""

import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from rdmalab.classroom import goals
from rdmalab.classroom.exercise import Exercise, RuleBroken
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.judging import JudgedWork, KeptWorlds
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import published
from rdmalab.classroom.trust import everything_right
from rdmalab.classroom.work_log import WorkLog, record
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import History
from rdmalab.session.lines import replies
from tests.classroom.labs import (
    FOLDER,
    RECV,
    SEND,
    graded,
    judged,
    loaded,
    passed,
    plain_lab,
    text_of,
)
from tests.each import a_twentieth, each
from tests.shell.prompts import Prompt

FIX = (
    "  - id: fix\n    points: 3\n    goal: [A.cq0.total(status=SUCCESS) == 1]\n"
    "    hints: [{cost: 0, text: h}, {cost: 2, text: i}]\n"
    "    when_wrong: {rnr-infinite: post a receive}\n    else: try again\n"
)
NEXT = "  - {id: next, points: 1, needs: [fix], goal: [A.qp0.state == RTS]}\n"


def test_a_task_that_needs_another_is_blocked_not_failed() -> None:
    grade = graded(text_of(FIX + NEXT), SEND)
    assert [(r.passed, r.score) for r in grade.results] == [(False, 0), (None, 0)]
    assert grade.results[1].reason == "blocked: needs fix"
    assert (grade.score, grade.of) == (0, 4)
    assert graded(text_of(FIX + NEXT), RECV, SEND).score == 4


def test_feedback_is_that_of_the_cause_which_why_names() -> None:
    cause = graded(text_of(FIX), SEND).results[0].cause
    assert cause is not None
    assert (cause.id, cause.help) == ("rnr-infinite", "post a receive")
    assert cause.rationale.startswith("NEVER")
    cause = graded(text_of(FIX)).results[0].cause
    assert cause is not None
    assert cause.help == "try again"


def hinted(*hints: str) -> Grade:
    return judged(text_of(FIX), JudgedWork([RECV, SEND], hints=hints))


def test_hints_cost_points_once_and_never_more_than_there_are() -> None:
    assert hinted("fix.1").score == 3
    assert hinted("fix.1", "fix.2", "fix.2").score == 1
    odd = hinted("fix.9", "fix.-1", "no.1", "fix.x", "")
    assert (odd.score, odd.hints) == (3, [])


def logged(*whats: str) -> list[str]:
    log = WorkLog()
    for what in whats:
        log.add(what)
    return log.entries


def test_a_hint_that_only_the_log_shows_is_paid() -> None:
    """Who deletes `hints:` from the submission does not win back their cost."""
    log = logged("hint fix.1", "hint fix.2", "line 1 event 3", "line 2 event 4")
    grade = judged(text_of(FIX), JudgedWork([RECV, SEND], log=log))
    assert (grade.score, grade.hints) == (1, ["fix.2"])
    assert [each.reason for each in grade.results] == ["2 points less for hints"]


def test_without_a_whole_log_all_hints_are_paid() -> None:
    """Who removes `hints:` and `log:` pays the most that hints can cost."""
    log = logged("hint fix.1", "line 1 event 3", "line 2 event 4")
    assert judged(text_of(FIX), JudgedWork([RECV, SEND], log=log)).score == 3
    for other in ([], log[1:], log[:2]):
        grade = judged(text_of(FIX), JudgedWork([RECV, SEND], log=other))
        assert grade.score == 1, other
        assert "all count as taken, because the log is " in grade.results[0].reason


def test_why_and_apply_have_the_price_that_the_lab_sets() -> None:
    log = logged("why event 3", "why event 5", "line 4 event 9")
    stuck = JudgedWork([SEND, "run 2ms", "apply", "run 1ms"], log=log)
    for rules, doctor, score in (
        ("{doctor: 1, apply: 0}", 2, 1), ("{doctor: open, apply: 1}", 1, 2),
        ("{doctor: 2, apply: 2}", 6, 0), ("{apply: open}", 0, 3),
    ):  # fmt: skip
        grade = judged(text_of(FIX, f"rules: {rules}\n"), stuck)
        assert (grade.doctor, grade.score) == (doctor, score), rules


def test_an_answer_is_asked_in_the_world_of_the_setup() -> None:
    tasks = (
        "  - id: n\n    points: 1\n    answer: log.last.errno\n"
        "    at: [{do: modify_qp A.qp0 state=RTR, errno: EINVAL}]\n"
        "  - {id: m, points: 1, answer: A.qp0.sq.capacity}\n"
    )
    lines = ("modify_qp A.qp0 state=ERR",)  # the student's own world is another one then
    assert passed(text_of(tasks), *lines, n="einval", m="0x8") == [True, True]
    assert passed(text_of(tasks), *lines, n="22", m="9") == [True, False]
    assert passed(text_of(tasks), *lines) == [False, False]


def test_a_choice_has_one_right_number() -> None:
    choice = "[{text: x, when_wrong: no}, {text: y, right: true}]"
    tasks = f"  - id: c\n    points: 1\n    choice: {choice}\n"
    assert passed(text_of(tasks), c="2") == [True]
    for answer in ("1", "3", "y", "0", "-1", "22", "²"):
        assert passed(text_of(tasks), c=answer) == [False], answer
    cause = graded(text_of(tasks), c="1").results[0].cause
    assert cause is not None
    assert cause.help == "no"


def test_a_probe_is_played_on_a_copy() -> None:
    tasks = (
        "  - id: probe\n    points: 1\n    try: ['post_recv A.qp0 sg=A.mr0[64:96]', "
        "'post_send B.qp0 opcode=SEND sg=B.mr0[0:8]', {run: 1ms}]\n"
        "    goal: [A.cq0.total(opcode=RECV) == 1]\n"
        "  - {id: after, points: 1, goal: [A.cq0.total(opcode=RECV) == 0]}\n"
    )
    assert passed(text_of(tasks)) == [True, True]
    assert passed(text_of(tasks), "modify_qp A.qp0 state=ERR")[0] is False


def test_a_submission_is_played_again_in_every_world() -> None:
    tasks = (
        "  - id: v\n    points: 1\n    vary: {late: [1us, 400us]}\n"
        "    goal: [B.cq0.total(status=SUCCESS) == 1]\n"
    )
    text = text_of(tasks, "link: {latency: '%{late}'}\nrules: {settle: step 0}\n").replace(
        "step 0", "run 1us"
    )
    assert passed(text, RECV, SEND, "run 1ms") == [True]
    result = graded(text, RECV, SEND, "run 100us").results[0]
    assert (result.passed, result.world) == (False, {"late": "400us"})


def test_what_is_hidden_is_not_judged_in_public() -> None:
    tasks = FIX + "  - {id: h, points: 2, hidden: true, announce: x, goal: [A.qp0.state == RTS]}\n"
    assert graded(text_of(tasks), RECV, SEND).score == 5
    public = judged(text_of(tasks), JudgedWork([RECV, SEND]), public=True)
    assert (public.score, public.of, public.results[1].passed) == (3, 5, None)


def test_a_cut_is_never_a_pass() -> None:
    grade = graded(text_of(FIX, "rules: {limits: {lines: 1}}\n"), RECV, SEND)
    assert (grade.verdict, grade.score) == ("cut", 0)
    assert all(result.passed is None for result in grade.results)


TWO = (
    "  - {id: sent, points: 2, goal: [{ever: A.cq0.total(status=SUCCESS) >= 1}]}\n"
    "  - {id: more, points: 1, goal: [B.cq0.total(status=SUCCESS) >= 2]}\n"
    "  - {id: probe, points: 1, goal: [A.cq0.count == 1], try: [run 1us]}\n"
)


@pytest.mark.parametrize(
    ("limit", "last"),
    [("events: 60", [SEND, "run"]), ("lines: 3", [RECV, SEND, "run"]), ("time: 1ms", ["run 2ms"])],
)
def test_a_cut_keeps_what_held_before_it(limit: str, last: list[str]) -> None:
    """What was reached has its points; what was not is not called wrong."""
    grade = graded(text_of(TWO, f"rules: {{limits: {{{limit}}}}}\n"), RECV, SEND, "run 50us", *last)
    assert (grade.verdict, grade.score, grade.passed) == ("cut", 2, False)
    assert [result.passed for result in grade.results] == [True, None, None]
    assert grade.results[1].reason == grade.reason


def test_a_fault_of_the_lab_is_not_graded() -> None:
    grade = graded(text_of(FIX).replace("use rc_pair", "dereg_mr A.mr7"), RECV)
    assert (grade.verdict, grade.results, grade.passed) == ("not-graded", [], False)
    tasks = "  - {id: n, points: 1, answer: A.cq9.count}\n"
    assert graded(text_of(tasks)).verdict == "not-graded"


LABS = sorted(path.name.removesuffix(".lab.yaml") for path in FOLDER.glob("*.lab.yaml"))
EVENTS = 3_000  # that a work may use here
DETOURS = ("step 3", "back 2", "run 3us", "goto 99999", "back 1", "run 1us")


def graded_twice(lab: Exercise) -> None:
    live = lab.grade().model_dump(exclude={"moves"})
    assert live == lab.work.grade(replayed=True).model_dump(exclude={"moves"})


@each("name", a_twentieth(LABS))
def test_the_grade_is_that_of_the_lines_played_again(name: str) -> None:
    """Of solutions that pass and that fail, with detours in time after some lines."""
    path, chance = str(FOLDER / f"{name}.lab.yaml"), random.Random(name)
    solutions = Exercise(path, student="s1").work.lab.document.solutions
    assert solutions is not None
    for solution in (*solutions.accept, *solutions.reject):
        lab = Exercise(path, student="s1")
        for task, answer in everything_right(lab.work.lab).items():
            lab.answer(task, answer)
        lab.grade()
        for line in solution.lines:
            detours = chance.choices(DETOURS, k=chance.choice([0, 0, 1, 3]))
            for each_line in (line, *detours):
                with suppress(RuleBroken):
                    lab.do(each_line)
            if detours:
                graded_twice(lab)
        graded_twice(lab)


@each("name", a_twentieth(LABS))
def test_marks_at_the_prompt_are_those_of_the_grader(name: str, tmp_path: Path) -> None:
    """Students have the file of `publish --live`; the grader has the instructor's and their file.

    Each solution is typed line by line, also with an endless run that was undone.
    """
    text = (FOLDER / f"{name}.lab.yaml").read_text()
    lab = loads(text, name, student="s1")
    handout, work = tmp_path / "handout.lab.yaml", tmp_path / "work.yaml"
    handout.write_text(published(lab, live=True))
    right = everything_right(lab)
    assert lab.document.solutions is not None
    for number, solution in enumerate(
        (*lab.document.solutions.accept, *lab.document.solutions.reject)
    ):
        prompt = Prompt(f"load {handout} student=s1", *solution.lines, width=200)
        if number % 2:
            prompt.ask("run 9s", "goto @start", *solution.lines)
        prompt.ask(*(f'answer {task} "{answer}"' for task, answer in right.items()), "task")
        open_lab = prompt.conversation.exercise
        assert open_lab is not None
        live = {each.id: each for each in open_lab.latest.results}
        told = prompt.ask(f"submit {work}")
        graded = grade_submission(Item(text, name, work.read_text(), "w.yaml", given("s1")))
        marks = {each.id: (each.passed, each.score) for each in graded.results if not each.hidden}
        assert marks, (solution.name, graded.verdict, graded.reason, told)
        assert {each: (live[each].passed, live[each].score) for each in marks} == marks, (
            solution.name
        )


@each("name", ["by-hand", "counter", "rnr-budget"])
def test_a_work_that_has_used_all_events_is_replayed_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that never ends: the first grade goes through its events once, the next not."""
    rules = ("rules:", f"rules:\n  limits: {{events: {EVENTS}}}")
    lab = Exercise(plain_lab(tmp_path, name, rules), student="s1")
    for line in ("program A.p lines={ loop; sleep 10ns; end }", "run 9s"):
        lab.do(line)
    assert lab.session.history.here.event == lab.work.played.start.event + EVENTS
    replayed: list[int] = []
    next_event = goals._next_event

    def counted(history: History, end: TimePoint) -> int:
        done = next_event(history, end)
        replayed.extend([done] if history is lab.session.history else [])
        return done

    monkeypatch.setattr(goals, "_next_event", counted)
    lab.grade()
    assert 0 < len(replayed) <= EVENTS
    replayed.clear()
    graded_twice(lab)
    assert not replayed


def test_the_time_that_settles_a_world_is_not_that_of_its_last_line() -> None:
    """A line after which nothing is to come: settled, the world is later and has no other event."""
    early = "{ever: A.qp0.state == RESET, before: now > 1ms}"
    tasks = f"  - {{id: a, points: 1, goal: ['A.qp0.state == RESET', {early}]}}\n"
    lab = LabSession(text_of(tasks), "x", "s1")
    for reply in replies(lab.session, "reset A.qp0"):
        lab.follow(reply)
    lab.keep(lab.session, "reset A.qp0")
    assert [lab.grade(replayed=each).score for each in (False, True)] == [1, 1]


def test_a_semicolon_in_quotes_and_braces_ends_no_line() -> None:
    """The log of a work says of no `why` that was not typed; Tab knows which lines were."""
    lab = LabSession(text_of("  - {id: a, points: 1, goal: ['A.qp0.state == RESET']}\n"), "x",
                     "s1")  # fmt: skip
    program = "program A.t lines={ poll_cq A.cq0; sleep 10ns }"
    lab.keep(lab.session, f'explain "fence;why b"; {program}')
    assert lab.typed == ['explain "fence;why b"', program]
    assert record(lab.log.entries).asked_why == 0
    lab.keep(lab.session, "step; why A.qp0")
    assert record(lab.log.entries).asked_why == 1


TASKS = (
    "  - {id: a, points: 1, goal: [A.cq0.total(status=SUCCESS) == 2, {never: A.cq0.total == 9}]}\n"
    "  - {id: b, points: 1, vary: {far: [1us, 9us]}, goal: [{ever: A.cq0.total == 2}]}\n"
)


def test_more_lines_are_played_alone_and_others_from_the_beginning() -> None:
    text = text_of(TASKS).replace("- use rc_pair", '- use rc_pair\n  - "link latency=%{far}"')

    def reopened(world: Mapping[str, str]) -> LabFile:
        return loaded(text, world=world)

    kept = KeptWorlds(reopened({"far": "1us"}), reopened)
    far = {"far": "9us"}
    first = kept.after([RECV, SEND, "step 1"], far)
    event = first.played.session.world.event
    assert kept.after([RECV, SEND, "step 2", "step 1"], far) is first
    assert first.played.session.world.event == event + 2
    assert kept.after([RECV, "step 3"], far) is not first
    assert kept.after([RECV], far).played.session.world.event == event - 2
    assert (kept.key({"far": "1us"}), kept.key(far)) == ((), (("far", "9us"),))


def test_goals_over_time_look_at_each_event_once() -> None:
    """A grade after a long run is one of what is new; one after `back` begins again."""
    lab = Exercise(str(FOLDER / "by-hand.lab.yaml"), student="s1")
    kept = lab.work._worlds.kept[()]
    for line in ("program A.p lines={ loop 500; sleep 10ns; end }; run 1ms", "run 1us", "back 3"):
        lab.do(line)
        lab.grade()
        assert kept.watches.at == lab.session.history.here
        watches = kept.watches
    assert watches.known
    lab.do("run 1us")
    lab.grade()
    assert kept.watches is watches
