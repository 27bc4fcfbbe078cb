"""Programs on the nodes of one lab: their handles, and their calls as commands."""

import errno
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from rdmalab.command import Invocation, Noun, Ref, Refused
from rdmalab.compat.c.memory import Mirrors
from rdmalab.compat.c.page import Credit, Page
from rdmalab.compat.c.program import Handle, Program
from rdmalab.compat.c.shared_memory import SharedMemory
from rdmalab.compat.c.source_lines import Caller, Sites
from rdmalab.compat.process import Objects
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.posting import receive_room, send_room
from rdmalab.hca.slots import frees, used_after_poll
from rdmalab.hca.wr import Cqe
from rdmalab.lab import Lab
from rdmalab.session.session import CommandOutcome
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.work import BUILDERS
from rdmalab.world.relations import DESTROYERS

if TYPE_CHECKING:
    from collections.abc import Callable

CALL_NS = 100
"""Virtual time that a call takes."""
_SHARED = 1 << 24  # between the handles of one object; its number, a QPN, has no more bits
_DISTANCE = 1 << 48  # above all addresses of user space
NEWS = frozenset({Kind.CQE_ADDED, Kind.ASYNC_RAISED, Kind.CQ_EVENT_RAISED})
"""The kinds of records for which a program may wait."""
_REVOKES = frozenset({Kind.STATE_CHANGED, Kind.ASYNC_RAISED})  # what was promised to queue pairs
_WRITTEN = frozenset({Kind.MEMORY_WRITTEN})
_TOLD = NEWS | _REVOKES | _WRITTEN
_ADD_ONLY = frozenset({
    "post_send", "post_recv", "post_srq_recv", "map_memory", "poke", "req_notify_cq",
    "get_cq_event", "ack_cq_events", *BUILDERS.values(), "wr_start", "wr_complete", "wr_abort",
})  # fmt: skip
"""Commands that take away nothing that a page shows: its gate stays open."""
_EMPTY: deque[Cqe] = deque()


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
        self.on_page: Callable[[Program, Page], None] = lambda program, page: None
        self.lost: list[Program] = []  # who have kept the lab out of their pages: to be dropped
        self._is_closed = False  # the gates of all pages, until programs are told what has happened
        self._is_seeing = False
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
        self.close_gates()
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
        if word in _ADD_ONLY:
            self.see()
        else:
            self.close_gates()
        self.let_pass(self.world.now_ns + self.call_ns)
        outcome = self.carry_out(word, arguments)
        if outcome.refusal is not None:
            raise outcome.refusal
        return outcome.value

    def carry_out(self, word: str, arguments: dict[str, object]) -> CommandOutcome:
        """The outcome of one command at the present time; NotUnderstood as of `perform`."""
        outcome = self.session.perform(Invocation(word, arguments))
        if self.caller is not None and outcome.event is not None:
            self.callers[outcome.event] = self.caller
        return outcome

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
            program.page.remove_pair(program.pairs.pop(handle, 0))

    def ref(self, node: str, noun: Noun, number: int) -> Ref:
        """The name of a handle's object; OSError with EINVAL if there is none.

        A program that acts has none of another program's handles, as in the kernel.
        """
        handle = (node, noun, number)
        found = self.names.get(handle)
        if found is None or any(handle not in program.own for program in self.acting):
            raise bad_handle()
        return found

    # ------------------------------------------------------------------ pages
    def slot(self, program: Program, handle: Handle) -> int:
        """A place in the page of the program for a queue that it has made; 0: there is none."""
        slot = program.page.add() if program.page is not None else 0
        if slot:
            program.slots[handle] = slot
        return slot

    def pair_slot(self, program: Program, handle: Handle) -> int:
        """A place in the page of the program for a queue pair; 0: there is none."""
        slot = program.page.add_pair() if program.page is not None else 0
        if slot:
            program.pairs[handle] = slot
        return slot

    def queue(self, handle: Handle) -> CompletionQueue | None:
        """The completion queue of a handle; None: a command of the user has destroyed it."""
        node, _, number = handle
        return self.world.nodes[node].cqs.items.get(number)

    def grant(self, program: Program, handle: Handle) -> None:
        """Promise the program the receives for which its queue pair has room."""
        if program.page is not None and handle in program.pairs:
            node, _, number = handle
            hca = self.world.nodes[node]
            program.page.grant(program.pairs[handle], receive_room(hca, hca.qps.items[number]))

    def grant_sends(self, program: Program, handle: Handle, posted: int) -> None:
        """Promise the program the sends for which its queue pair has room, after it posted some."""
        slot = program.pairs.get(handle, 0)
        if program.page is not None and slot:
            node, _, number = handle
            hca = self.world.nodes[node]
            qp = hca.qps.items.get(number)  # None: a command of the user has destroyed it
            program.page.sent(slot, posted)
            program.page.grant_sends(slot, None if qp is None else send_room(hca, qp))

    def _credit(self, program: Program, page: Page, node: str, cqe: Cqe) -> Credit:
        """The slot of its queue pair, and how many sends that may have posted after a poll."""
        slot = program.pairs.get((node, Noun.QP, cqe.qp_num), 0)
        qp = self.world.nodes[node].qps.items.get(cqe.qp_num)
        if not slot or not cqe.is_send or qp is None or not frees(qp, cqe):
            return 0, 0
        return slot, page.sends(slot, qp.sq.capacity - used_after_poll(qp.sq, cqe))

    def show(self, program: Program, handle: Handle) -> None:
        """The program gets in its page what is in a queue of its own."""
        page, queue = program.page, self.queue(handle)
        if page is not None:
            cqes = queue.cqes if queue is not None else _EMPTY
            page.show(program.slots[handle], cqes, partial(self._credit, program, page, handle[0]))

    def see(self) -> None:
        """Carry out what programs have done through their pages since the last call."""
        if self._is_seeing:
            return
        for program in self.programs:
            page = program.page
            if page is not None and page.has_entries:
                self._see(program, page)

    def _see(self, program: Program, page: Page) -> None:
        before = self.caller, self.acting
        self._is_seeing, self.acting = True, (program,)
        try:
            self.on_page(program, page)
        except ValueError:
            self._forget_page(program, page)
        finally:
            self._is_seeing = False
            self.caller, self.acting = before

    def _forget_page(self, program: Program, page: Page) -> None:
        """Look no more into a page with nonsense: each call is a message."""
        page.close()
        program.page = None
        program.slots.clear()
        program.pairs.clear()

    def close_gates(self) -> None:
        """From now on up to `settle` each call of a program is a message; what it has done, too."""
        if not self._is_closed:
            self.see()  # who has nonsense in its page is not waited for
            self._is_closed = True
            for program in self.programs:
                if program.page is not None and not program.page.close_gate():
                    self._forget_page(program, program.page)
                    self.lost.append(program)
        self.see()

    def revoke(self) -> None:
        """No program posts by its page: a person may do what the promises depend on."""
        for program in self.programs:
            if program.page is not None:
                program.page.revoke()

    def show_queue(self, node: str, number: int) -> None:
        """The program to which a queue belongs gets in its page what has come."""
        handle = (node, Noun.CQ, number)
        for program in self.programs:
            if program.page is not None and handle in program.slots:
                self.show(program, handle)

    def settle(self) -> None:
        """Programs have got all that has happened, and may look into their pages again."""
        self.memory.settle()
        if not self._is_closed:
            return
        self._is_closed = False
        for program in self.programs:
            if program.page is not None and program.page.is_closed:
                for handle in program.slots:
                    self.show(program, handle)
                program.page.open_gate()

    def has_news(self) -> bool:
        """Whether something has come for which a program may wait, since the last call of this."""
        trace = self.world.trace
        records, self._known = trace.since(self._known), trace.latest + 1
        return not NEWS.isdisjoint(map(rec.kind_of, records))

    def copy_back(self) -> list[Record]:
        """Copy what the devices have written to the programs; returns the records of that."""
        trace = self.world.trace
        if self._copied > trace.latest:
            return []
        records = rec.of_kinds(trace.since(self._copied), _TOLD)
        self._copied = trace.latest + 1
        if records:
            self.memory.receive(rec.of_kinds(records, _WRITTEN))
        for record in records:
            kind = rec.kind_of(record)
            if kind is Kind.CQE_ADDED:
                self.show_queue(rec.node_of(record), rec.object_of(record))
            elif kind in _REVOKES:
                self.revoke()
        return records

    # ------------------------------------------------------------------ time
    def step(self, until_ns: int | None = None) -> bool:
        """The next event; False if none is due until then."""
        self.see()
        self.memory.publish()
        return self.world.step(until_ns)

    def near_events(self, most: int, near_ns: int) -> int:
        """Up to so many events, each at most `near_ns` after the one before; returns how many.

        Programs get together what they bring: after each completion a process would have to be
        scheduled before it could answer, which takes longer than the next event.
        """
        agenda, trace, step = self.world.agenda, self.world.trace, self.world.step
        memory, heap = self.memory, agenda.heap
        self.see()
        for done in range(most):
            due_ns = agenda.next_ns()
            if due_ns is None or due_ns - trace.at_ns > near_ns:
                return done
            if memory.has_long or (heap and heap[0][3] not in memory.compared):
                memory.publish()
            step()
        return most

    def let_pass(self, until_ns: int) -> None:
        """Virtual time goes on to this, with what is due before; while held only up to that."""
        if self.is_held and (due := self.world.agenda.next_ns()) is not None:
            until_ns = max(self.world.now_ns, min(until_ns, due - 1))
        while (due := self.world.agenda.next_ns()) is not None and due <= until_ns:
            self.step(until_ns)
        self.memory.publish(*self.acting)
        self.world.advance(until_ns)
