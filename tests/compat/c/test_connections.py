"""rdma_cm of the hosts, without programs: who gets which event."""

import errno
from functools import partial
from typing import Any

import pytest

from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.connections import HANDLERS, Connections, take_event
from rdmalab.compat.c.program import UDP_SPACE
from rdmalab.lab import Lab
from rdmalab.spec.connections import CmEvent as Event

TCP_SPACE = 0x0106
A_ADDRESS, LOOPBACK = 0xFFFF0A000001, 0xFFFF7F000001
NOWHERE = {"family": 0, "port": 0, "ip": 0}


class Hosts:
    """Two programs with a channel each; `said` counts the notices of each."""

    def __init__(self) -> None:
        self.calls = Calls(Lab())
        self.cm = Connections(self.calls)
        self.said = {"A": 0, "B": 0}
        self.program = {n: self.calls.join(ord(n), n, n) for n in "AB"}
        self.channel = {
            n: self.cm.open_channel(self.program[n], partial(self.count, n)) for n in "AB"
        }

    def count(self, node: str) -> None:
        self.said[node] += 1

    def do(self, node: str, word: str, data: bytes = b"", **ask: Any) -> Any:
        return HANDLERS[f"cm_{word}"](self.cm, self.program[node], ask, data)

    def id(self, node: str, space: int = TCP_SPACE) -> int:
        made = self.do(node, "create_id", channel=self.channel[node], port_space=space)
        number: int = made["handle"]
        return number

    def event(self, node: str) -> tuple[Event, dict[str, Any], bytes]:
        fields, data = take_event(self.cm, self.program[node], self.channel[node])
        return Event(fields["event"]), dict(fields), data

    def listener(self, space: int = TCP_SPACE, port: int = 7000) -> int:
        number = self.id("A", space)
        self.do("A", "bind_addr", handle=number, source=NOWHERE | {"family": 2, "port": port})
        self.do("A", "listen", handle=number, backlog=1)
        return number

    def resolved(self, space: int = TCP_SPACE, ip: int = LOOPBACK, port: int = 7000) -> int:
        number = self.id("B", space)
        to = {"family": 2, "port": port, "ip": ip}
        self.do("B", "resolve_addr", handle=number, **FROM_ANY, destination=to)
        self.do("B", "resolve_route", handle=number)
        assert [self.event("B")[0] for _ in range(2)] == [Event.ADDR_RESOLVED, Event.ROUTE_RESOLVED]
        return number

    def pass_ms(self, ms: int) -> list[str]:
        """So much virtual time goes by; the sentences of rdma_cm on what has failed."""
        self.calls.let_pass(self.calls.world.now_ns + ms * 1_000_000)
        return self.cm.expire()


FROM_ANY: dict[str, Any] = {"source": NOWHERE, "timeout_ms": 2000}
OFFER = {"qp_num": 17, "responder_resources": 1, "initiator_depth": 1, "retry_count": 7,
         "rnr_retry_count": 7, "flow_control": 0, "srq": 0, "ack_timeout": 0,
         "traffic_class": 0}  # fmt: skip


def test_a_connection_is_made_and_ended() -> None:
    hosts = Hosts()
    hosts.listener()
    asking = hosts.resolved()
    hosts.do("B", "connect", b"hi", handle=asking, promise=OFFER)
    kind, request, data = hosts.event("A")
    assert (kind, data[:2], len(data)) == (Event.CONNECT_REQUEST, b"hi", 56)
    assert request["promise"]["qp_num"] == 17
    hosts.do("A", "accept", b"yes", handle=request["id"], promise=OFFER | {"qp_num": 18})
    kind, response, data = hosts.event("B")
    assert (kind, data[:3], response["promise"]["qp_num"]) == (Event.CONNECT_RESPONSE, b"yes", 18)
    hosts.do("B", "establish", handle=asking)
    assert hosts.event("A")[0] is Event.ESTABLISHED
    assert hosts.cm.timers == {}
    hosts.do("B", "disconnect", handle=asking)
    assert hosts.event("A")[0] is Event.DISCONNECTED
    nothing_more(hosts, "B")  # it is told when the other side has answered, as by a DREP
    hosts.do("A", "disconnect", handle=request["id"])
    assert hosts.event("B")[0] is Event.DISCONNECTED


def test_connect_without_a_listener_is_rejected() -> None:
    hosts = Hosts()
    hosts.do("B", "connect", handle=(number := hosts.resolved()), promise=OFFER)
    assert len(hosts.cm.deliver(refuse=True)) == 1
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["id"], fields["status"]) == (Event.REJECTED, number, 8)
    assert hosts.cm.unanswered == []


