"""`python -m tests.scenario.campaign [--seed S] [--count N]`: mutated scenario files, all of them.

Each is judged by the claims of `tests/scenario/mutations.py`; the suite plays a hundredth with a
printed seed. Exit status 1 if a file breaks a claim.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.scenario.mutations import judged, mutants

_SLICE = 250


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


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scenario.campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--processes", type=int)
    chosen = parser.parse_args()
    say(f"seed {chosen.seed}")
    slices = -(-chosen.count // _SLICE)
    families, wrong = Counter[str](), 0
    refused = several = complete = 0
    with ProcessPoolExecutor(chosen.processes) as processes:
        seeds = [chosen.seed + number for number in range(slices)]
        for found in processes.map(tally, seeds, [_SLICE] * slices):
            families += found.families
            refused += found.refused
            several += found.several
            complete += found.complete
            wrong += len(found.wrong)
            for each in found.wrong:
                say(f"  {each}")
    count = families.total()
    say(f"{count} files: {', '.join(f'{n} {family}' for family, n in sorted(families.items()))}")
    say(f"{refused} refused, {count - refused} played; {wrong} claims broken")
    say(f"several mistakes: all of them reported in {complete} of {several} files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
