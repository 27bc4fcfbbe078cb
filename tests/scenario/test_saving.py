"""What is saved of a session, played again, makes the same world: record by record."""

import dataclasses
import gc
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab import Lab
from rdmalab.lab import open_session
from rdmalab.scenario import saving
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import Unsavable, saved
from rdmalab.spec.profiles import PROFILES
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.each import examples
from tests.machine.sessions import random_lab

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
    'write A.mr0[0:9] "${a} $${b"',
    "program A.tx lines={loop 2; write mr0[0:9] \"a: b; c}\"; poll_cq cq0; end # both\n sleep 1us}",
    "program B.rx pace=30ns lines={loop 5; poll_cq cq0; end; wait cq0.total > 1; poll_cq cq9}",
    "stop A.tx",
    "link mtu=256",
    "link rate=10Gbps latency=2us",
    "port A DOWN",
    "port A ACTIVE",
    "gid add A 10.0.0.7",
    "pkey set B 0 0x8001",
)  # fmt: skip


def replayed(lab: Lab, folder: Path, title: str = "again") -> Runner:
    path = folder / "saved.rdmalab.yaml"
    path.write_text(saved(lab.session, title))
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    return runner


def played(lines: list[str], profile: str = "strict") -> Lab:
    lab = Lab(profile=profile)
    lab.session.max_events = 3_000  # of each run: a SEND without a receive is repeated for ever
    for line in ("use rc_pair retry_cnt=1", *lines):
        lab.do(line)
    return lab


@pytest.mark.parametrize("node_mtu", [{}, {"active_mtu": 1024}])
def test_the_head_has_the_devices_of_the_beginning(
    tmp_path: Path, node_mtu: dict[str, int]
) -> None:
    """The lines before `link mtu=256` use the MTU of the beginning, here 4096 or 1024."""
    caps = dataclasses.replace(PROFILES["strict"].caps, **node_mtu)
    lab = Lab(profile=dataclasses.replace(PROFILES["strict"], caps=caps))
    for line in ("use rc_pair", "link mtu=256 rate=10Gbps", "gid add A 10.0.0.7", *LINES[:2]):
        lab.do(line)
    lab.run()
    runner = replayed(lab, tmp_path)
    assert runner.ok, runner.results[-1].text("saved")
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)
    more = ", active_mtu: 1024" if node_mtu else ""
    assert f"  A: {{profile: strict{more}}}\n" in saved(lab.session, "again")


@pytest.mark.parametrize(
    "lines", [("port {} link_layer=InfiniBand", "use rc_pair"), ("use rc_pair", "link mtu=512")]
)
def test_the_words_of_an_administrator_are_steps_too(tmp_path: Path, lines: list[str]) -> None:
    lab = Lab()
    for line in lines:
        for node in "AB" if "{}" in line else "A":
            lab.do(line.format(node))
    lab.run()
    runner = replayed(lab, tmp_path)
    assert runner.ok, runner.results[-1].text("saved")
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)


@settings(max_examples=examples(60), derandomize=True)
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
    text = saved(lab.session, "refusals")
    assert "  - do: modify_qp A.qp0 qp_state=INIT\n    errno: EINVAL\n" in text
    assert "    errno: EBUSY\n" in text
    assert replayed(lab, tmp_path).ok


@pytest.mark.parametrize(
    "title",
    [
        "plain",
        "a: b",
        "it's # not",
        "'quoted'",
        "- dash",
        "yes",
        "7",
        "a\nb",
        "\x07\u2028\\",
        "é😀 \t",
    ],
)
def test_any_title_comes_back(tmp_path: Path, title: str) -> None:
    assert replayed(played([]), tmp_path, title).scenario.document.title == title


def test_a_session_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_STEPS", 5)
    with pytest.raises(Unsavable, match="a scenario has at most 5"):
        saved(played([]).session, "long")


def test_a_saved_walk_halts_after_events_without_a_command(tmp_path: Path) -> None:
    lab = played(["post_send A.qp0 opcode=SEND sg=A.mr0[0:8]", "step 2", "poll_cq A.cq0"])
    path = tmp_path / "saved.rdmalab.yaml"
    path.write_text(saved(lab.session, "walk"))
    steps = load(str(path), VOCABULARY).document.steps
    assert steps[0].note == "The commands of walk, in order. Write a note before each run."
    (halt,) = [step for step in steps if step.name]
    assert halt.run == "step 2"


