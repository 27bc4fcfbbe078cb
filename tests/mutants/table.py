"""The table of mutants: read from `table/*.yaml`, found in today's source, applied to it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.tables import read_table

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "rdmalab"
TABLES = HERE / "table"


class NotApplicable(Exception):  # noqa: N818
    """The source has moved: the text that a mutant replaces is not there once."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement. file: below `rdmalab/`; within: the function, class or name it lies in,
    empty for the whole file; `old` stands there exactly once."""

    file: str
    within: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to make a statement false, or what a lab teaches.

    statement: its id, or the id of the lab. number: counts the mutants of a statement from 1.
    says: what is true of the mutated program. equivalent: the proof that no program can tell it
    from the original; empty for all others. moved: why its text is not that of the first run, where
    the source has moved since.
    """

    statement: str
    number: int
    says: str
    edits: tuple[Edit, ...]
    equivalent: str = ""
    moved: str = ""

    @property
    def name(self) -> str:
        """`S042-1`."""
        return f"{self.statement}-{self.number}"

    @property
    def fingerprint(self) -> str:
        """Changes with what the mutant replaces, so that a recorded result cannot be of another."""
        return sha256(repr(self.edits).encode()).hexdigest()[:12]


def load(files: Iterable[Path] | None = None) -> dict[str, Mutant]:
    """All mutants by name, in the order of their statements; of other files: of their subjects."""
    files = TABLES.glob("*.yaml") if files is None else files
    found = [mutant for file in files for mutant in _of_file(file)]
    found.sort(key=lambda mutant: (mutant.statement, mutant.number))
    return {mutant.name: mutant for mutant in found}


def _of_file(file: Path) -> Iterator[Mutant]:
    for statement, rows in read_table(file).items():
        for number, row in enumerate(rows, start=1):
            edits = (_edit(row, row), *(_edit(row, more) for more in row.get("also", ())))
            proof, moved = row.get("equivalent", ""), row.get("moved", "")
            yield Mutant(statement, number, row["says"], edits, proof, moved)


def _edit(row: dict[str, Any], edit: dict[str, Any]) -> Edit:
    """Another edit of the same mutant lies in the same place unless it names one."""
    file = edit.get("file", row["file"])
    within = edit.get("within", row.get("within", "") if file == row["file"] else "")
    return Edit(file, within, edit["old"], edit["new"])


# --------------------------------------------------------------------------- applied
def mutated(mutant: Mutant, package: Path = PACKAGE) -> dict[str, str]:
    """file → its source with the mutant in it; NotApplicable names mutant, file and text."""
    sources: dict[str, str] = {}
    for edit in mutant.edits:
        path = package / edit.file
        if not path.exists():
            raise NotApplicable(f"{mutant.name}: there is no rdmalab/{edit.file}")
        source = sources.get(edit.file, path.read_text("utf-8"))
        sources[edit.file] = _applied(mutant, edit, source)
    return sources


def _applied(mutant: Mutant, edit: Edit, source: str) -> str:
    where = f"rdmalab/{edit.file}" + (f", {edit.within}" if edit.within else "")
    start, stop = _span(source, edit.within)
    if stop < 0:
        raise NotApplicable(f"{mutant.name}: {where}: not one definition has this name")
    part = source[start:stop]
    if (count := part.count(edit.old)) != 1:
        text = edit.old.strip().splitlines()[0]
        raise NotApplicable(
            f"{mutant.name}: {where}: this text must stand there once, not {count} times: {text}"
        )
    return source[:start] + part.replace(edit.old, edit.new) + source[stop:]


def _span(source: str, within: str) -> tuple[int, int]:
    """From the first to the last character of a definition; (0, -1) where not exactly one is."""
    if not within:
        return 0, len(source)
    nodes = list(_named(ast.parse(source), within.split(".")))
    if len(nodes) != 1 or nodes[0].end_lineno is None:
        return 0, -1
    lines = source.splitlines(keepends=True)
    first, last = nodes[0].lineno - 1, nodes[0].end_lineno
    return sum(map(len, lines[:first])), sum(map(len, lines[:last]))


def _named(tree: ast.AST, path: list[str]) -> Iterator[ast.stmt]:
    """The definitions, at any depth, whose names are the parts of the path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and path[0] in _names(node):
            if len(path) == 1:
                yield node
            else:
                yield from _named(node, path[1:])


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [target.id for target in targets if isinstance(target, ast.Name)]
