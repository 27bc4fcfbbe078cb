"""Steps are played one by one; the first that fails is the last."""

import pytest

from rdmalab.lab import open_session
from rdmalab.scenario.result import StepOutcome
from rdmalab.scenario.runner import MAX_EVENTS, Runner
from tests.scenario.playing import PAIR, SEND, WRITE, failure_text, last, runner, scenario
from tests.scenario.stops import next_stop


def test_all_steps_pass() -> None:
    walk = runner(PAIR + WRITE + "  - run: until idle\n")
    assert [result.ok for result in walk.run()] == [True, True, True]
    assert walk.over
    assert walk.ok
    assert walk.next_step() is None
    assert walk.coming is None


def test_no_step_runs_after_a_failure() -> None:
    walk = runner(PAIR + "  - do: alloc_pd A.pd1\n    expect: [now == 1]\n  - alloc_pd A.pd2\n")
    walk.run()
    assert walk.position == 2
    assert walk.outcome is StepOutcome.FAILED
    assert walk.over


# --------------------------------------------------------------------------- verbs and errno
def test_a_verb_that_fails_fails_the_step() -> None:
    text = failure_text(PAIR + "  - modify_qp A.qp0 state=INIT\n")
    assert text.startswith("FAIL x.yaml:5  do\n  expected  modify_qp A.qp0 state=INIT succeeds\n")
    assert "\n  actual    EINVAL: " in text


def test_unless_it_must_fail_like_this() -> None:
    do = PAIR + "  - do: modify_qp A.qp0 state=INIT\n    errno: "
    assert last(f"{do}EINVAL\n").ok
    assert failure_text(f"{do}ENOMEM\n").startswith(
        "FAIL x.yaml:5  errno\n  expected  ENOMEM\n  actual    EINVAL: "
    )


def test_a_verb_that_must_fail_and_succeeds() -> None:
    text = failure_text("  - do: alloc_pd A.pd0\n    errno: EINVAL\n")
    assert text.splitlines()[1:] == ["  expected  EINVAL", "  actual    it succeeded"]


def test_repeat() -> None:
    do = f"{PAIR}  - do: post_recv B.qp0 sg=B.mr0[0:64]\n    repeat: "
    assert last(f"{do}8\n    expect: [B.qp0.rq.used == 8]\n").ok
    assert "ENOMEM" in failure_text(f"{do}9\n")


def test_repeat_with_errno_wants_it_every_time() -> None:
    do = "  - do: alloc_pd A.pd0\n    repeat: 2\n    errno: EINVAL\n"
    assert "it succeeded" in failure_text(do)


# --------------------------------------------------------------------------- files that are wrong
@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("  - post_recv A.qp9\n", "x.yaml:4:15: nothing is called A.qp9"),
        (f"{PAIR}  - post_recv A.cq0\n", "x.yaml:5:15: A.cq0 is a completion queue"),
        (f"{PAIR}  - alloc_pd A.pd0\n", "x.yaml:5:14: A.pd0 exists already"),
        ("  - alloc_pd C.pd0\n", "x.yaml:4:14: there is no node C"),
        ("  - run:\n    expect: [A.qp0.state == RTS]\n", "x.yaml:5:14: nothing is called A.qp0"),
        (f"{PAIR}  - run: until A.qp9.state == RTS\n", "x.yaml:5:16: nothing is called"),
        (f"{PAIR}  - fault: drop A->C\n", "x.yaml:5:"),
    ],
)
def test_error_of_an_unknown_name_has_its_place(steps: str, message: str) -> None:
    result = last(steps)
    assert result.outcome is StepOutcome.ERROR
    assert result.text("x.yaml").startswith(f"ERROR {message}")


