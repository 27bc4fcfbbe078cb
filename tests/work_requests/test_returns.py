"""Section 4: what posting returns, each situation on each device; the order of checks; prefixes."""

from dataclasses import replace
from itertools import pairwise

import pytest

from rdmalab.hca import send_checks
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.states import QPType
from rdmalab.spec.work import WROpcode
from tests.labs import refusal, well
from tests.services import MOVES, services
from tests.work_requests.book import Case, lab_of, play, recv, section, table

HEAD, *ROWS = table(4)
DEVICES = {"strict default [CHOICE]": "strict", "RXE": "rxe", "mlx5": "mlx5"}
W = "post_send A.qp0 wr_id=1 flags=SIGNALED"
SEND = f"{W} opcode=SEND sg=A.mr0[0:8]"
BAD = "post_send A.qp0 wr_id=7 opcode=SEND sg={addr=0x10000000 length=8 lkey=0xdead}"
RECV = "post_recv A.qp0 wr_id=1"
ERR = "modify_qp A.qp0 state=ERR"
FLUSHED = ("A.cq0.last.status == WR_FLUSH_ERR",)
SRQ = ("create_srq A.srq0 pd=A.pd0 max_wr=4", "create_qp A.qp8 pd=A.pd0 qp_type=RC srq=A.srq0 "
       "send_cq=A.cq0 recv_cq=A.cq1")  # fmt: skip
MANY = "sg=" + ",".join(["A.mr0[0:1]"] * 21)
LONG = f"{W} opcode=SEND flags=INLINE sg=A.mr0[0:200]".replace("flags=SIGNALED ", "")
SWAP = f"{W} opcode=ATOMIC_CMP_AND_SWP"
WINDOW = "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2"
BIND = f"{W} opcode=BIND_MW mw=A.mw0 bind=A.mr1[0:64] bind_access=REMOTE_READ"


def at(state: str) -> tuple[str, ...]:
    """From RTS to RESET, and up again as far as that."""
    far = ("RESET", "INIT", "RTR", "RTS").index(state)
    moves = MOVES["RC"][:far]
    ups = [f"modify_qp A.qp0 {m.format(peer='B.qp0', other='B', rights=0)}" for m in moves]
    return ("modify_qp A.qp0 state=RESET", *ups)


def case(*lines: str, expects: tuple[str, ...] = (), qp_type: str = "RC") -> Case:
    return Case("", lines, expects, qp_type)


def early(errno: str, kept: int) -> list[Case]:
    states = ("RESET", "INIT", "RTR")
    asks = (f"A.qp0.sq.used == {kept}", "A.cq0.count == 0")
    return [case(*at(state), f"{SEND} => {errno}", expects=asks) for state in states]


def full(slots: int, srqs: int) -> list[Case]:
    """Of queues that were asked to hold 8, 8 and 4."""
    down = "link down"
    return [
        case(down, *[SEND] * slots, f"{SEND} => ENOMEM", expects=(f"A.qp0.sq.used == {slots}",)),
        case(*[RECV] * slots, f"{RECV} => ENOMEM", expects=(f"A.qp0.rq.used == {slots}",)),
        case(SRQ[0], *["post_srq_recv A.srq0"] * srqs, "post_srq_recv A.srq0 => ENOMEM"),
    ]


def waits(resumes: bool) -> list[Case]:
    paused = ("modify_qp A.qp0 state=SQD", "run", recv("RC"), SEND, "run")
    back = (*paused, "modify_qp A.qp0 state=RTS", "run")
    arrived = f"B.cq1.count == {1 if resumes else 0}"
    return [case(*paused, expects=("B.cq1.count == 0", "A.qp0.sq.used == 1")),
            case(*back, expects=(arrived,)),
            case(*back, SEND.replace("SEND", "RDMA_WRITE") + " remote=B.mr0[600]", "run",
                 expects=("B.cq1.count == 1",))]  # fmt: skip


