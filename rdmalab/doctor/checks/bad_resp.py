"""bad-resp: an answer came that fits no request."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.spec.records import A, Kind, event_of, kind_of, node_of, object_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.views.ladder import packet_rows
from rdmalab.views.transit_effects import ORIGINS, Origin
from rdmalab.wire.packet import Packet


def examine(case: Case) -> Finding:
    """Which packet it was, and who has put it on the cable."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or send.ending is None or qp is None:
        return NA
    if send.ending.status is not WCStatus.BAD_RESP_ERR:
        return ok("what answered it fitted")
    answer = _answer(case)
    evidence = _told(case, answer) if answer is not None else []
    wanted = f"it asked for {send.wqe.length} bytes, from psn={send.wqe.first_psn} on"
    again = simple_fixes.again(case, qp, send.wqe.wr, revived=True)
    clear = ["fault clear"] if case.world.network.cable.faults else []
    return fail(
        *evidence,
        said(wanted, send.posted),
        said("an answer that does not fit ends it with BAD_RESP_ERR", send.ending.event),
        cure=Fix([*clear, *memory_fixes.revived(case, qp), *again]),
        since=evidence[0].event if evidence else None,
    )


def _answer(case: Case) -> Packet | None:
    """What arrived when it failed."""
    thing = case.subject.thing
    for record in case.log.within(case.ended):
        here = (node_of(record), object_of(record)) == (thing.node, thing.number)
        packet = record[A]
        if kind_of(record) is Kind.PACKET_RECEIVED and here and isinstance(packet, Packet):
            return packet
    return None


def _told(case: Case, answer: Packet) -> list[Evidence]:
    """How it came onto the cable."""
    found = [each for kind in ORIGINS for each in case.log.of(kind)
             if event_of(each.record) <= case.ended and each.record[A] == answer]  # fmt: skip
    if not found:
        return []
    row = packet_rows(case.world, case.names, [max(found).number])[0]
    how = {
        Origin.SENT: f"{row.qp} sent",
        Origin.COPIED: "a fault copied",
        Origin.INJECTED: "nobody sent, somebody put on the cable",
    }[row.origin]
    size = fmt.count(row.length, "byte")
    return [said(f"{how} {row.label} psn={row.psn} with {size}", row.event)]


CHECK = Check(
    76, "bad-resp", Section.ERROR,
    question="Did an answer come that fits no request?",
    rule="an answer has the kind, the PSN and the length that its request asks for",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
