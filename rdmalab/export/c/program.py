"""A session as a program in C against libibverbs: `export c`.

One process has both devices, and makes the calls of the session in its order. Where the session let
time pass, the program sleeps; on a lab its clock is virtual, so each packet is where it was. What
each call returned, each completion, the states and the bytes at the end are checked.
"""

import re
from collections.abc import Iterable, Sequence
from importlib import resources

from rdmalab.export.c.calls import begin, end
from rdmalab.export.c.text import TAB, Text, Writer
from rdmalab.export.replay.calls import Bytes, Call, Chapter, Replay, judge_world, parts
from rdmalab.export.replay.long_lines import folded, wrapped
from rdmalab.export.replay.values import number, string, variable
from rdmalab.session.session import Session
from rdmalab.views import fmt

_COLUMNS = 100
_GAP = 8  # so many zeros between two runs of bytes are not written

_PART = re.compile(r"/\* part: (\w+) \*/\n")
_ALWAYS = ("fail", "opened")


def is_program(octets: bytes) -> bool:
    """Whether a file is a program that was exported, which a later one may replace."""
    return octets.startswith(b"/*\n") and b"Made by rdmalab" in octets[:2000]


def program(session: Session, title: str, chapters: Sequence[Chapter] = ()) -> str:
    """The text of the program; NotExportable says what no program can do.

    title: its first comment. chapters: parts of the journal; none: parts of thirty calls.
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
        self.functions: list[tuple[str, list[str]]] = []
        self.pending: Text | None = None

    def text(self, title: str) -> str:
        """All of it."""
        try:
            for at, chapter in enumerate(self.chapters, 1):
                lines = [*comment(chapter.title), *self.replay.until(chapter.stop)]
                self._function(f"part_{at}", lines)
            self._function("look", self._looks())
            self._function("tidy_up", self.replay.tidying())
            return self._whole(title)
        finally:
            self.replay.end()

    def wait(self, passed_ns: int, events: int, entry: int | None) -> list[str]:
        """A sleep; for no time, too: what is due happens before the next call."""
        del events
        self.writer.needs.add("wait_ns")
        run = self.runs.get(-1 if entry is None else entry, "")
        return [f"wait_ns({passed_ns});{f' /* {_safe(run)} */' if run else ''}"]

    def begin(self, call: Call) -> None:
        """Keep the text of a call."""
        self.pending = begin(self.writer, call)

    def end(self, call: Call) -> list[str]:
        """The kept text, with its check."""
        return end(self.writer, call, self.pending)

    def _looks(self) -> list[str]:
        lines = [f"/* {_END} */", *self.replay.rest(), *self.replay.looks()]
        return lines + [line for part in self.replay.memory() for line in self._bytes(part)]

    def _bytes(self, part: Bytes) -> list[str]:
        name = self.replay.again.names.of(part.thing)
        self.writer.needs.add("expect_bytes")
        runs = [_run(at, octets) for at, octets in _runs(part.octets)]
        begin = (
            f'expect_bytes("{name}", {variable(name)}->addr, {number(part.length)}, {len(runs)}, '
        )
        if not runs:
            return [f"{begin}NULL);"]
        return [f"{begin}(struct run[]){{", *(TAB + run for run in runs), "});"]

    def _function(self, name: str, lines: list[str]) -> None:
        if lines:
            self.functions.append((name, lines))

    def _whole(self, title: str) -> str:
        profile = next(iter(self.session.world.nodes.values())).profile.name
        option = "" if profile == "strict" else f" --profile {profile}"
        needs, nodes = self.writer.needs, [variable(node) for node in self.session.world.nodes]
        helpers = _helpers()
        text = ["\n".join([*_title(title, f"rdmalab exec{option} -- ./program"), helpers["head"]])]
        text.append(f"static struct ibv_context *{', *'.join(nodes)};")
        text[-1] += "".join(f"\n{_declared(n, t)}" for n, t in self.writer.variables.items())
        text[-1] += "\n"
        ranges = _merged(self.writer.ranges)
        needs |= {*_ALWAYS, *(["map"] if ranges else [])}
        text += [helper for name, helper in helpers.items() if name in needs]
        for name, body in self.functions:
            lines = ["int ret;", "", *body] if any("ret = " in line for line in body) else body
            inner = [each for line in lines for each in _folded(_indented(line))]
            text.append("\n".join([f"static void {name}(void)", "{", *inner, "}", ""]))
        text.append(self._main(nodes, ranges))
        return "\n".join(text)

    def _main(self, nodes: list[str], ranges: list[tuple[int, int]]) -> str:
        done = fmt.count(self.writer.completions, "completion")
        lines = [
            "int count;", "struct ibv_device **list = ibv_get_device_list(&count);", "",
            "if (!list || !count)", f'{TAB}fail("ibv_get_device_list", errno);',
            *(f"{node} = opened(list, {at} % count);" for at, node in enumerate(nodes)),
            "ibv_free_device_list(list);",
            *(f"map({addr:#x}, {length:#x});" for addr, length in ranges),
            *(f"{name}();" for name, _ in self.functions),
            *(line for node in reversed(nodes) for line in
              (f"if (ibv_close_device({node}))", f'{TAB}fail("ibv_close_device", errno);')),
            f'puts("as in the lab: {done}, states and memory");', "return 0;",
        ]  # fmt: skip
        return "\n".join(["int main(void)", "{", *map(_indented, lines), "}", ""])


_END = "What is left at the end: completions, the states of the queue pairs, memory."


def _helpers() -> dict[str, str]:
    """The parts of parts.c by name, in its order."""
    source = resources.files("rdmalab.export.c") / "parts.c"
    _, *found = _PART.split(source.read_text("utf-8"))
    return {name: text.rstrip() + "\n" for name, text in zip(found[::2], found[1::2], strict=True)}


def _declared(name: str, kind: str) -> str:
    """`static struct ibv_qp *A_qp0;`; a type after * is no pointer."""
    if kind.startswith("*"):
        return f"static struct {kind[1:]} {name};"
    return f"static struct {kind} *{name};"


def _folded(line: str) -> list[str]:
    return folded(line, _COLUMNS, TAB, 8)


def _indented(line: str) -> str:
    return TAB + line if line else line


def _safe(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


def comment(text: str) -> list[str]:
    """A comment of one or more lines; none for an empty text."""
    lines = wrapped(_safe(text))
    if len(lines) < 2:
        return [f"/* {line} */" for line in lines]
    first, *inner, last = lines
    return [f"/* {first}", *(f" * {line}".rstrip() for line in inner), f" * {last} */"]


def _title(title: str, command: str) -> list[str]:
    return [
        "/*", *(f" * {line}".rstrip() for line in wrapped(_safe(title))), " *",
        " * Made by rdmalab from what happened there. To compile and run it on a lab:", " *",
        " *     cc -o program program.c -libverbs", f" *     {command}", " */",
    ]  # fmt: skip


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Whole pages of all ranges, those that touch as one."""
    pages = sorted((addr & ~4095, (addr + length + 4095) & ~4095) for addr, length in ranges)
    found: list[tuple[int, int]] = []
    for start, stop in pages:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return [(start, stop - start) for start, stop in found]


def _runs(octets: bytes) -> Iterable[tuple[int, bytes]]:
    """The bytes between long gaps of zeros, with their place."""
    at = 0
    for piece in octets.split(bytes(_GAP)):
        if stripped := piece.strip(b"\0"):
            yield at + len(piece) - len(piece.lstrip(b"\0")), stripped
        at += len(piece) + _GAP


def _run(at: int, octets: bytes) -> str:
    if len(octets) > 4 and not octets.strip(octets[:1]):
        return f"{{ {at}, {len(octets)}, NULL, {octets[0]:#04x} }},"
    return f"{{ {at}, {len(octets)}, {string(octets)}, 0 }},"
