"""The lab's end of the connections of programs, and the loop in which virtual time passes."""

import errno
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path

from rdmalab.command import NotUnderstood, Noun, Ref, Refused
from rdmalab.compat.c.calls import NEWS, Calls
from rdmalab.compat.c.connections import HANDLERS as CM_HANDLERS
from rdmalab.compat.c.connections import Connections, take_event
from rdmalab.compat.c.pace import IDLE_S, NEAR_NS, STILL_S, Pace
from rdmalab.compat.c.page import Page
from rdmalab.compat.c.polls import POLLS, PageCalls, Poll, Polls
from rdmalab.compat.c.posts import HANDLERS
from rdmalab.compat.c.program import (
    EMPTY_POLLS,
    GETS_ASYNC_EVENT,
    GETS_CM_EVENT,
    Program,
    Wait,
    is_stopped,
    link_of,
    listeners,
    name_of_process,
    sleeps_without_end,
    socket_wait,
)
from rdmalab.compat.c.sockets import Connection, ProtocolError, Sockets
from rdmalab.compat.c.source_lines import Caller, thread_name
from rdmalab.compat.c.trouble import Tell, Trouble
from rdmalab.compat.c.wire import HEAD, WORDS, Ask, Word, head_of
from rdmalab.compat.c.words import NOTHING, Answer, Call
from rdmalab.lab import Lab
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record

CIRCLE_CALLS = 1_000
"""Refusals of the same call in a row after which the program tries it without limit."""
CHOOSE = "?"
"""The node of a program that takes the one where the fewest programs are."""
_OF_PROGRAMS = ("socket:", "anon_inode:[eventfd")  # no terminal, timer or file changes these
_QUIET_S = 0.05  # so long without a call, a program that sleeps is about to do nothing
_CALL_S = 2.0  # so long a connect request waits for a program that does not come to rest


_SLEEPS_TO = attrgetter("sleeps_to_ns")
_CONNECTS = ("hello", "share_page", "create_comp_channel", "open_async", "cm_open_channel")
_TOGETHER = 16  # events between two looks at the sockets
_STOP_LOOK_S = 0.02  # between two looks for a stopped program
_LOOK_S = 0.25  # between two looks at the states of the processes


