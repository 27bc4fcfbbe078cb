"""`post_send` and `post_recv`: what is refused, in which order, and what the prefix rule leaves."""

from collections.abc import Callable
from dataclasses import replace
from errno import EFAULT, EINVAL, ENOMEM
from itertools import combinations
from typing import Any

import pytest

from rdmalab.command import Refused
from rdmalab.hca import posting
from rdmalab.hca.qp import Capacity
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import MLX5, STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from tests.covers import covers
from tests.pairs import SIGNALED, End, Pair, image

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
ADD, SWAP = WROpcode.ATOMIC_FETCH_AND_ADD, WROpcode.ATOMIC_CMP_AND_SWP
OK, FLUSHED = WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR
INLINE = SIGNALED | SendFlags.INLINE
SMALL = Capacity(max_send_wr=4, max_recv_wr=3, max_send_sge=2, max_recv_sge=2, max_inline_data=16)
HALF = 2**30


def refusal(end: End, *wrs: SendWR) -> Refused:
    """Why it is refused; the world has not changed."""
    end.world.begin_event()
    before = image(end.world)
    with pytest.raises(Refused) as caught:
        end.post(*wrs)
    assert image(end.world) == before
    return caught.value


def pieces(end: End, *lengths: int) -> list[SGE]:
    return [end.sge(0, length) for length in lengths]


# --------------------------------------------------------------------------- one reason each
Make = Callable[[End], SendWR]


def wr(opcode: WROpcode = SEND, length: int = 8, **fields: Any) -> Make:
    return lambda end: end.wr(opcode, length, **fields)


def listed(*lengths: int, opcode: WROpcode = SEND, **fields: Any) -> Make:
    return lambda end: end.wr(opcode, sg=pieces(end, *lengths), **fields)


def unmapped(end: End) -> SendWR:
    return end.wr(SEND, sg=[SGE(5, 8, 0)], flags=INLINE)


# fmt: off
ROWS: list[tuple[str, int, str, Make]] = [
    ("opcode-unknown",  EINVAL,     "opcode",      wr(12)),  # type: ignore[arg-type]
    ("opcode-type",     EINVAL,     "opcode",      wr(WROpcode.TSO)),
    ("crash-mw",        EINVAL,     "mw",          wr(WROpcode.BIND_MW)),
    ("send-sges",       EINVAL,     "sg",          listed(1, 1, 1)),
    ("message-length",  EINVAL,     "sg",          listed(2**31, 1)),
    ("message-length",  EINVAL,     "sg",          listed(0, 1)),  # 0 is 2^31
    ("send-flags",      EINVAL,     "flags",       wr(flags=SendFlags(0x20))),
    ("send-flags-type", EINVAL,     "flags",       wr(flags=SendFlags.IP_CSUM)),
    ("inline-opcode",   EINVAL,     "flags",       wr(READ, flags=INLINE)),
    ("inline-opcode",   EINVAL,     "flags",       wr(ADD, flags=INLINE)),
    ("inline-length",   EINVAL,     "flags",       wr(SEND, 17, flags=INLINE)),
    ("inline-length",   EINVAL,     "flags",       listed(8, 9, flags=INLINE)),
    ("crash-inline",    EFAULT,     "sg",          unmapped),
]
# fmt: on


@pytest.mark.parametrize(("rule", "errno", "argument", "make"), ROWS)
def test_what_post_send_refuses(rule: str, errno: int, argument: str, make: Make) -> None:
    pair = Pair(cap=SMALL)
    refused = refusal(pair.a, make(pair.a))
    assert (refused.rule, refused.errno, refused.argument) == (rule, errno, argument)
    assert refused.bad_wr == 0


@pytest.mark.parametrize(
    "make",
    [
        wr(SEND, 0),
        listed(1, 1),
        listed(HALF, HALF),
        wr(WRITE, 16, flags=INLINE),
        wr(flags=SIGNALED | SendFlags.FENCE | SendFlags.SOLICITED),
        wr(SWAP),
        wr(ADD, 4),
        wr(WROpcode.ATOMIC_WRITE, to=4),
        listed(4, 4, opcode=ADD),
    ],
)
def test_post_send_at_the_limits(make: Make) -> None:
    pair = Pair(cap=SMALL)
    pair.a.post(make(pair.a))
    assert len(pair.records(Kind.SEND_POSTED)) == 1


