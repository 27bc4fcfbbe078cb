"""Where a document and devices differ: the rows, the tables of law, the refusals."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.document_differences import DIFFERENCES, demanded, guide_note, refused_on
from rdmalab.spec.states import MOVES, Attr, QPState, QPType, fields_of
from tests.scenario.mangle import ROOT

RESET, INIT, RTR, RTS = QPState.RESET, QPState.INIT, QPState.RTR, QPState.RTS

# What the fourth document lists, in its words: types, move, attributes.
GUIDE = [
    ("all", RESET, INIT, Attr.PKEY_INDEX | Attr.ACCESS_FLAGS),
    ("unconnected", RESET, INIT, Attr.QKEY),
    ("all", INIT, RTR, Attr.PATH_MTU | Attr.ACCESS_FLAGS | Attr.PKEY_INDEX),
    ("unconnected", INIT, RTR, Attr.QKEY),
    ("connected", INIT, RTR, Attr.MAX_DEST_RD_ATOMIC | Attr.MIN_RNR_TIMER),
    ("all", RTR, RTS, Attr.ACCESS_FLAGS),
    ("unconnected", RTR, RTS, Attr.QKEY),
    (
        "connected", RTR, RTS,
        Attr.TIMEOUT | Attr.RETRY_CNT | Attr.RNR_RETRY | Attr.MAX_QP_RD_ATOMIC
        | Attr.MIN_RNR_TIMER,
    ),
]  # fmt: skip


@pytest.mark.parametrize("qp_type", [QPType.RC, QPType.UC, QPType.UD, QPType.RAW_PACKET])
@pytest.mark.parametrize("move", [(RESET, INIT), (INIT, RTR), (RTR, RTS)])
def test_the_guide_is_held_as_it_stands(qp_type: QPType, move: tuple[QPState, QPState]) -> None:
    types = "connected" if qp_type in {QPType.RC, QPType.UC} else "unconnected"
    listed = Attr(0)
    for whom, now, to, attributes in GUIDE:
        if (now, to) == move and whom in {"all", types}:
            listed |= attributes
    assert demanded(qp_type, *move) == listed


def test_an_rc_queue_pair_takes_all_that_the_guide_lists() -> None:
    for now, to in ((RESET, INIT), (INIT, RTR), (RTR, RTS)):
        move = MOVES[QPType.RC, now, to]
        assert demanded(QPType.RC, now, to) & ~(move.required | move.optional) == 0


def test_each_attribute_is_refused_on_some_type_with_a_reason() -> None:
    for *_, attributes in GUIDE:
        for attribute in attributes:
            types = refused_on(attribute)
            assert types
            note = guide_note(types, attribute)
            assert fields_of(attribute)[0] in note
            assert all(qp_type.name in note for qp_type in types)


def test_nothing_to_say_is_nothing() -> None:
    assert guide_note([QPType.UD], Attr(0)) == ""


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_lesson_is_there(name: str) -> None:
    assert (ROOT / "scenarios" / f"{DIFFERENCES[name].lesson}.rdmalab.yaml").exists()


@pytest.mark.parametrize(
    ("setup", "line", "words"),
    [
        (
            "use ud_pair; reset A.qp0",
            "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qkey=1 qp_access_flags=0",
            ("a widely read guide demands qp_access_flags of all types", "UD", "no RDMA request"),
        ),
        (
            "use uc_pair; reset A.qp0; "
            "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
            "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 ah=B "
            "min_rnr_timer=12",
            ("a widely read guide demands min_rnr_timer of all connected types", "UC", "RNR NAK"),
        ),
        (
            "use raw_pair; reset A.qp0",
            "modify_qp A.qp0 state=INIT port_num=1 pkey_index=0",
            ("a widely read guide demands pkey_index of all types", "RAW_PACKET", "no P_Key"),
        ),
        (
            "use raw_pair; reset A.qp0",
            "modify_qp A.qp0 state=INIT port_num=1 qkey=0",
            ("demands qkey of all unconnected types", "RAW_PACKET", "no Q_Key"),
        ),
    ],
)
def test_the_refusal_names_the_guide(setup: str, line: str, words: tuple[str, ...]) -> None:
    lab = Lab()
    lab.do(setup)
    refusal = lab.do(line)[-1].refusal
    assert refusal is not None
    assert all(word in refusal.legal for word in words)


def test_a_refusal_that_the_guide_has_no_part_in_does_not_name_it() -> None:
    lab = Lab()
    lab.do("use ud_pair; reset A.qp0")
    line = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qkey=1 timeout=14"
    refusal = lab.do(line)[-1].refusal
    assert refusal is not None
    assert "guide" not in refusal.legal


def test_an_sge_of_length_0_that_makes_a_message_too_long_is_named() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    refusal = lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:8],A.mr0[0:0]")[-1].refusal
    assert refusal is not None
    assert "leave out the SGE of length 0" in refusal.legal
