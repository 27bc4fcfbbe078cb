"""`python -m tests.scenario.campaign [--seed S] [--count N] [--labs]`: mutated scenarios or labs.

Each is judged by the claims of `tests/scenario/mutations.py`; the suite plays a hundred with a
printed seed. Exit status 1 if a file breaks a claim, or if of more than 2 % of those with several
mistakes not all are reported.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from tests.each import drawn_numbers
from tests.scenario.mangle import ROOT
from tests.scenario.mutations import judged, mutants

_SLICE = 250  # files of one seed
_PROGRESS = 8  # slices
_SHARE = 0.98  # of files with several mistakes, those of which all are reported
LABS = sorted((ROOT / "instructor/labs").glob("*.lab.yaml"))


class Tally(NamedTuple):
    """The result of some mutants. complete: of those with several mistakes, all are reported."""

    families: Counter[str]
    refused: int
    several: int
    complete: int
    wrong: list[str]


def tally(seed: int, count: int, paths: list[Path] | None = None) -> Tally:
    """Judge so many mutants of one seed. paths: of these files; None: of all scenarios."""
    families, wrong = Counter[str](), []
    refused = several = complete = 0
    for mutant in mutants(count, seed, paths):
        verdict = judged(mutant)
        families[mutant.family] += 1
        refused += bool(verdict.errors)
        if len(mutant.lines) > 1:
            lines = {error.place.line for error in verdict.errors if error.place}
            several += 1
            complete += lines >= mutant.lines
        head = f"{mutant.name} {mutant.path.name} {mutant.family} {' '.join(mutant.kinds)}"
        wrong += [f"{head}: {each}" for each in verdict.wrong]
    return Tally(families, refused, several, complete, wrong)


def tally_of(series: str, slices: int, all_slices: int, size: int, paths: list[Path]) -> Tally:
    """Judge `size` mutants of each slice that a run draws, all slices with RDMALAB_ALL=1."""
    found = [tally(seed, size, paths) for seed in drawn_numbers(series, slices, all_slices)]
    return Tally(
        sum((each.families for each in found), Counter()),
        sum(each.refused for each in found),
        sum(each.several for each in found),
        sum(each.complete for each in found),
        [wrong for each in found for wrong in each.wrong],
    )


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenario.campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--labs", action="store_true", help="mutate labs, not scenarios")
    chosen = parser.parse_args()
    paths = LABS if chosen.labs else None
    say(f"seed {chosen.seed}")
    seeds = range(chosen.seed, chosen.seed - (-chosen.count // _SLICE))
    families, wrong = Counter[str](), 0
    refused = several = complete = 0
    with ProcessPoolExecutor(chosen.processes) as processes:
        running = {processes.submit(tally, seed, _SLICE, paths): seed for seed in seeds}
        for number, future in enumerate(as_completed(running), 1):
            try:
                found = future.result()
            except BrokenProcessPool:
                say(f"a process ended during seed {running[future]} or one beside it")
                return 1
            families += found.families
            refused += found.refused
            several += found.several
            complete += found.complete
            wrong += len(found.wrong)
            for each in found.wrong:
                say(f"  {each}")
            if number % _PROGRESS == 0:
                say(f"{families.total()} files, {wrong} claims broken")
    count = families.total()
    say(f"{count} files: {', '.join(f'{n} {family}' for family, n in sorted(families.items()))}")
    say(f"{refused} refused, {count - refused} played; {wrong} claims broken")
    say(f"several mistakes: all of them reported in {complete} of {several} files")
    return 1 if wrong or complete < _SHARE * several else 0


if __name__ == "__main__":
    sys.exit(main())
