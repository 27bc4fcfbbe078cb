"""The kit has what many families of checks need, and no family imports such a name itself."""

import ast
from pathlib import Path

import rdmalab.doctor.checks
from rdmalab.doctor import kit

FAMILIES = [
    ast.parse(file.read_text())
    for file in Path(rdmalab.doctor.checks.__path__[0]).glob("*.py")
    if file.name != "__init__.py"
]
SEVERAL = 2


def imported(tree: ast.Module) -> set[str]:
    found = [
        alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return {alias.asname or alias.name for alias in found} - {"*"}


NAMES = imported(ast.parse(Path(kit.__file__).read_text()))


def test_each_name_of_the_kit_is_used_by_several_families() -> None:
    used = [{node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} for tree in FAMILIES]
    rare = {name for name in NAMES if sum(name in each for each in used) < SEVERAL}
    assert not rare, "import it in the families that use it"


def test_no_family_imports_what_the_kit_has() -> None:
    assert not {name for tree in FAMILIES for name in imported(tree) & NAMES}
