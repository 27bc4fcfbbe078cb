"""Taking the time of loads: a group of them after the other, each group in a fresh process."""

import gc
from collections import ChainMap
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

from tests.bench import loads, many, packing, reading, skin, waiting

# CPU seconds by load.
Seconds = dict[str, float]
# What is compared stands in one group.
GROUPS: tuple[dict[str, Callable[[], float]], ...] = (
    {
        "simpy": loads.simpy_timeout,
        "event": loads.event,
        "send64": loads.typed_verbs,
        "silent64": loads.silent_verbs,
        "command64": loads.commands,
        "packet64k": loads.packet_of_64k,
        "write_packet64k": loads.write_packet_of_64k,
    },
    {"simpy_beside_skin": loads.simpy_timeout, "pyverbs_pingpong": skin.pingpong},
    {"pack": packing.pack, "scapy": packing.scapy_pack},
    {"wr_of_1": many.one_qp, "wr_of_10000": many.ten_thousand_qps},
    {
        "entry_of_50": reading.few_entries,
        "entry_of_50k": reading.many_entries,
        "line_of_50": reading.few_lines,
        "line_of_50k": reading.many_lines,
    },
    {"writes": waiting.writes, "writes_awaited": waiting.writes_awaited},
)


def measure(repetitions: int) -> list[Seconds]:
    """CPU seconds of every load, repetition by repetition."""
    fresh = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        parts = list(processes.map(_measure_group, range(len(GROUPS)), repeat(repetitions)))
    return [dict(ChainMap(*together)) for together in zip(*parts, strict=True)]


def _measure_group(index: int, repetitions: int) -> list[Seconds]:
    group = GROUPS[index]
    loads.settle()
    for load in group.values():  # once to warm up
        _alone(load)
    return [{name: _alone(load) for name, load in group.items()} for _ in range(repetitions)]


def _alone(load: Callable[[], float]) -> float:
    """Nobody clears away what others left behind."""
    gc.collect()
    gc.disable()
    try:
        return load()
    finally:
        gc.enable()
