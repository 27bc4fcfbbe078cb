"""Literals of every kind, with the exact column of what is wrong."""

from collections.abc import Iterable, Iterator
from enum import IntEnum, IntFlag
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import (
    ArgumentKind,
    BooleanKind,
    Direction,
    DirectionKind,
    EnumKind,
    IntegerKind,
    Moment,
    MomentKind,
    New,
    NewKind,
    NotUnderstood,
    Noun,
    RecordKind,
    Ref,
    RefShorthand,
    Span,
    TextKind,
    ThingKind,
    Unit,
    WordKind,
)
from rdmalab.command.kinds import ListKind, Parameter
from rdmalab.grammar.arguments import literal
from rdmalab.grammar.values import AnyEnum, legal_words, member_value, no_member, value_of, word_for
from rdmalab.lab import Lab
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import PhysState
from rdmalab.spec.states import MTU, Attr, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCOpcode, WROpcode
from rdmalab.views import query_fields
from tests.labs import lab_of, misread

NUMBER = IntegerKind()
STATE = EnumKind(QPState)
ACCESS = EnumKind(Access)
MTUS = EnumKind(MTU, (("1024", 3),))
QP = ThingKind(Noun.QP)
MR = ThingKind(Noun.MR, ranged=True)
NODE = ThingKind(Noun.NODE)
TEXT = TextKind()
SHORT = RefShorthand(Noun.QP, lambda *_: 0)
QPN = IntegerKind(short=SHORT)
WORDS = WordKind(("drop", "delay"))
A_MOMENT = "write an event, 30, a time, 9.2us, a checkpoint, @name, a branch, start or end"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0x1f", NUMBER, 31),
        ("htonl( 0x1234 )", NUMBER, 0x34120000),
        ("NULL", IntegerKind(nullable=True), None),
        ("RTS", STATE, 3),
        ("ibv_qps_rts", STATE, 3),
        ("99", STATE, 99),
        ("-1", STATE, -1),
        ("LOCAL_WRITE | IBV_ACCESS_REMOTE_READ|0x100000", ACCESS, 1 | 4 | 0x100000),
        ("0", ACCESS, 0),
        ("1024", MTUS, 3),
        ("0x400", MTUS, 1024),
        ("on", BooleanKind(), True),
        ("0", BooleanKind(), False),
        ("hello", TEXT, "hello"),
        ("x.pcapng", TEXT, "x.pcapng"),
        ('"a b\\n"', TEXT, "a b\n"),
        ('"NULL"', TextKind(nullable=True), "NULL"),
        ("DROP", WORDS, "drop"),
        ("A.qp0", QP, Ref("A", "qp0")),
        ("qp0", QP, Ref("B", "qp0")),
        ("A", QP, Ref("A")),
        ("left", NODE, Ref("left")),
        ("A.mr0[0:64]", MR, Ref("A", "mr0", 0, 64)),
        ("A.mr0[ 4KiB : 0x2000 ]", MR, Ref("A", "mr0", 4096, 8192)),
        ("A.mr0[:64]", MR, Ref("A", "mr0", 0, 64)),
        ("mr0[100]", MR, Ref("B", "mr0", 100)),
        ("pd0", NewKind(Noun.PD), New(Noun.PD, "B", "pd0")),
        ("A->B", DirectionKind(), Direction("A", "B")),
        ("30", MomentKind(), Moment(event=30)),
        ("ev30", MomentKind(), Moment(event=30)),
        ("ev 30", MomentKind(), Moment(event=30)),
        ("9.2us", MomentKind(), Moment(at_ns=9_200)),
        ("@before-nak", MomentKind(), Moment(mark="@before-nak")),
        ("end", MomentKind(), Moment(mark="end")),
        ("branch-1", MomentKind(), Moment(mark="branch-1")),
        ("7", QPN, 7),
        ("A.qp0", QPN, Ref("A", "qp0")),
        ("qp0", QPN, Ref("B", "qp0")),
        ("B", TextKind(short=SHORT), Ref("B")),
        ("word", TextKind(short=SHORT), "word"),
    ],
)
def test_a_literal_says_a_value(text: str, kind: ArgumentKind, value: Any) -> None:
    answer = literal(text, kind, "B")
    assert answer == value
    assert type(answer) is type(value)


