"""What a package answers, as JSON: the same questions go to pyverbs, in its own Python, and to us.

Run as a program by the Python that has pyverbs: standard library only, no import of the project.
"""

import enum
import importlib
import json
import sys
from types import GetSetDescriptorType, ModuleType
from typing import Any


def calls(package: str, questions: list[list[Any]]) -> list[list[Any]]:
    """[module, function, arguments] → ["", result] or [exception, text]."""
    answers: list[list[Any]] = []
    for module, function, arguments in questions:
        ask = getattr(importlib.import_module(package + module), function)
        try:
            answers.append(["", ask(*arguments)])
        except Exception as error:  # noqa: BLE001 — any error is an answer
            answers.append([type(error).__name__, str(error)])
    return answers


def numbers(package: str, module: str) -> dict[str, Any]:
    """Every enum with its members in their order, and every name that is a number."""
    names = vars(importlib.import_module(package + module))
    enums = {name: it for name, it in names.items() if _is_enum(it)}
    return {
        "enums": {name: [[*it] for it in _members(kind)] for name, kind in enums.items()},
        "numbers": {name: int(it) for name, it in names.items() if isinstance(it, int)},
    }


def classes(package: str, module: str) -> dict[str, dict[str, list[str]]]:
    """The public classes a module defines: their bases among such, and functions of the class."""
    return {
        name: {
            "bases": [base.__name__ for base in kind.__mro__[1:] if base.__name__ in FAMILIES],
            "static": sorted(_static(kind)),
        }
        for name, kind in own(importlib.import_module(package + module)).items()
    }


def errors(package: str, name: str, given: list[list[Any]]) -> list[list[Any]]:
    """Exceptions made of these: the text and the errno."""
    kind = getattr(importlib.import_module(f"{package}pyverbs_error"), name)
    made = [kind(*arguments) for arguments in given]
    return [[str(error), error.args, getattr(error, "error_code", None)] for error in made]


def attributes(
    package: str, module: str, name: str, given: list[Any], named: dict[str, Any], read: list[str]
) -> list[Any]:
    """What an object holds that was made of these."""
    made = getattr(importlib.import_module(package + module), name)(*given, **named)
    return [getattr(made, attribute) for attribute in read]


def properties(package: str, module: str) -> dict[str, list[str]]:
    """The attributes that C holds for each class of a module."""
    kinds = own(importlib.import_module(package + module))
    return {
        name: [
            attribute
            for attribute in dir(kind)
            if isinstance(getattr(kind, attribute), GetSetDescriptorType)
            and not attribute.startswith("_")
        ]
        for name, kind in kinds.items()
    }


def own(module: ModuleType) -> dict[str, type]:
    """The public classes a module defines itself."""
    return {
        name: it
        for name, it in vars(module).items()
        if isinstance(it, type) and it.__module__ == module.__name__ and not name.startswith("_")
    }


# Families whose root is such a class too; other roots are of modules that talk to a device.
FAMILIES = ("DrAction", "Flow", "FlowAction", "Mlx5Context", "Spec", "WqeSeg")


def _is_enum(it: object) -> bool:
    return isinstance(it, type) and issubclass(it, enum.IntEnum) and it is not enum.IntEnum


def _members(kind: Any) -> list[tuple[str, int]]:
    return [(name, member.value) for name, member in kind.__members__.items()]


def _static(kind: type) -> set[str]:
    return {
        name
        for name in dir(kind)
        if not name.startswith("_")
        and any(isinstance(vars(base).get(name), staticmethod) for base in kind.__mro__)
    }


if __name__ == "__main__":
    question = json.load(sys.stdin)
    json.dump([globals()[name](*given) for name, *given in question], sys.stdout)