class Server:
    """One lab and the programs on it. expected: how many programs are still to come.

    While one is expected, no timer strikes early and nothing is called stuck.
    """

    def __init__(
        self, lab: Lab, path: Path, tell: Tell, *, expected: int = 0, is_open: bool = False,
        is_virtual: bool = False,
    ) -> None:  # fmt: skip
        """Listen at a path. is_open: programs of other terminals come and go, which is reported.

        is_virtual: a program is alone, so calls take no time, and its sleeps exactly theirs.
        """
        self.calls = Calls(lab)
        self.calls.on_page = PageCalls(self.calls).carry_out
        self.is_open = is_open
        if is_virtual:
            self.calls.call_ns = 0
        self.world = lab.session.world
        self.hosts = Connections(self.calls)
        self._called_s = 0.0  # real time at which no connect request was unanswered
        self.trouble = Trouble(self.calls, self.hosts, tell)
        self.tell = tell
        self.expected = expected
        self.pace = Pace(is_virtual=is_virtual)
        self.sockets = Sockets(path, self._serve, self._leave)
        self.polls = Polls(self.calls, self.trouble, self.sockets, self._perform)
        self.seen: set[int] = set()
        self.keeps_objects = False  # of programs that end from now on
        self._stopped, self._stop_looked_s = False, 0.0
        self._looked_s = 0.0  # when the states of the processes were read last
        self._outside_s = 0.0  # when their sockets are looked at next

    def close(self) -> None:
        """End all connections: every later verb of a program returns EIO."""
        self.sockets.close()

    # ------------------------------------------------------------------ the loop
    def turn(self, most_s: float = IDLE_S) -> bool:
        """Listen; answer who has spoken, then let the next events happen if they may.

        most_s: to listen, seconds. Returns whether anything has happened.
        """
        now_s, before = time.monotonic(), self.world.event
        wait_s = most_s
        if self._is_going(now_s):
            due_ns = self._due_ns()
            due_s = self._wait_s(now_s, due_ns)
            self._ask_who_waits(is_wanted=due_s > 0 and due_ns is not None)
            wait_s = min(wait_s, due_s)
        if self.polls.held:
            wait_s = min(wait_s, self.polls.wait_s(now_s))
        has_heard, is_loud = self._listen(wait_s)
        if self.calls.lost:
            self._drop_lost()
        now_s = time.monotonic()
        is_going = self._is_going(now_s)
        if not is_loud:
            self._let_happen(now_s, is_going=is_going)
        self.polls.answer_held()
        self._deliver(now_s)
        if self.hosts.timers and is_going:
            self._expire(now_s)
        if not self._is_stopped(now_s):  # also while held: nothing is planned then, too
            self._look_for_stuck(now_s)
        return has_heard or self.world.event != before

    def _drop_lost(self) -> None:
        """End the connections of programs that have kept the lab out of their pages."""
        lost, self.calls.lost = self.calls.lost, []
        for connection in list(self.sockets.connections):
            if connection.program in lost:
                self.sockets.drop(connection)

    def _listen(self, wait_s: float) -> tuple[bool, bool]:
        """Serve who speaks within this time, seconds; whether one has, and whether more may."""
        if wait_s:
            for program in self.calls.programs:
                if program.page is not None and not program.page.sleep():
                    wait_s = 0  # a send is there already
        has_heard = is_loud = self.sockets.listen(wait_s)
        for _ in range(_TOGETHER if has_heard else 0):
            is_loud = self.sockets.listen(0)
            if not is_loud:
                break
        return has_heard, is_loud

    def _ask_who_waits(self, *, is_wanted: bool) -> None:
        """Let programs say that they wait if an event then happens at once."""
        for program in self.calls.programs:
            if program.page is not None:
                program.page.want(is_wanted=is_wanted and not program.waits)

    def _is_going(self, now_s: float) -> bool:
        return not self.calls.is_held and not self._is_stopped(now_s)

    def _wait_s(self, now_s: float, due_ns: int | None) -> float:
        """Seconds to listen before the next thing happens; 0: it may now."""
        now_ns = self.world.now_ns
        all_wait = not self.pace.is_near(now_ns, due_ns) and self._all_wait()
        return self.pace.wait_s(now_s, now_ns, due_ns, all_wait=all_wait)

    def _wakes_ns(self) -> int | None:
        """Time in ns at which the first sleep is over; None: no program sleeps until a time."""
        if not any(map(_SLEEPS_TO, self.calls.programs)):
            return None
        return min(program.sleeps_to_ns for program in self.calls.programs if program.sleeps_to_ns)

    def _due_ns(self) -> int | None:
        """Time in ns at which something happens next: an event, or the end of a program's sleep."""
        event_ns, wakes_ns = self.world.agenda.next_ns(), self._wakes_ns()
        if wakes_ns is None:
            return event_ns
        return wakes_ns if event_ns is None else min(event_ns, wakes_ns)

    def _go_on(self, due_ns: int) -> bool:
        """The next event, or the end of a sleep before it; whether a program has news."""
        if self._wakes_ns() is None or due_ns == self.world.agenda.next_ns():
            self.calls.step()
            self.pace.quiet_events += 1
            return self.calls.has_news()
        self.calls.let_pass(due_ns)
        for program in self.calls.programs:
            if program.sleeps_to_ns is not None and program.sleeps_to_ns <= due_ns:
                program.sleeps_to_ns = None
        return True

    def _is_stopped(self, now_s: float) -> bool:
        """Whether a program is stopped, as by a debugger: then no time passes for any of them."""
        if now_s - self._stop_looked_s > _STOP_LOOK_S:
            self._stop_looked_s = now_s
            was, self._stopped = self._stopped, any(is_stopped(p.pid) for p in self.calls.programs)
            if was or self._stopped:  # the time of the stop does not count
                self.pace.begin_again()
        return self._stopped

    def step(self) -> bool:
        """The next event, with the bytes that programs wrote before and get after it."""
        is_there = self.calls.step()
        self.pace.quiet_events += 1
        self.happened()
        return is_there

    def _let_happen(self, now_s: float, *, is_going: bool) -> None:
        """The next event if it may happen now, and those after it up to news for a program."""
        if not is_going:
            self.calls.see()  # programs may post while the world is held
            self.calls.memory.settle()  # and write afterwards, for as long as it is
            return
        if not self.pace.is_virtual and self._wakes_ns() is None and self._near_events():
            return
        for _ in range(_TOGETHER):
            due_ns = self._due_ns()
            if due_ns is None or self._wait_s(now_s, due_ns) or self._go_on(due_ns):
                break
        self.happened()

    def _near_events(self) -> int:
        """Let near events happen, and show programs their news; returns how many there were."""
        done = self.calls.near_events(_TOGETHER, NEAR_NS)
        if done:
            self.pace.quiet_events += done
            self.happened()
        return done

    def _is_quiet(self, now_s: float) -> bool:
        """Whether no program is about to do anything: one that has got an event reads it first."""
        return not self.expected and all(
            now_s - program.heard_s > _QUIET_S and sleeps_without_end(program.pid)
            for program in self.calls.programs
        )

    def _deliver(self, now_s: float) -> None:
        """Refuse connect requests without a listener when no program is about to listen."""
        if not self.hosts.unanswered:
            self._called_s = now_s
            return
        refuse = self._is_quiet(now_s) or now_s - self._called_s > _CALL_S
        for sentence in self.hosts.deliver(refuse=refuse):
            self.tell(f"rdmalab: {sentence}")

    def _expire(self, now_s: float) -> None:
        """Let the next timer of rdma_cm expire, if nothing else is due before."""
        due_ns, event_ns = self.hosts.due_ns(), self._due_ns()
        is_next = due_ns is not None and (event_ns is None or due_ns < event_ns)
        if due_ns is not None and is_next and self._is_quiet(now_s):
            self.calls.let_pass(due_ns)
        for sentence in self.hosts.expire():
            self.tell(f"rdmalab: {sentence}")

    def _look_for_stuck(self, now_s: float) -> None:
        if now_s - self._looked_s < _LOOK_S or self.trouble.stuck or self._is_expecting():
            return
        self._looked_s = now_s
        programs = self.calls.programs
        for program in programs:
            if program.refusals >= CIRCLE_CALLS:
                self.trouble.hangs(f"a call of {program.name} is refused again and again")
                return
        for program in programs:
            is_silent = now_s - program.heard_s > STILL_S and not program.waits
            program.listens = [*self._listens(program)] if is_silent else []
        hang = any(each.waits or each.blocks or each.listens for each in programs) and all(
            program.empty_polls >= EMPTY_POLLS
            or (
                (program.waits or now_s - program.heard_s > STILL_S)
                and sleeps_without_end(program.pid)
            )
            for program in programs
        )
        due_ns = self._due_ns() or self.hosts.due_ns()
        if sentence := self.pace.stuck(now_s, due_ns, all_wait=hang):
            self.trouble.hangs(sentence)

    def _listens(self, program: Program) -> Iterator[tuple[str, Wait]]:
        """The waits of threads that sleep for events of the lab, or of other programs, alone."""
        own = (each for each in self.sockets.connections if each.is_stream)
        streams = {each.link: each.awaits for each in own
                   if each.pid == program.pid and not each.has_unread}  # fmt: skip
        for thread, call, links in listeners(program.pid) if streams else ():
            if all(link.startswith(_OF_PROGRAMS) for link in links):
                caller = Caller(program.name, thread_name(program.pid, thread), ())
                awaited = (streams.get(link) for link in links)
                yield from ((call, (*each, caller)) for each in awaited if each is not None)

    def look_outside(self, ended: Mapping[str, int]) -> None:
        """Tell of programs that wait in sockets for others, which have ended: name to exit code."""
        now_s = time.monotonic()
        if not ended or self._is_expecting() or self.is_open or now_s < self._outside_s:
            return
        self._outside_s = now_s + STILL_S
        idle = [
            each
            for each in self.calls.programs
            if now_s - each.heard_s > STILL_S and not each.waits and not each.blocks
        ]
        if len(idle) < len(self.calls.programs) or self.world.agenda.next_ns() is not None:
            return
        waits = [socket_wait(each.pid) for each in idle]
        if waits and all(waits):
            self.trouble.outside(idle[0], waits[0], ended)

    def _all_wait(self) -> bool:
        for program in self.calls.programs:
            if not self._waits(program):
                return False
        return bool(self.calls.programs) and not self._is_expecting()

    def _waits(self, program: Program) -> bool:
        """Whether time may pass for it; of one that is alone only while a call has no answer."""
        if not self.pace.is_virtual:
            return program.waits
        return program.is_asleep or program in self.polls.held

    def _is_expecting(self) -> bool:
        """Whether a program is still to come: in an open lab the second one."""
        return self.expected > 0 or (self.is_open and len(self.calls.programs) < 2)

    def happened(self) -> None:
        """Programs get the bytes and events of what has changed."""
        for record in self.calls.copy_back():
            kind = rec.kind_of(record)
            if kind is Kind.MEMORY_WRITTEN:  # a long message goes on; what is sent again does not
                self.pace.quiet_events = 0
            if kind not in NEWS:
                continue
            if kind is not Kind.CQ_EVENT_RAISED:
                self.pace.news()
            if kind is not Kind.CQE_ADDED:
                self._tell_event(record, kind)
        self.calls.settle()

    def _tell_event(self, record: Record, kind: Kind) -> None:
        channel = rec.channel_of(record) if kind is Kind.CQ_EVENT_RAISED else None
        for connection in self.sockets.connections:
            source = connection.node, connection.channel
            if connection.is_stream and source == (rec.node_of(record), channel):
                connection.notify()

    def verdicts(self) -> list[str]:
        """Return the sentences on rejected connections, failed programs and a hang."""
        hang = [f"NEVER  {self.trouble.hang}"] if self.trouble.hang else []
        failed = [*self.hosts.refused, *self.trouble.failed]
        return [*(f"FAILED  {sentence}" for sentence in failed), *hang]

    # ------------------------------------------------------------------ words
    def _serve(self, connection: Connection, message: bytes) -> None:
        _, number, place, call = head_of(message)
        if place >= len(self.calls.nodes):
            raise ProtocolError
        word, node = WORDS[number], self.calls.nodes[place]
        ask = word.asks.unpack(message, HEAD.size)
        self.calls.caller = None
        program = connection.program
        if word.name in _CONNECTS:
            self._connect(connection, word, node, ask)
            return
        if program is None or (program.node and program.node != node):
            raise ProtocolError
        self.calls.see()  # its page has what it did before this call
        program.heard_s = self.pace.heard_s = time.monotonic()
        caller = self.calls.caller = program.caller(call)
        if program.blocks:
            program.blocks.pop(caller.thread, None)
        if word.name in POLLS:
            self.polls.serve(Poll(connection, program, word, node, ask, caller))
            return
        if word.name != "clock":
            program.active()
        tail = memoryview(message)[HEAD.size + word.asks.size :]
        self._perform(connection, word, partial(self._done, word, program, node, ask, tail))

    def _connect(self, connection: Connection, word: Word, node: str, ask: Ask) -> None:
        """Serve a word by which a program opens a connection, or its page."""
        if word.name == "hello":
            self._hello(connection, word, ask)
        elif word.name == "share_page":
            self._share_page(connection)
        else:
            self._open_stream(connection, word, node, ask)
        if connection.program is not None:
            connection.program.heard_s = time.monotonic()

    def _done(
        self, word: Word, program: Program, node: str, ask: Ask, tail: memoryview
    ) -> Answer | None:
        if word.name == "cm_get_event":
            fields, private_data = take_event(self.hosts, program, ask["handle"])
            return word.answers.pack(fields) + private_data
        if word.name in CM_HANDLERS:
            return CM_HANDLERS[word.name](self.hosts, program, ask, bytes(tail))
        return HANDLERS[word.name](Call(self.calls, program, node, ask, tail))

    def _perform(
        self, connection: Connection, word: Word, action: Callable[[], Answer | None]
    ) -> None:
        """Do it and answer: with its fields, or with the errno of a refusal."""
        error, bad, octets, cause = 0, 0, b"", ""
        self.calls.acting = () if connection.program is None else (connection.program,)
        try:
            answer = action()
            octets = answer if isinstance(answer, bytes) else word.answers.pack(answer or NOTHING)
        except Refused as refusal:
            error, bad = refusal.errno, refusal.bad_wr or 0
        except NotUnderstood as senseless:
            error = errno.EINVAL
            self.tell(f"rdmalab: {word.name}: {senseless.message}")
        except (OSError, KeyError, ValueError) as wrong:
            error = getattr(wrong, "errno", None) or errno.EINVAL
            cause = getattr(wrong, "strerror", None) or ""
        self.calls.acting = ()
        self.happened()
        if connection.program is not None:
            connection.program.answered(word.name, error, cause)
        self.sockets.reply(connection, error, octets, bad)

    def _leave(self, program: Program) -> None:
        """A program has ended, or has closed its connection."""
        self.polls.held.pop(program, None)
        self.calls.see()
        self.trouble.leaves(program)
        self.hosts.leave(program)
        self.calls.leave(program, keeps_objects=self.keeps_objects)
        if self.is_open:
            self.tell(f"rdmalab: {program.name} has left")
        self.happened()

    def _hello(self, connection: Connection, word: Word, ask: Ask) -> None:
        nodes = {0: "", ord(CHOOSE): self._emptiest()}
        nodes |= {ord(node): node for node in self.calls.nodes}
        if connection.program is not None or ask["node"] not in nodes:
            raise ProtocolError
        wanted = nodes[ask["node"]]
        name = name_of_process(connection.pid)
        connection.program = self.calls.join(connection.pid, wanted, name)
        if connection.pid not in self.seen:
            self.seen.add(connection.pid)
            self.excuse()
        if self.is_open:
            self.tell(f"rdmalab: {name} runs on {wanted or 'both nodes'}")
            self.trouble.begin_again()
        first = self.calls.nodes.index(wanted) if wanted else 0
        count = 1 if wanted else len(self.calls.nodes)
        self.sockets.reply(connection, 0, word.answers.pack({"first": first, "count": count}))

    def _share_page(self, connection: Connection) -> None:
        """Send the descriptor of a page; none on a virtual clock, which moves while polls wait."""
        program = connection.program
        if program is None or program.page is not None:
            raise ProtocolError
        if self.pace.is_virtual:
            self.sockets.reply(connection, errno.EOPNOTSUPP)
            return
        page = program.page = Page()
        self.sockets.watch_bell(page.bell.fileno(), page.ring)
        self.sockets.reply(connection, 0, descriptors=(page.descriptor, page.theirs.fileno()))

    def _emptiest(self) -> str:
        """The node with the fewest programs, of several the first."""
        homes = [program.node for program in self.calls.programs]
        return min(self.calls.nodes, key=homes.count)

    def excuse(self) -> None:
        """One program fewer is to come."""
        self.expected = max(0, self.expected - 1)

    def _open_stream(self, connection: Connection, word: Word, node: str, ask: Ask) -> None:
        """A second connection of a program, for a channel or for asynchronous events."""
        program = next((p for p in self.calls.programs if p.pid == connection.pid), None)
        if program is None or connection.program is not None:
            raise ProtocolError

        def open_() -> Answer:
            connection.is_stream, connection.link = True, link_of(connection.pid, ask["fd"])
            if word.name == "cm_open_channel":
                connection.awaits = GETS_CM_EVENT, Ref(node)
                return {"handle": self.hosts.open_channel(program, connection.notify)}
            connection.awaits = GETS_ASYNC_EVENT, Ref(node)
            if word.name == "create_comp_channel":
                made = self.calls.make(program, word.name, Noun.CHANNEL, node)
                connection.channel = made.number
                connection.awaits = "get_cq_event", self.calls.ref(node, Noun.CHANNEL, made.number)
            connection.node = node
            return {"handle": connection.channel or 0}

        self._perform(connection, word, open_)
