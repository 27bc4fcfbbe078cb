"""What an RDMA WRITE of several packets asks of its R_Key, packet by packet, on each device."""

from collections.abc import Callable

import pytest

from rdmalab.hca import lifecycle, mr
from rdmalab.spec.access import Access, Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.wire.headers import RETH, ImmDt
from rdmalab.world.world import World
from tests.labs import status, well
from tests.pairs import End, Pair
from tests.sharing import ask, xrc
from tests.windows import BIND, lab_with, window

FULL = 256  # payload of a full packet of a `Pair`
TOTAL = 3 * FULL + 44  # FIRST, MIDDLE, MIDDLE, LAST
CHECKING = pytest.mark.parametrize("profile", [STRICT, MLX5], ids=["strict", "mlx5"])

Change = Callable[[End], None]


# --------------------------------------------------------------------------- between two packets
def deregister(b: End) -> None:
    mr.deregister(b.hca, b.mr)


def without_rights(b: End) -> None:
    rights = int(Access.LOCAL_WRITE)
    mr.reregister(b.hca, b.mr, int(Rereg.CHANGE_ACCESS), None, (None, 0), rights)


def another_domain(b: End) -> None:
    other = lifecycle.alloc_pd(b.hca)
    mr.reregister(b.hca, b.mr, int(Rereg.CHANGE_PD), other, (None, 0), None)


def new_translation(b: End) -> None:
    """The same bytes under the same address, and yet another key."""
    translate(b, b.mr.addr, b.mr.length)


def translate(b: End, addr: int, length: int) -> None:
    mr.reregister(b.hca, b.mr, int(Rereg.CHANGE_TRANSLATION), None, (addr, length), None)


CHANGES = pytest.mark.parametrize(
    "change", [deregister, without_rights, another_domain, new_translation]
)


def first(b: End, total: int = TOTAL, at: int = 0) -> None:
    reth = RETH(b.mr.addr + at, b.mr.rkey, total)
    b.takes("RDMA_WRITE_FIRST", 0, b"w" * FULL, reth=reth)


def written(b: End, start: int) -> int:
    """How many bytes from `start` on the WRITE has left in memory."""
    return len(b.hca.memory.read(start, TOTAL).rstrip(b"\0"))


def until_written(world: World) -> None:
    """Run until the first packet of the WRITE is in memory."""
    while world.trace.records[-1][3] is not Kind.MEMORY_WRITTEN:
        assert world.run(1)


# --------------------------------------------------------------------------- the key goes away
@CHECKING
@CHANGES
def test_write_rkey_invalidated_stops_the_next_packet(profile: Profile, change: Change) -> None:
    pair = Pair(profile=profile)
    b, start = pair.b, pair.b.mr.addr
    first(b)
    change(b)
    b.takes("RDMA_WRITE_MIDDLE", 1, b"w" * FULL)
    pair.run()
    assert pair.reasons(Kind.REQUEST_REFUSED) == ["rkey"]
    assert written(b, start) == FULL
    assert pair.sent_by("B") == ["NAK_REMOTE_ACCESS psn=1 msn=0"]
    assert b.qp.state is QPState.ERR
    assert b.events() == [AsyncEvent.QP_ACCESS_ERR]


@CHECKING
@CHANGES
def test_write_rkey_invalidated_is_a_nak_to_the_requester(profile: Profile, change: Change) -> None:
    pair = Pair(profile=profile)
    start = pair.b.mr.addr
    pair.a.poke(0, b"w" * TOTAL)
    pair.a.issue(WROpcode.RDMA_WRITE, TOTAL, wr_id=7)
    until_written(pair.world)
    change(pair.b)
    pair.run()
    assert pair.a.sent() == [(7, WCStatus.REM_ACCESS_ERR)]
    assert pair.a.qp.state is pair.b.qp.state is QPState.ERR
    assert written(pair.b, start) == FULL


@CHECKING
@CHANGES
def test_uc_write_drops_the_rest_when_its_rkey_is_invalidated(
    profile: Profile, change: Change
) -> None:
    pair = Pair(qp_type=QPType.UC, profile=profile)
    b, start = pair.b, pair.b.mr.addr
    pair.a.poke(0, b"w" * TOTAL)
    pair.a.issue(WROpcode.RDMA_WRITE, TOTAL, wr_id=7)
    until_written(pair.world)
    change(b)
    pair.run()
    assert pair.reasons(Kind.PACKET_DROPPED) == ["rkey", *["rest-of-message"] * 2]
    assert (pair.sent_by("B"), b.events(), b.qp.state) == ([], [], QPState.RTS)
    assert pair.a.sent() == [(7, WCStatus.SUCCESS)]
    assert written(b, start) == FULL


@CHECKING
def test_write_rkey_is_checked_on_the_last_packet_with_immediate(profile: Profile) -> None:
    pair = Pair(profile=profile)
    pair.b.recv(wr_id=5, at=4096)
    first(pair.b, FULL + 44)
    deregister(pair.b)
    pair.b.takes("RDMA_WRITE_LAST_WITH_IMMEDIATE", 1, b"w" * 44, immdt=ImmDt(5))
    pair.run()
    assert pair.reasons(Kind.REQUEST_REFUSED) == ["rkey"]
    assert pair.b.received() == [(5, WCStatus.WR_FLUSH_ERR)]