def test_an_unknown_name_on_the_wire() -> None:
    wire = "  - run:\n    wire:\n      - A->B RDMA_WRITE_ONLY rkey="
    assert failure_text(f"{PAIR}{wire}B.mr7\n").startswith(
        "ERROR x.yaml:7:35: nothing is called B.mr7"
    )
    assert "has no key" in failure_text(f"{PAIR}{wire}B.cq0\n")
    gone = PAIR + "  - dereg_mr B.mr0\n" + wire + "B.mr0\n"
    assert failure_text(gone).startswith("ERROR x.yaml:8:9: this mr was destroyed")


# --------------------------------------------------------------------------- time
def test_a_journey_must_arrive() -> None:
    assert "idle: no packet, timer or program is pending" in failure_text(
        f"{PAIR}  - run: until now == 7\n"
    )
    late = failure_text(f"{PAIR}{SEND}  - run: until A.cq0.count == 1\n    within: 5us\n")
    assert late.splitlines()[1:3] == [
        "  expected  until A.cq0.count == 1 within 5 us",
        "  actual    time is up",
    ]


def test_within_bounds_a_run_until_idle_and_does_not_prolong_it() -> None:
    walk = runner(f"{PAIR}{WRITE}  - run:\n    within: 1ms\n")
    walk.run()
    assert walk.ok
    assert walk.session.world.now_ns < 10_000
    assert "time is up" in failure_text(f"{PAIR}{SEND}  - run:\n    within: 1ms\n")


def test_an_endless_lesson_stops_at_max_events() -> None:
    walk = runner(f"{PAIR}{SEND}  - run: until now == 1\n")
    limit = walk.session.max_events
    walk.run()
    assert "stopped at the limit" in walk.results[-1].text("x.yaml")
    assert walk.session.max_events == limit > MAX_EVENTS


def test_the_links_settings_are_a_command_of_the_journal() -> None:
    walk = runner("  - run: 1us\n", "link: {latency: 5us, rate: 25Gbps, mtu: 2048}\n")
    cable = walk.session.world.network.cable
    assert (cable.latency_ns, cable.rate_bps, cable.mtu) == (5_000, 25 * 10**9, 2048)
    assert walk.session.journal[0].invocation.name == "link"


def test_profiles_and_limits_of_the_nodes() -> None:
    text = "nodes:\n  A: {profile: rxe, max_qp: 3}\n  B: {max_cqe: 9}\n"
    walk = Runner(scenario("  - run: 1us\n", text), open_session, default="mlx5")
    a, b = (walk.session.world.nodes[name].profile for name in "AB")
    assert (a.name, a.caps.max_qp) == ("rxe", 3)
    assert (b.name, b.caps.max_cqe) == ("mlx5", 9)
    assert walk.replaced == ""


def test_a_profile_that_is_given_replaces_those_of_the_file() -> None:
    text = "nodes:\n  A: {profile: rxe, max_qp: 3}\n  B: {max_cqe: 9}\n"
    walk = Runner(scenario("  - run: 1us\n", text), open_session, profile="mlx5")
    a, b = (walk.session.world.nodes[name].profile for name in "AB")
    assert (a.name, a.caps.max_qp) == ("mlx5", 3)
    assert (b.name, b.caps.max_cqe) == ("mlx5", 9)
    assert walk.replaced.startswith("profile mlx5 replaces the profiles in ")
    assert walk.replaced.endswith(" (A: rxe)")
    same = Runner(scenario("  - run: 1us\n", text), open_session, profile="rxe")
    assert same.replaced == ""


# --------------------------------------------------------------------------- the wire
SENT = PAIR + "  - post_recv B.qp0 sg=B.mr0[0:64]\n" + SEND + "  - run:\n    wire:\n"
FIRST = "      - A->B SEND_ONLY psn=0\n"
SECOND = "      - B->A ACKNOWLEDGE psn=0\n"
SKIP = "      - skip\n"


