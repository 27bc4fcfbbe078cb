"""A lab that is open: lines, answers and hints, and what they are worth."""

import time
from collections.abc import Callable, Mapping

from rdmalab.classroom import submission
from rdmalab.classroom.answers import NOTED, WrongTask, chosen
from rdmalab.classroom.feedback import cause_of
from rdmalab.classroom.goals import judge, parsed, truth
from rdmalab.classroom.grade_document import Grade, Result
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.judging import JudgedWork, KeptWorlds, grade
from rdmalab.classroom.lab_file import NAMED, LabFile, loads
from rdmalab.classroom.model import GRADER, Hint, Task
from rdmalab.classroom.owner import ANYONE
from rdmalab.classroom.playing import WAY_BACK, Played, begun, is_applied, typed
from rdmalab.classroom.public import digest, other_lab
from rdmalab.classroom.rules import DOCTOR, Rulebook, prices
from rdmalab.classroom.submission import WorkLines
from rdmalab.classroom.work_log import (
    ANSWER,
    APPLIED,
    ASKED,
    EDITED,
    HINT,
    LINE,
    MOVED,
    SUBMITTED,
    WorkLog,
    differences,
    sealed,
    tries_of,
)
from rdmalab.command import Unit, UserError
from rdmalab.grammar.format import render
from rdmalab.grammar.hints import quoted
from rdmalab.grammar.quantities import spelled
from rdmalab.grammar.syntax import command_texts
from rdmalab.scenario.field_types import FORMAT, is_word
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.spec.states import ERROR_STATES
from rdmalab.views import fmt

_QUICK_S = 0.1
_SPARE = 4  # times as long as a grade takes, before the next one


class WrongWork(UserError):  # noqa: N818  (it says what is wrong with a submission)
    """Raised for a submission of another lab, or of another version of it."""


def _after(wait_ns: int, line: str = "") -> str:
    """The line after this time: `run 5us; post_send …`."""
    run = f"run {spelled(wait_ns, Unit.NS)}" if wait_ns else ""
    return "; ".join(filter(None, [run, line]))


