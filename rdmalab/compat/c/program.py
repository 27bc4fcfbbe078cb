"""A process whose program calls the lab: what it has made, where it waits, where its memory is."""

import platform
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field
from enum import IntEnum
from pathlib import Path

from rdmalab.command import Noun, Ref
from rdmalab.compat.c.memory import Mirrors, read
from rdmalab.compat.c.page import Page
from rdmalab.compat.c.source_lines import Caller, Sites, thread_name
from rdmalab.compat.c.wire import CALLER, Ask
from rdmalab.spec.connections import PACKET_LIFETIME
from rdmalab.spec.row import dataclass

UDP_SPACE, IPOIB_SPACE = 0x0111, 0x0002
EMPTY_POLLS = 2
"""Number of empty polls in a row after which the program waits for the lab."""
GETS_ASYNC_EVENT = "get_async_event"
GETS_CM_EVENT = "rdma_get_cm_event"
DESTROYS_ID = "rdma_destroy_id"
"""The call in which a program waits until the events of an id are acknowledged."""
Handle = tuple[str, Noun, int]
Wait = tuple[str, Ref, Caller]
"""A call in which a thread blocks, of what, and the thread."""


@dataclass(slots=True, eq=False)
class Program:
    """A process. node: its letter; empty: it sees all devices. own: what it has made and not ended.

    empty_polls: how many in a row found nothing. asleep_in: the call in which it blocks, and of
    what; None: it does not, or another of its threads has called since. blocks: the same for each
    thread that does, by its name in a Caller. listens: of threads that sleep in poll, select or
    epoll_wait, that call and the calls of whose events they wait; looked for where it is silent.
    heard_s: real time of its last word. refusals: how many calls in a row were refused alike.
    sleeps_to_ns: virtual time at which its sleep is over. looks: at the clock, so many in a row.
    looked_at: the queue that it polled last; looked_by: the caller, None: not known. polled: the
    queues of which an empty poll is in the journal since the last other call. page: which it shares
    with the lab; None: it shares none. slots, pairs: its completion queues and queue pairs with a
    place in the page. lent: bytes of the room for copies in use.
    """

    pid: int
    node: str
    name: str
    memory: Mirrors
    sites: Sites
    own: dict[Handle, None] = field(default_factory=dict)
    regions: dict[Handle, tuple[int, int]] = field(default_factory=dict)
    empty_polls: int = 0
    asleep_in: tuple[str, Ref] | None = None
    blocks: dict[str, Wait] = field(default_factory=dict)
    listens: list[tuple[str, Wait]] = field(default_factory=list)
    heard_s: float = field(default_factory=time.monotonic)
    refusals: int = 0
    refused: tuple[str, int] = ("", 0)  # the last refused call, and its errno
    cause: str = ""  # of that, in rdma_cm
    looked_at: Ref | None = None
    looked_by: Caller | None = None
    polled: set[tuple[str, str]] = field(default_factory=set)
    sleeps_to_ns: int | None = None
    looks: int = 0
    page: Page | None = None
    slots: dict[Handle, int] = field(default_factory=dict)
    pairs: dict[Handle, int] = field(default_factory=dict)
    lent: int = 0
    _callers: dict[bytes, Caller] = field(default_factory=dict)

    def caller(self, call: bytes) -> Caller:
        """The caller by what CALLER packs: a thread, and where the call and its caller return."""
        found = self._callers.get(call)
        if found is None:
            thread, *returns = CALLER.unpack(call)
            sites = [self.sites.at(each) for each in returns if each]
            known = tuple(each for each in sites if each is not None)
            found = Caller(self.name, thread_name(self.pid, thread), known)
            self._callers[call] = found
        return found

    @property
    def is_asleep(self) -> bool:
        """Whether it blocks in a call of the lab, or sleeps until a virtual time."""
        return self.asleep_in is not None or self.sleeps_to_ns is not None

    @property
    def waits(self) -> bool:
        """Whether it does nothing but wait for the lab."""
        return self.is_asleep or self.empty_polls >= EMPTY_POLLS

    @property
    def all_waits(self) -> list[Wait]:
        """The waits of its threads: in calls of the lab, and for what these would return."""
        return [*self.blocks.values(), *(wait for _, wait in self.listens)]

    @property
    def waits_for_async_only(self) -> bool:
        """Whether each of its threads waits for asynchronous events."""
        threads = {who.thread for word, _, who in self.all_waits if word == GETS_ASYNC_EVENT}
        return len(threads) == len([*Path(f"/proc/{self.pid}/task").glob("*")])

    def looked_in_vain(self, queue: Ref) -> bool:
        """Note a poll that has found nothing; whether it is to be journaled: the first of several.

        One that waits polls thousands of times, and all of them say the same.
        """
        self.empty_polls += 1
        if queue is not self.looked_at:
            self.looked_at, self.looked_by = queue, None
        name = queue.node, queue.name
        is_first = name not in self.polled
        self.polled.add(name)
        return is_first

    def active(self) -> None:
        """Note a call other than a poll for completions."""
        self.empty_polls, self.asleep_in, self.sleeps_to_ns, self.looks = 0, None, None, 0
        if self.polled:
            self.polled.clear()

    def answered(self, word: str, error: int, cause: str = "") -> None:
        """A call has ended with this errno; polls between refused calls do not count.

        cause: a sentence of rdma_cm, which `why` does not know.
        """
        self.cause = cause if error else self.cause
        if error and self.refused == (word, error):
            self.refusals += 1
        elif error:
            self.refused, self.refusals = (word, error), 1
        elif word == self.refused[0]:
            self.refused, self.refusals = ("", 0), 0


