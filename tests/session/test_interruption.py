"""Who computes for long asks whether the user still wants it."""

import pytest

from rdmalab.session.interruption import Stopped, check, stoppable


def test_without_an_interrupt_nothing_stops() -> None:
    check()
    with stoppable():
        check()


def test_an_interrupt_is_reported_once_it_is_set() -> None:
    wanted = False
    with stoppable(lambda: wanted):
        check()
        wanted = True
        with pytest.raises(Stopped):
            check()
        with stoppable():
            check()
    check()
