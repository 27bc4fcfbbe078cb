"""Section 1: each opcode on each QP type, what it takes, moves and completes with."""

import re

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.spec.rules import errno_name
from rdmalab.spec.work import WROpcode
from tests.labs import seen, well
from tests.raw import tcp_frame
from tests.services import MOVES
from tests.work_requests.book import (
    Case,
    bullets,
    forgotten,
    lab_of,
    named,
    octets,
    play,
    recv,
    table,
    to,
)

HEAD, *ROWS = table(1)
TYPES = HEAD[2:7]
BY_NAME = {row[0]: dict(zip(HEAD, row, strict=True)) for row in ROWS}
# The book has an X here, and the wire no packet to say it.
NOT_ON_THE_WIRE = {("SEND_WITH_INV", "UC")}

FRAME = tcp_frame()
IPOIB = b"\x08\0\0\0" + FRAME[14:]
BIND = "post_send {0}.qp0 wr_id=8 opcode=BIND_MW mw={0}.mw0 bind={0}.mr1[0:64] bind_access=2"
_RDMA = "sg=A.mr1[0:60] remote=B.mr1[64]"
_EIGHT = "sg=A.mr1[0:8] remote=B.mr1[64]"
FIELDS: dict[str, str] = {
    "RDMA_WRITE": _RDMA, "RDMA_WRITE_WITH_IMM": _RDMA + " imm_data=7", "RDMA_READ": _RDMA,
    "SEND": "sg=A.mr0[0:60]", "SEND_WITH_IMM": "sg=A.mr0[0:60] imm_data=7",
    "ATOMIC_CMP_AND_SWP": _EIGHT, "ATOMIC_FETCH_AND_ADD": _EIGHT + " compare_add=1",
    "LOCAL_INV": "invalidate_rkey=A.mw0", "BIND_MW": BIND.partition("MW ")[2].format("A"),
    "SEND_WITH_INV": "sg=A.mr0[0:60] invalidate_rkey=B.mw0",
    "TSO": "hdr=A.mr0[4096:{}] mss=100 sg=A.mr0[0:60]", "DRIVER1": "",
    "FLUSH": "remote=B.mr1[0:64]", "ATOMIC_WRITE": _EIGHT,
}  # fmt: skip


def posted(lab: Lab, name: str, qp_type: str) -> str:
    """The line that posts it, after what it needs."""
    if name in ("LOCAL_INV", "BIND_MW"):
        well(lab, "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2")
    if name == "SEND_WITH_INV":
        well(lab, "alloc_mw B.mw0 pd=B.pd0 type=TYPE_2")
    fields = FIELDS[name]
    if name == "TSO":
        header = IPOIB if qp_type == "UD" else FRAME
        well(lab, f"write A.mr0[4096:{4096 + len(header)}] {octets(header)}")
        fields = fields.format(4096 + len(header))
    qp = cutter(lab) if name == "TSO" and qp_type == "UD" else "A.qp0"
    line = f"post_send {qp} wr_id=1 opcode={name} {fields} flags=SIGNALED"
    return line if name in ("LOCAL_INV", "BIND_MW") else line + to(qp_type)


def cutter(lab: Lab) -> str:
    """A datagram queue pair that may send TSO headers."""
    well(lab, "create_qp A.qp9 pd=A.pd0 qp_type=UD send_cq=A.cq0 recv_cq=A.cq1 max_tso_header=64")
    for move in MOVES["UD"]:
        well(lab, f"modify_qp A.qp9 {move}")
    return "A.qp9"


def binds(lab: Lab, name: str, qp_type: str) -> None:
    """A window that the request makes void; the receiving side of XRC cannot bind one."""
    node = {"LOCAL_INV": "A", "SEND_WITH_INV": "B"}.get(name, "")
    if node and (node == "A" or qp_type == "RC"):
        well(lab, BIND.format(node))
        well(lab, "run")


def test_every_opcode_and_type_has_its_cell() -> None:
    assert {name: WROpcode(int(row["value"])).name for name, row in BY_NAME.items()} == {
        name: name for name in FIELDS
    }
    assert set(FIELDS) == {opcode.name for opcode in WROpcode}
    assert TYPES == ["UD", "UC", "RC", "XRC_SEND", "RAW_PACKET"]


@pytest.mark.parametrize("qp_type", TYPES)
@pytest.mark.parametrize("name", FIELDS)
def test_a_cell(name: str, qp_type: str) -> None:
    row, lab = BY_NAME[name], lab_of(qp_type)
    line = posted(lab, name, qp_type)
    if row[qp_type] != "X":
        refused = lab.do(line)[-1].refusal
        assert refused is not None
        assert (errno_name(refused.errno), refused.argument) == ("EINVAL", "opcode")
        return
    if (name, qp_type) in NOT_ON_THE_WIRE:
        well(lab, line)
        well(lab, "run")
        done = well(lab, "poll_cq A.cq0 num_entries=9").value
        assert [(wc.wr_id, wc.status.name) for wc in done] == [(1, "LOC_QP_OP_ERR")]
        assert lab.look("wire.count(from=A)") == 0
        return
    binds(lab, name, qp_type)
    well(lab, recv(qp_type))
    before = lab.look("A.mr1[0:60]")
    well(lab, 'write B.mr1[64:70] "theirs"')
    well(lab, line)
    well(lab, "run")
    completed, number = re.fullmatch(r"(\w+) \((\d+)\)", row["sender's WC opcode"]).groups()  # type: ignore[union-attr]
    done = well(lab, "poll_cq A.cq0 num_entries=9").value[-1]
    assert (done.wr_id, done.status.name) == (1, "SUCCESS")
    assert (done.opcode.name, int(done.opcode)) == (completed, int(number))
    taken = len(well(lab, "poll_cq B.cq1 num_entries=9").value)
    assert taken == (1 if row["consumes peer RR"].startswith("yes") else 0)
    scatters = row["local data"].startswith("scatter")
    assert (lab.look("A.mr1[0:60]") != before) is scatters
    sends = "local" not in row["consumes peer RR"]
    assert bool(seen(lab, Kind.PACKET_SENT, "A")) is (sends or name == "SEND_WITH_INV")


