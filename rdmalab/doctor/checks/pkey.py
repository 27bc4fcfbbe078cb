"""pkey: the two ends are in different partitions."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.unanswered_sends import Unheard
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.hca.port import FULL_MEMBER, share_partition
from rdmalab.hca.qp import QueuePair
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether the other port dropped it for its P_Key."""
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or qp.path is None:
        return NA
    peer, misses = partners.target(case), unheard.because("pkey")
    if not misses or peer is None or peer.path is None:
        return ok("no P_Key stood in its way")
    ours, theirs = misses[-1].packet.pkey, peer.path.pkey
    both = not (ours | theirs) & FULL_MEMBER
    why = "both are limited members" if both else "these are two partitions"
    since = partners.told(case, qp) or partners.entered(case, qp, qp.state)
    return unheard.finding(
        said(f"{case.qp_name(qp)} sends with P_Key {ours:#06x}, entry "
             f"{qp.attr.pkey_index or 0} of its table", since),
        said(f"{case.qp_name(peer)} wants {theirs:#06x}, entry {peer.attr.pkey_index or 0} of "
             f"its own: {why}", partners.told(case, peer)),
        said(f"{fmt.count(len(misses), 'packet')} dropped, counted in bad_pkey_cntr",
             misses[-1].event),
        cure=_cure(case, unheard, qp, peer), since=since,
    )  # fmt: skip


def _cure(case: Case, unheard: Unheard, qp: QueuePair, peer: QueuePair) -> Fix | None:
    """The entries that name a partition of both; where there is none, one is put in."""
    wqe, assigned = unheard.send.wqe, []
    if wqe is None or qp.path is None:
        return None
    pair = _shared(case, qp, peer)
    if pair is None:
        pair = qp.attr.pkey_index or 0, peer.attr.pkey_index or 0
        assigned = [_assigned(qp, peer, pair)]
    ours, theirs = ({"pkey_index": str(index)} for index in pair)
    if qp.transport.connected:
        lines = reconnect(case, qp, peer, ours, theirs)
    else:
        lines = simple_fixes.revive(case, qp, ours) + simple_fixes.revive(case, peer, theirs)
    return Fix([*assigned, *lines, *once_more(case, qp, wqe.wr, peer, revived=True)])


def _assigned(qp: QueuePair, peer: QueuePair, pair: tuple[int, int]) -> str:
    """Put the partition of one end into the entry of the other; an empty entry names none."""
    ours, theirs = (q.path.pkey if q.path is not None else 0 for q in (qp, peer))
    node, index, key = (peer.node, pair[1], ours) if ours else (qp.node, pair[0], theirs)
    return f"pkey set {node} {index} {key | FULL_MEMBER:#06x}"


def _shared(case: Case, qp: QueuePair, peer: QueuePair) -> tuple[int, int] | None:
    """Entries of both tables that go together, as near to the present ones as may be."""
    mine, theirs = (case.world.nodes[q.node].pkeys for q in (qp, peer))
    now = qp.attr.pkey_index or 0, peer.attr.pkey_index or 0
    fitting = [
        (i, j)
        for i, a in enumerate(mine)
        for j, b in enumerate(theirs)
        if a and b and share_partition(a, b)
    ]
    return min(fitting, key=lambda pair: (pair[0] != now[0], pair[1] != now[1]), default=None)


CHECK = Check(
    49, "pkey", Section.PEER,
    question="Are the two ends in different partitions, or both limited members of one?",
    rule="a port takes a packet only if both P_Keys name one partition and one is a full member",
    source="ibv_query_pkey(3)", examine=examine,
)  # fmt: skip
