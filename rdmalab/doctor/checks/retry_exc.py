"""retry-exc: sent as often as retry_cnt allows, and never answered."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Section, fail, ok, said
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.ladder import PacketRow

SHOWN = 3  # transmissions that are told one by one, the last among them


def examine(case: Case) -> Finding:
    """What became of each transmission."""
    send, qp = case.send, case.qp
    if send is None or send.ending is None or qp is None:
        return NA
    if send.ending.status is not WCStatus.RETRY_EXC_ERR:
        return ok("it was not given up for want of an answer")
    rows = send.transmissions
    told = [_told(row) for row in (rows if len(rows) <= SHOWN else [*rows[:2], rows[-1]])]
    count = f"retry_cnt={qp.attr.retry_cnt} is used up: RETRY_EXC_ERR"
    return fail(*told, said(count, send.ending.event), since=send.ending.event)


def _told(row: PacketRow) -> Evidence:
    return said(f"{row.text}: {row.fate_text}", row.event)


CHECK = Check(
    73, "retry-exc", Section.ERROR,
    question="Was it sent again and again, and never answered?",
    rule="after retry_cnt retries without an answer the requester gives up; the fate of its "
    "packets tells why none came",
    source="ibv_modify_qp(3)", examine=examine, station=True,
)  # fmt: skip
