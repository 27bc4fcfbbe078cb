"""Carries out each word of a program: fields → command of the lab → fields."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from rdmalab.command import Noun, Ref
from rdmalab.compat.c import memory
from rdmalab.compat.c.calls import CALL_NS, Calls, bad_handle
from rdmalab.compat.c.program import DESTROYS_ID, GETS_ASYNC_EVENT, GETS_CM_EVENT, Handle, Program
from rdmalab.compat.c.wire import Ask
from rdmalab.hca.memory import NOT_MAPPED, PAGE, READ_ONLY
from rdmalab.hca.port import guid
from rdmalab.spec.access import Access
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ATTRIBUTES
from rdmalab.world.relations import DESTROYERS

Fields = Mapping[str, Any]
Answer = Fields | bytes
"""Fields; or, as bytes, fields and tail."""


@dataclass(slots=True)
class Call:
    """A word of a program. tail: what follows its fields."""

    calls: Calls
    program: Program
    node: str
    ask: Ask
    tail: memoryview

    def ref(self, noun: Noun, field: str = "handle") -> Ref:
        """The name of the object whose handle is in this field; OSError with EINVAL if none is."""
        return self.calls.ref(self.node, noun, self.ask[field])

    def given(self, **nouns: Noun) -> dict[str, Ref]:
        """The names of those objects whose handles, in the fields of these names, are not 0."""
        return {name: self.ref(noun, name) for name, noun in nouns.items() if self.ask[name]}

    def values(self, *names: str) -> Ask:
        """These fields by name."""
        return {name: self.ask[name] for name in names}

    def perform(self, command: str, **arguments: object) -> Any:
        """One command of the lab, as `Calls.perform`."""
        return self.calls.perform(command, **arguments)

    def make(self, command: str, noun: Noun, **arguments: object) -> Any:
        """One command that creates an object on this node, as `Calls.make`."""
        return self.calls.make(self.program, command, noun, self.node, **arguments)


Handler = Callable[[Call], Answer | None]
"""None: the word has no answer but its errno."""

HANDLERS: dict[str, Handler] = {}
NOTHING: Fields = {}
_EVENT_NOUNS = {Noun.CQ: 1, Noun.QP: 2, Noun.SRQ: 3}  # as `enum noun` of library/lab.h
_CM_ID, _UNACKED_CQ = 4, 5
_LONGEST_LOOK_NS = 1_000_000  # at the clock
_NOUN_OF = {number: noun for noun, number in _EVENT_NOUNS.items()}


def word(handler: Handler) -> Handler:
    """The handler of the word of its name, without the underscore."""
    HANDLERS[handler.__name__.removeprefix("_")] = handler
    return handler


# --------------------------------------------------------------------------- devices
@word
def _query_device(call: Call) -> Answer:
    found = call.perform("query_device_ex", device=Ref(call.node))
    numbers = {name: value for name, value in found.items() if isinstance(value, int)}
    hca = call.calls.world.nodes[call.node]
    number = int.from_bytes(guid(hca).to_bytes(8, "big"), "little")
    # vendor_id 0: perftest takes another way for the devices of some vendors.
    attr = numbers | {
        "fw_ver": found["fw_ver"], "node_guid": number, "sys_image_guid": number,
        "max_sge": min(numbers["max_send_sge"], numbers["max_recv_sge"]),
    }  # fmt: skip
    return {**numbers, "attr": attr}


@word
def _query_port(call: Call) -> Answer:
    found = call.perform("query_port", device=Ref(call.node), port_num=call.ask["port_num"])
    return {"attr": {name: value for name, value in found.items() if isinstance(value, int)}}


@word
def _query_gid(call: Call) -> Answer:
    call.perform("query_gid", device=Ref(call.node), **call.values("port_num", "index"))
    gids = call.calls.world.nodes[call.node].gids
    return {"gid": gids[call.ask["index"]] if call.ask["index"] < len(gids) else 0}


@word
def _query_pkey(call: Call) -> Answer:
    found = call.perform("query_pkey", device=Ref(call.node), **call.values("port_num", "index"))
    return {"pkey": int(found["pkey"], 16)}


@word
def _clock(call: Call) -> Answer:
    """A look at the clock takes time, and each of several in a row more: loops around it end."""
    world, program = call.calls.world, call.program
    until_ns: int = call.ask["until_ns"]
    if not until_ns:
        program.looks += 1
        call.calls.let_pass(world.now_ns + min(CALL_NS * program.looks, _LONGEST_LOOK_NS))
    program.sleeps_to_ns = until_ns if until_ns > world.now_ns else None
    return {"ns": call.calls.world.now_ns}


def _let_pass(call: Call) -> Answer:
    """A sleep in virtual time. until_ns: when it is over; 0: it is, since the program is alone."""
    until_ns = call.calls.world.now_ns + call.ask["ns"]
    if call.calls.call_ns:
        return {"until_ns": until_ns}
    call.calls.let_pass(until_ns)
    return NOTHING


HANDLERS["pass"] = _let_pass


# --------------------------------------------------------------------------- objects
def _destroyer(noun: Noun) -> Handler:
    return lambda call: call.calls.unmake(call.program, noun, call.node, call.ask["handle"])


def _maker(verb: str, noun: Noun) -> Handler:
    """The handler of a verb without arguments, which makes an object."""
    return lambda call: {"handle": call.make(verb, noun).number}


def _plain(verb: str, noun: Noun, field: str, *names: str) -> Handler:
    """The handler of a verb about the object whose handle is in a field. names: other fields."""

    def handler(call: Call) -> None:
        call.perform(verb, **{noun: call.ref(noun, field)}, **call.values(*names))

    return handler


HANDLERS |= {
    **{verb: _destroyer(noun) for noun, verb in DESTROYERS.items()},
    "alloc_pd": _maker("alloc_pd", Noun.PD),
    "alloc_td": _maker("alloc_td", Noun.TD),
    "ack_cq_events": _plain("ack_cq_events", Noun.CQ, "handle", "nevents"),
    "end_poll": _plain("end_poll", Noun.CQ, "handle"),
    "attach_mcast": _plain("attach_mcast", Noun.QP, "qp", "gid"),
    "detach_mcast": _plain("detach_mcast", Noun.QP, "qp", "gid"),
}


@word
def _alloc_parent_domain(call: Call) -> Answer:
    given = call.given(td=Noun.TD)
    made = call.make("alloc_parent_domain", Noun.PD, pd=call.ref(Noun.PD, "pd"), **given)
    return {"handle": made.number}


def _place(call: Call) -> int:
    """Address of a registration's memory in the node: what the process has not mapped, nowhere."""
    writable = bool(call.ask["access"] & Access.LOCAL_WRITE)
    addr: int = call.ask["addr"]
    length: int = call.ask["length"]
    if not length or not memory.is_mapped(call.program.pid, addr, length, writable=False):
        return NOT_MAPPED + addr % PAGE
    if writable and not memory.is_mapped(call.program.pid, addr, length, writable=True):
        return READ_ONLY + addr % PAGE
    return call.calls.memory.map(call.program, call.node, addr, length)


