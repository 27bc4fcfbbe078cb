"""What a package answers, as JSON: the same questions go to pyverbs, in its own Python, and to us.

Run as a program by the Python that has pyverbs: standard library only, no import of the project.
"""

import enum
import importlib
import json
import re
import sys
from types import GetSetDescriptorType, ModuleType
from typing import Any

# Not initialised, these are a crash if they are to show themselves.
NULL_SHOWN = ("CQ", "CQEX", "MR", "MW", "QP")
_SEVERAL = range(100)  # more arguments than anything takes


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


def surface(package: str, module: str) -> dict[str, Any]:
    """The classes and functions of a module: what they are called, and how they are.

    A class: its name as it shows itself, its bases, its attributes by name, "()": a method.
    """
    found = importlib.import_module(package + module)
    kinds = {
        name: {
            "shown": f"{kind.__module__}.{kind.__qualname__}",
            "bases": [base.__name__ for base in kind.__mro__[1:]],
            "names": sorted(
                name + "()" * callable(getattr(kind, name))
                for name in dir(kind)
                if not name.startswith("_")
            ),
        }
        for name, kind in own(found).items()
    }
    functions = [
        name
        for name, it in vars(found).items()
        if not isinstance(it, type) and callable(it) and not name.startswith("_")
        if str(getattr(it, "__module__", "")).endswith(module)
    ]
    return {"kinds": kinds, "functions": sorted(functions)}


def refusals(package: str, what: list[list[Any]]) -> list[list[str]]:
    """[module, class or "", function, parameters or None] → how it takes no such arguments.

    Three wrong calls that no function survives: too many arguments, an unknown name, and that
    after all parameters. Classes are not initialised, so nothing else may be called of them.
    """
    answers = []
    for module, kind, function, parameters in what:
        of: Any = importlib.import_module(package + module)
        if kind:
            of = getattr(of, kind)
            of = of.__new__(of)
        ask = getattr(of, function)
        texts = [_refusal(ask, _SEVERAL, {})]
        if parameters is not None:
            texts.append(_refusal(ask, (), {"unheard_of": None}))
            texts.append(_refusal(ask, (), {**dict.fromkeys(parameters), "unheard_of": None}))
        answers.append(texts)
    return answers


def _refusal(ask: Any, given: Any, named: dict[str, Any]) -> str:
    try:
        ask(*given, **named)
    except TypeError as error:
        return re.sub(r"^[\w.]*\b(?=\w+\(\))", "", str(error))
    return "taken"


def scripts(package: str, questions: list[list[Any]]) -> list[list[Any]]:
    """[object, steps] → what each step says; the object alone if it cannot be made.

    An object is described: {"class": "addr.GID", "given": [...], "named": {...}, "set": {...}}, or
    {"new": "mr.MR"} for one that is not initialised, {"bytes": "abc"}; they may be nested. Steps:
    ["get", name], ["set", name, value], ["str"], ["repr"], ["call", name, arguments]; a name may
    be that of an attribute's attribute, "cap.max_send_wr".
    """
    answers = []
    for description, steps in questions:
        try:
            made = _made(package, description)
        except Exception as error:  # noqa: BLE001 — any error is an answer
            answers.append([_described(error)])
            continue
        answers.append([_step(package, made, step) for step in steps])
    return answers


def memory(package: str, allocate: list[Any], calls: list[list[Any]]) -> list[Any]:
    """[function, argument...] of memory → what it answers, then all 64 bytes of it.

    allocate: function and arguments that get the memory; {"at": 8} is an address in it.
    """
    module = importlib.import_module(package + "mem_alloc")
    function, *given = allocate
    base = getattr(module, function)(*given)
    module.write(base, bytes(64), 64)
    answers = []
    for name, *arguments in calls:
        ready = [base + it["at"] if isinstance(it, dict) and "at" in it else it for it in arguments]
        try:
            answers.append(_described(getattr(module, name)(*_made(package, ready))))
        except Exception as error:  # noqa: BLE001 — any error is an answer
            answers.append(_described(error))
    return [*answers, _described(module.read(base, 64))]


def _step(package: str, made: Any, step: list[Any]) -> Any:
    word, *rest = step
    try:
        if word in ("get", "set"):
            outer, _, name = rest[0].rpartition(".")
            of = getattr(made, outer) if outer else made
            return (
                _described(getattr(of, name)) if word == "get" else _set(package, of, name, rest[1])
            )
        if word == "call":
            return _described(getattr(made, rest[0])(*_made(package, rest[1])))
        return {"str": str(made), "repr": repr(made).partition(" at ")[0]}[word]
    except Exception as error:  # noqa: BLE001 — any error is an answer
        return _described(error)


def _set(package: str, of: Any, name: str, described: Any) -> None:
    setattr(of, name, _made(package, described))


def _made(package: str, described: Any) -> Any:
    """The object that is described; numbers and texts are as they are."""
    if isinstance(described, list):
        return [_made(package, each) for each in described]
    if not isinstance(described, dict):
        return described
    if "bytes" in described:
        return described["bytes"].encode("latin-1")
    module, _, name = (described.get("class") or described["new"]).rpartition(".")
    kind = getattr(importlib.import_module(package + module), name)
    if "new" in described:
        return kind.__new__(kind)
    named = {key: _made(package, each) for key, each in described.get("named", {}).items()}
    made = kind(*_made(package, described.get("given", [])), **named)
    for key, each in described.get("set", {}).items():
        setattr(made, key, _made(package, each))
    return made


def _described(value: Any) -> Any:
    """A value, or an error, as JSON; of an object its class and its text."""
    if isinstance(value, Exception):
        return {"error": type(value).__name__, "text": _worded(value)}
    if value is None or type(value) in (int, str, bool):
        return value
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, (list, tuple)):
        return [_described(each) for each in value]
    kind = f"{type(value).__module__}.{type(value).__name__}"
    shown = "" if type(value).__name__ in NULL_SHOWN else str(value).partition(" at 0x")[0]
    return {"kind": kind, "shown": shown}


def _worded(error: Exception) -> str:
    """The text; where Python itself and Cython word the same differently, what it is about."""
    text = str(error)
    if isinstance(error, TypeError) and "argument" in text and "()" in text:
        return "arguments"
    if isinstance(error, AttributeError):
        text = re.sub(r"'(pyverbs|rdmalab)[.\w]*\.(\w+)'", r"'\2'", text)
        text = re.sub(r"^property ('\w+' of '\w+').*setter$", r"attribute \1", text)
        text = re.sub(r" objects is not writable$", "", text)
    return text


def own(module: ModuleType) -> dict[str, type]:
    """The public classes a module defines itself."""
    return {
        name: it
        for name, it in vars(module).items()
        if isinstance(it, type) and module.__name__.endswith(it.__module__)
        if not name.startswith("_")
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
