"""Occurrences of a status, state, flag, errno or other word in the session now.

Only objects that exist, and of the past the newest part of the trace with the rare kinds before it:
the time does not grow with the session. The newest comes first.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated, Any

from rdmalab.command import Noun, Thing
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import Cqe
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import NO_LIMIT, PortState
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.refusals import REFUSALS, Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ATTRIBUTES, QPState, QPType, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import fmt, record_text
from rdmalab.world.relations import exists
from rdmalab.world.world import World

REACH = 20_000  # records of the tail that are looked through


@dataclass(slots=True)
class OccurrenceRow:
    """One place where a word occurs."""

    text: Annotated[str, "what is seen, with names and the event"]
    thing: Annotated[Thing | None, "the queue pair, region … it is about"] = None
    answers: Annotated[bool, "that queue pair is the one that receives and answers"] = False
    wr_id: Annotated[int | None, "of the work request it is about"] = None


@dataclass(slots=True)
class OccurrenceSearch:
    """Session to search, and number of names in a row. cut: there is more past than was seen."""

    world: World
    names: Names
    most: int = 4
    cut: bool = False

    def recent(self, *kinds: Kind) -> Iterator[Record]:
        """Records of these kinds, newest first; rare ones from the beginning on."""
        trace = self.world.trace
        if len(kinds) == 1 and kinds[0] in rec.RARE:
            yield from (each.record for each in trace.records.of_kind(kinds[0]))
            return
        for record in islice(reversed(trace.tail), REACH):
            if kind_of(record) in kinds:
                yield record
        self.cut = trace.first > 0 or len(trace.tail) > REACH

    def queue_pairs(self) -> Iterator[tuple[Thing, QueuePair]]:
        """All that live, in the order of the nodes."""
        for node, hca in self.world.nodes.items():
            for number, qp in hca.qps.items.items():
                yield Thing(Noun.QP, node, number), qp

    def row_of(self, record: Record, *, answers: bool = False) -> OccurrenceRow:
        """A record as a row."""
        who = record_text.subject(self.names, record)
        text = record_text.sentence(self.world, self.names, record)
        when = fmt.ev(rec.event_of(record))
        return OccurrenceRow(f"{who} {text} ({when})", record_text.thing_of(record), answers)

    def all_of(
        self, records: Iterator[Record], *, answers: bool = False
    ) -> Iterator[OccurrenceRow]:
        """A row for each record."""
        return (self.row_of(record, answers=answers) for record in records)

    def listed(self, found: list[Thing], text: str) -> Iterator[OccurrenceRow]:
        """`A.qp0, B.qp0 are …` in one row."""
        if found:
            names = fmt.listed([self.names.of(thing) for thing in found], self.most)
            yield OccurrenceRow(f"{names} {text}", found[0])


# --------------------------------------------------------------------------- queue pairs
def of_state(search: OccurrenceSearch, state: QPState) -> Iterator[OccurrenceRow]:
    """Queue pairs in it, and the newest transitions into it."""
    there = [thing for thing, qp in search.queue_pairs() if qp.state is state]
    yield from search.listed(there, f"in {state.name}")
    moves = search.recent(Kind.STATE_CHANGED)
    yield from search.all_of(r for r in moves if rec.new_state_of(r) == state)


def of_move(search: OccurrenceSearch, pair: tuple[QPState, QPState]) -> Iterator[OccurrenceRow]:
    """Queue pairs that made this transition."""
    moves = search.recent(Kind.STATE_CHANGED)
    yield from search.all_of(r for r in moves if (rec.old_state_of(r), rec.new_state_of(r)) == pair)


def of_type(search: OccurrenceSearch, qp_type: QPType) -> Iterator[OccurrenceRow]:
    """Queue pairs of this type."""
    there = [thing for thing, qp in search.queue_pairs() if qp.qp_type is qp_type]
    yield from search.listed(there, f"of type {qp_type.name}")


def of_attribute(search: OccurrenceSearch, name: str) -> Iterator[OccurrenceRow]:
    """Its value on every queue pair whose type has it; equal ones share a row."""
    holders: dict[str, list[Thing]] = {}
    for thing, qp in search.queue_pairs():
        if qp.qp_type in ATTRIBUTES[name].types:
            waits = _on_device(search.world.nodes[thing.node], qp) if name == "timeout" else ""
            holders.setdefault(_value(qp, name) + waits, []).append(thing)
    for text, things in holders.items():
        yield from search.listed(things, f"{name}={text}")
    changes = (
        r for r in search.recent(Kind.ATTRIBUTES_SET) if name in fields_of(rec.attr_mask_of(r))
    )
    yield from search.all_of(islice(changes, 1))


def _on_device(hca: Hca, qp: QueuePair) -> str:
    """The time that this device waits for a response: ` (268.435 ms on mlx5)`."""
    wait_ns = qp.path.answer_ns if qp.path is not None else None
    return "" if wait_ns is None else f" ({fmt.duration(wait_ns)} on {hca.profile.name})"


def _value(qp: QueuePair, name: str) -> str:
    value: object = qp.state if name == "qp_state" else getattr(qp.attr, name, None)
    if not isinstance(value, int):
        return "see query_qp"
    if name == "qp_access_flags":
        return fmt.flags(value, Access)
    return str(128 << value) if name == "path_mtu" and value else fmt.value(value)


# --------------------------------------------------------------------------- work
def of_status(search: OccurrenceSearch, status: WCStatus) -> Iterator[OccurrenceRow]:
    """Completions with it: recent ones, and older ones that are not yet polled."""
    for record in search.recent(Kind.CQE_ADDED, Kind.CQ_OVERRUN):
        if rec.cqe_of(record).status == status:
            yield _ended(search, record)
    tail = search.world.trace.tail
    since_ns = rec.at_ns_of(tail[0]) if tail and search.world.trace.first else -1
    for node, hca in search.world.nodes.items():
        for cq in hca.cqs.items.values():
            for cqe in cq.cqes:
                if cqe.status == status and cqe.at_ns < since_ns:
                    yield OccurrenceRow(
                        f"{_whose(search, node, cqe)} is still in {_cq(search, node, cq.number)}"
                    )


def _ended(search: OccurrenceSearch, record: Record) -> OccurrenceRow:
    cqe, node = rec.cqe_of(record), node_of(record)
    lost = ", and the CQE was lost" if kind_of(record) is Kind.CQ_OVERRUN else ""
    text = (
        f"{_whose(search, node, cqe)} completed with it on "
        f"{_cq(search, node, object_of(record))}{lost}"
    )
    thing = Thing(Noun.QP, node, cqe.qp_num)
    text = f"{text} ({fmt.ev(rec.event_of(record))})"
    return OccurrenceRow(text, thing, not cqe.is_send, cqe.wr_id)


def _whose(search: OccurrenceSearch, node: str, cqe: Cqe) -> str:
    side = "" if cqe.is_send else " receive"
    return f"{fmt.qp_name(search.names, node, cqe.qp_num)}{side} {fmt.wr(cqe.wr_id)}"


def _cq(search: OccurrenceSearch, node: str, number: int) -> str:
    return search.names.of(Thing(Noun.CQ, node, number))


def of_opcode(search: OccurrenceSearch, opcode: WROpcode) -> Iterator[OccurrenceRow]:
    """Sends with it."""
    posts = search.recent(Kind.SEND_POSTED)
    yield from search.all_of(r for r in posts if rec.send_wqe_of(r).wr.opcode == opcode)


def of_flag(search: OccurrenceSearch, flag: SendFlags) -> Iterator[OccurrenceRow]:
    """Sends that carry it."""
    posts = search.recent(Kind.SEND_POSTED)
    yield from search.all_of(r for r in posts if rec.send_wqe_of(r).wr.flags & flag)


def of_right(search: OccurrenceSearch, right: Access) -> Iterator[OccurrenceRow]:
    """Regions and queue pairs that have it, and regions that do not."""
    regions = [
        (Thing(Noun.MR, node, number), mr.access)
        for node, hca in search.world.nodes.items()
        for number, mr in hca.mrs.items.items()
    ]
    yield from search.listed([t for t, access in regions if access & right], f"with {right.name}")
    yield from search.listed(
        [t for t, access in regions if not access & right], f"without {right.name}"
    )
    pairs = [t for t, qp in search.queue_pairs() if (qp.attr.qp_access_flags or 0) & right]
    yield from search.listed(pairs, f"with {right.name} in qp_access_flags")


def state_text(search: OccurrenceSearch, thing: Thing) -> str:
    """State and receives of a queue pair: `B.qp0 is in RTS and has 0 receives`; empty if it is
    gone.
    """
    if thing.node not in search.world.nodes or not exists(search.world, thing):
        return ""
    qp = search.world.find(thing, QueuePair)
    receives = fmt.count(len(qp.source.wqes), "receive")
    return f"{search.names.of(thing)} is in {qp.state.name} and has {receives}"


# --------------------------------------------------------------------------- the wire
def of_packet(search: OccurrenceSearch, label: str) -> Iterator[OccurrenceRow]:
    """Packets with this opcode."""
    sent = search.recent(Kind.PACKET_SENT)
    yield from search.all_of(r for r in sent if fmt.label(rec.packet_of(r)) == label)


def of_syndrome(search: OccurrenceSearch, syndrome: Syndrome) -> Iterator[OccurrenceRow]:
    """Answers with this syndrome."""
    sent = search.recent(Kind.PACKET_SENT)
    yield from search.all_of(
        (r for r in sent if fmt.syndrome(rec.packet_of(r)) is syndrome), answers=True
    )


def of_refusal(search: OccurrenceSearch, name: str) -> Iterator[OccurrenceRow]:
    """Requests refused for this reason."""
    refused = search.recent(Kind.REQUEST_REFUSED)
    yield from search.all_of((r for r in refused if rec.reason_of(r) == name), answers=True)


def of_drop(search: OccurrenceSearch, name: str) -> Iterator[OccurrenceRow]:
    """Packets dropped for this reason: how many on each node, then the newest."""
    for node, hca in search.world.nodes.items():
        if count := hca.drops.get(name, 0):
            yield OccurrenceRow(f"{node} dropped {fmt.count(count, 'packet')} for this reason")
    dropped = search.recent(Kind.PACKET_DROPPED)
    yield from search.all_of((r for r in dropped if rec.reason_of(r) == name), answers=True)


# --------------------------------------------------------------------------- calls, events, devices
def of_errno(search: OccurrenceSearch, errno: int) -> Iterator[OccurrenceRow]:
    """Calls that returned it."""
    calls = search.recent(Kind.CALLED)
    yield from search.all_of(r for r in calls if rec.errno_of(r) == errno)


def of_rule(search: OccurrenceSearch, rule: str) -> Iterator[OccurrenceRow]:
    """Calls that were refused by this rule."""
    refused = search.recent(Kind.REFUSED)
    yield from search.all_of(r for r in refused if rec.rule_of(r) == rule)


def of_verb(search: OccurrenceSearch, verb: str) -> Iterator[OccurrenceRow]:
    """Calls of this verb."""
    calls = search.recent(Kind.CALLED)
    yield from search.all_of(r for r in calls if rec.verb_of(r) == verb)


_OF_THE_RESPONDER = {AsyncEvent.COMM_EST, *(row.event for row in REFUSALS.values())}


def of_event(search: OccurrenceSearch, event: AsyncEvent) -> Iterator[OccurrenceRow]:
    """Occurrences of an event; those not yet read first."""
    for node, hca in search.world.nodes.items():
        if count := sum(raised is event for raised, _ in hca.async_events):
            yield OccurrenceRow(f"{node} has {count} not yet read: get_async_event {node}")
    raised = (r for r in search.recent(Kind.ASYNC_RAISED) if rec.async_event_of(r) == event)
    yield from search.all_of(raised, answers=event in _OF_THE_RESPONDER)


def of_port(search: OccurrenceSearch, state: PortState) -> Iterator[OccurrenceRow]:
    """Ports in this state, and which came into it."""
    there = [node for node, hca in search.world.nodes.items() if hca.port_state is state]
    if there:
        yield OccurrenceRow(f"the port of {' and '.join(there)} is {state.name}")
    changes = search.recent(Kind.PORT_CHANGED)
    yield from search.all_of(r for r in changes if rec.port_state_of(r) == state)


def of_profile(search: OccurrenceSearch, name: str) -> Iterator[OccurrenceRow]:
    """Nodes with this device."""
    there = [node for node, hca in search.world.nodes.items() if hca.profile.name == name]
    if there:
        yield OccurrenceRow(f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} {name}")


def of_cell(search: OccurrenceSearch, _name: str) -> Iterator[OccurrenceRow]:
    """The profile of each node, which is the column of the table that applies."""
    for profile in dict.fromkeys(hca.profile.name for hca in search.world.nodes.values()):
        yield from of_profile(search, profile)


def of_limit(search: OccurrenceSearch, name: str) -> Iterator[OccurrenceRow]:
    """Its value on each node; equal ones share a row."""
    holders: dict[int, list[str]] = {}
    for node, hca in search.world.nodes.items():
        holders.setdefault(getattr(hca.profile.caps, name), []).append(node)
    for value, nodes in holders.items():
        text = "no limit" if value == NO_LIMIT else f"{value:,}"
        yield OccurrenceRow(f"{' and '.join(nodes)}: {text}")


def of_record(search: OccurrenceSearch, kind: Kind) -> Iterator[OccurrenceRow]:
    """The newest records of a kind."""
    yield from search.all_of(search.recent(kind))


Finder = Callable[[OccurrenceSearch, Any], Iterator[OccurrenceRow]]
