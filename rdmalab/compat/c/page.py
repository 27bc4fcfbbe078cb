"""A page that a program shares with the lab, so that most polls and posts need no message.

The lab writes completions there as a device writes CQEs into host memory: of each completion queue
the oldest ones, up to the first with an error. `ibv_poll_cq` takes them from there. The lab also
writes how many receives and sends of each queue pair it will accept; the program counts its own. A
completion of a send raises that number for who takes it, since its poll frees slots. Each call
leaves an entry, in their order. The lab reads the entries before anything else happens in the
world, and carries them out: so a poll stands in the journal before what came later. After a send
the program rings a bell, a socket, if the lab is `asleep`; `rung` counts the sends.

While the lab holds the gate (`busy`), each call is a message: a command such as destroy_qp may take
away what is shown. `inside` is the program's word that it is about to take something or to post.

A poll that finds nothing blocks on the futex `news` for as long as the lab would keep its answer
back; `blocked` counts them, so that the lab ends their wait. With `wants` the lab asks for a
message once the program waits.
"""

import ctypes
import fcntl
import mmap
import os
import platform
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from operator import is_not
from threading import Lock

from rdmalab.compat.c.wire import ENTRY_SIZE, WC, pack_cqe
from rdmalab.hca.wr import Cqe
from rdmalab.spec.statuses import WCStatus

HOLD_NS = 1_000_000
"""Time for which an empty poll is kept back for something to come."""
SLOTS, SHOWN = 128, 16
"""Completion queues of a page, and completions of each that are shown at once."""
PAIRS = 512
"""Queue pairs of a page."""
ENTRIES = 1024
"""Polls and receives between two looks of the lab."""
_HEAD = 10  # words before the queue pairs
_BUSY, _INSIDE, _MADE, _SEEN, _NEWS, _BLOCKED, _WANTS, _ASLEEP, _RUNG = range(9)
_SENDS = _HEAD + PAIRS  # in words
_CREDIT = struct.Struct("<II")
_SHOWN_SIZE = WC.size + _CREDIT.size
_SLOT = 8 + SHOWN * _SHOWN_SIZE  # bytes; its first two words:
_PRODUCED, _IS_WHOLE = range(2)
_QUEUES = 4 * (_SENDS + PAIRS)  # offset in bytes
_ENTRIES = _QUEUES + SLOTS * _SLOT
SIZE = -(-(_ENTRIES + ENTRIES * ENTRY_SIZE) // 4096) * 4096
_U32 = 0xFFFFFFFF
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine())  # else they block longer
_FUTEX_WAKE, _ALL = 1, 0x7FFFFFFF
_INSIDE_S, _LOOK_S = 2.0, 20e-6  # a program is inside for less than a microsecond
_system_call = ctypes.CDLL(None).syscall
_IS_WEAK = platform.machine() not in ("x86_64", "AMD64")  # it lets later writes be seen first
Credit = tuple[int, int]
"""The slot of a queue pair, and how many sends it may ever have posted; 0, 0: nothing is known."""
_RINGS = 64  # bytes of the bell that are read at once
_lock = Lock()
_acquire, _release = _lock.acquire, _lock.release


def header() -> str:
    """The C header of the page."""
    constants = {
        "PAGE_SIZE": SIZE, "SLOTS": SLOTS, "SHOWN": SHOWN, "PAIRS": PAIRS, "ENTRIES": ENTRIES,
        "ENTRY_SIZE": ENTRY_SIZE, "HOLD_NS": HOLD_NS,
    }  # fmt: skip
    return "\n".join([
        "/* Made from rdmalab/compat/c/page.py. */",
        *(f"#define {name} {value}" for name, value in constants.items()),
        "struct shown { struct wire_wc wc; uint32_t pair, sends; };",
        "struct slot { uint32_t produced, is_whole; struct shown cqes[SHOWN]; };",
        "struct page {",
        "\tuint32_t busy, inside, made, seen, news, blocked, wants, asleep, rung, spare;",
        "\tuint32_t receives[PAIRS], sends[PAIRS];",
        "\tstruct slot queues[SLOTS];",
        "\tuint8_t entries[ENTRIES][ENTRY_SIZE];",
        "};",
        "_Static_assert(sizeof(struct page) <= PAGE_SIZE, \"as page.py counts\");",
        "",
    ])  # fmt: skip


def _fence() -> None:
    """Let all that was written be visible before anything is read or written next."""
    _acquire()
    _release()
    _acquire()
    _release()


class _Shown:
    """A queue as a program sees it.

    at: offset of its slot. cqes: those that are shown and not known to be taken. taken, produced:
    how many ever were, modulo 2^32. is_whole: whether all that it holds are shown.
    """

    __slots__ = ("at", "cqes", "is_whole", "produced", "taken")

    def __init__(self, at: int) -> None:
        self.at = at
        self.cqes: deque[Cqe] = deque()
        self.taken = self.produced = 0
        self.is_whole = True


