"""One suggestion after a verb was refused, from the tables; empty if none is certain."""

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace

from rdmalab.command import CallArguments, Invocation, New, Noun, Ref, Thing
from rdmalab.grammar.arguments import keys_of_command
from rdmalab.hca.ah import ROUTE_HOP_LIMIT
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.send_checks import is_stuck
from rdmalab.hca.slots import frees
from rdmalab.repair.bring_up import partner
from rdmalab.repair.modify import usual_value
from rdmalab.session.lines import Reply, allowed_lines
from rdmalab.session.session import Session
from rdmalab.spec.states import BRING_UP_MOVES, MOVES, Move, QPState, QPType, fields_of, usual_word
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.world.relations import exists, users_of

_THIS = re.compile(rf"\bthis ({'|'.join(Noun)})\b")  # the adapter knows no names
_INDEX = re.compile(r"\bsgid_index=\d+")
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


def _of_object(verb: str) -> Suggestion:
    return lambda session, invocation: f"{verb} {object_name(session, invocation)}"


def _of_node(verb: str) -> Suggestion:
    return lambda session, invocation: f"{verb} {_node(session, invocation)}"


def _other(session: Session, node: str) -> str:
    return next((other for other in session.world.nodes if other != node), node)


def _living(session: Session, noun: Noun, node: str) -> list[str]:
    """The names of a node's objects of one noun, oldest first."""
    return [session.names.of(it) for it in session.names.living(session.world, noun, node)]


def with_words(line: str, words: Iterable[str]) -> str:
    """The line with these words; each replaces the word with the same key."""
    words = list(words)
    keys = {word.partition("=")[0] for word in words}
    kept = [word for word in line.split() if word.partition("=")[0] not in keys]
    return " ".join([*kept, *words])


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
            words = [f"ah={ways[0]}", f"remote_qpn={name}", f"remote_qkey={peer.attr.qkey or 0:#x}"]
            return with_words(invocation.line, words)
    return ""


def _whole_address(session: Session, invocation: Invocation) -> str:
    """Add is_global and a GID, which RoCE requires; of a modify_qp name the peer's node."""
    if invocation.name == "modify_qp":
        keys = {field.name for field in fields(AhAttr)} - {"port_num"}
        words = _ADDRESS.sub("ah_attr=", invocation.line).split()
        kept = [w for w in words if w.split("=")[0].split(".")[0] not in {"ah", "ah_attr", *keys}]
        return " ".join([*kept, f"ah={_meant_node(session, invocation)}"])
    if invocation.name != "create_ah" or _has(invocation.line, "to"):
        return ""
    line = invocation.line
    dgid = next((word[5:] for word in line.split() if word.startswith("dgid=")), "")
    if not dgid:
        keys = {"is_global", "port_num", "sgid_index", "dlid"}
        kept = [word for word in line.split() if word.partition("=")[0] not in keys]
        return " ".join([*kept, f"to={_meant_node(session, invocation)}"])
    index = int("." in dgid)  # the IPv4 address of a node stands second in its table
    # A router drops what has the default 0.
    hops = [] if _has(line, "hop_limit") else [f"hop_limit={ROUTE_HOP_LIMIT}"]
    return with_words(line, ["is_global=1", f"sgid_index={index}", "port_num=1", *hops])


def _fitting_index(session: Session, invocation: Invocation) -> str:
    """Name the entry of the GID table that is of the kind of dgid, where a node has this GID."""
    index, line = _gid_index(session, invocation), invocation.line
    if index is None:
        return _whole_address(session, invocation)
    word = f"sgid_index={index}"
    if _INDEX.search(line):
        return _INDEX.sub(word, line)
    inner = line.replace("ah_attr={", f"ah_attr={{{word} ", 1)
    return inner if inner != line else f"{line} {word}"


def _gid_index(session: Session, invocation: Invocation) -> int | None:
    """Place in the GID table of the node that has the dgid of a command; None if none has it."""
    attr = invocation.arguments.get("attr", {})
    dgid = attr.get("ah_attr", {}).get("dgid") if isinstance(attr, dict) else None
    tables = [hca.gids for hca in session.world.nodes.values()]
    return next((gids.index(dgid) for gids in tables if dgid and dgid in gids), None)