def test_a_rejected_request_is_reported_once_with_its_address() -> None:
    hosts = Hosts()
    hosts.listener()
    told = []
    for ip in (A_ADDRESS, A_ADDRESS, 1):
        number = hosts.resolved(ip=ip, port=7001)
        hosts.do("B", "connect", handle=number, promise=OFFER)
        told.append(hosts.cm.deliver(refuse=True))
        hosts.event("B")
    assert told == [
        ["B on B asked for 10.0.0.1:7001: rejected, no program listens there"],
        [],
        ["B on B asked for [::1]:7001: rejected, no program listens there"],
    ]
    assert hosts.cm.listening(hosts.program["A"]) == ["port 7000"]
    assert hosts.cm.listening(hosts.program["B"]) == []


def test_a_connect_request_waits_for_who_is_about_to_listen() -> None:
    hosts = Hosts()
    hosts.do("B", "connect", b"hi", handle=hosts.resolved(), promise=OFFER)
    hosts.cm.deliver(refuse=False)
    hosts.listener()
    hosts.cm.deliver(refuse=True)
    kind, _, data = hosts.event("A")
    assert (kind, data[:2]) == (Event.CONNECT_REQUEST, b"hi")


def test_a_connect_request_of_an_id_that_was_destroyed_is_dropped() -> None:
    hosts = Hosts()
    hosts.do("B", "connect", handle=(number := hosts.resolved()), promise=OFFER)
    hosts.do("B", "destroy_id", handle=number)
    hosts.cm.deliver(refuse=True)
    assert hosts.cm.unanswered == []


def test_a_request_is_rejected_with_private_data() -> None:
    hosts = Hosts()
    hosts.listener()
    hosts.do("B", "connect", handle=hosts.resolved(), promise=OFFER)
    request = hosts.event("A")[1]
    hosts.do("A", "reject", b"no", handle=request["id"], reason=28, promise=OFFER)
    kind, fields, data = hosts.event("B")
    assert (kind, fields["status"], data[:2]) == (Event.REJECTED, 28, b"no")


def test_options_of_a_vendor_travel_with_the_promise() -> None:
    hosts = Hosts()
    hosts.listener()
    offer = OFFER | {"ece_vendor_id": 0x15B3, "ece_options": 5}
    hosts.do("B", "connect", handle=hosts.resolved(), promise=offer)
    request = hosts.event("A")[1]
    assert (request["promise"]["ece_vendor_id"], request["promise"]["ece_options"]) == (0x15B3, 5)
    hosts.do("A", "reject", handle=request["id"], reason=35, promise=OFFER)
    assert hosts.event("B")[1]["status"] == 35


def test_a_datagram_id_gets_what_it_needs_to_send() -> None:
    hosts = Hosts()
    hosts.listener(UDP_SPACE)
    hosts.do("B", "connect", handle=hosts.resolved(UDP_SPACE, A_ADDRESS), promise=OFFER)
    request = hosts.event("A")[1]
    hosts.do("A", "accept", handle=request["id"], promise=OFFER | {"qp_num": 18})
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["promise"]["qp_num"], fields["qkey"]) == (
        Event.ESTABLISHED,
        18,
        0x01234567,
    )
    assert fields["gid"] == A_ADDRESS


def test_a_program_that_ends_disconnects_its_peer() -> None:
    hosts = Hosts()
    hosts.listener()
    asking = hosts.resolved()
    hosts.do("B", "connect", handle=asking, promise=OFFER)
    hosts.do("A", "accept", handle=hosts.event("A")[1]["id"], promise=OFFER)
    hosts.event("B")
    hosts.do("B", "establish", handle=asking)
    hosts.event("A")
    hosts.cm.leave(hosts.program["B"])
    assert hosts.event("A")[0] is Event.DISCONNECTED


def asked(hosts: Hosts, space: int = TCP_SPACE) -> tuple[int, int, int]:
    """A listener on A, the id on B that asked it, and the id of its request on A."""
    listening, asking = hosts.listener(space), hosts.resolved(space)
    hosts.do("B", "connect", handle=asking, promise=OFFER)
    return listening, asking, hosts.event("A")[1]["id"]


def nothing_more(hosts: Hosts, node: str) -> None:
    with pytest.raises(OSError, match="no event"):
        hosts.event(node)


