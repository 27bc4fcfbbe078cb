"""Python's clocks show the time of the lab: a wait costs nothing and moves it."""

import subprocess
import sys
import textwrap
import time

from rdmalab.compat.process import EPOCH_S
from rdmalab.compat.script import virtual


def output_of(program: str) -> list[str]:
    """What a fresh Python prints, whose clocks are the lab's."""
    inside = textwrap.indent(textwrap.dedent(program), "    ")
    code = "from rdmalab.compat.script import virtual\nwith virtual():\n" + inside
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_a_day_of_sleep_is_no_time() -> None:
    begun = time.monotonic()
    slept, wall = output_of("""
        import time
        start = time.monotonic()
        time.sleep(86_400)
        print(round(time.monotonic() - start), int(time.time()))
    """)
    assert int(slept) == 86_400
    assert EPOCH_S + 86_400 <= int(wall) <= EPOCH_S + 86_401
    assert time.monotonic() - begun < 30


def test_a_loop_that_waits_for_the_clock_ends() -> None:
    (turns,) = output_of("""
        import time
        end, turns = time.perf_counter() + 0.01, 0
        while time.perf_counter() < end:
            turns += 1
        print(turns)
    """)
    assert 100 <= int(turns) <= 100_000


def test_every_clock_goes_on_with_every_other() -> None:
    assert output_of("""
        import time
        names = ("time", "monotonic", "perf_counter")
        first = [getattr(time, name + "_ns")() for name in names]
        time.sleep(2)
        second = [getattr(time, name)() for name in names]
        print(all(1.9 < b - a / 1e9 < 2.1 for a, b in zip(first, second)))
    """) == ["True"]


def test_select_waits_in_the_lab_for_what_is_not_ready() -> None:
    assert output_of("""
        import os, select, time
        reading, writing = os.pipe()
        start = time.monotonic()
        nothing = select.select([reading], [], [], 5)
        waited = time.monotonic() - start
        os.write(writing, b"x")
        ready, _, _ = select.select([reading], [], [], 5)
        print(nothing == ([], [], []), round(waited), ready == [reading])
    """) == ["True", "5", "True"]


def test_a_negative_sleep_is_refused_as_ever() -> None:
    assert output_of("""
        import time
        try:
            time.sleep(-1)
        except ValueError as wrong:
            print(str(wrong).replace(" ", "-"))
    """) == ["sleep-length-must-be-non-negative"]


def test_afterwards_the_clocks_are_the_real_ones() -> None:
    before = {name: getattr(time, name) for name in ("sleep", "time", "monotonic_ns")}
    with virtual():
        assert all(getattr(time, name) is not real for name, real in before.items())
    assert all(getattr(time, name) is real for name, real in before.items())
