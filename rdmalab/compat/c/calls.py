"""Programs on the nodes of one lab: their handles, their memory, and their calls as commands."""

import errno
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from rdmalab.command import Invocation, Noun, Ref, Refused
from rdmalab.compat.c.memory import Mirrors
from rdmalab.compat.c.page import Look, Page
from rdmalab.compat.c.source_lines import Caller, Sites, thread_name
from rdmalab.compat.objects import Objects
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.memory import PAGE
from rdmalab.lab import Lab
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.work import WORK, Local
from rdmalab.verbs.nouns import DESTROYERS
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door

CALL_NS = 100
"""Virtual time that a call takes."""
_FILLS = frozenset(opcode for opcode, row in WORK.items() if row.local is Local.SCATTER)
_FILLED = 16  # so many equal bytes become `fill`, not `write`
_SHARED = 1 << 24  # between the handles of one object; its number, a QPN, has no more bits
_HAS_LONG = attrgetter("memory.has_long")
_COPIES, _COPIES_ROOM = 1 << 47, 1 << 20  # where no program of user space has memory
_DISTANCE = 1 << 48  # above all addresses of user space
NEWS = frozenset({Kind.CQE_ADDED, Kind.ASYNC_RAISED, Kind.CQ_EVENT_RAISED})
"""The kinds of records for which a program may wait."""
_QUEUE_CHANGED = frozenset({Kind.CQE_ADDED, Kind.CQE_POLLED})
_TOLD = NEWS | _QUEUE_CHANGED | {Kind.MEMORY_WRITTEN}
Handle = tuple[str, Noun, int]
EMPTY_POLLS = 2
"""Number of empty polls in a row after which the program waits for the lab."""


