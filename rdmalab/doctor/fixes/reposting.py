"""Lines that post again what was refused, dropped, or delivered to the wrong place."""

from collections.abc import Callable, Iterable

from rdmalab.command import CallArguments, Invocation, Noun
from rdmalab.doctor.case import Case, Message, QueuePair, RecvWqe
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.messages import arrived_with
from rdmalab.doctor.evidence.posting_calls import Attempt, Batch, Building
from rdmalab.doctor.facts.full_queues import Backlog
from rdmalab.doctor.fixes.memory_fixes import ready_to_send
from rdmalab.doctor.fixes.refused_calls import with_flags
from rdmalab.grammar.format import render
from rdmalab.hca.wr import SendWR
from rdmalab.repair import commands
from rdmalab.repair.bring_up import lines_to_rts
from rdmalab.spec.records import Kind, event_of, kind_of, packet_of, place_of, recv_wqe_of
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import find_qp, peer_of


def receive_of(case: Case, message: Message) -> tuple[QueuePair, RecvWqe] | None:
    """The receive that a message took, and whose it is."""
    for record in reversed(case.log.of(Kind.RECV_TAKEN)):
        if event_of(record) <= message.posted:
            break
        came = arrived_with(case.log, record) if _may_be(case, message, event_of(record)) else None
        qp = find_qp(case.world, *place_of(record))
        if came is not None and came.subject == message.subject and qp is not None:
            return qp, recv_wqe_of(record)
    return None


def _may_be(case: Case, message: Message, event: int) -> bool:
    """Whether one of its PSNs arrived then: cheap, and rarely wrong."""
    came = (r for r in case.log.within(event) if kind_of(r) is Kind.PACKET_RECEIVED)
    return any(isinstance(packet, Packet) and message.wqe.has_psn(packet.psn)
               for packet in map(packet_of, came))  # fmt: skip


def posted_again(
    case: Case, qp: QueuePair, message: Message, wr: SendWR | None = None, **changed: object
) -> list[str]:
    """The message, changed or not, and before it what its queue pair needs to send again, and a
    receive as it had, if none waits there.
    """
    # After a reset neither end knows the other one.
    ready = (lines_to_rts(case, qp) if qp.state is QPState.RESET else []) or ready_to_send(case, qp)
    send = commands.post_send(case, qp, wr or message.wqe.wr, **changed)
    found = receive_of(case, message)
    if found is None or found[0].source.wqes:
        return [*ready, send]
    return [*ready, commands.post_recv(case, found[0], found[1].wr), send]


def repost_refused(
    case: Case, qp: QueuePair, *, signaled: bool = False, after_reset: bool = False
) -> list[str]:
    """All that the call which is asked about did not post; [] if its arguments are not in the log.

    signaled: its last request asks for a completion; after_reset: as for `repost`.
    """
    attempt = posting_calls.of_call(case.log, case.call)
    if attempt is not None and attempt.left:
        *before, last = attempt.left
        last = with_flags(last, SendFlags.SIGNALED) if signaled else last
        return repost(case, qp, attempt, [*before, last], after_reset=after_reset)
    batch = posting_calls.closed_by(case.log, case.call) if case.call is not None else None
    if batch is None:
        return []
    flags = int(SendFlags.SIGNALED) if signaled else 0
    lines = rebuild(case, batch, flags=flags) or []
    return [*_rooms(case, qp, (built.wr for built in batch.built), after_reset=after_reset), *lines]


def repost(
    case: Case, qp: QueuePair, attempt: Attempt, wrs: list[CallArguments], *,
    after_reset: bool = False,
) -> list[str]:  # fmt: skip
    """Post these, with a receive at the peer for each send that needs one and finds none.

    after_reset: the peer's own receives were lost by a reset before.
    """
    sends = (
        posting_calls.bound(case.session, attempt, wrs) if attempt.call.verb == "post_send" else []
    )
    lines = _rooms(case, qp, sends, after_reset=after_reset)
    return [*lines, posting_calls.corrected_call(case.session, attempt, wrs)]


def _rooms(case: Case, qp: QueuePair, wrs: Iterable[SendWR], *, after_reset: bool) -> list[str]:
    peer = peer_of(case.world, qp)
    if peer is None:
        return []
    waiting = 0 if after_reset and not peer.shares_receives else len(peer.source.wqes)
    wanting = [wr for wr in wrs if commands.needs_receive(wr)]
    return commands.rooms(case, peer, *(sum(s.length for s in wr.sg) for wr in wanting[waiting:]))


def after_polling(case: Case, found: Backlog) -> list[str]:
    """Let them end, poll their completions, and say the call once more, from bad_wr on."""
    qp = found.qp
    cq, again = case.world.nodes[qp.node].cqs.items.get(qp.send_cq), repost_refused(case, qp)
    if cq is None or not again:
        return []
    undone = [send for send in found.sends if send.ending is None]
    many = len(cq.cqes) + sum(s.wqe is not None and s.wqe.signaled for s in undone)
    poll = f"poll_cq {case.name(Noun.CQ, qp.node, cq.number)} num_entries={max(many, 1)}"
    wait = ["run"] if undone else []
    return [*wait, poll, *again]


Change = Callable[[Building], list[Invocation] | None]
"""The setters after the builder of a work request; None keeps its setters."""


def rebuild(
    case: Case, batch: Batch, change: Change | None = None, flags: int = 0
) -> list[str] | None:
    """The lines of a region, each work request with its wr_id and flags; None if not in the log.

    change: which setters to replace; flags: added to every work request.
    """
    lines: list[Invocation] = []
    for built in batch.built:
        builder = _builder_call(case, built.event)
        if builder is None:
            return None
        own = {"wr_id": built.wr.wr_id, "wr_flags": built.flags | flags}
        lines.append(Invocation(builder.name, builder.arguments | {"qpx": own}))
        changed = change(built) if change is not None else None
        lines += changed if changed is not None else setters(case, built)
    return _in_region(case, lines) if lines else None


def _in_region(case: Case, lines: list[Invocation]) -> list[str]:
    qp = {"qp": lines[0].arguments["qp"]}
    framed = [Invocation("wr_start", qp), *lines, Invocation("wr_complete", qp)]
    return [render(each, case.session.vocabulary[each.name]) for each in framed]


def setters(case: Case, built: Building) -> list[Invocation]:
    """The setter calls after a builder."""
    found = [_builder_call(case, each.event) for each in built.setters]
    return [each for each in found if each is not None]


def _builder_call(case: Case, event: int) -> Invocation | None:
    return case.log.asked(event)[0]


def repost_flushed(case: Case, *, after_reset: bool = True) -> list[str]:
    """The line that posts flushed work again; after_reset: as for `again`."""
    work, qp = case.work, case.qp
    ending = work.ending if work is not None else None
    if qp is None or ending is None or ending.status is not WCStatus.WR_FLUSH_ERR:
        return []
    if case.send is not None and case.send.wqe is not None:
        return commands.again(case, qp, case.send.wqe.wr, after_reset=after_reset)
    wqe = case.receive.wqe if case.receive is not None else None
    return [commands.post_recv(case, qp, wqe.wr)] if wqe is not None else []
