"""`python -m tests.mutants [S042 | S042-1 …]`: run mutants, all of them without a name.

Exit code 1: one survived. `results.json` is brought up to date; `--first` also writes the record of
the first run, which is never written again.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

from tests.mutants.running import Copy, Items, Outcome, Result, bound, read, totals, write
from tests.mutants.table import HERE, Mutant, load

FIRST, LATEST = HERE / "first_run.json", HERE / "results.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="S042", help="a statement, or a mutant S042-1")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at once")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one item")
    parser.add_argument("--survivors", action="store_true", help="those that survived last time")
    parser.add_argument("--first", action="store_true", help="record the first run")
    asked = parser.parse_args()
    chosen = list(_chosen(asked.names, only_survivors=asked.survivors))
    if asked.first and FIRST.exists():
        parser.error(f"{FIRST.name} is written once")
    results = _run(chosen, asked.jobs, asked.timeout)
    if asked.first:
        write(FIRST, results)
    _say(totals(results.values()))
    return int(any(result.outcome == Outcome.SURVIVED for result in results.values()))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _chosen(names: list[str], *, only_survivors: bool) -> Iterator[Mutant]:
    latest = read(LATEST)
    for mutant in load().values():
        named = not names or mutant.statement in names or mutant.name in names
        before = latest.get(mutant.name)
        lived = before is None or before.outcome == Outcome.SURVIVED
        if named and (lived or not only_survivors):
            yield mutant


def _run(mutants: list[Mutant], jobs: int, timeout_s: float) -> dict[str, Result]:
    items = bound()
    copies: Queue[Copy] = Queue()
    every = [Copy() for _ in range(jobs)]
    for copy in every:
        copies.put(copy)
    try:
        _check(every[0], [items.get(mutant.statement, Items()) for mutant in mutants])

        def one(mutant: Mutant) -> Result:
            copy = copies.get()
            try:
                return copy.run(mutant, items.get(mutant.statement, Items()), timeout_s)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            return dict(_reported(mutants, pool.map(one, mutants)))
    finally:
        for copy in every:
            copy.close()


def _reported(mutants: list[Mutant], results: Iterator[Result]) -> Iterator[tuple[str, Result]]:
    """Each result is recorded when it comes: a run that is stopped has lost nothing."""
    for mutant, result in zip(mutants, results, strict=True):
        write(LATEST, read(LATEST) | {mutant.name: result})
        _say(f"{mutant.name:7} {result.outcome:9} {mutant.says}\n{'':18}{result.by}")
        yield mutant.name, result


def _check(copy: Copy, items: list[Items]) -> None:
    """Without a mutant everything passes, or a failure would tell nothing."""
    if not copy.imports_itself():
        sys.exit("the copy imports the installed program, not itself")
    every = Items(
        sorted({file for each in items for file in each.scenarios}),
        sorted({test for each in items for test in each.tests}),
    )
    result = copy.ask(every, 600)
    if result.outcome != Outcome.SURVIVED:
        sys.exit(f"without any mutant {result.by} fails ({result.outcome})")


if __name__ == "__main__":
    sys.exit(main())