@word
def _reg_mr(call: Call) -> Answer:
    place = _place(call)
    at = {} if call.ask["iova"] == place else {"hca_va": call.ask["iova"]}
    verb = "reg_mr_iova" if at else "reg_mr"
    pd = call.ref(Noun.PD, "pd")
    given = call.values("length", "access")
    mr = call.make(verb, Noun.MR, pd=pd, addr=place, **given, **at)
    call.program.regions[call.node, Noun.MR, mr.number] = (call.ask["addr"], call.ask["length"])
    call.program.memory.add(call.ask["addr"], call.ask["length"])
    return {"handle": mr.number, "lkey": mr.lkey, "rkey": mr.rkey}


@word
def _rereg_mr(call: Call) -> Answer:
    handle: Handle = (call.node, Noun.MR, call.ask["handle"])
    given: Ask = dict(call.given(pd=Noun.PD))
    if call.ask["access"] or call.ask["flags"] & 4:  # IBV_REREG_MR_CHANGE_ACCESS
        given["access"] = call.ask["access"]
    if moves := call.ask["flags"] & 1:  # IBV_REREG_MR_CHANGE_TRANSLATION
        given |= {"addr": _place(call), "length": call.ask["length"]}
    ref = call.ref(Noun.MR)
    call.perform("rereg_mr", mr=ref, flags=call.ask["flags"], **given)
    if moves and handle in call.program.regions:
        call.program.memory.remove(*call.program.regions[handle])
        call.program.regions[handle] = (call.ask["addr"], call.ask["length"])
        call.program.memory.add(call.ask["addr"], call.ask["length"])
    mr = call.calls.find(ref)
    return {"lkey": mr.lkey, "rkey": mr.rkey}


@word
def _alloc_mw(call: Call) -> Answer:
    pd = call.ref(Noun.PD, "pd")
    mw = call.make("alloc_mw", Noun.MW, pd=pd, type=call.ask["type"])
    return {"handle": mw.number, "rkey": mw.rkey}


