"""Going forward: how far, why it ended, and that the way there does not matter."""

import pytest

from rdmalab.lab import Lab
from rdmalab.session.run_control import DAY_NS, Idle, RunControl
from rdmalab.session.session import RunBounds
from rdmalab.spec.records import Kind, event_of, kind_of
from tests.labs import (
    BUSY,
    RECV,
    SEND,
    everything,
    fingerprint,
    kinds,
    lab_of,
    misread,
    setting_out,
    trip,
    well,
)


def busy() -> Lab:
    return lab_of(*BUSY)


def test_run_is_step_times_n() -> None:
    run, stepped = busy(), busy()
    events = trip(run, "run").events
    assert events > 25
    for _ in range(events):
        trip(stepped, "step")
    assert everything(stepped) == everything(run)
    assert trip(stepped, "step").over == "idle: no packet, timer or program is pending"
    assert everything(stepped) == everything(run)


@pytest.mark.parametrize("slices", [1, 3, 7])
def test_slices_do_not_matter(slices: int) -> None:
    whole, cut = busy(), busy()
    trip(whole, "run")
    travel = setting_out(cut, "run")
    while not travel.go(slices):
        pass
    assert everything(cut) == everything(whole)
    assert travel.over == "idle: no packet, timer or program is pending"
    assert travel.met


def test_a_journey_that_was_stopped_leaves_a_whole_world() -> None:
    whole, cut = busy(), busy()
    trip(whole, "run")
    travel = setting_out(cut, "run")
    travel.go(5)
    travel.stop()
    assert (travel.over, travel.met, travel.events) == ("stopped", False, 5)
    place = fingerprint(cut)
    assert travel.go()
    assert fingerprint(cut) == place
    trip(cut, "run")
    assert everything(cut) == everything(whole)


@pytest.mark.parametrize("line", ["until A.cq0.count == 2", "step 7 packet", "run 5us"])
def test_any_halt_on_the_way_changes_nothing(line: str) -> None:
    whole, halting = busy(), busy()
    trip(whole, "run")
    trip(halting, line)
    trip(halting, "run")
    assert fingerprint(halting) == fingerprint(whole)


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("packet", Kind.PACKET_SENT),
        ("wr", Kind.WQE_COMPLETED),
        ("cqe", Kind.CQE_ADDED),
        ("timer", Kind.TIMER_FIRED),
    ],
)
def test_a_step_of_a_unit_ends_at_its_record(unit: str, kind: Kind) -> None:
    lab = busy()
    halts = 0
    while True:
        first = len(lab.session.world.trace.records)
        travel = trip(lab, f"step {unit}")
        during = lab.session.world.trace.records[first:]
        events = [event_of(r) for r in during if kind_of(r) is kind]
        if not travel.met:
            assert events == []
            break
        assert set(events) == {lab.session.world.event}
        halts += 1
    assert halts > 0
    assert lab.look("idle")


def test_a_step_of_state_ends_when_a_queue_pair_moves() -> None:
    lab = lab_of("reset B.qp0", SEND, pair="use rc_pair retry_cnt=0")
    assert trip(lab, "step state").met
    assert lab.look("A.qp0.state == ERR")
    assert Kind.STATE_CHANGED in kinds(lab, len(kinds(lab)) - 12)


def test_several_steps_at_once() -> None:
    one, three = busy(), busy()
    for _ in range(3):
        trip(one, "step cqe")
    assert trip(three, "step 3 cqe").met
    assert fingerprint(one) == fingerprint(three)


@pytest.mark.parametrize("line", ["step 0", "step -2", "run -5us", "until idle within -1ns"])
def test_time_goes_forward_only(line: str) -> None:
    lab = busy()
    before = everything(lab)
    assert "out of range" in misread(lab, line).message
    assert everything(lab) == before


# --------------------------------------------------------------------------- until
def test_until_a_condition_is_true() -> None:
    lab = lab_of(RECV, SEND)
    travel = trip(lab, "until A.cq0.count == 1 within 2ms")
    assert (travel.over, travel.met) == ("there", True)
    assert kinds(lab)[-1] is not Kind.CALLED
    assert lab.look("A.cq0.count") == 1


def test_until_halts_at_the_first_event_that_makes_it_so() -> None:
    lab = lab_of(RECV, SEND)
    trip(lab, "until wire.count(opcode=SEND_ONLY) == 1")
    assert lab.session.world.now_ns == 100
    assert lab.look("wire.count(opcode=ACKNOWLEDGE)") == 0


def test_until_a_condition_that_is_true_already() -> None:
    lab = lab_of(RECV, SEND, "run")
    before = everything(lab)
    travel = trip(lab, "until A.cq0.count == 1 within 2ms")
    assert (travel.over, travel.met, travel.events) == ("already true", True, 0)
    assert everything(lab) == before


