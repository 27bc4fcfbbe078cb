"""psn-mismatch-ahead: the first packet looks as if others before it were lost."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import psn_mismatch
from rdmalab.doctor.facts.bring_up import ends
from rdmalab.doctor.finding import Check, Evidence, Finding, Section, said
from rdmalab.spec.records import A, Kind, event_of, object_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether the peer waits for packets that were never sent."""
    return psn_mismatch.examine(case, 1, _seen(case))


def _seen(case: Case) -> list[Evidence]:
    """The NAK that names a PSN which nobody ever sent."""
    both = ends(case)
    if both is None:
        return []
    for _, record in reversed(case.log.of(Kind.PACKET_SENT, both.receiver.node)):
        packet = record[A]
        own = object_of(record) == both.receiver.number
        if own and fmt.syndrome(packet) is Syndrome.NAK_SEQUENCE:
            text = f"{fmt.packet_words(packet)} came back: that packet was never sent"
            return [said(text, event_of(record))]
    return []


CHECK = Check(
    38, "psn-mismatch-ahead", Section.PROGRESS,
    question="Was its first packet number ahead of what the peer expects?",
    rule="rq_psn of one end must be sq_psn of the other; what is ahead is taken for a gap",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
