"""The table of causes, in `causes.toml`: what the doctor checks, lists and warns of.

It has three parts. `[cause.SLUG]` is what a check of the doctor looks for. `[reason.TABLE]` says why
a status, event, NAK, refusal or drop happens. `[warning]` are the sentences after a call that
succeeded. The types below are the schema; `tests/spec/test_causes.py` checks the file against it.
`pkgutil` reads it: `importlib.resources` imports `random` and `pathlib`, which pure rooms do not
load.
"""

import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple


class CauseRow(NamedTuple):
    """One row of causes.toml: the question, rule and source of a check.

    item: number in the checklist. section: name of its part. asks: a question of which yes is a
    problem. rule: what it stands on, as a sentence. source: the document. look: the command that
    tests it, empty if none does. says: the cause in short, empty if no list of reasons has it.
    station: it stands on the way from a cause to its symptom and is never the root where a root is
    found. fallback: a station that is left out then.
    """

    item: int
    section: str
    asks: str
    rule: str
    source: str
    look: str = ""
    says: str = ""
    station: bool = False
    fallback: bool = False


class Reason(NamedTuple):
    """A possible reason, the command that tests it, and what `why` names; empty: nothing."""

    sentence: str
    test: str
    cause: str = ""


_VALUE = re.compile(r"\{(\w+)[^}]*\}")  # a place for a value in a warning


@cache
def data_of(package: str, file: str) -> dict[str, Any]:
    """The tables of a TOML file of a package."""
    import tomllib  # 6 ms, and no table is needed before something fails or is explained

    octets = pkgutil.get_data(package, file)
    assert octets is not None  # the loader of the package can read files
    return tomllib.loads(octets.decode())


def _part(name: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = data_of("rdmalab.spec", "causes.toml")[name]
    return part


@cache
def cause_rows() -> dict[str, CauseRow]:
    """All causes by slug, in the order of the file."""
    return {slug: CauseRow(**row) for slug, row in _part("cause").items()}


def reasons(table: str, word: str) -> list[Reason]:
    """Causes of a status, event, NAK, refusal or drop, likeliest first; empty: unknown word."""
    rows = _part("reason").get(table, {}).get(word, [])
    if isinstance(rows, str):  # the row that has the same reasons: WCStatus.REM_OP_ERR
        return reasons(*rows.split("."))
    return [_reason(row) for row in rows]


def _reason(row: str | list[str]) -> Reason:
    if isinstance(row, str):
        cause = cause_rows()[row]
        return Reason(cause.says, cause.look, row)
    return Reason(*row)


@cache
def leads_to() -> dict[str, list[tuple[str, str]]]:
    """Slug of a cause → (table, word) of each status, event, NAK, refusal or drop it explains."""
    found: dict[str, list[tuple[str, str]]] = {}
    for table, rows in _part("reason").items():
        for word in rows:
            for slug in dict.fromkeys(reason.cause for reason in reasons(table, word)):
                found.setdefault(slug, []).append((table, word))
    return found


def warning(key: str, **values: object) -> str:
    """The warning of this key, with its values; KeyError if the file has no such key."""
    text: str = _part("warning")[key]
    return text.format(**values)


def warnings_of(slug: str) -> list[str]:
    """The warnings about a cause, with a word in capitals for each value."""
    texts = [text for key, text in _part("warning").items() if key.partition("/")[0] == slug]
    return [_VALUE.sub(lambda value: value[1].upper(), text) for text in texts]