ASKING = replace(STRICT, refuses_odd_atomics=True)


@pytest.mark.parametrize(
    ("rule", "argument", "make"),
    [
        ("atomic-length", "sg", wr(ADD, 4)),
        ("atomic-length", "sg", wr(SWAP, 7)),
        ("atomic-length", "sg", wr(WROpcode.ATOMIC_WRITE, 7)),
        ("atomic-address", "remote_addr", wr(ADD, to=4)),
        ("atomic-address", "remote_addr", wr(WROpcode.ATOMIC_WRITE, to=4)),
    ],
)
def test_what_post_send_refuses_where_the_driver_looks_at_atomics(
    rule: str, argument: str, make: Make
) -> None:
    pair = Pair(cap=SMALL, profile=ASKING)
    refused = refusal(pair.a, make(pair.a))
    assert (refused.rule, refused.errno, refused.argument) == (rule, EINVAL, argument)


@pytest.mark.parametrize("profile", [STRICT, MLX5], ids=lambda profile: profile.name)
@pytest.mark.parametrize("opcode", [ADD, SWAP, WROpcode.ATOMIC_WRITE])
@pytest.mark.parametrize("length", [0, 4, 7, 9, 16])
def test_atomic_of_another_length_fails_without_a_packet(
    profile: Profile, opcode: WROpcode, length: int
) -> None:
    """IBA 10.8.3 lists it under Local Length Error; the peer notices nothing."""
    pair = Pair(cap=SMALL, profile=replace(profile, lacks=frozenset()))
    pair.a.post(pair.a.wr(opcode, length))
    pair.run()
    assert [status for _, status in pair.a.sent()] == [WCStatus.LOC_LEN_ERR]
    assert (pair.a.qp.state, pair.b.qp.state) == (QPState.ERR, QPState.RTS)
    assert pair.records(Kind.PACKET_SENT) == []


@pytest.mark.parametrize("profile", [STRICT, MLX5], ids=lambda profile: profile.name)
@pytest.mark.parametrize("opcode", [ADD, SWAP, WROpcode.ATOMIC_WRITE])
@pytest.mark.parametrize("to", range(1, 8))
def test_an_unaligned_atomic_is_refused_by_the_responder(
    profile: Profile, opcode: WROpcode, to: int
) -> None:
    pair = Pair(cap=SMALL, profile=replace(profile, lacks=frozenset()))
    pair.a.post(pair.a.wr(opcode, 8, to=to))
    pair.run()
    assert [status for _, status in pair.a.sent()] == [WCStatus.REM_INV_REQ_ERR]
    assert (pair.a.qp.state, pair.b.qp.state) == (QPState.ERR, QPState.ERR)
    assert AsyncEvent.QP_REQ_ERR in pair.b.events()


def spoil(end: End, wrong: frozenset[str]) -> SendWR:
    """A request that is wrong in all these ways."""
    if "queue-full" in wrong:
        end.post(*[end.wr(READ) for _ in range(4)])
    if "send-state" in wrong:
        end.qp.enter(end.hca.trace, QPState.RTR)
    lengths = [2**31] * (1 + ("message-length" in wrong)) + [1] * 2 * ("send-sges" in wrong)
    sg = pieces(end, *lengths) if wrong & {"message-length", "send-sges"} else pieces(end, 4)
    opcode = WROpcode.TSO if "opcode-type" in wrong else ADD
    flags = SendFlags(0x40) if "send-flags" in wrong else SIGNALED
    return end.wr(opcode, sg=sg, flags=flags)


def test_post_send_reports_the_first_error() -> None:
    """State, opcode, room, number of SGEs, length, flags, what the opcode asks."""
    order = [
        "send-state",
        "opcode-type",
        "queue-full",
        "send-sges",
        "message-length",
        "send-flags",
        "atomic-length",
    ]
    for count in range(1, len(order)):
        for wrong in combinations(order[:-1], count):
            pair = Pair(cap=SMALL, rd_atomic=0, profile=ASKING)
            made = spoil(pair.a, frozenset(wrong))
            assert refusal(pair.a, made).rule == wrong[0], wrong
    pair = Pair(cap=SMALL, profile=ASKING)
    assert refusal(pair.a, spoil(pair.a, frozenset())).rule == order[-1]


