"""What comes without another call: seen before it comes, and given up where it never comes."""

import pytest

from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.evidence.subject import Subject
from rdmalab.doctor.evidence.work_of_queues import newest_send
from rdmalab.doctor.moments.future import MOST_EVENTS, look_ahead
from rdmalab.lab import Lab
from rdmalab.world.world import World
from tests.labs import RECV, SEND, lab_of


def subject_of(lab: Lab) -> Subject:
    thing = lab.session.names.find("A.qp0")
    assert thing is not None
    return newest_send(lab.session, Log(lab.session), thing, 1)


def test_look_ahead_finds_the_completion() -> None:
    lab = lab_of(RECV, SEND)
    future = look_ahead(lab.session, subject_of(lab))
    assert (future.outcome.kind, future.settled) == (Status.COMPLETED, True)
    assert lab.session.world.event < future.event
    lab.do("run")
    assert lab.session.world.event == future.event
    assert lab.session.world.now_ns == future.end_ns


def test_look_ahead_stops_at_the_limit_of_events() -> None:
    lab = lab_of(SEND)  # no receive is posted, and rnr_retry is 7
    future = look_ahead(lab.session, subject_of(lab))
    assert (future.settled, future.idle, future.repeats) == (False, False, True)
    assert future.event <= lab.session.world.event + MOST_EVENTS


_THREADS = [f"program {name}.x lines={{poll {name}.cq0}}" for name in "AB"]


@pytest.mark.parametrize("question", ["why", "why A.x", "why A.cq0"])
def test_threads_that_poll_in_vain_are_not_watched_for_long(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = lab_of(*_THREADS, "run 20us")
    run, events = World.run, list[int]()

    def counted(world: World, most: int, until_ns: int | None = None) -> int:
        events.append(run(world, most, until_ns))
        return events[-1]

    monkeypatch.setattr(World, "run", counted)
    report = lab.do(question)[-1].value
    assert report.slug == "nothing-outstanding"
    assert sum(events) < 100
