"""psn-mismatch-behind: the peer takes all that is new for old."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import psn_mismatch
from rdmalab.doctor.facts.bring_up import ends, thing
from rdmalab.doctor.finding import Check, Evidence, Finding, Section, said
from rdmalab.hca.psn import diff
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether the peer acknowledges it as a duplicate, and delivers nothing."""
    return psn_mismatch.examine(case, -1, _seen(case))


def _seen(case: Case) -> list[Evidence]:
    """How many packets the peer took for duplicates."""
    both = ends(case)
    if both is None:
        return []
    expected = both.receiver.resp.psn
    old = [r for _, r in case.log.about(Kind.PACKET_RECEIVED, thing(both.receiver))
           if r[A].opcode_row.request and diff(r[A].psn, expected) < 0]  # fmt: skip
    if not old:
        return []
    many = fmt.count(len(old), "packet")
    text = f"{case.qp_name(both.receiver)} took {many} for duplicates and delivered nothing"
    return [said(text, event_of(old[-1]))]


CHECK = Check(
    39, "psn-mismatch-behind", Section.PROGRESS,
    question="Was its first packet number behind what the peer expects?",
    rule="rq_psn of one end must be sq_psn of the other; what is behind is taken for a duplicate",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
