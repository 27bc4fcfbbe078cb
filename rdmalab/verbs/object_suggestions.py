"""Suggestions after a refusal about an object: the argument or the object that is missing."""

import re
from collections.abc import Callable, Iterable
from dataclasses import fields

from rdmalab.command import Invocation, New, Noun, Ref, Thing
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import Session
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.world.relations import exists

_THIS = re.compile(rf"\bthis ({'|'.join(Noun)})\b")  # the adapter knows no names
_ADDRESS = re.compile(r"\bah_attr=\{[^}]*\}")
Suggestion = Callable[[Session, Invocation], str]


# --------------------------------------------------------------------------- who is meant
def object_name(session: Session, invocation: Invocation) -> str:
    """The name of the command's object."""
    del session
    for value in invocation.arguments.values():
        if isinstance(value, Ref | New):
            return str(Ref(value.node, value.name))
    return "it"


def named(session: Session, invocation: Invocation, text: str) -> str:
    """The text with object names in place of numbers; the device has no names."""
    who = object_name(session, invocation)
    text = text.replace("The QP ", f"{who} ").replace("A.qp.", f"{who}.")
    found = _THIS.search(text)
    if found is None:
        return text
    return _THIS.sub(_ref_of(invocation.arguments, found[1]) or who, text)


def _ref_of(arguments: dict[str, object], noun: str) -> str:
    """The name given for a parameter of this noun, at any depth."""
    for key, value in arguments.items():
        if isinstance(value, Ref) and key.endswith(noun):
            return str(Ref(value.node, value.name))
        if isinstance(value, dict) and (inner := _ref_of(value, noun)):
            return inner
    return ""


def qp_of(session: Session, invocation: Invocation) -> QueuePair | None:
    """The queue pair of the command; None if it does not exist."""
    thing = session.names.find(object_name(session, invocation))
    if thing is None or thing.noun is not Noun.QP or not exists(session.world, thing):
        return None
    return session.world.find(thing, QueuePair)


def _node(session: Session, invocation: Invocation) -> str:
    return object_name(session, invocation).partition(".")[0]


def _other(session: Session, node: str) -> str:
    return next((other for other in session.world.nodes if other != node), node)


def _living(session: Session, noun: Noun, node: str) -> list[str]:
    """The names of a node's objects of one noun, oldest first."""
    return [session.names.of(it) for it in session.names.living(session.world, noun, node)]


def with_words(line: str, said: Iterable[str]) -> str:
    """The line with these words; each replaces the word with the same key."""
    said = list(said)
    keys = {word.partition("=")[0] for word in said}
    kept = [word for word in line.split() if word.partition("=")[0] not in keys]
    return " ".join([*kept, *said])


def _has(line: str, key: str) -> bool:
    return any(word.startswith(f"{key}=") for word in line.split())


# --------------------------------------------------------------------------- addresses
def _with_address(session: Session, invocation: Invocation) -> str:
    """Create an address handle; if there is one, add ah, remote_qpn and remote_qkey."""
    qp = qp_of(session, invocation)
    if qp is None or "{" in invocation.line:
        return ""
    ways = _living(session, Noun.AH, qp.node)
    there = _other(session, qp.node)
    pd = session.names.of(Thing(Noun.PD, qp.node, qp.pd))
    if not ways:
        return f"create_ah {session.names.first_free(f'{qp.node}.ah')} pd={pd} to={there}"
    for name in _living(session, Noun.QP, there):
        thing = session.names.find(name)
        peer: QueuePair | None = session.world.find(thing, QueuePair) if thing else None
        if peer is not None and peer.qp_type is qp.qp_type:
            said = [f"ah={ways[0]}", f"remote_qpn={name}", f"remote_qkey={peer.attr.qkey or 0:#x}"]
            return with_words(invocation.line, said)
    return ""


def _whole_address(session: Session, invocation: Invocation) -> str:
    """Add is_global and a GID, which RoCE requires; of a modify_qp name the peer's node."""
    if invocation.name == "modify_qp":
        keys = {field.name for field in fields(AhAttr)} - {"port_num"}
        words = _ADDRESS.sub("ah_attr=", invocation.line).split()
        kept = [w for w in words if w.split("=")[0].split(".")[0] not in {"ah", "ah_attr", *keys}]
        return " ".join([*kept, f"ah={_other(session, _node(session, invocation))}"])
    if invocation.name != "create_ah" or _has(invocation.line, "to"):
        return ""
    line = invocation.line
    dgid = next((word[5:] for word in line.split() if word.startswith("dgid=")), "")
    if not dgid:
        keys = {"is_global", "port_num", "sgid_index"}
        kept = [word for word in line.split() if word.partition("=")[0] not in keys]
        return " ".join([*kept, f"to={_other(session, _node(session, invocation))}"])
    index = int("." in dgid)  # the IPv4 address of a node stands second in its table
    hops = [] if _has(line, "hop_limit") else ["hop_limit=64"]  # no router forwards the default 0
    return with_words(line, ["is_global=1", f"sgid_index={index}", "port_num=1", *hops])