# --------------------------------------------------------------------------- states
@pytest.mark.parametrize(
    ("state", "sends", "receives"),
    [
        (QPState.RESET, False, False),
        (QPState.INIT, False, True),
        (QPState.RTR, False, True),
        (QPState.RTS, True, True),
        (QPState.SQD, True, True),
        (QPState.ERR, True, True),
    ],
)
def test_post_send_and_post_recv_by_state(state: QPState, sends: bool, receives: bool) -> None:
    pair = Pair(peer_state=min(state, QPState.RTS))
    if state in (QPState.SQD, QPState.ERR):
        pair.b.modify(qp_state=state)
    if sends:
        pair.b.issue(SEND)
    else:
        assert refusal(pair.b, pair.b.wr(SEND)).rule == "send-state"
    if receives:
        pair.b.recv()
    else:
        with pytest.raises(Refused, match="recv-state"):
            pair.b.recv()
    pair.run(until_ns=1)
    flushed = [(1, FLUSHED)] if state is QPState.ERR else []
    assert pair.b.sent() == flushed
    assert pair.b.received() == flushed


# --------------------------------------------------------------------------- the prefix rule
@covers("S003")
def test_post_send_keeps_the_requests_before_bad_wr() -> None:
    pair = Pair(cap=SMALL)
    a = pair.a
    with pytest.raises(Refused) as caught:
        a.post(a.wr(WRITE, wr_id=1), a.wr(WRITE, wr_id=2, flags=SendFlags(64)), a.wr(WRITE))
    assert caught.value.bad_wr == 1
    pair.run()
    assert a.sent() == [(1, OK)]


def test_post_recv_keeps_the_requests_before_bad_wr() -> None:
    pair = Pair(cap=SMALL)
    b = pair.b
    good, bad = RecvWR(1, pieces(b, 8)), RecvWR(2, pieces(b, 1, 1, 1))
    with pytest.raises(Refused) as caught:
        posting.post_recv(b.hca, b.qp, [good, good, bad, good])
    assert (caught.value.bad_wr, caught.value.rule) == (2, "recv-sges")
    assert len(b.qp.rq.wqes) == 2


@pytest.mark.parametrize(
    ("lengths", "rule", "number"),
    [((1, 1, 1), "recv-sges", EINVAL), ((0, 1), "", 2**31 + 1), ((0,), "", 2**31)],
)
def test_what_post_recv_refuses(lengths: tuple[int, ...], rule: str, number: int) -> None:
    """number: the errno, or the bytes of the receive that was posted. Its length has no limit."""
    pair = Pair(cap=SMALL)
    before = image(pair.world)
    if not rule:
        pair.b.recv(sg=pieces(pair.b, *lengths))
        assert pair.b.qp.rq.wqes[0].length == number
        return
    with pytest.raises(Refused) as caught:
        pair.b.recv(sg=pieces(pair.b, *lengths))
    assert (caught.value.rule, caught.value.errno, caught.value.bad_wr) == (rule, number, 0)
    assert image(pair.world) == before


def test_post_send_of_a_null_list_succeeds() -> None:
    pair = Pair()
    before = image(pair.world)
    pair.a.post()
    assert image(pair.world) == before


# --------------------------------------------------------------------------- slots
def test_unsignaled_requests_alone_never_free_a_slot() -> None:
    """All data has long arrived, and yet the queue is full for good (work_requests.md 5)."""
    pair = Pair(cap=SMALL)
    for _ in range(4):
        pair.a.issue(WRITE, flags=SendFlags(0))
        pair.run()
    refused = refusal(pair.a, pair.a.wr(WRITE))
    assert (refused.rule, refused.errno) == ("queue-full", ENOMEM)
    assert pair.a.sent() == []


def test_polling_a_signaled_completion_frees_all_slots_before_it() -> None:
    pair = Pair(cap=SMALL)
    quiet = SendFlags(0)
    pair.a.post(*[pair.a.wr(WRITE, flags=flags) for flags in (quiet, quiet, SIGNALED, quiet)])
    pair.run()
    assert refusal(pair.a, pair.a.wr(WRITE)).rule == "queue-full"  # completed, not yet polled
    assert pair.a.sent() == [(1, OK)]
    assert [record.b for record in pair.records(Kind.SLOTS_FREED)] == [3]
    pair.a.post(*[pair.a.wr(WRITE) for _ in range(3)])
    assert refusal(pair.a, pair.a.wr(WRITE)).rule == "queue-full"


