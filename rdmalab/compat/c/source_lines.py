"""The source line of a program's call: by the address to which the call returns."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from rdmalab.spec.row import dataclass

_EXECUTABLE = 2  # e_type ET_EXEC: its code lies where the file says
_TYPE = slice(16, 18)  # e_type of an ELF header
_LONGEST_S = 5.0
_ANONYMOUS = "(anonymous namespace)::"
_WRAPPERS = ("ibv_", "rdma_", "__ibv_", "_ibv_", "__libc_")  # no lines of the program


@dataclass(frozen=True, slots=True)
class Mapping:
    """A part of a file in the memory of a process: addresses [start, stop), from offset on."""

    start: int
    stop: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the code of a file, as its symbols count."""

    path: str
    address: int


@dataclass(frozen=True, slots=True)
class Caller:
    """A program that has called. thread: empty for the first of its process. sites: in its code.

    at_end: it has not called: the end of its process destroys what it has left.
    """

    program: str
    thread: str
    sites: tuple[Site, ...]
    at_end: bool = False

    @property
    def line(self) -> str:
        """`client.c:117 in main`; empty if it is not known."""
        return line_of(*self.sites)

    @property
    def text(self) -> str:
        """`ibv_rc_pingpong (4711), thread 4713 worker, at client.c:117 in main`."""
        thread = f", thread {self.thread}" if self.thread else ""
        at = "its end" if self.at_end else self.line
        return f"{self.program}{thread}" + (f", at {at}" if at else "")


@cache
def thread_name(pid: int, thread: int) -> str:
    """`4713 worker`: number and name of a thread; empty for the first thread of a process."""
    if thread in (0, pid):
        return ""
    try:
        name = Path(f"/proc/{pid}/task/{thread}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        name = ""
    return f"{thread} {name}".strip()


class Sites:
    """The code of one process. What it loads later is found when it is first met."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._mappings: list[Mapping] = []

    def at(self, address: int) -> Site | None:
        """Whose code an address is; None: of no file, or the process has ended."""
        found = self._holding(address)
        if found is None:
            self._mappings = _mappings(self.pid) or self._mappings
            found = self._holding(address)
        if found is None:
            return None
        fixed = _is_fixed(found.path)
        return Site(found.path, address if fixed else address - found.start + found.offset)

    def _holding(self, address: int) -> Mapping | None:
        return next((each for each in self._mappings if each.start <= address < each.stop), None)


def _mappings(pid: int) -> list[Mapping]:
    found = []
    try:
        lines = Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    for line in lines:
        words = line.split(maxsplit=5)
        if len(words) == 6 and "x" in words[1] and words[5].startswith("/"):
            start, stop = (int(each, 16) for each in words[0].split("-"))
            found.append(Mapping(start, stop, int(words[2], 16), words[5]))
    return found


@cache
def _is_fixed(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(20)
    except OSError:
        return False
    return int.from_bytes(head[_TYPE], "little") == _EXECUTABLE


def line_of(*sites: Site) -> str:
    """`client.c:117 in main`: of the first site that is no wrapper of verbs.h; empty if unknown."""
    for site in sites:
        for function, place in _frames(site):
            if not function.startswith(_WRAPPERS):
                named = f"in {function}" if function else ""
                return f"{place} {named}".strip()
    return ""


@cache
def _frames(site: Site) -> list[tuple[str, str]]:
    """Function and line of a site, of inlined functions first; addr2line of binutils reads them."""
    if shutil.which("addr2line") is None:
        return []
    # The call stands in front of the address to which it returns.
    words = ["addr2line", "-C", "-f", "-i", "-s", "-e", site.path, f"{site.address - 1:#x}"]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines()
    found = []
    for function, place in zip(lines[::2], lines[1::2], strict=False):
        known = place.partition(" ")[0]
        is_unknown = known.startswith("?") or known.endswith((":?", ":0"))
        name = function.replace(_ANONYMOUS, "").partition("(")[0]  # no parameters of C++
        found.append(("" if name.startswith("?") else name, "" if is_unknown else known))
    return [each for each in found if any(each)]
