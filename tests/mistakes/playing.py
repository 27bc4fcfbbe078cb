"""Play a mistake, tidy up or not, ask, and judge the answer by the table."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from subprocess import run
from sys import executable
from tempfile import TemporaryDirectory

from rdmalab.command import NotUnderstood
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.line import parse
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.shell.show_why import answer_lines
from rdmalab.shell.styled_text import text_of
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.relations import exists
from tests.doctor import tidying
from tests.doctor.tidying import why
from tests.mistakes.fixes import carried_out
from tests.mistakes.kinds import FOLDER, Kind, Value, besides, kinds, typed

PROGRAM_SECONDS = 60
_WIDTH = 80
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
    beside: str = ""

    @property
    def name(self) -> str:
        values = " ".join(f"{key}={value}" for key, value in self.values.items())
        parts = (self.kind.kind, self.profile, values, self.beside, self.tidy)
        return " ".join(part for part in parts if part)

    def text(self, text: str) -> str:
        return self.kind.text(text, self.values)

    @property
    def silent(self) -> bool:
        """Whether nothing shows that anything is wrong, without a name to ask about."""
        return self.kind.plain is False and not self.beside

    @property
    def alone(self) -> bool:
        """Whether nothing else is wrong in the session."""
        return not self.beside and self.kind.area != "two_causes"

    @property
    def exit_code(self) -> int | None:
        """Exit code that `why` alone has to have; None: 0 and 1 are right."""
        return 1 if self.beside else self.kind.exit_code

    @property
    def lines(self) -> list[str]:
        """All lines that are typed: the mistake beside it stands after the first."""
        first, *rest = typed(tuple(map(self.text, self.kind.lines)))
        return [first, *(typed(besides()[self.beside].lines) if self.beside else ()), *rest]


@dataclass
class Answer:
    """What `why` said of a mistake.

    asked, plain: the root; code: the exit code of `why` alone; untrue: what the answer to the
    pointed question lacks or says falsely; fixed: what a fix called working did not do; long: lines
    of the longer answer at 80 columns; bare: numbered causes without their evidence; misplaced:
    causes that have a fix and do not stand first; gone: names in a fix, to be typed now, of objects
    that were destroyed; untypable: lines of a fix that do not parse.
    """

    mistake: Mistake
    asked: str
    plain: str
    code: int = 0
    untrue: str = ""
    fixed: str = ""
    works: int = 0
    long: int = 0
    bare: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    untypable: list[str] = field(default_factory=list)
    texts: tuple[str, str] = ("", "")

    @property
    def asked_right(self) -> bool:
        return self.asked in _accepted(self.mistake)[0]

    @property
    def plain_right(self) -> bool:
        return self.mistake.silent or self.plain in _accepted(self.mistake)[1]

    @property
    def code_right(self) -> bool:
        return self.mistake.exit_code in (None, self.code)


def _accepted(mistake: Mistake) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The right roots of the pointed and of the plain question."""
    kind = mistake.kind
    pointed = kind.tidied if mistake.tidy and kind.tidied else kind.accept
    beside = besides()[mistake.beside].accept if mistake.beside else ()
    return pointed, (*(kind.plain or pointed), *beside)


def all_of(kind: Kind) -> Iterator[Mistake]:
    """Every session that a kind can be drawn as."""
    tidies = TIDY if kind.tidied is not False else [""]
    for row in product(kind.profiles, kind.variants, tidies, kind.beside or [""]):
        yield Mistake(kind, *row)


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
    for line in mistake.lines:
        for reply in lab.do(line):
            assert reply.error is None, f"{mistake.name}: {line}: {reply.error}"
    return lab.session


