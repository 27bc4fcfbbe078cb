"""Section 6: each builder on its types, the setters, and how a batch tells its mistakes."""

import re

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.states import QPType
from rdmalab.spec.work import BUILDERS, SendOps
from tests.labs import refusal, well
from tests.services import MOVES
from tests.work_requests.book import RIGHTS, Case, carry_out, forgotten, lab_of, section, table, to

HEAD, *ROWS = table(6)
WINDOWED = ("alloc_mw A.mw0 pd=A.pd0 type=TYPE_2",)
AT = "remote=B.mr1[64]"
# builder → what C hands it
ARGUMENTS: dict[str, str] = {
    "wr_send": "", "wr_send_imm": "imm_data=7", "wr_send_inv": "invalidate_rkey=0x1234",
    "wr_rdma_write": AT, "wr_rdma_write_imm": f"{AT} imm_data=7", "wr_rdma_read": AT,
    "wr_atomic_cmp_swp": f"{AT} compare=0 swap=1", "wr_atomic_fetch_add": f"{AT} add=1",
    "wr_bind_mw": "mw=A.mw0 bind=A.mr1[0:64] bind_access=REMOTE_READ",
    "wr_local_inv": "invalidate_rkey=0x1234", "wr_send_tso": "hdr=A.mr0[0:54] mss=100",
    "wr_flush": "remote=B.mr1[0:64]", "wr_atomic_write": f"{AT} atomic_wr=A.mr0[0]",
}  # fmt: skip
SHORT = {"RAW": "RAW_PACKET", "XRC": "XRC_SEND"}
# The book has these on XRC; the opcodes exist on RC only (its own section 1).
NOT_ON_XRC = {"wr_flush", "wr_atomic_write"}


def builders_of(cell: str) -> list[str]:
    """`wr_send, wr_send_imm(imm)` and the `_imm(…)` that continues the name before it."""
    found: list[str] = []
    for name in re.findall(r"(\w+)(?:\([^)]*\))?", cell):
        found.append(found[-1] + name if name.startswith("_") else name)
    return found


def types_of(row: list[str], builder: str) -> set[str]:
    """Of one builder of a row: `send: UD UC …; imm: …`, or the same for all."""
    parts = dict(part.split(":") for part in row[1].split(";")) if ":" in row[1] else {}
    answer = parts.get(builder.rpartition("_")[2], "") if parts else row[1]
    found = next((v for k, v in parts.items() if k.strip() == builder.rpartition("_")[2]), answer)
    return {SHORT.get(name, name) for name in found.split()}


TOLD = {name: (types_of(row, name), row) for row in ROWS for name in builders_of(row[0])}


def test_every_builder_of_the_book_is_one() -> None:
    assert set(TOLD) == set(ARGUMENTS) == set(BUILDERS.values())
    flags = dict(re.findall(r"\b([A-Z_]+) (\d+)[,.]", section(6)))
    assert {name: int(number) for name, number in flags.items() if name in SendOps.__members__} == {
        flag.name: int(flag) for flag in SendOps
    }


def create(qp_type: str, ops: str, more: str = "") -> str:
    cqs = "send_cq=A.cq0 recv_cq=A.cq1"
    return f"create_qp_ex A.qx0 pd=A.pd0 qp_type={qp_type} {cqs} send_ops_flags={ops}{more}"


