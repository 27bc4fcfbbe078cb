"""Requester, responder and completer write only in their own notebook."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HCA = Path(__file__).parents[2] / "rdmalab" / "hca"
OWN = {"requester.py": "req", "completer.py": "comp", "responder": "resp"}
NOTEBOOKS = {"req", "comp", "resp"}


def written(source: str) -> Iterator[str]:
    """Notebooks that are assigned into: `qp.req.psn = …`, `req.psn += …`, `qp.req = …`."""
    for node in ast.walk(ast.parse(source)):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute):
                    yield from _notebook(part)


def _notebook(attribute: ast.Attribute) -> Iterator[str]:
    holder = attribute.value
    if isinstance(holder, ast.Attribute) and holder.attr in NOTEBOOKS:
        yield holder.attr
    elif isinstance(holder, ast.Name) and holder.id in NOTEBOOKS:
        yield holder.id
    elif attribute.attr in NOTEBOOKS:
        yield attribute.attr


@pytest.mark.parametrize("engine", OWN)
def test_each_engine_writes_only_in_its_own_notebook(engine: str) -> None:
    path = HCA / engine
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    found = {name for file in files for name in written(file.read_text("utf-8"))}
    assert found == {OWN[engine]}


def test_the_search_sees_what_it_must() -> None:
    source = "qp.req.psn = 1\ncomp.serial += 1\nqp.resp = x\nreq, other.psn = 1, 2\n"
    assert set(written(source)) == {"req", "comp", "resp"}
