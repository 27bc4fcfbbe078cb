"""Programs that wait for a value in their memory: when each wait was over, and if too early."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, Log, Send, SendWqe
from rdmalab.doctor.evidence.content import words_for
from rdmalab.doctor.evidence.host_reads import EarlyRead, Unseen, WrittenOver, last_arrival, watched
from rdmalab.doctor.evidence.messages import Piece, meet, piece_of, target
from rdmalab.doctor.evidence.subject import Subject, name_of
from rdmalab.doctor.facts.key_lookup import former
from rdmalab.doctor.moments.unreported import lost_messages
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind, event_of, line_number_of, place_of, send_wqe_of
from rdmalab.world.relations import find_qp, peer_node

_Found = TypeVar("_Found", EarlyRead, Unseen, WrittenOver)


class Passed(NamedTuple):
    """A wait that was over. begun: when the program came to it; event: when it went on."""

    line: Line
    piece: Piece
    begun: int
    event: int


class Beside(NamedTuple):
    """A write near bytes that a program waits for. by: the request, the program, or `a call`."""

    by: str
    where: str
    event: int
    piece: Piece


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


def beside(case: Case, thing: Thing, piece: Piece, since: int) -> Beside | None:
    """The write after an event that came nearest to some bytes of a region; None if there is none.

    Those of the program itself do not count, nor those of calls before it was started.
    """
    node, log = thing.node, case.log
    mrs = case.world.nodes[node].mrs.items.values()
    region = [(mr.addr, mr.length) for mr in mrs if mr.addr <= piece[0] < mr.addr + mr.length]
    begun = max(since, log.created(thing) or 0)
    found = [(_distance(piece, piece_of(r)), -event, kind, piece_of(r))
             for kind, first in ((Kind.MEMORY_WRITTEN, since), (Kind.HOST_WROTE, begun))
             for r in log.of(kind, node) if (event := event_of(r)) > first
             if meet(region, [piece_of(r)]) and not meet([piece], [piece_of(r)])
             if kind is Kind.MEMORY_WRITTEN or log.who(event) != case.names.of(thing)]  # fmt: skip
    if not found:
        return None
    _, event, kind, there = min(found, key=lambda each: each[:2])
    came = last_arrival(log, node, there) if kind is Kind.MEMORY_WRITTEN else None
    where = words_for(case.session, node, there)
    if where is None or (came is None and kind is Kind.MEMORY_WRITTEN):
        return None
    by = name_of(case.names, came.message.subject) if came is not None else log.who(-event)
    return Beside(by, where, came.event if came is not None else -event, there)


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
    for event, thing, wqe in (*_failed(case), *_lost(case, node)):
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
