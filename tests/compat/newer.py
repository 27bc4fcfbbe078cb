"""What pyverbs of rdma-core 64 has, from its sources: names, numbers, what its tests import.

Facts only, in `tests/data/pyverbs_64.json`; a name that the installed pyverbs (44) does not know
must be one of these.
"""

import json
from pathlib import Path
from typing import Any

_FACTS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "pyverbs_64.json").read_text()
)
# Where modules of the layout up to rdma-core 58 have their names now.
MOVED = {"enums": "libibverbs_enums", "cm_enums": "librdmacm_enums"}
# Since then an argument, or a number, is taken that rdma-core 44 refuses.
PARAMETERS = {
    ("device", "", "speed_to_str"), ("pd", "ParentDomainInitAttr", "__init__"),
}  # fmt: skip
ENUM_MODULES: tuple[str, ...] = tuple(_FACTS["numbers"])
IMPORTED: dict[str, list[str]] = {name: row.split() for name, row in _FACTS["imported"].items()}


def enums(module: str) -> dict[str, dict[str, int]]:
    """The enums of a module: name → members. "" and "_": constants of no named enum."""
    rows: dict[str, str] = _FACTS["numbers"][MOVED.get(module, module)]
    pairs = {enum: [word.split("=") for word in row.split()] for enum, row in rows.items()}
    return {enum: {name: int(number) for name, number in row} for enum, row in pairs.items()}


def numbers(module: str) -> dict[str, int]:
    """All numbers of a module by name."""
    return {name: number for row in enums(module).values() for name, number in row.items()}


def classes(module: str) -> dict[str, set[str]]:
    """The classes of a module and what each has of its own."""
    rows: dict[str, str] = _FACTS["surface"][module]["classes"]
    return {name: set(row.split()) for name, row in rows.items()}


def has(module: str, kinds: list[str], name: str) -> bool:
    """Whether one of these classes of rdma-core 64 has a method `name()` or attribute `name`."""
    known = classes(module)
    return any(name.removesuffix("()") in known.get(kind, set()) for kind in kinds)
