"""What is saved of a session, played again, makes the same world: record by record."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab import Lab
from rdmalab.lab import open_session
from rdmalab.scenario import saving
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import TooLong, saved
from rdmalab.session.digest import digest
from rdmalab.vocabulary import VOCABULARY

LINES = (
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
    "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0x10 rkey=0xdead flags=SIGNALED",
    "post_send wr={A} A.qp0",
    "fault drop A->B nth=1",
    "fault corrupt A->B nth=1 byte=60",
    "modify_qp A.qp0 state=INIT",
    "poll_cq A.cq0 num_entries=4",
    "create_qp A.qp7 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=1000000000",
    "destroy_cq A.cq0",
    "step 2",
    "run 3us",
    "step packet",
    "run",
    'write A.mr0[0:16] "a: b # c \\x00\\xff"',
    "write A.mr0[0:5] \"it's\"",
)  # fmt: skip


def replayed(lab: Lab, folder: Path, title: str = "again") -> Runner:
    path = folder / "saved.rdmalab.yaml"
    path.write_text(saved(lab.session, open_session, title))
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    return runner


def played(lines: list[str], profile: str = "strict") -> Lab:
    lab = Lab(profile=profile)
    for line in ("use rc_pair retry_cnt=1", *lines):
        lab.do(line)
    return lab


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(LINES), max_size=14), st.sampled_from(("strict", "rxe", "mlx5")))
def test_played_again_it_is_the_same_world(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], profile: str
) -> None:
    lab = played(lines, profile)
    runner = replayed(lab, tmp_path_factory.mktemp("saved"))
    assert runner.ok, runner.results[-1].text("saved")
    again, before = runner.session.world, lab.session.world
    assert digest(again.trace) == digest(before.trace)
    assert (again.now_ns, again.event) == (before.now_ns, before.event)


def test_a_refused_verb_is_expected_to_be_refused(tmp_path: Path) -> None:
    lab = played(["modify_qp A.qp0 state=INIT", "destroy_cq A.cq0"])
    text = saved(lab.session, open_session, "refusals")
    assert "  - do: modify_qp A.qp0 qp_state=INIT\n    errno: EINVAL\n" in text
    assert "    errno: EBUSY\n" in text
    assert replayed(lab, tmp_path).ok


@pytest.mark.parametrize("title", ["plain", "a: b", "it's # not", "'quoted'", "- dash", "yes", "7"])
def test_any_title_comes_back(tmp_path: Path, title: str) -> None:
    assert replayed(played([]), tmp_path, title).scenario.document.title == title


def test_a_session_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_STEPS", 5)
    with pytest.raises(TooLong, match="a scenario has at most 5"):
        saved(played([]).session, open_session, "long")


def test_a_walk_halts_where_something_happened_by_itself(tmp_path: Path) -> None:
    lab = played(["post_send A.qp0 opcode=SEND sg=A.mr0[0:8]", "step 2", "poll_cq A.cq0"])
    path = tmp_path / "saved.rdmalab.yaml"
    path.write_text(saved(lab.session, open_session, "walk"))
    steps = load(str(path), VOCABULARY).document.steps
    assert steps[0].note == "What walk did, word by word; a walk halts where time passed."
    (halt,) = [step for step in steps if step.name]
    assert halt.run == "step 2"