# --------------------------------------------------------------------------- one line each
W = "post_send A.qp0 wr_id=1 flags=SIGNALED"
OK = ("A.cq0.last.status == SUCCESS",)
# fmt: off
CASES = [
    Case("SEND*", (recv("RC", 2, 60), recv("RC", 3), f"{W} opcode=SEND sg=A.mr0[0:60]", "run"),
         (*OK, "B.cq1.count == 1", "B.cq1.last.wr_id == 2")),
    Case("SEND*", (recv("UD", 2, 4200), f"{W} opcode=SEND sg=A.mr0[0:4097]{to('UD')}", "run"),
         ("B.cq1.count == 0",), "UD"),
    Case("SEND*", (recv("UD", 2, 4136), f"{W} opcode=SEND sg=A.mr0[0:4096]{to('UD')}", "run"),
         ("B.cq1.last.byte_len == 4136",), "UD"),
    Case("WRITE*", ('write A.mr0[0:4] "abcd"', 'write A.mr1[0:4] "efgh"',
                    f"{W} opcode=RDMA_WRITE sg=A.mr0[0:4],A.mr1[0:4] remote=B.mr1[100]", "run"),
         (*OK, 'B.mr1[100:108] == "abcdefgh"', "B.cq1.count == 0")),
    Case("WRITE*", ("post_recv B.qp0 wr_id=2",
                    f"{W} opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:60] remote=B.mr1", "run"),
         ("B.cq1.last.opcode == RECV_RDMA_WITH_IMM", "B.cq1.last.byte_len == 60")),
    Case("WRITE*", ('write A.mr0[0:4] "abcd"', 'write B.mr1[0:4] "keep"',
                    f"{W} opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:4] remote=B.mr1", "run"),
         ('B.mr1[0:4] == "keep"', "A.cq0.last.status == RNR_RETRY_EXC_ERR")),
    Case("READ:", ('write B.mr1[0:8] "abcdefgh"',
                   f"{W} opcode=RDMA_READ sg=A.mr0[0:4],A.mr1[0:4] remote=B.mr1", "run"),
         (*OK, 'A.mr0[0:4] == "abcd"', 'A.mr1[0:4] == "efgh"')),
    Case("READ:", ("reg_mr A.mr2 pd=A.pd0 length=64 access=0",
                   f"{W} opcode=RDMA_READ sg=A.mr2[0:4] remote=B.mr1", "run"),
         ("A.cq0.last.status == LOC_PROT_ERR",)),
    Case("CMP_AND_SWP:", ('write B.mr1[0:1] "\\x05"',
                          f"{W} opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr1 compare_add=5 "
                          "swap=9", "run"),
         (*OK, "A.mr0[0] == 5", "B.mr1[0] == 9")),
    Case("CMP_AND_SWP:", ('write B.mr1[0:1] "\\x05"',
                          f"{W} opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr1 compare_add=4 "
                          "swap=9", "run"),
         (*OK, "A.mr0[0] == 5", "B.mr1[0] == 5")),
    Case("CMP_AND_SWP:", ('write B.mr1[0:8] "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff"',
                          f"{W} opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr1 "
                          "compare_add=3", "run"),
         (*OK, "A.mr0[0] == 255", "B.mr1[0] == 2", "B.mr1[7] == 0")),
    Case("Zero length:", (recv("RC"), f"{W} opcode=SEND", "run"),
         (*OK, "B.cq1.last.byte_len == 0", "wire.count(opcode=SEND_ONLY) == 1")),
    Case("Zero length:", (f"{W} opcode=RDMA_WRITE remote_addr=0 rkey=0xdead", "run"), OK),
    Case("Zero length:", (f"{W} opcode=RDMA_READ remote_addr=0 rkey=0xdead", "run"), OK),
    Case("Atomicity:", (f"{W} opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr1 compare_add=1",
                        "post_send B.qp0 wr_id=9 opcode=ATOMIC_FETCH_AND_ADD sg=B.mr0[0:8] "
                        "remote=A.mr1 compare_add=1", "run"), (*OK, "B.mr1[0] == 1")),
]
# fmt: on


def test_every_sentence_of_opcodes_has_a_case() -> None:
    assert not forgotten(1, CASES)
    assert len(bullets(1)) == 6


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_sentence(case: Case) -> None:
    play(case)


def test_a_flush_with_more_bits_than_its_header_has_is_cut() -> None:
    lab = lab_of("RC")
    well(lab, "post_send A.qp0 opcode=FLUSH remote=B.mr1[0:8] flush_type=0xffff flush_level=0xff")
    well(lab, "run")
    (sent,) = [r[6] for r in lab.session.world.trace.records if r[3] is Kind.PACKET_SENT][:1]
    assert (sent.feth.selectivity, sent.feth.placement) == (3, 15)
