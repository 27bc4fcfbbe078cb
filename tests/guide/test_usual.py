"""Who, wire, look at: every word of the book says them, and what a table knows follows it."""

import enum
import importlib
import inspect
import pkgutil
from dataclasses import replace
from typing import Any

import pytest

from rdmalab import spec
from rdmalab.guide import parts
from rdmalab.guide.explain import entries, explain, lookup
from rdmalab.guide.sentences import NOTHING, read
from rdmalab.guide.usual import kind_of
from rdmalab.spec import absent
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.c_names import PREFIX, full_name
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import REFUSALS, Syndrome
from rdmalab.spec.states import ATTRIBUTES, STATES, QPState
from rdmalab.spec.statuses import STATUS, Side, WCStatus
from tests.each import each
from tests.guide.saying import WORDS, article_text, row

# Enums that only order the lab's own tables: nobody outside meets their members.
BOOKKEEPING = {
    "Field": "where each part of a record stands in its tuple",
    "Gives": "return values of functions that are refused, listed by `rdmalab capabilities`",
    "Number": "a column of the table of rdma_cm events, said in the article of each event",
    "Side": "a column of the table of statuses, said in the article of each status",
}


def enums() -> list[type[enum.Enum]]:
    """Every enum that a module of the book defines, found by looking."""
    found = []
    for info in pkgutil.iter_modules(spec.__path__):
        module = importlib.import_module(f"{spec.__name__}.{info.name}")
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if issubclass(cls, enum.Enum) and cls.__module__ == module.__name__:
                found.append(cls)
    return found


MEMBERS = [m for cls in enums() if cls.__name__ not in BOOKKEEPING for m in cls]
ENTRIES = list(entries(WORDS))


def name_of(member: Any) -> str:
    """The name of its own entry."""
    cls = type(member)
    if isinstance(member, enum.IntEnum | enum.IntFlag) and type(member) in PREFIX:
        return full_name(member)
    if cls in parts.KINDS:
        return f"{parts.KINDS[cls].name} {member.name}"
    return f"{ {Syndrome: 'syndrome', Kind: 'record'}[cls] } {member.name}".strip()


def test_bookkeeping_is_there_and_is_all_that_is_left_out() -> None:
    names = {cls.__name__ for cls in enums()}
    assert set(BOOKKEEPING) <= names
    assert len(names) > 30


@each("member", MEMBERS)
def test_every_member_of_every_enum_says_who_the_wire_and_what_to_look_at(
    member: enum.Enum,
) -> None:
    assert lookup(str(getattr(member, "octets", member.name)), WORDS)
    article = explain(name_of(member), WORDS)
    headings = {section.heading for section in article.sections}
    never = absent.REASONS.get(type(member), {}).get(member)
    expected = {"who", "wire", "look at"} - LACKING.get(type(member), set())
    assert never or expected <= headings, expected - headings


# What some kinds of words cannot say, and why.
LACKING: dict[type[enum.Enum], set[str]] = {
    Kind: {"who", "wire"}  # `reads` is the sentence of who did it, and packets are records too
}


@each("status", [s for s, r in STATUS.items() if r.side is not Side.NEITHER])
def test_a_status_says_who_detects_it_the_wire_and_what_to_look_at(status: WCStatus) -> None:
    name = f"IBV_WC_{status.name}"
    assert "HCA" in row(name, "who")
    if status is not WCStatus.SUCCESS:
        assert row(name, "wire")
        assert ": " in row(name, "look at")


@each("kind", read("kinds"))
def test_every_usual_kind_exists(kind: str) -> None:
    assert any(kind_of(entry) == kind for entry in ENTRIES)


@each("name", ATTRIBUTES)
def test_an_attribute_says_what_it_does_to_the_wire(name: str) -> None:
    assert row(name, "wire") == read("wire")["attribute"].get(name, NOTHING)


# --------------------------------------------------------------------------- from the tables
def test_the_wire_of_a_state_is_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row("INIT", "wire") == "packets are dropped: not-ready"
    monkeypatch.setitem(STATES, QPState.INIT, replace(STATES[QPState.INIT], receives=True))
    assert row("INIT", "wire") == "packets are processed"


def test_the_wire_of_an_event_is_the_nak_of_its_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row("QP_ACCESS_ERR", "wire") == "NAK_REMOTE_ACCESS leaves"
    changed = REFUSALS["rkey"]._replace(syndrome=Syndrome.NAK_REMOTE_OPERATION)
    monkeypatch.setitem(REFUSALS, "rkey", changed)
    assert row("QP_ACCESS_ERR", "wire") == "NAK_REMOTE_OPERATION leaves"


def test_the_wire_of_a_status_is_the_nak_of_its_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "NAK_INVALID_REQUEST 0x61 leaves" in row("LOC_LEN_ERR", "wire")
    changed = REFUSALS["receive-short"]._replace(syndrome=Syndrome.NAK_REMOTE_OPERATION)
    monkeypatch.setitem(REFUSALS, "receive-short", changed)
    assert "NAK_REMOTE_OPERATION 0x63 leaves" in row("LOC_LEN_ERR", "wire")


def test_the_wire_of_a_right_is_the_nak_of_its_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "NAK_REMOTE_ACCESS if the key lacks it, NAK_INVALID_REQUEST if the QP lacks it"
    assert row("REMOTE_WRITE", "wire") == text
    assert row("IBV_ACCESS_LOCAL_WRITE", "wire").startswith("NAK_REMOTE_OPERATION if")
    assert row("MW_BIND", "wire") == NOTHING
    monkeypatch.setitem(REFUSALS, "rkey", REFUSALS["rkey"]._replace(syndrome=None))
    assert row("REMOTE_WRITE", "wire").startswith("no reply if the key lacks it")


def test_row_who_of_an_event_is_the_noun_of_its_table_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EVENTS, AsyncEvent.CQ_ERR, EVENTS[AsyncEvent.CQ_ERR]._replace(noun="srq"))
    assert "about an SRQ" in row("IBV_EVENT_CQ_ERR", "who")


def test_row_refuses_of_a_verb_is_by_errno() -> None:
    assert "ENOMEM: queue-full" in row("verb post_send", "refuses")


def test_what_never_comes_says_so() -> None:
    assert "never: " in article_text("IBV_EVENT_SM_CHANGE")
    assert "no HCA; here never" in row("IBV_WC_TM_ERR", "who")
