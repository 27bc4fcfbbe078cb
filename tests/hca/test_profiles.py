"""Each cell of `spec/profiles.py` that an engine asks: alone, it turns one outcome into another."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from errno import EINVAL, ENOMEM, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from rdmalab.command import Noun, Refused, Thing
from rdmalab.hca import (
    batch,
    channels,
    context,
    extended,
    lifecycle,
    mr,
    port,
    qp_lifecycle,
    srq_lifecycle,
)
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.objects import CompChannel
from rdmalab.hca.qp import Capacity, Extended, Parts
from rdmalab.hca.srq import SrqCapacity
from rdmalab.hca.wr import SGE, SendWR
from rdmalab.lab import Lab
from rdmalab.spec.access import Access, Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm, WcEx
from rdmalab.spec.limits import LinkLayer, PhysState, PortState
from rdmalab.spec.profiles import CELL_OF_RULE, MLX5, RXE, STRICT, Profile, Rounding, SlotsFreed
from rdmalab.spec.records import Kind
from rdmalab.spec.rules import RULES
from rdmalab.spec.states import ATTRIBUTES, MTU, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import ack_timeout_ns
from rdmalab.spec.vendor_errors import CONNECTX_CODES, NO_CODES
from rdmalab.spec.work import SendFlags, SendOps, WCFlags, WROpcode
from rdmalab.verbs.post import post_send
from rdmalab.wire.headers import AETH, RETH
from rdmalab.world.faults import Drop, Match
from tests.labs import status
from tests.pairs import ALL_RIGHTS, REMOTE, SIGNALED, End, Pair
from tests.sharing import raised, send, shared

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
ADD = WROpcode.ATOMIC_FETCH_AND_ADD
S = WCStatus
QUIET = SendFlags(0)
T10_NS = 4096 << 10
TIMED = int(WcEx.COMPLETION_TIMESTAMP)

Scenario = Callable[[Profile], Any]


def attempt(end: End, *args: Any, **fields: Any) -> Any:
    """The rule a post is refused by, or what became of it."""
    try:
        end.issue(*args, **fields)
    except Refused as refused:
        return refused.rule
    end.world.run(1_000, end.world.now_ns + 10_000_000)
    return [status for _, status in end.sent()]


# --------------------------------------------------------------------------- the extended post API
def flush_builder(profile: Profile) -> bool:
    """Whether an RC queue pair can have wr_flush."""
    hca = Pair(profile=profile).a.hca
    return bool(extended.supported(hca, QPType.RC) & SendOps.FLUSH)


def infiniband_port(profile: Profile) -> bool:
    """Whether its port can be one of InfiniBand."""
    return port.offers(Pair(profile=profile).a.hca, LinkLayer.INFINIBAND)


def no_place_for_bad_wr(profile: Profile) -> Any:
    """bad_wr=NULL and nothing to tell: posted, or refused at the sight of it."""
    end = Pair(profile=profile).a
    pair = Thing(Noun.QP, "A", end.qp.number)
    try:
        post_send.function(end.world, pair, wr=[SendWR(SEND)], bad_wr="NULL")
    except Refused as refusal:
        return refusal.rule
    return end.qp.sq.posted


def _extended(profile: Profile) -> End:
    end = Pair(profile=profile).a
    end.qp.ex = Extended(int(sum(SendOps)))
    end.world.begin_event()
    extended.start(end.hca, end.qp, 1)
    return end


def batch_with_two_lists(profile: Profile) -> Any:
    """A second DATA setter for one WRITE: refused by wr_complete, or not noticed."""
    end = _extended(profile)
    to = {"remote_addr": end.peer.mr.addr, "rkey": end.peer.mr.rkey}
    batch.set_next(end.hca, end.qp, 1, int(SIGNALED))
    batch.build(end.hca, end.qp, WRITE, **to)
    for _ in range(2):
        batch.fill(end.hca, end.qp, "wr_set_sge", [end.sge(0, 4)])
    try:
        batch.complete(end.hca, end.qp)
    except Refused as refused:
        return refused.rule
    end.world.run(1_000)
    return [status for _, status in end.sent()]


def batch_of(profile: Profile, *fillers: Callable[[End], None], flags: SendFlags = SIGNALED) -> Any:
    """SENDs that are filled by these; what they completed with, and the bytes that arrived."""
    end = _extended(profile)
    end.peer.recv(64)
    batch.set_next(end.hca, end.qp, 1, int(flags))
    for filler in fillers:
        batch.build(end.hca, end.qp, SEND)
        filler(end)
    try:
        batch.complete(end.hca, end.qp)
    except Refused as refused:
        return refused.rule, refused.errno
    end.world.run(1_000, end.world.now_ns + 10_000_000)
    received = [cqe.byte_len for cqe in end.peer.poll(end.peer.recv_cq)]
    return [status for _, status in end.sent()], received


def _inline(end: End, *lengths: int, verb: str = "wr_set_inline_data") -> None:
    batch.fill_inline(end.hca, end.qp, verb, [SGE(end.mr.addr, n) for n in lengths])


def inline_without_its_flag(profile: Profile) -> Any:
    """Without INLINE, with it, and too long."""
    flagged = SIGNALED | SendFlags.INLINE
    return (
        batch_of(profile, lambda end: _inline(end, 8)),
        batch_of(profile, lambda end: _inline(end, 8), flags=flagged),
        batch_of(profile, lambda end: _inline(end, 513))[0],
    )


def _listed(*lengths: int) -> Callable[[End], None]:
    def filler(end: End) -> None:
        pieces = [end.sge(100 * at, length) for at, length in enumerate(lengths)]
        batch.fill(end.hca, end.qp, "wr_set_sge_list", pieces)

    return filler


def _inline_list(end: End) -> None:
    _inline(end, 4, 4, verb="wr_set_inline_data_list")


def lists_of_pieces(profile: Profile) -> Any:
    """The first is the shorter one, the longer one; none; an inline list."""
    lists = _listed(10, 20), _listed(20, 10), _listed(), _inline_list
    return [batch_of(profile, filler) for filler in lists]


def full_batch(profile: Profile) -> int:
    """One more than there are slots."""
    end = _extended(profile)
    for _ in range(end.qp.sq.capacity + 1):
        batch.build(end.hca, end.qp, SEND)
    with pytest.raises(Refused, match="queue-full") as caught:
        batch.complete(end.hca, end.qp)
    assert end.qp.sq.posted == 0
    return caught.value.errno


# --------------------------------------------------------------------------- posting
def post_early(profile: Profile) -> Any:
    """Posted in RTR, refused; does it run with the next one?"""
    pair = Pair(profile=profile, peer_state=QPState.RTR)
    with pytest.raises(Refused, match="send-state"):
        pair.b.post(*[pair.b.wr(WRITE, wr_id=wr_id) for wr_id in range(40)])
    pair.b.modify(qp_state=QPState.RTS, **pair.moves(pair.b, 0x800, 0)[QPState.RTS])
    pair.run()
    assert pair.b.sent() == []
    try:
        pair.b.issue(WRITE, wr_id=99)
    except Refused:
        assert profile.early_posts_stay  # the ring is full: yet the doorbell rings
    pair.run()
    return [wr_id for wr_id, _ in pair.b.sent()]


def unknown_opcode(profile: Profile) -> Any:
    return attempt(Pair(profile=profile).a, 50)


def foreign_opcode(profile: Profile) -> Any:
    return attempt(Pair(profile=profile).a, WROpcode.TSO)


def unknown_flags(profile: Profile) -> Any:
    return attempt(Pair(profile=profile).a, WRITE, flags=SIGNALED | SendFlags(0x80))


def inline_read(profile: Profile) -> Any:
    return attempt(Pair(profile=profile).a, READ, flags=SIGNALED | SendFlags.INLINE)


def odd_atomics(profile: Profile) -> Any:
    """One of 4 bytes; one that does not lie on a multiple of 8."""
    found: list[Any] = []
    for length, where in ((4, 0), (8, 4)):
        pair = Pair(profile=profile)
        try:
            pair.a.issue(ADD, length, to=where)
        except Refused as refused:
            found.append(refused.rule)
            continue
        pair.run()
        found += [status for _, status in pair.a.sent()]
    return found


def long_atomic(profile: Profile) -> Any:
    """A local list of 16 bytes: no packet, or 8 bytes are written."""
    pair = Pair(profile=profile)
    pair.a.poke(0, b"\xee" * 16)
    pair.a.issue(ADD, 16)
    pair.run()
    (cqe,) = pair.a.poll(pair.a.send_cq)
    return cqe.status, pair.a.peek(0, 16)


def long_message(profile: Profile) -> Any:
    """A SEND and a READ of one byte more than max_msg_sz, as posted and as completed."""
    profile = replace(profile, caps=replace(profile.caps, max_msg_sz=64))
    found: list[Any] = []
    for opcode in (SEND, READ):
        pair = Pair(profile=profile)
        pair.b.recv(length=100)
        try:
            pair.a.issue(opcode, 65)
        except Refused as refused:
            found.append(refused.rule)
            continue
        pair.run()
        found += [status for _, status in pair.a.sent()]
    return found


def long_message_sent(profile: Profile) -> Any:
    return long_message(replace(profile, refuses_long_message=False))


def long_receive(profile: Profile) -> Any:
    """2^32 + 1 bytes in two elements: no device has a limit for it, Soft-RoCE loses the carry."""
    pair = Pair(profile=profile)
    pair.b.recv(sg=[SGE(0, 2**32 - 1, 1), SGE(0, 2, 1)])
    return pair.b.qp.rq.wqes[0].length


def recv_in_err(profile: Profile) -> Any:
    """A receive posted in ERR, and a send behind it, which is flushed in any case."""
    pair = Pair(profile=profile)
    pair.a.modify(qp_state=QPState.ERR)
    pair.a.recv(wr_id=5)
    pair.a.issue(SEND, wr_id=6)
    assert pair.a.sent() == [(6, S.WR_FLUSH_ERR)]
    return pair.a.received()


def zero_sge(profile: Profile) -> Any:
    pair = Pair(profile=profile, mr_bytes=300)
    return attempt(pair.a, WRITE, sg=[pair.a.sge(0, 0, 0xBAD)])


# --------------------------------------------------------------------------- queues
def capacity(profile: Profile) -> Any:
    cap = Pair(profile=profile, cap=Capacity(5, 8, 2, 2, 32), cqe=5).a.qp.cap
    return cap.max_send_wr, cap.max_recv_wr


def cq_capacity(profile: Profile) -> Any:
    """As made with 5, resized to 5, and to 8."""
    end = Pair(profile=profile, cqe=5).a
    return end.send_cq.capacity, *(lifecycle.resize_cq(end.hca, end.send_cq, n) for n in (5, 8))


def srq_capacity(profile: Profile) -> Any:
    end = Pair(profile=profile).a
    made = (srq_lifecycle.create_srq(end.hca, Parts(end.pd.number), SrqCapacity(n)) for n in (4, 8))
    return tuple(srq.capacity for srq in made)


def inline_capacity(profile: Profile) -> Any:
    cap = Pair(profile=profile, cap=Capacity(5, 8, 2, 2, 60)).a.qp.cap
    return cap.max_send_sge, cap.max_inline_data


def inline_room(profile: Profile) -> Any:
    """Of no, of 60, 64 and 220 bytes; the WQE of an RC request begins with 192 bytes."""
    caps = [Capacity(5, 8, 2, 2, inline) for inline in (0, 60, 64, 220)]
    return [Pair(profile=profile, cap=cap).a.qp.cap.max_inline_data for cap in caps]


def recv_pieces(profile: Profile) -> Any:
    """One receive of no, one and three elements; a shared receive of two."""
    caps = [Pair(profile=profile, cap=Capacity(5, 1, 2, n, 60)).a.qp.cap for n in (0, 1, 3)]
    lab = shared("create_srq B.srq1 pd=B.pd0 max_wr=1 max_sge=2", qps=0, profile=profile)
    return [(cap.max_recv_wr, cap.max_recv_sge) for cap in caps], lab.look("B.srq1.max_sge")


def inline_beyond_a_wqe(profile: Profile) -> Any:
    wide = replace(profile, caps=replace(profile.caps, max_inline_data=2_000))
    try:
        return Pair(profile=wide, cap=Capacity(5, 8, 2, 2, 829)).a.qp.cap.max_inline_data
    except Refused as refusal:
        return refusal.rule, refusal.legal


def send_slots(profile: Profile) -> Any:
    """WRITEs through a queue of 4, unsignaled, then flushed; none of them polled."""
    pair = Pair(profile=profile, cap=Capacity(max_send_wr=4, max_recv_wr=4))
    held = []
    for _ in range(3):
        pair.a.issue(WRITE, flags=QUIET)
        pair.run()
        held.append(pair.a.qp.sq.posted - pair.a.qp.sq.freed)
    pair.a.modify(qp_state=QPState.ERR)
    pair.a.issue(WRITE)
    held.append(pair.a.qp.sq.posted - pair.a.qp.sq.freed)
    return *held, attempt(pair.a, WRITE) == "queue-full"


def recv_slots(profile: Profile) -> Any:
    """Receives through a queue of 4: one taken, the others flushed, none polled."""
    pair = Pair(profile=profile, cap=Capacity(max_recv_wr=4))
    held = []
    for _ in range(4):
        pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    held.append(pair.b.qp.rq.posted - pair.b.qp.rq.freed)
    pair.b.modify(qp_state=QPState.ERR)
    held.append(pair.b.qp.rq.posted - pair.b.qp.rq.freed)
    return held


def unpolled_at_reset(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    for end in (pair.a, pair.b):
        end.modify(qp_state=QPState.RESET)
    return len(pair.a.sent()), len(pair.b.received())


def overrun(profile: Profile) -> Any:
    """Five completions into a CQ of two."""
    pair = Pair(profile=profile, cqe=2)
    for wr_id in range(5):
        pair.a.issue(WRITE, wr_id=wr_id)
    pair.run()
    events = [event.name for event in pair.a.events()]
    return events, pair.a.qp.state, [wr_id for wr_id, _ in pair.a.sent()]


# --------------------------------------------------------------------------- attributes
def false_claim(profile: Profile) -> Any:
    end = Pair(profile=profile).a
    try:
        end.modify(qp_state=QPState.RTS, cur_qp_state=QPState.SQD)
    except Refused as refused:
        return refused.rule
    return end.qp.state


def answer_of(end: End, **attributes: Any) -> Any:
    """The rule it is refused by, or the state it comes to."""
    try:
        end.modify(**attributes)
    except Refused as refused:
        return refused.rule
    return end.qp.state


def no_state(profile: Profile) -> Any:
    """What RTS does not take, in a call that names no state."""
    end = Pair(profile=profile).a
    answer = answer_of(end, max_rd_atomic=3)
    return end.qp.attr.max_rd_atomic if answer is QPState.RTS else answer


def foreign_bit(profile: Profile) -> Any:
    return answer_of(Pair(profile=profile).a, rate_limit=1)


def nobodys_address(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    end = pair.end("A")
    end.peer = pair.b
    moves = pair.moves(end, 0, 0)
    end.modify(qp_state=QPState.INIT, **moves[QPState.INIT])
    away = replace(ah_attr_of(pair.b.hca), dgid=pair.b.hca.gids[1] + 97)
    return answer_of(end, qp_state=QPState.RTR, **moves[QPState.RTR] | {"ah_attr": away})


def address_in_sqd(profile: Profile) -> Any:
    """R11: the row of UC takes an address in SQD, but no port."""
    pair = Pair(profile=profile)
    end = pair.end("A")
    end.peer, cqn = pair.b, end.send_cq.number
    end.qp = qp_lifecycle.create_qp(
        end.hca, QPType.UC, end.pd.number, cqn, cqn, Capacity(), sig_all=False
    )
    for state, attributes in pair.moves(end, 0, 0).items():
        takes = {name for name, row in ATTRIBUTES.items() if QPType.UC in row.types}
        end.modify(qp_state=state, **{n: v for n, v in attributes.items() if n in takes})
    end.modify(qp_state=QPState.SQD)
    return answer_of(end, ah_attr=ah_attr_of(pair.b.hca))


def rate_of_a_route(profile: Profile) -> Any:
    """static_rate 173 is no rate of enum ibv_rate."""
    pair = Pair(profile=profile)
    pair.a.modify(qp_state=QPState.SQD)
    odd = replace(ah_attr_of(pair.b.hca), static_rate=173)
    return answer_of(pair.a, ah_attr=odd)


def rate_of_a_handle(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    end = pair.end("A")
    odd = replace(ah_attr_of(pair.b.hca), static_rate=173)
    try:
        return lifecycle.create_ah(end.hca, end.pd.number, odd).attr.static_rate
    except Refused as refusal:
        return refusal.rule


def depths(profile: Profile) -> Any:
    attr = Pair(profile=profile, rd_atomic=3, dest_rd_atomic=13).a.qp.attr
    return attr.max_rd_atomic, attr.max_dest_rd_atomic


def read_without_depth(profile: Profile) -> Any:
    return attempt(Pair(profile=profile, rd_atomic=0).a, WROpcode.RDMA_READ)


def move_to_sqd(profile: Profile) -> Any:
    return rule_of(shared(qps=0, profile=profile), "modify_qp A.qp0 state=SQD")


def asked_state(profile: Profile) -> Any:
    lab = shared(qps=0, profile=profile)
    return lab.do("query_qp A.qp0 attr_mask=CUR_STATE")[-1].value.cur_qp_state


def many_bits(profile: Profile) -> Any:
    """A timer of more bits than its field has, on a device that asks no range."""
    row = ATTRIBUTES["min_rnr_timer"]._replace(high=255)
    attributes = {**profile.attributes, "min_rnr_timer": row}
    pair = Pair(profile=replace(profile, attributes=attributes))
    pair.a.modify(min_rnr_timer=33)
    return pair.a.qp.attr.min_rnr_timer


def refused_capacity(profile: Profile) -> Any:
    """A device that rounds to powers of two, and whether create_qp says so."""
    rounding = replace(profile, rounding=Rounding.POWER, inline_bytes_per_sge=16)
    qp = Pair(profile=rounding, cap=Capacity(3, 3, 2, 2, 80)).a.qp
    assert (qp.cap.max_send_wr, qp.cap.max_recv_wr) == (4, 4)
    return qp.reported_cap.max_send_wr, qp.reported_cap.max_recv_wr, qp.reported_cap.max_send_sge


def out_of_range(profile: Profile) -> Any:
    """Stored as they are, and what a packet cannot carry is cut to what it can."""
    pair = Pair(profile=profile)
    refused = []
    for name, value in (("min_rnr_timer", 255), ("qp_access_flags", 0x1000)):
        try:
            pair.a.modify(**{name: value})
        except Refused as refusal:
            refused.append(refusal.rule)
    end = pair.end("A")
    end.peer = pair.b
    moves = pair.moves(end, 0, 0)
    moves[QPState.INIT]["pkey_index"] = 0xFFFF
    moves[QPState.RTR] |= {"path_mtu": 0, "dest_qp_num": 1 << 24 | 0x11}
    moves[QPState.RTR] |= {"max_dest_rd_atomic": 255, "min_rnr_timer": 0xFF}
    moves[QPState.RTS] |= {"retry_cnt": 9, "rnr_retry": 200}
    for state, attributes in moves.items():
        try:
            end.modify(qp_state=state, **attributes)
        except Refused as refusal:
            return [*refused, refusal.rule]
    path = end.qp.path
    assert path
    pair.b.takes("SEND_ONLY", 0)
    end.takes("SEND_ONLY", 0, flow=pair.b.qp.path and pair.b.qp.path.flow)
    pair.run()
    return path.mtu, path.dest_qpn, path.pkey, end.qp.attr.retry_cnt, pair.sent_by("A")


# --------------------------------------------------------------------------- requester
def retry_7(profile: Profile) -> Any:
    pair = Pair(profile=profile, timeout=5, retry_cnt=7)
    pair.world.network.set_link(up=False)
    pair.a.issue(SEND)
    pair.world.run(200)
    return len(pair.packets("A")) > 8


def timeout(profile: Profile) -> Any:
    pair = Pair(profile=profile, timeout=10, retry_cnt=0)
    pair.world.network.set_link(up=False)
    pair.a.issue(SEND)
    pair.run()
    return pair.world.now_ns - 100


def rnr_wait(profile: Profile) -> Any:
    pair = Pair(profile=profile, rnr_retry=1)
    pair.a.issue(SEND)
    pair.run()
    (armed,) = pair.records(Kind.TIMER_ARMED)
    return armed.a - armed.at_ns


def unknown_lkey(profile: Profile) -> Any:
    """An unknown key, a key of another PD, a range beyond the MR."""
    found = []
    for sg in ("key", "pd", "range"):
        pair = Pair(profile=profile)
        other = pair.end("A").mr
        sge = {
            "key": pair.a.sge(0, 8, 0xBAD),
            "pd": replace(pair.a.sge(0, 8, other.lkey), addr=other.addr),
            "range": pair.a.sge(pair.mr_bytes, 8),
        }
        found += attempt(pair.a, SEND, sg=[sge[sg]])
    return found


def after_sqd(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.a.modify(qp_state=QPState.SQD)
    pair.a.issue(WRITE, wr_id=1)
    pair.a.modify(qp_state=QPState.RTS)
    pair.run()
    first = [wr_id for wr_id, _ in pair.a.sent()]
    pair.a.issue(WRITE, wr_id=2)
    pair.run()
    return first, [wr_id for wr_id, _ in pair.a.sent()]


def drained_while_it_waits(profile: Profile) -> Any:
    """SQD while a SEND waits for a receive: can it be left, and does the SEND get there?"""
    pair = Pair(profile=profile)
    pair.a.issue(SEND, wr_id=1)
    pair.world.run(100, pair.world.now_ns + 100_000)
    pair.a.modify(qp_state=QPState.SQD)
    begun = pair.a.qp.req.started
    pair.b.recv(64)
    pair.run()
    return begun, [wr_id for wr_id, _ in pair.a.sent()]


def hole_in_a_read(profile: Profile) -> Any:
    """A READ whose second response is lost once: what makes it ask again."""
    pair = Pair(profile=profile)
    pair.world.network.cable.faults.append(
        Drop(1, Match(opcode="RDMA_READ_RESPONSE_MIDDLE", nth=1))
    )
    pair.a.issue(READ, sg=[pair.a.sge(0, 1024)])
    pair.run()
    back = [r[7] for r in pair.world.trace.records if r[3] is Kind.WENT_BACK]
    return [status for _, status in pair.a.sent()], back


def two_gaps(profile: Profile) -> Any:
    """A WRITE that loses its second packet, and its third when it is sent again."""
    pair = Pair(profile=profile)
    for number, nth in enumerate((1, 4)):
        fault = Drop(number, Match(opcode="RDMA_WRITE_MIDDLE", nth=nth))
        pair.world.network.cable.faults.append(fault)
    pair.a.issue(WRITE, 1024)
    pair.run()
    return [status for _, status in pair.a.sent()], pair.reasons(Kind.WENT_BACK, "A")


def longer_than_the_timer(profile: Profile) -> int:
    """How often the ack timer fires while a message leaves that takes longer than the timer."""
    pair = Pair(profile=profile, timeout=6)  # 262 us
    pair.world.network.cable.rate_bps = 100_000_000
    pair.a.issue(WROpcode.RDMA_WRITE, 8_192)  # 32 packets, 860 us
    pair.run()
    assert [status for _, status in pair.a.sent()] == [S.SUCCESS]
    return len(pair.records(Kind.TIMER_FIRED))


def fixed_table(profile: Profile) -> Any:
    return port.has_fixed_pkeys(Pair(profile=profile).a.hca)


def source_ports(profile: Profile) -> list[int]:
    """UDP source ports of a datagram of QP 0x11, without and with a flow label in its address."""
    pair = Pair(profile=profile, qp_type=QPType.UD)
    hca = pair.a.hca
    for label in (0, 0x12345):
        av = replace(ah_attr_of(pair.b.hca), flow_label=label)
        pair.a.ah = lifecycle.create_ah(hca, pair.a.pd.number, av).number
        pair.a.issue(WROpcode.SEND)
        pair.run()
    return [packet.flow.sport for packet in pair.packets("A")]


def posts_to_a_failed_device(profile: Profile) -> Any:
    """A send and a receive posted after a fatal error: refused, or what completed."""
    pair = Pair(profile=profile)
    context.fail_device(pair.a.hca)
    try:
        pair.a.recv(8)
    except Refused as refusal:
        return [attempt(pair.a, WRITE, 8), refusal.rule]
    return [attempt(pair.a, WRITE, 8), pair.a.received()]


def hop_limits(profile: Profile) -> Any:
    """What a connected queue pair and an AH store of hop_limit 0."""
    pair = Pair(profile=profile)
    end, hca = pair.a, pair.a.hca
    near = replace(ah_attr_of(pair.b.hca), hop_limit=0)
    moves = pair.moves(end, 0, 0)
    moves[QPState.RTR]["ah_attr"] = near
    for state in (QPState.RESET, *moves):
        end.modify(qp_state=state, **moves.get(state, {}))
    assert end.qp.path is not None
    return end.qp.path.flow.hop_limit, lifecycle.create_ah(hca, end.qp.pd, near).attr.hop_limit


def cable_out(profile: Profile) -> Any:
    """The physical state of a port that is DOWN."""
    hca = Pair(profile=profile).a.hca
    hca.port_state = PortState.DOWN
    return port.phys_state(hca)


def old_news(profile: Profile) -> Any:
    """PSN 0x7FF arrives, then 0x800, then 0x7FF again, where 0x800 is the first: what is said."""
    pair = Pair(profile=profile, psn=0x800)
    pair.b.recv(64)
    for psn in (0x7FF, 0x800, 0x7FF):
        pair.b.takes("SEND_ONLY", psn, bytes(8), ack_req=True)
        pair.run()
    sent = [r for r in pair.world.trace.records if r[3] is Kind.PACKET_SENT and r[4] == "B"]
    return [record[6].psn for record in sent]


def acknowledgements(profile: Profile) -> Any:
    """Of three short WRITEs that leave without a pause: the MSNs of their ACKs."""
    pair = Pair(profile=profile)
    for wr_id in range(3):
        pair.a.issue(WRITE, wr_id=wr_id)
    pair.run()
    sent = [r for r in pair.world.trace.records if r[3] is Kind.PACKET_SENT and r[4] == "B"]
    return [record[6].aeth.msn for record in sent]


def above_the_port(profile: Profile) -> Any:
    """Packets of 1024 bytes through a port that takes 256."""
    pair = Pair(profile=profile, mtu=MTU.B1024)
    pair.world.network.tune_link("mtu", 256)
    pair.b.recv(1024)
    pair.a.issue(SEND, sg=[pair.a.sge(0, 300)])
    pair.run()
    return [status for _, status in pair.a.sent()], pair.a.qp.state


def drained(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.a.modify(qp_state=QPState.SQD)
    return [event.name for event in pair.a.events()]


UD, UC = QPType.UD, QPType.UC


def foreign_flags(profile: Profile) -> Any:
    return attempt(Pair(qp_type=UC, profile=profile).a, SEND, flags=SIGNALED | SendFlags.FENCE)


def answered_like_a_read(profile: Profile) -> Any:
    """A SEND that a READ response answers: its first packet, or one from its middle."""
    found = []
    for label, headers in (("FIRST", {"aeth": AETH(0x1F, 1)}), ("MIDDLE", {})):
        pair = Pair(profile=profile)
        pair.lose("A", *range(1, 9))
        pair.a.issue(SEND, 600)
        pair.run(until_ns=10_000)
        pair.a.takes(f"RDMA_READ_RESPONSE_{label}", 0, b"x" * 256, **headers)
        found.append(pair.a.sent()[0][1])
    return found


def failed_datagram(profile: Profile) -> Any:
    """A send that fails on a UD QP: where it goes, and whether it still receives."""
    pair = Pair(qp_type=UD, profile=profile)
    pair.a.recv(64, wr_id=3)
    (status,) = attempt(pair.a, SEND, sg=[pair.a.sge(0, 8, 0xBAD)])
    pair.b.issue(SEND)
    pair.run()
    return status, pair.a.qp.state, pair.a.received()


def ah_gone(profile: Profile) -> Any:
    """Destroyed between posting and sending."""
    pair = Pair(qp_type=UD, profile=profile)
    pair.b.recv()
    pair.a.issue(SEND)
    lifecycle.destroy_ah(pair.a.hca, pair.a.hca.ahs.find(pair.a.ah or 0))
    pair.run()
    return pair.a.sent(), pair.b.received()


def long_datagram(profile: Profile) -> Any:
    found = attempt(Pair(qp_type=UD, profile=profile).a, SEND, 4097)
    pair = Pair(qp_type=UD, profile=profile)
    pair.b.recv(4136)
    return found + attempt(pair.a, SEND, 4096) + pair.b.received()


def privileged_qkey(profile: Profile) -> Any:
    pair = Pair(qp_type=UD, profile=profile)
    pair.b.recv()
    return attempt(pair.a, SEND, remote_qkey=0x80000001), pair.b.hca.drops


def before_the_header(profile: Profile) -> Any:
    pair = Pair(qp_type=UD, profile=profile)
    pair.b.poke(0, b"\xee" * 64)
    pair.b.recv()
    pair.a.issue(SEND, 8)
    pair.run()
    return pair.b.peek(0, 20)


def made_types(profile: Profile) -> Any:
    try:
        return Pair(qp_type=QPType.RAW_PACKET, profile=profile).a.qp.qp_type
    except Refused as refused:
        return refused.rule


# --------------------------------------------------------------------------- responder
def mtu_mismatch(profile: Profile) -> Any:
    """A sends by 1024, B has 256."""
    pair = Pair(profile=profile, mtu=MTU.B1024)
    assert pair.b.qp.path
    pair.b.qp.path.mtu = 256
    pair.b.recv(4096)
    return attempt(pair.a, SEND, 3000)


def behind_an_rnr_nak(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    for psn in range(3):
        pair.b.takes("SEND_ONLY", psn)
    pair.run()
    return pair.sent_by("B")


def many_reads(profile: Profile) -> Any:
    pair = Pair(profile=profile, rd_atomic=5, dest_rd_atomic=1)
    pair.a.post(*[pair.a.wr(READ, 600, at=1024 * n) for n in range(5)])
    pair.run()
    return {status for _, status in pair.a.sent()}


def responder_events(profile: Profile) -> Any:
    pair = Pair(profile=profile, peer_state=QPState.RTR)
    pair.a.issue(WRITE, 0)
    pair.run()
    pair.a.issue(WRITE, rkey=0xBAD)
    pair.run()
    return [event.name for event in pair.b.events()]


def two_refusals(profile: Profile) -> Any:
    """A receive that is too small, and one whose key is wrong."""
    found = []
    for bad in (None, 0xBAD):
        pair = Pair(profile=profile)
        pair.b.recv(sg=[pair.b.sge(0, 4 if bad is None else 8, bad)])
        found += attempt(pair.a, SEND) + [status for _, status in pair.b.received()]
    return found


def immediate_of_a_bad_key(profile: Profile) -> Any:
    """The receive that the WRITE was to complete, and one after it; the events."""
    pair = Pair(profile=profile)
    pair.b.recv(wr_id=1)
    pair.b.recv(wr_id=2)
    pair.a.issue(WROpcode.RDMA_WRITE_WITH_IMM, rkey=0xBAD)
    pair.run()
    assert [status for _, status in pair.a.sent()] == [S.REM_ACCESS_ERR]
    return [status for _, status in pair.b.received()], pair.b.events()


def datagram_of_100_bytes(profile: Profile) -> Any:
    """Into a receive of 60 bytes, and one of 4 bytes after it: receives completed, the state."""
    pair = Pair(qp_type=UD, profile=profile)
    pair.b.recv(60)
    for length in (100, 4):
        pair.a.issue(SEND, length)
        pair.run()
    return [status for _, status in pair.b.received()], pair.b.qp.state


# --------------------------------------------------------------------------- completions
def receive_flags(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    return pair.b.poll(pair.b.recv_cq)[0].wc_flags


def sender_cqe(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.b.recv()
    pair.a.issue(WROpcode.SEND_WITH_IMM, 8, imm_data=7)
    pair.run()
    (cqe,) = pair.a.poll(pair.a.send_cq)
    assert cqe.imm_data == 0
    return cqe.wc_flags, cqe.byte_len


def error_junk(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.a.modify(qp_state=QPState.ERR)
    pair.a.issue(SEND)
    (cqe,) = pair.a.poll(pair.a.send_cq)
    return cqe.opcode, cqe.byte_len


def mig_req(profile: Profile) -> Any:
    """MigReq of a SEND, a READ, their answers, and an atomic's, never modified otherwise."""
    pair = Pair(profile=profile)
    pair.b.recv()
    pair.a.post(pair.a.wr(SEND), pair.a.wr(READ, 1000), pair.a.wr(ADD))
    pair.run()
    return {packet.migrated for node in "AB" for packet in pair.packets(node)}