@pytest.mark.parametrize("ends", ["leave", "destroy_id"])
def test_a_client_that_ends_before_it_is_connected_rejects_the_reply(ends: str) -> None:
    hosts = Hosts()
    _, asking, request = asked(hosts)
    hosts.do("A", "accept", handle=request, promise=OFFER)
    if ends == "leave":
        hosts.cm.leave(hosts.program["B"])
    else:
        hosts.do("B", ends, handle=asking)
    kind, fields, _ = hosts.event("A")
    assert (kind, fields["id"], fields["status"]) == (Event.REJECTED, request, 28)
    nothing_more(hosts, "A")


def test_a_client_that_ends_before_it_is_accepted_makes_accept_fail() -> None:
    hosts = Hosts()
    _, asking, request = asked(hosts)
    hosts.do("B", "destroy_id", handle=asking)
    nothing_more(hosts, "A")
    with pytest.raises(OSError, match="no request to accept"):
        hosts.do("A", "accept", handle=request, promise=OFFER)


@pytest.mark.parametrize(("node", "left"), [("A", "B"), ("B", "A")])
def test_an_accepted_datagram_id_has_no_connection_to_lose(node: str, left: str) -> None:
    hosts = Hosts()
    _, _, request = asked(hosts, UDP_SPACE)
    hosts.do("A", "accept", handle=request, promise=OFFER)
    assert hosts.event("B")[0] is Event.ESTABLISHED
    hosts.cm.leave(hosts.program[node])
    nothing_more(hosts, left)


def test_a_datagram_request_is_accepted_although_its_client_has_ended() -> None:
    hosts = Hosts()
    _, asking, request = asked(hosts, UDP_SPACE)
    hosts.do("B", "destroy_id", handle=asking)
    hosts.do("A", "accept", handle=request, promise=OFFER)
    nothing_more(hosts, "A")


@pytest.mark.parametrize("answer", ["reject", "destroy_id", ""])
def test_a_refused_datagram_id_gets_the_status_of_a_sidr_reply(answer: str) -> None:
    hosts = Hosts()
    if answer:
        hosts.do("A", answer, handle=asked(hosts, UDP_SPACE)[2], reason=28, promise=OFFER)
    else:
        hosts.do("B", "connect", handle=hosts.resolved(UDP_SPACE), promise=OFFER)
        hosts.cm.deliver(refuse=True)
    kind, fields, data = hosts.event("B")
    status = 2 if answer else 1  # IB_SIDR_REJECT, IB_SIDR_UNSUPPORTED
    assert (kind, fields["status"], len(data)) == (Event.UNREACHABLE, status, 136)


def test_a_listener_that_ends_rejects_requests_that_were_not_read() -> None:
    hosts = Hosts()
    listening, asking = hosts.listener(), hosts.resolved()
    hosts.do("B", "connect", handle=asking, promise=OFFER)
    hosts.do("A", "destroy_id", handle=listening)
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["id"], fields["status"]) == (Event.REJECTED, asking, 28)


def test_a_group_has_the_gid_of_its_address() -> None:
    hosts = Hosts()
    number, group = hosts.id("B", UDP_SPACE), {"family": 2, "port": 0, "ip": 0xFFFFEF010101}
    hosts.do("B", "bind_addr", handle=number, source=NOWHERE | {"ip": A_ADDRESS + 1})
    hosts.do("B", "join", handle=number, group=group)
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["gid"], fields["promise"]["qp_num"]) == (
        Event.MULTICAST_JOIN, 0xFFFFEF010101, 0xFFFFFF,
    )  # fmt: skip


def test_each_event_is_notified_once() -> None:
    hosts = Hosts()
    hosts.resolved()
    assert hosts.said == {"A": 0, "B": 2}


def test_unread_events_move_with_their_id() -> None:
    hosts = Hosts()
    hosts.listener()
    asking = hosts.resolved()
    hosts.do("B", "connect", handle=asking, promise=OFFER)
    other = hosts.cm.open_channel(hosts.program["A"], lambda: hosts.count("A"))
    request = hosts.event("A")[1]
    hosts.do("A", "accept", handle=request["id"], promise=OFFER)
    hosts.do("B", "establish", handle=asking)
    hosts.do("A", "migrate", handle=request["id"], channel=other)
    with pytest.raises(OSError, match="no event"):
        hosts.event("A")
    hosts.channel["A"] = other
    assert hosts.event("A")[0] is Event.ESTABLISHED


