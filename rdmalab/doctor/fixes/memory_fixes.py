"""Cures for memory that may not be touched: rights added, ends cut off, keys corrected.

A mend is lines to be carried out first and, in words, the list or the place to be named instead.
"""

from collections.abc import Callable
from typing import NamedTuple

from rdmalab.command import CallArguments, Invocation, New, Noun, Ref
from rdmalab.doctor.case import Case, QueuePair
from rdmalab.doctor.evidence.finding import Fix
from rdmalab.doctor.evidence.messages import Piece
from rdmalab.doctor.facts.key_lookup import refused_registration
from rdmalab.doctor.fixes.refused_calls import advice
from rdmalab.grammar.format import render
from rdmalab.hca.device import Hca
from rdmalab.hca.dma import Denied, MemoryUser
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.objects import KeyTarget, MemoryRegion
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.repair import commands
from rdmalab.spec.access import Access, Rereg, needs_local_write
from rdmalab.spec.states import QPState
from rdmalab.views import fmt, key_denials
from rdmalab.views.key_denials import Denial
from rdmalab.world.relations import find_qp, peer_of


class MemoryFix(NamedTuple):
    """The lines to carry out first, the address and key to use instead, and its bytes.

    note: how that differs from what the program wanted.
    """

    lines: list[str]
    sg: str
    length: int
    note: str = ""


# --------------------------------------------------------------------------- names, queue pairs
def new(noun: Noun, name: str) -> New:
    """`A.ah1` as a name to be given."""
    node, _, rest = name.partition(".")
    return New(noun, node, rest)


def ref(name: str) -> Ref:
    """`A.pd0` as a name."""
    node, _, rest = name.partition(".")
    return Ref(node, rest)


def region_ref(text: str) -> Ref:
    """`A.mr0[0:8]` as a name."""
    name, _, rest = text.rstrip("]").partition("[")
    start, _, stop = rest.partition(":")
    named = ref(name)
    return Ref(named.node, named.name, int(start), int(stop))


def rephrased(case: Case, invocation: Invocation, **changed: object) -> str:
    """Command line with other arguments; None as a value leaves the argument out."""
    arguments = {**invocation.arguments, **changed}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    return render(Invocation(invocation.name, arguments), case.session.vocabulary[invocation.name])


def ready_to_send(case: Case, qp: QueuePair, ours: commands.Attributes | None = None,
            theirs: commands.Attributes | None = None) -> list[str]:  # fmt: skip
    """The lines after which a QP sends again: none, SQE to RTS, or a reconnection of both ends."""
    if qp.state is QPState.SQE:
        return [f"modify_qp {case.qp_name(qp)} state=RTS cur_qp_state=SQE"]
    peer = peer_of(case.world, qp)
    well = all(q is None or q.state is QPState.RTS for q in (qp, peer))
    same = well and not ours and not theirs
    return [] if same else commands.bring_up_again(case, qp, ours, theirs)


def sent_when_ready(
    case: Case, qp: QueuePair, wr: SendWR, ours: commands.Attributes | None = None,
    theirs: commands.Attributes | None = None, **changed: object,
) -> list[str]:  # fmt: skip
    """The lines after which a QP sends again, and the request once more, changed or not."""
    ready = ready_to_send(case, qp, ours, theirs)
    return ready + commands.again(case, qp, wr, after_reset=True, **changed)


def at(place: str) -> CallArguments:
    """The changes of a request that names this place of the peer instead of an address and key."""
    return {"remote": place, "remote_addr": None, "rkey": None}


def a_message(case: Case, qp: QueuePair, length: int) -> list[str]:
    """A SEND of so many bytes, so that a receive at the peer of `qp` is met."""
    mr = commands.region(case, qp.node, qp.pd, length)
    if mr is None:
        return []
    return [f"post_send {case.qp_name(qp)} opcode=SEND sg={_piece(case, qp.node, mr, 0, length)}"]


