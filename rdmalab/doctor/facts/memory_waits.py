"""Programs that wait for a value in their memory: when each wait was over, and if too early."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, Log, Send, SendWqe
from rdmalab.doctor.evidence.content import Content, bytes_at, header_room, is_within, words_for
from rdmalab.doctor.evidence.host_reads import (
    EarlyRead,
    Unseen,
    WrittenOver,
    last_arrival,
    looks_of_programs,
    watched,
)
from rdmalab.doctor.evidence.messages import (
    Message,
    Piece,
    arrived_with,
    failed_releases,
    meet,
    piece_of,
    pieces,
    target,
)
from rdmalab.doctor.evidence.subject import Subject, name_of
from rdmalab.doctor.facts.key_lookup import former
from rdmalab.doctor.moments.unreported import lost_messages
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind, event_of, kind_of, line_number_of, place_of, send_wqe_of
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.wire.headers import GRH
from rdmalab.world.relations import find_qp, peer_node

_Found = TypeVar("_Found", EarlyRead, Unseen, WrittenOver)


class Passed(NamedTuple):
    """A wait that was over. begun: when the program came to it; event: when it went on."""

    line: Line
    piece: Piece
    begun: int
    event: int


class Beside(NamedTuple):
    """A write near bytes that a program waits for. by: the request, the program, or `a call`.

    place: the first where it has left what the program awaits; empty if it has not.
    """

    by: str
    where: str
    event: int
    piece: Piece
    place: str


class Early(NamedTuple):
    """A wait that was none: nothing new had been written to what it looks at.

    written: the event in which the value came that it found, for the wait before; None: no message
    ever had written there. came: the event of the message that was to be waited for, if it came.
    """

    program: Thing
    passed: Passed
    written: int | None
    came: int | None


def concerning(
    case: Case, find: Callable[[Log, str], Sequence[_Found]]
) -> tuple[str, _Found] | None:
    """The newest of the facts that concerns the bytes or the subject asked about, and its node."""
    for node in case.world.nodes if case.asked else ():
        of_bytes = case.content is not None and node == case.node
        for each in reversed(find(case.log, node)):
            met = of_bytes and case.content and meet([case.content.piece], [each.piece])
            if met or case.subject in each.subjects:
                return node, each
    return None


def early_waits(case: Case, thing: Thing) -> list[Early]:
    """The waits of a program that were over at once, oldest first."""
    found: list[Early] = []
    before: dict[Piece, int] = {}
    for passed in _passed(case, thing):
        arrivals = _arrivals(case, thing, passed.piece)
        earlier = [event for event in arrivals if event < passed.event]
        fresh = bool(earlier) and earlier[-1] > before.get(passed.piece, -1)
        if passed.begun == passed.event and not fresh:
            later = [event for event in arrivals if event > passed.event]
            found.append(Early(thing, passed, max(earlier, default=None), min(later, default=None)))
        before[passed.piece] = passed.event
    return found


def _passed(case: Case, thing: Thing) -> Iterator[Passed]:
    """Its waits for memory that are over, in their order."""
    program = case.world.nodes[thing.node].tables[Noun.PROGRAM].items.get(thing.number)
    lines = {line.number: line for line in (program.lines if program is not None else ())}
    slept = [event_of(r) for r in case.log.about(Kind.PROGRAM_WAITED, thing)]
    woken = [event_of(r) for r in case.log.about(Kind.PROGRAM_WOKEN, thing)]
    for record in case.log.about(Kind.PROGRAM_RAN, thing):
        line, begun = lines.get(line_number_of(record)), event_of(record)
        if line is None or line.word != "wait" or not is_flag(case, line.question):
            continue
        if (piece := watched(case.session, line.question)) is None:
            continue
        over = begun if begun not in slept else next((e for e in woken if e >= begun), None)
        if over is not None:
            yield Passed(line, piece, begun, over)


def is_flag(case: Case, question: Node | None) -> bool:
    """Whether a condition looks at nothing but bytes: then they are compared with a constant."""
    steps = (path.steps for path in paths(question)) if question is not None else ()
    things = [case.names.find(f"{each[0]}.{each[1]}") for each in steps if len(each) > 1]
    return all(thing is None or thing.noun is Noun.MR for thing in things)


def _arrivals(case: Case, thing: Thing, piece: Piece) -> list[int]:
    """The events in which a message or another thread wrote these bytes."""
    started = case.log.created(thing)
    own = case.names.of(thing)
    found = [event_of(r) for r in case.log.of(Kind.MEMORY_WRITTEN, thing.node)
             if meet([piece], [piece_of(r)])]  # fmt: skip
    for record in case.log.of(Kind.HOST_WROTE, thing.node):
        event = event_of(record)
        if (started is None or event > started) and meet([piece], [piece_of(record)]):
            found += [event] if case.log.asked(event)[1] != own else []
    return sorted(found)


def beside(
    case: Case, thing: Thing, node: str, piece: Piece, since: int, wanted: bytes
) -> Beside | None:
    """The newest write on a node that has left there what a program awaits, at other bytes than
    these; else the write after an event that came nearest to them in their region.

    Those of the program itself do not count, nor those of calls before it was started. A single
    byte is looked for only in the message to these bytes, and in the nearest one; where nothing was
    written into their region, in the WRITEs to other regions.
    """
    log, memory = case.log, case.world.nodes[node].memory
    mrs = case.world.nodes[node].mrs.items.values()
    region = [(mr.addr, mr.length) for mr in mrs if mr.addr <= piece[0] < mr.addr + mr.length]
    begun, name = max(since, log.created(thing) or 0), case.names.of(thing)
    host = [(event, piece_of(r)) for r in log.of(Kind.HOST_WROTE, node)
            if (event := event_of(r)) > begun and log.who(event) != name]  # fmt: skip
    wrote = [*((event_of(r), piece_of(r)) for r in log.of(Kind.MEMORY_WRITTEN, node)), *host]
    near = [(event, there) for event, there in wrote if event > since
            and meet(region, [there]) and not meet([piece], [there])]  # fmt: skip
    near.sort(key=lambda each: (_distance(piece, each[1]), -each[0]))
    holds = [each for each in (wrote if len(wanted) > 1 else near[:1]) if wanted]
    holds += [each for each in wrote if len(wanted) == 1 and meet([piece], [each[1]])]
    if len(wanted) == 1 and not any(meet(region, [there]) for _, there in wrote):
        holds += _in_other_regions(case, node, begun, wanted)
    held = [each for each in holds if wanted in memory.read(*each[1])]
    if not (held or near):
        return None
    event, there = max(held) if held else near[0]
    came = last_arrival(log, node, there) if (event, there) not in host else None
    where = words_for(case.session, node, there)
    if where is None or (came is None and (event, there) not in host):
        return None
    at = there[0] + _place_in(memory.read(*there), wanted, piece[0] - there[0])
    place = fmt.thing_at(case.world, case.names, node, at) if held else ""
    by = name_of(case.names, came.message.subject) if came is not None else log.who(event)
    return Beside(by, where, event, there, place)


def _place_in(octets: bytes, wanted: bytes, offset: int) -> int:
    """The first place of what is awaited in a message; that of the same slot comes before others.

    offset: of the awaited bytes, from the message, which is as long as a slot.
    """
    own = offset % len(octets)
    return own if octets[own : own + len(wanted)] == wanted else octets.find(wanted)


def _in_other_regions(
    case: Case, node: str, begun: int, wanted: bytes
) -> Iterator[tuple[int, Piece]]:
    """The WRITEs of other nodes after an event that begin or end with a byte, whose target no
    program looks at. Other WRITEs may hold the byte by chance.
    """
    looks, hca = [piece for _, piece in looks_of_programs(case.log, node)], case.world.nodes[node]
    known = set[Subject]()
    for record in case.log.of(Kind.MEMORY_WRITTEN, node):
        came = arrived_with(case.log, record) if event_of(record) > begun else None
        if came is None or came.subject in known or came.thing.node == node:
            continue
        known.add(came.subject)
        there = target(hca, came.wqe)
        octets = hca.memory.read(*there) if came.wqe.wr.opcode == WROpcode.RDMA_WRITE else b""
        if wanted in (octets[:1], octets[-1:]) and not meet(looks, [there]):
            yield event_of(record), there


class WithHeader(NamedTuple):
    """A message sent from the receive of a datagram, with the 40 bytes before that.

    sent, meant: the bytes that it was sent from, and those of the datagram alone; place: where
    what a program awaits has come, 40 bytes too far.
    """

    message: Message
    event: int
    sent: str
    meant: str
    place: str


def sent_with_header(case: Case, piece: Piece, wanted: bytes) -> WithHeader | None:
    """The message that wrote such bytes to a piece, and what is awaited there 40 bytes on."""
    came, memory = last_arrival(case.log, case.node, piece), case.world.nodes[case.node].memory
    there = (piece[0] + GRH.LENGTH, len(wanted))
    wrote = [piece_of(r) for r in case.log.within(came.event)
             if kind_of(r) is Kind.MEMORY_WRITTEN] if came is not None else []  # fmt: skip
    is_late = bool(wanted) and is_within(there, wrote) and memory.read(*there) == wanted
    if came is None or not is_late:
        return None
    message, node = came.message, came.message.thing.node
    source = pieces(case.world.nodes[node], message.wqe.sg)[:1]
    sent = bytes_at(case.session, node, source[0]) if source else None
    content = Content(case.session, sent, case.log) if sent is not None else None
    room = header_room(content, message.posted) if content is not None else None
    if room is None or room.room[0][0] != source[0][0]:
        return None
    (start, length) = source[0]
    named = partial(words_for, case.session)
    names = (named(node, source[0]), named(node, (room.begins, start + length - room.begins)),
             named(case.node, there))  # fmt: skip
    return WithHeader(message, came.event, *(name or "" for name in names))


def _distance(one: Piece, other: Piece) -> int:
    """The bytes between two pieces that do not meet."""
    return max(one[0] - sum(other), other[0] - sum(one))


def failed_writes(case: Case, node: str, piece: Piece | None) -> list[Subject]:
    """The requests that were to write some bytes of a node from another node, and did not.

    Only the first of each queue pair, and none from before these bytes were written last.
    """
    if piece is None:
        return []
    came, hca = last_arrival(case.log, node, piece), case.world.nodes[node]
    found: dict[Thing, Subject] = {}
    for event, thing, wqe in (*_failed(case), *_lost(case, node), *_unreleased(case)):
        qp = find_qp(case.world, thing.node, thing.number)
        if qp is None or peer_node(case.world, qp) != node or wqe.work is None:
            continue
        writes = wqe.work.remote & (Access.REMOTE_WRITE | Access.REMOTE_ATOMIC)
        if came is not None and event < came.event:
            continue
        if writes and meet([piece], _targets(case, hca, wqe) or [piece]):
            found.setdefault(thing, Subject.of_send(thing, wqe))
    return list(found.values())


def _failed(case: Case) -> Iterator[tuple[int, Thing, SendWqe]]:
    """The sends with an error, each with the event of its end and its queue pair."""
    for record in case.log.failed_sends:
        yield event_of(record), Thing(Noun.QP, *place_of(record)), send_wqe_of(record)


def _lost(case: Case, node: str) -> Iterator[tuple[int, Thing, SendWqe]]:
    """The unacknowledged sends of other nodes that were lost, with the event of their post."""
    for subject in lost_messages(case.session, case.log, lambda thing: thing.node != node):
        send = Send(case.session, subject, case.log)
        if send.wqe is not None and send.posted is not None:
            yield send.posted, subject.thing, send.wqe


def _unreleased(case: Case) -> Iterator[tuple[int, Thing, SendWqe]]:
    """The compare-and-swaps that left a lock taken, with the event of their end."""
    for name in case.world.nodes:
        yield from ((each.event, each.thing, each.wqe) for each in failed_releases(case.log, name))


def _targets(case: Case, hca: Hca, wqe: SendWqe) -> list[Piece]:
    """Bytes that a request may have been meant for; none where that may be any bytes.

    By its address alone where its key is unknown. An address outside the region of its key may have
    been meant for any place there; address 0, a key that a region had before, or a wrong one on the
    only connection to the node, for any bytes.
    """
    start, opened = wqe.wr.remote_addr, hca.rkeys.get(wqe.wr.rkey)
    if isinstance(opened, MemoryRegion) and not opened.iova <= start < opened.iova + opened.length:
        return [(opened.addr, opened.length), target(hca, wqe)]
    if opened is not None:
        return [target(hca, wqe)]
    regions = [mr for mr in hca.mrs.items.values() if mr.iova <= start < mr.iova + mr.length]
    found = [(mr.addr + start - mr.iova, wqe.length) for mr in regions]
    qps = (qp for other in case.world.nodes.values() for qp in other.qps.items.values())
    is_only = sum(peer_node(case.world, qp) == hca.node for qp in qps) == 1
    is_any = not start or is_only or former(case, hca.node, wqe.wr.rkey) is not None
    return found or ([] if is_any else [target(hca, wqe)])
