"""Rows of tables are shared by whatever is copied."""

from copy import deepcopy

from rdmalab.spec.states import STATES
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WORK


def test_a_copy_of_what_holds_a_row_holds_the_same_row() -> None:
    for table in (STATES, TRANSPORTS, WORK):
        held = [list(table.values())]
        (copied,) = deepcopy(held)
        assert copied is not held[0]
        assert all(one is other for one, other in zip(copied, held[0], strict=True))
