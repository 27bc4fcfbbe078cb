"""Points of a lab that cost no work: a copied submission, `apply`, memory writes, the handout."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from rdmalab.classroom.answers import WrongTask, number_of_choice, right_answers
from rdmalab.classroom.goals import parsed
from rdmalab.classroom.instructor_model import Solution
from rdmalab.classroom.judging import JudgedWork, grade
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.model import GRADER, LabDocument
from rdmalab.classroom.playing import begun
from rdmalab.classroom.public import published
from rdmalab.command import NotUnderstood, Noun
from rdmalab.spec.row import dataclass

COPIED, APPLIED, WRITTEN, HANDOUT, TRIED = "copied", "applied", "written", "handout", "tried"
WAYS = {
    COPIED: "a copy of another student's work",
    APPLIED: "apply alone",
    WRITTEN: "writing memory alone",
    HANDOUT: "what the file for students says",
    TRIED: "every choice tried until it is right",
}
"""Ways to points without work: key of `bars` → how it is called."""
_FOR_AUTHORS = (COPIED, TRIED)
# Where a lab sets no bar, a way may get what a guess gets. More is an error, but for these a
# warning: a lab may be the same for everyone, and may let its choices be tried.
_BYTES = re.compile(r'(?P<where>\w+\.\w+\[\d+:\d+\]) == (?P<text>"[^"]*")')
_WORD = re.compile(r"(?P<mr>\w+\.\w+)\[(?P<at>\d+)\] == (?P<value>.+)")
_ROUNDS = 6
_EMPTY = ("SEND", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "SEND_WITH_IMM", "RDMA_READ")
_NEW = "max_send_wr=8 max_recv_wr=8"


@dataclass(frozen=True, slots=True)
class Figure:
    """Points by one way. way: key of WAYS. share: of all points, 0 to 1. bar: in percent, or None.

    is_guess: the lab sets no bar, and this one is what an honest guess gets. mend: how to make it
    less.
    """

    way: str
    share: float
    bar: int | None = None
    is_guess: bool = False
    mend: str = "mend the goals"

    @property
    def wrong(self) -> str:
        """`a copy … gets 82 %, more than the 20 % of bars`; empty if it is not above its bar."""
        return "" if self._warns else self._above

    @property
    def warning(self) -> str:
        """As `wrong`, for a way that the author of the lab may allow, where no bar says so."""
        return self._above if self._warns else ""

    @property
    def _warns(self) -> bool:
        return self.is_guess and self.way in _FOR_AUTHORS

    @property
    def _above(self) -> str:
        percent = round(100 * self.share)
        if self.bar is None or percent <= self.bar:
            return ""
        if not self.is_guess:
            return f"{self.text}, more than the {self.bar} % of bars"
        allow = f"{self.mend}, or allow it by bars: {{{self.way}: {percent}}}"
        return f"{self.text}, more than the {self.bar} % of an honest guess: {allow}"

    @property
    def text(self) -> str:
        return f"{WAYS[self.way]} gets {self.share:.0%}"


def figures(text: str, path: str, ids: Sequence[str], guess: float | None = None) -> list[Figure]:
    """The share that each way gets. ids: students; all but the first copy the work of the first.

    guess: the share of an honest guess, the bar where the lab sets none.
    Empty if the lab has no points or no solutions. Raises FileError and BrokenLab.
    """
    labs = [loads(text, path, student=student) for student in ids]
    document = labs[0].document
    if document.solutions is None or not document.points:
        return []
    tried = Ways(text, path, labs)
    shares = {
        COPIED: tried.copied(), APPLIED: tried.alone(applied(labs[0])),
        WRITTEN: max(map(tried.alone, written(labs[0]))),
        HANDOUT: tried.confirmed(published(labs[0])), TRIED: tried.confirmed(text),
    }  # fmt: skip
    usual = None if guess is None else math.ceil(100 * guess)
    found = []
    for way, share in shares.items():
        bar: int | None = getattr(document.bars, way)
        # `tries` of each choice are what the author allows.
        is_guess = bar is None and (way != TRIED or bool(_free(document)))
        found.append(Figure(way, share, usual if is_guess else bar, is_guess, _mend(way, document)))
    return found


def _free(document: LabDocument) -> list[str]:
    """The choices that may be tried until the app says that they are right."""
    return [
        task.id for task in document.tasks
        if task.choice is not None and task.tries is None and task.judged != GRADER
    ]  # fmt: skip


def _mend(way: str, document: LabDocument) -> str:
    """Keys to write in a lab so that a way gets less."""
    if way == TRIED:
        return f"write tries: 1 in {', '.join(_free(document))}"
    if way == COPIED:
        fixed = [task.id for task in document.tasks if task.choice is not None and not task.shuffle]
        shuffled = f", write shuffle: true in {', '.join(fixed)}" if fixed else ""
        return f"let the goals ask for params of many values{shuffled}"
    return "mend the goals"


class Ways:
    """Submissions that are graded as shares of all points. labs: the lab of each student."""

    def __init__(self, text: str, path: str, labs: Sequence[LabFile]) -> None:
        self.text, self.path, self.labs = text, path, labs

    def share(self, lab: LabFile, work: JudgedWork) -> float:
        """The share of all points that the work is worth for the student of a lab."""

        def reopen(world: Mapping[str, str]) -> LabFile:
            return loads(self.text, self.path, params=lab.params, world=world)

        return grade(lab, work, reopen).score / lab.document.points

    def alone(self, lines: Sequence[str]) -> float:
        """These lines and no answer."""
        return self.share(self.labs[0], JudgedWork(lines))

    def copied(self) -> float:
        """The best of the accepted solutions of the first student, as the mean of all others.

        A number of a choice that is shuffled is right for one student of so many as it has choices.
        """
        donor, *others = self.labs
        solutions = donor.document.solutions
        assert solutions is not None
        best = 0.0
        luck = sum(t.points / len(t.choice or ()) for t in donor.document.tasks if t.shuffle)
        answers = everything_right(donor)
        for solution in solutions.accept if others else ():
            given = {**answers, **as_shown(donor, solution)}
            unshuffled = {name: text for name, text in given.items() if name not in donor.orders}
            shares = [self.share(lab, JudgedWork(solution.lines, unshuffled)) for lab in others]
            best = max(best, sum(shares) / len(shares))
        return best + luck / donor.document.points

    def confirmed(self, file: str) -> float:
        """Each choice is tried until the app says that it is right; the mean of all students.

        file: the text of the lab that they have. Where it says nothing, they have learned nothing.
        """
        return sum(self._confirmed(file, lab) for lab in self.labs) / len(self.labs)

    def _confirmed(self, file: str, lab: LabFile) -> float:
        work = LabSession(file, self.path, lab.student)
        for task in work.lab.document.tasks:
            for number in range(1, len(task.choice or ()) + 1):
                try:
                    work.answer(task.id, str(number))
                except WrongTask:
                    break
                result = next(each for each in work.grade().results if each.id == task.id)
                if result.passed:
                    break
            if task.choice and not result.passed:
                work.answers.pop(task.id)
        return self.share(lab, JudgedWork((), work.answers, (), work.submission().log))


def guessed(text: str, path: str, ids: Sequence[str]) -> float:
    """The share that an honest guess gets: each choice at random, and the commonest right value.

    ids: students whose right values are compared.
    """
    labs = [loads(text, path, student=student) for student in ids]
    points = 0.0
    for index, task in enumerate(labs[0].document.tasks):
        if task.choice is not None:
            points += task.points / len(task.choice)
        elif task.answer is not None:
            right = [right_answers(lab, index)[0] for lab in labs]
            points += task.points * max(map(right.count, right)) / len(right)
    return points / max(1, labs[0].document.points)


# --------------------------------------------------------------------------- answers
def everything_right(lab: LabFile) -> dict[str, str]:
    """The right answer of each task that asks for one, as the student of the lab gives it."""
    tasks = lab.document.tasks
    return {task.id: right_answers(lab, n)[0] for n, task in enumerate(tasks) if task.is_asked}


def as_shown(lab: LabFile, solution: Solution) -> dict[str, str]:
    """The answers of a solution: of a choice by the number that is shown.

    A solution names the choices in the order of the file, by letter or number.
    """
    answers = dict(solution.answers)
    for task in lab.document.tasks:
        number = number_of_choice(task, answers.get(task.id, ""))
        if number is not None:
            order = lab.orders.get(task.id)
            answers[task.id] = str((order.index(number) if order else number) + 1)
    return answers


# --------------------------------------------------------------------------- lines
def applied(lab: LabFile) -> list[str]:
    """Time, the fix of `why`, and polls, again and again."""
    names = begun(lab).session.names.all()
    polls = [f"poll_cq {name} num_entries=16" for name in names if _is(name, Noun.CQ)]
    return ["run 200ms", "apply", "run 1ms", *polls] * _ROUNDS


def written(lab: LabFile) -> Iterator[list[str]]:
    """The bytes that goals of shown tasks name, written by the host, then empty messages.

    At once and after some time, on the queue pairs of the lab and on new ones.
    """
    writes = list(dict.fromkeys(_writes(lab)))
    names = [name for name in begun(lab).session.names.all() if _is(name, Noun.QP)]
    old = [("", a, b) for a, b in zip(*_by_node(lab, names), strict=False)]
    new = [_new_pair(lab)]
    for wait in ([], ["run 100us"]):
        for pairs in (old, new):
            messages = [line for pair in pairs for line in _empty(*pair)]
            yield [*wait, *writes, *messages, "run 1ms", *applied(lab)[3:]]


def _is(name: str, noun: Noun) -> bool:
    return name.partition(".")[2].startswith(noun.value)


def _by_node(lab: LabFile, names: Sequence[str]) -> list[list[str]]:
    nodes = list(begun(lab).session.world.nodes)[:2]
    return [[name for name in names if name.startswith(f"{node}.")] for node in nodes]


def _new_pair(lab: LabFile) -> tuple[str, str, str]:
    a, b = list(begun(lab).session.world.nodes)[:2]
    made = [
        f"create_qp {n}.qp97 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0 {_NEW}"
        for n in (a, b)
    ]
    return "; ".join([*made, f"connect {a}.qp97 {b}.qp97"]), f"{a}.qp97", f"{b}.qp97"


def _empty(made: str, sender: str, receiver: str) -> Iterator[str]:
    """Messages without a byte of each kind, each with a receive for it."""
    yield from [made] if made else []
    for opcode in _EMPTY:
        yield f"post_recv {receiver}"
        imm = " imm_data=0x34120000" if opcode.endswith("IMM") else ""
        where = " remote_addr=0 rkey=0" if opcode.startswith("RDMA") else ""
        yield f"post_send {sender} opcode={opcode} flags=SIGNALED{where}{imm}; run 20us"


def _writes(lab: LabFile) -> Iterator[str]:
    """A `write` for each comparison of bytes in the goals of tasks that are shown."""
    for question in _shown_goals(lab.document):
        try:
            whole = parsed(question, lab.world).text
        except NotUnderstood:  # it names what the finished world has
            continue
        if (found := _BYTES.search(whole)) is not None:
            yield f"write {found['where']} {found['text']}"
        elif (found := _WORD.fullmatch(whole)) is not None:
            yield from _number(lab, found["mr"], int(found["at"]), found["value"])


def _shown_goals(document: LabDocument) -> Iterator[str]:
    for task in document.tasks:
        yield from (goal.question for goal in task.goal or () if not task.hidden)


def _number(lab: LabFile, region: str, at: int, value: str) -> Iterator[str]:
    """A number as its first byte, if it is one of a byte."""
    try:
        number = begun(lab).session.ask(parsed(value, lab.world).expression.node)
    except NotUnderstood:
        return
    if isinstance(number, int) and 0 <= number < 256:
        yield f'write {region}[{at}:{at + 1}] "\\x{number:02x}"'
