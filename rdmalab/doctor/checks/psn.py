"""The first PSN of one end is not the one that the other end expects."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import psn_mismatch
from rdmalab.doctor.facts.bring_up import Ends, thing
from rdmalab.doctor.finding import Evidence, Finding, check, fact
from rdmalab.hca.psn import diff
from rdmalab.spec.records import Kind, event_of, packet_of, roce_packet_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.views import fmt


# ------------------------------------------------------------ psn-mismatch-ahead
# psn-mismatch-ahead: the first packet looks as if others before it were lost.
@check("psn-mismatch-ahead")
def psn_mismatch_ahead(case: Case) -> Finding:
    """Whether the peer waits for packets that were never sent."""
    return psn_mismatch.examine(case, 1, _missing)


def _missing(case: Case, both: Ends) -> list[Evidence]:
    """The NAK that names a PSN which was never sent."""
    for _, record in reversed(case.log.about(Kind.PACKET_SENT, thing(both.receiver))):
        packet = packet_of(record)
        if fmt.syndrome(packet) is Syndrome.NAK_SEQUENCE:
            text = f"{fmt.packet_words(packet)} came back: that packet was never sent"
            return [fact(text, event_of(record))]
    return []


# ------------------------------------------------------------ psn-mismatch-behind
# psn-mismatch-behind: the peer takes new packets for duplicates.
@check("psn-mismatch-behind")
def psn_mismatch_behind(case: Case) -> Finding:
    """Whether the peer acknowledges it as a duplicate, and delivers nothing."""
    return psn_mismatch.examine(case, -1, _duplicates)


def _duplicates(case: Case, both: Ends) -> list[Evidence]:
    """How many packets the peer took for duplicates."""
    expected = both.receiver.resp.psn
    old = [r for _, r in case.log.about(Kind.PACKET_RECEIVED, thing(both.receiver))
           if (packet := roce_packet_of(r)).opcode_row.request
           and diff(packet.psn, expected) < 0]  # fmt: skip
    if not old:
        return []
    many = fmt.count(len(old), "packet")
    text = f"{case.qp_name(both.receiver)} treated {many} as duplicates and delivered nothing"
    return [fact(text, event_of(old[-1]))]
