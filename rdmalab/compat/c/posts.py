"""Words that post: lists of work requests, and those that the builders of `ibv_qp_ex` made."""

import errno
from collections.abc import Callable, Iterator
from functools import lru_cache

from rdmalab.command import NotUnderstood, Noun, Ref, Refused
from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.program import Program
from rdmalab.compat.c.wire import NO_OPCODE, RECEIVE, SEND, SGE, Ask, Layout, Setter
from rdmalab.compat.c.words import HANDLERS, Call, Fields, word
from rdmalab.spec.work import BUILDERS, WORK, SendFlags, WROpcode

__all__ = ["HANDLERS"]  # of all words, with those below

_INLINE = int(SendFlags.INLINE)  # the & of a flag costs half a microsecond
_READS = {int(opcode): row.reads for opcode, row in WORK.items()}
_NAMED_BY_ALL = ("ah", "remote_qpn", "remote_qkey", "remote_srqn", "compare_add", "swap", "mss",
                 "hdr_sz", "hdr_addr")  # fmt: skip
_HEADER = ("hdr_addr", "hdr_sz", "mss")


class _Reader:
    """Records of a tail, one after the other; OSError with EINVAL where it is too short."""

    def __init__(self, octets: memoryview) -> None:
        self.octets = octets
        self.at = 0

    def take(self, length: int) -> memoryview:
        if length > len(self.octets) - self.at:
            raise OSError(errno.EINVAL, "the message is too short")
        self.at += length
        return self.octets[self.at - length : self.at]

    def record(self, layout: Layout) -> Ask:
        found: Ask = layout.unpack(self.take(layout.size))
        return found


@lru_cache(256)
def _unpacked_send(octets: bytes) -> Ask:
    """The fields of a SEND record; programs repeat theirs."""
    return SEND.unpack(octets)


def _sges(calls: Calls, node: str, reader: _Reader, count: int) -> list[Ask]:
    if count * SGE.size > len(reader.octets) - reader.at:
        raise OSError(errno.EINVAL, "the message is too short")
    sges = [reader.record(SGE) for _ in range(count)]
    calls.memory.publish_sges(node, sges)
    return sges


def named(calls: Calls, node: str, sge: Ask) -> Ref | Ask:
    """`A.mr0[0:64]` where the region of this lkey holds all of it, else the three numbers."""
    mr = calls.world.nodes[node].lkeys.get(sge["lkey"])
    first, last = sge["addr"], sge["addr"] + sge["length"]
    name = calls.names.get((node, Noun.MR, getattr(mr, "number", 0)))
    if mr is None or name is None or not (mr.iova <= first and last <= mr.iova + mr.length):
        return sge
    return Ref(node, name.name, first - mr.iova, last - mr.iova)


def _local(calls: Calls, program: Program, node: str, wr: Ask, reader: _Reader) -> list[Ask]:
    """The pieces of local memory of a request; bytes of INLINE are in the node afterwards."""
    sges = _sges(calls, node, reader, wr["num_sge"])
    if wr["send_flags"] & _INLINE or wr["setter"] >= Setter.INLINE_DATA:
        for sge in sges:
            octets = bytes(reader.take(sge["length"]))
            sge["addr"] = calls.memory.lend(program, node, sge["addr"], octets)
    if wr["hdr_sz"]:
        header = bytes(reader.take(wr["hdr_sz"]))
        wr["hdr_addr"] = calls.memory.lend(program, node, wr["hdr_addr"], header)
    return sges


@word
def _post_send(call: Call) -> None:
    reader, wrs = _Reader(call.tail), []
    for _ in range(call.ask["count"]):
        wr = dict(_unpacked_send(bytes(reader.take(SEND.size))))
        sges = _local(call.calls, call.program, call.node, wr, reader)
        is_inline = wr["send_flags"] & _INLINE
        sg = sges if is_inline else [named(call.calls, call.node, each) for each in sges]
        wrs.append({"opcode": wr["opcode"], "sg": sg, **_operands(wr)})
    handle = (call.node, Noun.QP, call.ask["handle"])
    try:
        call.perform("post_send", qp=call.ref(Noun.QP), wr=wrs)
    except Refused as refusal:
        call.calls.grant_sends(call.program, handle, refusal.bad_wr or 0)
        raise
    call.calls.grant_sends(call.program, handle, len(wrs))


@lru_cache(256)
def plain_operands(opcode: int, flags: int, imm_data: int, rkey: int, remote_addr: int) -> Ask:
    """`_operands` of a request of an RC queue pair that names nothing else."""
    given = {"opcode": opcode, "send_flags": flags, "imm_data": imm_data, "rkey": rkey}
    return _operands(_unpacked_send(bytes(SEND.size)) | given | {"remote_addr": remote_addr})


def _operands(wr: Fields) -> Ask:
    """The members of `ibv_send_wr` that mean something by its opcode, without those that are 0."""
    reads = _READS.get(wr["opcode"], frozenset())
    found = {"wr_id": wr["wr_id"]} if wr["wr_id"] else {}
    if wr["send_flags"]:
        found["flags"] = wr["send_flags"]
    for name in _NAMED_BY_ALL:
        if wr[name]:
            found[name] = wr[name]
    if "rkey" in reads and not wr["ah"]:
        found |= _target(wr)
    if "imm_data" in reads:
        found["imm_data"] = wr["imm_data"]
    if "invalidate_rkey" in reads:
        found["invalidate_rkey"] = wr["imm_data"]
    if "bind_mr" in reads:
        found |= _bind(wr)
    return found


