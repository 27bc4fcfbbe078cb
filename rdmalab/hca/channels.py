"""Completion events: an armed CQ queues one event on its channel; the program reads and acks it."""

from collections import deque

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.errors import refused
from rdmalab.hca.objects import CompChannel
from rdmalab.hca.wr import Cqe
from rdmalab.spec.completions import Arm
from rdmalab.spec.profiles import Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus


def wakes(profile: Profile, armed: Arm, cqe: Cqe) -> bool:
    """True if this completion raises the event of a CQ armed this way."""
    if armed is not Arm.SOLICITED:
        return armed is Arm.ANY
    # ibv_req_notify_cq(3): receives whose message had the SE bit, and every error.
    if cqe.status == WCStatus.SUCCESS:
        return cqe.solicited
    if cqe.is_send:
        return profile.send_error_wakes_solicited
    is_flushed = cqe.status == WCStatus.WR_FLUSH_ERR
    return is_flushed or cqe.solicited or profile.recv_error_wakes_solicited


def arm(hca: Adapter, cq: CompletionQueue, *, solicited_only: bool) -> None:
    """Arm the CQ for one event of the next completion; any is not reduced to solicited."""
    # C11-31, C11-32 (as rdmavt quotes them): armed for any completion is not narrowed.
    cq.armed = max(cq.armed, Arm.SOLICITED if solicited_only else Arm.ANY)
    hca.trace.record(Kind.CQ_ARMED, hca.node, cq.number, cq.armed)
    # CQEs in the CQ raise no event by the standard and on Soft-RoCE (measured). ConnectX arms
    # relative to the consumer index. So a program polls once more after it has armed.
    if hca.profile.arm_sees_unpolled:
        unread = list(cq.cqes)[cq.reading :]
        if any(wakes(hca.profile, cq.armed, cqe) for cqe in unread):
            raise_event(hca, cq)


def notify(hca: Adapter, cq: CompletionQueue, cqe: Cqe) -> None:
    """Raise the event of an armed CQ if this completion is one that it was armed for."""
    if wakes(hca.profile, cq.armed, cqe):
        raise_event(hca, cq)


def raise_event(hca: Adapter, cq: CompletionQueue) -> None:
    """Disarm the CQ and queue one event on its completion channel, if it has one."""
    cq.armed = Arm.NONE
    hca.trace.record(Kind.CQ_EVENT_RAISED, hca.node, cq.number, cq.channel)
    if cq.channel:
        hca.channels.find(cq.channel).events.append(cq.number)


def members(hca: Adapter, channel: CompChannel) -> list[CompletionQueue]:
    """The CQs that use this channel."""
    return [cq for cq in hca.cqs.items.values() if cq.channel == channel.number]


def take(hca: Adapter, channel: CompChannel) -> CompletionQueue:
    """`ibv_get_cq_event`, never blocking; the event then counts as unacknowledged."""
    if not channel.events:
        raise refused(
            hca.profile, "cq-event-none", argument="channel", legal=what_wakes(hca, channel)
        )
    cq = hca.cqs.find(channel.events.popleft())
    cq.unacked += 1
    hca.trace.record(Kind.CQ_EVENT_TAKEN, hca.node, cq.number, channel.number, cq.context)
    return cq


def what_wakes(hca: Adapter, channel: CompChannel) -> str:
    """A sentence: the call or completion that ends a wait on this channel, or why none can."""
    cqs = members(hca, channel)
    if not cqs:
        return "no completion queue was made with it: create_cq … channel=…"
    waiting = sum(len(cq.cqes) for cq in cqs)
    silent = (
        "completion already in it raises" if waiting == 1 else "completions already in it raise"
    )
    lost = f"; {waiting} {silent} no event: poll" if waiting else ""
    armed = max(cq.armed for cq in cqs)
    if armed is Arm.NONE:
        return f"no completion queue of it is armed: req_notify_cq{lost}"
    if armed is Arm.SOLICITED:
        return f"the next receive with the solicited bit, or the next error, ends the wait{lost}"
    return f"the next completion ends the wait{lost}"


def acknowledge(hca: Adapter, cq: CompletionQueue, count: int) -> None:
    """`ibv_ack_cq_events`."""
    if count > cq.unacked:
        raise refused(hca.profile, "cq-events-ack", cq.unacked, argument="nevents")
    cq.unacked -= count
    hca.trace.record(Kind.CQ_EVENTS_ACKED, hca.node, cq.number, count)


def check_acked(hca: Adapter, cq: CompletionQueue) -> None:
    """Refuse to destroy a CQ while events are read and not acknowledged."""
    # ibv_get_cq_event(3): in C the destroy call blocks until these are acknowledged.
    if cq.unacked:
        legal = f"ack_cq_events nevents={cq.unacked}"
        raise refused(hca.profile, "cq-events-unacked", cq.unacked, argument="cq", legal=legal)


def discard(hca: Adapter, cq: CompletionQueue) -> None:
    """Remove the unread events of a CQ that is destroyed."""
    if not cq.channel:
        return
    channel = hca.channels.find(cq.channel)
    kept = deque(number for number in channel.events if number != cq.number)
    if lost := len(channel.events) - len(kept):
        channel.events = kept
        hca.trace.record(Kind.EVENTS_DISCARDED, hca.node, cq.number, lost, "cq")
