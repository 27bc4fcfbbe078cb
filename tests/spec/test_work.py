"""Work requests: the numbers of verbs.h and the matrix of ibv_post_send(3)."""

import pytest

from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import REQUESTS, Op
from rdmalab.spec.states import QPType
from rdmalab.spec.work import FLAG_TYPES, WORK, Local, SendFlags, WCFlags, WCOpcode, Work, WROpcode

# opcode, value; U UD, C UC, R RC, X XRC_SEND, P RAW_PACKET; the sender's WC opcode as a number
MAN_PAGE = [
    ("RDMA_WRITE", 0, "CRX", 1),
    ("RDMA_WRITE_WITH_IMM", 1, "CRX", 1),
    ("SEND", 2, "UCRXP", 0),
    ("SEND_WITH_IMM", 3, "UCRX", 0),
    ("RDMA_READ", 4, "RX", 2),
    ("ATOMIC_CMP_AND_SWP", 5, "RX", 3),
    ("ATOMIC_FETCH_AND_ADD", 6, "RX", 4),
    ("LOCAL_INV", 7, "CRX", 6),
    ("BIND_MW", 8, "CRX", 5),
    ("SEND_WITH_INV", 9, "CRX", 0),
    ("TSO", 10, "UP", 7),
    ("DRIVER1", 11, "", 135),
    ("FLUSH", 14, "R", 8),
    ("ATOMIC_WRITE", 15, "R", 9),
]
LETTERS = {
    "U": QPType.UD,
    "C": QPType.UC,
    "R": QPType.RC,
    "X": QPType.XRC_SEND,
    "P": QPType.RAW_PACKET,
}


def test_opcodes_have_the_numbers_of_verbs_h() -> None:
    assert [(o.name, o.value) for o in WROpcode] == [row[:2] for row in MAN_PAGE]
    assert set(WORK) == set(WROpcode)


@pytest.mark.parametrize(("name", "value", "letters", "completes_as"), MAN_PAGE)
def test_types_and_completion(name: str, value: int, letters: str, completes_as: int) -> None:
    work = WORK[WROpcode[name]]
    assert work.types == {LETTERS[letter] for letter in letters}
    assert work.wc_opcode == completes_as


def _those(column: str) -> set[str]:
    return {opcode.name for opcode, work in WORK.items() if getattr(work, column)}


SENDS = {"SEND", "SEND_WITH_IMM", "SEND_WITH_INV"}
WRITES = {"RDMA_WRITE", "RDMA_WRITE_WITH_IMM"}
FETCHES = {"RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD"}


def test_each_column_marks_the_opcodes_of_the_reference() -> None:
    assert _those("immediate") == {"RDMA_WRITE_WITH_IMM", "SEND_WITH_IMM"}
    assert _those("invalidate") == {"LOCAL_INV", "SEND_WITH_INV"}
    assert _those("consumes_receive") == SENDS | {"RDMA_WRITE_WITH_IMM", "TSO"}
    assert _those("inline") == SENDS | WRITES
    assert _those("solicits") == SENDS | {"RDMA_WRITE_WITH_IMM"}
    assert _those("outstanding") == FETCHES | {"ATOMIC_WRITE"}


def test_reads_and_atomics_are_what_writes_local_memory() -> None:
    by_local = {
        use: {o.name for o, work in WORK.items() if work.local is use}
        for use in (Local.SCATTER, Local.GATHER)
    }
    assert by_local[Local.SCATTER] == FETCHES
    assert by_local[Local.GATHER] == SENDS | WRITES | {"TSO", "ATOMIC_WRITE"}


@pytest.mark.parametrize(
    ("message", "right"),
    [
        (Op.SEND, Access(0)),
        (Op.RDMA_WRITE, Access.REMOTE_WRITE),
        (Op.RDMA_READ_REQUEST, Access.REMOTE_READ),
        (Op.COMPARE_SWAP, Access.REMOTE_ATOMIC),
        (Op.FETCH_ADD, Access.REMOTE_ATOMIC),
        (Op.FLUSH, Access.FLUSH_GLOBAL | Access.FLUSH_PERSISTENT),
        (Op.ATOMIC_WRITE, Access.REMOTE_WRITE),
        (None, Access(0)),
    ],
)
def test_remote_access_right_by_opcode(message: Op | None, right: Access) -> None:
    assert {work.remote for work in WORK.values() if work.message == message} == {right}


def test_send_opcodes_have_a_packet_opcode() -> None:
    names = {work.message for work in WORK.values()} - {None}
    assert names == set(REQUESTS)


def test_local_operations_send_no_packet() -> None:
    local = {o.name: work for o, work in WORK.items() if work.message is None}
    assert set(local) == {"LOCAL_INV", "BIND_MW", "DRIVER1"}
    assert not any(_reaches_out(work) for work in local.values())


def _reaches_out(work: Work) -> bool:
    return bool(work.consumes_receive or work.remote or work.solicits or work.outstanding)


def test_flag_values() -> None:
    assert {f.name: f.value for f in SendFlags} == {
        "FENCE": 1,
        "SIGNALED": 2,
        "SOLICITED": 4,
        "INLINE": 8,
        "IP_CSUM": 16,
    }
    assert {f.name: f.value for f in WCFlags} == {
        "GRH": 1,
        "WITH_IMM": 2,
        "IP_CSUM_OK": 4,
        "WITH_INV": 8,
    }


def test_fence_is_legal_where_reads_or_atomics_are() -> None:
    assert set(FLAG_TYPES) == set(SendFlags)
    assert FLAG_TYPES[SendFlags.FENCE] == WORK[WROpcode.RDMA_READ].types


def test_completion_opcodes_have_the_numbers_of_verbs_h() -> None:
    send = "SEND RDMA_WRITE RDMA_READ COMP_SWAP FETCH_ADD BIND_MW LOCAL_INV TSO FLUSH ATOMIC_WRITE"
    recv = "RECV RECV_RDMA_WITH_IMM TM_ADD TM_DEL TM_SYNC TM_RECV TM_NO_TAG DRIVER1 DRIVER2 DRIVER3"
    by_name = dict(enumerate(send.split())) | dict(enumerate(recv.split(), start=128))
    assert {o.value: o.name for o in WCOpcode} == by_name