def vendor_code(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.a.modify(qp_state=QPState.ERR)
    pair.a.issue(SEND)
    (cqe,) = pair.a.poll(pair.a.send_cq)
    return cqe.vendor_err


def keys(profile: Profile) -> Any:
    region = Pair(profile=profile).a.mr
    return region.lkey == region.rkey


def rkey_of_a_local_region(profile: Profile) -> Any:
    return Pair(profile=profile, mr_access=int(Access.LOCAL_WRITE)).a.mr.rkey == 0


def first_address(profile: Profile) -> Any:
    return Pair(profile=profile, mr_access=int(Access.ZERO_BASED)).a.mr.iova == 0


def move_a_region(profile: Profile) -> Any:
    a = Pair(profile=profile).a
    try:
        mr.reregister(a.hca, a.mr, Rereg.CHANGE_TRANSLATION, None, (a.mr.addr, 8), None)
    except Refused as refused:
        return refused.rule
    return a.mr.length


def atomic_write(profile: Profile) -> Any:
    return attempt(Pair(profile=profile).a, WROpcode.ATOMIC_WRITE)


# --------------------------------------------------------------------------- memory windows
def bound(profile: Profile, sg: list[SGE] | None = None, rights: int = REMOTE) -> tuple[Pair, Any]:
    """B has bound the first 8 bytes of its MR; or the rule it was refused by."""
    pair = Pair(profile=profile, mr_access=int(ALL_RIGHTS | Access.MW_BIND))
    b = pair.b
    window = lifecycle.alloc_mw(b.hca, b.pd.number, 2)
    found = attempt(
        b, WROpcode.BIND_MW, sg=sg or [], mw=window.number, bind_mr=b.mr.number,
        bind_addr=b.mr.addr, bind_length=8, bind_access=rights,
    )  # fmt: skip
    return pair, found


def bind_with_an_sge(profile: Profile) -> Any:
    return bound(profile, [SGE(0, 8, 0)])[1]


def bind_with_a_local_right(profile: Profile) -> Any:
    return bound(profile, rights=REMOTE | Access.LOCAL_WRITE)[1]


def bind_across_domains(profile: Profile) -> Any:
    """A region of another domain than the queue pair, and a window of either."""
    found = []
    for is_own in (True, False):
        pair = Pair(profile=profile)
        a = pair.a
        other = lifecycle.alloc_pd(a.hca).number
        region = mr.register(a.hca, other, 8, int(ALL_RIGHTS | Access.MW_BIND), None)
        window = lifecycle.alloc_mw(a.hca, a.pd.number if is_own else other, 2)
        found += attempt(
            a, WROpcode.BIND_MW, sg=[], mw=window.number, bind_mr=region.number,
            bind_addr=region.addr, bind_length=8, bind_access=REMOTE,
        )  # fmt: skip
    return found


def beyond_a_window(profile: Profile) -> Any:
    pair, _ = bound(profile)
    return attempt(pair.a, WRITE, 9, rkey=pair.b.hca.mws.items[1].rkey)


def write_into_nothing(profile: Profile) -> Any:
    """The region goes away between the first packet of an RDMA WRITE and the last."""
    pair = Pair(profile=profile)
    pair.b.takes("RDMA_WRITE_FIRST", 0, bytes(256), reth=RETH(pair.b.mr.addr, pair.b.mr.rkey, 300))
    mr.deregister(pair.b.hca, pair.b.mr)
    pair.b.takes("RDMA_WRITE_LAST", 1, bytes(44))
    return pair.reasons(Kind.REQUEST_REFUSED)


def write_across_the_end(profile: Profile) -> Any:
    """How many pieces of an RDMA WRITE of two packets are written; the last lies outside."""
    pair = Pair(profile=profile, mr_bytes=300)
    pair.b.takes("RDMA_WRITE_FIRST", 0, bytes(256), reth=RETH(pair.b.mr.addr, pair.b.mr.rkey, 301))
    pair.b.takes("RDMA_WRITE_LAST", 1, bytes(45))
    return len(pair.records(Kind.MEMORY_WRITTEN, node="B"))


def odd_atomic_of_a_bad_key(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    va = pair.b.mr.iova + 1
    return attempt(pair.a, ADD, 8, remote_addr=va, rkey=0xDEAD)


def invalidate_anothers(profile: Profile) -> Any:
    """LOCAL_INV through a queue pair that did not bind the window."""
    pair, _ = bound(profile)
    mw = pair.b.hca.mws.items[1]
    other = pair.end("B")
    pair.connect(pair.end("A"), other)
    return attempt(other, WROpcode.LOCAL_INV, 0, invalidate_rkey=mw.rkey)


def invalidate_nothing(profile: Profile) -> Any:
    return attempt(Pair(profile=profile).a, WROpcode.LOCAL_INV, 0, invalidate_rkey=5)


def invalidated(profile: Profile) -> Any:
    pair, _ = bound(profile)
    pair.b.recv()
    attempt(pair.a, WROpcode.SEND_WITH_INV, invalidate_rkey=pair.b.hca.mws.items[1].rkey)
    return pair.b.poll(pair.b.recv_cq)[0].wc_flags


def errno_before_rts(profile: Profile) -> Any:
    pair = Pair(profile=profile, peer_state=QPState.RTR)
    with pytest.raises(Refused) as caught:
        pair.b.issue(SEND)
    return caught.value.errno


def other_speed(profile: Profile) -> Any:
    pair = Pair(profile=profile)
    pair.world.network.tune_link("rate_bps", 10**9)
    return len(pair.a.hca.async_events)


# --------------------------------------------------------------------------- shared receive queues
def last_wqe(profile: Profile) -> Any:
    return raised(shared("modify_qp B.qp1 state=ERR", qps=1, profile=profile))


def buffer_of_the_srqs_domain(profile: Profile) -> Any:
    """The domain of the SRQ is not that of the queue pair."""
    lab = shared(
        "alloc_pd B.pd1",
        "create_srq B.srq1 pd=B.pd1 max_wr=1",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq1",
        "connect A.qp1 B.qp1",
        "reg_mr B.buf pd=B.pd1 length=64 access=LOCAL_WRITE",
        "post_srq_recv B.srq1 wr_id=7 sg=B.buf",
        qps=0, profile=profile,
    )  # fmt: skip
    send(lab, "A.qp1")
    return status(lab, 7, "B.cq0")


def no_srq_sge(profile: Profile) -> Any:
    lab = shared("create_srq B.srq1 pd=B.pd0 max_wr=1 max_sge=0", qps=0, profile=profile)
    return lab.look("B.srq1.max_sge")


def limit_of_a_new_srq(profile: Profile) -> Any:
    made = "create_srq B.srq1 pd=B.pd0 max_wr=4 max_sge=1 srq_limit=2"
    return shared(made, qps=0, profile=profile).look("B.srq1.limit")


def odd_srq_mask(profile: Profile) -> Any:
    return rule_of(shared(qps=0, profile=profile), "modify_srq B.srq0 max_wr=9 srq_attr_mask=4")


def limit_undercut(profile: Profile) -> Any:
    return raised(shared("modify_srq B.srq0 srq_limit=2", qps=0, profile=profile))


def query_broken_srq(profile: Profile) -> Any:
    return rule_of(shared("fault srq_error srq=B.srq0", qps=0, profile=profile), "query_srq B.srq0")


def rule_of(lab: Lab, line: str) -> str:
    refusal = lab.do(line)[-1].refusal
    return refusal.rule if refusal is not None else ""


LOC_OP, LOC_PROT = [S.LOC_QP_OP_ERR], [S.LOC_PROT_ERR]
JUNK = STRICT.junk_on_error
NOT_STORED = ["attr-range"] * 3
STORED = (256, 0x11, 0xFFFF, 9, ["RNR_NAK(31) psn=0 msn=0"])
AFTER_RNR = ["RNR_NAK(1) psn=0 msn=0", "NAK_SEQUENCE psn=0 msn=0"]


# --------------------------------------------------------------------------- completion events
def listening(profile: Profile, end: str = "a", **more: Any) -> tuple[Pair, CompChannel]:
    """A pair; one CQ of one end tells a channel."""
    pair = Pair(profile=profile, **more)
    hca = getattr(pair, end).hca
    channel = lifecycle.create_comp_channel(hca)
    cq = pair.a.send_cq if end == "a" else pair.b.recv_cq
    cq.channel = channel.number
    return pair, channel


def failed_send_wakes(profile: Profile) -> Any:
    pair, channel = listening(profile)
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=True)
    pair.a.issue(WRITE, rkey=1)
    pair.run()
    return pair.a.send_cq.armed, len(channel.events)


def failed_recv_wakes(profile: Profile) -> Any:
    """Too long a message, not solicited and solicited; then a flush."""
    woken = []
    for flags in (SIGNALED, SIGNALED | SendFlags.SOLICITED, None):
        pair, channel = listening(profile, "b")
        pair.b.recv(4)
        channels.arm(pair.b.hca, pair.b.recv_cq, solicited_only=True)
        if flags is None:
            pair.b.modify(qp_state=QPState.ERR)
        else:
            pair.a.issue(SEND, 8, flags=flags)
            pair.run()
        woken.append(len(channel.events))
    return woken


def armed_too_late(profile: Profile) -> Any:
    pair, channel = listening(profile)
    pair.a.issue(WRITE)
    pair.run()
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=False)
    return pair.a.send_cq.armed, len(channel.events)


