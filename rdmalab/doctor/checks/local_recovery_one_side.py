"""local-recovery-one-side: one end began anew, the other went on."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import began_alone, ends, is_in_vain, told
from rdmalab.doctor.facts.delivery import carried_out
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.states import Attr


def examine(case: Case) -> Finding:
    """Whether an end was reset since the other was brought up, and their PSNs fell apart."""
    send, both = case.send, ends(case)
    if send is None or send.wqe is None or both is None or not both.sender.transport.acknowledged:
        return NA
    alone = began_alone(case, both)
    if alone is None:
        return ok("neither end was reset since the other was brought up")
    sent, expected = both.sender.comp.psn, both.receiver.resp.psn
    hears = both.receiver.state_row.receives
    if sent == expected or not hears or carried_out(case) is not None or not is_in_vain(case):
        return ok("their packet numbers still fit")
    reset, at = alone
    other = both.receiver if reset is both.sender else both.sender
    return hinders(
        case, said(f"{case.qp_name(reset)} was reset; {case.qp_name(other)} went on", at),
        said(f"{case.qp_name(both.sender)} sends psn={sent}", told(case, both.sender, Attr.SQ_PSN)),
        said(f"{case.qp_name(both.receiver)} expects psn={expected}"),
        cure=Fix(recovery.reconnected(case, both.sender, send.wqe.wr)), since=at,
    )  # fmt: skip


CHECK = Check(
    26, "local-recovery-one-side", Section.LOCAL,
    question="Was one end reset, and the other not?",
    rule="a reset forgets the packet numbers; who goes on with the old ones takes the new for "
    "duplicates, or for a gap",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
