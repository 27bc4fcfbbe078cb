"""Explain: every word of every table, spelled freely, in at most 25 lines."""

import enum
import inspect
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab import spec
from rdmalab.command import NotUnderstood
from rdmalab.guide.article import article
from rdmalab.guide.entry import Entry
from rdmalab.guide.explain import entries, explain, lookup, words
from rdmalab.guide.packets import HEADERS
from rdmalab.spec import (
    access,
    addresses,
    async_events,
    builders,
    completions,
    connections,
    document_differences,
    limits,
    opcodes,
    profiles,
    records,
    refusals,
    rules,
    srq,
    states,
    statuses,
    vendor_errors,
)
from rdmalab.spec import work as works
from rdmalab.spec.c_names import PREFIX, full_name
from tests.each import each
from tests.guide.saying import WORDS, article_text

ENTRIES = list(entries(WORDS))
BOOK = (
    access, addresses, async_events, builders, completions, connections, document_differences,
    limits,
    opcodes, profiles,
    records, refusals, srq, states, statuses, vendor_errors, works,
)  # fmt: skip

# Enums that are parts of other tables, and no words of their own.
PARTS = {
    "Service", "Op", "PacketPlace", "Side", "Local", "EventKind", "Mishap", "Rounding",
    "SlotsFreed", "Field", "Syndrome", "Kind", "PhysState", "LinkLayer", "OpenFlag", "Arm",
    "Number",
}  # fmt: skip


def public_enums() -> list[type[enum.Enum]]:
    return [
        cls
        for module in BOOK
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, enum.Enum) and cls.__module__ == module.__name__
    ]


@each("cls", public_enums())
def test_every_enum_of_the_book_has_its_prefix_or_is_a_part(cls: type[enum.Enum]) -> None:
    assert (cls in PREFIX) != (cls.__name__ in PARTS)


@each("member", [member for cls in PREFIX for member in cls])
def test_every_member_is_explained_by_its_full_name_and_its_own(
    member: enum.IntEnum | enum.IntFlag,
) -> None:
    assert explain(full_name(member), WORDS)
    assert explain(full_name(member).lower(), WORDS)
    assert lookup(str(member.name), WORDS)


TABLES = (
    *states.ATTRIBUTES, *rules.RULES, *refusals.REFUSALS, *refusals.DROPS, *profiles.PROFILES,
    *opcodes.BY_LABEL, *(kind.name for kind in records.KINDS), *HEADERS, *WORDS,
    *(syndrome.name for syndrome in refusals.Syndrome),
    *(f"modify_qp {state.name}" for state in states.QPState),
)  # fmt: skip


@each("name", TABLES)
def test_every_row_of_every_table_is_explained(name: str) -> None:
    assert lookup(name, WORDS)
    assert lookup(name.upper(), WORDS)


def test_explain_covers_every_module_of_spec() -> None:
    named = {module.__name__.rpartition(".")[2] for module in (*BOOK, rules)}
    there = {path.stem for path in Path(spec.__path__[0]).glob("*.py")}
    assert there - named == {
        *(
            "__init__",
            "absent",
            "c_names",
            "c_library",
            "causes",
            "flows",
            "programs",
            "row",
            "timers",
            "transports",
        )
    }


@each("entry", ENTRIES)
def test_an_article_fits_a_screen(entry: Entry) -> None:
    article = explain(entry.name, WORDS)
    lines = article.lines(80)
    most = 28 if entry.kind == "errno" else 25  # EINVAL has many rules
    assert len(lines) <= most, (
        f"{len(lines)} lines, {most} at the most: make a row shorter, or leave another out"
    )
    assert max(map(len, lines)) <= 80
    assert article.title
    assert article.kind
    assert article.sections


def test_names_are_never_ambiguous() -> None:
    for entry in ENTRIES:
        first, *_ = lookup(entry.name, WORDS)
        assert first.name == entry.name
        assert len(entry.name.split()) <= 4


@each("entry", ENTRIES)
def test_where_to_read_on_exists(entry: Entry) -> None:
    for see in entry.write().see_also:
        verb, _, rest = see.partition(" ")
        if verb == "explain":
            assert lookup(rest, WORDS), see
        elif verb == "help" and rest:
            assert rest in WORDS or rest in ("VERB", "GROUP", "expr"), see
        else:
            assert see.endswith(")") or verb in ("why", "help"), see


@each("text, title", [
        ("ERR", "ERR"), ("err", "ERR"), ("IBV_QPS_ERR", "ERR"), ("13", "IBV_WC_RNR_RETRY_EXC_ERR"),
        ("SEND", "IBV_WR_SEND"), ("IBV_WC_SEND", "IBV_WC_SEND"), ("flush", "flush"),
        ("FLUSH", "IBV_WR_FLUSH"), ("reset", "reset"), ("RESET", "RESET"), ("read", "read"),
        ("READ", "IBV_WR_RDMA_READ"), ("ibv_post_send", "post_send"), ("0x62", "NAK_REMOTE_ACCESS"),
        ("post_send SEND", "IBV_WR_SEND"), ("modify_qp timeout", "timeout"), ("rkey", "rkey"),
        ("transport retry counter exceeded", "IBV_WC_RETRY_EXC_ERR"),
        ("Invalid argument", "EINVAL"),
    ])  # fmt: skip
def test_the_likeliest_meaning_comes_first(text: str, title: str) -> None:
    assert explain(text, WORDS).title == title


def test_the_other_meanings_are_named() -> None:
    assert "a completion opcode: explain IBV_WC_SEND" in article_text("SEND")
    assert "an errno: explain ENOMEM" in article_text("12")
    assert "a completion status: explain IBV_WC_TM_ERR" in article_text("22")