@pytest.mark.parametrize(
    ("text", "kind", "place", "hint"),
    [
        ("12x", NUMBER, (0, 3), "write 12 or 0x1f"),
        ("12", IntegerKind(Unit.NS), (0, 2), "did you mean 12us?"),
        ("NULL", NUMBER, (0, 4), "write 12 or 0x1f"),
        ("RTSS", STATE, (0, 4), "did you mean RTS?"),
        ("IBV_QPS_RTSS", STATE, (0, 12), "did you mean RTS?"),
        ("qqqq", STATE, (0, 4), "legal here: RESET, INIT, RTR, RTS, SQD, SQE, …"),
        ("RTS|INIT", STATE, (0, 8), "did you mean INIT?"),
        ("LOCAL_WRITE | REMOTE_WRIT", ACCESS, (14, 25), "did you mean REMOTE_WRITE?"),
        (
            "LOCAL_WRITE|",
            ACCESS,
            (12, 12),
            "legal here: LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND, "
            "ZERO_BASED, …",
        ),
        ("1o24", MTUS, (0, 4), "write 12 or 0x1f"),
        ("B2024", MTUS, (0, 5), "did you mean 1024?"),
        ("yes", BooleanKind(), (0, 3), "write 0 or 1"),
        ("A->B", TEXT, (0, 4), 'write a word, or "a text" in quotes'),
        ("==", TEXT, (0, 2), 'write a word, or "a text" in quotes'),
        ("drpo", WORDS, (0, 4), "did you mean drop?"),
        ("A.qp0[1]", QP, (5, 8), "leave it out"),
        ("12", QP, (0, 2), "write a name, A.qp0"),
        ("A.qp0.sq", QP, (0, 8), "write a name, A.qp0"),
        ("A.mr0[64:0]", MR, (0, 11), "write [0:64]"),
        ("A.mr0[-1]", MR, (0, 9), "write [0:64] or [100]"),
        ("A.mr0[64:]", MR, (0, 10), "write [0:64] or [100]"),
        ("A.mr0[x]", MR, (0, 8), "write 4096 or 4KiB"),
        ("B", NewKind(Noun.PD), (0, 1), "write B.pd0"),
        ("A.pd0[1]", NewKind(Noun.PD), (0, 8), "write a new name, A.qp0"),
        ("A>B", DirectionKind(), (1, 2), "write A->B"),
        ("?soon", MomentKind(), (0, 5), A_MOMENT),
        ("-soon", MomentKind(), (0, 5), A_MOMENT),
        ("9.2", MomentKind(), (0, 3), "did you mean 9.2us?"),
        ("@", MomentKind(), (0, 1), A_MOMENT),
        ("", MomentKind(), (0, 0), A_MOMENT),
        ("A", DirectionKind(), (0, 1), "write A->B"),
        ("a,b", NUMBER, (2, 3), "leave it out"),
        ("a b", TEXT, (2, 3), 'write a word, or "a text" in quotes'),
        ("{a=b}", NUMBER, (0, 5), "write 12 or 0x1f"),
        ("", NUMBER, (0, 0), "write 12 or 0x1f"),
        ("", IntegerKind(Unit.NS), (0, 0), "write 10us or 2ms"),
        ("a", RecordKind(dict, ()), (0, 1), "write {key=value …}"),
        ("", RecordKind(dict, ()), (0, 0), "write {key=value …}"),
        ("", WORDS, (0, 0), "legal here: drop, delay"),
    ],
)
def test_what_is_wrong_has_a_place_and_one_suggestion(
    text: str, kind: ArgumentKind, place: tuple[int, int], hint: str
) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        literal(text, kind, "B", offset=100)
    assert wrong.value.place == Span(100 + place[0], 100 + place[1])
    assert wrong.value.hint == hint


@pytest.mark.parametrize("kind", [QP, NewKind(Noun.PD), QPN])
def test_without_a_default_node_a_name_needs_its_own(kind: ArgumentKind) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        literal("qp0", kind)
    assert wrong.value.hint == "write A.qp0 or B.qp0"


def test_a_name_knows_its_place() -> None:
    assert literal("  A.mr0[0:4]", MR, offset=10).place == Span(12, 22)


MTU_KIND = EnumKind(MTU, tuple((str(m.octets), int(m)) for m in MTU))


