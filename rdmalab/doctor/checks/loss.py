"""loss: the cable lost what was sent, or what was answered."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import obstacles
from rdmalab.doctor.facts.bring_up import is_in_vain
from rdmalab.doctor.facts.delivery import answers, by_fault, carried_out, faults_behind, last_try
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.records import Kind, event_of, object_of
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow


def examine(case: Case) -> Finding:
    """Whether its last try, or the answer to it, was lost on the cable."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not qp.transport.acknowledged:
        return NA
    if not (send.gave_up or send.on_queue):
        return ok("it did not wait in vain for an answer")
    asked = [row for row in last_try(case) if by_fault(row)]
    told = [row for row in answers(case) if by_fault(row)]
    if not (asked or told):
        return ok("the cable lost nothing of its last try")
    if obstacles.narrow_link(case) or obstacles.dead_address(case):
        return ok("it is no accident: all packets of its kind are lost on the way")
    if not asked and not is_in_vain(case) and carried_out(case) is not None:
        return ok("the peer has done it; only the ACK is missing")
    lost = [row for row in (*send.transmissions, *answers(case)) if by_fault(row)]
    more = fmt.count(len(lost) - 1, "packet")
    return hinders(
        case, said(_fate(lost[0]), lost[0].event),
        *([said(f"{more} more of it or its answers, the last one {_fate(lost[-1])}",
                lost[-1].event)] if len(lost) > 1 else []),
        cure=_cure(case, lost), since=_since(case, lost),
    )  # fmt: skip


def _fate(row: PacketRow) -> str:
    return f"{row.label} psn={row.psn} from {row.source} is {row.fate_text}"


def _since(case: Case, lost: list[PacketRow]) -> int | None:
    """When the first of these faults was set."""
    numbers = faults_behind(case, lost)
    set_ = [event_of(r) for _, r in case.log.of(Kind.FAULT_SET) if object_of(r) in numbers]
    return min(set_, default=None)


def _cure(case: Case, lost: list[PacketRow]) -> Fix | None:
    """Without the faults that are still set; for what still waits that is all."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return None
    there = {fault.number for fault in case.world.network.cable.faults}
    lines = [f"fault clear {n}" for n in faults_behind(case, lost) if n in there]
    if send.ending is not None:
        return Fix([*lines, *recovery.anew(case, qp, send.wqe.wr)])
    return Fix(lines or ["run"])


CHECK = Check(
    40, "loss", Section.PROGRESS,
    question="Did the cable lose its packets, or the answers to them?",
    rule="what is lost is sent again when the ack timer fires, retry_cnt times at most",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