class LabSession:
    """The work of a student.

    typed: all commands that were carried out and not refused, also those that only look.
    latest: the newest grade; lines typed after it are not in it.
    skipped: lines and answers of a submission that was continued, each with why it does not count.
    autosave: called after each line of a prompt; returns why the work is not kept, empty if it is.
    """

    autosave: Callable[[], str] | None = None

    def __init__(self, text: str, path: str, student: str) -> None:
        """Raises FileError for a wrong file, and BrokenLab if its setup fails."""
        self.text = text
        self.student = student or ANYONE
        self.lab = loads(text, path, student=self.student)
        self.played: Played = begun(self.lab)
        self._worlds = KeptWorlds(self.lab, self._reopened, self.played)
        self.work = WorkLines(self.session)
        self._called: list[str] | None = None  # lines that stand for the calls of a program
        self.typed: list[str] = []
        self._failed: set[str] = set()  # commands of the line that is carried out
        self.answers: dict[str, str] = {}
        self.hints: list[str] = []
        self.log = WorkLog(student=self.student)
        self.skipped: list[str] = []
        self._reported: set[str] = set()  # questions that were reported as open
        self.met: dict[str, bool] = {}
        """`task: goal` → whether it is met now, for the goals that `turned` looks at."""
        self.turned(self.session)
        self.latest = self.grade()
        self._shown_cause, self._in_error = "", self._errors()
        self._was_open = self.open_task
        self._calls = len(self.session.journal)

    @classmethod
    def begun(
        cls, text: str, path: str, student: str, work: str = "", work_path: str = ""
    ) -> "LabSession":
        """A lab as it begins, or as a submission left it. work: its text, empty: none.

        student: if empty: that of the submission, or `anonymous`.
        Raises FileError, BrokenLab, and WrongWork if the submission is of another lab.
        """
        if student and not is_word(student):
            raise WrongWork(f"student {quoted(student)}: an id has letters, digits, - _ and . only")
        given = submission.loads(work, work_path) if work else None
        lab = cls(text, path, student or (given.student if given else ""))
        if given is not None:
            if wrong := other_lab(lab.lab, given):
                raise WrongWork(wrong)
            lab._resume(given)
        return lab

    @property
    def session(self) -> Session:
        """The world of the lab as the setup left it, until lines have changed it."""
        return self.played.session

    @property
    def is_done(self) -> bool:
        """Whether the latest grade has all tasks that are judged here."""
        return bool(self.latest.results) and all(
            each.passed or each.reason == NOTED for each in self.latest.results if not each.hidden
        )

    @property
    def is_nameless(self) -> bool:
        """Whether points are given, and the lab was loaded without a student to give them to."""
        return self.student == ANYONE and not self.lab.document.guided

    @property
    def prices(self) -> list[str]:
        """`each why costs 1 point`, of the commands that have a price in this lab."""
        return prices(self.lab.document.rules)

    # ------------------------------------------------------------------ lines
    def refusal(self, session: Session, line: str) -> str:
        """The reason the rules refuse a line; empty if they do not, or if it is not understood."""
        if session is not self.session:
            return ""
        return self._rulebook().refusal(line)

    @property
    def lines(self) -> list[str]:
        """The lines that lead to the moment at which the work stands: what is handed in."""
        return self.work.surviving if self._called is None else self._called

    def refusal_at_limit(self, line: str) -> str:
        """The reason a line cannot join the work here; empty if it can, or if it only looks."""
        adds = [part for part in self._rulebook().parts(line) if not part.moves and not part.foul]
        limit, here = self.lab.document.rules.limits, self.session.history.here
        bounds = self.session.bounds
        if not adds or bounds is None:
            return ""
        if here.event >= bounds.event:
            reached = f"{limit.events:,} events"
        elif here.at_ns >= bounds.at_ns:
            reached = f"{fmt.duration(limit.time)} of virtual time"
        elif len(self.lines) >= limit.lines and not self.work.is_step(adds[0].text):
            reached = f"{limit.lines:,} lines"
        else:
            return ""
        newest = self.work.commands[-1].start.event if self.work.commands else 0
        return (
            f"this lab allows {reached}, and all are used; {WAY_BACK}, submit hands in the others. "
            f"goto {newest} returns to the moment before the newest line"
        )

    def follow(self, reply: Reply) -> None:
        """Take in a command that was carried out, when its run is over."""
        rules = self._rulebook()
        self.work.follow(reply, rules)
        if reply.failed:
            self._failed.add(reply.text)
        is_move = reply.invocation is not None and rules.moves(reply.invocation)
        if not reply.depth and (is_move or is_applied(reply)):
            self.log.add(f"{MOVED if is_move else APPLIED} event {self.session.world.event}")

    def keep(self, session: Session, line: str) -> None:
        """The end of a line whose commands were followed."""
        if session is not self.session:
            return
        parts = command_texts(line)
        self.typed += [part for part in parts if part not in self._failed]
        self._failed.clear()
        for _ in [part for part in parts if part.split()[0] in DOCTOR]:
            self.log.add(f"{ASKED} event {session.world.event}")
        self.work.end_line()
        if self.work.newest:
            self.log.add(f"{LINE} {len(self.lines)} event {session.world.event}")

    def _resume(self, work: Submission) -> None:
        """Run the lines of a submission; take over its answers, hints and log.

        Of the work of another student the answers to shuffled questions are left out, whose numbers
        stand for other texts here, and with them the log, which counts them as tries.
        """
        rules, is_own = self._rulebook(), work.student == self.student
        for number, line in enumerate(work.lines, 1):
            for foul in typed(self.played, rules, line, self.follow):
                self.skipped.append(f"line {number}: {foul}")
            self.work.end_line()
        self.played.cut = ""
        self.typed = list(work.lines)
        self.answers, self.hints = dict(work.answers), list(work.hints)
        self.log = WorkLog(work.log if is_own else (), student=self.student)
        if not is_own:
            self._take_over()
        for edit in differences(work) if is_own else ():
            self.log.add(f"{EDITED} {edit}")  # new check digits must not hide it
        self.turned(self.session)
        self.grade()

    def _take_over(self) -> None:
        """Make lines, hints and answers of another student those of this one."""
        for name in self.lab.orders:
            if self.answers.pop(name, None):
                self.skipped.append(f"{name}: the choices have another order here; answer it again")
        self.log.add(f"{LINE} {len(self.lines)} event {self.session.world.event}")
        for hint in self.hints:
            self.log.add(f"{HINT} {hint}")
        for task in self.lab.document.tasks:
            if given := self.answers.get(task.id):
                self._log_answer(task, given)

    def keep_calls(self) -> None:
        """Add what a program has called since the setup, each call at its time."""
        session, now_ns, lines = self.session, self.played.start.at_ns, list[str]()
        bounds = session.bounds
        for entry in list(session.journal)[self._calls :]:
            if bounds is not None and (entry.event > bounds.event or entry.at_ns >= bounds.at_ns):
                break
            line = render(entry.invocation, session.vocabulary[entry.invocation.name])
            lines.append(_after(entry.at_ns - now_ns, line))
            now_ns = entry.at_ns
        here = session.history.here
        if bounds is None or here.event < bounds.event:
            end_ns = here.at_ns if bounds is None else min(here.at_ns, bounds.at_ns)
            lines.append(_after(end_ns - now_ns))
        # Its calls are few lines: the limit of lines is one of typing, that of events holds.
        each = -(-len(lines) // max(1, self.lab.document.rules.limits.lines))
        found = (
            "; ".join(filter(None, lines[at : at + each])) for at in range(0, len(lines), each)
        )
        self._called = [*self.work.surviving, *filter(None, found)]
        self.log.add(f"{LINE} {len(self.lines)} event {session.world.event}")

    def _rulebook(self) -> Rulebook:
        return Rulebook(self.lab.document.rules, self.session, self.played.start)

    def turned(self, session: Session) -> list[tuple[str, bool]]:
        """Goals of the present that have another truth than before: (task: goal, whether met).

        Goals over time, of a `try`, and hidden ones are judged by `grade` only.
        """
        found = []
        for task in self.lab.document.tasks:
            later = task.hidden or task.steps_tried or self._varies(task)
            goals = [] if later else task.goal or []
            for goal in [goal for goal in goals if goal.kind == "now"]:
                if f"{NAMED}{{" in goal.question:  # it names what the finished world has
                    continue
                (judged,) = judge(session, [goal], self.played.start, self.lab.world)
                name = f"{task.id}: {judged.text}"
                if self.met.get(name, False) is not judged.met:
                    found.append((name, judged.met))
                self.met[name] = judged.met
        return found

    def new_cause(self) -> str:
        """The lab's sentence for what the newest line has shown; empty if it was shown before."""
        newest = self.work.newest
        was_open, self._was_open = self._was_open, self.open_task
        if any(each.shows for each in newest):
            text = (
                self.cause()
                or self._open_question_text()
                or (self._text_without_cause() if was_open is self._was_open else "")
            )
            before, self._shown_cause = self._shown_cause, text
            return self._shown_cause if self._shown_cause != before else ""
        if any(each.undoes for each in newest):
            self._shown_cause = ""
        return ""

    def new_errors(self) -> list[str]:
        """The queue pairs that the newest line has moved to ERR or SQE."""
        before, self._in_error = self._in_error, self._errors()
        return [name for name in self._in_error if name not in before]

    def _errors(self) -> list[str]:
        session = self.session
        return [fmt.qp_name(session.names, qp.node, qp.number)
                for hca in session.world.nodes.values() for qp in hca.qps.items.values()
                if qp.state in ERROR_STATES]  # fmt: skip

    def is_made_good(self, result: Result) -> bool:
        """Whether the cause of a task is a refused call, and the newest command has succeeded."""
        return result.cause is not None and result.cause.of_call and not self._is_refused()

    def _is_refused(self) -> bool:
        """Whether the newest command was refused."""
        return any(each.refused for each in self.work.commands[-1:])

    def cause(self) -> str:
        """The lab's sentence for the cause that `why` names in this world: `up: sq_psn of A …`.

        Of the open tasks before the next question; empty if the lab has none for it, or shuts the
        doctor, or if only a call was refused and a command has succeeded since. A guided lab has
        one open task, whose name is left out.
        """
        if (found := self._found_cause(is_shown=True)) is None:
            return ""
        named = "" if self.lab.document.guided else f"{found[0].id}: "
        return f"{named}{found[0].when_wrong[found[1]]}"

    def _found_cause(self, *, is_shown: bool) -> tuple[Task, str] | None:
        """The open task that has words for the cause, and the cause. is_shown: not held back."""
        if "why" in self._rulebook().shut:
            return None
        pairs = zip(self.lab.document.tasks, self.latest.results, strict=False)
        is_open = (task for task, result in pairs if result.passed is False and task.goal)
        found = [task for task in is_open if self.tells(task) is is_shown]
        return cause_of(self.session, found, of_calls=self._is_refused())

    def _open_question_text(self) -> str:
        """The report of an open question for which words are held back, once for each; or empty."""
        question = None if self.lab.document.guided else self.held_for
        if question is None or (found := self._found_cause(is_shown=False)) is None:
            return ""
        self._reported.add(question.id)
        words = f"words about {found[0].id} may contain the answer"
        return f"{question.id} is not answered yet, and {words}. Answer it, or go on to see them."

    def _text_without_cause(self) -> str:
        """Text that the open task shows if no cause fits: `hello: The bytes have to arrive …`.

        Only after a line in which time ran to its end, and a grade that has this line; else empty,
        or if the doctor is shut. A guided lab says it with its progress.
        """
        ran = any(each.shows and not each.undoes and each.end.event > each.start.event
                  for each in self.work.newest)  # fmt: skip
        is_over = self.session.world.agenda.next_ns() is None and self._graded == self.lines
        task = None if self.lab.document.guided else self.open_task
        if task is None or not (ran and is_over) or "why" in self._rulebook().shut:
            return ""
        result = next(each for each in self.latest.results if each.id == task.id)
        is_fit = result.cause is not None and result.cause.id in task.when_wrong
        is_shown = task.goal and task.otherwise and result.wrong and not is_fit
        return f"{task.id}: {task.otherwise}" if is_shown else ""

    def _varies(self, task: Task) -> bool:
        """Whether a task is judged in another world than the one that is open, too."""
        return any([self.lab.world.get(name)] != values for name, values in task.vary.items())

    # ------------------------------------------------------------------ tasks
    def task(self, name: str) -> Task:
        """The task of this id; raises WrongTask if there is none."""
        found = next((task for task in self.lab.document.tasks if task.id == name), None)
        if found is None:
            names = " ".join(each.id for each in self.lab.document.tasks)
            raise WrongTask(f"no task is called {name}: {names}")
        return found

    @property
    def open_task(self) -> Task | None:
        """The first task that is not passed, by the newest grade; None: all are that are judged.

        Where nothing fails, it is one that was not judged: a limit has ended the work before. A
        question whose answers are used up is not open any more.
        """
        pairs = list(zip(self.lab.document.tasks, self.latest.results, strict=False))
        failed = [
            task for task, result in pairs if result.passed is False and not self.is_used_up(task)
        ]
        waits = [
            task for task, result in pairs
            if result.passed is None and not result.hidden and result.reason != NOTED
        ]  # fmt: skip
        return next(iter(failed or waits), None)

    def tells(self, task: Task) -> bool:
        """Whether no question before a task holds words about the task back: see `held_for`."""
        tasks, question = self.lab.document.tasks, self.held_for
        return question is None or tasks.index(task) < tasks.index(question)

    def is_used_up(self, task: Task) -> bool:
        """Whether no other answer to a task counts."""
        return bool(task.tries) and len(tries_of(self.log.entries, task.id)) >= (task.tries or 0)

    @property
    def open_question(self) -> Task | None:
        """The open task if it asks for an answer, else the first that does and can be answered."""
        if (first := self.open_task) is not None and first.is_asked:
            return first
        return next(iter(self._open_questions), None)

    @property
    def _open_questions(self) -> list[Task]:
        pairs = zip(self.lab.document.tasks, self.latest.results, strict=False)
        return [task for task, result in pairs
                if task.is_asked and not task.hidden and not result.passed
                and result.reason != NOTED and not self.is_used_up(task)]  # fmt: skip

    @property
    def held_for(self) -> Task | None:
        """The first open question, for whose sake words that may answer it are held back.

        None: there is none that was not reported as open, to go on without the answer.
        """
        return next((task for task in self._open_questions if task.id not in self._reported), None)

    def next_hint(self, task: Task) -> int:
        """The number of the first hint that was not taken yet, from 1; 0: all were taken."""
        taken = [name for name in self.hints if name.startswith(f"{task.id}.")]
        return len(taken) + 1 if len(taken) < len(task.hints) else 0

    def take_hint(self, name: str) -> Hint | None:
        """Take the next hint of a task, and pay for it; None: all were taken, or it has none.

        Raises WrongTask.
        """
        if not (number := self.next_hint(task := self.task(name))):
            return None
        self.hints.append(f"{name}.{number}")
        self.log.add(f"{HINT} {name}.{number}")
        return task.hints[number - 1]

    def answer(self, name: str, text: str) -> None:
        """Answer a task; the last answer counts. Raises WrongTask."""
        task = self.task(name)
        if not task.is_asked and not task.hidden:
            raise WrongTask(f"{name} asks for no answer: its goals are judged")
        given = chosen(task, text.strip())
        if task.once is not None and not truth(self.session, parsed(task.once, self.lab.world)):
            raise WrongTask("carry out the lines of this task first, and answer what you have seen")
        tries = tries_of(self.log.entries, name)
        if self.is_used_up(task) and given not in tries:
            are = "is" if task.tries == 1 else "are"
            raise WrongTask(
                f"{name} takes {fmt.count(task.tries or 0, 'answer')}, which {are} given"
            )
        self.answers[name] = given
        self._log_answer(task, given)

    def _log_answer(self, task: Task, given: str) -> None:
        is_shown = given.isdecimal() and task.judged != GRADER
        self.log.add(" ".join([ANSWER, task.id, *([given] if is_shown else [])]))

    def _reopened(self, world: Mapping[str, str]) -> LabFile:
        path, params = self.lab.source.path, self.lab.params
        return loads(self.text, path, params=params, world=world)

    def grade(self, *, replayed: bool = False) -> Grade:
        """The grade of the work now, without hidden tasks, in the world as it stands.

        replayed: the lines run again from the setup, as at the grader's.
        """
        work = JudgedWork(self.lines, self.answers, self.hints, self.log.entries)
        begun_s = time.process_time()  # of this process: a busy machine does not make it slow
        # Before the end of the setup the world is not that of the lines, which begin there.
        is_own = self._called is None and self.session.history.here >= self.played.start
        kept = self._worlds if is_own and not replayed else None
        self.latest = grade(self.lab, work, self._reopened, public=True, kept=kept)
        self.latest.student, self._graded = self.student, self.lines
        self._graded_s = time.monotonic()
        self._cost_s = time.process_time() - begun_s
        return self.latest

    def refresh(self, *, at_once: bool) -> None:
        """Grade the newest line, unless that would be slow: then the next `task` does it.

        A step a key press must stay quick in a world that takes long to settle. at_once: a goal
        has turned, or a queue pair has failed, which is seldom.
        """
        waited_s = time.monotonic() - self._graded_s
        is_quick = at_once or self._cost_s < _QUICK_S or waited_s > _SPARE * self._cost_s
        if self.work.newest and is_quick:
            self.grade()

    def submission(self) -> Submission:
        """Submission of the work so far; the log gets an entry for it."""
        self.log.add(f"{SUBMITTED} {self.latest.score}")
        return self.so_far()

    def so_far(self) -> Submission:
        """The work up to now."""
        work = Submission(
            rdmalab=FORMAT, kind="submission", lab=f"{self.lab.document.id} {digest(self.lab)}",
            student=self.student, salt=self.lab.salt or None, lines=self.lines,
            answers=self.answers, hints=self.hints, log=self.log.entries,
        )  # fmt: skip
        return sealed(work)

    @property
    def kept(self) -> Submission:
        """The work with the lines of all branches, to be continued another day."""
        return sealed(self.so_far().model_copy(update={"lines": self.work.all}))