# --------------------------------------------------------------------------- parts that lack
def _with_parts(session: Session, invocation: Invocation) -> str:
    """The parts (PD, CQs, SRQ, XRCD) that this type takes, where they exist."""
    line, node = invocation.line, _node(session, invocation)
    attr = invocation.arguments.get("init_attr")
    if isinstance(attr, dict) and attr.get("qp_type") in TRANSPORTS:
        parts = TRANSPORTS[attr["qp_type"]].parts
    else:
        parts = ("xrcd", "cq")
    said = []
    for part in parts:
        if _has(line, part):
            continue
        found = _living(session, _PARTS[part], node)
        if not found:
            return _MAKE.get(part, "").format(node)
        said.append(f"{part}={found[0]}")
    return with_words(line, said)


_PARTS = {"pd": Noun.PD, "send_cq": Noun.CQ, "recv_cq": Noun.CQ, "cq": Noun.CQ, "xrcd": Noun.XRCD}
_MAKE = {
    "pd": "alloc_pd {}.pd0",
    "send_cq": "create_cq {}.cq0 cqe=16",
    "recv_cq": "create_cq {}.cq0 cqe=16",
    "cq": "create_cq {}.cq0 cqe=16",
    "xrcd": "open_xrcd {}.xrcd0 oflag=O_CREAT",
}


def _with_create(_session: Session, invocation: Invocation) -> str:
    return with_words(invocation.line, ["oflag=O_CREAT"])


def _to_domain(session: Session, invocation: Invocation) -> str:
    """Post the receive on an SRQ of the XRC domain instead."""
    qp = qp_of(session, invocation)
    if qp is None or invocation.name != "post_recv" or not qp.transport.receives:
        return ""
    for srq in session.world.nodes[qp.node].srqs.items.values():
        if srq.xrcd == qp.xrcd:
            name = session.names.of(Thing(Noun.SRQ, qp.node, srq.number))
            said = invocation.line.replace("post_recv", "post_srq_recv", 1)
            return said.replace(object_name(session, invocation), name, 1)
    return ""


# --------------------------------------------------------------------------- windows
def _dealloc_window(session: Session, invocation: Invocation) -> str:
    thing = session.names.find(object_name(session, invocation))
    if thing is None or thing.noun is not Noun.MR:
        return ""
    for mw in session.world.nodes[thing.node].mws.items.values():
        if mw.binding is not None and mw.binding.mr == thing.number:
            return f"dealloc_mw {session.names.of(Thing(Noun.MW, thing.node, mw.number))}"
    return ""


# --------------------------------------------------------------------------- wr_* and polls
def _start(session: Session, invocation: Invocation) -> str:
    return f"wr_start {object_name(session, invocation)}"


def _finish(session: Session, invocation: Invocation) -> str:
    """Close the critical region with wr_complete; with wr_abort if wr_complete would fail."""
    qp = qp_of(session, invocation)
    if qp is None or qp.ex is None or qp.ex.region is None:
        return ""
    good = qp.state_row.posts_send and qp.ex.region.complaint is None
    return f"wr_{'complete' if good else 'abort'} {object_name(session, invocation)}"


def _extended_twin(session: Session, invocation: Invocation) -> str:
    """Create a queue pair of the same type and parts with create_qp_ex."""
    qp = qp_of(session, invocation)
    if qp is None or not qp.transport.sends:
        return ""
    name = session.names.first_free(f"{qp.node}.qx")
    of = {part: Thing(_PARTS[part], qp.node, getattr(qp, part)) for part in qp.transport.parts}
    words = [f"{part}={session.names.of(thing)}" for part, thing in of.items()]
    return f"create_qp_ex {name} qp_type={qp.qp_type.name} {' '.join(words)} send_ops_flags=SEND"


def _start_poll(session: Session, invocation: Invocation) -> str:
    thing = session.names.find(object_name(session, invocation))
    if (
        thing is None
        or thing.noun is not Noun.CQ
        or not session.world.find(thing, CompletionQueue).cqes
    ):
        return ""
    return f"start_poll {object_name(session, invocation)}"


# --------------------------------------------------------------------------- devices
def _close(session: Session, invocation: Invocation) -> str:
    return f"close_device {_node(session, invocation)}"


def _open(session: Session, invocation: Invocation) -> str:
    return f"open_device {_node(session, invocation)}"


WAYS_OUT: dict[str, Suggestion] = {
    "crash-ah": _with_address,
    "crash-ah-pointer": _with_address,
    "ah-port": _whole_address,
    "ah-global": _whole_address,
    "ah-sgid-index": _whole_address,
    "ah-sgid-empty": _whole_address,
    "ah-dgid": _whole_address,
    "qp-parts": _with_parts,
    "srq-parts": _with_parts,
    "xrcd-private": _with_create,
    "xrcd-none": _with_create,
    "no-receive-queue": _to_domain,
    "mr-window-bound": _dealloc_window,
    "region-needed": _start,
    "crash-deadlock": _finish,
    "lock-held": _finish,
    "no-qp-ex": _extended_twin,
    "poll-not-open": _start_poll,
    "device-fatal": _close,
    "device-closed": _open,
}