def _meant_node(session: Session, invocation: Invocation) -> str:
    """The node of the QP named as the peer, or whose last octet is the LID; else another node."""
    given: CallArguments = invocation.arguments.get("attr", {})
    peer, lid = given.get("dest_qp_num"), given.get("ah_attr", given).get("dlid")
    if isinstance(peer, Ref):
        return peer.node
    own, nodes = _node(session, invocation), session.world.nodes
    others = [name for name in nodes if name != own]
    fitting = [name for name in others if peer in nodes[name].qps.items or nodes[name].host == lid]
    return next(iter((*fitting, *others)), own)


# --------------------------------------------------------------------------- parts that lack
def _with_parts(session: Session, invocation: Invocation) -> str:
    """The parts (PD, CQs, SRQ, XRCD) that this type takes, where they exist."""
    line, node = invocation.line, _node(session, invocation)
    attr = invocation.arguments.get("init_attr")
    qp_type = attr.get("qp_type") if isinstance(attr, dict) else None
    parts = TRANSPORTS[qp_type].parts if qp_type in TRANSPORTS else ("xrcd", "cq")
    words = []
    for part in parts:
        if _has(line, part):
            continue
        found = _living(session, _PARTS[part], node)
        if not found:
            return _MAKE[_PARTS[part]].format(node)
        words.append(f"{part}={found[0]}")
    return with_words(line, words)


_PARTS = {"pd": Noun.PD, "send_cq": Noun.CQ, "recv_cq": Noun.CQ, "cq": Noun.CQ, "xrcd": Noun.XRCD}
_MAKE = {
    Noun.PD: "alloc_pd {}.pd0", Noun.CQ: "create_cq {}.cq0 cqe=16",
    Noun.XRCD: "open_xrcd {}.xrcd0 oflag=O_CREAT",
}  # fmt: skip


def _as_rc(session: Session, invocation: Invocation) -> str:
    """An XRC queue pair as RC, with the parts of that; empty for types that no other replaces."""
    attr = invocation.arguments.get("init_attr")
    if not isinstance(attr, dict) or attr["qp_type"] not in (QPType.XRC_SEND, QPType.XRC_RECV):
        return ""
    return _with_parts(session, replace(
        invocation, arguments=invocation.arguments | {"init_attr": attr | {"qp_type": QPType.RC}},
        line=with_words(invocation.line, ["qp_type=RC"]),
    ))  # fmt: skip


def _with_create(_session: Session, invocation: Invocation) -> str:
    return with_words(invocation.line, ["oflag=O_CREAT"])


def _to_domain(session: Session, invocation: Invocation) -> str:
    """Post the receive on an SRQ of the XRC domain instead."""
    qp = qp_of(session, invocation)
    if qp is None or invocation.name != "post_recv" or not qp.transport.receives:
        return ""
    srqs = session.world.nodes[qp.node].srqs.items.values()
    lines = (_on_srq(session, invocation, s.node, s.number) for s in srqs if s.xrcd == qp.xrcd)
    return next(lines, "")


# --------------------------------------------------------------------------- windows
def _dealloc_window(session: Session, invocation: Invocation) -> str:
    thing = session.names.find(object_name(session, invocation))
    if thing is None or thing.noun is not Noun.MR:
        return ""
    return next((f"{verb} {session.names.of(user)}" for user, verb in
                 users_of(session.world, thing) if user.noun is Noun.MW), "")  # fmt: skip


# --------------------------------------------------------------------------- wr_* and polls
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
    name = object_name(session, invocation)
    thing = session.names.find(name)
    if thing is None or thing.noun is not Noun.CQ:
        return ""
    return f"start_poll {name}" if session.world.find(thing, CompletionQueue).cqes else ""


WAYS_OUT: dict[str, Suggestion] = {
    "crash-ah": _with_address,
    "crash-ah-pointer": _with_address,
    "ah-port": _whole_address,
    "ah-global": _whole_address,
    "ah-sgid-index": _whole_address,
    "ah-sgid-empty": _whole_address,
    "ah-dgid": _fitting_index,
    "qp-parts": _with_parts,
    "qp-type-support": _as_rc,
    "srq-parts": _with_parts,
    "xrcd-private": _with_create,
    "xrcd-none": _with_create,
    "no-receive-queue": _to_domain,
    "mr-window-bound": _dealloc_window,
    "region-needed": _of_object("wr_start"),
    "crash-deadlock": _finish,
    "lock-held": _finish,
    "no-qp-ex": _extended_twin,
    "poll-not-open": _start_poll,
    "device-fatal": _of_node("close_device"),
    "device-closed": _of_node("open_device"),
}


