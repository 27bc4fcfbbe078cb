"""What is observed is true, and says all that the wire lines of a scenario can say."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab, open_session
from rdmalab.scenario import saving
from rdmalab.scenario.loader import loads
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import Expect, expectations, facts, saved, wire_lines
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.each import examples
from tests.labs import RECV, SEND, lab_of
from tests.machine.sessions import random_lab


def walked(lab: Lab) -> Runner:
    runner = Runner(loads(saved(lab.session, "seen", Expect.ALL), "seen", VOCABULARY), open_session)
    runner.run()
    return runner


def test_what_is_to_be_seen() -> None:
    lab = lab_of(RECV, SEND, "run")
    found = facts(lab.session)
    assert found == {
        "A.qp0.state": "RTS", "A.qp0.sq.used": "1", "A.qp0.rq.used": "0",
        "B.qp0.state": "RTS", "B.qp0.sq.used": "0", "B.qp0.rq.used": "1",
        "A.cq0.count": "1", "A.cq0.cqes[0].wr_id": "1", "A.cq0.cqes[0].status": "SUCCESS",
        "B.cq0.count": "1", "B.cq0.cqes[0].wr_id": "2", "B.cq0.cqes[0].status": "SUCCESS",
        "B.cq0.cqes[0].byte_len": "64",
    }  # fmt: skip
    assert all(lab.look(f"{what} == {answer}") for what, answer in found.items())
    lab.do("destroy_qp A.qp0")
    assert "A.qp0.state" not in facts(lab.session)


def test_only_what_is_new_is_expected() -> None:
    assert expectations({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == [
        "b == 3",
        "c == 4",
    ]


def test_shared_queues_are_seen() -> None:
    lab = lab_of("post_srq_recv B.srq0 sg=B.mr0[0:64]", pair="use srq_pair")
    found = facts(lab.session)
    assert (found["B.srq0.count"], found["B.srq0.used"]) == ("1", "1")


def test_the_packets() -> None:
    lab = lab_of("fault drop A->B nth=1", SEND, "step packet", "run 5us")
    assert wire_lines(lab.session, 0) == [
        "A->B SEND_ONLY dest_qp=B.qp0 psn=0 len=64 ack_req=1 lost"
    ]


def test_more_packets_than_a_step_may_have_end_in_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_ASSERTIONS", 3)
    lab = lab_of(RECV, *[SEND] * 4, "step 25")
    lines = wire_lines(lab.session, 0)
    assert len(lines) == 3
    assert lines[-1] == "skip"
    assert len(expectations({}, facts(lab.session))) == 3


def test_it_fails_where_the_world_is_another() -> None:
    """Each thing that was seen is a thing that is compared."""
    text = saved(lab_of(RECV, SEND, "run").session, "seen", Expect.ALL)
    for answer, other in (
        ("sq.used == 1", "sq.used == 0"), ("len=64", "len=63"), ("msn=1", "msn=2"),
        ("status == SUCCESS", "status == WR_FLUSH_ERR"), ("ack_req=1", "ack_req=0"),
    ):  # fmt: skip
        assert answer in text
        runner = Runner(loads(text.replace(answer, other), "seen", VOCABULARY), open_session)
        runner.run()
        assert not runner.ok, answer


@settings(max_examples=examples(80))
@given(st.randoms(use_true_random=True), st.sampled_from(("strict", "rxe", "mlx5")))
def test_whatever_was_observed_is_observed_again(chance: Random, profile: str) -> None:
    lab = random_lab(chance, profile)
    runner = walked(lab)
    assert runner.ok, runner.results[-1].text("seen")
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)