@pytest.mark.parametrize(("word", "ask"), [
    ("accept", {"promise": OFFER}), ("reject", {"reason": 28, "promise": OFFER}), ("establish", {}),
])  # fmt: skip
def test_an_answer_without_a_request_is_einval(word: str, ask: dict[str, Any]) -> None:
    hosts = Hosts()
    with pytest.raises(OSError, match=r"request|accepted"):
        hosts.do("A", word, handle=hosts.id("A"), **ask)


TO_A = {"family": 2, "port": 7000, "ip": A_ADDRESS}
CALLS: dict[str, dict[str, Any]] = {
    "bind_addr": {"source": NOWHERE}, "listen": {"backlog": 1},
    "resolve_addr": {**FROM_ANY, "destination": TO_A}, "resolve_route": {},
    "connect": {"promise": OFFER}, "disconnect": {}, "join": {"group": TO_A},
}  # fmt: skip


@pytest.mark.parametrize(("before", "legal"), [
    ((), "bind_addr listen resolve_addr"),
    (("bind_addr",), "listen resolve_addr"),  # at any address: of no device yet
    (("bind_addr", "listen"), ""),
    (("resolve_addr",), "resolve_route join"),
    (("resolve_addr", "resolve_route"), "connect"),
    (("resolve_addr", "resolve_route", "connect"), "disconnect"),
])  # fmt: skip
def test_calls_have_the_order_of_the_kernel(before: tuple[str, ...], legal: str) -> None:
    """cma.c: each call demands a state of the id, else EINVAL."""
    for word, ask in CALLS.items():
        hosts = Hosts()
        number = hosts.id("B")
        for each in before:
            hosts.do("B", each, handle=number, **CALLS[each])
        if word in legal.split():
            hosts.do("B", word, handle=number, **ask)
        else:
            with pytest.raises(OSError, match="the id is"):
                hosts.do("B", word, handle=number, **ask)


def test_a_rejected_id_cannot_connect_again() -> None:
    hosts = Hosts()
    _, asking, request = asked(hosts)
    hosts.do("A", "reject", handle=request, reason=28, promise=OFFER)
    hosts.event("B")
    with pytest.raises(OSError, match="DISCONNECTED, not ROUTED"):
        hosts.do("B", "connect", handle=asking, promise=OFFER)
    hosts.do("B", "disconnect", handle=asking)
    nothing_more(hosts, "B")


def test_a_port_is_listened_at_once() -> None:
    hosts = Hosts()
    hosts.listener()
    with pytest.raises(OSError, match="another id listens"):
        hosts.listener()


def test_too_much_private_data_is_einval() -> None:
    hosts = Hosts()
    hosts.listener()
    with pytest.raises(OSError, match="too much private data"):
        hosts.do("B", "connect", bytes(57), handle=hosts.resolved(), promise=OFFER)


# --------------------------------------------------------------------------- timers
def connected(hosts: Hosts) -> tuple[int, int]:
    """The id on B that asked, and that of its request on A; their events are read."""
    _, asking, request = asked(hosts)
    hosts.do("A", "accept", handle=request, promise=OFFER)
    hosts.event("B")
    hosts.do("B", "establish", handle=asking)
    hosts.event("A")
    return asking, request


def test_timewait_ends_on_both_sides_after_their_ack_timeout() -> None:
    """cm_enter_timewait: 2^(19 - 8) ms; 19 is the ack timeout of packets that live for 2^18."""
    hosts = Hosts()
    asking, request = connected(hosts)
    hosts.do("B", "disconnect", handle=asking)
    hosts.do("A", "disconnect", handle=request)
    assert [hosts.event(node)[0] for node in "AB"] == [Event.DISCONNECTED] * 2
    hosts.pass_ms(2_047)
    nothing_more(hosts, "A")
    hosts.pass_ms(1)
    ends = [hosts.event(node)[:2] for node in "AB"]
    assert [(kind, fields["id"]) for kind, fields in ends] == [
        (Event.TIMEWAIT_EXIT, request), (Event.TIMEWAIT_EXIT, asking),
    ]  # fmt: skip


def test_a_destroyed_id_has_no_end_of_its_timewait() -> None:
    hosts = Hosts()
    asking, request = connected(hosts)
    hosts.do("B", "disconnect", handle=asking)
    hosts.do("A", "destroy_id", handle=request)  # cm_destroy_id sends the DREP
    assert [hosts.event(node)[0] for node in "AB"] == [Event.DISCONNECTED] * 2
    hosts.do("B", "destroy_id", handle=asking)
    assert hosts.cm.timers == {}


