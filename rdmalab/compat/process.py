"""The process of a pyverbs program: one lab with one device a node, and how its time passes."""

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any
from weakref import WeakSet

from rdmalab.command import Invocation, New, Noun, Ref
from rdmalab.compat.buffers import Buffers, Mirror
from rdmalab.lab import Lab
from rdmalab.session.session import Session
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.profiles import Profile
from rdmalab.spec.records import Kind, of_kinds
from rdmalab.views import fmt
from rdmalab.views.warnings import moment_warnings


class Objects:
    """The objects of one session, as its programs make and find them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._numbers: dict[tuple[str, Noun], int] = {}  # the next that was not given yet

    def subject(self, word: str) -> str:
        """The name of the first parameter of a command: what it makes, changes or ends."""
        return self.session.vocabulary[word].parameters[0].name

    def make(
        self, perform: Callable[..., object], word: str, noun: Noun, node: str, **arguments: object
    ) -> Ref:
        """Perform a command that creates an object, under the first free name; returns the name.

        A name of an object that was destroyed is not given again. perform: carries a command out;
        what it raises leaves the name free.
        """
        number = self._numbers.get((node, noun), 0)
        while self.session.names.find(f"{node}.{noun}{number}") is not None:
            number += 1
        name = f"{noun}{number}"
        perform(word, **{self.subject(word): New(noun, node, name)}, **arguments)
        self._numbers[node, noun] = number + 1
        return Ref(node, name)

    def find(self, ref: Ref) -> Any:
        """The object of a name; KeyError if there is none."""
        thing = self.session.names.thing_of[f"{ref.node}.{ref.name}" if ref.name else ref.node]
        return self.session.world.find(thing, object)


class Turns:
    """A lock that its owner may take again.

    An interrupt during a turn of the main thread waits for the end of that turn, because half a
    call cannot be saved; a second interrupt does not wait.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._owner = 0
        self._interrupted = False
        here = threading.current_thread()
        # Daemons that ran before the lab was made belong to a notebook, a debugger or a client of
        # a cluster; until one calls the lab it is none of the program's threads.
        self._foreign = WeakSet(t for t in threading.enumerate() if t.daemon and t is not here)
        self._may_be_foreign = bool(self._foreign)  # a WeakSet counts itself at each look

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._may_be_foreign:
            self._foreign.discard(threading.current_thread())
        self._owner, self._depth = threading.get_ident(), self._depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._depth -= 1
        ends = self._interrupted and not self._depth and self._is_main()
        self._lock.release()
        if ends:
            self._interrupted = False
            raise KeyboardInterrupt

    def is_alone(self) -> bool:
        """Whether no other thread of the program is alive."""
        here = threading.current_thread()
        return all(t is here or t in self._foreign for t in threading.enumerate())

    def _is_main(self) -> bool:
        return self._owner == threading.main_thread().ident

    def interrupt(self, _signal: int, _frame: object) -> None:
        """Handle SIGINT, in the main thread; KeyboardInterrupt now or at the end of the turn."""
        if self._depth and self._is_main() and not self._interrupted:
            self._interrupted = True
        else:
            raise KeyboardInterrupt


DEVICE = "rdmalab"
EPOCH_S = 1_600_000_000  # what the wall clock shows when the lab begins
# The longest that one look at an empty queue lets pass.
_GLANCE_NS = 1_000_000
# What a call takes, and so a poll that finds nothing or a look at the clock: through Cython and
# libibverbs into host memory that is 0.2 to 1 us on today's hosts. It must be less than the 3.3 us
# that an RC SEND takes here from the post to its completion, as it is less on hardware.
CALL_NS = 1_000
_NEWS = (Kind.CQE_ADDED, Kind.ASYNC_RAISED)
# What a program that polls can see: also bytes that the adapter has written.
_WRITTEN = Kind.MEMORY_WRITTEN
_SEEN = (*_NEWS, _WRITTEN)
_ALL = 1 << 62  # events: as many as are due
# Words after which a completion may be polled too early again: posts, and polls that found one.
_FIRST_AGAIN = frozenset((
    "post_send", "post_recv", "post_srq_recv", "wr_complete", "bind_mw",
    "poll_cq", "start_poll", "next_poll",
))  # fmt: skip
# So many polls of an idle lab, with no look at the clock between, are told as a loop without end:
# a program that counts its polls as a timeout counts fewer.
IDLE_POLLS = 1_000_000
POLL_WARNING_NS = 1_000_000_000
"""After so long in vain, polls of a queue while nothing is planned are reported, with the cause."""
# How long a thread that waits leaves the others alone, really.
_PAUSE_S = 0.001
_pause = time.sleep  # which a program may see replaced
_CALLERS = 4  # call, the skin, the method of pyverbs, the program
_POSTS = frozenset({"post_send", "post_recv", "post_srq_recv", "wr_complete"})