# --------------------------------------------------------------------------- objects
_MASK = re.compile(r"\battr_mask=\S+")
_WORD = re.compile(r"(\w+=[\w|]+)(?:(?:, \w+)* or \w+)?")  # a legal argument, other values
_CHANGE_NOTHING = {"qp_state", "cur_qp_state"}  # in a move that stays in its state
_UP = dict(BRING_UP_MOVES)


def suggestion(session: Session, reply: Reply) -> str:
    """A line that is legal now and has the intended effect; empty if none is known.

    A lab that does not allow a short form gets the first of its verbs.
    """
    line = _suggested(session, reply)
    return next(iter(allowed_lines(session, line)), "") if line else ""


def _suggested(session: Session, reply: Reply) -> str:
    refusal, invocation = reply.refusal, reply.invocation
    if refusal is None or invocation is None or refusal.permanent:
        return ""
    find = _REMEDIES.get(refusal.rule)
    if find is None and (word := _WORD.fullmatch(refusal.legal)):
        return with_words(invocation.line, [word[1]])
    return find(session, invocation) if find is not None else ""


def _next_move(session: Session, invocation: Invocation) -> str:
    """The first transition on the way to the state that was asked for, else to RTS."""
    qp = qp_of(session, invocation)
    if qp is None:
        return ""
    to = _UP.get(qp.state, QPState.RESET)
    move = MOVES.get((qp.qp_type, qp.state, to))
    words = [f"modify_qp {object_name(session, invocation)} state={to.name}"]
    return " ".join(words + _usual(session, qp, fields_of(move.required))) if move else ""


def _usual(session: Session, qp: QueuePair, names: tuple[str, ...]) -> list[str]:
    """The usual values of these attributes, `…` for one that only the program can choose."""
    words = []
    for name in names:
        value = usual_value(session, qp, name)
        if name == "ah_attr":
            words.append(f"ah={value or _other(session, qp.node)}")
        else:
            words.append(f"{name}={value or usual_word(name) or '…'}")
    return words


def _asked_move(
    session: Session, invocation: Invocation
) -> tuple[QueuePair, dict[str, object], Move] | None:
    """The QP, the given attributes and the legal transition; None if there is none."""
    qp = qp_of(session, invocation)
    attr = invocation.arguments.get("attr")
    if qp is None or not isinstance(attr, dict):
        return None
    move = MOVES.get((qp.qp_type, qp.state, attr.get("qp_state", qp.state)))
    return None if move is None else (qp, attr, move)


def _with_the_missing(session: Session, invocation: Invocation) -> str:
    """The line with the missing keys, and an attr_mask with all required bits."""
    asked = _asked_move(session, invocation)
    if asked is None:
        return ""
    qp, attr, move = asked
    given = {*attr, *(["ah_attr"] if "ah" in attr else [])}
    lacking = tuple(name for name in fields_of(move.required) if name not in given)
    line, mask = invocation.line, invocation.arguments.get("attr_mask")
    if mask is not None:
        whole = "|".join(bit.name or "" for bit in mask | move.required)
        line = _MASK.sub(f"attr_mask={whole}", line)
    return " ".join([line, *_usual(session, qp, lacking)])


def _without_surplus(session: Session, invocation: Invocation) -> str:
    """The line without attributes that the transition does not take; empty if none is left."""
    asked = _asked_move(session, invocation)
    if asked is None:
        return ""
    qp, attr, move = asked
    taken = {"qp_state", *fields_of(move.required | move.optional)}
    kept = {"ah_attr" if name == "ah" else name for name in attr} & taken
    if attr.get("qp_state", qp.state) == qp.state and kept <= _CHANGE_NOTHING:
        return ""
    command = session.vocabulary[invocation.name]
    paths = {key: slot.path for key, slot in keys_of_command(command).by_key.items()}
    words = []
    for word in invocation.line.split():
        path = paths.get(word.partition("=")[0], ()) if "=" in word else ()
        name = "ah_attr" if path[1:2] == ("ah",) else path[1] if len(path) > 1 else "qp_state"
        if name in taken:
            words.append(word)
    return " ".join(words)


def _bring_up(session: Session, invocation: Invocation) -> str:
    qp = qp_of(session, invocation)
    if qp is None or qp.state not in _UP:
        return ""
    peer = partner(session.world, qp)
    if peer is None:
        return _next_move(session, invocation)
    name = session.names.of(Thing(Noun.QP, peer.node, peer.number))
    return f"to_rts {object_name(session, invocation)} {name}"


