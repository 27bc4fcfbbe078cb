"""The doctor finds nothing where nothing is wrong: asked at every event of every scenario.

A scenario goes well if no call in it was refused, no completion had an error, no queue overran, no
message met an empty queue or was lost for good, no device or port was in trouble, and in the end no
send is without its end and no program waits in vain. Packets may be lost where they come again.

In the others, of which many show what goes wrong, whatever is called a cause must not come to a
good end by itself: that is tried.
"""

import os
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status, outcome_of
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.moments.future import look_ahead
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.nodes import Index
from rdmalab.grammar.nodes import Path as Question
from rdmalab.lab import open_session
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import OPCODES, Service
from rdmalab.spec.records import A, B, Kind, Record, kind_of, node_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.programs import stuck_rows
from rdmalab.vocabulary import VOCABULARY
from tests.each import ALL, a_tenth

FOLDER = Path(__file__).parents[2] / "scenarios"
FILES = sorted(
    str(path.relative_to(FOLDER))
    for path in FOLDER.rglob(f"*{SUFFIX}")
    if path.parent.name != "why"
)
FAILURES = ("real/", "ud/one-packet")
"""What went wrong for somebody, and a datagram too long to be sent: success to its sender."""
MISTAKES = ("rc/inline", "rc/fence", "sge/hands-off", "wr/unreliable-connection")
"""Lessons that use a buffer too early, or for two receives: the cause is true, and at once."""
MOST_QUESTIONS = 1_000_000 if os.environ.get(ALL) else 200  # of a scenario
_WRONG = frozenset(
    (
        Kind.REFUSED, Kind.REQUEST_REFUSED, Kind.CQ_OVERRUN, Kind.PORT_CHANGED, Kind.SRQ_FAILED,
        Kind.DEVICE_DIED, Kind.QUEUE_DISCARDED, Kind.BATCH_FAILED, Kind.PROGRAM_FAILED,
        Kind.PACKET_INJECTED, Kind.WINDOW_REFUSED,
    )
)  # fmt: skip
_HARMLESS = (AsyncEvent.COMM_EST, AsyncEvent.SQ_DRAINED, AsyncEvent.SRQ_LIMIT_REACHED)


def goes_wrong(record: Record) -> bool:
    kind = kind_of(record)
    if kind is Kind.WQE_COMPLETED:
        return bool(record[B] != WCStatus.SUCCESS)
    if kind is Kind.CQE_ADDED:
        return bool(record[A].status != WCStatus.SUCCESS)
    if kind in (Kind.PACKET_LOST, Kind.PACKET_DROPPED):
        row = OPCODES.get(getattr(record[A], "opcode", -1))
        return row is None or row.service in (Service.UC, Service.UD)  # nobody sends it again
    if kind is Kind.ASYNC_RAISED:
        return record[A] not in _HARMLESS
    return kind in _WRONG


def is_refusal(record: Record) -> bool:
    """Whether a call was refused: that is a complaint of its own."""
    return kind_of(record) is Kind.REFUSED


def undone(session: Session) -> bool:
    """A send that will never end, or a program that waits in vain."""
    qps = [qp for hca in session.world.nodes.values() for qp in hca.qps.items.values()]
    waits = any(qp.comp.serial < qp.sq.posted for qp in qps)
    return waits or bool(stuck_rows(session.world, session.names))


@cache
def is_well(file: str) -> bool:
    if file.startswith(FAILURES):
        return False
    runner = Runner(load(str(FOLDER / file), VOCABULARY), open_session)
    while runner.next_step() is not None:  # a step may go back in time, and the log with it
        if any(map(goes_wrong, runner.session.world.trace.records)):
            return False
    return not undone(runner.session)


def alarm(session: Session, report: Report) -> str:
    text = " ".join(cause.check.slug for cause in report.chain)
    return f"ev {session.world.event}: {report.name}: {text}" if text else ""


@cache
def stride(file: str) -> int:
    """After how many events a question is asked: 1, and more in the few long scenarios.

    An answer about thousands of events takes a tenth of a second and more.
    """
    runner = Runner(load(str(FOLDER / file), VOCABULARY), open_session)
    runner.run()
    return 1 + runner.session.world.event // MOST_QUESTIONS


def played(file: str, ask: Callable[[Session], None]) -> Session:
    """The scenario, and somebody who asks after each event."""
    runner = Runner(load(str(FOLDER / file), VOCABULARY), open_session)
    session, last = runner.session, None
    while not runner.over:
        for reply in runner.replies():
            while reply.travel is not None and not reply.travel.go(stride(file)):
                ask(session)
            if session.history.here != last:
                ask(session)
            last = session.history.here
    return session


def test_at_least_50_lessons_succeed() -> None:
    assert len(list(islice(filter(is_well, FILES), 50))) == 50


@pytest.mark.parametrize("file", a_tenth([f for f in FILES if not f.startswith(MISTAKES)]))
def test_no_false_alarm_in_any_lesson(file: str) -> None:
    alarms = well_alarms(file) if is_well(file) else premature_alarms(file)
    assert [each for each in alarms if each] == []


def well_alarms(file: str) -> list[str]:
    """What is said in a scenario that goes well, after each event and of each completion."""
    alarms = list[str]()
    session = played(file, lambda session: alarms.append(alarm(session, consult(session))))
    return [*alarms, *every_completion(session)]


def premature_alarms(file: str) -> list[str]:
    """What is called the cause of a pending request that ends well without any further command."""
    alarms = list[str]()

    def ask(session: Session) -> None:
        report = consult(session)
        for cause in report.causes:
            if cause.subject.sort in (Sort.SEND, Sort.RECV) and not failed(session, cause.subject):
                future = look_ahead(session, cause.subject)
                alarms.append(alarm(session, report) if future.outcome.good else "")

    played(file, ask)
    return alarms


def failed(session: Session, subject: Subject) -> bool:
    """It has come to an end, and no good one."""
    return outcome_of(session, subject, Log(session)).kind is not Status.PENDING


def every_completion(session: Session) -> list[str]:
    """What is said of work that has completed well, each by its wr_id."""
    lines = []
    for record in session.world.trace.records:
        if kind_of(record) is not Kind.CQE_ADDED or record[A].srq:
            continue
        cqe, thing = record[A], Thing(Noun.QP, node_of(record), record[A].qp_num)
        if session.world.nodes[thing.node].qps.items.get(thing.number) is None:
            continue
        node, _, name = session.names.of(thing).partition(".")
        word = "wr" if cqe.is_send else "recv_wr"
        question = Question((node, name, word, Index(cqe.wr_id)))
        lines.append(alarm(session, consult(session, question)))
    return lines
