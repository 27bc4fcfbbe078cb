"""What a call was refused with, handed over once more: lines that make good what it left undone."""

from collections.abc import Iterable

from rdmalab.command import CallArguments, Noun
from rdmalab.doctor.case import Case, QueuePair
from rdmalab.doctor.facts.full_queues import Backlog
from rdmalab.doctor.fixes import rebuilding, simple_fixes
from rdmalab.doctor.fixes.changed_calls import with_flags
from rdmalab.doctor.work import attempts, batches
from rdmalab.doctor.work.attempts import Attempt
from rdmalab.hca.wr import SendWR
from rdmalab.spec.work import SendFlags
from rdmalab.world.relations import peer_of


def repost_refused(
    case: Case, qp: QueuePair, *, signaled: bool = False, after_reset: bool = False
) -> list[str]:
    """All that the call which is asked about did not post; [] if its arguments are not in the log.

    signaled: its last request asks for a completion; after_reset: as for `repost`.
    """
    attempt = attempts.of_call(case.log, case.call)
    if attempt is not None and attempt.left:
        *before, last = attempt.left
        last = with_flags(last, SendFlags.SIGNALED) if signaled else last
        return repost(case, qp, attempt, [*before, last], after_reset=after_reset)
    batch = batches.closed_by(case.log, case.call) if case.call is not None else None
    if batch is None:
        return []
    flags = int(SendFlags.SIGNALED) if signaled else 0
    lines = rebuilding.rebuild(case, batch, flags=flags) or []
    return [*_rooms(case, qp, (built.wr for built in batch.built), after_reset=after_reset), *lines]


def repost(
    case: Case, qp: QueuePair, attempt: Attempt, wrs: list[CallArguments], *,
    after_reset: bool = False,
) -> list[str]:  # fmt: skip
    """Post these, with a receive at the peer for each send that needs one and finds none.

    after_reset: the peer's own receives were lost by a reset before.
    """
    sends = attempts.bound(case.session, attempt, wrs) if attempt.call.verb == "post_send" else []
    lines = _rooms(case, qp, sends, after_reset=after_reset)
    return [*lines, attempts.said_again(case.session, attempt, wrs)]


def _rooms(case: Case, qp: QueuePair, wrs: Iterable[SendWR], *, after_reset: bool) -> list[str]:
    peer = peer_of(case.world, qp)
    if peer is None:
        return []
    waiting = 0 if after_reset and not peer.shares_receives else len(peer.source.wqes)
    wanting = [wr for wr in wrs if simple_fixes.needs_receive(wr)]
    return [
        simple_fixes.room(case, peer, sum(sge.length for sge in wr.sg)) for wr in wanting[waiting:]
    ]


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
