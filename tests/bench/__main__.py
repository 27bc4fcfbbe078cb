"""`python -m tests.bench [--json]`: ratios within one run, on CPU time.

Each repetition measures the loads of one group once, one after the other, so that a busy machine
slows all of them; a ratio is taken within its repetition, and the median of all is what counts.
Every group has a process of its own, because a heap in which ten thousand QPs have lived is slower
for whoever comes next. As in `timeit` the collector rests meanwhile: whose garbage it looks for is
a matter of chance.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping

from tests.bench import book, grading, history, long, page, programs, reasons, screen, start
from tests.bench.measure import Seconds, measure

REPETITIONS = 7

# key: (how it comes from one repetition's seconds, bar, which side of the bar is good)
RATIOS: dict[str, tuple[Callable[[Seconds], float], float, str]] = {
    "event_vs_simpy": (lambda s: s["simpy"] / s["event"], 2, "at least"),
    "send64_simpy": (lambda s: s["send64"] / s["simpy"], 20, "at most"),
    "command64_simpy": (lambda s: s["command64"] / s["simpy"], 40, "at most"),
    "packet64k_simpy": (lambda s: s["packet64k"] / s["simpy"], 8, "at most"),
    "write_packet64k_simpy": (lambda s: s["write_packet64k"] / s["simpy"], 10, "at most"),
    "pyverbs_pingpong_simpy": (
        lambda s: s["pyverbs_pingpong"] / s["simpy_beside_skin"],
        220,
        "at most",
    ),
    "pack_vs_scapy": (lambda s: s["scapy"] / s["pack"], 250, "at least"),
    "qp10000_vs_1": (lambda s: s["wr_of_10000"] / s["wr_of_1"], 1.3, "at most"),
    "parse_50k": (
        lambda s: max(s["entry_of_50k"] / s["entry_of_50"], s["line_of_50k"] / s["line_of_50"]),
        1.5,
        "at most",
    ),
    "wait_cost": (lambda s: s["writes_awaited"] / s["writes"], 1.5, "at most"),
    "trace_cost": (lambda s: s["send64"] / s["silent64"], 1.5, "at most"),
}


BARS = {key: f"{side} {bar}" for key, (_, bar, side) in RATIOS.items()} | {
    key: f"{side} {bar}"
    for ratios_of in (grading, history, long, programs, reasons, screen)
    for key, (bar, side) in ratios_of.RATIOS.items()
}


def ratios(taken: list[Seconds]) -> dict[str, float]:
    return {
        key: round(statistics.median(ratio(seconds) for seconds in taken), 2)
        for key, (ratio, _, _) in RATIOS.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object, nothing else")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    chosen = parser.parse_args()
    groups: list[Callable[[], Mapping[str, object]]] = [
        lambda: ratios(measure(chosen.repetitions)), history.measure, long.measure,
        programs.measure, reasons.measure, screen.measure, grading.measure,
        start.information, book.information, grading.information, page.information,
    ]  # fmt: skip
    result: dict[str, object] = {}
    failed = 0
    for group in groups:
        try:
            found = group()
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            # what was measured before is minutes of work
            sys.stderr.write(f"not measured: {group.__module__}: {type(error).__name__}: {error}\n")
            failed = 1
            continue
        result |= found
        for key, value in () if chosen.json else found.items():
            sys.stdout.write(f"{key:33} {value}   {BARS.get(key, '(information)')}\n")
        sys.stdout.flush()
    if chosen.json:
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
