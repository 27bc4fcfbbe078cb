"""The connection manager of the hosts: rdma_cm's ids, listeners, events and private data.

Its state is the hosts'. Nothing of it reaches the adapters: queue pairs are moved by the programs
through ibv_modify_qp, and no MADs are on the cable. 10.0.0.N is the address of the N-th node; any
other address stands for the node of the program that binds it, and for the listener at the
port where it is resolved: programs on one machine find each other by 127.0.0.1 and by its name.
"""

import errno
from collections.abc import Callable
from ipaddress import IPv6Address
from itertools import count
from socket import AF_INET

from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.program import Address, EventChannel, Id, Program, State
from rdmalab.compat.c.wire import Ask
from rdmalab.compat.c.words import Answer, Fields
from rdmalab.spec.connections import (
    PACKET_LIFETIME,
    SIDR_SILENCE_MS,
    RejectReason,
    ack_timeout,
    code_ms,
    silence_ms,
    unanswered_ms,
)
from rdmalab.spec.connections import CmEvent as Event
from rdmalab.spec.limits import PortState

Handler = Callable[["Connections", Program, Ask, bytes], Answer | None]
HANDLERS: dict[str, Handler] = {}
UDP_QKEY = 0x01234567
GROUP_QPN = 0xFFFFFF
NO_NODE = 0xFF
_MAPPED = 0xFFFF << 32  # the upper part of ::ffff:a.b.c.d
_FIRST_PORT = 40_000
# Bytes of private data that a program sees: as many as the message has room for.
_REQ, _REP, _REJ, _SIDR_REQ, _SIDR_REP = 56, 196, 148, 180, 136
_NO_LISTENER, _SIDR_REJECTED = 1, 2  # of `SIDR`


def word(handler: Handler) -> Handler:
    """The handler of the word `cm` and its name."""
    HANDLERS[f"cm{handler.__name__}"] = handler
    return handler


