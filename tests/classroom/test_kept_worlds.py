"""The grade in the world as it stands is that of the lines played again."""

import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from rdmalab.classroom import goals
from rdmalab.classroom.exercise import Exercise, RuleBroken
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.kept_worlds import KeptWorlds
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import published
from rdmalab.classroom.trust import everything_right
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import History
from rdmalab.session.lines import replies
from rdmalab.vocabulary import VOCABULARY
from tests.classroom.labs import FOLDER, RECV, SEND, loaded, plain_lab, text_of
from tests.each import a_twentieth, each
from tests.shell.prompts import Prompt

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
    lab = loads(text, name, VOCABULARY, student="s1")
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
        prompt.ask(f"submit {work}")
        graded = grade_submission(Item(text, name, work.read_text(), "w.yaml", given("s1")))
        marks = {each.id: (each.passed, each.score) for each in graded.results if not each.hidden}
        assert marks, solution.name
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
    lab = LabSession(text_of(tasks), "x", VOCABULARY, "s1")
    for reply in replies(lab.session, "reset A.qp0"):
        lab.follow(reply)
    lab.keep(lab.session, "reset A.qp0")
    assert [lab.grade(replayed=each).score for each in (False, True)] == [1, 1]


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
