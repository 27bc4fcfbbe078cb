"""timeout-huge: it will be sent again, long after everybody has lost patience."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said, warn
from rdmalab.doctor.fixes import recovery
from rdmalab.doctor.outcome import Status
from rdmalab.doctor.what_if import PATIENCE_NS, look_ahead
from rdmalab.spec.records import at_ns_of
from rdmalab.spec.states import Attr
from rdmalab.views import fmt

_CURE = {"timeout": "14"}


def examine(case: Case) -> Finding:
    """Whether all that is wrong is how long it waits before it is sent again."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not send.on_queue or not send.begun:
        return NA
    wait_ns = qp.path.answer_ns if qp.path is not None else None
    if wait_ns is None or not qp.comp.watching or not qp.transport.acknowledged:
        return ok("no ack timer runs")
    tries = (qp.attr.retry_cnt or 0) + 1
    if tries * wait_ns <= PATIENCE_NS:
        return ok(f"it gives up after {fmt.duration(tries * wait_ns)} at the latest")
    if case.future.settled:
        return ok("it is settled before anybody loses patience")
    since = told(case, qp, Attr.TIMEOUT)
    evidence = (
        said(f"{case.qp_name(qp)} was told timeout={qp.attr.timeout}: "
             f"{fmt.duration(wait_ns)} before each new try", since),
        said(f"{fmt.count(tries, 'try').replace('trys', 'tries')} take "
             f"{fmt.duration(tries * wait_ns)}; {tries - 1 - qp.comp.retried} are left"),
        said(f"it has waited {fmt.duration(_waited_ns(case))} so far", send.posted),
    )  # fmt: skip
    far = look_ahead(case.session, case.subject, tries * wait_ns)
    if far.settled and far.standing.kind is not Status.COMPLETED:
        return warn(*evidence)  # another try would not help: it is slow to say so, no more
    lines = recovery.reconnected(case, qp, send.wqe.wr, _CURE, _CURE)
    return hinders(case, *evidence, cure=Fix(lines), since=since)


def _waited_ns(case: Case) -> int:
    posting = case.send.posting if case.send is not None else None
    return case.world.now_ns - (at_ns_of(posting) if posting is not None else 0)


CHECK = Check(
    34, "timeout-huge", Section.PROGRESS,
    question="Do all tries together take longer than anybody waits?",
    rule="each try waits 4.096 us * 2^timeout, and there are retry_cnt + 1 of them",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