STOPPED = case(BAD, "run", SEND, expects=(*FLUSHED, "A.qp0.state == SQE"), qp_type="UC")
DEAD = case(ERR, SEND, expects=FLUSHED)
LISTENS = [
    *[case(*at(state), RECV, expects=("A.qp0.rq.used == 1",)) for state in ("INIT", "RTR", "RTS")],
    case("modify_qp A.qp0 state=SQD", "run", RECV, expects=("A.qp0.rq.used == 1",)),
]
IN_SQE = case(BAD, "run", RECV, expects=("A.qp0.state == SQE", "A.qp0.rq.used == 1"), qp_type="UC")
RECV_FLUSHED = case(ERR, RECV, expects=("A.cq1.last.status == WR_FLUSH_ERR",))
RECV_KEPT = case(ERR, RECV, "run", expects=("A.cq1.count == 0", "A.qp0.rq.used == 1"))
SHARED = [
    case("create_srq A.srq1 pd=A.pd0 max_wr=4", "post_srq_recv A.srq1"),
    *[
        case(*SRQ, *moves, "post_srq_recv A.srq0", expects=("A.srq0.used == 1",))
        for moves in (
            (),
            ("modify_qp A.qp8 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",),
            (
                "modify_qp A.qp8 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
                "modify_qp A.qp8 state=ERR",
            ),
        )
    ],
]
_NO_ADDRESS = f"{SEND} remote_qpn=B.qp0 remote_qkey=1"
NULL_LIST = ("post_send A.qp0 wr=NULL", "post_recv A.qp0 wr=NULL")
NO_BAD_WR = (
    "post_send A.qp0 wr={opcode=SEND flags=0x80000000} bad_wr=NULL",
    f"post_recv A.qp0 {MANY} bad_wr=NULL",
)
UNMEASURED = [
    case(
        f"{SWAP} sg=A.mr0[0:8] remote=B.mr1[4]",
        "run",
        expects=("A.cq0.last.status == REM_INV_REQ_ERR",),
    ),
    *[
        case(f"{SWAP} sg=A.mr0[0:{length}] remote=B.mr1", "run",
             expects=("A.cq0.last.status == LOC_LEN_ERR", "A.counters.sent_pkts == 0"))
        for length in (4, 16)
    ],
]  # fmt: skip


def both(rule: str, *lines: str) -> list[Case]:
    return [case(f"{line} => {rule}") for line in lines]


MISMEASURED = (f"{SWAP} sg=A.mr0[0:4] remote=B.mr1", f"{SWAP} sg=A.mr0[0:8] remote=B.mr1[4]")
SIXTEEN = f"{SWAP} sg=A.mr0[0:16] remote=B.mr1"
GONE = ("destroy_qp A.qp0", f"{SEND} => EFAULT")

# situation → strict, rxe, mlx5; mlx5 has no way into SQD
RETURNS: dict[str, tuple[list[Case], list[Case], list[Case]]] = {
    "post_send in RESET/INIT/RTR": (early("EINVAL", 0), early("EINVAL", 1), early("ENOMEM", 0)),
    "post_send in SQD": (
        waits(True), waits(False), [case("modify_qp A.qp0 state=SQD => EINVAL")]
    ),
    "post_send in SQE / ERR": ([STOPPED, DEAD], [DEAD], [STOPPED, DEAD]),
    "post_recv in RESET": ([case(*at("RESET"), f"{RECV} => EINVAL")],) * 3,
    "post_recv in INIT..SQE": ([*LISTENS, IN_SQE], LISTENS, [*LISTENS[:-1], IN_SQE]),
    "post_recv in ERR": ([RECV_FLUSHED], [RECV_KEPT], [RECV_FLUSHED]),
    "post_recv on a QP with SRQ": tuple(
        [case(*SRQ, f"post_recv A.qp8 => {errno}")] for errno in ("EINVAL", "EINVAL", "ENOMEM")
    ),  # type: ignore[dict-item]
    "post_srq_recv, any QP state, no QP at all": (SHARED, SHARED, SHARED),
    "queue full": (full(8, 4), full(15, 7), full(8, 7)),
    "too many SGEs": tuple(
        [case(f"{W} opcode=SEND {MANY} => {errno}"), case(f"{RECV} {MANY} => EINVAL")]
        for errno in ("EINVAL", "EINVAL", "ENOMEM")
    ),  # type: ignore[dict-item]
    "unknown opcode": (
        both("EINVAL", *[f"{W} opcode={n}" for n in (12, 50, 255)]),
        [case(f"{W} opcode={n}", "run",
              expects=("A.cq0.last.status == LOC_QP_OP_ERR", "A.qp0.state == ERR"))
         for n in (12, 50, 255)],
        both("EINVAL", *[f"{W} opcode={n}" for n in (12, 50, 255)]),
    ),
    "inline too long": (both("EINVAL", LONG), both("EINVAL", LONG), both("ENOMEM", LONG)),
    "atomic not 8 bytes or remote_addr not aligned": (
        UNMEASURED,  # decided since the table was written: as mlx5, only librxe refuses the post
        [*both("EINVAL", *MISMEASURED),
         case(SIXTEEN, "run", expects=("A.cq0.last.status == SUCCESS",
                                       "A.cq0.last.byte_len == 16"))],
        UNMEASURED,
    ),
    "BIND_MW with SGEs or imm": (
        [case(WINDOW, f"{BIND} sg=A.mr0[0:8] => EINVAL")],
        [case(WINDOW, f"{BIND} sg=A.mr0[0:8] => EINVAL")],
        [case(WINDOW, f"{BIND} sg=A.mr0[0:8] imm_data=7", "run",
              expects=("A.cq0.last.status == SUCCESS",))],
    ),
    "atomics not supported": ([], [], []),  # a device of its own, below
    "bad_wr pointer NULL": (
        both("EFAULT", *NO_BAD_WR),  # as every wild pointer; the table says EINVAL, by choice
        [*both("null-pointer", "post_send A.qp0 opcode=SEND bad_wr=NULL",
               "post_recv A.qp0 wr_id=1 bad_wr=NULL"),
         case(SRQ[0], f"post_srq_recv A.srq0 {MANY} bad_wr=NULL => crash-bad-wr"),
         case(SRQ[0], "post_srq_recv A.srq0 bad_wr=NULL")],
        both("crash-bad-wr", *NO_BAD_WR),
    ),
    "wr list NULL": ([case(*NULL_LIST)], both("EINVAL", *NULL_LIST), [case(*NULL_LIST)]),
    "UD without ah": tuple(
        [case(f"{_NO_ADDRESS} => {each}", qp_type="UD")] for each in ("EINVAL", *["crash-ah"] * 2)
    ),  # type: ignore[dict-item]
    "qp invalid": ([case(*GONE)], [], [case(*GONE)]),
}  # fmt: skip