@pytest.mark.parametrize(
    ("word", "member"),
    [
        ("IBV_WR_SEND", WROpcode.SEND),
        ("send", WROpcode.SEND),
        ("IBV_WC_RNR_RETRY_EXC_ERR", WCStatus.RNR_RETRY_EXC_ERR),
        ("IBV_WC_WR_FLUSH_ERR", WCStatus.WR_FLUSH_ERR),
        ("IBV_WC_RECV_RDMA_WITH_IMM", WCOpcode.RECV_RDMA_WITH_IMM),
        ("IBV_QPS_RTS", QPState.RTS),
        ("IBV_FLOW_ATTR_ALL_DEFAULT", FlowType.ALL_DEFAULT),
        ("IB_PORT_PHYS_STATE_LINK_UP", PhysState.LINK_UP),
        ("IBV_ACCESS_REMOTE_WRITE", Access.REMOTE_WRITE),
        ("IBV_SEND_SIGNALED", SendFlags.SIGNALED),
        ("IBV_QP_EN_SQD_ASYNC_NOTIFY", Attr.EN_SQD_ASYNC_NOTIFY),
        ("ibv_event_qp_fatal", AsyncEvent.QP_FATAL),
    ],
)
def test_prefixes_and_case_do_not_matter(word: str, member: IntEnum | IntFlag) -> None:
    assert member_value(word, type(member)) == member


def kinds_of(parameters: Iterable[Parameter]) -> Iterator[ArgumentKind]:
    """The kinds of all arguments, of those in braces too."""
    for parameter in parameters:
        kind = parameter.kind
        while isinstance(kind, ListKind):
            kind = kind.item
        yield kind
        if isinstance(kind, RecordKind):
            yield from kinds_of(kind.fields)


def enums() -> set[AnyEnum]:
    """The enums of all arguments of commands, and of all that a condition can name."""
    commands = Lab().session.vocabulary.values()
    kinds = (kind for command in commands for kind in kinds_of(command.parameters))
    types = (part for row in query_fields.fields() for part in row.type.split(" or "))
    found = {each.__name__: each for base in (IntEnum, IntFlag) for each in made_of(base)}
    asked = {found[name] for name in types if name in found}
    return asked | {kind.enum for kind in kinds if isinstance(kind, EnumKind)}


def made_of(base: AnyEnum) -> Iterator[AnyEnum]:
    """The enums of rdmalab that are made of this one."""
    yield from (each for each in base.__subclasses__() if each.__module__.startswith("rdmalab"))


def test_an_error_has_the_words_of_the_field_and_no_name_of_a_python_type() -> None:
    found = enums()
    assert len(found) > 25
    python = {each.__name__ for each in found} - {"MTU", "Errno"}
    for each in found:
        wrong = no_member("DEAD", each)
        assert wrong.startswith('"DEAD" is no '), each
        assert not python & set(wrong.replace('"', " ").split()), wrong


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("modify_qp A.qp0 state=DEAD", '"DEAD" is no QP state'),
        ("until A.qp0.state == DEAD", '"DEAD" is no QP state'),
        ("until A.qp0.state == 'x'", "a QP state is never compared with a text"),
        ("until log.any(errno=EFOO)", '"EFOO" is no errno'),
        ("until wire.any(opcode=FOO)", '"FOO" is no opcode'),
        ("until A.cq0.total(status=FOO)", '"FOO" is no completion status'),
        ("post_send A.qp0 wr={wr_id=3}", "ibv_send_wr also needs opcode"),
        ("create_qp A.q pd=A.pd0 init_attr={}", "ibv_qp_init_attr needs qp_type"),
    ],
)
def test_refused_words_are_named_by_the_field(line: str, message: str) -> None:
    assert misread(lab_of(), line.replace("'", '"')).message == message


def test_a_further_spelling_wins_over_the_number() -> None:
    assert value_of("1024", MTU_KIND) == value_of("IBV_MTU_1024", MTU_KIND) == MTU.B1024
    assert value_of("B1024", MTU_KIND) == MTU.B1024
    assert value_of("1025", MTU_KIND) is None
    assert legal_words(MTU_KIND) == ["256", "512", "1024", "2048", "4096"]
    assert word_for(MTU.B1024, MTU_KIND) == "1024"


def test_a_number_that_looks_like_a_spelling_is_written_in_hex() -> None:
    assert word_for(1024, MTU_KIND) == "0x400"
    assert word_for(7, MTU_KIND) == "7"


def test_flags_are_written_by_name_and_what_is_left_as_a_number() -> None:
    flags = EnumKind(SendFlags)
    assert word_for(0, flags) == "0"
    assert word_for(3, flags) == "FENCE|SIGNALED"
    assert word_for(0x102, flags) == "SIGNALED|0x100"


@given(st.sampled_from([QPState, WROpcode, WCStatus, MTU]), st.integers(-5, 300))
def test_one_word_says_one_value(of: type[QPState], value: int) -> None:
    word = word_for(value, EnumKind(of))
    assert member_value(word, of) == value or (value not in set(of) and int(word, 0) == value)
