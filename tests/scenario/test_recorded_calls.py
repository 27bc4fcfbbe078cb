"""Calls of a session file: bounded, and each with the errno that it had."""

from pathlib import Path

from rdmalab import Lab
from rdmalab.lab import open_session
from rdmalab.scenario.keeping import kept
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest

SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


def session() -> Session:
    lab = Lab()
    for line in ("use rc_pair retry_cnt=1", "modify_qp A.qp0 state=INIT", SEND, "run 9us",
                 "poll_cq A.cq0 num_entries=4", "step 3", "poll_cq A.cq0", "run 1ms"):  # fmt: skip
        lab.do(line)
    return lab.session


def again(folder: Path, octets: bytes, name: str = "x.rdmalab", most: int = 20_000) -> Runner:
    (folder / name).write_bytes(octets)
    runner = Runner(load(str(folder / name), VOCABULARY), open_session, max_events=most)
    runner.run()
    return runner


def test_it_ends_at_the_same_event_and_time_with_the_same_trace(tmp_path: Path) -> None:
    before = session()
    runner = again(tmp_path, kept(before, "x.rdmalab").octets)
    assert runner.ok, runner.results[-1].text("x")
    world = runner.session.world
    assert (world.event, world.now_ns) == (before.world.event, before.world.now_ns)
    assert digest(world.trace) == digest(before.world.trace)
    assert list(runner.session.journal) == list(before.journal)


def test_what_goes_on_without_end_is_stopped(tmp_path: Path) -> None:
    lab = Lab()
    for line in ("use rc_pair rnr_retry=7 min_rnr_timer=1", SEND, "run 5us"):
        lab.do(line)
    lab.do("alloc_pd A.pd9")
    octets = kept(lab.session, "x.rdmalab").octets
    lab.do("run 50ms")
    longer = kept(lab.session, "x.rdmalab").octets
    for each, most, actual in (
        (octets, 3, "more than 3 events"), (longer, 10, "stopped at the limit"),
    ):  # fmt: skip
        assert again(tmp_path, each).ok
        failure = again(tmp_path, each, most=most).results[-1].failure
        assert failure is not None
        assert failure.actual[0].startswith(actual)
