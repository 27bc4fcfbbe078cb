"""Name, and state of the threads, of another process, as Linux shows it in /proc."""

import platform
from contextlib import suppress
from pathlib import Path

# System calls of x86-64 that return after a time: number → which argument has it, and
# the value that means no end. None: always.
_NO_END_MS, _NO_TIME = 0xFFFFFFFF, 0
_TIMED: dict[int, tuple[int, int] | None] = {
    35: None, 230: None,  # nanosleep, clock_nanosleep
    7: (2, _NO_END_MS), 232: (3, _NO_END_MS), 281: (3, _NO_END_MS),  # poll, epoll_wait, epoll_pwait
    23: (4, _NO_TIME), 270: (4, _NO_TIME), 271: (2, _NO_TIME), 202: (3, _NO_TIME),  # select … futex
}  # fmt: skip
_KNOWN = platform.machine() == "x86_64"
_ACCEPTS = {"43", "288"}  # accept, accept4
_RECEIVES = {"0", "45", "47"}  # read, recvfrom, recvmsg


def sleeps_without_end(pid: int) -> bool:
    """Whether each thread of a process sleeps, and none will wake up because its time is over.

    A process that has ended sleeps. Where the kernel does not tell the system call, or on another
    machine than x86-64, a sleep counts as one without end.
    """
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # it has ended meanwhile
            state = (task / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            if state not in "STt" or (_KNOWN and _is_timed(task)):
                return False
    return True


def is_stopped(pid: int) -> bool:
    """Whether a debugger or a signal has stopped a process."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123
            status = file.read()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[0] in (b"t", b"T")


def _is_timed(task: Path) -> bool:
    try:
        words = (task / "syscall").read_text("ascii").split()
    except OSError:
        return False
    if not words[0].isdigit() or int(words[0]) not in _TIMED:
        return False
    row = _TIMED[int(words[0])]
    return row is None or int(words[1 + row[0]], 16) & (_NO_END_MS if row[1] else -1) != row[1]


def socket_wait(pid: int) -> str:
    """In which socket a process waits, for a person; empty: in none, or that is not known."""
    if not _KNOWN or not sleeps_without_end(pid):
        return ""
    try:
        number, descriptor, *_ = Path(f"/proc/{pid}/syscall").read_text("ascii").split()
        link = str(Path(f"/proc/{pid}/fd/{int(descriptor, 16)}").readlink())
    except (OSError, ValueError):
        return ""
    if number not in _ACCEPTS | _RECEIVES or not link.startswith("socket:["):
        return ""
    port = _port(pid, link[len("socket:[") : -1])
    where = f"TCP port {port}" if port else "a socket"
    return f"in accept at {where}" if number in _ACCEPTS else f"to receive from {where}"


def _port(pid: int, inode: str) -> int:
    """The local TCP port of a socket, by its inode; 0: it is no TCP socket."""
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for row in Path(f"/proc/{pid}/net/{name}").read_text("ascii").splitlines()[1:]:
                words = row.split()
                if words[9] == inode:
                    return int(words[1].rpartition(":")[2], 16)
    return 0


def name_of_process(pid: int) -> str:
    """The name of a process: `ibv_rc_pingpong (4711)`."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        name = "a program"
    return f"{name} ({pid})"
