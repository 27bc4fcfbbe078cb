"""An interrupt waits for the end of a turn, and only once."""

import signal
import threading

import pytest

from rdmalab.compat.process import Turns


def test_an_interrupt_during_a_turn_is_raised_at_its_end() -> None:
    turns, done = Turns(), []

    def turn() -> None:
        with turns, turns:
            turns.interrupt(signal.SIGINT, None)
            done.append("the rest of the turn")

    with pytest.raises(KeyboardInterrupt):
        turn()
    assert done == ["the rest of the turn"]
    with turns:
        done.append("another turn")
    assert done[1:] == ["another turn"]


def test_an_interrupt_between_turns_and_a_second_one_do_not_wait() -> None:
    turns = Turns()
    with pytest.raises(KeyboardInterrupt):
        turns.interrupt(signal.SIGINT, None)
    done = []

    def turn() -> None:
        with turns:
            turns.interrupt(signal.SIGINT, None)
            done.append("the first one waits")
            turns.interrupt(signal.SIGINT, None)
            done.append("the second one waited")

    with pytest.raises(KeyboardInterrupt):
        turn()
    assert done == ["the first one waits"]


def test_an_interrupt_does_not_wait_for_the_turn_of_another_thread() -> None:
    turns, began, over = Turns(), threading.Event(), threading.Event()

    def other() -> None:
        with turns:
            began.set()
            over.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    began.wait(10)
    with pytest.raises(KeyboardInterrupt):
        turns.interrupt(signal.SIGINT, None)
    over.set()
    thread.join(10)
    assert not thread.is_alive()


def test_a_daemon_from_before_is_foreign_until_it_calls() -> None:
    may_call, called, may_end = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        may_call.wait(10)
        with turns:
            pass
        called.set()
        may_end.wait(10)

    daemon = threading.Thread(target=work, daemon=True)
    daemon.start()
    turns = Turns()
    assert turns.is_alone()  # as in a notebook, which has threads of its own
    may_call.set()
    assert called.wait(10)
    assert not turns.is_alone()
    may_end.set()
    daemon.join(10)
    assert turns.is_alone()


def test_a_thread_that_begins_later_is_the_programs() -> None:
    turns = Turns()
    over = threading.Event()
    other = threading.Thread(target=over.wait, args=(10,), daemon=True)
    other.start()
    assert not turns.is_alone()
    over.set()
    other.join()
