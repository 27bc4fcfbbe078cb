"""sge-zero: an element of length 0, which the documents and the drivers read differently."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether an element has length 0, and for how many bytes that stands here."""
    work = case.send or case.receive
    if work is None or work.wqe is None:
        return NA
    failed = work.ending is not None and work.ending.status is not WCStatus.SUCCESS
    inline = isinstance(work.wqe, SendWqe) and work.wqe.inline is not None
    if inline or not (failed or case.asked):
        return NA
    empty = [n for n, sge in enumerate(listed(work.wqe.wr)) if not sge.length]
    if not empty:
        return ok("no element of its list has length 0")
    means = fmt.count(case.profile.zero_sge_bytes, "byte")
    ended = [said(f"it ended with {work.ending.status.name}", work.ending.event)
             for _ in [0] if failed and work.ending is not None]  # fmt: skip
    text = f"sge[{empty[0]}] has length 0, which stands for {means} here"
    return warn(said(text, work.posted), *ended, cure=_cure(case, work.wqe.wr))


def _cure(case: Case, wr: SendWR | RecvWR) -> Fix | None:
    """The same without the empty elements."""
    qp = case.qp
    if qp is None:
        return None
    full = ",".join(simple_fixes.sge_words(case, case.node, s) for s in listed(wr) if s.length)
    if isinstance(wr, SendWR):
        lines = simple_fixes.again(
            case, qp, wr, revived=bool(memory_fixes.revived(case, qp)), sg=full
        )
        return Fix([*memory_fixes.revived(case, qp), *lines])
    return Fix([*memory_fixes.revived(case, qp), simple_fixes.post_recv(case, qp, wr, sg=full)])


CHECK = Check(
    81, "sge-zero", Section.WRONG,
    question="Has an element of its list length 0?",
    rule="by the documents length 0 stands for 2^31 bytes, for drivers it is 0 bytes: an empty "
    "message has num_sge=0",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