# System calls of x86-64 that return after a time: number → which argument has it, and
# the value that means no end. None: always.
_NO_END_MS, _NO_TIME = 0xFFFFFFFF, 0
_TIMED: dict[int, tuple[int, int] | None] = {
    35: None, 230: None,  # nanosleep, clock_nanosleep
    7: (2, _NO_END_MS), 232: (3, _NO_END_MS), 281: (3, _NO_END_MS),  # poll, epoll_wait, epoll_pwait
    23: (4, _NO_TIME), 270: (4, _NO_TIME), 271: (2, _NO_TIME), 202: (3, _NO_TIME),  # select … futex
    441: (3, _NO_TIME),  # epoll_pwait2
}  # fmt: skip
_LISTENS = {7: "poll", 271: "ppoll", 23: "select", 270: "select",
            232: "epoll_wait", 281: "epoll_wait", 441: "epoll_wait"}  # fmt: skip
_POLLFD = struct.Struct("i4x")
_MOST_DESCRIPTORS = 1024
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


def listeners(pid: int) -> Iterator[tuple[int, str, list[str]]]:
    """Threads that sleep in poll, select or epoll_wait: number, the call, and its descriptors.

    These are as `link_of` names them. Empty where the kernel does not tell.
    """
    for task in Path(f"/proc/{pid}/task").glob("*") if _KNOWN else ():
        with suppress(OSError, ValueError):  # it runs, or has ended meanwhile
            number, *words = (task / "syscall").read_text("ascii").split()
            if call := _LISTENS.get(int(number)):
                found = _descriptors(pid, call, *(int(word, 16) for word in words[:2]))
                yield int(task.name), call, [link_of(pid, each) for each in found]


def _descriptors(pid: int, call: str, first: int, second: int) -> list[int]:
    """Of such a call by its first two arguments; of select those that it waits to read."""
    if call == "epoll_wait":
        rows = Path(f"/proc/{pid}/fdinfo/{first}").read_text("ascii").splitlines()
        return [int(row.split()[1]) for row in rows if row.startswith("tfd:")]
    if call == "select":
        many = min(first, _MOST_DESCRIPTORS) if second else 0
        bits = int.from_bytes(read(pid, second, (many + 7) // 8), "little")
        return [each for each in range(many) if bits >> each & 1]
    asked = read(pid, first, _POLLFD.size * min(second, _MOST_DESCRIPTORS))
    return [fd for (fd,) in _POLLFD.iter_unpack(asked) if fd >= 0]


def link_of(pid: int, descriptor: int) -> str:
    """The file of a descriptor of a process, as `socket:[4711]`; empty if there is none."""
    try:
        return str(Path(f"/proc/{pid}/fd/{descriptor}").readlink())
    except OSError:
        return ""


def socket_wait(pid: int) -> str:
    """In which socket a process waits, for a person; empty: in none, or that is not known."""
    if not _KNOWN or not sleeps_without_end(pid):
        return ""
    try:
        number, descriptor, *_ = Path(f"/proc/{pid}/syscall").read_text("ascii").split()
        link = link_of(pid, int(descriptor, 16))
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


# --------------------------------------------------------------------------- rdma_cm
class State(IntEnum):
    """The progress of an id; up to ROUTED it has sent no message.

    Enum rdma_cm_state of Linux; the last three are of ib_cm_state: a disconnect ends in TIMEWAIT.
    """

    IDLE, BOUND, LISTENING, RESOLVED, ROUTED = range(5)
    CONNECTING, REQUESTED, ACCEPTED, CONNECTED, DISCONNECTED = range(5, 10)
    DREQ_SENT, DREQ_RCVD, TIMEWAIT = range(10, 13)


Address = dict[str, int]
NOWHERE: Address = {"family": 0, "port": 0, "ip": 0}


@dataclass(slots=True, eq=False)
class Id:
    """An `rdma_cm_id`. promise: what its side offers; peer: the id at the other end.

    lifetime: of packets on the path, a timer code; ack_timeout: that of its QP.
    """

    number: int
    program: Program
    channel: int
    space: int
    node: str = ""
    source: Address = field(default_factory=lambda: dict(NOWHERE))
    destination: Address = field(default_factory=lambda: dict(NOWHERE))
    state: State = State.IDLE
    peer: "Id | None" = None
    promise: dict[str, int] = field(default_factory=dict)
    lifetime: int = PACKET_LIFETIME
    ack_timeout: int = 0

    @property
    def is_datagram(self) -> bool:
        """Whether its queue pair is of type UD."""
        return self.space in (UDP_SPACE, IPOIB_SPACE)

    @property
    def psn(self) -> int:
        """The PSN with which its queue pair begins to send."""
        return (0x1000 + 0x100 * self.number) & 0xFFFFFF


@dataclass(slots=True, eq=False)
class EventChannel:
    """An `rdma_event_channel`. notify: reports one more event to the program."""

    program: Program
    notify: Callable[[], None]
    events: deque[tuple[Ask, bytes]] = field(default_factory=deque)
