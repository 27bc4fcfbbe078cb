"""What stands behind a symptom: from the flush to the failure, from here to the peer.

Each step leads from one subject to others that have to be looked at as well; the checks decide
which of them holds the cause.
"""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.complaints import first_failed, undone, unmet
from rdmalab.doctor.strays import for_bytes, strays, waiting_qps
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.lens import words
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import Program


def behind(case: Case) -> list[Subject]:
    """Subjects to be looked at as well, the likeliest first."""
    step = _OF.get(case.subject.sort)
    return step(case) if step is not None else []


def _thing(qp: QueuePair) -> Thing:
    return Thing(Noun.QP, qp.node, qp.number)


def _send(case: Case) -> list[Subject]:
    send, qp = case.send, case.qp
    if send is None or qp is None:
        return []
    found = []
    if send.ending is not None and send.ending.status is WCStatus.WR_FLUSH_ERR:
        found += first_failed(case.log, _thing(qp))
    if not send.begun and (ahead := undone(qp)) and ahead[0].serial < case.subject.serial:
        found += ahead  # it waits in line behind another
    good = send.ending is not None and send.ending.status is WCStatus.SUCCESS
    return found if good else found + _of_peer(case, case.peer)


def _receive(case: Case) -> list[Subject]:
    """Flushed: what took its queue pair down. Waiting: what became of the peer's sends."""
    receive, qp = case.receive, case.qp
    if receive is None or (qp is None and not receive.shared):
        return []
    if receive.ending is None:
        peer = case.peer
        missed = [subject for one in waiting_qps(case) for subject in strays(case, one)]
        return missed + _of_peer(case, peer) + (undone(peer) if peer is not None else [])
    if receive.ending.status is WCStatus.WR_FLUSH_ERR and qp is not None:
        return first_failed(case.log, _thing(qp)) + _of_peer(case, case.peer)
    return []


def _of_peer(case: Case, peer: QueuePair | None) -> list[Subject]:
    """What failed first at the other end."""
    return first_failed(case.log, _thing(peer)) if peer is not None else []


def _program(case: Case) -> list[Subject]:
    """The call that a program failed of; what it waits for."""
    program = case.program
    if program is None:
        return []
    if program.state is ProgramState.FAILED:
        calls = [c for c in case.log.refused() if c.program == case.names.of(case.subject.thing)]
        node = case.subject.thing.node
        return [Subject(Sort.CALL, Thing(Noun.NODE, *c.thing), event=c.event)
                for c in calls[-1:] if c.thing[0] == node]  # fmt: skip
    return _awaited(case)


def _awaited(case: Case) -> list[Subject]:
    """The completion queues that a program looks at, and the work that should complete there."""
    found: list[Subject] = []
    for thing in looked_at(case):
        found.append(Subject(Sort.CQ, thing))
        for qp in case.world.nodes[thing.node].qps.items.values():
            found += undone(qp) if qp.send_cq == thing.number else []
            found += unmet(qp) if qp.recv_cq == thing.number else []
    return found


def looked_at(case: Case) -> list[Thing]:
    """The completion queues that the program's line waits for, by name or through a channel."""
    return watched_by(case, case.program) if case.program is not None else []


def watched_by(case: Case, program: Program) -> list[Thing]:
    """The same, of any program."""
    if program.wants is not None and program.wants[1].noun is Noun.CHANNEL:
        channel = program.wants[1]
        cqs = case.world.nodes[channel.node].cqs.items.values()
        return [Thing(Noun.CQ, channel.node, c.number) for c in cqs if c.channel == channel.number]
    invocation = program.line.invocation
    named = [str(value) for value in invocation.arguments.values()] if invocation else []
    things = [case.names.find(name) for name in named]
    return [
        t for t in things if t is not None and t.noun is Noun.CQ and words.exists(case.world, t)
    ]


_OF: dict[Sort, Callable[[Case], list[Subject]]] = {
    Sort.SEND: _send,
    Sort.RECV: _receive,
    Sort.PROGRAM: _program,
    Sort.BYTES: for_bytes,
}
