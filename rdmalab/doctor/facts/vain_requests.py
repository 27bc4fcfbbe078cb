"""Threads that repeat a READ or a compare-and-swap of bytes that nothing is going to change."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue, Program, QueuePair, SendWqe
from rdmalab.doctor.evidence.content import words_for
from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.messages import Piece, meet, piece_of, pieces, target
from rdmalab.doctor.facts.delivery import carried_out
from rdmalab.doctor.facts.lines_to_run import is_to_write, writes, writing_requests
from rdmalab.doctor.facts.memory_waits import is_flag
from rdmalab.doctor.facts.thread_waits import ThreadWait
from rdmalab.spec.opcodes import ATOMIC_BYTES, Op, Service
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import (
    Kind,
    cqe_of,
    event_of,
    kind_of,
    line_number_of,
    node_of,
    object_of,
    send_wqe_of,
    status_of,
)
from rdmalab.spec.work import WROpcode
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import find_qp, peer_node

_UNACKNOWLEDGED = (Service.UC, Service.UD)
_LOOKS = (Op.COMPARE_SWAP, Op.RDMA_READ_REQUEST)
_TURNS = 2  # that are over, before a thread is said to repeat


class VainRequest(NamedTuple):
    """The READ or the compare-and-swap that a thread repeats.

    posted, ended: events of the newest one that is over; where, node, word: the name and place of
    the bytes at the peer; found: their value; writers: the threads that would
    write them, but wait for what only this very thread, or none, is to bring.
    """

    wqe: SendWqe
    qp: Thing
    posted: int
    ended: int
    where: str
    found: int
    node: str
    word: Piece
    writers: list[ThreadWait]


class _Turn(NamedTuple):
    """One of them. line: number of the line that posted it; ended: None while it is outstanding."""

    qp: Thing
    wqe: SendWqe
    line: int
    posted: int
    ended: int | None

    @property
    def asks(self) -> tuple[object, ...]:
        """Its queue pair, line, target and comparand: equal in each turn."""
        wr = self.wqe.wr
        return self.qp, self.line, wr.opcode, wr.remote_addr, wr.rkey, wr.compare_add


def vain_request(case: Case, program: Program) -> VainRequest | None:
    """The READ or compare-and-swap that a thread does nothing but repeat, and that changes nothing.

    None if its loop ends, if anything that is planned or runs may change the word or the bytes
    that the thread looks at, or if the thread does something else in a turn.
    """
    turns = _repeated(case, program)
    qp = find_qp(case.world, *turns[0].qp[1:]) if turns else None
    node = peer_node(case.world, qp) if qp is not None else ""
    if qp is None or not node:
        return None
    newest, hca = turns[0], case.world.nodes[node]
    swaps = newest.wqe.op is Op.COMPARE_SWAP
    word = target(hca, newest.wqe)
    found = int.from_bytes(hca.memory.read(*word), "little")
    where = words_for(case.session, node, word)
    questions = [line.question for line in program.lines if line.question is not None]
    read = [piece for q in questions if (piece := watched(case.session, q)) is not None]
    held = [] if _sends_more(case, newest) else _held(case, program, qp, turns[-1].posted)
    beside = [each for each in programs_of(case.world) if each not in held]
    changes = (
        (swaps and found == newest.wqe.wr.compare_add)
        or not all(is_flag(case, question) for question in questions)
        or _was_written(case, node, word, turns[-1].posted)
        or _may_change(case, _Bytes(node, word, found), newest, beside, program)
        or any(_may_change(case, _Bytes(program.node, each), newest, beside, program)
               for each in read)
    )  # fmt: skip
    if changes or where is None or newest.ended is None:
        return None
    writers = [ThreadWait(case, each) for each in held if is_to_write(case, each, node, word)]
    return VainRequest(
        newest.wqe, newest.qp, newest.posted, newest.ended, where, found, node, word, writers
    )


def foreseen_swap(case: Case, wqe: SendWqe) -> tuple[str, int] | None:
    """The word that a compare-and-swap on its way will find other than compare, and its value.

    None if it was carried out already, or if something under way may change the word before.
    """
    node = peer_node(case.world, case.qp) if case.qp is not None else ""
    if wqe.op is not Op.COMPARE_SWAP or case.has_ended or not node or carried_out(case) is not None:
        return None
    hca = case.world.nodes[node]
    word = target(hca, wqe)[0], ATOMIC_BYTES
    where = words_for(case.session, node, word)
    found = int.from_bytes(hca.memory.read(*word), "little") if where is not None else None
    if where is None or found is None or found == wqe.wr.compare_add:
        return None
    own = _Turn(case.subject.thing, wqe, 0, 0, None)
    threads = programs_of(case.world)
    return None if _may_change(case, _Bytes(node, word, found), own, threads) else (where, found)


def _repeated(case: Case, program: Program) -> list[_Turn]:
    """The newest turns that are over, newest first; none of a thread that ends or does more."""
    if program.state.is_over or 0 not in program.loops:
        return []
    turns = list(_turns(case, program))
    over = [turn for turn in turns if turn.ended is not None]
    if len(over) < _TURNS or len({turn.asks for turn in turns}) > 1:
        return []
    return [] if _does_more(case, program, over[-1]) else over


def _turns(case: Case, program: Program) -> Iterator[_Turn]:
    """The newest sends of a thread, back to the second that is over, if each is such a request."""
    over = 0
    for record in reversed(case.log.of(Kind.SEND_POSTED, program.node)):
        event, wqe = event_of(record), send_wqe_of(record)
        own = [r for r in case.log.within(event) if kind_of(r) is Kind.PROGRAM_RAN
               and object_of(r) == program.number]  # fmt: skip
        if not own:
            continue
        if wqe.op not in _LOOKS or over == _TURNS:
            return
        thing = Thing(Noun.QP, node_of(record), object_of(record))
        ended = case.log.newest_of(Kind.WQE_COMPLETED, thing, wqe.serial)
        if ended is not None and status_of(ended):
            return
        over += ended is not None
        yield _Turn(thing, wqe, line_number_of(own[0]), event, ended and event_of(ended))


def _does_more(case: Case, program: Program, first: _Turn) -> bool:
    """Whether a thread has written bytes, or taken completions of other work, since a turn."""
    log, name = case.log, case.names.of(program.thing)
    wrote = (event_of(r) for r in log.since(first.posted, Kind.HOST_WROTE))
    took = (event_of(r) for r in log.since(first.posted, Kind.CQE_POLLED)
            if not cqe_of(r).is_send or cqe_of(r).qp_num != first.qp.number)  # fmt: skip
    return any(log.asked(event)[1] == name for event in (*wrote, *took))


def _was_written(case: Case, node: str, piece: Piece, since: int) -> bool:
    """Whether some bytes of a node were written since an event."""
    return any(
        node_of(r) == node and meet([piece], [piece_of(r)])
        for kind in (Kind.MEMORY_WRITTEN, Kind.HOST_WROTE)
        for r in case.log.since(since, kind)
    )


class _Bytes(NamedTuple):
    """Some bytes of a node. word: their value, of those that the compare-and-swap looks at."""

    node: str
    piece: Piece
    word: int | None = None


def _sends_more(case: Case, turn: _Turn) -> bool:
    """Whether a send other than the request of these turns is outstanding anywhere."""
    return any(
        wqe.wr.opcode != turn.wqe.wr.opcode or wqe.wr.remote_addr != turn.wqe.wr.remote_addr
        for hca in case.world.nodes.values() for qp in hca.qps.items.values()
        for wqe in qp.sq.wqes.values() if wqe.serial >= qp.comp.serial
    )  # fmt: skip


def _held(case: Case, program: Program, qp: QueuePair, since: int) -> list[Program]:
    """The threads that have waited since an event for what only this thread, or none, is to bring.

    qp: that of its READs, whose completions are not what these wait for.
    """
    asleep = [each for each in programs_of(case.world) if each is not program
              and (each.state is ProgramState.WAITING or each.line.word == "poll")
              and all(line_number_of(r) == each.line.number
                      for r in case.log.about(Kind.PROGRAM_RAN, each.thing)
                      if event_of(r) > since)]  # fmt: skip
    waits = (ThreadWait(case, each) for each in asleep)
    return [each.program for each in waits if all(other is program for other in each.providers)
            and not each.completes(qp)
            and not any(case.world.find(cq, CompletionQueue).cqes for cq in each.cqs)]  # fmt: skip


def _may_change(
    case: Case, it: _Bytes, turn: _Turn, threads: Iterable[Program],
    own_thread: Program | None = None,
) -> bool:  # fmt: skip
    """Whether a thread, a request, a receive or a datagram under way may change some bytes.

    A compare-and-swap with another value than the word has changes nothing, and what the turn
    brings back to its thread is the same value each time.
    """
    planned = [wr for program in threads for wr in writing_requests(program)
               if writes(case, wr, it.node, it.piece)
               if program is not own_thread or wr.get("opcode") != turn.wqe.wr.opcode]  # fmt: skip
    found = [(int(wr.get("opcode", -1)), int(wr.get("compare", 0) or wr.get("compare_add", 0)))
             for wr in planned]  # fmt: skip
    found += ((int(wqe.wr.opcode), wqe.wr.compare_add) for wqe in _aimed_at(case, it))
    own = turn.wqe.wr.compare_add
    return _may_come(case, it) or any(
        opcode != WROpcode.ATOMIC_CMP_AND_SWP
        or (compared != own if it.word is None else compared == it.word)
        for opcode, compared in found
    )


def _aimed_at(case: Case, it: _Bytes) -> Iterator[SendWqe]:
    """The outstanding sends of the peers of a node whose target has some of these bytes."""
    hca = case.world.nodes[it.node]
    for qp in (qp for each in case.world.nodes.values() for qp in each.qps.items.values()):
        if peer_node(case.world, qp) == it.node:
            under_way = (wqe for wqe in qp.sq.wqes.values() if wqe.serial >= qp.comp.serial)
            yield from (wqe for wqe in under_way if meet([it.piece], [target(hca, wqe)])
                        and wqe.op is not Op.RDMA_READ_REQUEST)  # fmt: skip


def _may_come(case: Case, it: _Bytes) -> bool:
    """Whether a receive has some of these bytes, or a datagram for their node is under way."""
    hca = case.world.nodes[it.node]
    waiting = (wqe for qp in hca.qps.items.values() for wqe in qp.source.wqes)
    if any(meet([it.piece], pieces(hca, wqe.wr.sg)) for wqe in waiting):
        return True
    coming = (e for e in case.world.agenda.plans() if e[2] == Door.ARRIVAL and e[3] == it.node)
    packets = (e[4][0] if isinstance(e[4], tuple) else e[4] for e in coming)
    return any(isinstance(p, Packet) and p.opcode_row.service in _UNACKNOWLEDGED for p in packets)