@pytest.mark.parametrize("qp_type", [t.name for t in QPType if t is not QPType.XRC_RECV])
@pytest.mark.parametrize("builder", ARGUMENTS)
def test_a_builder_exists_for_its_types(builder: str, qp_type: str) -> None:
    types, row = TOLD[builder]
    opcode = next(o.name for o, name in BUILDERS.items() if name == builder)
    lab = lab_of()
    has = qp_type in types and not (qp_type == "XRC_SEND" and builder in NOT_ON_XRC)
    for line in (*WINDOWED, create(qp_type, opcode) + ("" if has else " => EOPNOTSUPP")):
        carry_out(lab, line)
    if not has:
        return
    well(lab, "wr_start A.qx0")
    well(lab, f"{builder} A.qx0 {ARGUMENTS[builder]}")
    well(lab, "wr_set_sge A.qx0 sg=A.mr0[0:8]")
    takes_data = row[2].startswith("yes")
    answer = refusal(lab, "wr_complete A.qx0")  # of a queue pair in RESET
    if takes_data:
        assert answer.rule in ("send-state", "setter-missing")
    elif builder != "wr_atomic_write":
        assert answer.rule == "setter-data"
    needs_setter = "QP setter" in row[3] and qp_type in ("UD", "XRC_SEND")
    assert (answer.rule == "setter-missing") is (needs_setter and takes_data)


# --------------------------------------------------------------------------- bullets
EVERY = "0x1bff"
UP = [f"modify_qp A.qx0 {m.format(peer='B.qx0', other='B', rights=RIGHTS)}" for m in MOVES["RC"]]
PEER = ("create_qp B.qx0 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq1",
        "connect A.qx0 B.qx0 qp_access_flags=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC")  # fmt: skip
MADE = (create("RC", EVERY, " max_send_wr=4 max_inline_data=64"), *PEER)
ON_RXE = (create("RC", "0x7f", " max_send_wr=3 max_inline_data=64"), *PEER)
OPEN, SEND, POST, WRITE = (
    "wr_start A.qx0", "wr_send A.qx0 wr_id=1 wr_flags=SIGNALED", "wr_complete A.qx0",
    f"wr_rdma_write A.qx0 {AT} wr_id=1 wr_flags=SIGNALED",
)  # fmt: skip
SGE = "wr_set_sge A.qx0 sg=A.mr0[0:8]"
RECV = "post_recv B.qx0 wr_id=5 sg=B.mr0[0:512]"
OK = "A.cq0.last.status == SUCCESS"
TWENTY = "wr_set_sge_list A.qx0 sg=" + ",".join(["A.mr0[0:1]"] * 20)
UD_ADDRESS = "wr_set_ud_addr A.qx0 " + to("UD").strip()
CREATED, BUILDER, DATA = "Create with", "A builder not", "DATA setters"
START, EACH, QP, STICKY = "`ibv_wr_start", "Per WR:", "QP setters", "Errors are sticky"
IN_STATE, BEFORE, SLIPS = "State:", "Nothing executes", "Seed/man slips"