def timestamps(profile: Profile) -> Any:
    try:
        return lifecycle.create_cq(Pair(profile=profile).a.hca, 4, 0, fields=TIMED).fields == TIMED
    except Refused as refused:
        return refused.rule


# cell, what another device has there, what comes of it in strict, and there
# fmt: off
ROWS: list[tuple[str, Any, Scenario, Any, Any]] = [
    ("early_posts_stay",        True,       post_early,        [99], list(range(16))),
    ("refuses_unknown_opcode",  False,      unknown_opcode,    "opcode-unknown", LOC_OP),
    ("refuses_foreign_opcode",  False,      foreign_opcode,    "opcode-type", LOC_OP),
    ("refuses_unknown_flags",   False,      unknown_flags,     "send-flags", [S.SUCCESS]),
    ("refuses_foreign_flags",   False,      foreign_flags,     "send-flags-type", [S.SUCCESS]),
    ("qp_types",                RXE.qp_types, made_types, QPType.RAW_PACKET, "qp-type-support"),
    ("send_error_gives_sqe",    False,      failed_datagram,
        (S.LOC_PROT_ERR, QPState.SQE, [(3, S.SUCCESS)]),
        (S.LOC_PROT_ERR, QPState.ERR, [(3, S.WR_FLUSH_ERR)])),
    ("ah_read_at_post",         True,       ah_gone,
        ([(1, S.LOC_QP_OP_ERR)], []), ([(1, S.SUCCESS)], [(1, S.SUCCESS)])),
    ("long_datagram_status",    S.LOC_LEN_ERR, long_datagram,
        [S.SUCCESS, S.SUCCESS, (1, S.SUCCESS)], [S.LOC_LEN_ERR, S.SUCCESS, (1, S.SUCCESS)]),
    ("guards_privileged_qkey",  False,      privileged_qkey,
        ([S.SUCCESS], {}), ([S.SUCCESS], {"qkey": 1})),
    ("clears_unused_grh",       True,       before_the_header, b"\xee" * 20, bytes(20)),
    ("refuses_inline_read",     False,      inline_read,       "inline-opcode", LOC_PROT),
    ("refuses_odd_atomics",     True,       odd_atomics,
        [S.LOC_LEN_ERR, S.REM_INV_REQ_ERR], ["atomic-length", "atomic-address"]),
    ("odd_atomic_status",       S.SUCCESS,  long_atomic,
        (S.LOC_LEN_ERR, b"\xee" * 16), (S.SUCCESS, bytes(8) + b"\xee" * 8)),
    ("flushes_recvs_posted_in_err", False,  recv_in_err,       [(5, S.WR_FLUSH_ERR)], []),
    ("zero_sge_bytes",          0,          zero_sge,          LOC_PROT, [S.SUCCESS]),
    ("length_bits",             32,         long_receive,      2**32 + 1, 1),
    ("refuses_long_message",    False,      long_message,
        ["message-length"] * 2, [S.LOC_LEN_ERR] * 2),
    ("long_message_status",     S.SUCCESS,  long_message_sent,
        [S.LOC_LEN_ERR] * 2, [S.SUCCESS] * 2),
    ("rounding",                Rounding.POWER,          capacity,    (5, 8), (8, 8)),
    ("rounding",                Rounding.POWER_LESS_ONE, capacity,    (5, 8), (7, 15)),
    ("cq_srq_rounding",         Rounding.POWER_LESS_ONE, cq_capacity, (5, 5, 8), (7, 7, 15)),
    ("cq_srq_rounding",         Rounding.POWER_LESS_ONE, srq_capacity, (4, 8), (7, 15)),
    ("inline_bytes_per_sge",    16,         inline_capacity,   (2, 60), (3, 60)),
    ("send_wqe_headers",        {QPType.RC: 192}, inline_room,
        [0, 60, 64, 220], [60, 60, 124, 252]),
    ("send_wqe_headers",        {QPType.RC: 192}, inline_beyond_a_wqe,
        829, ("qp-cap", "max_inline_data takes 0..828")),
    ("slots_freed",             SlotsFreed.EXECUTED, send_slots,
        (1, 2, 3, 4, True), (0, 0, 0, 0, False)),
    ("slots_freed",             SlotsFreed.EXECUTED, recv_slots, [4, 4], [3, 0]),
    ("reset_purges_cqes",       True,       unpolled_at_reset, (1, 1), (0, 0)),
    ("overrun_kills_cq",        False,      overrun,
        (["CQ_ERR", "QP_FATAL"], QPState.ERR, [0, 1]),
        (["CQ_ERR"] * 3, QPState.RTS, [0, 1])),
    ("checks_table_without_state", False,   no_state,          "attr-surplus", 3),
    ("believes_cur_state",      True,       false_claim,       "cur-state", QPState.RTS),
    ("attributes",              RXE.attributes, out_of_range,  NOT_STORED, STORED),
    ("attr_mask_bits",          21,         foreign_bit,       "attr-surplus", "attr-support"),
    ("resolves_addresses",      True,       nobodys_address,   QPState.RTR, "ah-neighbour"),
    ("address_sets_port",       True,       address_in_sqd,    QPState.SQD, "attr-surplus"),
    ("modify_judges_address",   frozenset(), rate_of_a_route,  "ah-range", QPState.SQD),
    ("create_ah_judges",        frozenset(), rate_of_a_handle, "ah-range", 173),
    ("returns_cur_state",       False,      asked_state, QPState.RTS, QPState.RESET),
    ("least_read_depth",        1,          read_without_depth, [], [S.SUCCESS]),
    ("lacks_moves", {(QPState.RTS, QPState.SQD)}, move_to_sqd, "", "transition"),
    ("attribute_bits",          {"min_rnr_timer": 5}, many_bits, 33, 1),
    ("rounds_read_depths",      True,       depths,            (3, 13), (4, 16)),
    ("create_qp_returns_asked", True,       refused_capacity,     (4, 4, 5), (3, 3, 5)),
    ("retry_cnt_7_is_infinite", True,       retry_7,           False, True),
    ("ack_timeout_factor",      4,          timeout,           T10_NS, 4 * T10_NS),
    ("timer_tick_ns",           4_000_000,  timeout,           T10_NS, 8_000_000),
    ("timer_tick_ns",           4_000_000,  rnr_wait,          10_000, 4_000_000),
    ("unknown_lkey_status",     S.LOC_QP_OP_ERR, unknown_lkey, 3 * LOC_PROT, 2 * LOC_OP + LOC_PROT),
    ("resumes_after_sqd",       False,      after_sqd,         ([1], [2]), ([], [1, 2])),
    ("drained_event_unasked",   True,       drained,           [], ["SQ_DRAINED"]),
    ("takes_implied_naks",      False,      hole_in_a_read,
        ([S.SUCCESS], ["implied NAK"]), ([S.SUCCESS], ["timeout"])),
    ("naks_after_retry",        False,      two_gaps,
        ([S.SUCCESS], ["NAK sequence error"] * 2),
        ([S.SUCCESS], ["NAK sequence error", "timeout"])),
    ("posts_after_fatal",       True,       posts_to_a_failed_device,
        ["device-fatal", "device-fatal"], [[], []]),
    ("hashes_source_port",      True,       source_ports, [57236, 58177], [57236, 57236]),
    ("times_unasked_packets",   True,       longer_than_the_timer, 0, 2),
    ("down_phys_state", PhysState.POLLING, cable_out, PhysState.DISABLED, PhysState.POLLING),
    ("fixed_pkeys",             True,       fixed_table, False, True),
    ("routed_hop_limits",       frozenset({"qp"}),       hop_limits, (0, 0), (64, 0)),
    ("routed_hop_limits",       frozenset({"qp", "ah"}), hop_limits, (0, 0), (64, 64)),
    ("sends_mig_req",           False,      mig_req,           {True}, {False}),
    ("unheard_ack_psn",         0xFFFFFF,   old_news,
        [0x7FF, 0x800, 0x800], [0xFFFFFF, 0x800, 0x800]),
    ("joins_acks",              False,      acknowledgements,  [3], [1, 2, 3]),
    ("stalls_above_port_mtu",   True,       above_the_port,
        ([S.SUCCESS], QPState.RTS), ([], QPState.RTS)),
    ("rnr_wait_drains",         True,       drained_while_it_waits, (1, [1]), (0, [])),
    ("checks_packet_size",      False,      mtu_mismatch,      [S.REM_INV_REQ_ERR], [S.SUCCESS]),
    ("nak_after_rnr",           True,       behind_an_rnr_nak, AFTER_RNR[:1], AFTER_RNR),
    ("enforces_read_depth",     False,      many_reads,
        {S.REM_INV_REQ_ERR, S.SUCCESS, S.WR_FLUSH_ERR}, {S.SUCCESS}),
    ("raises_responder_events", False,      responder_events,  ["COMM_EST", "QP_ACCESS_ERR"], []),
    ("refusals",                RXE.refusals, two_refusals,
        [S.REM_INV_REQ_ERR, S.LOC_LEN_ERR, S.REM_OP_ERR, S.LOC_PROT_ERR],
        [S.REM_OP_ERR, S.LOC_QP_OP_ERR] * 2),
    ("refusals",                MLX5.refusals, immediate_of_a_bad_key,
        ([S.WR_FLUSH_ERR] * 2, [AsyncEvent.QP_ACCESS_ERR]),
        ([S.LOC_ACCESS_ERR, S.WR_FLUSH_ERR], [])),
    ("short_receive_breaks_ud", False,      datagram_of_100_bytes,
        ([S.LOC_LEN_ERR], QPState.ERR), ([S.SUCCESS], QPState.RTS)),
    ("grh_flag_on_rc",          True,       receive_flags,     0, WCFlags.GRH),
    ("imm_flag_on_sender",      True,       sender_cqe,        (0, 0), (WCFlags.WITH_IMM, 0)),
    ("send_byte_len",           True,       sender_cqe,        (0, 0), (0, 8)),
    ("junk_on_error",           0,          error_junk,        (JUNK, JUNK), (0, 0)),
    ("vendor_errors",           NO_CODES, vendor_code, 0x85, 0),
    ("vendor_errors",           CONNECTX_CODES, vendor_code, 0x85, 0xF5),
    ("send_error_wakes_solicited", False,   failed_send_wakes, (Arm.NONE, 1), (Arm.SOLICITED, 0)),
    ("recv_error_wakes_solicited", False,   failed_recv_wakes, [1, 1, 1], [0, 1, 1]),
    ("arm_sees_unpolled",       True,       armed_too_late,    (Arm.ANY, 0), (Arm.NONE, 1)),
    ("extended_fields",         RXE.extended_fields, timestamps, True, "wc-flags"),
    ("lkey_is_rkey",            True,       keys,              False, True),
    ("raises_speed_event",      False,      other_speed,       1, 0),
    ("link_layers",             RXE.link_layers, infiniband_port, True, False),
    ("raises_last_wqe_reached", False,      last_wqe,          ["QP_LAST_WQE_REACHED"], []),
    ("checks_srq_pd",           False,      buffer_of_the_srqs_domain, "SUCCESS", "LOC_PROT_ERR"),
    ("arms_created_srq",        True,       limit_of_a_new_srq, 0, 2),
    ("recv_wqe_powers",         True,       recv_pieces,
        ([(1, 0), (1, 1), (1, 3)], 2), ([(4, 1), (4, 1), (1, 4)], 3)),
    ("least_srq_sge",           1,          no_srq_sge,        0, 1),
    ("refuses_unknown_srq_mask", False,     odd_srq_mask,      "srq-mask", ""),
    ("limit_counts_at_once",    False,      limit_undercut,    ["SRQ_LIMIT_REACHED"], []),
    ("reads_failed_srq",        False,      query_broken_srq,  "", "srq-error"),
    ("lacks_builders",          RXE.lacks_builders, flush_builder, True, False),
    ("refuses_null_pointers",   True,       no_place_for_bad_wr, 1, "null-pointer"),
    ("batch_unchecked",         RXE.batch_unchecked, batch_with_two_lists,
        "setter-place", [S.SUCCESS]),
    ("setter_makes_inline",     False,      inline_without_its_flag,
        (([S.SUCCESS], [8]), ([S.SUCCESS], [8]), "inline-length"),
        (([S.LOC_PROT_ERR], []), ([S.SUCCESS], [8]), "inline-length")),
    ("list_setters_add",        False,      lists_of_pieces,
        [([S.SUCCESS], [30]), ([S.SUCCESS], [30]), ([S.SUCCESS], [0]), ([S.SUCCESS], [8])],
        [([S.SUCCESS], [20]), ([S.LOC_PROT_ERR], []), ([S.SUCCESS], [0]), ([S.SUCCESS], [0])]),
    ("batch_errnos",            RXE.batch_errnos, full_batch, ENOMEM, ENOSPC),
    ("rkey_needs_remote_right", True,       rkey_of_a_local_region, False, True),
    ("honours_zero_based",      False,      first_address,     True, False),
    ("rereg_changes",           0,          move_a_region,     8, "rereg-support"),
    ("windows_take_local_write", True,      bind_with_a_local_right, [S.MW_BIND_ERR], [S.SUCCESS]),
    ("lacks",                   RXE.lacks,  atomic_write,      [S.SUCCESS], "opcode-support"),
    ("refuses_bind_data",       False,      bind_with_an_sge,  "bind-data", [S.SUCCESS]),
    ("checks_window_bounds",    False,      beyond_a_window,   [S.REM_ACCESS_ERR], [S.SUCCESS]),
    ("checks_write_key_per_packet", False,  write_into_nothing, ["rkey"], []),
    ("checks_write_range_first", False,     write_across_the_end, 0, 1),
    ("alignment_before_key",    True,       odd_atomic_of_a_bad_key,
        [S.REM_ACCESS_ERR], [S.REM_INV_REQ_ERR]),
    ("checks_bind_domains",     False,      bind_across_domains,
        [S.MW_BIND_ERR] * 2, [S.SUCCESS, S.MW_BIND_ERR]),
    ("checks_window_qp",        False,      invalidate_anothers, [S.MW_BIND_ERR], [S.SUCCESS]),
    ("bad_invalidate_status",   S.LOC_QP_OP_ERR, invalidate_nothing, [S.MW_BIND_ERR], LOC_OP),
    ("unexpected_read_response_status",       S.FATAL_ERR, answered_like_a_read,
        [S.BAD_RESP_ERR, S.BAD_RESP_ERR], [S.FATAL_ERR, S.BAD_RESP_ERR]),
    ("with_inv_flag",           WCFlags.IP_CSUM_OK, invalidated, WCFlags.WITH_INV, 4),
    ("errnos",                  MLX5.errnos, errno_before_rts, EINVAL, ENOMEM),
]
# fmt: on


