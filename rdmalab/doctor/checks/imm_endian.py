"""imm-endian: immediate data that look like a number nobody converted."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import taken
from rdmalab.doctor.facts.messages import Message, taking
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.hca.wqe import Cqe
from rdmalab.hca.wr import SendWR, swap_octets
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags
from rdmalab.world.relations import find_qp

SMALL = 1 << 16  # who swaps a number below that gets a large one


def examine(case: Case) -> Finding:
    """Whether the newest immediate data are small as stored, and large once converted."""
    if not case.asked:
        return NA
    if case.send is not None:
        return _sent(case)
    found = _received(case)
    if found is None:
        return NA
    event, cqe = found
    if not _looks_swapped(cqe.imm_data):
        return ok("its immediate data look as if htonl had been used", event)
    message = _message(case, cqe)
    posted = [said(f"{case.names.of(message.thing)} posted it so", message.posted)
              for _ in [0] if message is not None]  # fmt: skip
    return warn(said(_told(cqe.imm_data), event), *posted, cure=_cure(case, message))


def _looks_swapped(value: int) -> bool:
    return 0 < value < SMALL


def _told(value: int) -> str:
    swapped = swap_octets(value)
    return f"imm_data={value} lies in memory; who reads it by ntohl gets {swapped:#010x}, {swapped}"


def _sent(case: Case) -> Finding:
    send = case.send
    if send is None or send.wqe is None or send.wqe.work is None or not send.wqe.work.immediate:
        return NA
    value = send.wqe.wr.imm_data
    if not _looks_swapped(value):
        return ok("its immediate data look as if htonl had been used")
    return warn(said(_told(value), send.posted), cure=_program(value))


def _program(value: int) -> Fix:
    return Fix(program=f"imm_data is in network byte order: htonl({value})")


def _received(case: Case) -> tuple[int, Cqe] | None:
    """The newest completion with immediate data, of the CQ or of the receive."""
    if case.receive is not None and case.receive.added is not None:
        added = case.receive.added
        return (added.event, added.cqe) if _has_imm(added.cqe) else None
    if case.cq is None:
        return None
    for _, record in reversed(case.log.about(Kind.CQE_ADDED, case.subject.thing)):
        if _has_imm(record[A]):
            return event_of(record), record[A]
    return None


def _has_imm(cqe: Cqe) -> bool:
    good = cqe.status is WCStatus.SUCCESS and not cqe.is_send
    return good and bool(cqe.wc_flags & WCFlags.WITH_IMM)


def _message(case: Case, cqe: Cqe) -> Message | None:
    for _, record in reversed(case.log.of(Kind.RECV_TAKEN, case.node)):
        if (record[A].serial, record[A].srq) == (cqe.serial, cqe.srq):
            number = 0 if cqe.srq else cqe.qp_num
            return taking(case.world, case.log, case.node, number, record[A])
    return None


def _cure(case: Case, message: Message | None) -> Fix | None:
    """The message once more, converted."""
    qp = find_qp(case.world, *message.thing[1:]) if message is not None else None
    if message is None or qp is None:
        return None
    wr: SendWR = message.wqe.wr
    return Fix(taken.posted_again(case, qp, message, imm_data=f"htonl({wr.imm_data})"))


CHECK = Check(
    83, "imm-endian", Section.WRONG,
    question="Do its immediate data look like a number that nobody converted?",
    rule="imm_data is in network byte order: htonl when it is posted, ntohl when it is read",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
