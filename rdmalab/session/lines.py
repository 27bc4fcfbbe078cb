"""Run the commands of a line, and those of short forms: one reply each."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rdmalab.command import Invocation, NameMisplaced, NotAllowed, NotUnderstood, Refused, Thing
from rdmalab.grammar.line import parse
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass


class Request:
    """Base of the results that ask something of the face; nothing is printed of them."""

    __slots__ = ()


@dataclass(slots=True)
class Script(Request):
    """The result of a short form: its lines."""

    lines: list[str]


@dataclass(slots=True)
class Reply:
    """The reply to one command.

    text: the command as written. depth: 1 for lines that a short form stands for. event: None if
    nothing changed. first_record: where its records begin in the trace. travel: a run
    that the caller must finish before the next reply. left: the branch of time that this command
    has left. bug: a sentence about an exception that ended the command.
    """

    text: str
    depth: int = 0
    invocation: Invocation | None = None
    event: int | None = None
    first_record: int = 0
    value: Any = None
    refusal: Refused | None = None
    error: NotUnderstood | None = None
    travel: RunControl | None = None
    left: str = ""
    bug: str = ""

    @property
    def failed(self) -> bool:
        return self.error is not None or self.refusal is not None or bool(self.bug)

    @property
    def is_answer(self) -> bool:
        """Whether a call, `show` or `why` has returned something to read, more than a sentence."""
        is_told = self.value is None or isinstance(self.value, (RunControl, Script, Thing, str))
        return not (is_told or self.depth or self.failed)


def replies(
    session: Session, line: str, *, file: bool = False, now: Callable[[], Session] | None = None
) -> Iterator[Reply]:
    """Run the commands of a line, up to the first that fails.

    file: only full names, as scenario files and saved sessions have them. now: returns the current
    session before each command, because `load` replaces it; None: `session` for all of them.
    """
    try:
        node = None if file else session.default_node
        aliases = {} if file else session.aliases
        invocations = parse(line, session.vocabulary, node, file=file, aliases=aliases)
    except NotUnderstood as error:
        error.line = error.line or line
        if isinstance(error, NameMisplaced):
            free = session.names.first_free(error.stem)
            error.hint = error.hint.replace(f"{error.stem}0", free, 1)
        yield Reply(line, error=error)
        return
    yield from carried_out(session, invocations, file=file, now=now)


def carried_out(
    session: Session, invocations: Iterable[Invocation], *, file: bool = True,
    now: Callable[[], Session] | None = None,
) -> Iterator[Reply]:  # fmt: skip
    """Run commands that were parsed already; the other arguments are those of `replies`."""
    for invocation in invocations:
        current = now() if now is not None else session
        # Asked at each command: one before it on this line may have gone to another moment.
        if not file and (refusal := current.refusal(invocation.line)):
            yield Reply(invocation.line, error=NotAllowed(refusal, line=invocation.line))
            return
        reply = _perform(current, invocation)
        yield reply
        if isinstance(reply.value, Script):
            for line_reply in _stand_for(current, reply.value):
                yield line_reply
                reply = line_reply
        if reply.failed:
            return


def _perform(session: Session, invocation: Invocation) -> Reply:
    reply = Reply(invocation.line, invocation=invocation)
    reply.first_record = len(session.world.trace.records)
    try:
        outcome = session.perform(invocation)
    except NotUnderstood as error:
        error.line = error.line or invocation.line
        reply.error = error
        return reply
    except Refused as refusal:  # a thing that was destroyed, met by a command that only looks
        reply.refusal = refusal
        return reply
    reply.event, reply.value, reply.refusal = outcome.event, outcome.value, outcome.refusal
    reply.left = outcome.left
    if isinstance(outcome.value, RunControl):
        reply.travel = outcome.value
    return reply


def _stand_for(session: Session, script: Script) -> Iterator[Reply]:
    """Run the lines of a short form, up to the first that fails."""
    for line in script.lines:
        for reply in replies(session, line, file=True):
            reply.depth += 1
            yield reply
            if reply.failed:
                return


def allowed_lines(session: Session, line: str) -> list[str]:
    """The line, or the verbs of its short form where the rules of an open lab refuse the line.

    Empty if they refuse these too, or if the short form cannot be used at this moment.
    """
    if not session.refusal(line):
        return [line]
    verbs: list[str] = []
    try:
        for invocation in parse(line, session.vocabulary, None, file=True):
            command = session.vocabulary[invocation.name]
            if command.function.__annotations__.get("return") is not Script:
                return []
            verbs += session.perform(invocation).value.lines
    except (NotUnderstood, Refused):
        return []
    return [] if any(map(session.refusal, verbs)) else verbs
