"""Programs: each line an event, blocked where C blocks, woken by what they wait for, repeatable."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.session import history, replayed_records
from rdmalab.session.branch import TimePoint
from rdmalab.spec.programs import PACE_NS, ProgramState
from rdmalab.spec.records import A, Field, Kind, kind_of
from rdmalab.world.programs import Program, programs_of, running
from tests.each import examples
from tests.labs import (
    RECV,
    SEND,
    everything,
    fingerprint,
    lab_of,
    played_again,
    seen,
    still,
    trip,
    well,
)

_PAIR = "use rc_pair channel=1"


def lab_with(*programs: str, before: tuple[str, ...] = ()) -> Lab:
    """A pair with a channel on each side, and these programs: `A.tx poll A.cq0; stop`."""
    lab = lab_of(*before, pair=_PAIR)
    for each in programs:
        name, _, lines = each.partition(" ")
        well(lab, f"program {name} lines={{{lines}}}")
    return lab


def at(lab: Lab, name: str) -> Program:
    thing = lab.session.names.find(name)
    assert thing is not None
    program = lab.session.world.find(thing, Program)
    assert isinstance(program, Program)
    return program


def ran(lab: Lab) -> list[tuple[int, str]]:
    """(at_ns, line) of every line that was carried out."""
    return [(at_ns, text) for at_ns, _, text in seen(lab, Kind.PROGRAM_RAN)]


def stood(lab: Lab, name: str) -> tuple[str, int, int, str]:
    """State, line, since when, and why."""
    program = at(lab, name)
    return program.state.name, program.line.number, program.since_ns, program.why


# --------------------------------------------------------------------------- time
def test_each_line_is_an_event_and_takes_its_pace() -> None:
    lab = lab_with("A.tx poll_cq A.cq0; sleep 1us; poll_cq A.cq0; stop")
    first = lab.session.world.event
    assert trip(lab, "run").events == 4
    assert ran(lab) == [
        (0, "poll_cq A.cq0"), (PACE_NS, "sleep 1us"), (1100, "poll_cq A.cq0"), (1200, "stop"),
    ]  # fmt: skip
    assert lab.session.world.event == first + 4
    assert stood(lab, "A.tx") == ("DONE", 4, 1200, "")


def test_the_adapters_know_what_time_it_is() -> None:
    lab = lab_with(f"A.tx sleep 5us; {SEND}")
    lab.run("now >= 6us")
    assert [when for when, _, _ in seen(lab, Kind.PACKET_SENT, "A")][:1] == [5_100]


def test_a_program_begins_when_it_is_started() -> None:
    lab = lab_of(RECV, SEND, "run")
    now_ns = lab.session.world.now_ns
    well(lab, "program A.tx lines={sleep 1us}")
    assert (now_ns > 0, at(lab, "A.tx").since_ns) == (True, now_ns)
    lab.run()
    assert ran(lab) == [(now_ns, "sleep 1us")]


def test_the_pace_is_chosen() -> None:
    lab = lab_of()
    well(lab, "program A.tx pace=7ns lines={poll_cq A.cq0; poll_cq A.cq0}")
    lab.run()
    assert ran(lab) == [(0, "poll_cq A.cq0"), (7, "poll_cq A.cq0")]


def test_of_two_lines_due_at_once_that_one_comes_first_which_was_filed_first() -> None:
    lab = lab_with("A.one sleep 200ns; write A.mr0 \"1\"", "A.two sleep 100ns; sleep 100ns; stop",
                   "B.three sleep 200ns; stop")  # fmt: skip
    lab.run()
    nodes = [r[4] for r in lab.session.world.trace.records if r[3] is Kind.PROGRAM_RAN]
    assert ran(lab)[-3:] == [(200, 'write A.mr0 "1"'), (200, "stop"), (200, "stop")]
    assert nodes[-3:] == ["A", "B", "A"]  # A.two filed its last line at 100 ns


def test_the_cause_of_a_line_is_the_line_before() -> None:
    lab = lab_with("A.tx poll_cq A.cq0; poll_cq A.cq0")
    lab.run()
    records = lab.session.world.trace.records
    created = [n for n, r in enumerate(records) if kind_of(r) is Kind.CREATED][-1]
    calls = [n for n, r in enumerate(records) if r[A] == "poll_cq"]
    assert records[calls[0]][Field.CAUSE] == created
    assert records[calls[1]][Field.CAUSE] == calls[0]


# --------------------------------------------------------------------------- words
def test_loops_turn_as_often_as_they_say() -> None:
    lab = lab_with("A.tx loop 2; loop 3; poll_cq A.cq0; end; sleep 1us; end; stop")
    lab.run()
    assert [text for _, text in ran(lab)] == [*["poll_cq A.cq0"] * 3, "sleep 1us"] * 2 + ["stop"]
    assert at(lab, "A.tx").loops == []


def test_an_if_takes_one_of_two_ways() -> None:
    way = "if A.cq0.count == {}; sleep 1us; else; sleep 2us; end; stop"
    for count, slept in ((0, "sleep 1us"), (1, "sleep 2us")):
        lab = lab_with(f"A.tx {way.format(count)}")
        lab.run()
        assert [text for _, text in ran(lab)][1:] == [slept, "stop"]


def test_an_if_without_else_is_left_out() -> None:
    lab = lab_with("A.tx loop 2; if A.cq0.count == 1; sleep 1us; end; end; stop")
    lab.run()
    assert [text for _, text in ran(lab)] == ["if A.cq0.count == 1"] * 2 + ["stop"]


def test_stop_ends_it_in_the_midst_of_a_loop() -> None:
    lab = lab_with("A.tx loop; poll_cq A.cq0; stop; end")
    assert trip(lab, "run").met
    assert stood(lab, "A.tx") == ("DONE", 4, 100, "")


def test_poll_takes_what_comes_and_goes_on() -> None:
    lab = lab_with("A.tx poll A.cq0; sleep 1us", before=(RECV, SEND))
    lab.run()
    polls = [when for when, text in ran(lab) if text == "poll A.cq0"]
    (polled,) = seen(lab, Kind.CQE_POLLED)
    (added,) = seen(lab, Kind.CQE_ADDED, "A")
    assert polls == list(range(0, polled[0] + 1, PACE_NS))
    assert added[0] <= polled[0] < added[0] + PACE_NS
    assert at(lab, "A.tx").state is ProgramState.DONE


def test_poll_until_polls_at_least_once_before_its_condition() -> None:
    lab = lab_with(before=(RECV, SEND, "run"))
    well(lab, "program A.tx lines={poll A.cq0 until A.cq0.count == 0; stop}")
    lab.run()
    assert [text for _, text in ran(lab)] == ["poll A.cq0 until A.cq0.count == 0", "stop"]
    assert lab.look("A.cq0.count") == 0


# --------------------------------------------------------------------------- what is refused
def test_a_refused_verb_ends_the_program_and_the_log_has_its_errno() -> None:
    lab = lab_with("A.tx poll_cq A.cq0; resize_cq A.cq0 cqe=0; stop")
    lab.run()
    state, line, since_ns, why = stood(lab, "A.tx")
    assert (state, line, since_ns) == ("FAILED", 2, 100)
    assert why.startswith("EINVAL: ")
    assert lab.look("log.count(verb=resize_cq, errno=EINVAL)") == 1
    assert seen(lab, Kind.PROGRAM_FAILED) == [(100, 2, why)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("try resize_cq A.cq0 cqe=0", ""),
        ("try poll_cq A.cq0", ""),
        ("try EINVAL resize_cq A.cq0 cqe=0", ""),
        ("try EINVAL poll_cq A.cq0", "EINVAL was expected; it succeeded"),
        ("try ENOMEM resize_cq A.cq0 cqe=0", "ENOMEM was expected; EINVAL: "),
        ("try get_cq_event A.ch0", ""),
    ],
)
def test_trying(line: str, why: str) -> None:
    """What would block is tried too: as on a channel that does not block."""
    lab = lab_with(f"A.tx {line}; stop")
    lab.run()
    assert at(lab, "A.tx").why.startswith(why)
    expected = ProgramState.FAILED if why else ProgramState.DONE
    assert at(lab, "A.tx").state is expected


def test_an_unknown_name_is_reported_when_its_line_runs() -> None:
    lab = lab_with("A.tx create_cq A.cq5 cqe=4; poll_cq A.cq5; poll_cq A.cq6")
    lab.run()
    assert lab.look("A.cq5.capacity") == 4
    assert stood(lab, "A.tx") == ("FAILED", 3, 200, "nothing is called A.cq6")


def test_what_a_program_destroys_is_destroyed() -> None:
    lab = lab_with("A.tx create_cq A.cq5 cqe=4; destroy_cq A.cq5; create_cq A.cq5 cqe=9")
    lab.run()
    assert at(lab, "A.tx").state is ProgramState.DONE
    assert lab.look("A.cq5.capacity") == 9


def test_a_question_about_what_is_gone_ends_the_program() -> None:
    lab = lab_with("A.tx create_cq A.cq5 cqe=4; wait A.cq5.count > 0")
    lab.run()
    assert at(lab, "A.tx").state is ProgramState.WAITING
    well(lab, "destroy_cq A.cq5")
    assert stood(lab, "A.tx") == ("FAILED", 2, 100, "A.cq5 was destroyed")
    assert lab.session.world.programs.waiting == []


@pytest.mark.parametrize("fact", ["A.cq0.overruns", "A.counters.sent_pkts"])
def test_what_is_counted_over_the_log_no_program_can_know(fact: str) -> None:
    lab = lab_with(f"A.tx if {fact} == 1; stop; end", before=(RECV, SEND))
    lab.run()
    assert stood(lab, "A.tx") == ("FAILED", 1, 0, "a program cannot look into the log")
    assert lab.session.world.trace.records
    assert lab.look("A.cq0.overruns") == 0


# --------------------------------------------------------------------------- waiting
def test_nothing_happens_while_all_wait_and_idle_is_idle() -> None:
    lab = lab_with("B.rx get_cq_event B.ch0; stop", "A.rx wait A.cq0.count > 0; stop")
    journey = trip(lab, "run")
    assert (journey.events, journey.over) == (2, "idle: no packet, timer or program is pending")
    assert lab.look("idle")
    assert [stood(lab, name)[0] for name in ("A.rx", "B.rx")] == ["WAITING"] * 2
    assert lab.look("log.count(verb=get_cq_event)") == 0  # the call has not returned


def test_a_blocked_verb_goes_on_when_its_event_comes() -> None:
    lab = lab_with("B.rx req_notify_cq B.cq0; get_cq_event B.ch0; stop", before=(RECV,))
    lab.run()
    well(lab, SEND)
    lab.run()
    ((raised_ns, _, _),) = seen(lab, Kind.CQ_EVENT_RAISED)
    ((taken_ns, _, _),) = seen(lab, Kind.CQ_EVENT_TAKEN)
    assert taken_ns == raised_ns + PACE_NS
    assert at(lab, "B.rx").state is ProgramState.DONE
    assert lab.look("log.count(verb=get_cq_event, errno=0)") == 1


def test_one_event_resumes_two_threads_and_one_waits_again() -> None:
    lab = lab_with(
        "B.one req_notify_cq B.cq0; get_cq_event B.ch0", "B.two get_cq_event B.ch0", before=(RECV,)
    )
    well(lab, SEND)
    lab.run()
    assert [at(lab, name).state.name for name in ("B.one", "B.two")] == ["WAITING", "DONE"]
    assert len(seen(lab, Kind.PROGRAM_WOKEN)) == 2


def test_a_command_resumes_a_waiting_thread_too() -> None:
    lab = lab_with('A.rx wait A.mr0[0:1] == "x"; stop')
    lab.run()
    well(lab, 'write A.mr0 "x"')
    assert stood(lab, "A.rx")[0] == "RUNNING"
    lab.run()
    assert [when for when, _ in ran(lab)] == [0, PACE_NS]


def test_wait_for_a_condition_that_is_true_already() -> None:
    lab = lab_with("A.rx wait A.cq0.count == 0; stop")
    lab.run()
    assert [when for when, _ in ran(lab)] == [0, PACE_NS]


def test_destroying_waits_for_acknowledgement_by_another_thread() -> None:
    lab = lab_with(
        "B.main create_comp_channel B.ch1; create_cq B.cq1 cqe=4 channel=B.ch1; "
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq1 recv_cq=B.cq1; "
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0; "
        "req_notify_cq B.cq1; post_recv B.qp1; modify_qp B.qp1 state=ERR; get_cq_event B.ch1; "
        "destroy_qp B.qp1; destroy_cq B.cq1; stop",
        "B.other sleep 5us; ack_cq_events B.cq1",
    )
    lab.run()
    assert at(lab, "B.main").state is ProgramState.DONE
    ((acked_ns, _, _),) = seen(lab, Kind.CQ_EVENTS_ACKED)
    gone = [when for when, noun, _ in seen(lab, Kind.DESTROYED) if noun == "cq"]
    assert gone == [acked_ns + PACE_NS]


def test_asynchronous_events_are_waited_for() -> None:
    lab = lab_with("A.watch loop; get_async_event A; ack_async_event A; end")
    lab.run()
    assert at(lab, "A.watch").state is ProgramState.WAITING
    well(lab, "link down")
    lab.run()
    assert len(seen(lab, Kind.ASYNC_ACKED)) == 1
    assert at(lab, "A.watch").state is ProgramState.WAITING


def test_an_object_can_go_when_its_events_are_acknowledged() -> None:
    lab = lab_with("A.main get_async_event A; destroy_qp A.qp0; stop", "A.other sleep 3us; "
                   "ack_async_event A", before=("modify_qp A.qp0 state=ERR",))  # fmt: skip
    lab.session.world.nodes["A"].raise_event(_qp_fatal(), 0x11)
    lab.run()
    assert at(lab, "A.main").state is ProgramState.DONE
    assert [when for when, noun, _ in seen(lab, Kind.DESTROYED) if noun == "qp"] == [3100]


def _qp_fatal() -> Any:
    from rdmalab.spec.async_events import AsyncEvent

    return AsyncEvent.QP_FATAL


def test_get_cq_event_on_a_channel_that_is_destroyed_returns() -> None:
    lab = lab_with("A.rx create_comp_channel A.ch9; get_cq_event A.ch9")
    lab.run()
    well(lab, "destroy_comp_channel A.ch9")
    lab.run()
    assert stood(lab, "A.rx")[0] == "FAILED"
    assert stood(lab, "A.rx")[3].startswith("EFAULT")


# --------------------------------------------------------------------------- stopping
def test_a_stopped_program_does_nothing_more_and_its_name_is_free() -> None:
    lab = lab_with("A.tx loop; poll_cq A.cq0; end", "B.rx get_cq_event B.ch0")
    well(lab, "run 1us")
    assert [p.node for p in running(lab.session.world)] == ["A"]
    well(lab, "stop A.tx")
    well(lab, "stop B.rx")
    assert (programs_of(lab.session.world), lab.session.world.programs.waiting) == ([], [])
    assert trip(lab, "run").events == 0
    well(lab, "program A.tx lines={stop}")
    assert at(lab, "A.tx").number == 2


def test_a_program_that_polls_without_end_is_named() -> None:
    lab = lab_with("A.tx sleep 1us; poll A.cq0")
    lab.session.max_events = 500
    journey = trip(lab, "run")
    text = "A.tx is running, in line 2: poll A.cq0"
    assert journey.over == f"stopped at the limit of 500 events; {text}"


# --------------------------------------------------------------------------- the same again
PROGRAMS = (
    "B.rx loop; post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]; poll B.cq0; end",
    "B.ack loop; req_notify_cq B.cq0; get_cq_event B.ch0; ack_cq_events B.cq0; end",
    "A.tx loop 3; post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED; "
    "poll A.cq0; end; wait idle",
)


def test_a_copy_goes_its_own_way() -> None:
    lab = lab_with("A.tx loop; poll_cq A.cq0; end")
    well(lab, "step 3")
    twin = deepcopy(lab.session.world)
    well(lab, "step 5")
    (copied,) = programs_of(twin)
    assert copied.since_ns == 0
    assert twin.programs.carry_out == lab.session.carry_out
    assert twin.now_ns == 200


@pytest.mark.parametrize("lines", [["run 40us"], ["step 7", "run 40us"], ["run 3us", "run 37us"]])
def test_the_journal_plays_it_again(lines: list[str]) -> None:
    lab = lab_with(*PROGRAMS)
    for line in lines:
        well(lab, line)
    well(lab, 'write A.mr0 "woken"')
    well(lab, "run 5us")
    assert len(lab.session.journal) == 16 + len(PROGRAMS) + 1  # none of what the programs did
    assert everything(played_again(lab)) == everything(lab)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), max_size=6))
def test_running_is_stepping(cuts: list[int]) -> None:
    whole, parts = lab_with(*PROGRAMS), lab_with(*PROGRAMS)
    well(whole, "run 30us")
    for cut in cuts:
        well(parts, f"step {cut}")
        if parts.session.world.now_ns > 30_000:
            return
    well(parts, f"run {30_000 - parts.session.world.now_ns}ns")
    assert fingerprint(parts) == fingerprint(whole)


LONG = (
    "B.rx loop; post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]; poll B.cq0; end",
    "A.tx loop 9; post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED; "
    "wait A.cq0.total >= B.cq0.total and A.qp0.sq.used > 0; "
    "if A.cq0.total > 4; sleep 500ns; end; poll A.cq0; end",
    'A.late loop; wait A.cq0.count > 0; if A.cq0.total > 3; write A.mr0 "x"; end; sleep 1us; end',
)


def _lived() -> tuple[Lab, dict[TimePoint, Any]]:
    """A life with programs, and how all was at some moments of it."""
    lab, been = lab_with(*LONG), {}
    for _ in range(8):
        well(lab, "run 2500ns")
        well(lab, 'write B.mr0[64:66] "ab"')
        been[lab.session.history.here] = still(lab.session.world)
    well(lab, "stop A.late")
    well(lab, "run 3us")
    return lab, been


def test_goto_the_past_of_a_program_replays_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = _lived()
    for name, value in (("EVENTS_APART", 16), ("HOT", 2)):
        monkeypatch.setattr(history, name, value)
    monkeypatch.setattr(replayed_records, "STRETCHES", 2)
    lab, been = _lived()
    assert fingerprint(lab) == fingerprint(whole)
    assert lab.session.world.trace.first > 0
    lines = [[r[:4] for r in life.session.world.trace.records] for life in (lab, whole)]
    assert lines[0] == lines[1]
    for place in (*been, *reversed(been)):
        lab.session.history.seek(place)
        assert still(lab.session.world) == been[place]


# --------------------------------------------------------------------------- anything at all
_SCRAPS = (
    *("loop", "loop 2", "end", "if A.cq0.count == 0", "else", "wait A.cq0.count > 0", "wait idle"),
    *("poll A.cq0", "poll cq0 until now > 1us", "sleep 1us", "stop", "try", "try ENOMEM"),
    *(
        "poll_cq cq0",
        "post_send qp0 opcode=SEND sg=mr0[0:8]",
        "req_notify_cq cq0",
        "destroy_qp qp0",
    ),
    *("get_cq_event ch0", "create_cq A.cq7 cqe=4", 'write A.mr0[0:1] "x"', "A.qp0", "0x", "{"),
    *("link down", "link up", "wait A.mr0[0:9999] == 1", "if A.qp0.stat == 1", "}", "#", '"'),
)
_texts = st.lists(st.sampled_from(_SCRAPS), max_size=8).map("; ".join) | st.text(max_size=30)


@settings(max_examples=examples(300))
@given(_texts, _texts)
def test_any_text_is_a_program_or_a_mistake_and_never_a_traceback(one: str, two: str) -> None:
    lab = lab_of(pair=_PAIR)
    lab.session.max_events = 60
    for name, text in (("A.one", one), ("A.two", two)):
        lab.do(f"program {name} lines={{{text}}}")
    lab.do(RECV)
    lab.do("run 3us")
    lab.do(SEND)
    lab.do("run")
    for program in programs_of(lab.session.world):
        waits = program in lab.session.world.programs.waiting
        assert waits is (program.state is ProgramState.WAITING)
        assert (program in running(lab.session.world)) is _is_planned(lab, program)


def _is_planned(lab: Lab, program: Program) -> bool:
    return any(entry[4] is program for entry in lab.session.world.agenda.heap)


@settings(max_examples=examples(60))
@given(_texts, _texts)
def test_any_program_does_the_same_again(one: str, two: str) -> None:
    lab = lab_of(pair=_PAIR)
    lab.session.max_events = 60
    for line in (f"program A.one lines={{{one}}}", RECV, SEND, f"program A.two lines={{{two}}}"):
        lab.do(line)
        lab.do("step 7")
    lab.do("run 2us")
    assert fingerprint(played_again(lab)) == fingerprint(lab)
