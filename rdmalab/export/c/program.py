"""A session as a program in C against libibverbs: `export c`.

One process has both devices, and makes the calls of the session in its order. Where the session let
time pass, the program sleeps; on a lab its clock is virtual, so each packet is where it was. What
each call returned, each completion, the states and the bytes at the end are checked.
"""

import re
from collections.abc import Iterable, Sequence

from rdmalab.export.c.calls import CALLS
from rdmalab.export.c.text import TAB, Text, Writer
from rdmalab.export.replay.calls import Bytes, Chapter
from rdmalab.export.replay.names import number, string, variable
from rdmalab.export.replay.program import Program, folded, helpers, wrapped
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
    return _Program(CALLS, Writer(), session, chapters).text(title)


class _Program(Program[Writer, Text]):
    """functions: name and lines of each function, in the order of the calls."""

    def write(self, title: str) -> str:
        """All of it."""
        self.functions: list[tuple[str, list[str]]] = []
        for at, chapter in enumerate(self.chapters, 1):
            lines = [*self.comment(chapter.title), *self.replay.until(chapter.stop)]
            self._function(f"part_{at}", lines)
        self._function("look", self.looks())
        self._function("tidy_up", self.replay.tidying())
        return self._whole(title)

    def comment(self, text: str) -> list[str]:
        """`/* TEXT */`, or a block of lines."""
        lines = wrapped(_safe(text))
        if len(lines) < 2:
            return [f"/* {line} */" for line in lines]
        first, *inner, last = lines
        return [f"/* {first}", *(f" * {line}".rstrip() for line in inner), f" * {last} */"]

    def sleep(self, passed_ns: int, run: str) -> str:
        """`wait_ns(1000); /* run */`."""
        return f"wait_ns({passed_ns});{f' /* {_safe(run)} */' if run else ''}"

    def expected(self, name: str, part: Bytes) -> list[str]:
        """A call of the helper expect_bytes."""
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
        needs, nodes = self.writer.needs, [variable(node) for node in self.session.world.nodes]
        found = helpers("rdmalab.export.c", "parts.c", _PART)
        command = f"rdmalab exec {self.option}-- ./program"
        text = ["\n".join([*_title(title, command), found["head"]])]
        text.append(f"static struct ibv_context *{', *'.join(nodes)};")
        text[-1] += "".join(f"\n{_declared(n, t)}" for n, t in self.writer.variables.items())
        text[-1] += "\n"
        ranges = _merged(self.writer.ranges)
        needs |= {*_ALWAYS, *(["map"] if ranges else [])}
        text += [helper for name, helper in found.items() if name in needs]
        for name, body in self.functions:
            lines = ["int ret;", "", *body] if any("ret = " in line for line in body) else body
            indented = map(_indented, lines)
            inner = [each for line in indented for each in folded(line, _COLUMNS, TAB, 8)]
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


def _declared(name: str, kind: str) -> str:
    """`static struct ibv_qp *A_qp0;`; a type after * is no pointer."""
    if kind.startswith("*"):
        return f"static struct {kind[1:]} {name};"
    return f"static struct {kind} *{name};"


def _indented(line: str) -> str:
    return TAB + line if line else line


def _safe(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


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