# fmt: off
CASES = [
    Case(CREATED, (create("UC", "RDMA_READ") + " => EOPNOTSUPP", create("UC", "0"))),
    *[Case(CREATED, (create("RC", ops) + " => EOPNOTSUPP",), (), "RC", "rxe")
      for ops in ("FLUSH", "TSO")],
    Case(CREATED, (create("UC", "LOCAL_INV") + " => EOPNOTSUPP", create("UC", "BIND_MW|SEND")),
         (), "RC", "rxe"),
    Case(CREATED, (create("UD", "SEND|SEND_WITH_IMM"),), (), "UD", "rxe"),
    Case(BUILDER, (create("RC", "SEND"), *PEER, OPEN, WRITE, SGE, POST + " => EINVAL")),
    Case(START, (*MADE, RECV, OPEN, SEND, SGE, "wr_abort A.qx0", "run"),
         ("A.qx0.sq.posted == 0", "B.cq1.count == 0")),
    Case(START, (*MADE, OPEN, "post_send A.qx0 opcode=SEND => crash-deadlock", SEND, POST,
                 "post_send A.qx0 opcode=SEND", OPEN, SEND, POST), ("A.qx0.sq.posted == 3",)),
    Case(EACH, (*MADE, RECV, OPEN, "wr_set A.qx0 wr_id=9 wr_flags=SIGNALED", "wr_send A.qx0",
                f"wr_rdma_write A.qx0 {AT}", POST, "run"),
         ("A.cq0.count == 2", "A.cq0.last.wr_id == 9", "A.cq0.next.wr_id == 9")),
    Case(DATA, (*MADE, RECV, OPEN, SEND, POST, "run"), (OK, "B.cq1.last.byte_len == 0")),
    Case(DATA, (*MADE, RECV, OPEN, SEND, SGE, POST, "run"), (OK, "B.cq1.last.byte_len == 8")),
    Case(DATA, (*MADE, RECV, OPEN, SEND, "wr_set_sge_list A.qx0 sg=A.mr0[0:8],A.mr0[20:25]", POST,
                "run"), (OK, "B.cq1.last.byte_len == 13")),
    Case(DATA, (*MADE, RECV, OPEN, SEND, "wr_set_inline_data A.qx0 buf=A.mr0[0:7]", POST, "run"),
         (OK, "B.cq1.last.byte_len == 7")),
    Case(DATA, (*MADE, RECV, OPEN, SEND, "wr_set_inline_data_list A.qx0 buf=A.mr0[0:7],A.mr0[9:12]",
                POST, "run"), (OK, "B.cq1.last.byte_len == 10")),
    Case(DATA, (*MADE, RECV, OPEN, SEND, "wr_set_sge A.qx0 sg=A.mr0[0:0]", POST, "run"),
         ("A.cq0.last.status == LOC_PROT_ERR",)),
    Case(DATA, (*ON_RXE, RECV, OPEN, SEND, "wr_set_sge A.qx0 sg=A.mr0[0:0]", POST, "run"),
         (OK, "B.cq1.last.byte_len == 0"), "RC", "rxe"),
    Case(DATA, (*ON_RXE, RECV, OPEN, SEND, SGE, "wr_set_sge A.qx0 sg=A.mr0[0:30]", POST, "run"),
         (OK, "B.cq1.last.byte_len == 30"), "RC", "rxe"),
    Case(DATA, (*ON_RXE, RECV, OPEN, SGE, SEND, POST, "run"), (OK, "B.cq1.last.byte_len == 0"),
         "RC", "rxe"),
    Case(DATA, (*ON_RXE, RECV, OPEN, SEND.replace("SIGNALED", "SIGNALED|INLINE"), SGE, POST, "run"),
         (OK, "B.cq1.last.byte_len == 8"), "RC", "rxe"),
    Case(QP, (*MADE, OPEN, SEND, "wr_set_ud_addr A.qx0 ah=A.ah0 remote_qpn=1 remote_qkey=1",
              POST + " => EINVAL")),
    Case(STICKY, (*MADE, OPEN, SEND, "wr_set_ud_addr A.qx0 ah=A.ah0 remote_qpn=1 remote_qkey=1",
                  SEND, POST + " => EINVAL"), ("A.qx0.sq.posted == 0",)),
    Case(STICKY, (*MADE, OPEN, *[SEND] * 5, POST + " => ENOMEM"), ("A.qx0.sq.posted == 0",)),
    Case(STICKY, (*MADE, OPEN, SEND, TWENTY, POST + " => EINVAL")),
    Case(STICKY, (*ON_RXE, OPEN, *[SEND] * 5, POST + " => ENOSPC"), (), "RC", "rxe"),
    Case(STICKY, (*ON_RXE, OPEN, SEND, TWENTY, POST + " => ENOSPC", RECV, OPEN, SEND, SGE, POST,
                  "run"), (OK, "A.cq0.count == 1"), "RC", "rxe"),
    Case(STICKY, (*ON_RXE, OPEN, SEND, "wr_set_inline_data A.qx0 buf=A.mr0[0:200]",
                  POST + " => ENOSPC"), (), "RC", "rxe"),
    Case(STICKY, (*ON_RXE, OPEN, "wr_atomic_fetch_add A.qx0 remote=B.mr1[4] add=1 wr_id=1", SGE,
                  POST, "run"), ("A.cq0.last.status == REM_INV_REQ_ERR",), "RC", "rxe"),
    Case(STICKY, (*ON_RXE, OPEN, "wr_atomic_fetch_add A.qx0 remote=B.mr1 add=1 wr_id=1",
                  "wr_set_sge A.qx0 sg=A.mr0[0:4]", POST, "run"),
         ("A.cq0.last.status == LOC_PROT_ERR",), "RC", "rxe"),
    Case(IN_STATE, (*ON_RXE, POST, OPEN, POST), (), "RC", "rxe"),
    Case(IN_STATE, (*ON_RXE, "modify_qp A.qx0 state=ERR", OPEN, SEND, POST),
         ("A.cq0.last.status == WR_FLUSH_ERR",), "RC", "rxe"),
    Case(IN_STATE, (*ON_RXE, "modify_qp A.qx0 state=SQD", "run", OPEN, SEND, POST),
         ("A.qx0.sq.used == 1",), "RC", "rxe"),
    *[Case(IN_STATE, (create("RC", "0x7f"), PEER[0], *UP[:far], OPEN, SEND, POST + " => EINVAL"),
           (f"A.qx0.sq.used == {kept}",), "RC", device)
      for far in range(3) for device, kept in (("strict", 0), ("rxe", 1), ("mlx5", 0))],
    Case(BEFORE, (*MADE, RECV, OPEN, SEND, SGE, "run"), ("B.cq1.count == 0",)),
    Case(BEFORE, ('write A.mr0[0:5] "early"', *MADE, RECV, OPEN, SEND,
                  "wr_set_inline_data A.qx0 buf=A.mr0[0:5]", 'write A.mr0[0:5] "later"', POST,
                  "run"), ('B.mr0[0:5] == "early"',)),
    Case(BEFORE, ('write A.mr0[0:5] "early"', *MADE, RECV, OPEN, SEND,
                  "wr_set_sge A.qx0 sg=A.mr0[0:5]", 'write A.mr0[0:5] "later"', POST, "run"),
         ('B.mr0[0:5] == "later"',)),
    Case(SLIPS, (*MADE, RECV, OPEN, "wr_send_imm A.qx0 imm_data=7 wr_flags=SIGNALED", SGE, POST,
                 "run"), ("B.cq1.last.opcode == RECV", "B.cq1.last.wc_flags == 2")),
    Case(SLIPS, (*MADE, RECV, OPEN, "wr_send_inv A.qx0 invalidate_rkey=B.mr1", POST, "run"),
         ("B.cq1.last.status == REM_INV_REQ_ERR",)),
]
UNADDRESSED = [
    Case(QP, (OPEN, SEND, SGE, POST + " => setter-missing"), (), "UD"),
    Case(QP, (OPEN, SEND, SGE, POST, "run"), ("A.cq0.last.status == LOC_QP_OP_ERR",), "UD", "rxe"),
    Case(QP, (OPEN, SEND, UD_ADDRESS, SGE, POST, "run"), (OK,), "UD"),
]
# fmt: on


def test_every_bullet_of_functions_has_a_case() -> None:
    assert not forgotten(6, CASES)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_bullet(number: int) -> None:
    lab = lab_of(CASES[number].qp_type, CASES[number].profile)
    _carried(lab, CASES[number])


@pytest.mark.parametrize("case", UNADDRESSED, ids=lambda c: c.profile)
def test_a_datagram_names_its_receiver(case: Case) -> None:
    lab = lab_of("UD", case.profile)
    well(lab, create("UD", "SEND"))
    for move in MOVES["UD"]:
        well(lab, f"modify_qp A.qx0 {move}")
    _carried(lab, case)


def _carried(lab: Lab, case: Case) -> None:
    for line in case.lines:
        carry_out(lab, line)
    for question in case.expects:
        assert lab.look(question) is True, question
