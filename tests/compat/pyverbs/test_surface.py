"""The names of the skin are those of pyverbs: classes, what they have, how they are called."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.compat import newer
from tests.compat.real import OURS, needs_pyverbs, ours, real

MODULES = ("addr", "base", "cq", "device", "mem_alloc", "mr", "pd", "qp", "srq", "wr", "xrcd")
Row = tuple[str, str, str, "list[str] | None"]

# What the modules of the skin say to each other: to let the lab do it, they must see it.
_OBJECT = {"DESTROY", "FAILS", "RANK", "children", "found", "node", "ref"}
_STRUCT = {"c", "fill()", "numbers()", "parts"}
OWN_OF_BASES = {"LabObject": _OBJECT, "Struct": _STRUCT}
OWN = {
    "AHAttr": {"route_rows()", "rows()"},
    "AsyncEvent": {"about()"},
    "CQ": {"unacknowledged"},
    "DataBuffer": {"read()"},
    "DeviceAttr": {"take()"},
    "DeviceAttrEx": {"take()"},
    "GID": {"bits"},
    "MWBind": {"as_arguments()"},
    "MWBindInfo": {"as_arguments()"},
    "ParentDomainInitAttr": {"parent"},
    "QPAttr": {"paths", "take_path()", "as_arguments()"},
    "QPInitAttr": {"as_arguments()"},
    "QPInitAttrEx": {"as_arguments()"},
    "RecvWR": {"chain()", "copy_to()", "following", "sg", "as_arguments()"},
    "SGE": {"as_arguments()"},
    "SendWR": {"chain()", "copy_to()", "following", "sg", "as_arguments()", "union", "xrc"},
    "SrqInitAttrEx": {"as_arguments()"},
}
OWN_CLASSES = {"LabObject"}


def _pairs(module: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    (theirs,), (mine,) = real(["surface", module]), ours(["surface", module])
    more = set(mine["kinds"]) - OWN_CLASSES - set(theirs["kinds"])
    assert set(theirs["kinds"]) <= set(mine["kinds"])
    assert more <= set(newer.classes(module))
    for name, kind in theirs["kinds"].items():
        yield name, kind, mine["kinds"][name]


@needs_pyverbs
@pytest.mark.parametrize("module", MODULES)
def test_classes_have_the_names_of_pyverbs_and_few_more(module: str) -> None:
    for name, theirs, mine in _pairs(module):
        more = set(OWN.get(name, ()))
        for base in mine["bases"]:
            more |= OWN_OF_BASES.get(base, set())
        differing = set(mine["names"]) ^ set(theirs["names"])
        since = {each for each in differing if newer.has(module, [name, *mine["bases"]], each)}
        assert differing - since == more, name


@needs_pyverbs
@pytest.mark.parametrize("module", MODULES)
def test_classes_have_the_bases_of_pyverbs_and_show_themselves_as_its(module: str) -> None:
    for _name, theirs, mine in _pairs(module):
        known = [
            base for base in mine["bases"] if base in ("PyverbsObject", "PyverbsCM", *_kinds())
        ]
        assert [*known, "object"] == theirs["bases"]
        assert (
            mine["shown"]
            == theirs["shown"]
            == f"pyverbs.{module}." + theirs["shown"][9 + len(module) :]
        )


def _kinds() -> set[str]:
    return {"MR", "PD", "QP"}  # classes with derived ones


@needs_pyverbs
@pytest.mark.parametrize("module", MODULES)
def test_functions_are_those_of_pyverbs(module: str) -> None:
    (theirs,), (mine,) = real(["surface", module]), ours(["surface", module])
    assert set(theirs["functions"]) <= set(mine["functions"])


@needs_pyverbs
@pytest.mark.parametrize("module", ["base", "mem_alloc", "mr"])
def test_constants_are_those_of_pyverbs(module: str) -> None:
    (theirs,), (mine,) = real(["numbers", module]), ours(["numbers", module])
    assert theirs["numbers"].items() <= mine["numbers"].items()


@needs_pyverbs
@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_those_of_pyverbs(module: str) -> None:
    """Number, names and order of all; of a single one that it cannot be named."""
    rows, expected = [], []
    for row, answer in _wrong_calls(module):
        if row[:3] in newer.PARAMETERS:
            continue
        rows.append(list(row))
        expected.append(answer)
    (theirs,) = real(["refusals", rows])
    differing = [row for row in zip(rows, theirs, expected, strict=True) if row[1] != row[2]]
    assert not differing


def _wrong_calls(module: str) -> Iterator[tuple[Row, list[str]]]:
    """All functions and methods of pyverbs, and what they say if they are as the skin's."""
    (theirs,) = real(["surface", module])
    skin = importlib.import_module(OURS + module)
    for name in theirs["functions"]:
        yield _wrong(module, "", name, getattr(skin, name))
    for kind, each in theirs["kinds"].items():
        if kind == "Device":  # the one class that pyverbs writes in Python: it counts `self` too
            continue
        bare = getattr(skin, kind).__new__(getattr(skin, kind))
        methods = [method.removesuffix("()") for method in each["names"] if method.endswith("()")]
        for method in ["__init__", *methods]:
            yield _wrong(module, kind, method, getattr(bare, method))


def _wrong(
    module: str, kind: str, name: str, function: Callable[..., Any]
) -> tuple[Row, list[str]]:
    parameters = inspect.signature(function).parameters.values()
    plain = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    needed = [each.name for each in plain if each.default is each.empty]
    only = [each.name for each in plain if each.kind is each.POSITIONAL_ONLY]
    names = [each.name for each in plain]
    if only == names and name != "__init__":
        count = "exactly one argument" if only else "no arguments"
        texts = [
            f"{name}() takes {count} (100 given)",
            *2 * [f"{name}() takes no keyword arguments"],
        ]
        return (module, kind, name, names), texts
    most = "exactly" if needed == names else "at most"
    texts = [f"{name}() takes {most} {_counted(len(names))} (100 given)"]
    if len(plain) < len(parameters):  # an unknown name is none
        return (module, kind, name, None), texts
    unknown = f"{name}() got an unexpected keyword argument 'unheard_of'"
    least = "exactly" if needed == names else "at least"
    missing = f"{name}() takes {least} {_counted(len(needed))} (0 given)"
    return (module, kind, name, names), [*texts, missing if needed else unknown, unknown]


def _counted(count: int) -> str:
    return f"{count} positional argument" + "s" * (count != 1)