@pytest.mark.parametrize(("cell", "other", "scenario", "strict", "there"), ROWS)
def test_each_profile_cell_changes_one_outcome(
    cell: str, other: Any, scenario: Scenario, strict: Any, there: Any
) -> None:
    assert scenario(STRICT) == strict
    assert scenario(replace(STRICT, **{cell: other})) == there


def test_every_profile_cell_has_a_row_in_this_test() -> None:
    asked = set()
    for room in ("hca", "world"):
        for path in (Path(__file__).parents[2] / "rdmalab" / room).rglob("*.py"):
            asked |= set(re.findall(r"\bprofile\.(\w+)", path.read_text("utf-8")))
    rows = {cell for cell, *_ in ROWS}
    assert asked - {"caps"} == rows, (
        f"{asked - {'caps'} ^ rows}: write a row of ROWS here for each cell that an engine reads, "
        "and remove those of cells that no engine reads"
    )


@pytest.mark.parametrize(
    "cell", [field.name for field in fields(Profile) if "refuses" in field.name]
)
def test_a_cell_that_switches_a_rule_off_names_the_rule(cell: str) -> None:
    outcomes = [
        str(outcome) for name, *_, one, other in ROWS if name == cell for outcome in (one, other)
    ]
    refused = {
        rule
        for rule in RULES
        for text in outcomes
        if re.search(rf"(?<![\w-]){rule}(?![\w-])", text)
    }
    named = {rule for rule, switch in CELL_OF_RULE.items() if switch == cell}
    assert refused <= named, f"name {refused - named} as `rules` of this cell, spec/profiles.py"


def test_timeout_0_has_no_timer_on_every_device() -> None:
    assert ack_timeout_ns(0) is None
    for profile in (RXE, MLX5):
        pair = Pair(profile=profile, timeout=0)
        pair.world.network.set_link(up=False)
        pair.a.issue(SEND)
        pair.run()
        assert pair.a.sent() == []
