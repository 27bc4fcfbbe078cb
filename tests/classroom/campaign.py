"""`python -m tests.classroom.campaign [--part solutions|mutants] [LAB …]`: the labs, whole.

Two parts, of which the suite plays a tenth with a printed seed. Solutions: every solution of every
lab for fifty students, also with other names for what it creates, must be judged as the lab
declares. Mutants: with one change of the engine for each lab, which makes what the lab teaches
false, a solution of the lab must be judged otherwise. Exit status 1 if one is not as it should be.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rdmalab.classroom.checking import leaks, students, trials, unusable_handout
from rdmalab.classroom.lab_file import loads
from tests.classroom.labs import FOLDER
from tests.mutants.running import Copy, Items, Outcome, Result
from tests.mutants.table import Mutant, load

STUDENTS = 50
TABLE = Path(__file__).parent / "lab_mutants.yaml"
_LONGEST_S = 300  # for the check of one lab with a mutant; without one it takes less than 10 s
_SUFFIX = ".lab.yaml"


def names() -> list[str]:
    """The ids of all labs, which are those of their files."""
    return [path.name.removesuffix(_SUFFIX) for path in sorted(FOLDER.glob(f"*{_SUFFIX}"))]


def say(line: str) -> None:
    """A line of the table, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# --------------------------------------------------------------------------- solutions
@dataclass(slots=True)
class Count:
    """What was graded of a lab, and what was not as declared."""

    plain: int = 0
    renamed: int = 0
    wrong: tuple[str, ...] = ()
    seconds: float = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.plain + other.plain, self.renamed + other.renamed,
            self.wrong + other.wrong, self.seconds + other.seconds,
        )  # fmt: skip

    def __str__(self) -> str:
        grades = f"{self.plain:5} grades, {self.renamed:5} with other names"
        return f"{grades}, {len(self.wrong)} not as declared, {self.seconds:6.1f} s"


def played(name: str, ids: Sequence[str]) -> Count:
    """All solutions of a lab for these students."""
    text = (FOLDER / f"{name}{_SUFFIX}").read_text("utf-8")
    count, started = Count(), time.process_time()
    for trial in trials(text, name, ids):
        found = [f"{name}: {trial.name}: {trial.wrong}"] if trial.wrong else []
        count += Count(int(not trial.renamed), int(trial.renamed), tuple(found))
    lab = loads(text, name, student=ids[0])
    handout = unusable_handout(lab)
    wrong = tuple(f"{name}: {text}" for text in (*leaks(lab), *([handout] if handout else ())))
    return count + Count(wrong=wrong, seconds=time.process_time() - started)


def solutions(chosen: Iterable[str], count: int) -> bool:
    """The table of the solutions; whether all were judged as declared."""
    total = Count()
    for name in chosen:
        found = played(name, students(count))
        total += found
        say(f"{name:14} {found}")
        for wrong in found.wrong:
            say(f"  {wrong}")
    say(f"{'all':14} {total}")
    return not total.wrong


# --------------------------------------------------------------------------- mutants
def lab_mutants() -> dict[str, Mutant]:
    """Lab → its mutant."""
    return {mutant.statement: mutant for mutant in load([TABLE]).values()}


def asked(copy: Copy, mutant: Mutant) -> Result:
    """What the lab of a mutant answers to it."""
    items = Items(labs=[f"instructor/labs/{mutant.statement}{_SUFFIX}"])
    return copy.run(mutant, items, _LONGEST_S)


def is_noticed(result: Result) -> bool:
    """Whether a solution was graded, and judged otherwise: not by a setup that fails."""
    return result.outcome == Outcome.NOTICED and "not-graded" not in result.by


def mutants(chosen: Iterable[str]) -> bool:
    """The table of the mutants; whether each was noticed."""
    table, copy, survived = lab_mutants(), Copy(), 0
    try:
        if not copy.imports_itself():
            sys.exit("the copy imports the installed program, not itself")
        for name in chosen:
            result = asked(copy, table[name])
            survived += not is_noticed(result)
            say(f"{name:14} {result.outcome:9} {table[name].says}\n{'':15}{result.by[:160]}")
    finally:
        copy.close()
    say(f"mutants: {survived} not noticed")
    return not survived


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.classroom.campaign", description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="default: all")
    parser.add_argument("--part", choices=("solutions", "mutants"))
    parser.add_argument("--students", type=int, default=STUDENTS)
    given = parser.parse_args()
    chosen = given.labs or names()
    good = True
    if given.part in (None, "solutions"):
        good = solutions(chosen, given.students)
    if given.part in (None, "mutants"):
        good = mutants(chosen) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
