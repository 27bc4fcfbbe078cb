"""Who computes for long asks whether the user still wants it."""

import pytest

from rdmalab.session.interruption import Stopped, check, stoppable


def test_nothing_stops_what_nobody_can_stop() -> None:
    check()
    with stoppable():
        check()


def test_whoever_asks_is_told_once_it_is_wanted() -> None:
    wanted = False
    with stoppable(lambda: wanted):
        check()
        wanted = True
        with pytest.raises(Stopped):
            check()
        with stoppable():
            check()
    check()
