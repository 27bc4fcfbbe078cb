"""A page that a program shares with the lab, so that an empty poll needs no message.

The lab writes `ready` of each completion queue: 0 if it holds no completion. A poll that finds 0,
as the first one after another call, is answered by the library itself, which counts it in `looks`.
Before anything happens in the world the lab sets `busy`, reads what was counted, and journals it:
so a poll that found nothing stands in the journal before what it did not find. While `busy` is set
a poll is a message.

Once the lab has got a poll of a program that waits, the next ones block on the futex `news`, for
as long as the lab would keep their answer back; `blocked` counts them, so that it ends their wait.
"""

import ctypes
import fcntl
import mmap
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass

HOLD_NS = 1_000_000
"""The time for which an empty poll is kept back for something to come."""
SIZE = 4096
WORDS_OF_SLOT = 4
SLOTS = SIZE // 4 // WORDS_OF_SLOT
"""With the first one, which has `busy` and the `looks` of all queues."""
_BUSY, _ALL_LOOKS, _NEWS, _BLOCKED = range(4)
_READY, _LOOKS, _ENTRIES, _THREAD = range(WORDS_OF_SLOT)
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine())  # else they block longer
_FUTEX_WAKE, _ALL = 1, 0x7FFFFFFF
_system_call = ctypes.CDLL(None).syscall
_NO_ENTRIES = 1 << 31  # from here on an int of C is negative


@dataclass(frozen=True, slots=True)
class Look:
    """A poll that found nothing. slot: of its queue. entries: as many as the program asked for."""

    slot: int
    entries: int
    thread: int


class Page:
    """The page of one program, which may write anything into it."""

    def __init__(self) -> None:
        """Make one of memory that cannot shrink, or a program could take it from under the lab."""
        self.descriptor = os.memfd_create("rdmalab", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, SIZE)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
        self._memory = mmap.mmap(self.descriptor, SIZE)
        self._words = memoryview(self._memory).cast("I")
        place = ctypes.c_uint32.from_buffer(self._memory, 4 * _NEWS)
        self._news_at = ctypes.c_void_p(ctypes.addressof(place))
        del place  # or the memory could not be given back
        self._free = list(range(SLOTS - 1, 0, -1))
        self._used: dict[int, int] = {}  # slot → its looks that are known
        self._all_looks = 0

    def close(self) -> None:
        """Leave the page to the program, whose polls are messages from now on."""
        self._words[_BUSY] = 1
        self._words.release()
        self._memory.close()
        os.close(self.descriptor)

    def add(self) -> int:
        """The slot of another queue, which is empty; 0: all are taken."""
        slot = self._free.pop() if self._free else 0
        if slot:
            at = slot * WORDS_OF_SLOT
            self._words[at + _READY] = 0
            self._used[slot] = self._words[at + _LOOKS]
        return slot

    def remove(self, slot: int) -> None:
        """A queue was destroyed: another one may have its slot."""
        if self._used.pop(slot, None) is not None:
            self._words[slot * WORDS_OF_SLOT + _READY] = 1
            self._free.append(slot)

    def set_ready(self, slot: int, *, is_ready: bool) -> None:
        """Note whether a queue may hold a completion; slot 0: it has no place."""
        if not slot:
            return
        words = self._words
        words[slot * WORDS_OF_SLOT + _READY] = is_ready
        if is_ready:
            words[_NEWS] = (words[_NEWS] + 1) & 0xFFFFFFFF
            if words[_BLOCKED] and _FUTEX is not None:
                _system_call(_FUTEX, self._news_at, _FUTEX_WAKE, _ALL, None, None, 0)

    def set_busy(self, *, is_busy: bool) -> None:
        """Note whether the queues are about to change."""
        self._words[_BUSY] = is_busy

    @property
    def has_looks(self) -> bool:
        """Whether `looks` has any."""
        return self._words[_ALL_LOOKS] != self._all_looks

    def looks(self) -> Iterator[Look]:
        """The polls that found nothing since the last call; of one queue the last one."""
        words = self._words
        self._all_looks = words[_ALL_LOOKS]
        for slot, known in self._used.items():
            at = slot * WORDS_OF_SLOT
            if words[at + _LOOKS] != known:
                self._used[slot] = words[at + _LOOKS]
                entries = words[at + _ENTRIES]
                if 0 < entries < _NO_ENTRIES:
                    yield Look(slot, entries, words[at + _THREAD])
