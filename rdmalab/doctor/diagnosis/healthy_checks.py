"""Beside the chain: at what was looked where nothing is wrong, and what is going to happen."""

from collections.abc import Sequence

from rdmalab.command import Noun
from rdmalab.doctor.evidence.log import Call, Log
from rdmalab.doctor.evidence.made_good import Repeats
from rdmalab.doctor.evidence.subject import Subject
from rdmalab.session.session import Session
from rdmalab.spec.programs import BLOCKING
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.views.planned import planned_rows
from rdmalab.world.relations import find_qp, peer_of

_COUNTED = {
    Noun.QP: "queue pair", Noun.SRQ: "shared receive queue", Noun.CQ: "completion queue",
    Noun.PROGRAM: "program",
}  # fmt: skip


_ERRORS = ("_ERR", "_FATAL")


def looked_at(session: Session, log: Log, node: str = "") -> str:
    """`2 queue pairs, 1 send under way, 0 refused calls`; of one node, or of all."""
    hcas = [hca for name, hca in session.world.nodes.items() if node in ("", name)]
    counts = {noun: sum(len(hca.tables[noun].items) for hca in hcas) for noun in _COUNTED}
    if not any(counts.values()):
        return "nothing: there is no queue"
    lines = [fmt.count(count, _COUNTED[noun]) for noun, count in counts.items() if count]
    qps = [qp for hca in hcas for qp in hca.qps.items.values()]
    under_way = sum(serial >= qp.comp.serial for qp in qps for serial in qp.sq.wqes)
    lines.append(f"{fmt.count(under_way, 'send')} under way")
    unread = sum(len(hca.async_events) for hca in hcas)
    lines += [fmt.count(unread, "unread asynchronous event")] if unread else []
    refused = [call for call in log.refused() if node in ("", call.thing[0])]
    lines.append(fmt.count(len(refused), "refused call") + _since(log, refused))
    return ", ".join(lines)


def unread_errors(session: Session, node: str = "") -> list[str]:
    """Errors that no call has read yet: completions of a CQ, and events of a node."""
    found = []
    hcas = {name: hca for name, hca in session.world.nodes.items() if node in ("", name)}
    for cq in (cq for hca in hcas.values() for cq in hca.cqs.items.values()):
        names = list(dict.fromkeys(cqe.status.name for cqe in cq.cqes if cqe.status))
        if names and names != [WCStatus.WR_FLUSH_ERR.name]:  # flushes alone: a call ordered them
            many = fmt.count(sum(bool(cqe.status) for cqe in cq.cqes), "completion")
            where = session.names.of(cq.thing)
            found.append(f"{many} with an error to be polled on {where}: {fmt.listed(names, 3)}")
    for name, hca in hcas.items():
        errors = [event.name for event, _ in hca.async_events if event.name.endswith(_ERRORS)]
        if errors:
            many = fmt.count(len(errors), "asynchronous event")
            found.append(f"{many} of {name} not read: {fmt.listed(list(dict.fromkeys(errors)), 3)}")
    return found


def _since(log: Log, refused: Sequence[Call]) -> str:
    """A remark on refused calls: how many were repeated with success, would have blocked, or stood
    in a line `try`.
    """
    repeats = Repeats(log, refused)
    again = [call for call in refused if repeats.has(call)]
    left = [call for call in refused if call not in again]
    empty = sum(call.refusal in BLOCKING for call in left)
    tolerated = sum(call.tolerated and call.refusal not in BLOCKING for call in left)
    if refused and not left:
        return ", since repeated with success"
    parts = [f"{len(again)} since repeated with success"] if again else []
    parts += [f"{empty} that would have blocked"] if empty else []
    parts += [f"{tolerated} tolerated by its program"] if tolerated else []
    return f" ({', '.join(parts)})" if parts else ""


def coming(session: Session, subject: Subject) -> str:
    """The next thing that happens to it: `at 7.210 us: A.qp0 …`."""
    rows = planned_rows(session.world, session.names)
    if not rows:
        return "no packet, timer or program is pending"
    ends = _ends(session, subject)
    row = next((row for row in rows if row.qp in ends), rows[0])
    return f"at {fmt.clock(row.at_ns)} {row.qp or row.node} {row.sentence}"


def _ends(session: Session, subject: Subject) -> list[str]:
    """The names of the queue pair that it is about, and of its peer."""
    qp = find_qp(session.world, subject.thing.node, subject.thing.number)
    if subject.thing.noun is not Noun.QP or qp is None:
        return []
    found = [qp, peer_of(session.world, qp)]
    return [session.names.of(q.thing) for q in found if q is not None]
