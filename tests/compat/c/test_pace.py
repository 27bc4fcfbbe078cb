"""When virtual time may pass under programs."""

from rdmalab.compat.c.pace import CIRCLE_EVENTS, NEAR_NS, STILL_S, Pace

MS = 1_000_000


def test_a_packet_is_due_at_once_and_a_timer_after_its_time() -> None:
    pace = Pace()
    assert not pace.wait_s(10.0, 0, NEAR_NS, all_wait=False)
    assert pace.wait_s(10.0, 0, 5 * MS, all_wait=False)
    assert not pace.wait_s(10.0051, 0, 5 * MS, all_wait=False)


def test_calls_before_a_timer_do_not_put_it_off() -> None:
    pace = Pace()
    for call in range(5):
        assert pace.wait_s(10.0 + call / 1000, 100 * call, 5 * MS, all_wait=False)
    assert not pace.wait_s(10.0051, 500, 5 * MS, all_wait=False)


def test_the_time_of_a_stop_does_not_count() -> None:
    pace = Pace()
    assert pace.wait_s(10.0, 0, 5 * MS, all_wait=False)
    pace.begin_again()
    assert pace.wait_s(20.0, 0, 5 * MS, all_wait=False)
    assert not pace.wait_s(20.0051, 0, 5 * MS, all_wait=False)


def test_a_timer_strikes_at_once_where_all_wait() -> None:
    pace = Pace()
    assert not pace.wait_s(10.0, 0, 5_000 * MS, all_wait=True)
    assert pace.wait_s(10.0, 0, 5_000 * MS, all_wait=True) == 0.0


def test_nothing_is_due_where_nothing_is_planned() -> None:
    pace = Pace()
    assert pace.wait_s(1e9, 0, None, all_wait=True)
    assert pace.wait_s(1.0, 0, None, all_wait=True) > 0


def test_it_listens_as_long_as_the_timer_has() -> None:
    pace = Pace()
    pace.wait_s(10.0, 0, 5 * MS, all_wait=False)
    assert round(pace.wait_s(10.001, 0, 5 * MS, all_wait=False), 6) == 0.004


def test_waiting_without_anything_planned_is_stuck_after_a_while() -> None:
    pace = Pace()
    assert pace.stuck(1.0, None, all_wait=True) == ""
    assert pace.stuck(1.0 + STILL_S / 2, None, all_wait=True) == ""
    assert "nothing is planned" in pace.stuck(1.1 + STILL_S, None, all_wait=True)


def test_a_program_that_computes_or_news_begin_the_while_again() -> None:
    pace = Pace()
    pace.stuck(1.0, None, all_wait=True)
    assert pace.stuck(1.5, None, all_wait=False) == ""
    assert pace.stuck(1.2 + STILL_S, None, all_wait=True) == ""
    pace.news()
    assert pace.stuck(1.4 + STILL_S, None, all_wait=True) == ""


def test_events_without_news_are_a_circle() -> None:
    pace = Pace(quiet_events=CIRCLE_EVENTS + 1)
    assert "no completion" in pace.stuck(1.0, 5, all_wait=True)