class Page:
    """The page of one program, which may write anything into it."""

    def __init__(self) -> None:
        """Make one of memory that cannot shrink, or a program could take it from under the lab."""
        self.descriptor = os.memfd_create("rdmalab", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, SIZE)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
        self._memory = mmap.mmap(self.descriptor, SIZE)
        self._octets = memoryview(self._memory)
        self._words = self._octets.cast("I")
        place = ctypes.c_uint32.from_buffer(self._memory, 4 * _NEWS)
        self._news_at = ctypes.c_void_p(ctypes.addressof(place))
        del place  # or the memory could not be given back
        self._free = list(range(SLOTS, 0, -1))
        self._free_pairs = list(range(PAIRS, 0, -1))
        self._queues: dict[int, _Shown] = {}
        self._posted: dict[int, int] = {}  # slot of a queue pair → receives by entries
        self._sent: dict[int, int] = {}  # slot of a queue pair → sends, also by messages
        self.bell, self.theirs = socket.socketpair()
        self.bell.setblocking(False)
        self._rings = self._heard = 0
        self._seen = 0  # entries that were carried out
        self._wants = False
        self.is_closed = False

    def close(self) -> None:
        """Leave the page to the program, whose polls are messages from now on."""
        self._words[_BUSY] = 1
        self._words.release()
        self._octets.release()
        self._memory.close()
        os.close(self.descriptor)
        self.bell.close()
        self.theirs.close()

    # ------------------------------------------------------------------ the gate
    def close_gate(self) -> bool:
        """Let each call be a message from now on; False if a program keeps inside for too long."""
        if self.is_closed:
            return True
        self.is_closed = True
        words = self._words
        words[_BUSY] = 1
        _fence()
        until_s = time.monotonic() + _INSIDE_S
        while words[_INSIDE]:
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_S)
        return True

    def open_gate(self) -> None:
        """Let the program look into the page again."""
        _fence()
        self._words[_BUSY] = 0
        self.is_closed = False

    # ------------------------------------------------------------------ the bell
    def ring(self) -> None:
        """The bell has rung. Its bytes are read seldom: an edge-triggered epoll reports each."""
        self._rings += 1
        if self._rings % _RINGS == 0:
            with suppress(OSError):
                self.bell.recv(1 << 16)

    @property
    def has_sends(self) -> bool:
        """Whether sends were posted since the last look of `entries`."""
        return self._words[_RUNG] != self._heard

    def sleep(self) -> bool:
        """Let sends ring the bell; False where some are there already."""
        self._words[_ASLEEP] = 1
        _fence()
        return not self.has_sends

    # ------------------------------------------------------------------ entries
    @property
    def has_entries(self) -> bool:
        """Whether `entries` has any."""
        return self._words[_MADE] != self._seen

    def entries(self) -> Iterator[tuple[memoryview, int]]:
        """The memory and the offset of each new call, oldest first; one is read before the next.

        ValueError for more than there can be.
        """
        self._heard = self._words[_RUNG]
        made, at = self._words[_MADE], self._seen
        if (made - at) & _U32 > ENTRIES:
            raise ValueError(made)
        self._seen = made
        if _IS_WEAK:
            _fence()
        while at != made:
            yield self._octets, _ENTRIES + at % ENTRIES * ENTRY_SIZE
            at = (at + 1) & _U32
        if _IS_WEAK:
            _fence()
        self._words[_SEEN] = made

    # ------------------------------------------------------------------ completion queues
    def add(self) -> int:
        """The slot of another queue, which is empty; 0: all are taken."""
        slot = self._free.pop() if self._free else 0
        if slot:
            shown = self._queues[slot] = _Shown(_QUEUES + (slot - 1) * _SLOT)
            self._set(shown, _PRODUCED, 0)
            self._set(shown, _IS_WHOLE, 1)
        return slot

    def remove(self, slot: int) -> None:
        """A queue was destroyed: another one may have its slot."""
        if (shown := self._queues.pop(slot, None)) is not None:
            self._set(shown, _IS_WHOLE, 0)
            self._set(shown, _PRODUCED, shown.taken)
            self._free.append(slot)

    def _set(self, shown: _Shown, word: int, value: int) -> None:
        self._words[shown.at // 4 + word] = value

    def show(self, slot: int, cqes: deque[Cqe], credit: Callable[[Cqe], Credit]) -> None:
        """Show the oldest completions of a queue, as far as they are not shown yet.

        Where some of those that are shown are gone, the gate is closed. credit: what a poll of a
        completion allows.
        """
        shown = self._queues.get(slot)
        if shown is None:
            return
        if self.is_closed:
            self._compare(shown, cqes)
        has_more = self._append(shown, cqes, credit)
        is_whole = len(shown.cqes) == len(cqes)
        if is_whole is not shown.is_whole:
            if _IS_WEAK:
                _fence()
            shown.is_whole = is_whole
            self._set(shown, _IS_WHOLE, is_whole)
            has_more = has_more or not is_whole
        if has_more:
            self._end_waits()

    def _compare(self, shown: _Shown, cqes: deque[Cqe]) -> None:
        """Take back what is shown if it is not the beginning of the queue any more."""
        if len(shown.cqes) > len(cqes) or any(map(is_not, shown.cqes, cqes)):
            shown.cqes.clear()
        shown.produced = (shown.taken + len(shown.cqes)) & _U32
        self._set(shown, _PRODUCED, shown.produced)

    def _append(self, shown: _Shown, cqes: deque[Cqe], credit: Callable[[Cqe], Credit]) -> bool:
        """Show more of a queue; whether there is more to show."""
        known, produced = shown.cqes, shown.produced
        for cqe in islice(cqes, len(known), SHOWN):
            if cqe.status is not WCStatus.SUCCESS:
                break  # it is explained when it is polled, so its poll is a message
            at = shown.at + 8 + produced % SHOWN * _SHOWN_SIZE
            self._octets[at : at + _SHOWN_SIZE] = pack_cqe(cqe) + _CREDIT.pack(*credit(cqe))
            known.append(cqe)
            produced = (produced + 1) & _U32
        if produced == shown.produced:
            return False
        if _IS_WEAK:
            _fence()
        shown.produced = produced
        self._set(shown, _PRODUCED, produced)
        return True

    def take(self, slot: int, count: int) -> bool:
        """The program has taken so many of what is shown; False if there were fewer."""
        shown = self._queues.get(slot)
        if shown is None or count > len(shown.cqes):
            return False
        for _ in range(count):
            shown.cqes.popleft()
        shown.taken = (shown.taken + count) & _U32
        return True

    def _end_waits(self) -> None:
        """End the waits of polls."""
        words = self._words
        words[_NEWS] = (words[_NEWS] + 1) & _U32
        _fence()
        if words[_BLOCKED] and _FUTEX is not None:
            _system_call(_FUTEX, self._news_at, _FUTEX_WAKE, _ALL, None, None, 0)

    def want(self, *, is_wanted: bool) -> None:
        """Note whether the lab asks for a message once the program waits."""
        if is_wanted != self._wants:
            self._wants = is_wanted
            self._words[_WANTS] = is_wanted
            if is_wanted:
                self._end_waits()

    # ------------------------------------------------------------------ queue pairs
    def add_pair(self) -> int:
        """The slot of another queue pair, which may post nothing yet; 0: all are taken."""
        slot = self._free_pairs.pop() if self._free_pairs else 0
        if slot:
            self._posted[slot] = self._sent[slot] = 0
            self._words[_HEAD + slot - 1] = self._words[_SENDS + slot - 1] = 0
        return slot

    def remove_pair(self, slot: int) -> None:
        """A queue pair was destroyed: another one may have its slot."""
        if self._posted.pop(slot, None) is not None:
            del self._sent[slot]
            self._forget_credits()
            self._free_pairs.append(slot)

    def posted(self, slot: int) -> None:
        """The program has posted a receive by an entry."""
        if slot in self._posted:
            self._posted[slot] = (self._posted[slot] + 1) & _U32

    def sent(self, slot: int, count: int = 1) -> None:
        """The program has posted sends, by an entry or by a message."""
        if slot in self._sent:
            self._sent[slot] = (self._sent[slot] + count) & _U32

    def grant(self, slot: int, room: int) -> None:
        """Accept so many more receives of a queue pair."""
        if slot in self._posted:
            self._words[_HEAD + slot - 1] = (self._posted[slot] + room) & _U32

    def grant_sends(self, slot: int, room: int | None) -> None:
        """Accept so many more sends of a queue pair, and those that polls allow; None: no send."""
        if slot in self._sent:
            self._words[_SENDS + slot - 1] = 0 if room is None else self.sends(slot, room)

    def sends(self, slot: int, room: int) -> int:
        """Number of sends that a queue pair may ever have posted if it has room for so many now."""
        return (self._sent[slot] + room) & _U32

    def revoke(self) -> None:
        """Promise no more that posts are accepted: each is a message."""
        for slot in self._posted:
            self.grant(slot, 0)
            self.grant_sends(slot, None)
        self._forget_credits()

    def _forget_credits(self) -> None:
        """Completions that are shown allow no sends any more."""
        for shown in self._queues.values():
            for number in range(SHOWN):
                at = shown.at + 8 + number * _SHOWN_SIZE + WC.size
                self._octets[at : at + _CREDIT.size] = bytes(_CREDIT.size)
