"""Commands: usage lines and pages made of their signatures and docstrings."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from rdmalab.command import (
    SPOKEN,
    Alias,
    BitRate,
    Bytes,
    Direction,
    Expression,
    FieldGroup,
    Nanoseconds,
    New,
    Noun,
    RefShorthand,
    Thing,
    command,
)
from rdmalab.guide.usage import brief, docstring, page, usage
from rdmalab.spec.access import Access
from rdmalab.spec.states import QPState
from tests.each import each
from tests.guide.saying import WORDS, row


def _nothing(*_args: Any) -> Any:
    return {}


@dataclass(slots=True)
class Piece:
    addr: int = 0


@dataclass(slots=True)
class Options:
    """Fields of every sort."""

    state: QPState
    length: Bytes = 4096
    rate: BitRate | None = None
    access: Access = Access.REMOTE_READ
    pieces: Annotated[list[Annotated[Piece, RefShorthand(Noun.MR, _nothing)]], Alias("sg")] = field(
        default_factory=list
    )
    timeout: int = 14
    on: bool = False


@command
def invent(
    world: Any,
    new: Annotated[New, Noun.CQ],
    what: Literal["one", "two"],
    count: int = 1,
    *,
    options: Annotated[Options, FieldGroup("from_", Noun.QP, _nothing, ())],
    within: Annotated[Nanoseconds | None, SPOKEN] = None,
) -> None:
    """Invent something.

    More of it,
    on two lines.

    Example: invent A.cq1 one state=RTS
    See: ibv_invent(3); help invent; explain CQ
    """


@command
def wonder(session: Any, way: Direction, thing: Thing, question: Expression) -> None:
    """Wonder about something."""


def test_usage_separates_required_and_optional_arguments() -> None:
    assert usage(invent) == "invent NEW_CQ one|two [COUNT] state=STATE [key=value]…"
    assert usage(wonder) == "wonder A->B NAME QUESTION"
    assert (
        usage(WORDS["create_cq"])
        == "create_cq NEW_CQ cqe=N [comp_vector=N] [channel=CHANNEL] [cq_context=N]"
    )
    assert usage(WORDS["until"]) == "until QUESTION [within TIME]"


def test_a_docstring_is_taken_apart() -> None:
    answer = docstring(invent)
    assert answer.summary == "Invent something."
    assert answer.paragraphs == ["More of it, on two lines."]
    assert answer.examples == ["invent A.cq1 one state=RTS"]
    assert answer.see == ["ibv_invent(3)", "help invent", "explain CQ"]


def rows(name: str) -> dict[str, str]:
    made = page(invent if name == "invent" else WORDS[name])
    return {s.heading: " ".join(s.lines) for s in made.sections}


def test_a_page_has_a_row_a_key() -> None:
    answer = rows("invent")
    assert answer["state"] == "RESET INIT RTR RTS SQD SQE ERR; required"
    assert answer["length"] == "SIZE; default 4096"
    assert answer["rate"] == "RATE"
    assert answer["access"].endswith("HUGETLB…; default REMOTE_READ")
    assert answer["pieces"] == "list of {addr} or MR; also sg"
    assert answer["timeout"].startswith("0..31; default 14; the code of the ack timeout")
    assert answer["on"] == "0|1; default 0"
    assert answer["count"] == "N; default 1"
    assert answer["from_"] == "QP: short for the fields that describe it"
    assert "new" not in answer


def test_a_record_that_may_be_left_out_is_one_row() -> None:
    answer = rows("modify_qp")
    assert answer["ah_attr"].startswith("{is_global dgid sgid_index")
    assert "dgid" not in answer
    assert "max_send_wr" in rows("create_qp")


@each("name", WORDS)
def test_a_key_of_an_example_has_its_row(name: str) -> None:
    """Whoever reads the page finds what the example types, under that name or as another of it."""
    answer = docstring(WORDS[name])
    typed = {key for line in answer.examples for key in re.findall(r"\b(\w+)=", line)}
    by_name = {heading: text for heading, text in rows(name).items() if heading != "example"}
    assert {key for key in typed if not _is_explained(key, by_name)} == set()


def _is_explained(key: str, by_name: dict[str, str]) -> bool:
    return key in by_name or any(re.search(rf"also {key}\b|\b{key}=", t) for t in by_name.values())


def test_an_item_of_a_docstring_stands_beside_its_key_or_its_word() -> None:
    answer = rows("fault")
    assert answer["drop"] == "The packets never arrive."
    assert answer["nth"] == "N; nth=2: only the second match from now on"
    assert not any("* " in text for text in answer.values())
    assert rows("post_send")["TSO"].startswith("cuts sg into pieces")


def test_a_page_does_not_send_to_itself() -> None:
    assert page(invent).see_also == ["ibv_invent(3)", "explain CQ"]
    assert page(WORDS["modify_qp"]).see_also[-1] == "explain modify_qp"
    assert brief(invent).see_also == ["help invent", "ibv_invent(3)", "explain CQ"]


def test_verbs_that_a_table_rules_show_it() -> None:
    headings = [section.heading for section in brief(WORDS["modify_qp"]).sections]
    assert "moves (RC)" in headings
    assert "RDMA_READ" in brief(WORDS["post_send"]).text


@each("name", WORDS)
def test_every_page_fits_the_screen_in_width(name: str) -> None:
    lines = page(WORDS[name]).lines(80)
    assert max(map(len, lines)) <= 80
    assert WORDS[name].summary in page(WORDS[name]).text


@pytest.mark.parametrize("verb", ["post_send", "post_recv", "post_srq_recv"])
def test_a_post_names_the_errnos_of_a_full_queue_and_of_wild_pointers(verb: str) -> None:
    refuses = row(f"verb {verb}", "refuses")
    assert "ENOMEM: queue-full" in refuses
    assert all(rule in refuses for rule in ("EFAULT:", "crash-sg", "crash-next", "crash-bad-wr"))
