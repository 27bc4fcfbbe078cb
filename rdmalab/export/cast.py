"""A session as a recording for asciinema (version 2): lines and answers at their virtual times.

A line is typed at the moment of its event; packets and timers are printed when they happen. A
microsecond of virtual time is a second of the recording, and a long wait three seconds.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.grammar.format import render
from rdmalab.session.interruption import check
from rdmalab.session.session import Session
from rdmalab.views import fmt
from rdmalab.views.caption import caption

WIDTH, HEIGHT = 100, 30  # columns, rows
_FILM_SECOND_NS = 1_000  # a microsecond of the lab takes a second of the film
_LONGEST_S = 3.0
_TYPING_S = 0.4  # before each line, and after it
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class Shown(NamedTuple):
    """A text and its virtual time (ns). is_typed: a line of the session, not what came of it."""

    at_ns: int
    text: str
    is_typed: bool = False


def recording(session: Session, title: str) -> str:
    """The text of the file: a header, then an event of output a line."""
    head = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title}
    lines = [json.dumps(head, ensure_ascii=False)]
    at_s, before_ns = 0.0, 0
    for shown in transcript(session):
        at_s += min((shown.at_ns - before_ns) / _FILM_SECOND_NS, _LONGEST_S)
        at_s += _TYPING_S if shown.is_typed else 0.0
        before_ns = shown.at_ns
        lines.append(json.dumps([round(at_s, 3), "o", _text(shown)], ensure_ascii=False))
        at_s += _TYPING_S if shown.is_typed else 0.0
    return "\n".join([*lines, ""])


def is_recording(octets: bytes) -> bool:
    """Whether a file is such a recording."""
    return octets.startswith(b'{"version": 2,')


def _text(shown: Shown) -> str:
    if shown.is_typed:
        return f"{_BOLD}rdmalab> {shown.text}{_PLAIN}\r\n"
    return f"  {fmt.clock(shown.at_ns):>10}  {shown.text}\r\n"


def transcript(session: Session) -> Iterator[Shown]:
    """Each line of the session and each event, in the order and at the time in which they came."""
    again = session.restarted()
    try:
        for entry in session.journal:
            yield from _events(again, entry.event - 1, session)
            again.world.advance(entry.at_ns)
            command = again.vocabulary[entry.invocation.name]
            yield Shown(entry.at_ns, render(entry.invocation, command), is_typed=True)
            again.perform(entry.invocation)
            yield _answer(again)
        yield from _events(again, session.history.end.event, session)
    finally:
        again.dispose()


def _events(again: Session, last: int, session: Session) -> Iterator[Shown]:
    """The events up to a number, one sentence each. session: that which is replayed."""
    many = session.history.end.event
    while again.world.event < last:
        check(again.world.event, many)
        again.history.run(1)
        yield _answer(again)


def _answer(again: Session) -> Shown:
    world = again.world
    return Shown(world.now_ns, caption(world, again.names, world.event).text)
