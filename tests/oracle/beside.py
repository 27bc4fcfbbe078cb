"""What `strict` answers where `rxe` answers something else, and which cells make the difference.

A completion's opcode and byte_len are left out where they mean nothing: on an error, and the bytes
of what was sent (strict does not fill them in: cell send_byte_len).
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

from rdmalab.spec.profiles import CELLS, RXE, STRICT, Profile
from rdmalab.spec.rules import RULES
from rdmalab.spec.statuses import WCStatus
from tests.oracle.entries import Entry

_CAPS = "caps."
_ROW = 4  # wr_id, status, opcode, byte_len
_COUNTED = ("RDMA_READ", "COMP_SWAP", "FETCH_ADD", "RECV", "RECV_RDMA_WITH_IMM")


def _differ(one: Any, other: Any) -> list[str]:
    return [f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)]


CELL_NAMES = [name for name in _differ(RXE, STRICT) if name not in ("name", "about", "caps")] + [
    _CAPS + name for name in _differ(RXE.caps, STRICT.caps)
]


def rxe_but(cells: list[str]) -> Profile:
    """Soft-RoCE with some cells as strict has them."""
    plain = {name: getattr(STRICT, name) for name in cells if not name.startswith(_CAPS)}
    names = [name.removeprefix(_CAPS) for name in cells if name.startswith(_CAPS)]
    caps = {name: getattr(STRICT.caps, name) for name in names}
    return replace(RXE, caps=replace(RXE.caps, **caps), **plain)


# --------------------------------------------------------------------------- one entry
def plain(answer: Any) -> Any:
    """An answer without what has no meaning in it."""
    if isinstance(answer, dict):
        return {key: plain(value) for key, value in answer.items()}
    if isinstance(answer, list) and len(answer) == _ROW and answer[1] in WCStatus.__members__:
        if answer[1] != "SUCCESS":
            return answer[:2]
        return answer if answer[2] in _COUNTED else answer[:3]
    return [plain(item) for item in answer] if isinstance(answer, list) else answer


def answer_of(entry: Entry, profile: Profile) -> Any:
    return plain(entry.asked(profile)[0])


class Beside(NamedTuple):
    """Two answers to one entry. rules: what only strict refused by, or with another errno."""

    rxe: Any
    strict: Any
    rules: list[str]

    @property
    def differs(self) -> bool:
        return bool(self.rxe != self.strict)


def beside(entry: Entry) -> Beside:
    """Ask both."""
    there, refused_there = entry.asked(RXE)
    here, refused_here = entry.asked(STRICT)
    rules = [rule for rule, errno in refused_here if (rule, errno) not in refused_there]
    return Beside(plain(there), plain(here), rules)


def responsible(ask: Callable[[Profile], Any], strict: Any) -> list[str]:
    """The cells that together turn rxe's answer into strict's, none of them in vain."""
    cells = list(CELL_NAMES)
    size = len(cells) // 2
    while size:
        at = 0
        while at < len(cells):
            fewer = cells[:at] + cells[at + size :]
            if ask(rxe_but(fewer)) == strict:
                cells = fewer
            else:
                at += size
        size //= 2
    return cells


# --------------------------------------------------------------------------- in words
def _leaves(answer: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield from _leaves(value, f"{path} {key}".strip())
    else:
        yield path or "rc", _value_text(answer)


def _value_text(value: Any) -> str:
    """`2 SUCCESS SEND, 3 WR_FLUSH_ERR`; `RTS RTS`."""
    if not isinstance(value, list):
        return str(value)
    is_rows = any(isinstance(item, list) for item in value)
    return (", " if is_rows else " ").join(_value_text(item) for item in value)


def rendered(name: str, found: Beside, cells: list[str]) -> str:
    """One paragraph of the table."""
    there, here = dict(_leaves(found.rxe)), dict(_leaves(found.strict))
    lines = [name]
    for what in dict.fromkeys((*there, *here)):
        one, other = there.get(what, "nothing"), here.get(what, "nothing")
        if one != other:
            lines.append(f"    {what}: {one} -> {other}")
    lines += [f"    rule {rule}: {RULES[rule].general}" for rule in found.rules]
    lines += [f"    cell {cell}: {_about(cell)}" for cell in cells]
    return "\n".join(lines)


def _about(cell: str) -> str:
    if cell.startswith(_CAPS):
        name = cell.removeprefix(_CAPS)
        return f"{getattr(RXE.caps, name)} -> {getattr(STRICT.caps, name)}"
    if cell in CELLS:
        return CELLS[cell]
    there, here = getattr(RXE, cell), getattr(STRICT, cell)  # a table of its own
    return "other rows for " + " ".join(row for row in there if there[row] != here.get(row))


def cells_in(table: str) -> dict[str, list[str]]:
    """Of each entry in a table, the cells it names."""
    found: dict[str, list[str]] = {}
    for paragraph in table.split("\n\n"):
        name, *lines = paragraph.splitlines()
        words = [line.split()[:2] for line in lines]
        found[name] = [word[1].rstrip(":") for word in words if word[0] == "cell"]
    return found
