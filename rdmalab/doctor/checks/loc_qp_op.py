"""loc-qp-op: the own queue pair cannot do that: an address handle, an opcode."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.ah import AddressHandle
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Which part of the request the queue pair could not use."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or send.ending is None or qp is None:
        return NA
    if send.ending.status is not WCStatus.LOC_QP_OP_ERR:
        return ok("the queue pair could do what it asks for")
    wqe = send.wqe
    ended = said("so it ended with LOC_QP_OP_ERR", send.ending.event)
    if wqe.work is None:
        opcode = fmt.member(wqe.wr.opcode, WROpcode)
        text = f"{case.qp_name(qp)} is {qp.qp_type.name}, and {opcode} is no operation of it here"
        cure = Fix(program="post an opcode that this type has: explain post_send")
        return fail(said(text, send.posted), ended, cure=cure)
    if qp.transport.connected:
        return NA
    wrong = _handle(case, wqe, qp)
    if wrong is None:
        return ok("its address handle may be used")
    posted = said(f"it was posted with ah={_ah_name(case, wqe)}", send.posted)
    return fail(posted, wrong, ended, cure=_cure(case, wqe, qp), since=wrong.event or send.posted)


def _ah_name(case: Case, wqe: SendWqe) -> str:
    return case.name(Noun.AH, case.node, wqe.wr.ah or 0)


def _handle(case: Case, wqe: SendWqe, qp: QueuePair) -> Evidence | None:
    """What is wrong with the address handle."""
    handle = _living(case, wqe)
    name = _ah_name(case, wqe)
    if handle is None:
        gone = [r for _, r in case.log.of(Kind.DESTROYED, case.node, wqe.wr.ah or 0)
                if r[A] == Noun.AH]  # fmt: skip
        return said(
            f"{name} was destroyed before it was done", event_of(gone[-1]) if gone else None
        )
    if handle.pd != qp.pd:
        theirs, ours = (case.name(Noun.PD, case.node, pd) for pd in (handle.pd, qp.pd))
        return said(f"{name} is of {theirs}, {case.qp_name(qp)} of {ours}", _made(case, wqe))
    index = handle.attr.sgid_index
    if not 0 <= index < len(case.hca.gids) or not case.hca.gids[index]:
        return said(f"{name} sends from entry {index} of the GID table, which is empty")
    return None


def _living(case: Case, wqe: SendWqe) -> AddressHandle | None:
    return wqe.av or case.hca.ahs.items.get(wqe.wr.ah or 0)


def _made(case: Case, wqe: SendWqe) -> int | None:
    made = [event_of(r) for _, r in case.log.of(Kind.CREATED, case.node, wqe.wr.ah or 0)
            if r[A] == Noun.AH]  # fmt: skip
    return made[-1] if made else None


def _cure(case: Case, wqe: SendWqe, qp: QueuePair) -> Fix:
    """A handle of its own domain with the same address, and the datagram once more."""
    name = simple_fixes.free_name(case, Noun.AH, case.node)
    line = _create(case, wqe, name, case.name(Noun.PD, case.node, qp.pd))
    if line is None:
        return Fix(program="keep the address handle until the datagram has completed")
    lines = simple_fixes.again(case, qp, wqe.wr, revived=True, ah=name)
    return Fix([*memory_fixes.revived(case, qp), line, *lines])


def _create(case: Case, wqe: SendWqe, name: str, pd: str) -> str | None:
    """Another one to where it leads, or led."""
    handle = _living(case, wqe)
    if handle is not None:
        address = simple_fixes.address_words(case, handle.attr)
        key = "to" if address in case.world.nodes else "attr"
        return f"create_ah {name} pd={pd} {key}={address}"
    event = _made(case, wqe)
    made = case.log.asked(event)[0] if event is not None else None
    if made is None or made.name != "create_ah":
        return None
    return memory_fixes.rephrased(
        case, made, ah=memory_fixes.new(Noun.AH, name), pd=memory_fixes.ref(pd)
    )


CHECK = Check(
    69, "loc-qp-op", Section.ERROR,
    question="Could the queue pair not use its opcode or its address handle?",
    rule="an address handle is of the QP's domain and lives until the datagram has completed",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
