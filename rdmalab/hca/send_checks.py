"""Checks of `ibv_post_send` on a request, in this order, before it is queued."""

from collections.abc import Callable, Mapping
from functools import cache

from rdmalab.command import Refused
from rdmalab.hca import invalid_pointers, offloads
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.access import MWType
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS, PacketPlace, code_of
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.states import BRING_UP, QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import FLAG_TYPES, WORK, SendFlags, Work, WROpcode

_BIND_MW = WROpcode.BIND_MW
_INLINE = int(SendFlags.INLINE)
_KNOWN_FLAGS = sum(SendFlags)
_CHOOSY = int(SendFlags.FENCE | SendFlags.IP_CSUM)  # all others go with every type
# Flags that need no check.
_ALWAYS_GOOD = frozenset({SendFlags(0), SendFlags.SIGNALED})


def _has_code(qp_type: QPType, row: Work) -> bool:
    """True if packets of this service carry it; raw packets and local work need no code."""
    service = TRANSPORTS[qp_type].service
    if row.message is None or service is None:
        return True
    part = (service, row.message, PacketPlace.ONLY, row.immediate, row.invalidate)
    return part in code_of


@cache
def supported_work(qp_type: QPType, lacks: frozenset[tuple[QPType, WROpcode]]) -> dict[int, Work]:
    """The work requests of a QP type, by opcode, without those that the device `lacks`.

    That is every opcode of the type that has a packet to say it, or needs none.
    """
    return {
        int(opcode): row
        for opcode, row in WORK.items()
        if qp_type in row.types and _has_code(qp_type, row) and (qp_type, opcode) not in lacks
    }


def check_state(hca: Adapter, qp: QueuePair, _wr: SendWR, _length: int) -> Refused | None:
    """Refuse a send in a state that does not accept posting."""
    if not qp.transport.sends:
        return refused(hca.profile, "no-send-queue", qp.qp_type.name, argument="qp")
    if qp.state_row.posts_send:
        return None
    legal = f"bring the QP up: {' → '.join(state.name for state in BRING_UP)}"
    return refused(hca.profile, "send-state", qp.state.name, argument="qp", legal=legal)


def check_opcode(hca: Adapter, qp: QueuePair, wr: SendWR, _length: int) -> Refused | None:
    """Refuse an opcode that does not exist, or that the QP type or the device lacks."""
    known = wr.opcode in supported_work(qp.qp_type, hca.profile.lacks)
    return None if known else _unable(hca, qp, wr)


def _unable(hca: Adapter, qp: QueuePair, wr: SendWR) -> Refused | None:
    """The reason the device cannot execute the opcode; None if it can, or finds out later."""
    row = WORK.get(wr.opcode)
    if row is not None and qp.qp_type in row.types:
        lacks = (qp.qp_type, WROpcode(wr.opcode)) in hca.profile.lacks
        if not lacks or not hca.profile.refuses_unknown_opcode:
            return None  # listed for the type: the device finds that no packet carries it
        name = WROpcode(wr.opcode).name
        return refused(hca.profile, "opcode-support", name, argument="opcode")
    legal = "opcodes: " + " ".join(o.name for o, r in WORK.items() if qp.qp_type in r.types)
    if row is None:
        if not hca.profile.refuses_unknown_opcode:
            return None
        return refused(
            hca.profile, "opcode-unknown", int(wr.opcode), argument="opcode", legal=legal
        )
    if not hca.profile.refuses_foreign_opcode:
        return None
    name, kind = WROpcode(wr.opcode).name, qp.qp_type.name
    return refused(hca.profile, "opcode-type", name, kind, argument="opcode", legal=legal)


def is_stuck(hca: Adapter, qp: QueuePair) -> bool:
    """True if the slots of its send queue stay taken: none of the requests will be polled."""
    by_poll = hca.profile.slots_freed is SlotsFreed.POLLED
    return by_poll and qp.sq.is_unsignaled and not qp.state_row.flushes_sends


