"""A process whose program calls the lab: what it has made, where it waits, where its memory is."""

import time
from dataclasses import dataclass, field

from rdmalab.command import Noun, Ref
from rdmalab.compat.c.memory import Mirrors
from rdmalab.compat.c.page import Page
from rdmalab.compat.c.source_lines import Caller, Sites, thread_name
from rdmalab.compat.c.wire import CALLER

EMPTY_POLLS = 2
"""Number of empty polls in a row after which the program waits for the lab."""
DESTROYS_ID = "rdma_destroy_id"
"""The call in which a program waits until the events of an id are acknowledged."""
Handle = tuple[str, Noun, int]


@dataclass(slots=True, eq=False)
class Program:
    """A process. node: its letter; empty: it sees all devices. own: what it has made and not ended.

    empty_polls: how many in a row found nothing. asleep_in: the call in which it blocks, and of
    what; None: it does not, or another of its threads has called since. blocks: the same for each
    thread that does, by its name in a Caller, and the Caller.
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
    blocks: dict[str, tuple[str, Ref, Caller]] = field(default_factory=dict)
    heard_s: float = field(default_factory=time.monotonic)
    refusals: int = 0
    refused: tuple[str, int] = ("", 0)  # the last refused call, and its errno
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

    def answered(self, word: str, error: int) -> None:
        """A call has ended with this errno; polls between refused calls do not count."""
        if error and self.refused == (word, error):
            self.refusals += 1
        elif error:
            self.refused, self.refusals = (word, error), 1
        elif word == self.refused[0]:
            self.refused, self.refusals = ("", 0), 0