@word
def _bind_mw(call: Call) -> Answer:
    window = call.ref(Noun.MW, "mw")
    asked = {
        "wr_id": call.ask["wr_id"], "flags": call.ask["flags"], "bind_mr": call.ask["mr"] or None,
        **{f"bind_{name}": call.ask[name] for name in ("addr", "length", "access")},
    }  # fmt: skip
    call.perform("bind_mw", qp=call.ref(Noun.QP, "qp"), mw=window, asked=asked)
    call.calls.revoke()  # it has taken a slot of the send queue
    return {"rkey": call.calls.find(window).rkey}


# --------------------------------------------------------------------------- completions
@word
def _create_cq(call: Call) -> Answer:
    given: Ask = call.given(channel=Noun.CHANNEL)
    verb = "create_cq_ex" if call.ask["is_extended"] else "create_cq"
    if call.ask["is_extended"]:
        given["wc_flags"] = call.ask["wc_flags"]
    cqe, vector = _signed(call.ask["cqe"]), _signed(call.ask["comp_vector"])
    made = call.make(verb, Noun.CQ, cqe=cqe, comp_vector=vector, **given)
    handle = (call.node, Noun.CQ, made.number)
    slot = 0 if call.ask["is_extended"] else call.calls.slot(call.program, handle)
    return {"handle": made.number, "cqe": made.capacity, "slot": slot}


def _signed(value: int) -> int:
    """A C int that travelled as 32 bits."""
    return value - (1 << 32) if value >> 31 else value


@word
def _resize_cq(call: Call) -> Answer:
    ref = call.ref(Noun.CQ)
    call.perform("resize_cq", cq=ref, cqe=_signed(call.ask["cqe"]))
    return {"cqe": call.calls.find(ref).capacity}


@word
def _req_notify_cq(call: Call) -> None:
    ref = call.ref(Noun.CQ)
    call.perform("req_notify_cq", cq=ref, solicited_only=bool(call.ask["solicited_only"]))


@word
def _get_cq_event(call: Call) -> Answer:
    channel = call.ref(Noun.CHANNEL)
    return {"cq": call.perform("get_cq_event", channel=channel).cq.number}


@word
def _get_async_event(call: Call) -> Answer:
    report = call.perform("get_async_event", node=Ref(call.node))
    if report.thing is None:
        return {"event": report.event, "number": report.port_num or 0}
    noun = _EVENT_NOUNS[report.thing.noun]
    return {"event": report.event, "noun": noun, "number": report.thing.number}


@word
def _ack_async_event(call: Call) -> None:
    noun = _NOUN_OF.get(call.ask["noun"])
    what = Ref(call.node) if noun is None else call.calls.ref(call.node, noun, call.ask["number"])
    call.perform("ack_async_event", what=what, event=call.ask["event"])


@word
def _sleep(call: Call) -> None:
    """The program blocks from now on, until an event comes or is acknowledged."""
    if call.ask["noun"] == _CM_ID:  # with its number: of an id that is to be destroyed
        word = DESTROYS_ID if call.ask["number"] else GETS_CM_EVENT
        blocks = word, Ref(call.node)
    elif call.ask["noun"] == _UNACKED_CQ:
        blocks = "destroy_cq", call.ref(Noun.CQ, "number")
    elif call.ask["noun"]:
        blocks = "get_cq_event", call.ref(Noun.CHANNEL, "number")
    else:
        blocks = GETS_ASYNC_EVENT, Ref(call.node)
    call.program.asleep_in = blocks
    if call.calls.caller is not None:
        call.program.blocks[call.calls.caller.thread] = (*blocks, call.calls.caller)


def _reader(verb: str) -> Handler:
    """The handler of a poll that stands at one completion afterwards."""

    def handler(call: Call) -> Answer:
        ref = call.ref(Noun.CQ)
        call.perform(verb, cq=ref)
        queue = call.calls.find(ref)
        cqe = queue.cqes[queue.reading - 1]
        return {"wc": cqe, "completion_ts": cqe.at_ns}

    return handler


HANDLERS |= {verb: _reader(verb) for verb in ("start_poll", "next_poll")}


