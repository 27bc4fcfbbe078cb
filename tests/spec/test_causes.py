"""The table of causes: its schema, and that every part of it has its reader."""

import ast
import string
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

import rdmalab
from rdmalab.doctor.check import ChecklistSection
from rdmalab.doctor.diagnosis.diagnose import BY_SLUG
from rdmalab.grammar.line import parse
from rdmalab.spec import absent
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.causes import (
    CauseRow,
    cause_rows,
    data_of,
    leads_to,
    reasons,
    warning,
    warnings_of,
)
from rdmalab.spec.refusals import DROPS, REFUSALS, Syndrome
from rdmalab.spec.statuses import STATUS, Side
from tests.each import each
from tests.guide.saying import WORDS

TABLE = data_of("rdmalab.spec", "causes.toml")
SCHEMA: dict[str, Any] = {
    "cause": dict[str, CauseRow],
    "reason": dict[str, dict[str, str | list[str | tuple[str, str] | tuple[str, str, str]]]],
    "warning": dict[str, str],
}
# Warnings after which nothing fails; `later` is the end of other warnings.
HARMLESS = {
    "cut-psn", "cut-qpn", "no-alternate-path", "inline-flag", "region-overwritten",
    "region-not-open", "later", "not-invalidated",
}  # fmt: skip
NEEDED: dict[str, set[str]] = {
    "WCStatus": {s.name for s, row in STATUS.items() if row.side is not Side.NEITHER},
    "AsyncEvent": {e.name for e in set(AsyncEvent) - set(absent.REASONS[AsyncEvent])},
    "refusal": set(REFUSALS),
    "drop": set(DROPS),
}
POSSIBLE = NEEDED | {"Syndrome": set(Syndrome.__members__)}
WORDS_OF_TABLES = [(table, word) for table, rows in TABLE["reason"].items() for word in rows]


def test_each_part_is_of_its_type() -> None:
    assert set(TABLE) == set(SCHEMA)
    for part, kind in SCHEMA.items():
        TypeAdapter(kind).validate_python(TABLE[part])


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("cause", {"pkey": {"item": 1, "section": "PEER", "asks": "Is it so?", "rule": "it is"}}),
        ("cause", {"pkey": {"item": "one", "section": "", "asks": "", "rule": "", "source": ""}}),
        ("reason", {"drop": {"qkey": [["a sentence without a command"]]}}),
        ("warning", {"pkey": 7}),
    ],
)
def test_the_schema_refuses_a_wrong_row(part: str, content: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(SCHEMA[part]).validate_python(content)


# --------------------------------------------------------------------------- causes
def test_every_cause_has_a_check_and_every_check_a_cause() -> None:
    assert set(cause_rows()) == set(BY_SLUG)


@each("slug", list(cause_rows()))
def test_a_cause_stands_in_a_part_of_the_checklist(slug: str) -> None:
    row = cause_rows()[slug]
    assert row.section in ChecklistSection.__members__
    assert not row.fallback or row.station
    assert not row.look or parse(row.look, WORDS, file=True)


# --------------------------------------------------------------------------- reasons
def test_every_status_event_refusal_and_drop_has_its_reasons() -> None:
    for table, words in NEEDED.items():
        assert {word for word in words if not reasons(table, word)} == set(), table
    for table, rows in TABLE["reason"].items():
        assert set(rows) <= POSSIBLE[table], table


@pytest.mark.parametrize(("table", "word"), WORDS_OF_TABLES)
def test_a_reason_has_a_command_that_can_be_typed_and_a_known_cause(table: str, word: str) -> None:
    for reason in reasons(table, word):
        assert reason.sentence
        assert parse(reason.test, WORDS, file=True), reason
        assert not reason.cause or reason.cause in cause_rows()


def test_a_row_of_reasons_can_name_another_row() -> None:
    assert reasons("drop", "dying") == reasons("refusal", "dying")
    assert reasons("Syndrome", "RNR_NAK") == reasons("WCStatus", "RNR_RETRY_EXC_ERR")
    assert reasons("WCStatus", "BLINK") == []


def test_a_cause_names_what_it_explains() -> None:
    assert ("WCStatus", "RETRY_EXC_ERR") in leads_to()["peer-state"]
    assert ("drop", "not-ready") in leads_to()["peer-state"]
    assert "no-completion" not in leads_to()


# --------------------------------------------------------------------------- warnings
def _called() -> dict[str, set[str]]:
    """Key of each warning that the program asks for → the values that it gives."""
    found: dict[str, set[str]] = {}
    for path in Path(rdmalab.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or name not in ("warning", "fails_later"):
                continue
            given = {word.arg for word in node.keywords if word.arg}
            keys = [
                arg.value for arg in node.args
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]  # fmt: skip
            found |= dict.fromkeys(keys, given)
    return found


def test_every_warning_has_its_place_in_the_program() -> None:
    denied = {f"loc-prot/{case}" for case in ("node", "lkey", "domain", "right", "range")}
    chosen = denied | {"cut-psn", "inline-opcode", "inline-opcode/later"}  # named by a variable
    assert set(TABLE["warning"]) == set(_called()) | chosen
    for key, values in _called().items():
        text = TABLE["warning"][key]
        wanted = {name for _, name, _, _ in string.Formatter().parse(text) if name}
        assert wanted <= values | {"type", "opcode"}, key


def test_a_warning_is_about_a_cause() -> None:
    assert {key.partition("/")[0] for key in TABLE["warning"]} - HARMLESS <= set(cause_rows())
    assert warnings_of("loc-prot") == [
        "no memory region of NODE has lkey LKEY.",
        "MR is memory of OWNER: a buffer of NODE is in a region of NODE.",
        "sg reaches beyond MR (LENGTH bytes).",
        "MR is in another protection domain than the queue.",
        "MR lacks LOCAL_WRITE.",
    ]


def test_a_warning_has_its_values() -> None:
    assert warning("loc-prot/right", mr="A.mr0") == "A.mr0 lacks LOCAL_WRITE."
    with pytest.raises(KeyError):
        warning("no such key")