def check_size(hca: Adapter, qp: QueuePair, wr: SendWR, length: int) -> Refused | None:
    """A slot is free, and neither the list nor the message is too long."""
    profile, sq = hca.profile, qp.sq
    if sq.is_full():
        legal = f"slots come back {profile.slots_freed.value}"
        if is_stuck(hca, qp):
            legal = "no request in it is signaled: no completion frees a slot, only RESET does"
        return refused(profile, "queue-full", "send", sq.capacity, argument="qp", legal=legal)
    if len(wr.sg) > profile.caps.max_sge_rd and wr.opcode == WROpcode.RDMA_READ:
        return refused(profile, "read-sges", len(wr.sg), profile.caps.max_sge_rd, argument="sg")
    refusal = invalid_pointers.check_list(hca, wr.sg, wr.num_sge, qp.cap.max_send_sge, "send-sges")
    if refusal is not None:
        return refusal
    return invalid_pointers.check_length(hca, wr, length)


def check_flags(hca: Adapter, qp: QueuePair, wr: SendWR, _length: int) -> Refused | None:
    """Refuse send flags that do not exist or that do not fit."""
    if wr.flags in _ALWAYS_GOOD:
        return None
    flags = int(wr.flags)
    if flags & ~_KNOWN_FLAGS and hca.profile.refuses_unknown_flags:
        odd = hex(flags & ~_KNOWN_FLAGS)
        legal = "flags: " + " ".join(flag.name or "" for flag in SendFlags)
        return refused(hca.profile, "send-flags", odd, argument="flags", legal=legal)
    if flags & _CHOOSY and (refusal := _check_choosy(hca, qp, flags)) is not None:
        return refusal
    return _check_inline(hca, qp, wr) if flags & _INLINE else None


def _check_choosy(hca: Adapter, qp: QueuePair, flags: int) -> Refused | None:
    """A flag that this type has; one of checksums, that the device computes some."""
    profile, kind = hca.profile, qp.qp_type.name
    if profile.refuses_foreign_flags:
        for flag in SendFlags(flags & _CHOOSY):
            if qp.qp_type not in FLAG_TYPES[flag]:
                legal = f"leave {flag.name} out"
                details = flag.name, kind
                return refused(profile, "send-flags-type", *details, argument="flags", legal=legal)
    return offloads.check_checksums(hca, qp, flags)


def _check_inline(hca: Adapter, qp: QueuePair, wr: SendWR) -> Refused | None:
    row = WORK.get(wr.opcode)
    if row is not None and not row.inline and hca.profile.refuses_inline_read:
        return refused(hca.profile, "inline-opcode", argument="flags", legal="leave INLINE out")
    limit = qp.cap.max_inline_data
    if sum(sge.length for sge in invalid_pointers.listed(wr)) > limit:
        return refused(hca.profile, "inline-length", limit, argument="flags")
    for sge in invalid_pointers.listed(wr):
        # No key is asked: the CPU reads the bytes, and a bad address ends the program (SIGSEGV).
        if sge.length and not hca.memory.is_mapped(sge.addr, sge.length):
            return refused(hca.profile, "crash-inline", hex(sge.addr), argument="sg")
    return None


def check_atomic(hca: Adapter, _qp: QueuePair, wr: SendWR, length: int) -> Refused | None:
    """librxe asks for 8 bytes at least; ibv_post_send(3) names no such check.

    Elsewhere the device finds a wrong length (LOC_LEN_ERR), the responder a wrong address.
    """
    if not hca.profile.refuses_odd_atomics:
        return None
    if length < ATOMIC_BYTES:
        return refused(hca.profile, "atomic-length", length, argument="sg", legal="sg of 8 bytes")
    if wr.remote_addr % ATOMIC_BYTES:
        return refused(hca.profile, "atomic-address", argument="remote_addr")
    return None


def check_address(hca: Adapter, qp: QueuePair, wr: SendWR, _length: int) -> Refused | None:
    """A datagram needs a destination; other types have other fields in that union."""
    if qp.transport.connected or not qp.transport.addressed:  # the first spares a call
        return None
    legal = "create_ah, then ah=A.ah0 remote_qpn=… remote_qkey=…"
    return invalid_pointers.check_handle(hca, wr.ah, legal)


