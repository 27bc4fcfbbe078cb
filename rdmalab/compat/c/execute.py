"""Start programs on the nodes of a lab, and hold the lab until they have ended."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path
from types import MappingProxyType

from rdmalab.compat.c.building import clock_library, library
from rdmalab.compat.c.outputs import Outputs
from rdmalab.compat.c.program import sleeps_without_end
from rdmalab.compat.c.server import CHOOSE, Server
from rdmalab.compat.c.trouble import Tell
from rdmalab.lab import Lab
from rdmalab.spec.row import dataclass

__all__ = ["CHOOSE", "Clock", "Command", "Execution", "join", "start"]

_ADDR_NO_RANDOMIZE = 0x0040000
_NICE = 10  # programs that spin leave the lab its processor; on a virtual clock none spins
_LOOK_S = 0.05  # between two looks at the program that was started last
_PATIENCE_S = 5.0  # for it to wait for somebody: the first is mostly a server
_CALM = 3
_COLLECT_S = 0.01
_END_S = 2.0  # for a program that was asked to end
_INTERRUPTED = 128 + signal.SIGINT
_libc = ctypes.CDLL(None)


class Clock(Enum):
    """The time that a program sees, as in RDMALAB_CLOCK. SLEEPS: only its sleeps are virtual."""

    REAL, SLEEPS, VIRTUAL = "real", "sleeps", "virtual"


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments. node: where it runs; empty: it sees all devices."""

    words: tuple[str, ...]
    node: str


def _prepare(nice: int) -> None:
    """In the new process, before the program: the same addresses in each run, and less priority."""
    os.nice(nice)
    _libc.personality(_ADDR_NO_RANDOMIZE)


def _sanitizer(program: str) -> str:
    """The runtime of AddressSanitizer that a program is linked with, or empty.

    It ends a program in which another library is loaded before it.
    """
    with suppress(OSError):
        octets = Path(shutil.which(program) or program).read_bytes()
        if octets.startswith(b"\x7fELF") and (
            found := re.search(rb"\0(libasan\.so\.\d+)\0", octets)
        ):
            return found[1].decode()
    return ""


