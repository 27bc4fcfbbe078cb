"""Play a mistake, tidy up or not, ask, and judge the answer by the table."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import run
from sys import executable
from tempfile import TemporaryDirectory

from rdmalab.command import Noun
from rdmalab.doctor.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import ProgramState
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.program_state import Program
from tests.doctor import tidying
from tests.doctor.tidying import why
from tests.mistakes.kinds import Kind, Value, kinds

PROGRAM_SECONDS = 60
TIDY: dict[str, Callable[[Session], None] | None] = {
    "": None, "destroyed": tidying.destroy_all, "reset": tidying.reset, "drained": tidying.drain,
}  # fmt: skip


@dataclass(frozen=True)
class Mistake:
    """One session: a kind on a profile with its values, tidied up in some way or not at all."""

    kind: Kind
    profile: str
    values: dict[str, Value]
    tidy: str = ""

    @property
    def name(self) -> str:
        values = " ".join(f"{key}={value}" for key, value in self.values.items())
        return " ".join(part for part in (self.kind.kind, self.profile, values, self.tidy) if part)

    def text(self, text: str) -> str:
        return self.kind.text(text, self.values)


@dataclass
class Answer:
    """What `why` said of a mistake. asked, plain: the root; fixed: what a working fix broke."""

    mistake: Mistake
    asked: str
    plain: str
    wrong: list[str] = field(default_factory=list)
    fixed: str = ""

    @property
    def asked_right(self) -> bool:
        return self.asked in _accepted(self.mistake)[0]

    @property
    def plain_right(self) -> bool:
        return self.mistake.kind.plain is False or self.plain in _accepted(self.mistake)[1]


def _accepted(mistake: Mistake) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The right roots of the pointed and of the plain question."""
    kind = mistake.kind
    pointed = kind.tidied if mistake.tidy and kind.tidied else kind.accept
    return pointed, kind.plain or pointed


def all_of(kind: Kind) -> Iterator[Mistake]:
    """Every session that a kind can be drawn as."""
    for profile in kind.profiles:
        for values in kind.variants:
            for tidy in TIDY if kind.tidied is not False else [""]:
                yield Mistake(kind, profile, values, tidy)


def drawn(seed: str, count: int) -> list[Mistake]:
    """So many sessions: each kind in its turn, the rest of it by chance."""
    chance = random.Random(seed)
    order = list(kinds())
    chance.shuffle(order)
    return [chance.choice(list(all_of(order[n % len(order)]))) for n in range(count)]


def session_of(mistake: Mistake) -> Session:
    """The session after the mistake and before any teardown."""
    if mistake.kind.python:
        return _program(mistake)
    lab = Lab(profile=mistake.profile)
    for line in mistake.kind.lines:
        for reply in lab.do(mistake.text(line)):
            assert reply.error is None, f"{mistake.name}: {line}: {reply.error}"
    return lab.session


def _program(mistake: Mistake) -> Session:
    """The session that a pyverbs program leaves."""
    with TemporaryDirectory() as folder:
        program, saved = Path(folder, "program.py"), Path(folder, "saved.rdmalab.yaml")
        program.write_text(mistake.text(mistake.kind.python), "utf-8")
        options = ["--profile", mistake.profile, "--save", str(saved)]
        command = [executable, "-m", "rdmalab", "python", *options, str(program)]
        run(command, capture_output=True, timeout=PROGRAM_SECONDS, check=False)
        runner = Runner(load(str(saved), VOCABULARY), open_session)
    while runner.next_step() is not None:
        pass
    return runner.session


def came_about(session: Session, mistake: Mistake) -> bool:
    """Whether the failure is real: `shows` is true."""
    text = mistake.text(mistake.kind.shows)
    return not text or bool(session.ask(parse_expression(text, "A").node))


def answer_of(mistake: Mistake) -> Answer:
    """Play it, tidy up, ask twice; carry out what is called a working fix."""
    session = session_of(mistake)
    assert came_about(session, mistake), f"{mistake.name}: {mistake.kind.shows} is false"
    if (tidy := TIDY[mistake.tidy]) is not None:
        tidy(session)
    question = mistake.text(mistake.kind.ask)
    report, plain = why(session, question), why(session, "")
    answer = Answer(mistake, _root(report), _root(plain))
    if report.remedy is not None and report.remedy.works:
        answer.fixed = _carried_out(session, report)
    return answer


def _carried_out(session: Session, report: Report) -> str:
    """What is wrong with a fix that is called working; nothing if its claim is true.

    Of a work request: it, or the same once more, ends with success after the fix. Of a thread: it
    is not in the line any more. Of all: no line of the fix is refused.
    """
    assert report.remedy is not None
    first, before = session.world.trace.latest + 1, _place(session, report.name)
    for line in report.remedy.cure.lines:
        for reply in replies(session, line, file=True):
            if reply.failed:
                return f"{line}: refused"
            if reply.travel is not None:
                reply.travel.finish()
    session.history.run(20_000, session.world.now_ns + 10_000_000_000)
    if work := _WORK.fullmatch(report.name):
        ended = session.world.trace.since(first)
        good = any(_succeeds(record, int(work[1])) for record in ended)
        return "" if good else f"{report.name} does not succeed after its fix"
    stays = before is not None and before == _place(session, report.name)
    return f"{report.name} is where it was" if stays else ""


def _root(report: Report) -> str:
    """The root that an answer names; where nothing failed its first warning."""
    warns = report.warnings and not (report.causes or report.waits) and report.standing.good
    return report.warnings[0].check.slug if warns else report.slug


_WORK = re.compile(r"\w+\.\w+\.(?:recv_)?wr\[(\d+)\]")


def _succeeds(record: rec.Record, wr_id: int) -> bool:
    """Whether work of this wr_id has ended with success."""
    kind = rec.kind_of(record)
    if kind is rec.Kind.CQE_ADDED:
        return bool(record[rec.A].wr_id == wr_id and not record[rec.A].status)
    done = kind is rec.Kind.WQE_COMPLETED and not record[rec.B]
    return bool(done and record[rec.A].wr.wr_id == wr_id)


def _place(session: Session, name: str) -> tuple[int, ...] | None:
    """Where a thread is; None of all else."""
    thing = session.names.find(name)
    if thing is None or thing.noun is not Noun.PROGRAM:
        return None
    program = session.world.find(thing, Program)
    waits = program.state in (ProgramState.WAITING, ProgramState.RUNNING, ProgramState.SLEEPING)
    return (program.at, *program.loops) if waits else None