class Connections:
    """All ids and channels of a lab."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.ids: dict[int, Id] = {}
        self.channels: dict[int, EventChannel] = {}
        self.unanswered: list[tuple[Id, bytes]] = []  # connect requests that found no listener yet
        self.refused: dict[str, None] = {}  # sentences on those that were answered for this reason
        self.timers: dict[Id, tuple[int, Callable[[Connections, Id], None]]] = {}  # due in ns
        self._numbers, self._ports = count(1), count(_FIRST_PORT)
        self.home = {_MAPPED | 0x0A000000 | n: node for n, node in enumerate(calls.nodes, 1)}
        self.address = {node: ip for ip, node in self.home.items()}

    def open_channel(self, program: Program, notify: Callable[[], None]) -> int:
        """A new event channel; returns its number."""
        number = next(self._numbers)
        self.channels[number] = EventChannel(program, notify)
        return number

    def leave(self, program: Program) -> None:
        """A program has ended: its peers get their events."""
        for each in [each for each in self.ids.values() if each.program is program]:
            del self.ids[each.number]
            self.part(each)
        for number in [n for n, each in self.channels.items() if each.program is program]:
            del self.channels[number]

    def of(self, program: Program, number: int) -> Id:
        """The id of a handle; OSError with EINVAL if the program has none of this number."""
        found = self.ids.get(number)
        if found is None or found.program is not program:
            raise OSError(errno.EINVAL, "no rdma_cm_id has this handle")
        return found

    def new(self, program: Program, channel: int, space: int) -> Id:
        """A new id in this port space; its events go into this channel."""
        made = Id(next(self._numbers), program, channel, space)
        self.ids[made.number] = made
        return made

    def after_ms(self, ms: int, id_: Id, act: "Callable[[Connections, Id], None]") -> None:
        """Act on an id in so much virtual time: its one timer, which replaces that before."""
        self.timers[id_] = self.calls.world.now_ns + ms * 1_000_000, act

    def due_ns(self) -> int | None:
        """Virtual time at which the first timer expires."""
        return min((due_ns for due_ns, _ in self.timers.values()), default=None)

    def expire(self) -> list[str]:
        """Act on the ids whose timers have expired; returns new sentences on failed requests."""
        now_ns, before = self.calls.world.now_ns, len(self.refused)
        for id_, (due_ns, act) in [*self.timers.items()]:
            if due_ns <= now_ns:
                del self.timers[id_]
                act(self, id_)
        return list(self.refused)[before:]

    def reaches(self, one: str, other: str) -> bool:
        """True if messages of the connection manager go from one node to the other."""
        nodes = self.calls.world.nodes
        states = {nodes[node].port_state for node in (one, other) if node and one != other}
        return states <= {PortState.ACTIVE}

    def deliver(self, *, refuse: bool) -> list[str]:
        """Bring the unanswered connect requests to their listeners.

        refuse: those that find none are answered now; returns a sentence on each of them that is
        unlike those before. A program connects in no virtual time, so one that is about to listen
        must not lose a race that a cable would decide for it.
        """
        before, waiting, self.unanswered = len(self.refused), self.unanswered, []
        for id_, data in waiting:
            if id_.number not in self.ids:
                continue
            listener, node = _listener(self, id_)
            if not self.reaches(id_.node, node or self.home.get(id_.destination["ip"], "")):
                self.unanswered.append((id_, data))
                if id_ not in self.timers:
                    self.after_ms(silence_ms(id_.lifetime), id_, _give_up)
            elif listener is not None:
                self._ask(id_, listener, node, data)
            elif refuse:
                self.refuse(id_, RejectReason.INVALID_SERVICE_ID)
                self.refused[
                    f"{id_.program.name} on {id_.node} asked for {_written(id_.destination)}: "
                    f"rejected, no program listens there"
                ] = None
            else:
                self.unanswered.append((id_, data))
        return list(self.refused)[before:]

    def listening(self, program: Program) -> list[str]:
        """The addresses at which a program listens, as a person writes them."""
        theirs = [each for each in self.ids.values() if each.program is program]
        return [_written(each.source) for each in theirs if each.state is State.LISTENING]

    def open_requests(self, program: Program) -> list[str]:
        """A sentence on each connect request to a program that it has not answered."""
        asked = [each for each in self.ids.values()
                 if each.program is program and each.state is State.REQUESTED]  # fmt: skip
        return [f"has neither accepted nor rejected the request of {each.peer.program.name} on "
                f"{each.peer.node}" for each in asked if each.peer is not None]  # fmt: skip

    def _ask(self, id_: Id, listener: Id, node: str, data: bytes) -> None:
        made = self.new(listener.program, listener.channel, id_.space)
        made.node, made.source = node, self.at(node, listener.source["port"])
        made.destination, made.state = id_.source, State.REQUESTED
        made.peer, id_.peer = id_, made
        self._time(id_, id_.lifetime)
        self._time(made, id_.ack_timeout - 1)
        wait_ms = unanswered_ms(id_.lifetime, id_.ack_timeout)
        self.after_ms(SIDR_SILENCE_MS if id_.is_datagram else wait_ms, id_, _give_up)
        self.report(made, Event.CONNECT_REQUEST, listener=listener, data=data)

    def _time(self, id_: Id, lifetime: int) -> None:
        caps = self.calls.world.nodes[id_.node].profile.caps
        id_.lifetime = lifetime
        id_.ack_timeout = ack_timeout(caps.local_ca_ack_delay, lifetime)

    def part(self, gone: Id) -> None:
        """Send the peer of an id the event of its end.

        cm_destroy_id of Linux rejects a reply that it has not confirmed. A server that has not
        accepted yet gets no event (ucma_event_handler): its rdma_accept fails with EINVAL.
        """
        for number in self._unread_requests(gone):
            self.part(self.ids.pop(number))
        self.timers.pop(gone, None)
        peer, gone.peer = gone.peer, None
        if peer is None or peer.number not in self.ids:
            return
        peer.peer = None
        if peer.state is State.CONNECTED:
            peer.state = State.DREQ_RCVD
            self.report(peer, Event.DISCONNECTED)
        elif peer.state is State.DREQ_SENT:
            self.end(peer)
        elif peer.state in (State.CONNECTING, State.ACCEPTED):
            self.refuse(peer, RejectReason.CONSUMER_DEFINED)

    def end(self, id_: Id, status: int = 0) -> None:
        """The disconnect of an id is answered, or is not after all retries (-ETIMEDOUT)."""
        if id_.state is State.DREQ_SENT:
            self.report(id_, Event.DISCONNECTED, status=status)
        id_.state = State.TIMEWAIT
        self.after_ms(code_ms(id_.ack_timeout), id_, _leave_timewait)

    def refuse(self, id_: Id, reason: int, data: bytes = b"") -> None:
        """Tell an id that its request or reply is refused; a datagram id by the SIDR status."""
        id_.state, id_.peer = State.DISCONNECTED, None
        self.timers.pop(id_, None)
        if id_.is_datagram:
            is_unknown = reason == RejectReason.INVALID_SERVICE_ID
            status, room = _NO_LISTENER if is_unknown else _SIDR_REJECTED, _SIDR_REP
            self.report(id_, Event.UNREACHABLE, status=status, data=data.ljust(room, b"\0"))
        else:
            self.report(id_, Event.REJECTED, status=reason, data=data.ljust(_REJ, b"\0"))

    def _unread_requests(self, listener: Id) -> list[int]:
        """Ids for which a listener was asked, and of which no program knows yet."""
        channel = self.channels.get(listener.channel)
        events = channel.events if channel else ()
        return [fields["id"] for fields, _ in events
                if fields["listen_id"] == listener.number and fields["id"] in self.ids]  # fmt: skip

    def report(
        self, id_: Id, event: Event, *, status: int = 0, listener: Id | None = None,
        data: bytes = b"", **other: object,
    ) -> None:  # fmt: skip
        """Put an event into the channel of an id, or of the listener that it came to."""
        channel = self.channels.get((listener or id_).channel)
        if channel is None:
            return
        peer = id_.peer
        fields: Ask = {
            "id": id_.number, "listen_id": listener.number if listener else 0, "event": event,
            "status": status, "node": self._index(id_), "is_datagram": id_.is_datagram,
            "qkey": UDP_QKEY, "own_psn": id_.psn, "source": id_.source,
            "destination": id_.destination, "gid": self._gid(peer), "promise": {},
            "ack_timeout": id_.ack_timeout,
        }  # fmt: skip
        if peer is not None:
            fields["promise"] = peer.promise | {"psn": peer.psn}
        channel.events.append((fields | other, data))
        channel.notify()

    def _gid(self, peer: Id | None) -> int:
        return self.calls.world.nodes[peer.node].gids[1] if peer is not None and peer.node else 0

    def _index(self, id_: Id) -> int:
        return self.calls.nodes.index(id_.node) if id_.node else NO_NODE

    def own_node(self, program: Program, ip: int) -> str:
        """The node of a program that an address stands for."""
        node = self.home.get(ip, "")
        if node and program.node in ("", node):
            return node
        return program.node or self.calls.nodes[0]

    def placed(self, id_: Id) -> Answer:
        """The fields that say where an id is."""
        return {"node": self._index(id_), "source": id_.source, "destination": id_.destination}

    def at(self, node: str, port: int) -> Address:
        """The address of a node, with a port."""
        return {"family": AF_INET, "port": port, "ip": self.address[node]}

    def next_port(self) -> int:
        """A port that no id has been given yet."""
        return next(self._ports)


def _written(address: Address) -> str:
    """`10.0.0.1:7471`; `port 7471` for any address."""
    if address["ip"] in (0, _MAPPED):
        return f"port {address['port']}"
    ip = IPv6Address(address["ip"])
    return f"{ip.ipv4_mapped or f'[{ip}]'}:{address['port']}"


def _padded(data: bytes, id_: Id, connected: int, datagram: int) -> bytes:
    """Private data as the peer sees it; OSError with EINVAL if the message has no room for it."""
    room = datagram if id_.is_datagram else connected
    if len(data) > room:
        raise OSError(errno.EINVAL, "too much private data")
    return data.ljust(room, b"\0")


def _demand(id_: Id, *states: State) -> None:
    """OSError with EINVAL if an id is in another state, as cma.c of Linux has it."""
    if id_.state not in states:
        needed = " or ".join(state.name for state in states)
        raise OSError(errno.EINVAL, f"the id is {id_.state.name}, not {needed}")


# --------------------------------------------------------------------------- timers
def _give_up(cm: Connections, id_: Id) -> None:
    """A connect request or its answer gets no reply: IB_CM_REQ_ERROR, IB_CM_REP_ERROR of Linux."""
    cm.unanswered = [each for each in cm.unanswered if each[0] is not id_]
    is_client = id_.state is State.CONNECTING
    peer, id_.peer, id_.state = id_.peer, None, State.DISCONNECTED
    reason = "no message reaches it"
    if peer is not None:
        peer.peer = None
        silence = "neither accepted nor rejected the request" if is_client else "not established it"
        reason = f"{peer.program.name} has {silence}"
    what = f"asked for {_written(id_.destination)}" if is_client else "has accepted a request"
    cm.refused[f"{id_.program.name} on {id_.node} {what}: unreachable, {reason}"] = None
    cm.report(id_, Event.UNREACHABLE, status=-errno.ETIMEDOUT)


def _fail_disconnect(cm: Connections, id_: Id) -> None:
    cm.end(id_, -errno.ETIMEDOUT)


def _leave_timewait(cm: Connections, id_: Id) -> None:
    cm.report(id_, Event.TIMEWAIT_EXIT)


def _fail_address(cm: Connections, id_: Id) -> None:
    cm.report(id_, Event.ADDR_ERROR, status=-errno.ETIMEDOUT)


# --------------------------------------------------------------------------- words
@word
def _create_id(cm: Connections, program: Program, ask: Ask, _data: bytes) -> Answer:
    if ask["channel"] not in cm.channels:
        raise OSError(errno.EINVAL, "no such event channel")
    return {"handle": cm.new(program, ask["channel"], ask["port_space"]).number}


@word
def _destroy_id(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    gone = cm.of(program, ask["handle"])
    del cm.ids[gone.number]
    cm.part(gone)


@word
def _bind_addr(cm: Connections, program: Program, ask: Ask, _data: bytes) -> Answer:
    id_, asked = cm.of(program, ask["handle"]), ask["source"]
    _demand(id_, State.IDLE)
    port = asked["port"] or cm.next_port()
    is_any = asked["ip"] in (0, _MAPPED)
    node = "" if is_any else cm.own_node(program, asked["ip"])
    for other in cm.ids.values():
        nodes = other.node or other.program.node, node or program.node
        is_same = not all(nodes) or nodes[0] == nodes[1]
        if _listens(other, id_.space, port) and is_same:
            raise OSError(errno.EADDRINUSE, "another id listens at this port")
    id_.node, id_.state = node, State.BOUND
    id_.source = cm.at(node, port) if node else {**asked, "family": AF_INET, "port": port}
    return cm.placed(id_)


@word
def _resolve_addr(cm: Connections, program: Program, ask: Ask, _data: bytes) -> Answer:
    id_ = cm.of(program, ask["handle"])
    _demand(id_, State.IDLE, State.BOUND)
    node = id_.node or cm.own_node(program, ask["source"]["ip"])
    if not cm.reaches(node, cm.home.get(ask["destination"]["ip"], "")):
        cm.after_ms(ask["timeout_ms"], id_, _fail_address)
        id_.state = State.BOUND
        return cm.placed(id_)
    id_.node, id_.state = node, State.RESOLVED
    id_.source = cm.at(node, id_.source["port"] or ask["source"]["port"] or cm.next_port())
    id_.destination = dict(ask["destination"])
    cm.report(id_, Event.ADDR_RESOLVED)
    return cm.placed(id_)


@word
def _resolve_route(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    id_ = cm.of(program, ask["handle"])
    _demand(id_, State.RESOLVED)
    id_.state = State.ROUTED
    cm.report(id_, Event.ROUTE_RESOLVED)


@word
def _listen(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    id_ = cm.of(program, ask["handle"])
    _demand(id_, State.IDLE, State.BOUND)
    if not id_.source["port"]:
        id_.source = {"family": AF_INET, "port": cm.next_port(), "ip": _MAPPED}
    id_.state = State.LISTENING


def _listener(cm: Connections, id_: Id) -> tuple[Id | None, str]:
    """Listening id that a connecting id wants to reach, or None, and the node."""
    wanted = cm.home.get(id_.destination["ip"], "")
    for each in cm.ids.values():
        home = each.node or each.program.node
        is_there = wanted in ("", home or wanted)
        if is_there and _listens(each, id_.space, id_.destination["port"]):
            return each, home or wanted or cm.calls.nodes[0]
    return None, ""


def _listens(id_: Id, space: int, port: int) -> bool:
    return id_.state is State.LISTENING and (id_.space, id_.source["port"]) == (space, port)


@word
def _connect(cm: Connections, program: Program, ask: Ask, data: bytes) -> Answer:
    id_ = cm.of(program, ask["handle"])
    _demand(id_, State.ROUTED)
    padded = _padded(data, id_, _REQ, _SIDR_REQ)
    id_.promise, id_.state = ask["promise"], State.CONNECTING
    id_.lifetime = (id_.promise["ack_timeout"] or PACKET_LIFETIME + 1) - 1
    cm.unanswered.append((id_, padded))
    cm.deliver(refuse=False)
    return {"psn": id_.psn}


@word
def _accept(cm: Connections, program: Program, ask: Ask, data: bytes) -> Answer:
    id_ = cm.of(program, ask["handle"])
    padded = _padded(data, id_, _REP, _SIDR_REP)
    peer, is_datagram = id_.peer, id_.is_datagram
    if id_.state is not State.REQUESTED or (peer is None and not is_datagram):
        raise OSError(errno.EINVAL, "no request to accept")
    id_.promise, id_.state = ask["promise"], State.ACCEPTED
    if peer is not None and cm.reaches(id_.node, peer.node):
        cm.timers.pop(peer, None)
        cm.report(peer, Event.ESTABLISHED if is_datagram else Event.CONNECT_RESPONSE, data=padded)
    if peer is not None and is_datagram:  # no connection that one of them could end
        id_.peer = peer.peer = None
    elif peer is not None:
        cm.after_ms(unanswered_ms(id_.lifetime, id_.ack_timeout), id_, _give_up)
    return {"psn": id_.psn}


@word
def _establish(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    id_ = cm.of(program, ask["handle"])
    if id_.peer is None or id_.peer.state is not State.ACCEPTED:
        raise OSError(errno.EINVAL, "the peer has not accepted")
    id_.state = id_.peer.state = State.CONNECTED
    cm.timers.pop(id_.peer, None)
    cm.report(id_.peer, Event.ESTABLISHED)


@word
def _reject(cm: Connections, program: Program, ask: Ask, data: bytes) -> Answer:
    id_ = cm.of(program, ask["handle"])
    peer = id_.peer
    if peer is None or id_.state is not State.REQUESTED:
        raise OSError(errno.EINVAL, "no request to reject")
    cm.refuse(peer, ask["reason"], _padded(data, id_, _REJ, _SIDR_REP))
    id_.peer, id_.state = None, State.DISCONNECTED
    return {"psn": 0}


@word
def _disconnect(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    id_ = cm.of(program, ask["handle"])
    if id_.state <= State.ROUTED:
        raise OSError(errno.EINVAL, f"the id is {id_.state.name}: nothing to disconnect")
    peer = id_.peer
    if id_.state is State.DREQ_RCVD:  # cma_disconnect of Linux: no DREQ can be sent, so a DREP is
        cm.end(id_)
        if peer is not None:
            cm.end(peer)
    elif id_.state in (State.CONNECTED, State.ACCEPTED):
        id_.state = State.DREQ_SENT
        cm.after_ms(silence_ms(id_.lifetime), id_, _fail_disconnect)
        if peer is not None and cm.reaches(id_.node, peer.node):
            peer.state = State.DREQ_RCVD
            cm.report(peer, Event.DISCONNECTED)


@word
def _join(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    """RoCE v2 over IPv4: the GID of a group is its IPv4 address, mapped (cma_iboe_set_mgid)."""
    id_ = cm.of(program, ask["handle"])
    _demand(id_, State.BOUND, State.RESOLVED)
    if not id_.node:
        raise OSError(errno.EINVAL, "the id is bound to no device")
    promise = {"qp_num": GROUP_QPN}
    cm.report(id_, Event.MULTICAST_JOIN, gid=ask["group"]["ip"], promise=promise, is_datagram=True)


@word
def _leave(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    cm.of(program, ask["handle"])


@word
def _migrate(cm: Connections, program: Program, ask: Ask, _data: bytes) -> None:
    id_, to = cm.of(program, ask["handle"]), cm.channels.get(ask["channel"])
    if to is None:
        raise OSError(errno.EINVAL, "no such event channel")
    before = cm.channels.get(id_.channel)
    id_.channel = ask["channel"]
    moved = [each for each in before.events if each[0]["id"] == id_.number] if before else []
    for each in moved:  # what was not read yet moves with it
        if before is not None:
            before.events.remove(each)
        to.events.append(each)
        to.notify()


def take_event(cm: Connections, program: Program, number: int) -> tuple[Fields, bytes]:
    """The oldest event of a channel: fields and private data; OSError with EAGAIN without one."""
    channel = cm.channels.get(number)
    if channel is None or channel.program is not program:
        raise OSError(errno.EINVAL, "no such event channel")
    if not channel.events:
        raise OSError(errno.EAGAIN, "no event")
    return channel.events.popleft()