def test_until_the_time_is_up() -> None:
    lab = lab_of(SEND, "run 1us")
    travel = trip(lab, "until B.cq0.count == 1 within 50us")
    assert (travel.over, travel.met) == ("time is up", False)
    assert lab.session.world.now_ns == 51_000


def test_until_nothing_more_will_happen() -> None:
    lab = lab_of(RECV, SEND)
    travel = trip(lab, "until A.cq0.count == 2 within 1s")
    assert (travel.over, travel.met) == ("idle: no packet, timer or program is pending", False)
    assert lab.session.world.now_ns < 10_000


def test_until_idle() -> None:
    lab = busy()
    assert trip(lab, "until idle").met
    assert lab.session.world.agenda.next_ns() is None


# --------------------------------------------------------------------------- the clock
@pytest.mark.parametrize("duration_ns", [0, 1, 99, 100, 101, 1_500, 100_000])
def test_a_run_for_a_while_advances_the_clock_exactly(duration_ns: int) -> None:
    lab = busy()
    first = len(kinds(lab))
    assert trip(lab, f"run {duration_ns}ns").over == "time is up"
    assert lab.session.world.now_ns == duration_ns
    records = lab.session.world.trace.records[first:]
    assert all(record[1] <= duration_ns for record in records)
    next_ns = lab.session.world.agenda.next_ns()
    assert next_ns is None or next_ns > duration_ns


def test_an_idle_world_grows_older_too() -> None:
    lab = lab_of("run 3us", "run 4us")
    assert lab.session.world.now_ns == 7_000


def test_idle_means_the_last_event_and_not_a_stale_timer() -> None:
    lab = lab_of(RECV, SEND, "run")
    last = lab.session.world.trace.records[-1]
    assert lab.session.world.now_ns == last[1] < 10_000


# --------------------------------------------------------------------------- never for ever
SEND_1 = SEND.replace("qp0", "qp1").replace("mr0", "mr1")
ENDLESS = "only a call changes that"


def test_a_run_for_a_time_is_not_ended_by_retries_without_limit() -> None:
    lab = lab_of(SEND)  # no receive, and rnr_retry=7
    lab.session.max_events = 5_000
    travel = trip(lab, "run 10000s")
    assert travel.over.startswith(
        "stopped at the limit of 5,000 events; packets may repeat without limit"
    )
    assert not travel.met
    assert travel.events == 6_000  # whole slices of 2000
    assert trip(lab, "step").met


@pytest.mark.parametrize("line", ["run", "until idle"])
def test_a_run_ends_where_only_a_call_ends_the_retries(line: str) -> None:
    lab = lab_of(SEND)
    travel = trip(lab, line)
    assert travel.over == f"stopped: A.qp0 retries without limit, and {ENDLESS}"
    assert travel.met == (line == "run")
    assert 100 <= travel.events < 120
    lab.do(RECV)
    assert trip(lab, "run").over.startswith("idle")


@pytest.mark.parametrize("slices", [1, 7, 99, 100, 101, 5_000])
@pytest.mark.parametrize("more", [[], [SEND_1]], ids=["one pair", "two pairs"])
def test_it_ends_at_the_same_event_whatever_the_slices(slices: int, more: list[str]) -> None:
    lab = lab_of("use rc_pair min_rnr_timer=1", SEND, *more)
    whole = lab_of("use rc_pair min_rnr_timer=1", SEND, *more)
    travel, end = setting_out(lab, "run"), trip(whole, "run")
    while not travel.go(slices):
        assert lab.session.world.event <= whole.session.world.event
    assert (travel.over, travel.events) == (end.over, end.events)


def test_two_pairs_that_retry_are_both_named() -> None:
    lab = lab_of("use rc_pair", SEND, SEND_1)
    assert trip(lab, "run").over == f"stopped: A.qp0, A.qp1 retry without limit, and {ENDLESS}"


def test_a_run_goes_on_while_a_longer_wait_may_still_end_well() -> None:
    """A.qp0 waits 655 ms, and has its receive by then; meanwhile A.qp1 retries without limit."""
    lab = lab_of(pair="use rc_pair min_rnr_timer=0")
    lab.do("use rc_pair min_rnr_timer=20")
    for line in (SEND, SEND_1, "run 20us", RECV):
        lab.do(line)
    travel = trip(lab, "run")
    assert travel.over == f"stopped: A.qp1 retries without limit, and {ENDLESS}"
    assert lab.session.world.now_ns > 655_000_000
    assert trip(lab, "until A.cq0.count == 1").over == "already true"