def _program(mistake: Mistake) -> Session:
    """The session that a pyverbs program leaves."""
    with TemporaryDirectory() as folder:
        program, saved = Path(folder, "program.py"), Path(folder, "saved.rdmalab.yaml")
        prelude = mistake.kind.prelude and (FOLDER / mistake.kind.prelude).read_text("utf-8")
        program.write_text(prelude + mistake.text(mistake.kind.python), "utf-8")
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
    answer = Answer(mistake, _root(report), _root(plain), code=int(plain.is_trouble))
    answer.untrue = _untrue(mistake.kind, _report_text(report))
    answer.long = max(len(answer_lines(each, _WIDTH)) for each in (report, plain))
    answer.bare = [slug for each in (report, plain) for slug in _bare(each)]
    answer.misplaced = [slug for each in (report, plain) for slug in _misplaced(each)]
    answer.gone = [name for each in (report, plain) for name in _gone(session, each)]
    answer.untypable = [line for each in (report, plain) for line in _untypable(session, each)]
    answer.texts = (shown(report), shown(plain))
    for each in (report, plain):
        if each.remedy is not None and each.remedy.works:
            answer.works += 1
            again = session_of(mistake)
            if tidy is not None:
                tidy(again)
            answer.fixed = answer.fixed or carried_out(again, each, alone=mistake.alone)
    return answer


def _misplaced(report: Report) -> list[str]:
    """The cause of a fix, unless it stands first, or the fix by itself helps what was asked."""
    if report.remedy is None or not report.causes:
        return []
    own = [cause.check.slug for cause in report.stations] if report.remedy.works else []
    return [] if report.remedy.of in ("", report.causes[0].check.slug, *own) else [report.remedy.of]


def _gone(session: Session, report: Report) -> list[str]:
    """The destroyed objects that a fix names and no line of it creates before.

    Of a change to the program: those of which it says how they are.
    """
    found, made = list[str](), set[str]()
    if report.remedy and report.remedy.cure.program and not report.remedy.cure.lines:
        names = {*_SAID_OF.findall(report.remedy.cure.program)}
        return [name for name in names if _is_gone(session, name)]
    lines = report.remedy.cure.lines if report.remedy and not report.remedy.cure.program else []
    for line in lines:
        verb, *words = line.split()
        made |= {*words[:1]} if verb.startswith(("create", "alloc", "reg", "open")) else set()
        names = {*re.findall(r"\b[A-Z]\.[a-z_]\w*", line)} - made
        found += [name for name in names if _is_gone(session, name)]
    return found


_SAID_OF = re.compile(r"\b(?:is|are|has|have|holds?) ([A-Z]\.[a-z_]\w*)")


def _is_gone(session: Session, name: str) -> bool:
    """Whether the object of this name was destroyed."""
    thing = session.names.find(name)
    return thing is not None and not exists(session.world, thing)


def _untypable(session: Session, report: Report) -> list[str]:
    """The lines of a fix, to be typed now or then, that are no commands."""
    found = []
    for line in report.remedy.cure.lines if report.remedy is not None else []:
        try:
            parse(line, session.vocabulary, None, file=True)
        except NotUnderstood as error:
            found.append(f"{line}: {error}")
    return found


def shown(report: Report) -> str:
    """The short answer, as a terminal of 80 columns shows it."""
    return "\n".join(text_of(line).rstrip() for line in answer_lines(report, _WIDTH))


def _report_text(report: Report) -> str:
    """The same answer unfolded, with single spaces."""
    lines = answer_lines(report, 100_000, plain=True)
    return " ".join(" ".join(text_of(line) for line in lines).split())


def _untrue(kind: Kind, text: str) -> str:
    """What the answer lacks, or says falsely; nothing if it is as the table has it."""
    if kind.denies and re.search(kind.denies, text):
        return f"says {kind.denies}"
    return f"lacks {kind.says}" if kind.says and not re.search(kind.says, text) else ""


def _bare(report: Report) -> list[str]:
    """The numbered causes that are shown without any of the evidence that was found."""
    answer = _report_text(report)
    return [
        cause.check.slug
        for number, cause in enumerate(report.chain, 1)
        if f"{number}. {cause.check.slug}" in answer and cause.finding.evidence
        and not any(_shown_as(each.text) in answer for each in cause.finding.evidence)
    ]  # fmt: skip


def _shown_as(text: str) -> str:
    """Evidence with single spaces, without the word that a name may stand for."""
    return " ".join(text.split()).removeprefix("it ")


def _root(report: Report) -> str:
    """The root that an answer names; where nothing failed its first warning."""
    warns = report.warnings and not (report.causes or report.waits) and report.outcome.good
    return report.warnings[0].check.slug if warns else report.slug
