"""A session as a scenario file: its journal, line by line, with the time between."""

import dataclasses
import re
from collections.abc import Iterator

from rdmalab.command import Unit
from rdmalab.grammar.format import render
from rdmalab.grammar.quantities import spelled
from rdmalab.grammar.text import in_quotes
from rdmalab.scenario.model import MAX_STEPS
from rdmalab.scenario.tree import MAX_OCTETS
from rdmalab.session.journal import Entry
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES, Profile
from rdmalab.spec.rules import errno_name

LONGEST = 10_000  # events of one step: a runner gives up a journey that goes on for ever

# What YAML reads as nothing but text, at any place of a line.
_PLAIN = re.compile(r"[A-Za-z][^#]*[^:#\s]|[A-Za-z]")
_MISREAD = re.compile(r": | #")
_NOTE = "What {} did, word by word; a walk halts where time passed."


class Unsavable(Exception):  # noqa: N818  (it says what the session is)
    """No scenario can say this: it is too long, or its devices are nobody's."""


def saved(session: Session, title: str) -> str:
    """The text of a scenario that does what this session did, event by event."""
    again = session.afresh()
    steps = [line for entry in session.journal for line in _steps(session, again, entry)]
    steps += _between(again, session.world.event, session.world.now_ns)
    if len(steps) > MAX_STEPS:
        raise Unsavable(f"{len(steps):,} steps; a scenario has at most {MAX_STEPS:,}")
    devices = {name: hca.profile for name, hca in session.world.nodes.items()}
    nodes = [f"  {name}: {_device(profile)}" for name, profile in devices.items()]
    head = ["rdmalab: 1", f"title: {text_of(title)}", f"seed: {session.seed}", "nodes:", *nodes]
    walk = f"  - note: {text_of(_NOTE.format(title))}"
    text = "\n".join([*head, "", "steps:", walk, *steps, ""])
    if (octets := len(text.encode())) > MAX_OCTETS:
        raise Unsavable(f"{octets:,} bytes; a scenario has at most {MAX_OCTETS:,}")
    return text


def _device(profile: Profile) -> str:
    """`{profile: strict, max_qp_wr: 16}`: the name, and the limits that are its own here."""
    named = PROFILES.get(profile.name)
    if named is None or dataclasses.replace(named, caps=profile.caps) != profile:
        raise Unsavable(f"its device {profile.name} is none that a scenario can name")
    own = [
        f", {field.name}: {int(value)}"
        for field in dataclasses.fields(profile.caps)
        if (value := getattr(profile.caps, field.name)) != getattr(named.caps, field.name)
    ]
    return f"{{profile: {profile.name}{''.join(own)}}}"


def _steps(session: Session, again: Session, entry: Entry) -> Iterator[str]:
    """The time before a word, and the word; `again` goes along, so that time can be measured."""
    yield from _between(again, entry.event - 1, entry.at_ns)
    outcome = again.perform(entry.invocation)
    line = text_of(render(entry.invocation, session.vocabulary[entry.invocation.name]))
    if outcome.refusal is None:
        yield f"  - {line}"
    else:
        yield f"  - do: {line}\n    errno: {errno_name(outcome.refusal.errno)}"


def _between(again: Session, event: int, at_ns: int) -> Iterator[str]:
    """So many events, and then a time in which nothing happens."""
    world = again.world
    while events := min(LONGEST, event - world.event):
        world.run(events)
        yield f"  - run: step {events}\n    name: what happened on the wire and in the adapters"
    if wait_ns := at_ns - world.now_ns:
        world.advance(at_ns)
        yield f"  - run: {spelled(wait_ns, Unit.NS)}"


def text_of(line: str) -> str:
    """A scalar of YAML that says this line."""
    if not line.isprintable():
        return in_quotes(line)  # its escapes are YAML's too
    if _PLAIN.fullmatch(line) and not _MISREAD.search(line):
        return line
    return "'" + line.replace("'", "''") + "'"
