"""Worlds in which mutated lines are typed: nothing breaks, and what is asked changes nothing."""

import asyncio
import json
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import FileError, loads
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import saved
from rdmalab.scenario.share_text import scenario_of, shared
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.evaluation import Evaluation
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.script import document, reports_of
from rdmalab.shell.styled_text import Line, text_of
from tests.digest import digest
from tests.hostile.account import Account, printed, shrunk, with_own_folders
from tests.hostile.typed import ASKING, mutants

A_WORLD = 25  # lines typed in one world
MAX_EVENTS = 300
PROFILES = ("strict", "strict", "rxe", "mlx5")


class Kind(NamedTuple):
    """What a world is made with, and how it is talked to."""

    profile: str
    paired: bool
    as_json: bool


class Broken(Exception):  # noqa: N818  (what it says, not an error of ours)
    """A check that failed."""


class Typist:
    """A lab that is typed to."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.lab = kind, Lab(profile=kind.profile)
        self.conversation = Conversation(self.lab, OutputFormat(self.lab.session, 80))
        if kind.paired:
            self.lab.do("use rc_pair")

    @property
    def session(self) -> Session:
        return self.lab.session

    def say(self, line: str) -> tuple[list[Reply], str]:
        """The replies to a line, and what a face prints of them."""
        self.session.max_events = MAX_EVENTS
        if self.kind.as_json:
            return self._document(line)
        first, rows = len(self.lab.all_replies), list[Line]()
        asyncio.run(self.conversation.evaluate(line, rows.append, _pause))
        return self.lab.all_replies[first:], "\n".join(map(text_of, rows))

    def _document(self, line: str) -> tuple[list[Reply], str]:
        reports = asyncio.run(reports_of(Evaluation(self.conversation), line, 1))
        text = json.dumps(document(reports), indent=2, allow_nan=False)
        return [each.reply for each in reports], text


async def _pause() -> None:
    await asyncio.sleep(0)


def attack(chance: Random, count: int, account: Account) -> None:
    """Type so many lines, a world for each A_WORLD of them."""
    while account.tries < count:
        lines = list(mutants(chance, min(A_WORLD, count - account.tries)))
        profile = chance.choice(PROFILES)
        kind = Kind(profile, chance.random() < 0.8, chance.random() < 0.1)
        account.tries += len(lines)
        if problem := examined(kind, lines, account):
            smaller = shrunk(lines, lambda some, k=kind: bool(examined(k, some)))  # type: ignore[misc]
            account.failed(examined(kind, smaller) or problem, str(kind), *map(repr, smaller))


@with_own_folders()
def examined(kind: Kind, lines: Sequence[str], account: Account | None = None) -> str | None:
    """What breaks when these lines are typed."""
    account = account or Account("again")
    try:
        typist = Typist(kind)
        for line in lines:
            _type(typist, line, account)
        _travel(typist, account)
        _replay(typist.session, account)
    except Broken as broken:
        return str(broken)
    except Exception as bug:  # noqa: BLE001  (whatever it is, it is what is looked for)
        return f"{type(bug).__name__}: {bug}"
    return None


def state(session: Session) -> Any:
    """What a person can know of a world."""
    world = session.world
    names = repr((session.names.thing_of, session.names.name_of))
    return digest(world.trace), world.event, world.now_ns, names


def _type(typist: Typist, line: str, account: Account) -> None:
    before, session = state(typist.session), typist.session
    replies, text = typist.say(line)
    if wrong := printed(text):
        raise Broken(f"{line!r}: {wrong}")
    for reply in replies:
        _well_formed(reply)
    asked = {reply.invocation.name for reply in replies if reply.invocation is not None}
    if asked and asked <= ASKING:
        account.checked("asked, and nothing changed")
        if session is not typist.session or state(session) != before:
            raise Broken(f"{line!r} changes the world")


def _well_formed(reply: Reply) -> None:
    if reply.error is not None and not (
        reply.error.message
        and reply.event is None
        and 0 <= reply.error.place.start <= reply.error.place.stop
    ):
        raise Broken(f"{reply.text!r}: a mistake without its place or its message")
    if reply.refusal is not None and reply.refusal.errno <= 0:
        raise Broken(f"{reply.text!r}: a refusal without an errno")
    if reply.travel is not None and not reply.travel.over:
        raise Broken(f"{reply.text!r}: a travel that has not ended")


def _travel(typist: Typist, account: Account) -> None:
    """To an event of the past and to the end, twice: the same two worlds."""
    history = typist.session.history
    middle = (history.start.event + history.end.event) // 2
    seen = []
    for _ in range(2):
        for place in ("end", str(middle)):
            typist.say(f"goto {place}")  # what a lab tells of its tasks there belongs to this line
            seen.append((state(typist.session), typist.say("show")[1]))
    typist.say("goto end")
    account.checked("gone back and forth")
    if seen[:2] != seen[2:]:
        raise Broken(f"goto {middle}, goto end: not the world that was there")


def _replay(session: Session, account: Account) -> None:
    """Saved, shared and played again: the same world."""
    text = saved(session, "hostile")
    if scenario_of(shared(text)) != text:
        raise Broken("shared, it is another text")
    account.checked("shared")
    try:
        runner = Runner(loads(text, "hostile", session.vocabulary), open_session)
    except FileError as wrong:
        raise Broken(f"saved, it cannot be read: {wrong}") from None
    runner.run()
    if not runner.ok:
        raise Broken(f"saved, it cannot run: {runner.results[-1].text('hostile')}")
    one, other = session.world, runner.session.world
    if (digest(one.trace), one.now_ns) != (digest(other.trace), other.now_ns):
        raise Broken("played again it is another world")
    account.checked("saved and played again")
