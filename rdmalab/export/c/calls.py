"""Each command as its call of C, by name; one command of a session alone, for `show c`."""

from contextlib import suppress

from rdmalab.export.c import completions, host, objects, requests
from rdmalab.export.c.text import TAB, Scope, Text, Writer, checked
from rdmalab.export.replay.calls import NotExportable, bound
from rdmalab.export.replay.program import Language
from rdmalab.session.history import read_only_visit, undone_afterwards
from rdmalab.session.session import Session

CALLS = Language[Writer, Text](
    (objects, requests, completions, host),
    Scope,
    checked,
    "is a verb that no exported program calls",
)
_INDENT = "    "
_REMEMBERED = frozenset({
    "create_cq_ex", "create_qp_ex", "qp_to_qp_ex", "alloc_mw", "bind_mw", "get_async_event",
})  # fmt: skip
"""Calls after which a Writer has a variable or a key that a later call needs."""


def call_in_c(session: Session, number: int) -> list[str]:
    """The lines of the entry of this number in the journal; NotExportable says why C has none.

    Each call is made again at its moment, which a snapshot is near, and undone: to replay a session
    of a million events took half a minute.
    """
    journal, writer = session.journal, Writer()
    for earlier in range(number):
        if journal[earlier].invocation.name in _REMEMBERED:
            with suppress(NotExportable):
                _lines(session, earlier, writer)
    return [line.replace(TAB, _INDENT) for line in _lines(session, number, writer)]


def _lines(session: Session, number: int, writer: Writer) -> list[str]:
    """The lines of an entry, which is carried out again and undone."""
    history, entry = session.history, session.journal[number]
    with read_only_visit(history):
        history.seek(history.place_after(entry.event - 1))
        with undone_afterwards(history):
            call = bound(session, entry.invocation, number)
            text = CALLS.begin(writer, call)
            call.note(session.perform(entry.invocation))
            return CALLS.end(writer, call, text)