@pytest.mark.parametrize(
    "lines",
    [
        FIRST + SECOND, SKIP, SKIP + SECOND, FIRST + SKIP, FIRST + SKIP + SECOND,
        SKIP + FIRST + SKIP + SECOND + SKIP,
        "      - A->B SEND_ONLY len=64 ack_req=1 solicited=0 dest_qp=B.qp0 qp=A.qp0\n" + SECOND,
        FIRST + "      - B->A ACKNOWLEDGE syndrome=ACK msn=1\n",
    ],
)  # fmt: skip
def test_the_wire_fits(lines: str) -> None:
    assert failure_text(SENT + lines) == ""


@pytest.mark.parametrize(
    ("lines", "number", "expected", "actual"),
    [
        (SECOND, 1, "B->A ACKNOWLEDGE psn=0", "A->B SEND_ONLY psn=0"),
        (FIRST, 2, "no more packets", "B->A ACKNOWLEDGE psn=0 syndrome=ACK"),
        (FIRST + SECOND + FIRST, 3, "A->B SEND_ONLY psn=0", "no more packets were sent"),
        (SKIP + FIRST, 3, "no more packets", "B->A ACKNOWLEDGE"),
        ("      - A->B SEND_ONLY psn=0 lost\n" + SECOND, 1, "A->B SEND_ONLY psn=0 lost", "A->B"),
        ("      - A->B SEND_ONLY psn=0 dropped\n" + SKIP, 1, "A->B SEND_ONLY psn=0 dropped", "A"),
        ("      - A->B SEND_ONLY imm=0\n" + SKIP, 1, "A->B SEND_ONLY imm=0", "A->B SEND_ONLY psn"),
    ],
)
def test_the_wire_does_not_fit(lines: str, number: int, expected: str, actual: str) -> None:
    rows = failure_text(SENT + lines).splitlines()
    assert rows[0] == f"FAIL x.yaml:7  wire line {number}"
    assert rows[1] == f"  expected  {expected}"
    assert rows[2].startswith(f"  actual    {actual}")
    assert "  last on the wire:" in rows


def test_no_packets() -> None:
    assert failure_text(PAIR + "  - run:\n    wire: []\n") == ""
    assert "expected  no more packets" in failure_text(SENT.replace("wire:\n", "wire: []\n"))


def test_a_lost_packet_must_be_called_lost() -> None:
    drop = PAIR + "  - fault: drop A->B\n" + WRITE + "  - run: step packet\n    wire:\n      - "
    assert failure_text(f"{drop}A->B RDMA_WRITE_ONLY psn=0 lost\n") == ""
    assert "actual    A->B RDMA_WRITE_ONLY psn=0 lost" in failure_text(
        f"{drop}A->B RDMA_WRITE_ONLY psn=0\n"
    )


# --------------------------------------------------------------------------- walking
WALK = """\
  - alloc_pd A.pd0
  - note: First words.
  - alloc_pd A.pd1
  - do: alloc_pd A.pd2
    name: A headline
  - alloc_pd A.pd3
"""


def test_a_walk_halts_before_notes_and_headlines() -> None:
    walk = runner(WALK)
    assert len(next_stop(walk)) == 1
    assert len(next_stop(walk)) == 2
    assert walk.coming is not None
    assert walk.coming.text == "A headline"
    assert walk.coming.is_stop
    assert len(next_stop(walk)) == 2
    assert next_stop(walk) == []


def test_the_caller_of_a_walk_may_step_its_runs() -> None:
    walk = runner(PAIR + WRITE + "  - run: until idle\n")
    walk.next_step()
    walk.next_step()
    replies = walk.replies()
    travel = next(replies).travel
    assert travel is not None
    while not travel.go(1):
        pass
    assert list(replies) == []
    assert walk.ok
    assert walk.over
    assert list(walk.replies()) == []


def test_two_runs_are_alike() -> None:
    steps = PAIR + SEND + "  - run: 5ms\n"
    first, second = runner(steps), runner(steps)
    first.run()
    second.run()
    assert list(first.session.world.trace.records) == list(second.session.world.trace.records)


