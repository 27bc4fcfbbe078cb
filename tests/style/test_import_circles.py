"""No module needs one that needs it, also for a type checker alone.

`lint-imports` looks at what runs; here the imports below `if TYPE_CHECKING` count as well. A circle
that stays is named in ARCHITECTURE, "Circles of types".
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rdmalab"
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def imported_by(module: str) -> set[str]:
    """The modules of this package that a module imports, wherever in its text."""
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in FILES else node.module for name in whole}
    return {name for name in found if name in FILES} - {module}


def named_circles() -> list[frozenset[str]]:
    """The circles that ARCHITECTURE names, each a row of modules."""
    text = (PACKAGE / "ARCHITECTURE.md").read_text("utf-8")
    table = text.partition("## Circles of types")[2].partition("\n## ")[0]
    lines = (line for line in table.splitlines() if line.startswith("|"))
    rows = (re.findall(r"`([\w/]+)\.py`", line) for line in lines)
    return [frozenset("rdmalab." + name.replace("/", ".") for name in row) for row in rows if row]


def first_circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one circle, in the order of its imports; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        return list(circle.args[1])
    return []


def test_only_the_circles_of_architecture_are_there() -> None:
    graph, named = {module: imported_by(module) for module in FILES}, named_circles()
    for _ in count():
        circle = first_circle(graph)
        if not circle:
            return
        known = next((one for one in named if one.issuperset(circle)), None)
        assert known, f"break it by a Protocol, or name it in ARCHITECTURE: {' -> '.join(circle)}"
        for module in known:
            graph[module] -= known


def test_a_circle_that_architecture_names_is_one() -> None:
    for named in named_circles():
        assert named <= FILES.keys(), "ARCHITECTURE names a module that is not there"
        graph = {module: imported_by(module) & named for module in named}
        while loose := [module for module in graph if not graph[module]]:
            graph = {module: graph[module] - set(loose) for module in graph if module not in loose}
        assert graph, f"ARCHITECTURE names a circle that is none any more: {sorted(named)}"