def test_a_run_to_the_end_is_one_also_after_a_change_above_it(tmp_path: Path) -> None:
    send = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    lab = played(["post_recv B.qp0 sg=B.mr0[0:4096]", send, "run", "poll_cq A.cq0", "run 5us"])
    text = saved(lab.session, "walk")
    assert "  - run: until idle\n" in text
    assert digest(replayed(lab, tmp_path).session.world.trace) == digest(lab.session.world.trace)
    path = tmp_path / "longer.rdmalab.yaml"
    path.write_text(text.replace("sg=A.mr0[0:8]", "sg=A.mr0[0:4096]"))
    longer = Runner(load(str(path), VOCABULARY), open_session)
    longer.run()
    assert longer.ok
    assert longer.session.world.agenda.next_ns() is None


def test_a_run_that_never_ends_is_cut_in_journeys_that_a_runner_makes(tmp_path: Path) -> None:
    lab = Lab()
    lab.do("use rc_pair rnr_retry=7 min_rnr_timer=1")
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    lab.do("step 25000")
    runner = replayed(lab, tmp_path)
    assert runner.ok
    assert [s.step.run for s in runner.scenario.steps if s.step.run] == [
        "step 10000", "step 10000", "step 5000",
    ]  # fmt: skip
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)


def test_the_limits_of_a_lesson_are_saved_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lesson.rdmalab.yaml"
    path.write_text(
        "rdmalab: 1\ntitle: small\nseed: 9\nlink: {latency: 3us, mtu: 1024}\n"
        "nodes:\n  A: {profile: rxe, max_qp_wr: 4}\n  B: {max_mtu: 1024}\n"
        "steps:\n  - alloc_pd A.pd0\n  - query_device A\n  - query_port B\n"
    )
    first = Runner(load(str(path), VOCABULARY), open_session)
    first.run()
    again = tmp_path / "again.rdmalab.yaml"
    again.write_text(saved(first.session, "again"))
    second = Runner(load(str(again), VOCABULARY), open_session)
    second.run()
    assert second.session.seed == 9
    devices = [[h.profile for h in r.session.world.nodes.values()] for r in (first, second)]
    assert devices[0] == devices[1]
    assert digest(first.session.world.trace) == digest(second.session.world.trace)


def test_a_device_that_no_scenario_can_name_is_refused() -> None:
    own = dataclasses.replace(PROFILES["strict"], timer_tick_ns=1)
    with pytest.raises(Unsavable, match="a scenario cannot name its device strict"):
        saved(Lab(nodes={"A": own, "B": own}).session, "own")


def test_a_session_of_too_many_bytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_OCTETS", 500)
    with pytest.raises(Unsavable, match="bytes; a scenario has at most 500"):
        saved(played([]).session, "long")


def test_what_was_typed_short_is_saved_short() -> None:
    lab = played(["post_send qp0 opcode=RDMA_WRITE sg=mr0[0:5],mr0[8:9] remote=B.mr0[100]"])
    line = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5],A.mr0[8:9] remote=B.mr0[100]"
    assert f"  - {line}\n" in saved(lab.session, "short")


def test_in_the_past_the_whole_branch_is_saved(tmp_path: Path) -> None:
    """Nothing that was done is lost by looking back."""
    send = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"
    lab = played([send, "step 3", "poll_cq A.cq0", "run 5us"])
    answer, end = saved(lab.session, "past"), digest(lab.session.world.trace)
    history = lab.session.history
    history.seek(history.place_after(14))
    assert lab.session.world.event == 14
    assert saved(lab.session, "past") == answer
    assert digest(replayed(lab, tmp_path).session.world.trace) == end


@settings(max_examples=examples(60))
@given(st.randoms(use_true_random=True), st.sampled_from(("strict", "rxe", "mlx5")))
def test_any_session_is_saved(
    tmp_path_factory: pytest.TempPathFactory, chance: Random, profile: str
) -> None:
    lab = random_lab(chance, profile)
    runner = replayed(lab, tmp_path_factory.mktemp("saved"))
    assert runner.ok, runner.results[-1].text("saved")
    again, before = runner.session.world, lab.session.world
    assert digest(again.trace) == digest(before.trace)
    assert (again.now_ns, again.event) == (before.now_ns, before.event)


def test_the_session_that_is_played_again_is_free_at_once() -> None:
    """Not when the collector looks for it: that may be never."""
    octets = 8 << 20
    region = f"reg_mr B.mr9 pd=B.pd0 length={octets} access=LOCAL_WRITE"
    lab = played([region, f"fill B.mr9[0:{octets}] 7"])
    assert lab.look(f"B.mr9[{octets - 1}]") == 7
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        saved(lab.session, "once")
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(3):
            saved(lab.session, "again")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < octets / 8
