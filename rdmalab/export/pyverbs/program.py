"""A session as a program in Python with pyverbs: `export pyverbs`.

It has both devices and makes the calls of the session in its order, as the program in C does. Run
by `rdmalab python --call-time 0`, its calls take no virtual time, so each packet is where it was.
"""

import re
from collections.abc import Sequence

from rdmalab.export.pyverbs import completions, objects, requests
from rdmalab.export.pyverbs.text import TAB, Lines, Scope, Writer, checked
from rdmalab.export.replay.calls import Bytes, Chapter
from rdmalab.export.replay.names import variable
from rdmalab.export.replay.program import WIDTH, Language, Program, folded, helpers, wrapped
from rdmalab.session.session import Session
from rdmalab.views import fmt

CALLS = Language[Writer, Lines](
    (objects, requests, completions), Scope, checked, "is not in pyverbs, or not in its skin"
)


_PART = re.compile(r"# part: (\w+)\n")
_MODULES = ("errno", "os", "socket", "time")
_FEW = 16
_BRING = {
    "refused": ("pyverbs_error", "PyverbsRDMAError", set[str]()),
    "take_ex": ("cq", "PollCqAttr", {"take"}),
}  # fmt: skip
"""Names that a helper imports from pyverbs, and other helpers that it needs."""
_RUN = re.compile(rb"(.)\1{16,}|(?:(?!(.)\2{16}).){1,48}", re.DOTALL)


def is_program(octets: bytes) -> bool:
    """Whether a file is a program that was exported, which a later one may replace."""
    return octets.startswith(b'"""') and b"Made by rdmalab" in octets[:2000]


def program(session: Session, title: str, chapters: Sequence[Chapter] = ()) -> str:
    """The text of the program; NotExportable says what no program can do.

    title: its docstring. chapters: parts of the journal; none: parts of thirty calls.
    """
    return _Program(CALLS, Writer(), session, chapters).text(title)


class _Program(Program[Writer, Lines]):
    """Its calls stand at the level of the module."""

    def write(self, title: str) -> str:
        """All of it."""
        body: list[str] = []
        for chapter in self.chapters:
            body += ["", *self.comment(chapter.title), *self.replay.until(chapter.stop)]
        body += ["", *self.looks()]
        done = fmt.count(self.writer.completions, "completion")
        body.append(f'print("as in the lab: {done}, states and memory")')
        lines = [each for line in body for each in folded(line, WIDTH, TAB, 1)]
        return "\n".join([*self._head(title, lines), *lines, ""])

    def comment(self, text: str) -> list[str]:
        """`# TEXT`."""
        return [f"# {line}".rstrip() for line in wrapped(text)]

    def sleep(self, passed_ns: int, run: str) -> str:
        """`wait_ns(1000)  # run`."""
        return f"wait_ns({passed_ns}){f'  # {run}' if run else ''}"

    def expected(self, name: str, part: Bytes) -> list[str]:
        """A call of the helper expect_bytes."""
        self.writer.needs |= {"expect_bytes", "expect"}
        return [f'expect_bytes("{name}", {variable(name)}, {_octets(part.octets)})']

    def _head(self, title: str, body: list[str]) -> list[str]:
        used, imports = self._helpers(body)
        nodes = [variable(node) for node in self.session.world.nodes]
        first, *rest = [line.replace("\\", "\\\\") for line in wrapped(title)]
        return [
            f'"""{first}', *rest, "",
            "Made by rdmalab from what happened there. To run it on a lab:", "",
            f"    rdmalab python --call-time 0 {self.option}program.py", '"""', "", *imports, "",
            *(f"\n{text}" for text in used), "",
            *(f'{node} = Context(name="rdmalab{at}")' for at, node in enumerate(nodes)),
        ]  # fmt: skip

    def _helpers(self, body: list[str]) -> tuple[list[str], list[str]]:
        """The helpers that the program uses, and what it imports."""
        needs, modules = self.writer.needs, self.writer.modules
        for name, (module, imported, also) in _BRING.items():
            if name in needs:
                modules.setdefault(module, set()).add(imported)
                needs |= also
        modules.setdefault("device", set()).add("Context")
        found = helpers("rdmalab.export.pyverbs", "parts.txt", _PART)
        used = [text for name, text in found.items() if name in needs]
        text = "\n".join([*used, *body])
        imports = [f"import {name}" for name in _MODULES if re.search(rf"\b{name}\.", text)]
        imports += ["from contextlib import contextmanager"] if "refused" in needs else []
        imports += ["", "import pyverbs.enums as e"]
        for name in sorted(modules):
            imports.append(f"from pyverbs.{name} import {', '.join(sorted(modules[name]))}")
        return used, imports


def _octets(octets: bytes) -> str:
    """The bytes as an expression: runs of equal bytes are counted."""
    found = []
    for run in _RUN.finditer(octets):
        piece = run.group(0)
        is_run = len(piece) > _FEW and not piece.strip(piece[:1])
        found.append(f"bytes([{piece[0]:#04x}]) * {len(piece)}" if is_run else repr(piece))
    return " + ".join(found) or 'b""'