def _receives(calls: Calls, node: str, count: int, tail: memoryview) -> list[Ask]:
    reader, wrs = _Reader(tail), []
    for _ in range(count):
        wr = reader.record(RECEIVE)
        sges = _sges(calls, node, reader, wr["num_sge"])
        wrs.append({"wr_id": wr["wr_id"], "sg": [named(calls, node, each) for each in sges]})
    return wrs


@word
def _post_recv(call: Call) -> None:
    wrs = _receives(call.calls, call.node, call.ask["count"], call.tail)
    call.perform("post_recv", qp=call.ref(Noun.QP), wr=wrs)
    call.calls.grant(call.program, (call.node, Noun.QP, call.ask["handle"]))


@word
def _post_srq_recv(call: Call) -> None:
    wrs = _receives(call.calls, call.node, call.ask["count"], call.tail)
    call.perform("post_srq_recv", srq=call.ref(Noun.SRQ), wr=wrs)


# --------------------------------------------------------------------------- builders
# The arguments of each builder, from the fields that the C library has sent.
_ARGUMENTS: dict[int, Callable[[Fields], Ask]] = {
    WROpcode.SEND: lambda _: {},
    WROpcode.SEND_WITH_IMM: lambda wr: {"imm_data": wr["imm_data"]},
    WROpcode.SEND_WITH_INV: lambda wr: {"invalidate_rkey": wr["imm_data"]},
    WROpcode.LOCAL_INV: lambda wr: {"invalidate_rkey": wr["imm_data"]},
    WROpcode.RDMA_READ: lambda wr: {"target": _target(wr)},
    WROpcode.RDMA_WRITE: lambda wr: {"target": _target(wr)},
    WROpcode.RDMA_WRITE_WITH_IMM: lambda wr: {"target": _target(wr), "imm_data": wr["imm_data"]},
    WROpcode.ATOMIC_CMP_AND_SWP: lambda wr: {
        "operands": _target(wr) | {"compare": wr["compare_add"], "swap": wr["swap"]}
    },
    WROpcode.ATOMIC_FETCH_AND_ADD: lambda wr: {
        "operands": _target(wr) | {"add": wr["compare_add"]}
    },
    WROpcode.TSO: lambda wr: {"header": {name: wr[name] for name in _HEADER}},
    WROpcode.BIND_MW: lambda wr: {"info": _bind(wr)},
}


def _bind(wr: Fields) -> Ask:
    found = {"mw": wr["mw"], "mw_rkey": wr["bind_rkey"], "bind_mr": wr["bind_mr"] or None}
    return found | {f"bind_{name}": wr[f"bind_{name}"] for name in ("addr", "length", "access")}


def _target(wr: Fields) -> Ask:
    return {"remote_addr": wr["remote_addr"], "rkey": wr["rkey"]}


@word
def _wr_complete(call: Call) -> None:
    """All calls from wr_start on: in between the program did nothing that the lab can observe."""
    qp, reader = call.ref(Noun.QP), _Reader(call.tail)
    call.perform("wr_start", qp=qp)
    try:
        for _ in range(call.ask["count"]):
            wr = reader.record(SEND)
            sges = _local(call.calls, call.program, call.node, wr, reader)
            qpx = {"wr_id": wr["wr_id"], "wr_flags": wr["send_flags"]}
            if wr["opcode"] == WROpcode.ATOMIC_WRITE:
                octets = {"addr": sges[0]["addr"], "length": sges[0]["length"]}
                target = _target(wr) | {"atomic_wr": octets}
                call.perform("wr_atomic_write", qp=qp, qpx=qpx, target=target)
                continue
            if wr["opcode"] != NO_OPCODE:
                arguments = _ARGUMENTS[wr["opcode"]](wr)
                call.perform(BUILDERS[wr["opcode"]], qp=qp, qpx=qpx, **arguments)
            for setter, arguments in _setters(call.calls, call.node, wr, sges):
                call.perform(setter, qp=qp, **arguments)
    except (OSError, NotUnderstood, KeyError):
        call.perform("wr_abort", qp=qp)
        raise
    call.perform("wr_abort" if call.ask["is_aborted"] else "wr_complete", qp=qp)


def _setters(calls: Calls, node: str, wr: Fields, sges: list[Ask]) -> Iterator[tuple[str, Ask]]:
    if wr["remote_srqn"]:
        yield "wr_set_xrc_srqn", {"remote_srqn": wr["remote_srqn"]}
    if wr["ah"] or wr["remote_qpn"]:
        given = {"ah": wr["ah"] or None}
        given |= {name: wr[name] for name in ("remote_qpn", "remote_qkey")}
        yield "wr_set_ud_addr", given
    buffers = [{"addr": sge["addr"], "length": sge["length"]} for sge in sges]
    sg = [named(calls, node, sge) for sge in sges]
    match Setter(wr["setter"]):
        case Setter.SGE:
            yield "wr_set_sge", {"sg": sg[0]}
        case Setter.SGE_LIST:
            yield "wr_set_sge_list", {"sg": sg}
        case Setter.INLINE_DATA:
            yield "wr_set_inline_data", {"buf": buffers[0]}
        case Setter.INLINE_DATA_LIST:
            yield "wr_set_inline_data_list", {"buf": buffers}