def test_soft_roce_keeps_the_mr_that_the_first_packet_found() -> None:
    """rxe_resp.c keeps a reference in qp->resp.mr until the message ends."""
    pair = Pair(profile=RXE)
    b, start = pair.b, pair.b.mr.addr
    first(b)
    deregister(b)
    for psn, (place, length) in enumerate((("MIDDLE", FULL), ("MIDDLE", FULL), ("LAST", 44)), 1):
        b.takes(f"RDMA_WRITE_{place}", psn, b"w" * length)
    assert pair.reasons(Kind.REQUEST_REFUSED) == []
    assert written(b, start) == TOTAL


# --------------------------------------------------------------------------- the key comes back
@CHECKING
def test_write_rkey_given_again_is_checked_as_it_is_now(profile: Profile) -> None:
    """The key's last octet has 256 values: after as many translations the old key is known."""
    pair = Pair(profile=profile)
    b, start, key = pair.b, pair.b.mr.addr, pair.b.mr.rkey
    first(b)
    for _ in range(256):
        translate(b, start, FULL + 100)
    assert b.mr.rkey == key
    b.takes("RDMA_WRITE_MIDDLE", 1, b"w" * FULL)
    assert pair.reasons(Kind.REQUEST_REFUSED) == ["rkey"]
    assert written(b, start) == FULL


@CHECKING
def test_a_window_invalidated_in_mid_message_stops_it(profile: Profile) -> None:
    bind = f"{BIND} bind=B.mr1[0:4096] bind_access=REMOTE_WRITE"
    lab = lab_with(bind, "fill A.mr0[0:4096] 0x77", profile=profile)
    key = window(lab).rkey
    to = f"remote_addr={window(lab).iova} rkey={key}"
    well(lab, f"post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4096] {to} flags=SIGNALED")
    until_written(lab.session.world)
    well(lab, f"post_send B.qp0 wr_id=2 opcode=LOCAL_INV invalidate_rkey={key} flags=SIGNALED")
    well(lab, "run")
    assert status(lab, 1) == "REM_ACCESS_ERR"
    assert status(lab, 2, "B.cq0") == "SUCCESS"
    hca = lab.session.world.nodes["B"]
    memory = hca.memory.read(hca.mrs.items[2].addr, 4096)
    assert 0 < len(memory.rstrip(b"\0")) < 4096
    assert [event for event, _ in hca.async_events] == [AsyncEvent.QP_ACCESS_ERR]


# --------------------------------------------------------------------------- across the end
def across(profile: Profile, qp_type: QPType = QPType.RC) -> Pair:
    """A WRITE of four packets whose last two lie beyond the region, in memory of the same host."""
    pair = Pair(profile=profile, qp_type=qp_type)
    translate(pair.b, pair.b.mr.addr, 2 * FULL + 10)
    pair.a.poke(0, b"w" * TOTAL)
    pair.a.issue(WROpcode.RDMA_WRITE, TOTAL, wr_id=7)
    pair.run()
    return pair


def test_strict_asks_for_the_whole_range_before_any_byte() -> None:
    pair = across(STRICT)
    assert written(pair.b, pair.b.mr.addr) == 0
    assert pair.sent_by("B") == ["NAK_REMOTE_ACCESS psn=0 msn=0"]
    assert pair.a.sent() == [(7, WCStatus.REM_ACCESS_ERR)]


def test_mlx5_asks_for_the_range_of_each_packet() -> None:
    """Measured (unionxic-07): exactly the packets inside the region are written."""
    pair = across(MLX5)
    assert written(pair.b, pair.b.mr.addr) == 2 * FULL
    assert pair.sent_by("B") == ["NAK_REMOTE_ACCESS psn=2 msn=0"]
    assert pair.a.sent() == [(7, WCStatus.REM_ACCESS_ERR)]
    assert pair.b.events() == [AsyncEvent.QP_ACCESS_ERR]


def test_mlx5_over_uc_keeps_the_packets_inside_and_drops_the_rest() -> None:
    pair = across(MLX5, QPType.UC)
    assert written(pair.b, pair.b.mr.addr) == 2 * FULL
    assert pair.reasons(Kind.PACKET_DROPPED) == ["rkey", "rest-of-message"]
    assert pair.a.sent() == [(7, WCStatus.SUCCESS)]


@CHECKING
def test_write_rkey_is_not_checked_for_zero_length(profile: Profile) -> None:
    pair = Pair(profile=profile)
    pair.b.takes("RDMA_WRITE_ONLY", 0, reth=RETH(0, 0xBAD, 0))
    assert pair.reasons(Kind.REQUEST_REFUSED) == []
    assert pair.b.qp.resp.msn == 1


# --------------------------------------------------------------------------- XRC
def test_xrc_asks_the_domain_of_the_srq_at_every_packet() -> None:
    lab = xrc("fill A.mr0[0:4096] 0x77")
    write = "opcode=RDMA_WRITE sg=A.mr0[0:4096] remote=B.mr0 remote_srqn=B.srq0"
    well(lab, f"post_send A.qp1 wr_id=1 {write} flags=SIGNALED")
    well(lab, "run 1250ns")
    well(lab, "rereg_mr B.mr0 flags=CHANGE_ACCESS access=LOCAL_WRITE")
    well(lab, "run")
    assert status(lab, 1) == "REM_ACCESS_ERR"
    assert ask(lab, "B.qp1.state").name == "ERR"