# --------------------------------------------------------------------------- queue pairs
@word
def _create_qp(call: Call) -> Answer:
    init: Ask = dict(call.given(send_cq=Noun.CQ, recv_cq=Noun.CQ, srq=Noun.SRQ, xrcd=Noun.XRCD))
    init |= call.values("qp_type", "sq_sig_all", "cap")
    pd = call.given(pd=Noun.PD)
    if call.ask["max_tso_header"]:
        init["max_tso_header"] = call.ask["max_tso_header"]
    if call.ask["is_extended"]:
        init |= {"send_ops_flags": call.ask["send_ops_flags"], **pd}
        qp = call.make("create_qp_ex", Noun.QP, init_attr=init)
        call.perform("qp_to_qp_ex", qp=call.calls.ref(call.node, Noun.QP, qp.number))
    else:
        qp = call.make("create_qp", Noun.QP, init_attr=init, **pd)
    slot = call.calls.pair_slot(call.program, (call.node, Noun.QP, qp.number))
    return {"handle": qp.number, "slot": slot, "cap": qp.reported_cap}


@word
def _open_qp(call: Call) -> Answer:
    attr = {**call.values("qp_num", "qp_type"), "xrcd": call.ref(Noun.XRCD, "xrcd")}
    call.make("open_qp", Noun.QP, attr=attr)
    # not the number: another process has that handle
    return {"handle": next(reversed(call.program.own))[2]}


@word
def _modify_qp(call: Call) -> None:
    mask, attr = call.ask["mask"], call.ask["attr"]
    given = {name: attr.get(name, 0) for name, row in ATTRIBUTES.items() if mask & row.mask}
    for path in ("ah_attr", "alt_ah_attr"):
        if path in given:
            given[path] = address(given[path])
    call.perform("modify_qp", qp=call.ref(Noun.QP), attr=given, attr_mask=mask)


def address(attr: Fields) -> Ask:
    """An `ibv_ah_attr` without the members that are 0."""
    return {name: value for name, value in attr.items() if value}


@word
def _query_qp(call: Call) -> Answer:
    found = call.perform("query_qp", qp=call.ref(Noun.QP))
    return {"attr": found, "sq_sig_all": found.init_attr.sq_sig_all}


@word
def _create_srq(call: Call) -> Answer:
    attr, kind = call.ask["attr"], call.ask["srq_type"]
    given = call.given(pd=Noun.PD, xrcd=Noun.XRCD, cq=Noun.CQ)
    if "pd" not in given:
        raise bad_handle()
    if kind:
        init = {**given, "attr": attr, "srq_type": kind}
        srq = call.make("create_srq_ex", Noun.SRQ, init_attr=init)
    else:
        srq = call.make("create_srq", Noun.SRQ, pd=given["pd"], attr=attr)
    ref = call.calls.ref(call.node, Noun.SRQ, srq.number)
    number = call.perform("get_srq_num", srq=ref) if kind else 0
    return {"handle": srq.number, "number": number, "attr": call.perform("query_srq", srq=ref)}


@word
def _modify_srq(call: Call) -> None:
    named = {1: "max_wr", 2: "srq_limit"}
    attr = {name: call.ask[name] for bit, name in named.items() if call.ask["mask"] & bit}
    srq = call.ref(Noun.SRQ)
    call.perform("modify_srq", srq=srq, attr=attr, srq_attr_mask=call.ask["mask"])


@word
def _query_srq(call: Call) -> Answer:
    return {"attr": call.perform("query_srq", srq=call.ref(Noun.SRQ))}


@word
def _open_xrcd(call: Call) -> Answer:
    descriptor = call.ask["fd"]
    if descriptor >= 0:  # processes share a domain by the inode of its file
        status = os.stat(f"/proc/{call.program.pid}/fd/{descriptor}")  # noqa: PTH116
        descriptor = call.calls.files.setdefault(
            (status.st_dev, status.st_ino), len(call.calls.files)
        )
    made = call.make("open_xrcd", Noun.XRCD, fd=descriptor, oflag=call.ask["oflag"])
    return {"handle": made.number}


_RULE_FIELDS = ("dst_mac", "src_mac", "ether_type", "src_ip", "dst_ip", "protocol", "src_port",
                "dst_port")  # fmt: skip
"""Fields of a flow rule in the order of the bits of `given`, as `enum` of library/pair.c."""


@word
def _create_flow(call: Call) -> Answer:
    attr = call.values("type", "priority", "port", "flags")
    spec = {name: call.ask[name] for bit, name in enumerate(_RULE_FIELDS)
            if call.ask["given"] >> bit & 1}  # fmt: skip
    qp = call.ref(Noun.QP, "qp")
    return {"handle": call.make("create_flow", Noun.FLOW, qp=qp, attr=attr, spec=spec).number}


@word
def _create_ah(call: Call) -> Answer:
    pd = call.ref(Noun.PD, "pd")
    made = call.make("create_ah", Noun.AH, pd=pd, attr=address(call.ask["attr"]))
    return {"handle": made.number}
