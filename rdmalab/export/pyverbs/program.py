"""A session as a program in Python with pyverbs: `export pyverbs`.

It has both devices and makes the calls of the session in its order, as the program in C does. Run
by `rdmalab python --call-time 0`, its calls take no virtual time, so each packet is where it was.
"""

import re
from collections.abc import Sequence
from importlib import resources

from rdmalab.export.pyverbs.calls import begin, end
from rdmalab.export.pyverbs.text import TAB, Lines, Writer
from rdmalab.export.replay.calls import Bytes, Call, Chapter, Replay, judge_world, parts
from rdmalab.export.replay.long_lines import WIDTH, folded, wrapped
from rdmalab.export.replay.values import variable
from rdmalab.session.session import Session
from rdmalab.views import fmt

_PART = re.compile(r"# part: (\w+)\n")
_MODULES = ("errno", "os", "socket", "time")
_FEW = 16
_BRING = {
    "refused": ("pyverbs_error", "PyverbsRDMAError", set[str]()),
    "take_ex": ("cq", "PollCqAttr", {"take"}),
}  # fmt: skip
"""Names that a helper imports from pyverbs, and other helpers that it needs."""
_RUN = re.compile(rb"(.)\1{16,}|(?:(?!(.)\2{16}).){1,48}", re.DOTALL)
_END = "What is left at the end: completions, the states of the queue pairs, memory."


def is_program(octets: bytes) -> bool:
    """Whether a file is a program that was exported, which a later one may replace."""
    return octets.startswith(b'"""') and b"Made by rdmalab" in octets[:2000]


def program(session: Session, title: str, chapters: Sequence[Chapter] = ()) -> str:
    """The text of the program; NotExportable says what no program can do.

    title: its docstring. chapters: parts of the journal; none: parts of thirty calls.
    """
    judge_world(session)
    return _Program(session, chapters or parts(session)).text(title)


class _Program:
    """A program while it is written: the scribe of a replay."""

    def __init__(self, session: Session, chapters: Sequence[Chapter]) -> None:
        self.session = session
        self.chapters = chapters
        self.runs = {entry: run for each in chapters for entry, run in each.runs.items()}
        self.replay = Replay(session, self)
        self.writer = Writer()
        self.pending: Lines | None = None

    def text(self, title: str) -> str:
        """All of it."""
        try:
            body = self._body()
        finally:
            self.replay.end()
        lines = [each for line in body for each in folded(line, WIDTH, TAB, 1)]
        return "\n".join([*self._head(title, lines), *lines, ""])

    def _body(self) -> list[str]:
        body: list[str] = []
        for chapter in self.chapters:
            body += ["", *_comment(chapter.title), *self.replay.until(chapter.stop)]
        body += ["", *_comment(_END), *self.replay.rest(), *self.replay.looks()]
        body += [line for part in self.replay.memory() for line in self._bytes(part)]
        done = fmt.count(self.writer.completions, "completion")
        return [*body, f'print("as in the lab: {done}, states and memory")']

    def wait(self, passed_ns: int, events: int, entry: int | None) -> list[str]:
        """A sleep; for no time, too: what is due happens before the next call."""
        del events
        self.writer.needs.add("wait_ns")
        run = self.runs.get(-1 if entry is None else entry, "")
        return [f"wait_ns({passed_ns}){f'  # {run}' if run else ''}"]

    def begin(self, call: Call) -> None:
        """Keep the text of a call."""
        self.pending = begin(self.writer, call)

    def end(self, call: Call) -> list[str]:
        """The kept text, with its check."""
        return end(self.writer, call, self.pending)

    def _bytes(self, part: Bytes) -> list[str]:
        name, octets = self.replay.again.names.of(part.thing), part.octets
        self.writer.needs |= {"expect_bytes", "expect"}
        return [f'expect_bytes("{name}", {variable(name)}, {_octets(octets)})']

    def _head(self, title: str, body: list[str]) -> list[str]:
        profile = next(iter(self.session.world.nodes.values())).profile.name
        option = "" if profile == "strict" else f"--profile {profile} "
        helpers, imports = self._helpers(body)
        nodes = [variable(node) for node in self.session.world.nodes]
        first, *rest = [line.replace("\\", "\\\\") for line in wrapped(title)]
        return [
            f'"""{first}', *rest, "",
            "Made by rdmalab from what happened there. To run it on a lab:", "",
            f"    rdmalab python --call-time 0 {option}program.py", '"""', "", *imports, "",
            *(f"\n{text}" for text in helpers), "",
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
        helpers = [text for name, text in _helpers().items() if name in needs]
        text = "\n".join([*helpers, *body])
        imports = [f"import {name}" for name in _MODULES if re.search(rf"\b{name}\.", text)]
        imports += ["from contextlib import contextmanager"] if "refused" in needs else []
        imports += ["", "import pyverbs.enums as e"]
        for name in sorted(modules):
            imports.append(f"from pyverbs.{name} import {', '.join(sorted(modules[name]))}")
        return helpers, imports


def _helpers() -> dict[str, str]:
    """The parts of parts.txt by name, in its order."""
    source = resources.files("rdmalab.export.pyverbs") / "parts.txt"
    _, *found = _PART.split(source.read_text("utf-8"))
    return {name: text.rstrip() + "\n" for name, text in zip(found[::2], found[1::2], strict=True)}


def _comment(text: str) -> list[str]:
    return [f"# {line}".rstrip() for line in wrapped(text)]


def _octets(octets: bytes) -> str:
    """The bytes as an expression: runs of equal bytes are counted."""
    found = []
    for run in _RUN.finditer(octets):
        piece = run.group(0)
        is_run = len(piece) > _FEW and not piece.strip(piece[:1])
        found.append(f"bytes([{piece[0]:#04x}]) * {len(piece)}" if is_run else repr(piece))
    return " + ".join(found) or 'b""'