def _make_room(session: Session, invocation: Invocation) -> str:
    """Poll, which frees slots; run if there is no completion yet. Empty if none will come."""
    if invocation.name == "post_srq_recv":
        return _poll_shared(session, invocation)
    qp = qp_of(session, invocation)
    if qp is None:
        return ""
    is_send = invocation.name != "post_recv"
    number = qp.send_cq if is_send else qp.recv_cq
    cq = session.world.nodes[qp.node].cqs.items[number]
    name = session.names.of(Thing(Noun.CQ, qp.node, number))
    if any(cqe.is_send is is_send and frees(qp, cqe) for cqe in cq.cqes):
        return f"poll_cq {name} num_entries={len(cq.cqes)}"
    if invocation.name == "post_send" and is_stuck(session.world.nodes[qp.node], qp):
        return ""
    if session.world.agenda.next_ns() is not None:
        return "run"
    return f"show sq {object_name(session, invocation)}"


def _poll_shared(session: Session, invocation: Invocation) -> str:
    """Poll a CQ that has a completion of a receive of this SRQ."""
    name = object_name(session, invocation)
    thing = session.names.find(name)
    if thing is None:
        return ""
    for cq in session.world.nodes[thing.node].cqs.items.values():
        if any(cqe.srq == thing.number for cqe in cq.cqes):
            cq_name = session.names.of(Thing(Noun.CQ, thing.node, cq.number))
            return f"poll_cq {cq_name} num_entries={len(cq.cqes)}"
    return f"show {name}"


def _to_srq(session: Session, invocation: Invocation) -> str:
    """The line that posts these receives on the SRQ of this queue pair; empty if there is none."""
    qp = qp_of(session, invocation)
    return _on_srq(session, invocation, qp.node, qp.srq) if qp is not None else ""


def _on_srq(session: Session, invocation: Invocation, node: str, number: int) -> str:
    """The line of a post_recv as one that posts on this SRQ."""
    text = invocation.line.replace("post_recv", "post_srq_recv", 1)
    name = session.names.of(Thing(Noun.SRQ, node, number))
    return text.replace(object_name(session, invocation), name, 1)


def _destroy_users(session: Session, invocation: Invocation) -> str:
    """Destroy the first object that still uses it."""
    thing = session.names.find(object_name(session, invocation))
    users = users_of(session.world, thing) if thing is not None else ()
    return next((f"{verb} {session.names.of(user)}" for user, verb in users), "")


def _wake(session: Session, invocation: Invocation) -> str:
    """Poll if the CQ has a completion, arm if it is not armed, else run."""
    thing = session.names.find(object_name(session, invocation))
    if thing is None or not exists(session.world, thing):
        return ""
    cqs = [cq for cq in session.world.nodes[thing.node].cqs.items.values()
           if cq.channel == thing.number]  # fmt: skip
    for cq in cqs:
        name = session.names.of(cq.thing)
        if cq.cqes:
            return f"poll_cq {name} num_entries={len(cq.cqes)}"
        if not cq.armed:
            return f"req_notify_cq {name}"
    return "run" if cqs and session.world.agenda.next_ns() is not None else ""


def _acknowledge(session: Session, invocation: Invocation) -> str:
    thing = session.names.find(object_name(session, invocation))
    if thing is None or thing.noun is not Noun.CQ:
        return ""
    cq = session.world.find(thing, CompletionQueue)
    return f"ack_cq_events {object_name(session, invocation)} nevents={cq.unacked}"


def _acknowledge_other(session: Session, invocation: Invocation) -> str:
    """The line for the first CQ of the node that has unacknowledged events."""
    cqs = session.world.nodes[_node(session, invocation)].cqs.items.values()
    lines = (f"ack_cq_events {session.names.of(cq.thing)}" for cq in cqs if cq.unacked)
    return next(lines, "")


_REMEDIES: dict[str, Callable[[Session, Invocation], str]] = {
    "transition": _next_move,
    "attr-missing": _with_the_missing,
    "attr-surplus": _without_surplus,
    "send-state": _bring_up,
    "recv-shared": _to_srq,
    "recv-state": _next_move,
    "queue-full": _make_room,
    "in-use": _destroy_users,
    "cq-event-none": _wake,
    "cq-events-ack": _acknowledge_other,
    "cq-events-unacked": _acknowledge,
    "async-unacked": _of_object("ack_async_event"),
    "poll-open": _of_object("end_poll"),
    **WAYS_OUT,
}
