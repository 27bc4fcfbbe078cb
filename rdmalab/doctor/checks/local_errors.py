"""The local adapter refuses the work request: LOC_LEN_ERR, LOC_PROT_ERR, LOC_QP_OP_ERR."""

import math
from typing import NamedTuple

from rdmalab.doctor.kit import *
from rdmalab.hca import srq
from rdmalab.hca.dma import Denied, MemoryUser
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.objects import AddressHandle
from rdmalab.spec.opcodes import WORD_OPS
from rdmalab.views import key_denials
from rdmalab.views.memory import scatters


@check("loc-len")
def loc_len(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """Check whether the receive is shorter than its message, or a send has an illegal length."""
    if not qp.transport.connected:
        return NA
    if ending.status is not WCStatus.LOC_LEN_ERR:
        return ok("its length is not refused")
    most, rule = case.profile.caps.max_msg_sz, "max_msg_sz of the port is {}"
    if wqe.op in WORD_OPS:
        most, rule = ATOMIC_BYTES, "an atomic moves exactly {}"
    cut = memory_fixes.first_bytes(case, wqe.wr, most)
    lines = memory_fixes.sent_when_ready(case, qp, wqe.wr, sg=cut)
    return fail(fact(f"{wqe.length} bytes were posted; {rule.format(most)}", send.posted),
                fact("the adapter refused it before it sent a packet: LOC_LEN_ERR", case.ended),
                cure=Fix(lines))  # fmt: skip


# --------------------------------------------------------------------------- receives
@loc_len.instead
def _receive(case: Case, receive: Receive, ending: Ending, qp: QueuePair) -> Finding:
    wqe, message = receive.wqe, case.message
    if wqe is None or not qp.transport.connected:
        return NA
    short = case.profile.refusals["receive-short"].status
    if ending.status not in (WCStatus.LOC_LEN_ERR, short) or message is None:
        return ok("no message was too long for it")
    written = sum(sge.length for sge in listed(message.wqe.wr))  # without the rule of length 0
    if min(written, message.wqe.length) <= wqe.length:
        return ok("it is long enough for the lengths that were posted")
    name = case.name(Noun.SRQ, qp.node, wqe.srq) if wqe.srq else case.qp_name(qp)
    return fail(
        fact(f"the receive wr_id={wqe.wr.wr_id} of {name} has room for {wqe.length} bytes; "
             f"{case.names.of(message.thing)} sends {message.wqe.length}", receive.posted),
        fact(f"{name_of(case.names, message.subject)} was posted", message.posted),
        fact(f"it ended with {ending.status.name}", ending.event),
        cure=_loc_len_cure(case, wqe, qp, message),
    )  # fmt: skip


def _loc_len_cure(case: Case, wqe: RecvWqe, qp: QueuePair, message: Message) -> Fix | None:
    sender = find_qp(case.world, *message.thing[1:])
    if sender is None:
        return None
    send = commands.post_send(case, sender, message.wqe.wr)
    number, length = wqe.wr.wr_id, message.wqe.length
    shared = case.shared_by(qp) if qp.srq else None
    if shared is not None and any(each.length < length for each in shared.wqes):
        # No call takes a receive from an SRQ: those on it stay too short.
        room = RecvWR(number, commands.piece(case, qp.node, shared.pd, length))
        return Fix([*recovery.on_new_srq(case, sender, qp, shared, [room]), send])
    longer = RecvWR(number, commands.longer(case, qp, wqe.sg, length))
    if sum(sge.length for sge in longer.sg) < length:
        name, peer = case.qp_name(qp), case.qp_name(sender)
        text = f"register {length} bytes for each receive of {name}, or let {peer} send "
        return Fix(program=f"{text}{wqe.length} at most: {case.node} has no room for more")
    return Fix([*commands.bring_up_again(case, qp), commands.post_recv(case, qp, longer), send])


class Memory(NamedTuple):
    """A use of buffers by a work request, and the adapter that uses them."""

    wr: SendWR | RecvWR
    rights: int
    user: MemoryUser


@check("loc-prot")
def loc_prot(
    case: Case, work: Send | Receive, entry: SendWqe | RecvWqe, ending: Ending, qp: QueuePair
) -> Finding:
    """The element of its list that the adapter was denied, and the test that denied it."""
    memory = _memory(case, qp)
    if memory is None or ending.status not in _statuses(case):
        return ok("the local adapter was denied no memory access")
    denials = key_denials.denials(case.hca, memory.user, memory.wr, memory.rights)
    if any(not listed(memory.wr)[denial.element].length for denial in denials):
        return ok("an element of length 0 is what was denied")
    if not denials and ending.status is not WCStatus.LOC_PROT_ERR:
        return ok("its buffers may be touched")
    ended = fact(f"it ended with {ending.status.name}", ending.event)
    gone = key_lookup.lost(case, case.hca, memory.wr)
    since = ending.event if gone else work.posted
    tests = [fact(key_lookup.denial_text(case, denial, memory.user), work.posted)
             for denial in denials[:2]]  # fmt: skip
    tests += [each for denial in denials[:1] for each in key_lookup.changed(case, denial)]
    tests = tests or [fact("a buffer of it could not be touched then; now it could", work.posted)]
    cure = _stale(work.posted, gone) if gone else memory_fixes.posted_with(case, qp, *memory)
    return fail(*tests, ended, cure=cure, since=since)


@loc_prot.instead
def _beyond(case: Case, receive: Receive, qp: QueuePair) -> Finding | None:
    """Of a receive that has not failed: an element of its list is no good, as its post warned."""
    memory = _memory(case, qp)
    if memory is None or not case.asked or (receive.ending and receive.ending.status):
        return None
    for denial in key_denials.denials(case.hca, memory.user, memory.wr, memory.rights):
        gone = key_lookup.former(case, denial.node, denial.key, math.inf)
        is_open = denial.opened(case.hca) is not None
        dead = not is_open and (gone is None or gone.event < (receive.posted or 0))
        if dead or (is_open and denial.why is Denied.RANGE):
            text = key_lookup.denial_text(case, denial, memory.user)
            later = "a longer message fails with LOC_PROT_ERR"
            cure = Fix(program="name a registered region in each element of sg_list, and end in it")
            return warn(fact(text, receive.posted), fact(later), cure=cure)
    return None


def _stale(posted: int | None, gone: list[tuple[int, key_lookup.Gone]]) -> Fix | None:
    """Posted with the key of a region that was gone already: no command should bring it back."""
    if posted is None or any(not each.dead or each.event > posted for _, each in gone):
        return None
    return Fix(program="post with the lkey of a region that is registered")


def _statuses(case: Case) -> tuple[WCStatus | None, ...]:
    """The status that a denied buffer ends with on this device."""
    if case.send is not None:
        return WCStatus.LOC_PROT_ERR, case.profile.unknown_lkey_status
    return WCStatus.LOC_PROT_ERR, case.profile.refusals["receive-denied"].status


def _memory(case: Case, qp: QueuePair) -> Memory | None:
    entry = case.entry
    if isinstance(entry, RecvWqe):
        return Memory(entry.wr, int(Access.LOCAL_WRITE), srq.receiver(case.hca, qp, entry))
    if entry is None or entry.work is None or entry.inline is not None:
        return None
    return Memory(entry.wr, int(Access.LOCAL_WRITE) if scatters(entry) else 0, qp)


@check("loc-qp-op")
def loc_qp_op(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """The part of the request that the queue pair could not use."""
    if ending.status is not WCStatus.LOC_QP_OP_ERR:
        return ok("the queue pair could do what it asks for")
    ended = fact("it ended with LOC_QP_OP_ERR", ending.event)
    if wqe.work is None:
        opcode = fmt.member(wqe.wr.opcode, WROpcode)
        text = f"{case.qp_name(qp)} is {qp.qp_type.name}, and {opcode} is no operation of it here"
        cure = Fix(program="post an opcode that this type has: explain post_send")
        return fail(fact(text, send.posted), ended, cure=cure)
    if qp.transport.connected:
        return NA
    wrong = _handle(case, wqe, qp)
    if wrong is None:
        return ok("its address handle may be used")
    posted = fact(f"it was posted with ah={case.names.of(_ah(case, wqe))}", send.posted)
    since, cure = wrong.event or send.posted, _loc_qp_op_cure(case, wqe, qp)
    return fail(posted, wrong, ended, cure=cure, since=since)


def _ah(case: Case, wqe: SendWqe) -> Thing:
    return Thing(Noun.AH, case.node, wqe.wr.ah or 0)


def _handle(case: Case, wqe: SendWqe, qp: QueuePair) -> Evidence | None:
    """Evidence against the address handle."""
    handle, ah = _living(case, wqe), _ah(case, wqe)
    name = case.names.of(ah)
    if handle is None:
        event = case.log.destroyed(ah)
        return fact(f"{case.log.who(event)} destroyed {name} before it was done", event)
    if handle.pd != qp.pd:
        theirs, ours = (case.name(Noun.PD, case.node, pd) for pd in (handle.pd, qp.pd))
        return fact(f"{name} is of {theirs}, {case.qp_name(qp)} of {ours}", case.log.created(ah))
    index = handle.attr.sgid_index
    if not 0 <= index < len(case.hca.gids) or not case.hca.gids[index]:
        return fact(f"{name} sends from entry {index} of the GID table, which is empty")
    return None


def _living(case: Case, wqe: SendWqe) -> AddressHandle | None:
    return wqe.av or case.hca.ahs.items.get(wqe.wr.ah or 0)


def _loc_qp_op_cure(case: Case, wqe: SendWqe, qp: QueuePair) -> Fix:
    """A handle of its own domain with the same address, and the datagram once more."""
    name = commands.free_name(case, Noun.AH, case.node)
    line = _create(case, wqe, name, case.name(Noun.PD, case.node, qp.pd))
    if line is None:
        return Fix(program="keep the address handle until the datagram has completed")
    lines = commands.again(case, qp, wqe.wr, after_reset=True, ah=name)
    back = commands.addresses(case.world, case.node)
    return Fix([*back, *memory_fixes.ready_to_send(case, qp), line, *lines])


def _create(case: Case, wqe: SendWqe, name: str, pd: str) -> str | None:
    """Another one to where it leads, or led."""
    handle = _living(case, wqe)
    if handle is not None:
        address = commands.address_words(case.world, handle.attr)
        key = "to" if address in case.world.nodes else "attr"
        return f"create_ah {name} pd={pd} {key}={address}"
    made, _ = case.log.asked(case.log.created(_ah(case, wqe)))
    if made is None or made.name != "create_ah":
        return None
    own = {"ah": memory_fixes.new(Noun.AH, name), "pd": memory_fixes.ref(pd)}
    return memory_fixes.rephrased(case, made, **own)