# --------------------------------------------------------------------------- local memory
def posted_with(
    case: Case, qp: QueuePair, wr: SendWR | RecvWR, rights: int, user: MemoryUser
) -> Fix | None:
    """The request once more, with memory that may be touched; a receive with its message, too."""
    correction = corrected(case, user, case.hca, wr, rights)
    if correction is None:
        return None
    if isinstance(wr, SendWR):
        return Fix([*correction.lines, *sent_when_ready(case, qp, wr, sg=correction.sg)])
    came, peer = case.message, case.peer
    sender = find_qp(case.world, *came.thing[1:]) if came is not None else None
    message = a_message(case, peer, correction.length) if peer is not None else []
    if came is not None and sender is not None:
        message = [commands.post_send(case, sender, came.wqe.wr)]
    ready = ready_to_send(case, qp) if case.has_ended else commands.bring_up_again(case, qp)
    return Fix([*correction.lines, *ready, commands.post_recv(case, qp, wr, sg=correction.sg),
                *message])  # fmt: skip


def corrected(
    case: Case, user: MemoryUser, hca: Hca, wr: SendWR | RecvWR, rights: int
) -> MemoryFix | None:
    """The whole list so that the adapter may touch all of it; elements of length 0 are left out."""
    wrong = {denial.element: denial for denial in key_denials.denials(hca, user, wr, rights)}
    lines: list[str] = []
    pieces: list[str] = []
    length = 0
    for index, sge in enumerate(listed(wr)):
        if not sge.length:
            continue
        correction: MemoryFix | None
        correction = MemoryFix([], commands.sge_words(case, hca.node, sge), sge.length)
        if (denial := wrong.get(index)) is not None:
            correction = _BY_TEST[denial.why](case, user, sge, denial)
        if correction is None:
            return None
        lines += [line for line in correction.lines if line not in lines]
        pieces.append(correction.sg)
        length += correction.length
    return MemoryFix(lines, ",".join(pieces), length)


def _unlock(case: Case, user: MemoryUser, sge: SGE, denial: Denial) -> MemoryFix | None:
    """The region is the right one: let it allow that."""
    mr = case.world.nodes[denial.node].lkeys[denial.key]
    assert isinstance(mr, MemoryRegion)
    lines = allowing(case, denial.node, mr, user.pd, denial.rights)
    if lines is None:
        return _register(case, user, sge, denial)
    return MemoryFix(lines, commands.sge_words(case, denial.node, sge), sge.length)


def as_refused(case: Case, denial: Denial) -> MemoryFix | None:
    """The refused registration in legal words, and the beginning of its memory; None if the key
    that was denied is not that of a refused one.
    """
    call = refused_registration(case) if denial.why is Denied.KEY else None
    asked = None if call is None else Case(case.session, call.subject, case.log, asked=True)
    line = advice(asked).line if asked is not None else ""
    if not line:
        return None
    name, end = line.split()[1], f":{denial.length}" if denial.is_local else ""
    return MemoryFix([line], f"{name}[0{end}]", denial.length)


def _find(case: Case, user: MemoryUser, sge: SGE, denial: Denial) -> MemoryFix | None:
    """The key is wrong: the address may tell which region was meant, or bytes of no region."""
    if (made := as_refused(case, denial)) is not None:
        return made
    hca = case.world.nodes[denial.node]
    mr = key_denials.other_use(hca, denial)
    if mr is None or not _holds(mr, sge.addr, sge.length):
        mr = _region(case, user, denial, lambda mr: _holds(mr, sge.addr, sge.length))
    if mr is not None and mr.pd == user.pd and mr.access & denial.rights == denial.rights:
        return MemoryFix([], _piece(case, hca.node, mr, sge.addr - mr.iova, sge.length), sge.length)
    return _register(case, user, sge, denial)


def _register(case: Case, user: MemoryUser, sge: SGE, denial: Denial) -> MemoryFix | None:
    """Register these very bytes; or take others, where they are no memory of the program."""
    hca = case.world.nodes[denial.node]
    if hca.memory.is_mapped(sge.addr, sge.length):
        rights = denial.rights | Access.LOCAL_WRITE
        name, line = registration(case, hca.node, user.pd, (sge.addr, sge.length), rights)
        return MemoryFix([line], f"{name}[0:{sge.length}]", sge.length)
    mr = commands.region(case, hca.node, user.pd, sge.length, denial.rights)
    piece = None if mr is None else _piece(case, hca.node, mr, 0, sge.length)
    return None if piece is None else MemoryFix([], piece, sge.length)


