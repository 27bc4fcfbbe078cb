"""Literals of every kind, with the exact column of what is wrong."""

from typing import Any

import pytest

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
from rdmalab.grammar.arguments import literal
from rdmalab.spec.access import Access
from rdmalab.spec.states import MTU, QPState

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
        ("A->B", TEXT, (0, 4), 'write "some text"'),
        ("==", TEXT, (0, 2), 'write "some text"'),
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
        ("a b", TEXT, (2, 3), 'write "some text"'),
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