def test_a_run_goes_on_while_a_program_posts_the_receives() -> None:
    """Each request comes before its receive, which its program posts while the sender waits."""
    lab = lab_of(
        "program B.rx lines={ loop; sleep 100us; post_recv B.qp0 sg=B.mr0[0:64];"
        " wait B.cq0.count > 0; poll_cq B.cq0; end }",
        "program A.tx lines={ loop 40; post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED;"
        " wait A.cq0.count > 0; poll_cq A.cq0; end }",
    )
    assert trip(lab, "run").over.startswith("idle")
    assert trip(lab, "until A.tx.state == DONE").over == "already true"


@pytest.mark.parametrize(
    ("lines", "over"),
    [
        (["use rc_pair rnr_retry=6", SEND], "idle"),  # a limit ends it
        (["use rc_pair", "fault drop A->B every=7", SEND], "idle"),  # losses use up retry_cnt
        (
            ["use rc_pair", "program B.x lines={ sleep 200ms; post_recv qp0 sg=mr0[0:64] }", SEND],
            "idle",
        ),
    ],
)
def test_what_can_still_change_is_waited_for(lines: list[str], over: str) -> None:
    lab = lab_of(*lines[1:], pair=lines[0])
    lab.session.max_events = 5_000
    assert trip(lab, "run").over.startswith(over)


def bounded(*lines: str, events: int = 1_000, at_ns: int = 10**9) -> Lab:
    """A lab after these lines, in which every run ends so many events later, and at this time."""
    lab = lab_of(*lines)
    event = lab.session.world.event + events
    lab.session.bounds = RunBounds(event, at_ns, ("no more events", "no more time"))
    return lab


def test_runs_end_at_the_bounds_of_the_session() -> None:
    lab = bounded(SEND, events=50)
    last = lab.session.world.event + 50
    travel = trip(lab, "run")
    assert (travel.over, travel.events, travel.at_limit) == ("no more events", 50, True)
    assert lab.session.world.event == last
    again = trip(lab, "step")
    assert (again.over, again.events, again.at_limit) == ("no more events", 0, True)


@pytest.mark.parametrize(
    ("line", "over", "now_ns"),
    [
        ("run 2ms", "no more time", 1_000_000),
        ("run 500us", "time is up", 500_000),
        ("run", "no more time", 1_000_000),  # the ack timer is far behind the bounds
        ("until A.cq0.count == 1 within 3ms", "no more time", 1_000_000),
        ("until A.cq0.count == 1 within 20us", "time is up", 20_000),
        ("step packet", "no more time", 1_000_000),
    ],
)
def test_runs_end_at_the_time_of_the_bounds(line: str, over: str, now_ns: int) -> None:
    lab = bounded("fault drop A->B", SEND, "step packet", at_ns=1_000_000)
    begun_ns = lab.session.world.now_ns
    assert begun_ns < 5_000
    assert trip(lab, line).over == over
    assert lab.session.world.now_ns - now_ns in (0, begun_ns)


def test_what_lies_more_than_a_day_away_is_given_up_and_the_next_run_goes_there() -> None:
    lab = lab_of(RECV, "link latency=90000s", SEND, pair="use rc_pair timeout=31 retry_cnt=0")
    travel = trip(lab, "run")
    assert travel.over == "stopped: the next event is more than a day of virtual time away"
    assert not travel.met
    last = lab.session.world.trace.records[-1]
    assert lab.session.world.now_ns == last[1] < DAY_NS
    assert not lab.look("idle")
    assert trip(lab, "run").events == 2  # it arrives, and is answered
    assert lab.session.world.now_ns > DAY_NS


def test_the_longest_retries_end_within_a_day() -> None:
    """timeout=31 is 2.4 hours a try, and retry_cnt=7 makes eight tries."""
    lab = lab_of("link down", SEND, pair="use rc_pair timeout=31")
    assert trip(lab, "run").over == "idle: no packet, timer or program is pending"
    assert lab.session.world.now_ns == 8 * (4_096 << 31) + 100


def test_a_goal_is_where_a_journey_ends_and_nothing_moves_before() -> None:
    lab = busy()
    before = everything(lab)
    travel = RunControl(lab.session, Idle())
    assert everything(lab) == before
    travel.finish()
    assert travel.met


def test_a_question_that_loses_its_object_is_not_understood() -> None:
    lab = lab_of()
    well(lab, "destroy_qp A.qp0")
    assert "destroyed" in misread(lab, "until A.qp0.state == ERR").message


@pytest.mark.parametrize("fault", ["drop A->B nth=1", "duplicate B->A nth=1", "drop A->B count=1"])
def test_a_fault_that_can_match_nothing_more_hides_no_endless_retry(fault: str) -> None:
    lab = lab_of(f"fault {fault}", SEND)
    assert "retries without limit" in trip(lab, "run").over