def registration(case: Case, node: str, pd: int, there: Piece, rights: int) -> tuple[str, str]:
    """A free name of a region, and the line that registers these bytes under it."""
    name, (addr, length) = commands.free_name(case, Noun.MR, node), there
    given = f"pd={case.name(Noun.PD, node, pd)} addr={addr:#x} length={length}"
    return name, f"reg_mr {name} {given} access={fmt.flags(rights, Access)}"


def _shorten(case: Case, user: MemoryUser, sge: SGE, denial: Denial) -> MemoryFix | None:
    """Up to the end of the region; the rest by the key of the next, where one follows."""
    hca = case.world.nodes[denial.node]
    mr = hca.lkeys[denial.key]
    assert isinstance(mr, MemoryRegion)
    start, stop = sge.addr, mr.iova + mr.length
    if not mr.iova <= start < stop:
        return _find(case, user, sge, denial)
    end = sge.addr + sge.length
    pieces, reached = [_piece(case, hca.node, mr, start - mr.iova, stop - start)], stop
    rest = _region(case, user, denial, lambda mr: _holds(mr, stop, end - stop))
    if rest is not None:
        pieces.append(_piece(case, hca.node, rest, stop - rest.iova, end - stop))
        reached = end
    return MemoryFix([], ",".join(pieces), reached - start)


_LOW_HALF = 0xFFFF_FFFF  # of an address: what a variable of 32 bits keeps

_BY_TEST: dict[Denied, Callable[[Case, MemoryUser, SGE, Denial], MemoryFix | None]] = {
    Denied.KEY: _find,
    Denied.PD: _unlock,
    Denied.QP: _find,
    Denied.RIGHTS: _unlock,
    Denied.RANGE: _shorten,
}


def allowing(case: Case, node: str, mr: MemoryRegion, pd: int, rights: int) -> list[str] | None:
    """Register a region again in a PD, with these rights added.

    None if the device cannot, or if another queue of the region's PD can use the region.
    """
    needed = rights | (Access.LOCAL_WRITE if needs_local_write(rights) else 0)
    flags, pieces = Rereg(0), []
    if mr.pd != pd:
        hca = case.world.nodes[node]
        if any(
            queue.pd == mr.pd for table in (hca.qps, hca.srqs) for queue in table.items.values()
        ):
            return None
        flags |= Rereg.CHANGE_PD
        pieces.append(f"pd={case.name(Noun.PD, node, pd)}")
    if mr.access & needed != needed:
        flags |= Rereg.CHANGE_ACCESS
        pieces.append(f"access={fmt.flags(mr.access | needed, Access)}")
    if int(flags) & ~case.world.nodes[node].profile.rereg_changes:
        return None
    name = case.name(Noun.MR, node, mr.number)
    return [f"rereg_mr {name} flags={fmt.flags(int(flags), Rereg)} {' '.join(pieces)}"]


# --------------------------------------------------------------------------- the peer's memory
def target(case: Case, peer: QueuePair, wr: SendWR, denial: Denial) -> MemoryFix | None:
    """Memory of the peer to name instead, and the number of its bytes."""
    hca = case.world.nodes[peer.node]
    opened = hca.rkeys.get(wr.rkey)
    if isinstance(opened, MemoryRegion):
        lines: list[str] | None = []
        if denial.why in (Denied.PD, Denied.RIGHTS):
            lines = allowing(case, peer.node, opened, peer.pd, denial.rights)
        if lines is not None and opened.iova <= wr.remote_addr < opened.iova + opened.length:
            return _at(case, hca, opened, wr.remote_addr, denial, lines)
    elif opened is not None and denial.why is Denied.RANGE:
        return _in_window(case, hca, opened, denial)
    mr = key_denials.other_use(hca, denial)
    if mr is None or not _opens(mr, peer.pd, denial):
        mr = _region(case, peer, denial, lambda mr: _opens(mr, peer.pd, denial))
    if mr is not None:
        return _at(case, hca, mr, wr.remote_addr, denial, [])
    if isinstance(opened, MemoryRegion) and denial.why is Denied.RANGE:
        return _in_region_of_key(case, hca, opened, denial)
    return registered_again(case, peer, denial)