# --------------------------------------------------------------------------- going back
UNSENT = PAIR + "  - post_recv B.qp0 sg=B.mr0[0:64]\n  - checkpoint: unsent\n"
DELIVERED = f"{UNSENT}{SEND}  - checkpoint: before\n  - run:\n"
NOTHING = "    wire: []\n"


@pytest.mark.parametrize(
    "there",
    [
        "run: back 2", "run: back packet", "run: rewind", "run: goto 1us", "run: goto @before",
        "do: back 2", "do: goto @before", "do: rewind 1us", "do: goto start; goto end",
    ],
)  # fmt: skip
def test_who_goes_back_has_sent_nothing(there: str) -> None:
    assert failure_text(f"{DELIVERED}  - {there}\n{NOTHING}") == ""
    text = failure_text(f"{DELIVERED}  - {there}\n    wire:\n{FIRST}")
    assert "actual    no more packets were sent" in text


def test_the_next_step_counts_from_there() -> None:
    back = f"{DELIVERED}  - run: back 2 packet\n  - run: step packet\n    wire:\n"
    assert failure_text(back + SECOND) == ""
    assert "actual    B->A ACKNOWLEDGE" in failure_text(back + FIRST)
    before = f"{DELIVERED}  - run: goto start\n  - run:\n    wire:\n"
    assert failure_text(before + FIRST + SECOND) == ""


def test_packets_after_goto_belong_to_the_step() -> None:
    steps = f"{DELIVERED}  - do: goto @before; step packet\n    wire:\n"
    assert failure_text(steps + FIRST) == ""
    assert "expected  no more packets" in failure_text(steps.replace("step packet", "run") + FIRST)


OTHER = "  - run: goto @unsent\n" + WRITE + "  - run:\n    wire:\n"
WROTE = "      - A->B RDMA_WRITE_ONLY psn=0\n"


def test_a_branch_goes_on_and_another_one_is_gone_to() -> None:
    branch = DELIVERED + OTHER + WROTE + SECOND
    assert failure_text(branch) == ""
    switch = f"{branch}  - do: switch main\n{NOTHING}    expect: [B.cq0.count == 1]\n"
    assert failure_text(switch) == ""
    assert (
        failure_text(f"{switch}  - do: switch branch-1\n{NOTHING}    expect: [B.cq0.count == 0]\n")
        == ""
    )
    walk = runner(switch)
    assert [result.branch for result in walk.run()[-4:]] == ["main", "branch-1", "branch-1", "main"]


def test_who_looks_back_and_returns_has_still_sent_what_he_sent() -> None:
    steps = SENT.replace("- run:\n", "- do: run; trace A.cq0.count; diff ev3\n")
    assert failure_text(steps + FIRST + SECOND) == ""


def test_the_tail_of_a_failure_ends_where_we_are() -> None:
    result = last(f"{DELIVERED}  - run: back 2 packet\n    expect: [now == 5]\n")
    (row,) = result.tail
    assert row.endswith("A->B SEND_ONLY psn=0 64 B ack_req  (in flight, arrives 1.110 us)")
    other = last(f"{DELIVERED}{OTHER}{WROTE}")
    assert [row.split()[3] for row in other.tail] == ["RDMA_WRITE_ONLY", "ACK"]


@pytest.mark.parametrize(
    ("step", "actual"),
    [
        ("run: back 999", "this is the beginning: there is no earlier event"),
        ("run: back 9 cqe", "this is the beginning: there is no earlier event"),
        ("do: goto 999", "there is no event 999 yet"),
        ("do: break A.cq0.count == 7; rewind", "this is the beginning: there is no earlier event"),
        ("do: goto start; until now == 5us", "this was the newest event"),
    ],
)
def test_a_wall_is_no_arrival(step: str, actual: str) -> None:
    text = failure_text(f"{DELIVERED}  - {step}\n")
    assert "\n  actual    " + actual in text


