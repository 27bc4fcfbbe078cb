"""Who waits for a message, and what the other end has done meanwhile."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue, QueuePair, SendWqe
from rdmalab.doctor.facts.partners import entered
from rdmalab.doctor.facts.thread_waits import cqs_of, looked_at
from rdmalab.doctor.facts.undelivered import waiting_qps
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, event_of, send_wqe_of, status_of
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, WROpcode
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_of


class Done(NamedTuple):
    """A work request that was carried out, and in which event."""

    wqe: SendWqe
    event: int

    @property
    def takes_receive(self) -> bool:
        """Its message takes a receive at the peer, and so completes there."""
        opcode = self.wqe.wr.opcode
        return opcode in tuple(WROpcode) and WORK[WROpcode(opcode)].consumes_receive


def waiters(case: Case) -> list[QueuePair]:
    """The queue pairs whose next message a receive or a program waits for."""
    if not case.asked:
        return []
    if case.receive is not None:
        return waiting_qps(case)
    program = case.program
    if program is None or program.state in (ProgramState.DONE, ProgramState.FAILED):
        return []
    return [
        qp
        for thing in looked_at(case)
        for qp in case.world.nodes[thing.node].qps.items.values()
        if qp.recv_cq == thing.number and not case.world.find(thing, CompletionQueue).cqes
    ]


def watcher(case: Case, qp: QueuePair) -> str:
    """What waits for a completion of its receives, for an evidence; empty if nothing does."""
    thing = Thing(Noun.CQ, qp.node, qp.recv_cq)
    for program in programs_of(case.world):
        over = program.state in (ProgramState.DONE, ProgramState.FAILED)
        if not over and thing in cqs_of(case, program):
            return case.name(Noun.PROGRAM, program.node, program.number)
    cq = case.world.nodes[qp.node].cqs.items.get(qp.recv_cq)
    armed = cq is not None and cq.armed
    return f"the program that armed {case.names.of(thing)}" if armed else ""


def is_quiet(case: Case, qp: QueuePair) -> bool:
    """Whether the peer has nothing more to do: what is under way may be what is waited for."""
    peer = peer_of(case.world, qp)
    return peer is not None and peer.comp.serial == peer.sq.posted and not peer.sq.early


def done_by_peer(case: Case, qp: QueuePair) -> list[Done]:
    """What the peer has carried out after the last message that arrived, oldest first.

    This includes a message that it sent and that did not arrive.
    """
    peer = peer_of(case.world, qp)
    if peer is None:
        return []
    since = entered(case, qp, QPState.RTR) or -1
    ended = case.log.about(Kind.WQE_COMPLETED, peer.thing)
    done = [
        Done(send_wqe_of(record), event_of(record))
        for record in ended
        if status_of(record) == WCStatus.SUCCESS and event_of(record) > since
    ]
    taken = case.log.about(Kind.RECV_TAKEN, qp.thing)
    messages = [number for number, each in enumerate(done) if each.takes_receive]
    arrived = sum(event_of(record) > since for record in taken)
    return done[messages[-1] + 1 :] if messages and len(messages) <= arrived else done