@pytest.mark.parametrize(
    ("text", "near"),
    [("RNR_RETRY_EXC_ER", "RNR_RETRY_EXC_ERR"), ("modify_pq", "modify_qp"),
     ("quue-full", "queue-full"), ("ibv_post_sned", "post_send"),
     ("IBV_WC_RETRY_EXC", "IBV_WC_RETRY_EXC_ERR")],
)  # fmt: skip
def test_an_unknown_word_gets_one_suggestion(text: str, near: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        explain(text, WORDS)
    assert caught.value.hint == f"did you mean {near}?"


def hint_on(text: str) -> str:
    try:
        explain(text, WORDS)
    except NotUnderstood as wrong:
        return wrong.hint
    return "explained"


@given(st.text(max_size=60))
def test_any_text_is_explained_or_gets_one_suggestion(text: str) -> None:
    assert hint_on(text)
    assert hint_on(text).count("did you mean") <= 1


def test_completion_offers_every_word() -> None:
    offered = words(WORDS)
    assert len(offered) == len(set(offered))
    assert {"psn", "EINVAL", "post_send", "timeout"} <= set(offered)
    assert all(lookup(word, WORDS) for word in offered)


@pytest.mark.parametrize("opcode", ["send", "rdma_write", "rdma_read", "local_inv", "bind_mw"])
def test_the_function_in_lower_case_is_not_the_opcode(opcode: str) -> None:
    names = [entry.name for entry in lookup(f"ibv_wr_{opcode}", WORDS)]
    assert names[0] == f"verb wr_{opcode}"
    assert f"IBV_WR_{opcode.upper()}" in names
    assert f"explain IBV_WR_{opcode.upper()}" in article_text(f"ibv_wr_{opcode}")
    assert lookup(f"IBV_WR_{opcode.upper()}", WORDS)[0].kind == "send opcode"


@pytest.mark.parametrize("word", ["sge", "GATHER", "SCATTER"])
def test_no_page_promises_an_order_of_accesses(word: str) -> None:
    page = " ".join(article_text(word).split())
    assert "not defined" in page
    assert "list order" in page


@pytest.mark.parametrize("text", ["ibv_set_wr_sge", "set_wr_sge"])
def test_the_misspelling_of_a_manual_page_leads_to_the_function(text: str) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        explain(text, WORDS)
    assert wrong.value.hint == "did you mean wr_set_sge?"


def more(name: str) -> Entry:
    """An entry of a higher room, such as a cause of the doctor."""
    return Entry(f"cause {name}", "cause", (name,), lambda: article(name, "cause", [("", "Gone.")]))


def test_an_entry_of_a_higher_room_is_found_by_its_name() -> None:
    found = explain("rnr-infinite", WORDS, [more("rnr-infinite")])
    assert (found.kind, found.sections[0].lines) == ("cause", ["Gone."])
    assert lookup("RNR_INFINITE", WORDS, [more("rnr-infinite")])
    assert not lookup("rnr-infinite", WORDS)
    assert [entry.kind for entry in lookup("psn", WORDS, [more("psn")])] == [
        "word", "cause", "header field",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "word",
    [
        *("receive", "post", "poll", "packet", "peer", "queue", "nic", "idle", "ev", "verbs"),
        *("acked", "odp", "PFC", "DCQCN", "GSI", "4791"),
    ],
)
def test_a_newcomers_word_is_a_concept(word: str) -> None:
    assert explain(word, WORDS).kind == "word"


def test_a_completion_and_the_mtu_are_defined_first() -> None:
    assert "report that a work request has ended" in article_text("completion")
    assert "most payload bytes of one packet" in article_text("MTU")


def test_the_region_of_a_remote_access_is_looked_for_at_the_peer() -> None:
    assert "show mr A.mr0" not in article_text("REM_ACCESS_ERR")


def test_a_verb_that_is_not_emulated_has_its_reason_in_place_of_an_article() -> None:
    with pytest.raises(NotUnderstood, match="not emulated: there is no memory on the device"):
        explain("ibv_alloc_dm", WORDS)


@pytest.mark.parametrize(
    ("words", "title"),
    [("states", "state machine"), ("state machine", "state machine"),
     ("transitions", "state machine"), ("lost packet", "lost packet")],
)  # fmt: skip
def test_words_of_a_lecture_have_an_article(words: str, title: str) -> None:
    assert explain(words, WORDS).title == title


@pytest.mark.parametrize(
    ("word", "start"),
    [
        ("HCA", "The RDMA device"), ("RDMA", "Remote direct memory access"),
        ("window", "A part of a region"), ("port", "The end of an HCA"),
        ("RTS", "ready to send"), ("RTR", "ready to receive"), ("INIT", "initialized"),
        ("RETH", "RDMA Extended Transport Header, in"),
        ("AETH", "ACK Extended Transport Header, in"),
        ("DETH", "Datagram Extended Transport Header, in"),
        ("ImmDt", "Immediate Extended Transport Header, in"),
        ("AtomicETH", "Atomic Extended Transport Header, in"),
    ],
)  # fmt: skip
def test_a_word_of_the_first_hour_is_meant_as_a_newcomer_means_it(word: str, start: str) -> None:
    assert explain(word, WORDS).lines(80)[1].strip().startswith(start)


def test_no_call_leads_to_a_state_that_only_the_device_enters() -> None:
    assert "the program, by modify_qp; the device, without a call" in article_text("ERR")
    assert "the program" not in article_text("SQE")
