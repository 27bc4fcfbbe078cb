"""overlap-sges: two elements of a list that is written to name the same bytes."""

from typing import NamedTuple

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import messages
from rdmalab.doctor.facts.messages import Message, meet
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import RecvWqe, SendWqe
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.spec.work import Local
from rdmalab.world.relations import find_qp


class Scattered(NamedTuple):
    """A work request that writes into the own buffers. message: what a receive took."""

    posted: int | None
    wqe: SendWqe | RecvWqe
    qp: QueuePair | None
    message: Message | None


def examine(case: Case) -> Finding:
    """Whether a receive or READ that is asked about, or filled these bytes, names some twice."""
    if not case.asked:
        return NA
    found = _of_bytes(case) if case.content is not None else _of_work(case)
    for each in found:
        sg = listed(each.wqe.wr)
        pieces = messages.pieces(case.hca, sg)
        for second in range(1, len(sg)):
            for first in range(second):
                if twice := meet(pieces[first : first + 1], pieces[second : second + 1]):
                    text = f"sge[{first}] and sge[{second}] both name {twice[0][1]} bytes"
                    where = f"from {simple_fixes.sge_words(case, case.node, sg[second])} on"
                    return warn(said(f"{text}, {where}", each.posted), cure=_cure(case, each))
    return ok("no two elements of its list name the same bytes") if found else NA


def _of_work(case: Case) -> list[Scattered]:
    work = case.send or case.receive
    if work is None or work.wqe is None or not _scatters(work.wqe):
        return []
    return [Scattered(work.posted, work.wqe, case.qp, case.message)]


def _scatters(wqe: SendWqe | RecvWqe) -> bool:
    if isinstance(wqe, RecvWqe):
        return True
    return wqe.work is not None and wqe.work.local is Local.SCATTER


def _of_bytes(case: Case) -> list[Scattered]:
    """What was posted over these bytes last."""
    content = case.content
    assert content is not None
    found = []
    for touch, message in content.brought[:1]:
        if (message.thing.node, message.thing.number) == (case.node, touch.qp):
            qp = find_qp(case.world, case.node, touch.qp)
            found.append(Scattered(message.posted, message.wqe, qp, None))
    for each in content.receives[:1]:
        message_ = messages.taking(case.world, case.log, case.node, each.qp, each.wqe)
        found.append(Scattered(each.event, each.wqe, find_qp(case.world, case.node, each.qp),
                               message_))  # fmt: skip
    return found


def _cure(case: Case, each: Scattered) -> Fix | None:
    """The same list, each element up to where the next begins; and the message once more."""
    wr, qp = each.wqe.wr, each.qp
    if qp is None:
        return None
    words_ = ",".join(simple_fixes.sge_words(case, case.node, sge) for sge in _apart(listed(wr)))
    if isinstance(wr, SendWR):
        return Fix([simple_fixes.post_send(case, qp, wr, sg=words_)])
    post = simple_fixes.post_recv(case, qp, RecvWR(wr.wr_id), sg=words_)
    message = each.message
    sender = find_qp(case.world, *message.thing[1:]) if message is not None else None
    if message is None or sender is None:
        return Fix([post])
    return Fix([post, simple_fixes.post_send(case, sender, message.wqe.wr)])


def _apart(sg: list[SGE]) -> list[SGE]:
    """Each element cut where another one begins inside it."""
    cut = []
    for sge in sg:
        starts = [other.addr for other in sg if sge.addr < other.addr < sge.addr + sge.length]
        cut.append(SGE(sge.addr, min(starts, default=sge.addr + sge.length) - sge.addr, sge.lkey))
    return cut


CHECK = Check(
    80, "overlap-sges", Section.WRONG,
    question="Do two elements of a list that is written to name the same bytes?",
    rule="elements of a READ or a receive must not overlap: what lies there then is undefined",
    source="ibv_post_recv(3)", examine=examine,
)  # fmt: skip