class DeviceWarning(UserWarning):
    """A program posted what the documents and devices treat differently; Python shows it once."""


class Process:
    """A program on all nodes of one lab; one of its threads at a time may call it."""

    def __init__(
        self, profile: str | Profile = "strict", seed: int = 0,
        link_layer: LinkLayer = LinkLayer.ETHERNET, lab: Lab | None = None,
    ) -> None:  # fmt: skip
        self.lab = lab if lab is not None else Lab(profile=profile, seed=seed)
        self.profile = profile if lab is None else next(iter(lab.profiles.values()))
        self.session = self.lab.session
        self.world = self.session.world
        self.buffers = Buffers()
        self.devices = {f"{DEVICE}{n}": node for n, node in enumerate(self.world.nodes)}
        self.objects = Objects(self.session)
        self._fetched = 0
        self.is_over = False  # the bounds of the session have ended it
        self._empty = 0  # polls that found nothing, since the last of `_FIRST_AGAIN`
        self._idle = 0  # of these, since the last look at a clock, those of an idle lab
        self._vain: dict[str, int] = {}  # polls of an idle lab since the last of `_FIRST_AGAIN`
        self.call_ns = CALL_NS
        self.poll_warning_ns: int | None = POLL_WARNING_NS  # None: never
        self.lent: list[object] = []  # what a skin has made for itself, and must not be lost
        self._warned: list[str] = []  # about writes, until the call that finds them ends
        self.turns = Turns()
        if link_layer is not LinkLayer.ETHERNET:
            for node in self.world.nodes:
                self._choose(node, link_layer)

    def _choose(self, node: str, link_layer: LinkLayer) -> None:
        """Set the link layer of a node's port, as the line `port A link_layer=…` does."""
        given = {"device": Ref(node), "link_layer": link_layer.text}
        self.session.perform(Invocation("port", given))

    # ------------------------------------------------------------------ calls
    def call(self, word: str, **arguments: object) -> Any:
        """One word of the lab; Refused as it is refused there.

        The adapters work on while the program gets around to it.
        """
        with self.turns:
            self._let_pass(self.call_ns)
            if word in _FIRST_AGAIN:
                self._empty = 0
                self._vain.clear()
            first = self.world.trace.latest + 1
            outcome = self.session.perform(Invocation(word, arguments))
            self.fetch()
        for message in self._unmapped():
            warnings.warn(message, DeviceWarning, stacklevel=_CALLERS)
        if outcome.refusal is not None:
            raise outcome.refusal
        if word in _POSTS and outcome.event is not None:
            self._warned += moment_warnings(self.session, self.world.trace.since(first))
        while self._warned:
            warnings.warn(self._warned.pop(0), DeviceWarning, stacklevel=_CALLERS)
        return outcome.value

    def make(self, word: str, noun: Noun, node: str, **arguments: object) -> Ref:
        """Perform a command that creates an object; return the object's name."""
        with self.turns:
            return self.objects.make(self.call, word, noun, node, **arguments)

    def find(self, ref: Ref) -> Any:
        """The object of a name."""
        return self.objects.find(ref)

    # ------------------------------------------------------------------ memory
    def publish(self) -> None:
        """Copy what the program has written into its buffers to the memory of the nodes."""
        for mirror in self.buffers.mirrors:
            for start, octets in mirror.changes():
                self._write(mirror, start, octets)

    def _write(self, mirror: Mirror, start: int, octets: bytes) -> None:
        region = mirror.regions[0]
        base = self.find(region).addr - mirror.addr
        where = Ref(region.node, region.name, start - base, start - base + len(octets))
        text = octets.decode("latin-1")
        first = self.world.trace.latest + 1
        self.session.perform(Invocation("write", {"where": where, "text": text}))
        self._warned += moment_warnings(self.session, self.world.trace.since(first))

    def _unmapped(self) -> Iterator[str]:
        """A sentence for each MR whose memory was found unmapped since the last call."""
        for mirror in self.buffers.mirrors:
            if mirror.unmapped and not mirror.warned:
                mirror.warned = True
                yield (
                    f"{mirror.regions[0]}: the program has unmapped memory of this MR. The device "
                    "keeps the pages that reg_mr pinned; the program cannot read or write them."
                )

    def fetch(self) -> None:
        """Copy what the devices have written to the buffers of the program."""
        written = self.world.trace.since(self._fetched)
        for _, _, _, kind, node, _, addr, length in written:
            if kind is _WRITTEN:
                mirror = self.buffers.at_node(node, addr)
                if mirror is not None:
                    octets = self.world.nodes[node].memory.read(addr, length)
                    mirror.receive(addr - mirror.addr, octets)
        self._fetched += len(written)

    # ------------------------------------------------------------------ time
    def glance(self) -> None:
        """A poll has found nothing: run the next event if it is due soon."""
        with self.turns:
            self._read_news(_NEWS)

    def poll_in_vain(self, cq: Ref) -> bool:
        """Let time pass after an empty poll; returns whether another look belongs to that poll.

        The first in a row takes CALL_NS and is over: a program that polls too early gets 0. A
        program that polls again waits, so time runs to the next thing it can see, at most
        1 ms: a loop is over after as many polls as there are such things, however long they take.
        (Of CALL_NS each, two seconds would be two million polls; polls that take longer each time
        would pass over what a program looks at between them.)
        """
        with self.turns:
            self._empty += 1
            if self._empty == 1:
                self._let_pass(self.call_ns)
                self.fetch()
                return False
            if self.world.agenda.next_ns() is None:
                self._idle += 1
                self._poll_idle(cq)
                self.world.advance(self.world.now_ns + _GLANCE_NS)
            else:
                self._read_news(_SEEN)
            return True

    def _poll_idle(self, cq: Ref) -> None:
        """Nothing is planned: the first poll of a queue is kept as a call, a long wait reported."""
        polls = self._vain[str(cq)] = self._vain.get(str(cq), 0) + 1
        if polls == 1:
            self.session.perform(Invocation("poll_cq", {"cq": cq}))
        if self.poll_warning_ns is not None and polls == self.poll_warning_ns // _GLANCE_NS:
            waited = fmt.duration(self.poll_warning_ns)
            text = f"{cq} was polled for {waited} and nothing is planned: {_cause(self.session)}"
            warnings.warn(text, DeviceWarning, stacklevel=_CALLERS + 1)

    def is_polled_for_ever(self) -> bool:
        """Whether polls of an idle lab go on without end, and no thread is there to change it."""
        return self._idle >= IDLE_POLLS and self.turns.is_alone()

    def _read_news(self, news: tuple[Kind, ...]) -> None:
        self.publish()
        self._until_news(self.world.now_ns + _GLANCE_NS, news)
        self.fetch()

    def _until_news(self, until_ns: int, news: tuple[Kind, ...]) -> None:
        world = self.world
        events, until_ns = self._room(until_ns)
        before = world.trace.latest + 1
        while events and world.step(until_ns):
            if of_kinds(world.trace.since(before), news):
                return
            before, events = world.trace.latest + 1, events - 1
        self._arrive(events, until_ns)

    def sleep(self, duration_ns: int) -> None:
        """Let virtual time pass and process the events that are due."""
        with self.turns:
            self._let_pass(duration_ns)
            self.fetch()

    def _let_pass(self, duration_ns: int) -> None:
        """Let virtual time pass; the program does not see yet what the adapters have written."""
        self._idle = 0
        self.publish()
        events, until_ns = self._room(self.world.now_ns + duration_ns)
        self._arrive(events - self.world.run(events, until_ns), until_ns)

    def _room(self, until_ns: int) -> tuple[int, int]:
        """Events and time that the bounds of the session leave up to a moment."""
        bounds = self.session.bounds
        if bounds is None or self.is_over:
            return _ALL, until_ns
        return max(0, bounds.event - self.world.event), min(until_ns, bounds.at_ns)

    def _arrive(self, events: int, until_ns: int) -> None:
        """Go to a time up to which events ran. events: so many are left; 0 ends the program."""
        bounds = self.session.bounds
        if events:
            self.world.advance(until_ns)
        if bounds is not None and not self.is_over:
            is_late = self.world.now_ns >= bounds.at_ns
            if is_late or not events:
                self.is_over = True  # what it cleans up now is no part of its work
                raise SystemExit(bounds.sentences[is_late])

    def is_idle(self) -> bool:
        """Whether no event is pending and no other thread of the program could cause one."""
        if self.world.agenda.next_ns() is not None:
            return False
        if not self.turns.is_alone():
            _pause(_PAUSE_S)
            return False
        return True

    def clock_ns(self) -> int:
        """A look at the clock; even that takes time, or a loop that waits for it never ends."""
        self.sleep(self.call_ns)
        return self.world.now_ns


class _Here:
    """The one current process; created when it is first used."""

    process: Process | None = None


def _cause(session: Session) -> str:
    """Verdict of `why` and the rule of its first root cause."""
    from rdmalab.doctor.consultation import consult

    report = consult(session)
    roots = [f"{cause.check.slug}: {cause.check.row.rule}" for cause in report.causes[:1]]
    return "; ".join(
        [report.lines[0], *roots] if roots else ["no work request will complete on it"]
    )


def begin(
    profile: str | Profile = "strict", seed: int = 0, link_layer: LinkLayer = LinkLayer.ETHERNET,
    lab: Lab | None = None,
) -> Process:  # fmt: skip
    """A fresh lab for what follows, or the given one; link_layer: of the ports of both nodes.

    NotUnderstood if the profile has no such ports (rxe: no InfiniBand).
    """
    _Here.process = Process(profile, seed, link_layer, lab)
    return _Here.process


def here() -> Process:
    """The current process; a new one if there is none."""
    return _Here.process or begin()
