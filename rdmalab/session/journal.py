"""The journal: all commands in order. All but the newest part is compressed."""

import copyreg
import pickle
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from rdmalab.command import Invocation, New, Ref

# Entries that are packed together. A jump replays about a hundred lines, and unpacks whole chunks:
# of 1,024 entries each, that took as long as 400 events. Of 256 the bytes are 6 % more.
CHUNK = 256
LOOSE = 8  # chunks that are left as they are, at the end


class Entry(NamedTuple):
    """One command, its event and its time (ns)."""

    event: int
    at_ns: int
    invocation: Invocation


# Names in few bytes, and three times as fast; where they stood in a line is of no use any more.
copyreg.pickle(Ref, lambda ref: (Ref, (ref.node, ref.name, ref.start, ref.stop, ref.part)))
copyreg.pickle(New, lambda new: (New, (new.noun, new.node, new.name)))


def _packed(entries: list[Entry]) -> bytes:
    plain = [(event, at_ns, it.name, it.arguments, it.line) for event, at_ns, it in entries]
    return zlib.compress(pickle.dumps(plain), 1)


def _unpacked(octets: bytes) -> list[Entry]:
    plain = pickle.loads(zlib.decompress(octets))
    return [Entry(event, at_ns, Invocation(*text)) for event, at_ns, *text in plain]


class Journal(Sequence[Entry]):
    """Entries by number, oldest first. One takes about a kilobyte, compressed a few dozen bytes."""

    __slots__ = ("_events", "_packed", "_tail", "_unpacked")

    def __init__(self) -> None:
        self._events = array("q")
        self._packed: list[bytes] = []
        self._tail: list[Entry] = []
        self._unpacked: tuple[int, list[Entry]] = (-1, [])  # the chunk that was read last

    def append(self, entry: Entry) -> None:
        """Add the newest entry; compress the oldest loose chunk when there are too many."""
        self._events.append(entry.event)
        self._tail.append(entry)
        if len(self._tail) > (LOOSE + 1) * CHUNK:
            self._packed.append(_packed(self._tail[:CHUNK]))
            del self._tail[:CHUNK]

    def before(self, event: int) -> int:
        """The number of entries before this event."""
        return bisect_left(self._events, event)

    def beginning(self, count: int) -> "Journal":
        """A copy with the first `count` entries."""
        twin = Journal()
        twin._events = self._events[:count]
        chunks = min(count // CHUNK, len(self._packed))
        twin._packed = self._packed[:chunks]
        twin._tail = self[chunks * CHUNK : count]
        return twin

    def __len__(self) -> int:
        return len(self._events)

    @overload
    def __getitem__(self, number: int) -> Entry: ...
    @overload
    def __getitem__(self, number: slice) -> list[Entry]: ...

    def __getitem__(self, number: int | slice) -> Entry | list[Entry]:
        if isinstance(number, slice):
            start, stop, step = number.indices(len(self))
            packed = len(self._packed) * CHUNK
            if start >= packed:
                return self._tail[start - packed : max(start, stop) - packed : step]
            first, entries = start // CHUNK, list[Entry]()
            for chunk in range(first, min(-(-stop // CHUNK), len(self._packed))):
                entries += self._chunk(chunk)
            entries += self._tail[: max(0, stop - packed)]
            return entries[start - first * CHUNK : stop - first * CHUNK : step]
        index = number + len(self) if number < 0 else number
        chunk, place = divmod(index, CHUNK)
        if chunk < len(self._packed):
            return self._chunk(chunk)[place]
        return self._tail[index - len(self._packed) * CHUNK]

    def __iter__(self) -> Iterator[Entry]:
        for chunk in range(len(self._packed)):
            yield from self._chunk(chunk)
        yield from self._tail

    def _chunk(self, number: int) -> list[Entry]:
        if self._unpacked[0] != number:
            self._unpacked = (number, _unpacked(self._packed[number]))
        return self._unpacked[1]
