"""retry7-rxe: on Soft-RoCE retry_cnt 7 never gives up."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.facts.delivery import last_try
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.states import Attr
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.views import fmt

_CURE = {"retry_cnt": "6"}


def examine(case: Case) -> Finding:
    """Whether it is sent again and again to nobody, and the device does not count."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not send.on_queue:
        return NA
    if not case.profile.retry_cnt_7_is_infinite:
        return NA
    endless = qp.attr.retry_cnt == INFINITE_RETRIES and qp.comp.rnr_until_ns is None
    tries = [row for row in send.transmissions if row.psn == send.wqe.first_psn]
    if not endless or len(tries) <= INFINITE_RETRIES or case.future.settled:
        return ok("it is not sent again without end")
    since = told(case, qp, Attr.RETRY_CNT)
    last = last_try(case)[-1]
    lines = recovery.reconnected(case, qp, send.wqe.wr, _CURE, _CURE)
    return hinders(
        case, said(f"{case.qp_name(qp)} was told retry_cnt=7, which for this device "
                   "is without end", since),
        said(f"it was sent {fmt.count(len(tries), 'time')}, the last one {last.fate_text}",
             last.event),
        cure=Fix(lines), since=since,
    )  # fmt: skip


CHECK = Check(
    35, "retry7-rxe", Section.PROGRESS,
    question="Is it sent again without end, with retry_cnt 7 on Soft-RoCE?",
    rule="retry_cnt 7 means seven times by the book, and for ever on Soft-RoCE: take 6 at most",
    source="librxe", examine=examine,
)  # fmt: skip
