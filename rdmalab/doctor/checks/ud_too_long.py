"""ud-too-long: a datagram is one packet, and this one is longer than the port takes."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import room
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import SGE
from rdmalab.spec.states import QPState, QPType


def examine(case: Case) -> Finding:
    """Whether a datagram never left because it is longer than the port's MTU."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or qp.qp_type is not QPType.UD:
        return NA
    if send.ending is None or not case.asked or send.wqe.header is not None:
        return NA
    mtu, length = case.profile.caps.active_mtu, send.wqe.length
    if length <= mtu:
        return ok(f"it has {length} bytes, the MTU is {mtu}")
    if send.transmissions:
        return ok("it left in a packet")
    return fail(
        said(f"it has {length} bytes, and the port's MTU is {mtu}", send.posted),
        said(f"it ended with {send.ending.status.name}, and no packet left", send.ending.event),
        cure=_cure(case, qp, send.wqe, mtu),
        since=send.posted,
    )


def _cure(case: Case, qp: QueuePair, wqe: SendWqe, mtu: int) -> Fix:
    """Datagrams that fit, one behind the other, and a receive for each."""
    spans = [(start, min(start + mtu, wqe.length)) for start in range(0, wqe.length, mtu)]
    lines = _ready(case, qp)
    target = partners.target(case)
    if target is not None:
        missing = len(spans) - len(target.source.wqes)
        lines += [room(case, target, wqe.wr, mtu)] * max(0, missing)
    for span in spans:
        pieces = ",".join(simple_fixes.sge_words(case, qp.node, sge) for sge in _cut(wqe.sg, *span))
        lines.append(simple_fixes.post_send(case, qp, wqe.wr, sg=pieces))
    return Fix(lines)


def _ready(case: Case, qp: QueuePair) -> list[str]:
    """mlx5 stops the send queue for it."""
    if qp.state is QPState.SQE:
        return [f"modify_qp {case.qp_name(qp)} state=RTS"]
    return simple_fixes.revive(case, qp) if qp.state is QPState.ERR else []


def _cut(sg: list[SGE], start: int, stop: int) -> list[SGE]:
    """The bytes from start to stop of a list of pieces."""
    found, at = [], 0
    for sge in sg:
        first, last = max(start - at, 0), min(stop - at, sge.length)
        if first < last:
            found.append(SGE(sge.addr + first, last - first, sge.lkey))
        at += sge.length
    return found


CHECK = Check(
    58, "ud-too-long", Section.RECEIVE,
    question="Is the datagram longer than the MTU of the port?",
    rule="a datagram is one packet: one that is longer than the MTU never leaves",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