@dataclass(slots=True, eq=False)
class Program:
    """A process. node: its letter; empty: it sees all devices. own: what it has made and not ended.

    empty_polls: how many in a row found nothing. asleep_in: the call in which it blocks, and of
    what; None: it does not, or another of its threads has called since. blocks: for each thread
    that does, by its name in a Caller.
    heard_s: real time of its last word. refusals: how many calls in a row were refused alike.
    sleeps_to_ns: virtual time at which its sleep is over. looks: at the clock, so many in a row.
    looked_at: the queue that it polled last. polled: the queues of which an empty poll is in the
    journal since the last other call. page: which it shares with the lab; None: it shares none.
    slots: its queues that have a place in the page. lent: bytes of the room for copies in use.
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
    blocks: dict[str, tuple[str, Ref]] = field(default_factory=dict)
    heard_s: float = 0.0
    refusals: int = 0
    refused: tuple[str, int] = ("", 0)  # the last refused call, and its errno
    looked_at: Ref | None = None
    polled: set[str] = field(default_factory=set)
    sleeps_to_ns: int | None = None
    looks: int = 0
    page: Page | None = None
    slots: dict[Handle, int] = field(default_factory=dict)
    lent: int = 0
    _callers: dict[tuple[int, ...], Caller] = field(default_factory=dict)

    def caller(self, thread: int, *returns: int) -> Caller:
        """The caller by its thread, and the addresses to which the call and its caller return."""
        found = self._callers.get((thread, *returns))
        if found is None:
            sites = [self.sites.at(each) for each in returns if each]
            known = tuple(each for each in sites if each is not None)
            found = Caller(self.name, thread_name(self.pid, thread), known)
            self._callers[thread, *returns] = found
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
        self.looked_at = queue
        name = str(queue)
        is_first = name not in self.polled
        self.polled.add(name)
        return is_first

    def active(self) -> None:
        """Note a call other than a poll for completions."""
        self.empty_polls, self.asleep_in, self.sleeps_to_ns, self.looks = 0, None, None, 0
        self.polled.clear()

    def answered(self, word: str, error: int) -> None:
        """A call has ended with this errno; polls between refused calls do not count."""
        if error and self.refused == (word, error):
            self.refusals += 1
        elif error:
            self.refused, self.refusals = (word, error), 1
        elif word == self.refused[0]:
            self.refused, self.refusals = ("", 0), 0


def bad_handle() -> OSError:
    """EINVAL: in C a wild pointer, or an object that was destroyed."""
    return OSError(errno.EINVAL, "no object has this handle")


class Calls:
    """The session, and the programs that act in it; all of them one after the other."""

    def __init__(self, lab: Lab) -> None:
        self.call_ns = CALL_NS
        self.lab = lab
        self.session = lab.session
        self.objects = Objects(lab.session)
        self.find = self.objects.find
        self.world = lab.session.world
        self.nodes = list(self.world.nodes)
        self.programs: list[Program] = []
        self.names: dict[Handle, Ref] = {}
        self.files: dict[tuple[int, int], int] = {}  # device and inode → fd of open_xrcd
        self.caller: Caller | None = None  # of the call that is carried out now
        self.callers: dict[int, Caller] = {}  # event → who has caused it
        self.acting: tuple[Program, ...] = ()  # the program whose call is carried out now
        self.is_held = False  # events happen only one by one, when a person says so
        self._is_busy = False  # something happens of which programs are not told yet
        self._compared: set[str] = set()  # nodes whose programs have been compared meanwhile
        self._known = self._copied = self.world.trace.latest + 1
        self._homes: dict[str, int] = {}  # programs that each node has had

    # ------------------------------------------------------------------ programs
    def join(self, pid: int, node: str, name: str) -> Program:
        """A process has opened its connection."""
        home = node or self.nodes[0]
        place = self._homes[home] = self._homes.get(home, -1) + 1
        program = Program(pid, node, name, Mirrors(pid, place * _DISTANCE), Sites(pid))
        self.programs.append(program)
        return program

    def leave(self, program: Program, *, keeps_objects: bool = False) -> None:
        """A process has ended: what it has left goes in the order of the kernel.

        keeps_objects: it was ended from outside; the objects stay as they are, to be looked at.
        """
        self.see_looks()
        self.publish(program)
        self.programs.remove(program)
        if program.page is not None:
            program.page.close()
        if keeps_objects:
            return
        for noun, verb in DESTROYERS.items():
            for handle in [own for own in program.own if own[1] is noun]:
                self._end(handle, verb)

    def _end(self, handle: Handle, verb: str) -> None:
        ref = self.names.pop(handle, None)
        if ref is None:
            return
        try:
            if handle[1] is Noun.CQ and (unread := self.find(ref).unacked):
                self.perform("ack_cq_events", cq=ref, nevents=unread)
            self.perform(verb, **{self.objects.subject(verb): ref})
        except Refused:
            return  # another process still uses it, as a shared XRC queue pair

    # ------------------------------------------------------------------ commands
    def perform(self, word: str, **arguments: object) -> Any:
        """One command; raises Refused as the lab refuses it, NotUnderstood for senseless values."""
        self._begin()
        self.let_pass(self.world.now_ns + self.call_ns)
        outcome = self.session.perform(Invocation(word, arguments))
        if self.caller is not None and outcome.event is not None:
            self.callers[outcome.event] = self.caller
        if outcome.refusal is not None:
            raise outcome.refusal
        return outcome.value

    def make(self, program: Program, word: str, noun: Noun, node: str, **arguments: object) -> Any:
        """Perform a command that creates an object; returns the object."""
        ref = self.objects.make(self.perform, word, noun, node, **arguments)
        made = self.find(ref)
        handle = made.number
        while (node, noun, handle) in self.names:  # open_qp: one more name of the same object
            handle += _SHARED
        self.names[node, noun, handle] = ref
        program.own[node, noun, handle] = None
        return made

    def unmake(self, program: Program, noun: Noun, node: str, number: int) -> None:
        """Perform the command that ends an object, and discard its handle."""
        handle = (node, noun, number)
        ref, word = self.ref(*handle), DESTROYERS[noun]
        self.perform(word, **{self.objects.subject(word): ref})
        self.names.pop(handle, None)
        program.own.pop(handle, None)
        if handle in program.regions:
            program.memory.remove(*program.regions.pop(handle))
        if program.page is not None:
            program.page.remove(program.slots.pop(handle, 0))

    def ref(self, node: str, noun: Noun, number: int) -> Ref:
        """The name of a handle's object; OSError with EINVAL if there is none.

        A program that acts has none of another program's handles, as in the kernel.
        """
        handle = (node, noun, number)
        found = self.names.get(handle)
        if found is None or any(handle not in program.own for program in self.acting):
            raise bad_handle()
        return found

    # ------------------------------------------------------------------ polls
    def slot(self, program: Program, handle: Handle) -> int:
        """A place in the page of the program for a queue that it has made; 0: there is none."""
        slot = program.slots[handle] = program.page.add() if program.page is not None else 0
        return slot

    def queue(self, handle: Handle) -> CompletionQueue | None:
        """The completion queue of a handle; None: a command of the user has destroyed it."""
        node, _, number = handle
        return self.world.nodes[node].cqs.items.get(number)

    def see_looks(self) -> None:
        """Journal what programs have polled in vain without a message."""
        for program in self.programs:
            if program.page is not None and program.page.has_looks:
                for look in program.page.looks():
                    self._looked(program, look)

    def _looked(self, program: Program, look: Look) -> None:
        handle = next(key for key, slot in program.slots.items() if slot == look.slot)
        queue = self.queue(handle)
        if queue is None or queue.cqes:
            return  # a thread has polled at the moment at which it came: either order is right
        if program.looked_in_vain(self.names[handle]):
            asked = {"cq": self.names[handle], "num_entries": look.entries}
            outcome = self.session.perform(Invocation("poll_cq", asked))
            if outcome.event is not None:
                self.callers[outcome.event] = program.caller(look.thread)

    def show_queue(self, node: str, number: int) -> None:
        """The program to which a queue belongs sees in its page whether it holds a completion."""
        handle = (node, Noun.CQ, number)
        for program in self.programs:
            if program.page is not None and handle in program.slots:
                queue = self.queue(handle)
                program.page.set_ready(program.slots[handle], is_ready=bool(queue and queue.cqes))

    def _begin(self) -> None:
        """Something is about to happen: up to `settle` each poll is a message."""
        if self._is_busy:
            return
        self._is_busy = True
        for program in self.programs:
            if program.page is not None:
                program.page.set_busy(is_busy=True)
        self.see_looks()

    def settle(self) -> None:
        """Programs have got all that has happened, and may look into their pages again."""
        self._is_busy = False
        self._compared.clear()
        for program in self.programs:
            if program.page is not None:
                program.page.set_busy(is_busy=False)

    # ------------------------------------------------------------------ memory
    def map(self, program: Program, node: str, addr: int, length: int) -> int:
        """Give a node the memory that a process has at an address; returns the node's address."""
        place = addr + program.memory.distance
        if not self.world.nodes[node].memory.is_mapped(place, length):
            first = place & ~(PAGE - 1)
            last = (place + length + PAGE - 1) & ~(PAGE - 1)
            self.perform("map_memory", node=Ref(node), addr=first, length=last - first)
        return place

    def lend(self, program: Program, node: str, addr: int, octets: bytes) -> int:
        """Bytes that a call copies at once (INLINE): the node has them at the same address.

        At another one if they were copied from registered memory, and the program has changed it
        since: wr_set_inline_data copies, and wr_complete brings the bytes here.
        """
        place, length = self.map(program, node, addr, max(len(octets), 1)), len(octets)
        read = self.world.nodes[node].memory.read
        if read(place, length) != octets:
            self.publish(program)
        if read(place, length) != octets:
            if program.memory.has_any_of(addr, length):
                place = self.map(program, node, _COPIES + program.lent, length)
                program.lent = (program.lent + length) % _COPIES_ROOM
            self.perform("poke", node=Ref(node), addr=place, text=octets.decode("latin-1"))
        return place

    def publish(self, *writers: Program) -> None:
        """Copy what programs have written to the nodes, as far as they are about to be read.

        writers: those that act now; what others have written is copied when they act, or before an
        event that reads memory of their node, the first of several. To compare all before each
        event took a third of the time of a pingpong.
        """
        reader = self._next_reader()
        if reader in self._compared:
            reader = ""
        elif reader:
            self._compared.add(reader)
        for program in self.programs if reader else writers:
            if program in writers or program.node in (reader, ""):
                for addr, octets in program.memory.changes():
                    self._written(program, addr, octets)
        if self._has_long:
            for node, addr, length in self._next_reads():
                self._publish_long(node, addr, length)

    @property
    def _has_long(self) -> bool:
        return any(map(_HAS_LONG, self.programs))

    def publish_all(self) -> None:
        """Copy all of it, for several events."""
        self.publish(*self.programs)
        for program in self.programs:
            for addr, length in program.regions.values():
                for start, octets in program.memory.changes_in(addr, length):
                    self._written(program, start, octets)

    def _next_reader(self) -> str:
        """The node whose memory the next event may read; empty if it reads none."""
        heap = self.world.agenda.heap
        if not heap:
            return ""
        _, _, door, node, argument, _ = heap[0]
        if isinstance(argument, Packet):
            reads = argument.opcode_row.op is Op.RDMA_READ_REQUEST or argument.atomiceth is not None
            return node if reads else ""
        return node if door is Door.PORT else ""

    def _publish_long(self, node: str, addr: int, length: int) -> None:
        for program in self.programs:
            if program.node in (node, ""):
                first = addr - program.memory.distance
                for start, octets in program.memory.changes_in(first, length):
                    self._written(program, start, octets)

    def publish_sges(self, node: str, sges: Iterable[Mapping[str, int]]) -> None:
        """Copy what a request will read or fill, before it is posted: it was written before."""
        if self._has_long:
            for sge in sges:
                for place in self._translated(node, sge["addr"], sge["length"]):
                    self._publish_long(*place)

    def _written(self, program: Program, addr: int, octets: bytes) -> None:
        place, text = addr + program.memory.distance, octets.decode("latin-1")
        is_fill = len(octets) > _FILLED and not octets.strip(octets[:1])
        for (node, noun, number), (start, length) in program.regions.items():
            if noun is Noun.MR and start <= addr and addr + len(octets) <= start + length:
                name = self.names[node, noun, number].name
                where = Ref(node, name, addr - start, addr - start + len(octets))
                if is_fill:
                    self.session.perform(Invocation("fill", {"where": where, "byte": octets[0]}))
                else:
                    self.session.perform(Invocation("write", {"where": where, "text": text}))
                return
        node = program.node or self.nodes[0]
        if self.world.nodes[node].memory.is_mapped(place, len(octets)):
            given = {"node": Ref(node), "addr": place, "text": text}
            self.session.perform(Invocation("poke", given))

    def _next_reads(self) -> Iterator[tuple[str, int, int]]:
        """Memory that the next event will read: node, address, length in bytes."""
        heap = self.world.agenda.heap
        if not heap:
            return
        _, _, door, node, argument, _ = heap[0]
        if door is Door.PORT:
            yield from self._next_packets(node)
        elif isinstance(argument, Packet) and argument.opcode_row.op is Op.RDMA_READ_REQUEST:
            if argument.reth is not None:
                yield from self._translated(node, argument.reth.va, argument.reth.dma_length)
        elif isinstance(argument, Packet) and argument.atomiceth is not None:
            yield from self._translated(node, argument.atomiceth.va, 8)

    def _next_packets(self, node: str) -> Iterator[tuple[str, int, int]]:
        """The bytes of the packet that each request in a send queue will send next."""
        for qp in self.world.nodes[node].qps.items.values():
            mtu = 128 << int(qp.attr.path_mtu or 5)
            for wqe in qp.sq.wqes.values():
                if wqe.inline is not None or wqe.wr.opcode in _FILLS:
                    continue
                at = ((qp.req.psn - wqe.first_psn) & 0xFFFFFF) * mtu
                left = mtu
                for sge in wqe.sg:
                    if at < sge.length and left:
                        length = min(left, sge.length - at)
                        yield from self._translated(node, sge.addr + at, length)
                        left -= length
                    at = max(at - sge.length, 0)

    def _translated(self, node: str, va: int, length: int) -> Iterator[tuple[str, int, int]]:
        """By each MR that has this address: where its bytes lie in the node."""
        for mr in self.world.nodes[node].mrs.items.values():
            if mr.iova <= va < mr.iova + mr.length:
                yield node, mr.addr + va - mr.iova, length

    def has_news(self) -> bool:
        """Whether something has come for which a program may wait, since the last call of this."""
        trace = self.world.trace
        records, self._known = trace.since(self._known), trace.latest + 1
        return not NEWS.isdisjoint(map(rec.kind_of, records))

    def copy_back(self) -> list[Record]:
        """Copy what the devices have written to the programs; returns the records of that."""
        trace, records = self.world.trace, list[Record]()
        if self._copied <= trace.latest:
            records = rec.of_kinds(trace.since(self._copied), _TOLD)
            self._copied = trace.latest + 1
        written: dict[str, tuple[int, int]] = {}  # node → where a range begins and ends
        for record in records:
            kind, node = rec.kind_of(record), rec.node_of(record)
            if kind is Kind.MEMORY_WRITTEN:
                first, length = rec.address_of(record), rec.length_of(record)
                start, stop = written.get(node, (first, first))
                if stop != first:  # packets of one message fill one range
                    self._received(node, start, stop - start)
                    start = first
                written[node] = start, first + length
            elif kind in _QUEUE_CHANGED:
                self.show_queue(node, rec.object_of(record))
        for node, (start, stop) in written.items():
            self._received(node, start, stop - start)
        return records

    def _received(self, node: str, addr: int, length: int) -> None:
        octets = self.world.nodes[node].memory.read(addr, length)
        for program in self.programs:
            if program.node in (node, ""):
                program.memory.receive(addr - program.memory.distance, octets)

    # ------------------------------------------------------------------ time
    def step(self, until_ns: int | None = None) -> bool:
        """The next event; False if none is due until then."""
        self._begin()
        self.publish()
        return self.world.step(until_ns)

    def near_events(self, most: int, near_ns: int) -> int:
        """Up to so many events, each at most `near_ns` after the one before; returns how many.

        It ends where something has come for which a program may wait.
        """
        agenda, trace = self.world.agenda, self.world.trace
        self._known = trace.latest + 1
        for done in range(most):
            due_ns = agenda.next_ns()
            if due_ns is None or due_ns - trace.at_ns > near_ns or (done and self.has_news()):
                return done
            self.step()
        return most

    def let_pass(self, until_ns: int) -> None:
        """Virtual time goes on to this, with what is due before; while held only up to that."""
        if self.is_held and (due := self.world.agenda.next_ns()) is not None:
            until_ns = max(self.world.now_ns, min(until_ns, due - 1))
        while (due := self.world.agenda.next_ns()) is not None and due <= until_ns:
            self.step(until_ns)
        self.publish(*self.acting)
        self.world.advance(until_ns)