def start(
    command: Command, path: Path, verbs: Path, clock: Clock = Clock.REAL,
    streams: Mapping[str, int] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start a program with the library, and with what it needs to find the lab at `path`.

    verbs: the library, as of `library()`, which asks the compiler: once for all programs.
    streams: its standard streams, as Popen names them; those left out are those of this process.
    """
    # Preloaded beside libibverbs: perftest and rping are bound at start to private symbols of the
    # real library, which finds no device and does no harm.
    clocks = str(clock_library(verbs)) if clock is not Clock.REAL else ""
    parts = [_sanitizer(command.words[0]), str(verbs), clocks]
    preload = ":".join(filter(None, [*parts, os.environ.get("LD_PRELOAD")]))
    found = {"LD_PRELOAD": preload, "RDMALAB_SOCKET": str(path), "RDMALAB_NODE": command.node,
             "RDMALAB_CLOCK": clock.value}  # fmt: skip
    return subprocess.Popen(
        command.words,
        env=os.environ | found,
        stdin=streams.get("stdin"),
        stdout=streams.get("stdout"),
        stderr=streams.get("stderr"),
        preexec_fn=partial(_prepare, 0 if clock is Clock.SLEEPS else _NICE),  # noqa: PLW1509
    )


def join(commands: Sequence[Command], path: Path, outputs: Outputs) -> int:
    """Run programs on the lab of another process; returns the largest exit code."""
    started, verbs = [], library()
    for number, command in enumerate(commands):
        with outputs.opened(number) as streams:
            started.append(start(command, path, verbs, streams=streams))
    while any(process.poll() is None for process in started):
        with suppress(KeyboardInterrupt):  # the terminal has sent it to the programs as well
            outputs.wait(_LOOK_S)
            outputs.copy()
    outputs.close()
    return max(_code(process.wait()) for process in started)


def _code(ended: int) -> int:
    """An exit code; of a program that a signal has ended 128 + its number."""
    return ended if ended >= 0 else 128 - ended


class Execution:
    """Programs that run on a lab. codes: their exit codes, in the order of the commands."""

    def __init__(
        self, lab: Lab, commands: Sequence[Command], tell: Tell, open_at: Path | None = None,
        *, clock: Clock | None = None, outputs: Outputs | None = None,
    ) -> None:  # fmt: skip
        """Make the socket. open_at: where programs of other terminals find it; None: private.

        clock: of the programs; None: SLEEPS for a program that is alone on both nodes, else REAL.
        outputs: where they print; None: where this process prints.
        """
        self.lab = lab
        self.is_open = open_at is not None
        self.outputs = outputs or Outputs()
        self.in_app = False  # which has the keys and the screen
        self.commands = commands
        self.tell = tell
        self.codes: dict[int, int] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="rdmalab-c-")  # mode 0700
        self.path = open_at or Path(self.folder.name) / "lab"
        self.verbs = library()  # now, or CannotBuild
        is_alone = len(commands) == 1 and not commands[0].node  # then nothing real is awaited
        self.clock = clock or (Clock.SLEEPS if is_alone else Clock.REAL)
        self.server = Server(lab, self.path, tell, expected=len(commands), is_open=self.is_open,
                             is_virtual=is_alone and self.clock is not Clock.REAL)  # fmt: skip
        self.server.sockets.watch(self.outputs.descriptor)
        self.started: list[subprocess.Popen[bytes]] = []
        self.newest_s = self.look_s = 0.0  # real time of the newest start, and of the next look
        self.collect_s = 0.0  # real time of the next look at who has ended
        self.calm = 0  # so many looks in a row have found it waiting
        self.limit_s: float | None = None
        self.end_stuck = False
        self.is_interrupted = False
        self.has_told = False  # how programs that hang are ended, to a person at a terminal
        self.began_s = time.monotonic()

    def bound(self, limit_s: float | None, *, end_stuck: bool) -> None:
        """End the programs after so much real time from now on, or if nothing can happen any more.

        limit_s: None: never. An open lab ends after it, and programs of other terminals get EIO.
        """
        self.limit_s, self.end_stuck, self.began_s = limit_s, end_stuck, time.monotonic()

    def run(self, *, limit_s: float | None = None, end_stuck: bool = False) -> int:
        """Start all and serve them until they have ended; returns the largest exit code.

        limit_s, end_stuck: as of `bound`. A program that a signal has ended counts as 128 + its
        number. Ends after `interrupt` too; then it is 130, but for an open lab.
        """
        self.bound(limit_s, end_stuck=end_stuck)
        try:
            while not self.is_interrupted and (self.is_open or not self.is_over):
                self.turn()
        finally:
            self._end("^C" if self.is_interrupted and not self.is_open else "")
            self.outputs.close()
            self.server.close()
            self.path.unlink(missing_ok=True)
            self.folder.cleanup()
        return _INTERRUPTED if self.is_interrupted and not self.is_open else self.code

    def interrupt(self) -> None:
        """End the run between two events, with the objects as they are now; KeyboardInterrupt if
        that was asked for before.
        """
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True
        self.server.keeps_objects = not self.is_open  # the terminal ends the programs as well

    def caller_of(self, event: int) -> str:
        """The program that has called in an event, and its place; empty: none."""
        caller = self.server.calls.callers.get(event)
        return caller.text if caller is not None else ""

    @property
    def code(self) -> int:
        """The largest exit code so far."""
        return max(self.codes.values(), default=0)

    @property
    def is_over(self) -> bool:
        """Whether all programs have ended."""
        return len(self.codes) == len(self.commands) and not self.server.calls.programs

    def turn(self, most_s: float = _LOOK_S) -> bool:
        """Start the next program if it is time, and serve once; whether anything has happened."""
        if len(self.started) < len(self.commands):
            self._start_next()
        has_happened = self.server.turn(most_s)
        self.outputs.copy()
        self._collect()
        if self.codes:
            ended = {self._name(number): code for number, code in self.codes.items()}
            self.server.look_outside(ended)
        self._keep_bounds()
        return has_happened

    def _keep_bounds(self) -> None:
        if self.server.trouble.stuck and not (self.end_stuck or self.has_told or self.in_app):
            self.has_told = True
            self.tell("rdmalab: ^C ends the programs; with --end-stuck the lab does it")
        is_over = self.limit_s is not None and time.monotonic() - self.began_s > self.limit_s
        if is_over or (self.end_stuck and self.server.trouble.stuck):
            idle = "no program is left to connect"
            stuck = idle if self.server.trouble.is_idle else "they hang"
            self._end("the time is over" if is_over else stuck)
        if is_over and self.is_open:
            self.is_open = False
            self.server.close()

    def leave(self) -> None:
        """End the lab before its programs: their verbs return EIO; who goes on is ended."""
        self.server.close()
        until_s = time.monotonic() + _END_S
        while time.monotonic() < until_s and any(each.poll() is None for each in self.started):
            self.outputs.wait(_LOOK_S)
            self.outputs.copy()
        self._end("")
        self.outputs.close()
        self.path.unlink(missing_ok=True)
        self.folder.cleanup()

    def _start_next(self) -> None:
        """Start the next program as soon as the one before it waits for something."""
        number, now_s = len(self.started), time.monotonic()
        if now_s < self.look_s:
            return
        self.look_s = now_s + _LOOK_S
        if number and now_s < self.newest_s + _PATIENCE_S:
            self.calm = self.calm + 1 if self._is_calm(self.started[-1].pid, now_s) else 0
            if self.calm < _CALM:
                return
        self.newest_s, self.calm = now_s, 0
        command = self.commands[number]
        with self.outputs.opened(number) as streams:
            given = streams | {"stdin": subprocess.DEVNULL} if self.in_app else streams
            self.started.append(start(command, self.path, self.verbs, self.clock, given))

    def _is_calm(self, pid: int, now_s: float) -> bool:
        """Whether a process waits, and not for an answer of the lab."""
        heard_s = [each.heard_s for each in self.server.calls.programs if each.pid == pid]
        return now_s - max(heard_s, default=0.0) > _CALM * _LOOK_S and sleeps_without_end(pid)

    def _collect(self, *, at_once: bool = False) -> None:
        """Note who has ended; often enough, since each look is a system call for each program."""
        now_s = time.monotonic()
        if now_s < self.collect_s and not at_once:
            return
        self.collect_s = now_s + _COLLECT_S
        here = () if at_once else {program.pid for program in self.server.calls.programs}
        for number, process in enumerate(self.started):
            if number in self.codes or (code := process.poll()) is None or process.pid in here:
                continue  # it runs, or the lab has still to see how it leaves
            is_idle = self.server.trouble.is_idle and code == -signal.SIGTERM
            self.codes[number] = 0 if is_idle else _code(code)
            if code < 0 and not is_idle:
                self.tell(f"rdmalab: {self.commands[number].words[0]} was ended by "
                          f"{signal.Signals(-code).name}")  # fmt: skip
            if process.pid not in self.server.seen:
                self.server.excuse()
            self.server.trouble.ended(self._name(number), process.pid, self.codes[number])

    def _name(self, number: int) -> str:
        return Path(self.commands[number].words[0]).name

    def _end(self, reason: str) -> None:
        """End what still runs, and what was not started yet."""
        running = [process for process in self.started if process.poll() is None]
        if reason and running:
            self.tell(f"rdmalab: the programs are ended: {reason}")
            self.server.trouble.overdue()
            self.server.keeps_objects = True
        for process in running:
            process.terminate()
        until_s = time.monotonic() + _END_S
        for process in running:
            try:
                process.wait(max(0.0, until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for number in range(len(self.started), len(self.commands)):
            self.codes[number] = 1
        self._collect(at_once=True)