def test_a_receive_slot_comes_back_when_its_completion_is_polled() -> None:
    pair = Pair(cap=SMALL)
    for _ in range(3):
        pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    with pytest.raises(Refused, match="queue-full"):
        pair.b.recv()
    assert pair.b.received() == [(1, OK)]
    pair.b.recv()
    with pytest.raises(Refused, match="queue-full"):
        pair.b.recv()


def test_an_error_completion_frees_slots_too() -> None:
    pair = Pair(cap=SMALL)
    pair.a.modify(qp_state=QPState.ERR)
    for _ in range(3):
        pair.a.post(*[pair.a.wr(SEND, flags=SendFlags(0)) for _ in range(4)])
        assert pair.a.sent() == [(1, FLUSHED)] * 4


# --------------------------------------------------------------------------- what becomes of it
def test_a_length_of_0_means_2_to_the_31() -> None:
    """The documents say so; such an SGE ends where its MR ends."""
    pair = Pair(mr_bytes=300)
    pair.a.issue(WRITE, sg=[pair.a.sge(0, 0)], rkey=0xBAD)
    (posted,) = pair.records(Kind.SEND_POSTED)
    assert posted.a.length == 2**31
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.LOC_PROT_ERR)]


def test_post_send_copies_the_wr_list() -> None:
    """[S2]: the WR and its list are the caller's again; each wr_id comes back as it was given."""
    pair = Pair()
    pair.b.recv()
    for wr_id in (7, 7, 2**64 - 1):
        pair.a.issue(WRITE, wr_id=wr_id)
    pair.run()
    assert [wr_id for wr_id, _ in pair.a.sent()] == [7, 7, 2**64 - 1]


def test_inline_copies_no_bytes_for_a_length_of_zero() -> None:
    """The CPU copies: the documents' 2^31 is a rule for the device's own reading."""
    end = Pair().a
    end.post(SendWR(SEND, 1, pieces(end, 0, 5), INLINE))
    assert end.qp.sq.wqes[0].length == 5


def test_receive_room_is_the_number_of_receives_that_are_accepted() -> None:
    pair = Pair(cap=SMALL)
    hca, qp = pair.b.hca, pair.b.qp
    room = posting.receive_room(hca, qp)
    for wr_id in range(room):
        posting.post_recv(hca, qp, [RecvWR(wr_id, [pair.b.sge(0, 8)])])
    assert (room, posting.receive_room(hca, qp)) == (SMALL.max_recv_wr, 0)
    with pytest.raises(Refused):
        posting.post_recv(hca, qp, [RecvWR(9, [])])


def test_receive_room_is_0_where_a_receive_is_flushed_or_refused() -> None:
    pair = Pair(cap=SMALL)
    pair.b.modify(qp_state=QPState.ERR)
    assert posting.receive_room(pair.b.hca, pair.b.qp) == 0
    pair.b.modify(qp_state=QPState.RESET)
    assert posting.receive_room(pair.b.hca, pair.b.qp) == 0


def test_send_room_is_the_number_of_sends_that_are_accepted() -> None:
    pair = Pair(cap=SMALL)
    hca, qp = pair.a.hca, pair.a.qp
    room = posting.send_room(hca, qp)
    assert room
    for wr_id in range(room):
        posting.post_send(hca, qp, [SendWR(SEND, wr_id, [pair.a.sge(0, 8)], SIGNALED)])
    assert (room, posting.send_room(hca, qp)) == (SMALL.max_send_wr, 0)
    with pytest.raises(Refused):
        posting.post_send(hca, qp, [SendWR(SEND, 9, [], SIGNALED)])


@pytest.mark.parametrize("state", [QPState.ERR, QPState.RESET])
def test_send_room_is_none_where_a_send_is_flushed_or_refused(state: QPState) -> None:
    pair = Pair(cap=SMALL)
    pair.a.modify(qp_state=state)
    assert posting.send_room(pair.a.hca, pair.a.qp) is None