def _in_region_of_key(case: Case, hca: Hca, mr: MemoryRegion, denial: Denial) -> MemoryFix:
    """The region that the key opens, and no other one: where the address is the low half of one
    in it, there; else at its beginning.
    """
    whole = mr.iova & ~_LOW_HALF | denial.addr
    is_cut = denial.addr <= _LOW_HALF and mr.iova <= whole < mr.iova + mr.length
    note = _moved(hca, denial, f"is the low half of {whole:#x}" if is_cut else "")
    return _at(case, hca, mr, whole if is_cut else mr.iova, denial, [])._replace(note=note)


def _in_window(case: Case, hca: Hca, opened: KeyTarget, denial: Denial) -> MemoryFix:
    """As much of it as the window has; from its beginning, if it begins outside."""
    start = denial.addr - opened.iova
    moved = not 0 <= start < opened.length
    start = 0 if moved else start
    name = key_denials.name_of(case.names, hca.node, opened)
    length = min(denial.length, opened.length - start)
    note = _moved(hca, denial, f"lies outside {name}") if moved else _cut(name, length, denial)
    return MemoryFix([], f"{name}[{start}]", length, note)


def _moved(hca: Hca, denial: Denial, why: str) -> str:
    return f"the target changes: {denial.addr:#x} {why or f'lies in no region of {hca.node}'}"


def _cut(name: str, length: int, denial: Denial) -> str:
    """The note of a fix that transfers fewer bytes than were asked for; empty if it does not."""
    if length >= denial.length:
        return ""
    return f"shortened to {length} bytes, which is what {name} has there; or register more"


def _at(case: Case, hca: Hca, mr: MemoryRegion, addr: int, denial: Denial,
        lines: list[str]) -> MemoryFix:  # fmt: skip
    start = addr - mr.iova
    name, length = case.name(Noun.MR, hca.node, mr.number), min(denial.length, mr.length - start)
    note = _cut(name, length, denial) if addr == denial.addr else _moved(hca, denial, "")
    return MemoryFix(lines, f"{name}[{start}]", length, note)


def first_bytes(case: Case, wr: SendWR, length: int) -> str:
    """The list of the send that is asked about, with no more than so many bytes."""
    pieces: list[str] = []
    for sge in listed(wr):
        if length <= 0:
            break
        cut = SGE(sge.addr, min(sge.length, length), sge.lkey)
        pieces.append(commands.sge_words(case, case.node, cut))
        length -= sge.length
    return ",".join(pieces)


def registered_again(case: Case, peer: QueuePair, denial: Denial) -> MemoryFix | None:
    """Register these bytes of the peer, or some others of it."""
    hca, rights = case.world.nodes[peer.node], denial.rights
    if needs_local_write(rights):
        rights |= Access.LOCAL_WRITE
    mr = commands.region(case, peer.node, peer.pd, denial.length, rights)
    if hca.memory.is_mapped(denial.addr, denial.length):
        there = denial.addr, denial.length
        name, line = registration(case, peer.node, peer.pd, there, rights)
        return MemoryFix([line], f"{name}[0]", denial.length)
    first = _region(case, peer, denial, lambda mr: _opens(mr, peer.pd, denial, 1))
    if first is not None:
        return _at(case, hca, first, denial.addr, denial, [])
    return None if mr is None else _at(case, hca, mr, mr.iova, denial, [])


# --------------------------------------------------------------------------- regions
def _region(
    case: Case, user: MemoryUser, denial: Denial, fits: Callable[[MemoryRegion], bool]
) -> MemoryRegion | None:
    return commands.region(case, denial.node, user.pd, rights=denial.rights, fits=fits)


def _holds(mr: MemoryRegion, addr: int, length: int) -> bool:
    return mr.iova <= addr and addr + length <= mr.iova + mr.length


def _opens(mr: MemoryRegion, pd: int, denial: Denial, length: int = 0) -> bool:
    """Whether a region has these bytes, or the first of them, and allows what was denied."""
    allowed = mr.pd == pd and mr.access & denial.rights == denial.rights and mr.rkey != 0
    return allowed and _holds(mr, denial.addr, length or denial.length)


def _piece(case: Case, node: str, mr: MemoryRegion, start: int, length: int) -> str:
    return f"{case.name(Noun.MR, node, mr.number)}[{start}:{start + length}]"