def check_bind(hca: Adapter, qp: QueuePair, wr: SendWR, _length: int) -> Refused | None:
    """Of a window that is there, of the type that is bound this way, and without data."""
    profile, row = hca.profile, WORK[_BIND_MW]
    if qp.qp_type not in row.types:
        kind = qp.qp_type.name
        return refused(profile, "opcode-type", _BIND_MW.name, kind, argument="opcode")
    if wr.mw not in hca.mws.items:
        return refused(profile, "crash-mw", argument="mw", legal="alloc_mw, then mw=A.mw0")
    for name, given in (("sg", bool(invalid_pointers.listed(wr))), ("imm_data", wr.imm_data != 0)):
        if given and profile.refuses_bind_data:
            return refused(profile, "bind-data", name, argument=name, legal=f"leave {name} out")
    return None


def check_window_type(hca: Adapter, _qp: QueuePair, wr: SendWR, _length: int) -> Refused | None:
    """IBA o10-34.2.3: only windows of type 2 are bound by a work request of the program's own."""
    if hca.mws.items[wr.mw or 0].type is MWType.TYPE_2:
        return None
    legal = "bind_mw binds windows of TYPE_1"
    return refused(hca.profile, "bind-type", "post_send", "TYPE_2", argument="mw", legal=legal)


Check = Callable[[Adapter, QueuePair, SendWR, int], Refused | None]


CHECKS: tuple[Check, ...] = (
    check_state, check_opcode, check_size, check_flags, check_address, offloads.check_tso,
    check_atomic, check_bind, check_window_type,
)  # fmt: skip


_BINDS = frozenset({_BIND_MW})

# Some checks concern only some opcodes.
_CONCERNS: dict[Check, frozenset[WROpcode]] = {
    offloads.check_tso: frozenset({WROpcode.TSO}),
    check_address: frozenset(
        o for o, row in WORK.items() if row.message and QPType.UD in row.types
    ),
    check_atomic: frozenset(o for o, row in WORK.items() if row.message in WORD_OPS),
    check_bind: _BINDS,
    check_window_type: _BINDS,
}

# The line that each opcode walks, in the order of CHECKS; an unknown opcode walks _PLAIN.
_PLAIN = tuple(check for check in CHECKS if check not in _CONCERNS)


LINES: dict[int, tuple[Check, ...]] = {
    int(opcode): tuple(c for c in CHECKS if opcode in _CONCERNS.get(c, WORK)) for opcode in WROpcode
}


@cache
def ready_lines(
    qp_type: QPType, lacks: frozenset[tuple[QPType, WROpcode]]
) -> dict[int, tuple[Check, ...]]:
    """The checks that can fail on a QP whose state posts, for what its type and device can do."""
    transport, settled = TRANSPORTS[qp_type], {check_state, check_opcode}
    if transport.connected or not transport.addressed:
        settled.add(check_address)
    able = supported_work(qp_type, lacks) if transport.sends else ()
    return {opcode: tuple(c for c in LINES[opcode] if c not in settled) for opcode in able}


def judge_send(
    hca: Adapter,
    qp: QueuePair,
    wr: SendWR,
    length: int,
    lines: Mapping[int, tuple[Check, ...]] = LINES,
    unchecked: frozenset[str] = frozenset(),
) -> Refused | None:
    """The first rule that a send WR of `length` bytes breaks.

    unchecked: rules that this API does not ask for.
    """
    opcode = wr.opcode
    if lines is LINES and qp.state_row.posts_send:
        ready = ready_lines(qp.qp_type, hca.profile.lacks)
        line = ready[opcode] if opcode in ready else LINES.get(opcode, _PLAIN)
    else:
        line = lines.get(opcode, _PLAIN)
    for check in line:
        refusal = check(hca, qp, wr, length)
        if refusal is not None and refusal.rule not in unchecked:
            return refusal
    return None
