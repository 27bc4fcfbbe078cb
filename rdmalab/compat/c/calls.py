"""Programs on the nodes of one lab: their handles, and their calls as commands."""

import errno
from typing import Any

from rdmalab.command import Invocation, Noun, Ref, Refused
from rdmalab.compat.c.memory import Mirrors
from rdmalab.compat.c.page import Look
from rdmalab.compat.c.program import Handle, Program
from rdmalab.compat.c.shared_memory import SharedMemory
from rdmalab.compat.c.source_lines import Caller, Sites
from rdmalab.compat.objects import Objects
from rdmalab.hca.cq import CompletionQueue
from rdmalab.lab import Lab
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.world.relations import DESTROYERS

CALL_NS = 100
"""Virtual time that a call takes."""
_SHARED = 1 << 24  # between the handles of one object; its number, a QPN, has no more bits
_DISTANCE = 1 << 48  # above all addresses of user space
NEWS = frozenset({Kind.CQE_ADDED, Kind.ASYNC_RAISED, Kind.CQ_EVENT_RAISED})
"""The kinds of records for which a program may wait."""
_QUEUE_CHANGED = frozenset({Kind.CQE_ADDED, Kind.CQE_POLLED})
_TOLD = NEWS | _QUEUE_CHANGED | {Kind.MEMORY_WRITTEN}


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
        self.memory = SharedMemory(self.session, self.programs, self.names, self.perform)
        self.files: dict[tuple[int, int], int] = {}  # device and inode → fd of open_xrcd
        self.caller: Caller | None = None  # of the call that is carried out now
        self.callers: dict[int, Caller] = {}  # event → who has caused it
        self.acting: tuple[Program, ...] = ()  # the program whose call is carried out now
        self.is_held = False  # events happen only one by one, when a person says so
        self._is_busy = False  # something happens of which programs are not told yet
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
        self.memory.publish(program)
        self.programs.remove(program)
        self.caller = Caller(program.name, "", (), at_end=True)
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
        self.memory.settle()
        for program in self.programs:
            if program.page is not None:
                program.page.set_busy(is_busy=False)

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
        self.memory.receive(each for each in records if rec.kind_of(each) is Kind.MEMORY_WRITTEN)
        for record in records:
            if rec.kind_of(record) in _QUEUE_CHANGED:
                self.show_queue(rec.node_of(record), rec.object_of(record))
        return records

    # ------------------------------------------------------------------ time
    def step(self, until_ns: int | None = None) -> bool:
        """The next event; False if none is due until then."""
        self._begin()
        self.memory.publish()
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
        self.memory.publish(*self.acting)
        self.world.advance(until_ns)
