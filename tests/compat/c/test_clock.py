"""Sleeps in virtual time: a program that is alone on both nodes, and --clock."""

import pytest

from rdmalab.compat.c.pace import NEAR_NS, SILENT_S, Pace
from tests.compat.c.running import compiled, execute


@pytest.mark.parametrize(("ns", "receiver", "sender"), [
    (0, 0, 0), (1_000, 0, 0), (1_500, 1, 0), (3_600 * 10**9, 1, 1),
])  # fmt: skip
def test_a_sleep_lets_exactly_so_much_time_pass(ns: int, receiver: int, sender: int) -> None:
    done = execute("--", compiled("sleeper"), str(ns))
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "2 devices", f"{receiver} at the receiver", f"{sender} at the sender",
    ]  # fmt: skip


def test_the_clock_can_be_chosen() -> None:
    done = execute("--clock", "real", "--", compiled("sleeper"), "50000000")
    assert done.out.splitlines()[1:] == ["1 at the receiver", "1 at the sender"]
    assert execute("--node", "A", "--", compiled("sleeper")).out == "1 devices\n"


def test_under_a_virtual_clock_nothing_happens_before_a_program_waits() -> None:
    pace = Pace(is_virtual=True, heard_s=10.0)
    assert pace.wait_s(10.0 + SILENT_S / 2, 0, NEAR_NS, all_wait=False)
    assert not pace.wait_s(10.0, 0, NEAR_NS, all_wait=True)


def test_a_program_that_spins_without_a_call_gets_its_packets_after_a_while() -> None:
    pace = Pace(is_virtual=True, heard_s=10.0)
    assert not pace.wait_s(10.1 + SILENT_S, 0, NEAR_NS, all_wait=False)