def test_every_situation_of_returns_has_a_row() -> None:
    assert [row[0] for row in ROWS] == list(RETURNS)
    assert list(DEVICES) == HEAD[1:4]
    silent = {name for name, cells in RETURNS.items() if not all(cells)}
    blank = {row[0] for row in ROWS if "-" in row[1:4]}
    assert silent == blank


CELLS = [
    (row, device, number)
    for row, cells in RETURNS.items()
    for device, cell in zip(DEVICES.values(), cells, strict=True)
    for number in range(len(cell))
]


@pytest.mark.parametrize(("row", "device", "number"), CELLS)
def test_a_return_value(row: str, device: str, number: int) -> None:
    cell = dict(zip(DEVICES.values(), RETURNS[row], strict=True))[device]
    play(cell[number]._replace(profile=device))


def test_a_device_without_atomics() -> None:
    less = replace(STRICT, lacks=frozenset({(QPType.RC, WROpcode.ATOMIC_CMP_AND_SWP)}))
    lab = services("RC", less)
    refused = refusal(lab, f"{SWAP} sg=A.mr0[0:8] remote=B.mr0")
    assert (refused.errno, refused.argument) == (95, "opcode")


# --------------------------------------------------------------------------- prefix, order
@pytest.mark.parametrize("device", DEVICES.values())
def test_requests_before_bad_wr_are_posted(device: str) -> None:
    lab = lab_of("RC", device)
    many = f"wr_id=2 opcode=SEND {MANY}"
    line = f"post_send A.qp0 wr={{wr_id=1 opcode=SEND}} wr={{{many}}} wr={{wr_id=3 opcode=SEND}}"
    assert refusal(lab, line).bad_wr == 1
    assert lab.look("A.qp0.sq.posted") == 1
    line = f"post_recv A.qp0 wr={{wr_id=1}} wr={{wr_id=2 {MANY}}} wr={{wr_id=3}}"
    assert refusal(lab, line).bad_wr == 1
    assert lab.look("A.qp0.rq.posted") == 1


# What breaks each check, in the order of the book; a request that breaks two hears of the first.
ORDER = ("state", "opcode", "queue full", "num_sge", "length", "flags", "type specific")
BREAKS = {
    "opcode": "opcode=50",
    "num_sge": MANY.replace("sg=", "sg={addr=0 length=0x80000000},"),
    "length": "sg={addr=0 length=0x80000000},A.mr0[0:1]",
    "flags": "flags=0x80", "type specific": "remote=B.mr1[4]",
}  # fmt: skip
RULES = {
    "state": "send-state", "opcode": "opcode-unknown", "queue full": "queue-full",
    "num_sge": "send-sges", "length": "message-length", "flags": "send-flags",
    "type specific": "atomic-address",
}  # fmt: skip


def test_the_order_is_that_of_the_book() -> None:
    is_reported = section(4).partition("Order of checks in the emulator [CHOICE]: ")[2]
    assert tuple(is_reported.rstrip().rstrip(".").split(", ")) == ORDER
    assert len(send_checks.CHECKS) >= len(ORDER)


@pytest.mark.parametrize(("first", "second"), list(pairwise(ORDER)))
def test_post_send_reports_the_first_of_two_mistakes(first: str, second: str) -> None:
    lab = lab_of()
    fields = {"opcode": "opcode=ATOMIC_CMP_AND_SWP", "sg": "sg=A.mr0[0:8]", "to": "remote=B.mr1"}
    if "queue full" in (first, second):
        well(lab, "link down")
        for _ in range(8):
            well(lab, SEND)
    if first == "state":
        well(lab, "modify_qp A.qp0 state=RESET")
    for broken in (second, first):  # the list with too many entries is too long a message, too
        answer = BREAKS.get(broken, "")
        if answer:
            fields["to" if answer.startswith("remote") else answer.partition("=")[0]] = answer
    assert refusal(lab, "post_send A.qp0 " + " ".join(fields.values())).rule == RULES[first]