def test_what_was_found_by_running_backward() -> None:
    found = "  - watch B.mr0[0:4]\n  - run: rewind\n    expect: [wire.count() == 1]\n"
    wrote = DELIVERED.replace(SEND, '  - write A.mr0[0:4] "ping"\n' + SEND)
    assert failure_text(wrote + found) == ""


def test_going_back_as_often_as_it_says() -> None:
    twice = f"{DELIVERED}  - run: back packet\n    repeat: 2\n    expect: [wire.count() == "
    assert failure_text(f"{twice}1]\n") == ""
    assert failure_text(f"{twice}2]\n".replace("repeat: 2", "repeat: 1")) == ""


def test_time_has_a_limit_in_the_past_too() -> None:
    past = f"{DELIVERED}  - run: goto @before\n  - run: until A.cq0.count == 1\n    within: "
    assert failure_text(f"{past}5us\n    wire:\n{FIRST}{SECOND}") == ""
    assert "\n  actual    time is up" in failure_text(f"{past}1us\n")
    never = past.replace("count == 1", "count == 2")
    assert "\n  actual    this was the newest event: later ones are new" in failure_text(
        f"{never}1ms\n"
    )


def test_an_errno_in_the_past() -> None:
    gone = f"{DELIVERED}  - run: goto @before\n  - do: modify_qp A.qp0 state=INIT\n    errno: "
    assert failure_text(f"{gone}EINVAL\n{NOTHING}") == ""
    assert "actual    EINVAL: " in failure_text(f"{gone}ENOMEM\n")
    assert runner(f"{gone}EINVAL\n").run()[-1].branch == "branch-1"


def test_unknown_checkpoint_or_branch_has_its_place() -> None:
    assert failure_text(f"{PAIR}  - run: goto @x\n").startswith(
        "ERROR x.yaml:5:15: no checkpoint is"
    )
    assert failure_text(f"{PAIR}  - do: switch b\n").startswith(
        "ERROR x.yaml:5:16: no branch is called b"
    )


# --------------------------------------------------------------------------- the time of a call
def test_before_a_call_time_runs_on_to_its_time_with_what_is_due() -> None:
    walk = runner(f"{PAIR}{WRITE}  - do: poll_cq A.cq0\n    at: 1ms\n    expect: [now == 1ms]\n")
    assert walk.run()[-1].ok
    world = walk.session.world
    assert (world.now_ns, world.agenda.next_ns()) == (1_000_000, None)
    assert walk.session.journal[-1].event == world.event


def test_events_of_that_instant_are_before_the_call() -> None:
    posted = runner(PAIR + WRITE)
    posted.run()
    event, due_ns = posted.session.world.event, posted.session.world.agenda.next_ns()
    assert due_ns is not None
    for at_ns, before in ((due_ns - 1, 0), (due_ns, 1)):
        walk = runner(f"{PAIR}{WRITE}  - do: alloc_pd A.pd5\n    at: {at_ns}ns\n")
        walk.run()
        assert walk.session.journal[-1].event == event + before + 1


def test_a_time_that_is_over_fails_with_both_times() -> None:
    text = failure_text("  - run: 9us\n  - do: alloc_pd A.pd0\n    at: 3us\n")
    assert text.startswith("FAIL x.yaml:5  at\n  expected  3.000 us\n")
    assert "  actual    the steps above end at 9.000 us" in text


def test_a_time_that_events_do_not_reach_fails() -> None:
    endless = scenario(
        "  - use rc_pair rnr_retry=7 min_rnr_timer=1\n"
        "  - post_send A.qp0 opcode=SEND sg=A.mr0[0:8]\n  - do: alloc_pd A.pd9\n    at: 10s\n"
    )
    walk = Runner(endless, open_session, max_events=500)
    walk.run()
    assert "stopped at the limit of 500 events" in walk.results[-1].text("x.yaml")
