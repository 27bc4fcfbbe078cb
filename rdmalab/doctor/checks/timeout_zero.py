"""timeout-zero: something was lost, and timeout 0 waits for ever."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.facts.delivery import answers, last_try
from rdmalab.doctor.finding import (
    NA,
    Check,
    Evidence,
    Finding,
    Fix,
    Section,
    hinders,
    ok,
    said,
    warn,
)
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.states import Attr
from rdmalab.views.ladder import Fate

_GONE = (Fate.LOST, Fate.DROPPED)
_CURE = {"timeout": "14"}


def examine(case: Case) -> Finding:
    """Whether it waits for an answer, without a timer, that cannot come any more."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not qp.transport.acknowledged:
        return NA
    if not send.on_queue or not send.begun or qp.attr.timeout or qp.comp.rnr_until_ns is not None:
        return ok("it does not wait without a timer")
    gone = [row for row in (*last_try(case), *answers(case)) if row.fate in _GONE]
    if not gone or case.comes:
        return _careless(case)
    since = told(case, qp, Attr.TIMEOUT)
    lost = [said(f"{row.label} psn={row.psn} from {row.source} is {row.fate_text}", row.event)
            for row in gone[:2]]  # fmt: skip
    lines = recovery.reconnected(case, qp, send.wqe.wr, _CURE, _CURE)
    return hinders(case, *_told(case, since), *lost, cure=Fix(lines), since=since)


def _careless(case: Case) -> Finding:
    """It goes well as long as nothing is lost."""
    assert case.qp is not None
    if not case.asked:
        return ok("timeout is 0, and nothing was lost")
    return warn(*_told(case, told(case, case.qp, Attr.TIMEOUT)))


def _told(case: Case, since: int | None) -> list[Evidence]:
    assert case.qp is not None
    text = f"{case.qp_name(case.qp)} was told timeout=0: no timer runs, nothing is sent again"
    return [said(text, since)]


CHECK = Check(
    33, "timeout-zero", Section.PROGRESS,
    question="Was a packet or its answer lost, and timeout is 0?",
    rule="timeout 0 waits for ever: what is lost is never sent again; 14 to 20 is usual",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