def test_a_disconnect_without_an_answer_times_out() -> None:
    """cm_send_dreq: the response timeout of the connection, and 15 retries."""
    hosts = Hosts()
    asking, _ = connected(hosts)
    hosts.do("B", "disconnect", handle=asking)
    hosts.pass_ms(16 * (2 * 1024 + 4096))
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["status"]) == (Event.DISCONNECTED, -errno.ETIMEDOUT)


def test_a_server_that_neither_accepts_nor_rejects_is_unreachable() -> None:
    """Its host answers a repeated request by MRA: 2^(24 - 8) ms more for each of 15 retries."""
    hosts = Hosts()
    _, asking, request = asked(hosts)
    wait_ms = 2 * 1024 + 4096 + 15 * (65_536 + 2048)
    assert hosts.pass_ms(wait_ms - 1) == []
    nothing_more(hosts, "B")
    (sentence,) = hosts.pass_ms(1)
    reason = "A has neither accepted nor rejected the request"
    assert sentence == f"B on B asked for 127.0.0.1:7000: unreachable, {reason}"
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["id"], fields["status"]) == (Event.UNREACHABLE, asking, -errno.ETIMEDOUT)
    with pytest.raises(OSError, match="no request to accept"):
        hosts.do("A", "accept", handle=request, promise=OFFER)


def test_a_client_that_never_confirms_is_unreachable_for_the_server() -> None:
    hosts = Hosts()
    _, _, request = asked(hosts)
    hosts.do("A", "accept", handle=request, promise=OFFER)
    (sentence,) = hosts.pass_ms(2_000_000)
    assert sentence == "A on A has accepted a request: unreachable, B has not established it"
    assert hosts.event("A")[0] is Event.UNREACHABLE


def test_a_datagram_id_waits_for_16_replies() -> None:
    hosts = Hosts()
    asked(hosts, UDP_SPACE)
    hosts.pass_ms(16 * 4096)
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["status"]) == (Event.UNREACHABLE, -errno.ETIMEDOUT)


def test_an_address_is_not_resolved_without_a_link() -> None:
    hosts = Hosts()
    hosts.calls.lab.do("link down")
    number = hosts.id("B")
    hosts.do("B", "resolve_addr", handle=number, **FROM_ANY, destination=TO_A)
    hosts.pass_ms(1_999)
    nothing_more(hosts, "B")
    hosts.pass_ms(1)
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["status"]) == (Event.ADDR_ERROR, -errno.ETIMEDOUT)
    with pytest.raises(OSError, match="BOUND, not RESOLVED"):
        hosts.do("B", "resolve_route", handle=number)
    hosts.calls.lab.do("link up")
    hosts.do("B", "resolve_addr", handle=number, **FROM_ANY, destination=TO_A)
    assert hosts.event("B")[0] is Event.ADDR_RESOLVED


@pytest.mark.parametrize("is_back", [True, False])
def test_a_connect_request_waits_for_the_link(is_back: bool) -> None:
    hosts = Hosts()
    hosts.listener()
    asking = hosts.resolved()
    hosts.calls.lab.do("link down")
    hosts.do("B", "connect", handle=asking, promise=OFFER)
    assert hosts.cm.deliver(refuse=True) == []
    if is_back:
        hosts.calls.lab.do("link up")
        hosts.cm.deliver(refuse=True)
        assert hosts.event("A")[0] is Event.CONNECT_REQUEST
        return
    (sentence,) = hosts.pass_ms(16 * (2 * 1024 + 4096))
    assert sentence == "B on B asked for 127.0.0.1:7000: unreachable, no message reaches it"
    kind, fields, _ = hosts.event("B")
    assert (kind, fields["status"]) == (Event.UNREACHABLE, -errno.ETIMEDOUT)


@pytest.mark.parametrize(("option", "passive"), [(0, 19), (14, 14), (1, 5)])
def test_an_ack_timeout_that_is_chosen_counts_on_the_other_side(option: int, passive: int) -> None:
    """cm_ack_timeout: at least the delay of the device, here 4, and one."""
    hosts = Hosts()
    hosts.listener()
    offer = OFFER | {"ack_timeout": option, "traffic_class": 40}
    hosts.do("B", "connect", handle=hosts.resolved(), promise=offer)
    request = hosts.event("A")[1]
    assert (request["ack_timeout"], request["promise"]["traffic_class"]) == (passive, 40)
