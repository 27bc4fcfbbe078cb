"""The JSON document of `rdmalab repl --json`: the lines and their replies.

`cli/schemas.py` has its schema.
"""

import dataclasses
import enum

from rdmalab.command import Thing
from rdmalab.doctor.answers import Answer
from rdmalab.session.lines import Reply, Script
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import Session
from rdmalab.shell.error_text import place_of
from rdmalab.spec.rules import errno_name
from rdmalab.workbench.show import Leave
from rdmalab.workbench.view_requests import View

SCHEMA_VERSION = 1
_DEEPEST = 12


@dataclasses.dataclass(slots=True)
class LineReport:
    """A reply with its context, as the document shows it.

    session: the one that replied. at_ns: virtual time afterwards. line_number: from 1. warnings:
    deviations between devices and documents. lines: printed while a scenario or a kept session
    was opened or continued; the reason, if it is_refused.
    """

    reply: Reply
    session: Session
    at_ns: int
    line_number: int
    warnings: list[str]
    lines: list[str] = dataclasses.field(default_factory=list)
    is_refused: bool = False


def document(reports: list[LineReport]) -> dict[str, object]:
    """The whole document."""
    return {"version": SCHEMA_VERSION, "replies": [_reply(item) for item in reports]}


def _reply(report: LineReport) -> dict[str, object]:
    reply, error = report.reply, _error(report.reply)
    refused = report.is_refused and error is None
    if refused:
        error = _fault("not understood", "\n".join(report.lines), 1, "", None)
    return {
        "line": reply.text,
        "line_number": report.line_number,
        "depth": reply.depth,
        "event": reply.event,
        "at_ns": report.at_ns,
        "value": plain_value(report.session, reply.value),
        "said": [] if refused else report.lines,
        "errno": None if reply.refusal is None else errno_name(reply.refusal.errno),
        "error": error,
        "warnings": report.warnings,
    }


def _error(reply: Reply) -> dict[str, object] | None:
    """column: place of the fault in `line`, from 1. rule: name of the violated rule."""
    if reply.bug:
        return _fault("bug", reply.bug, 1, "", None)
    if reply.error is not None:
        column = reply.error.place.start + 1
        return _fault("not understood", reply.error.message, column, reply.error.hint, None)
    if reply.refusal is None or reply.invocation is None:
        return None
    refusal = reply.refusal
    column = place_of(reply.invocation, refusal).start + 1
    return _fault("refused", refusal.message, column, refusal.legal, refusal.rule)


def _fault(kind: str, message: str, column: int, hint: str, rule: str | None) -> dict[str, object]:
    return {"kind": kind, "message": message, "column": column, "hint": hint, "rule": rule}


# --------------------------------------------------------------------------- values
def plain_value(session: Session, value: object, depth: int = 0) -> object:
    """A value as JSON: enums by name, bytes in hexadecimal, rows as objects."""
    if value is None or isinstance(value, bool | float) or depth > _DEEPEST:
        return value if depth <= _DEEPEST else None
    if isinstance(value, enum.Enum):
        return value.name if value.name is not None else value.value
    if isinstance(value, int | str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, Answer):
        return value.as_json()
    special = _special(session, value)
    return special if special is not None else _composed(session, value, depth + 1)


def _special(session: Session, value: object) -> object:
    if isinstance(value, Thing):
        return session.names.of(value)
    if isinstance(value, RunControl):
        return {"over": value.over, "met": value.met, "events": value.events}
    if isinstance(value, Script):
        return list(value.lines)
    if isinstance(value, Leave):
        return {}
    if isinstance(value, View):
        return {"title": value.title, "rows": [_row(session, row) for row in value.rows]}
    return None


def _row(session: Session, row: object) -> object:
    """A row of a view: the name of its class and its fields."""
    found = plain_value(session, row, 1)
    return {"row": type(row).__name__, **found} if isinstance(found, dict) else found


def _composed(session: Session, value: object, depth: int) -> object:
    if isinstance(value, dict):
        return {str(key): plain_value(session, item, depth) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        unknown = getattr(value, "undefined", ())
        names = [field.name for field in dataclasses.fields(value)]
        known = {name: None if name in unknown else getattr(value, name) for name in names}
        return {name: plain_value(session, item, depth) for name, item in known.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain_value(session, value._asdict(), depth)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(session, item, depth) for item in value]
    return str(value)
