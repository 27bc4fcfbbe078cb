"""rnr-retry-exc: the peer had no receive, as often as rnr_retry allows."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Section, fail, ok, said
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """How many RNR NAKs came, and how many the requester puts up with."""
    send, qp = case.send, case.qp
    if send is None or send.ending is None or qp is None:
        return NA
    if send.ending.status is not WCStatus.RNR_RETRY_EXC_ERR:
        return ok("it was not given up for want of a receive")
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    many = f"{fmt.count(len(naks), 'RNR NAK')} came"
    evidence = [said(f"{many}, this was the last", row.event) for row in naks[-1:]]
    count = f"rnr_retry={qp.attr.rnr_retry} is used up: RNR_RETRY_EXC_ERR"
    return fail(*evidence, said(count, send.ending.event), since=send.ending.event)


CHECK = Check(
    74, "rnr-retry-exc", Section.ERROR,
    question="Did the peer answer RNR NAK more often than rnr_retry allows?",
    rule="after rnr_retry RNR NAKs the next one ends the request; 7 would mean without end",
    source="ibv_modify_qp(3)", examine=examine, station=True,
)  # fmt: skip
