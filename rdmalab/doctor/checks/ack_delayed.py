"""ack-delayed: the peer has it all, only the ACK has not come."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.delivery import answers, carried_out
from rdmalab.doctor.facts.send import Send
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said, wait
from rdmalab.views import fmt
from rdmalab.views.ladder import Fate, PacketRow


def examine(case: Case) -> Finding:
    """Whether it was carried out, and its ACK is late or lost."""
    send, qp = case.send, case.qp
    if send is None or qp is None or not send.on_queue or not qp.transport.acknowledged:
        return NA
    if not _is_acknowledged_only(send):
        return NA
    late = [row for row in answers(case) if row.fate is Fate.LOST or row.troubles]
    done = carried_out(case) if late else None
    if not late or done is None or not case.comes:
        return ok("no ACK for it is late or lost")
    peer = case.qp_name(case.peer) if case.peer is not None else "the peer"
    return wait(
        said(f"{peer} has carried it out: its data is there", done),
        said(f"its {_said(late[-1])}", late[-1].event), *_then(case, late[-1]), cure=Fix(["run"]),
    )  # fmt: skip


def _is_acknowledged_only(send: Send) -> bool:
    """A READ, or an atomic, has its data in the answer."""
    work = send.wqe.work if send.wqe is not None else None
    return work is not None and not work.outstanding


def _said(row: PacketRow) -> str:
    return f"{row.label} psn={row.psn} is {row.fate_text}"


def _then(case: Case, row: PacketRow) -> list[Evidence]:
    """When the timer asks for it again."""
    qp = case.qp
    if row.fate is not Fate.LOST or qp is None or qp.path is None or qp.path.answer_ns is None:
        return []
    text = f"the ack timer asks again at {fmt.clock(case.future.at_ns)} at the latest"
    return [said(text)]


CHECK = Check(
    41, "ack-delayed", Section.PROGRESS,
    question="Has the peer done it, and only the ACK is missing?",
    rule="a completion needs the ACK: without one the data may be there all the same",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
