"""Carry out a fix that `why` calls working, run the session on, and judge the claim."""

import re
from typing import NamedTuple

from rdmalab.command import Noun
from rdmalab.doctor.report import Report
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import ProgramState
from rdmalab.world.programs import Program

_EVENTS, _NS = 40_000, 10_000_000_000  # of a session after a fix
_ALIVE = (ProgramState.WAITING, ProgramState.RUNNING, ProgramState.SLEEPING)
_WORK = re.compile(r"\w+\.\w+\.(?:recv_)?wr\[(\d+)\]")


class Thread(NamedTuple):
    """Where a thread is: its line and open loops. endless: it repeats lines without end."""

    state: ProgramState
    place: tuple[int, ...]
    endless: bool


def carried_out(session: Session, report: Report, *, alone: bool) -> str:
    """What is wrong with a fix that is called working; nothing if its claim is true.

    No line of it is refused. Of a work request: it, or the same once more, ends with success. Of a
    thread: it runs to its end. alone: nothing else is wrong in the session, so all threads do.
    """
    assert report.remedy is not None
    first, before = session.world.trace.latest + 1, _threads(session)
    for line in report.remedy.cure.lines:
        for reply in replies(session, line, file=True):
            if reply.failed:
                return f"{line}: refused"
            if reply.travel is not None:
                reply.travel.finish()
    session.history.run(_EVENTS, session.world.now_ns + _NS)
    if (work := _WORK.fullmatch(report.name)) and not _ends_well(session, int(work[1]), first):
        return f"{report.name} does not succeed after its fix"
    after = _threads(session)
    meant = [name for name in before if name in after and (alone or name == report.name)]
    wrong = [_stuck(name, before[name], after[name]) for name in meant]
    return next(filter(None, wrong), "")


def _ends_well(session: Session, wr_id: int, first: int) -> bool:
    """Whether work of this wr_id ended with success since a record, or before it and never else."""
    trace = session.world.trace
    if any(_succeeds(record, wr_id) for record in trace.since(first)):
        return True
    added = [r[rec.A] for r in trace.since(0) if rec.kind_of(r) is rec.Kind.CQE_ADDED]
    mine = [cqe.status for cqe in added if cqe.wr_id == wr_id]
    return bool(mine) and not any(mine)


def _stuck(name: str, before: Thread, after: Thread) -> str:
    """What is wrong with a thread after a fix; nothing if it was over before, or is done."""
    if before.state not in _ALIVE or after.state is ProgramState.DONE:
        return ""
    if after.state is ProgramState.FAILED:
        return f"{name} fails after the fix"
    runs = after.endless and after.place != before.place
    return "" if runs else f"{name} does not run to its end"


def _threads(session: Session) -> dict[str, Thread]:
    """All threads by name."""
    found = dict[str, Thread]()
    for name in session.names.all():
        thing = session.names.find(name)
        if thing is not None and thing.noun is Noun.PROGRAM:
            program = session.world.find(thing, Program)
            endless = any(line.word == "loop" and not line.amount for line in program.lines)
            found[name] = Thread(program.state, (program.at, *program.loops), endless)
    return found


def _succeeds(record: rec.Record, wr_id: int) -> bool:
    """Whether work of this wr_id has ended with success."""
    kind = rec.kind_of(record)
    if kind is rec.Kind.CQE_ADDED:
        return bool(record[rec.A].wr_id == wr_id and not record[rec.A].status)
    done = kind is rec.Kind.WQE_COMPLETED and not record[rec.B]
    return bool(done and record[rec.A].wr.wr_id == wr_id)
