"""Asked under the system's Python: does the installed pyverbs have what a program uses?

Reads questions from stdin, writes one complaint or null for each. Opens no device.
"""

import importlib
import json
import re
import sys
from collections.abc import Callable
from typing import Any

# No function has it, so a call with it ends while its arguments are read: no body ever runs.
_ODD = "argument_that_nothing_has"


def has_name(module: str, name: str) -> str | None:
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        return str(error)
    return None if not name or hasattr(found, name) else f"{module} has no {name}"


def has_attribute(module: str, cls: str, name: str) -> str | None:
    kind = getattr(importlib.import_module(module), cls)
    return None if hasattr(kind, name) else f"{cls} has no {name}"


def can_set(module: str, cls: str, name: str) -> str | None:
    """A setter that minds the type of the value is a setter all the same."""
    instance = _bare(module, cls)
    try:
        # Setters of queues cast to CQEX without looking.
        setattr(instance, name, _bare("pyverbs.cq", "CQEX"))
    except AttributeError as error:
        return f"{cls}: {error}"
    except TypeError:
        pass
    return None


def can_call(
    module: str, cls: str, method: str, positional: int, keywords: list[str]
) -> str | None:
    """That many arguments in a row, and these by name."""
    bound = getattr(_bare(module, cls), method, None)
    if bound is None:
        return f"{cls} has no {method}"
    doc = bound.__doc__ or ""
    if ":param kwargs:" in doc:  # takes any name: only its text says which it knows
        known = set(re.findall(r":param (\w+):", doc)) | set(re.findall(r"\* \*(\w+)\*", doc))
        unknown = sorted(set(keywords) - known)
        return f"{cls}.{method} documents no {unknown}" if unknown else None
    text = _complaint(bound, *[None] * positional, **dict.fromkeys([*keywords, _ODD]))
    if _ODD in text:
        return None
    if "takes no keyword arguments" not in text or keywords:
        return f"{cls}.{text}"
    # Cython compiles methods of no or one argument so; two are too many for either.
    takes = 0 if "takes no arguments" in _complaint(bound, None, None) else 1
    return None if takes == positional else f"{cls}.{method} takes {takes} arguments"


def _bare(module: str, cls: str) -> Any:
    """An instance that was never initialized: it stands for nothing on any device."""
    kind = getattr(importlib.import_module(module), cls)
    return kind.__new__(kind)


def _complaint(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    try:
        call(*given, **named)
    except TypeError as error:
        return str(error)
    raise AssertionError(f"{call} took anything")


_ASK: dict[str, Callable[..., str | None]] = {
    "name": has_name,
    "get": has_attribute,
    "set": can_set,
    "call": can_call,
}


def answer(kind: str, *details: Any) -> str | None:
    try:
        return _ASK[kind](*details)
    except (ImportError, AttributeError) as error:  # of a class that is not there
        return str(error)


if __name__ == "__main__":
    json.dump([answer(*question) for question in json.load(sys.stdin)], sys.stdout)
