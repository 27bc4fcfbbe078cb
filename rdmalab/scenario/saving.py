"""A session as a scenario file: its journal, line by line, with the time between."""

import re
from collections.abc import Iterator

from rdmalab.command import Unit
from rdmalab.grammar.format import render
from rdmalab.grammar.quantities import spelled
from rdmalab.scenario.model import MAX_STEPS
from rdmalab.scenario.runner import OpenSession
from rdmalab.session.branch import Entry
from rdmalab.session.session import Session
from rdmalab.spec.rules import errno_name

# What YAML reads as nothing but text, at any place of a line.
_PLAIN = re.compile(r"[A-Za-z][^#]*[^:#\s]|[A-Za-z]")
_MISREAD = re.compile(r": | #")


class TooLong(Exception):  # noqa: N818  (it says what the session is)
    """More steps than a scenario may have."""


def saved(session: Session, open_session: OpenSession, title: str) -> str:
    """The text of a scenario that does what this session did, event by event."""
    profiles = {name: hca.profile for name, hca in session.world.nodes.items()}
    again = open_session(profiles, seed=session.seed)
    steps = [line for entry in session.journal for line in _steps(session, again, entry)]
    steps += _between(again, session.world.event, session.world.now_ns)
    if len(steps) > MAX_STEPS:
        raise TooLong(f"{len(steps):,} steps; a scenario has at most {MAX_STEPS:,}")
    nodes = [f"  {name}: {{profile: {profile.name}}}" for name, profile in profiles.items()]
    head = ["rdmalab: 1", f"title: {_text(title)}", f"seed: {session.seed}", "nodes:", *nodes]
    walk = f"  - note: {_text(f'What {title} did, word by word; a walk halts where time passed.')}"
    return "\n".join([*head, "", "steps:", walk, *steps, ""])


def _steps(session: Session, again: Session, entry: Entry) -> Iterator[str]:
    """The time before a word, and the word; `again` goes along, so that time can be measured."""
    yield from _between(again, entry.event - 1, entry.at_ns)
    outcome = again.perform(entry.invocation)
    line = _text(render(entry.invocation, session.vocabulary[entry.invocation.name]))
    if outcome.refusal is None:
        yield f"  - {line}"
    else:
        yield f"  - do: {line}\n    errno: {errno_name(outcome.refusal.errno)}"


def _between(again: Session, event: int, at_ns: int) -> Iterator[str]:
    """So many events, and then a time in which nothing happens."""
    world = again.world
    if events := event - world.event:
        world.run(events)
        yield f"  - run: step {events}\n    name: what happened on the wire and in the adapters"
    if wait_ns := at_ns - world.now_ns:
        world.advance(at_ns)
        yield f"  - run: {spelled(wait_ns, Unit.NS)}"


def _text(line: str) -> str:
    """A scalar of YAML that says this line."""
    if _PLAIN.fullmatch(line) and not _MISREAD.search(line):
        return line
    return "'" + line.replace("'", "''") + "'"
