"""What going back costs, in units of one forward event with the trace on.

The session is a person's in fast motion: WRITEs and SENDs of 64 B to 3 kB on each pair in turn,
asked for through the journal, on a cable that loses a packet now and then. Every load has a process
of its own.
"""

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context

from rdmalab.command import Invocation, Ref
from rdmalab.lab import Lab
from rdmalab.session import history
from rdmalab.session.lines import replies
from rdmalab.session.run_control import Idle, RunControl
from rdmalab.session.session import Session
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.tui.app_model import FIRST
from rdmalab.tui.launch import launched
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.world import World
from tests.bench.loads import settle
from tests.bench.memory import peak_kb

EVENTS = 100_000
JUMPS = 100
WINDOW = 10_000
_SIZES = (64, 256, 1024, 3072)
_NEVER = 10**12
SCREEN = (120, 40)
RUNS = 5
_RUN_EVENTS = 300_000
_RUN = "run 10000s"  # without a time it ends when it sees that the retries have no limit
_ENDLESS = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]"  # B has no receive
_MB = 1024  # kB of ru_maxrss

RATIOS: dict[str, tuple[float, str]] = {
    "jump_p95": (2_000, "at most"),
    "jump_p95_100qp": (3_000, "at most"),
    "step_back": (2_000, "at most"),
    "history_cost": (1.35, "at most"),
    "mb_per_million_events": (150, "at most"),
    "event_cost_1e6_vs_1e4": (1.2, "at most"),
    "run_under_screen": (0.8, "at least"),
}


class Long:
    """A session that goes on for ever, with so many connected pairs."""

    def __init__(self, pairs: int) -> None:
        settle()
        roomy = replace(STRICT, caps=replace(STRICT.caps, max_pd=pairs, max_mr=pairs, max_cq=pairs))
        self.session = Session(World({"A": roomy, "B": roomy}, seed=7), VOCABULARY, 7)
        pair = "use rc_pair max_send_wr=16 max_recv_wr=16 cqe=64 mtu=1024"
        for line in (*[pair] * pairs, "fault drop A->B p=0.2%"):
            for reply in replies(self.session, line):
                assert not reply.failed, reply
        self.world = self.session.world
        self._rounds = self._go_on(pairs)

    def until(self, events: int) -> float:
        """Go on to so many events; CPU seconds of each of them."""
        first, start = self.world.event, time.process_time()
        while self.world.event < events:
            next(self._rounds)
        return (time.process_time() - start) / max(1, self.world.event - first)

    def _go_on(self, pairs: int) -> Iterator[None]:
        chance, number = random.Random(3), 0
        while True:
            number = (number + 1) % pairs
            for _ in range(4):
                self._message(number, chance.choice(_SIZES))
            RunControl(self.session, Idle()).finish()
            for node in ("A", "B"):
                self._say("poll_cq", cq=Ref(node, f"cq{number}"), num_entries=16)
            yield

    def _message(self, number: int, size: int) -> None:
        mine, theirs = (Ref(node, f"mr{number}", 0, size) for node in ("A", "B"))
        self._say("post_recv", qp=Ref("B", f"qp{number}"), wr=[{"sg": [theirs]}])
        write = {"opcode": WROpcode.RDMA_WRITE, "sg": [mine], "remote": theirs}
        send = {"opcode": WROpcode.SEND, "sg": [mine], "flags": SendFlags.SIGNALED}
        self._say("post_send", qp=Ref("A", f"qp{number}"), wr=[write, send])

    def _say(self, verb: str, **arguments: object) -> None:
        assert self.session.perform(Invocation(verb, arguments)).refusal is None


def _timed(do: Callable[[], object]) -> float:
    start = time.process_time()
    do()
    return time.process_time() - start


def jumps(pairs: int) -> dict[str, float]:
    """Any jump within a hundred thousand events, and single steps back, at its end."""
    long, chance = Long(pairs), random.Random(5)
    event = long.until(EVENTS)
    past = long.session.history
    places = [past.place_after(chance.randrange(EVENTS)) for _ in range(JUMPS)]
    took = sorted(_timed(lambda place=place: past.seek(place)) for place in places)  # type: ignore[misc]
    past.seek(past.end)
    steps = []
    for _ in range(JUMPS):
        before = past.place_after(long.world.event - 1)
        steps.append(_timed(lambda place=before: past.seek(place)))  # type: ignore[misc]
    return {
        "jump_p95": took[int(JUMPS * 0.95) - 1] / event,
        "step_back": statistics.median(steps) / event,
    }


def cost(kept: bool) -> float:
    """CPU seconds of an event, with snapshots or without."""
    history.EVENTS_APART = history.EVENTS_APART if kept else _NEVER
    long = Long(2)
    long.until(2_000)
    return long.until(2_000 + 4 * WINDOW)


def million() -> dict[str, float]:
    """What a million events leave in memory; whether the last of them cost more than the first."""
    long = Long(2)
    before = peak_kb()
    early = _window(long, 10_000)
    long.until(1_000_000 - 5 * WINDOW)
    late = _window(long, long.world.event)
    return {
        "mb_per_million_events": (peak_kb() - before) / _MB,
        "event_cost_1e6_vs_1e4": late / early,
    }


def _window(long: Long, first: int) -> float:
    long.until(first)
    return statistics.median(long.until(first + n * WINDOW) for n in range(1, 6))


# --------------------------------------------------------------------------- under a screen
def under_screen() -> float:
    """How fast a long run is while the app draws it, in units of the same run without the app."""
    settle()
    pairs = [(_without_screen(), asyncio.run(_with_screen())) for _ in range(RUNS)]
    return statistics.median(without / with_it for without, with_it in pairs)


def _without_screen() -> float:
    lab = Lab()
    for line in (*FIRST, _ENDLESS):
        lab.do(line)
    lab.session.max_events = _RUN_EVENTS
    gc.collect()  # what the run before left behind is not cleared away in this one
    return _timed(lambda: lab.do(_RUN))


async def _with_screen() -> float:
    """CPU seconds, those of the event loop and of the drawing included."""
    app = launched()
    async with app.run_test(size=SCREEN) as pilot:
        while not app.is_ready:
            await pilot.pause()
        main, model = app.main, app.main.model
        model.lab.do(_ENDLESS)
        model.session.max_events = _RUN_EVENTS
        gc.collect()
        first, start = main.frames, time.process_time()
        app.say(_RUN)
        while not model.conversation.running:
            await asyncio.sleep(0)
        while model.conversation.running:  # what is said of it in the end is no part of the run
            await asyncio.sleep(0.02)
        took = time.process_time() - start
        assert model.session.world.event >= _RUN_EVENTS
        frames = main.frames - first
        assert frames >= 2 * took, (frames, took)  # each 0.4 s at least
        return took


def measure() -> dict[str, float]:
    """All keys of this file."""
    fresh = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        few, many = processes.map(jumps, (2, 100))
        costs = list(processes.map(cost, (True, False) * 5))
        found = {**few, "jump_p95_100qp": many["jump_p95"], **processes.submit(million).result()}
        found["run_under_screen"] = processes.submit(under_screen).result()
    pairs = zip(islice(costs, 0, None, 2), islice(costs, 1, None, 2), strict=True)
    found["history_cost"] = statistics.median(kept / free for kept, free in pairs)
    return {key: round(found[key], 2) for key in RATIOS}
