"""The lab's end of the connections of programs, and the loop in which virtual time passes."""

import errno
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rdmalab.command import NotUnderstood, Noun, Ref, Refused
from rdmalab.compat.c.calls import EMPTY_POLLS, Calls, Program
from rdmalab.compat.c.connections import HANDLERS as CM_HANDLERS
from rdmalab.compat.c.connections import Connections, take_event
from rdmalab.compat.c.pace import IDLE_S, STILL_S, Pace
from rdmalab.compat.c.posts import HANDLERS
from rdmalab.compat.c.source_lines import Caller, thread_name
from rdmalab.compat.c.threads import is_stopped, name_of_process, sleeps_without_end
from rdmalab.compat.c.trouble import Tell, Trouble
from rdmalab.compat.c.wire import ANSWER, HEAD, LONGEST, WORDS, Ask, Word
from rdmalab.compat.c.words import NOTHING, Answer, Call, completion
from rdmalab.lab import Lab
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record

HOLD_S = 0.001
"""Seconds that the answer to an empty poll is kept back for something to come."""
CIRCLE_CALLS = 1_000
"""Refusals of the same call in a row after which the program tries it without limit."""
CHOOSE = "?"
"""The node of a program that takes the one where the fewest programs are."""
_QUIET_S = 0.05  # so long without a call, a program that sleeps is about to do nothing
_CALL_S = 2.0  # so long a connect request waits for a program that does not come to rest


_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid of SO_PEERCRED
_CHUNK = 1 << 16
_SEND_S = 5.0  # a program that does not read its answer for so long has lost its connection
_STREAMS = ("create_comp_channel", "open_async", "cm_open_channel")
_POLLS = ("poll_cq", "start_poll")
_TOGETHER = 8  # events between two looks at the sockets
_NEWS = (Kind.CQE_ADDED, Kind.ASYNC_RAISED, Kind.CQ_EVENT_RAISED)
_STOP_LOOK_S = 0.02  # between two looks for a stopped program
_LOOK_S = 0.25  # between two looks at the states of the processes
_NO_ENTRY = errno.ENOENT


class ProtocolError(Exception):
    """Raised for bytes that no library of ours sends; the connection is closed."""


@dataclass(slots=True, eq=False)
class Connection:
    """A socket. program: who speaks on it; None: not known yet, or the lab writes events to it.

    node, channel: of a stream; channel None: its asynchronous events.
    """

    sock: socket.socket
    pid: int
    program: Program | None = None
    is_stream: bool = False
    node: str = ""
    channel: int | None = None
    received: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Held:
    """A poll that found nothing, and is answered later. deadline_s: at the latest."""

    word: Word
    node: str
    ask: Ask
    deadline_s: float


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
        self.is_open = is_open
        if is_virtual:
            self.calls.call_ns = 0
        self.world = lab.session.world
        self.hosts = Connections(self.calls)
        self._called_s = 0.0  # real time at which no connect request was unanswered
        self.trouble = Trouble(self.calls, tell)
        self.tell = tell
        self.expected = expected
        self.pace = Pace(is_virtual=is_virtual)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.connections: list[Connection] = []
        self.held: dict[int, tuple[Connection, Held]] = {}
        self.seen: set[int] = set()
        self.keeps_objects = False  # of programs that end from now on
        self._stopped, self._stop_looked_s = False, 0.0
        self._looked_s = 0.0  # when the states of the processes were read last

    def close(self) -> None:
        """End all connections: every later verb of a program returns EIO."""
        for connection in list(self.connections):
            self._drop(connection)
        self.selector.unregister(self.listener)
        self.listener.close()
        self.selector.close()

    # ------------------------------------------------------------------ the loop
    def turn(self, most_s: float = IDLE_S) -> bool:
        """Listen; answer who has spoken, else let the next event happen if it may.

        most_s: to listen, seconds. Returns whether anything has happened.
        """
        due_ns, now_s = self._due_ns(), time.monotonic()
        all_wait = self._all_wait()
        wait_s = self.pace.wait_s(now_s, self.world.now_ns, due_ns, all_wait=all_wait)
        if self.held:
            first = min(held.deadline_s for _, held in self.held.values())
            wait_s = min(wait_s, max(0.0, first - now_s))
        if self.calls.is_held or self._is_stopped(now_s):
            wait_s = most_s
        wait_s, before = min(wait_s, most_s), self.world.event
        ready = self.selector.select(wait_s)
        for key, _ in ready:
            if key.fileobj is self.listener:
                self._welcome()
            else:
                self._read(key.data)
        now_s = time.monotonic()
        is_going = not self.calls.is_held and not self._is_stopped(now_s)
        if is_going and not ready:
            self._let_happen(now_s)
        self._answer_held()
        self._deliver(time.monotonic())
        if is_going:
            self._look_for_stuck(time.monotonic())
        return bool(ready) or self.world.event != before

    def _due_ns(self) -> int | None:
        """Time in ns at which something happens next: an event, or the end of a program's sleep."""
        wakes = [each.sleeps_to_ns for each in self.calls.programs if each.sleeps_to_ns is not None]
        event_ns = self.world.agenda.next_ns()
        return min(wakes if event_ns is None else [event_ns, *wakes], default=None)

    def _is_due(self, now_s: float) -> bool:
        now_ns, due_ns = self.world.now_ns, self._due_ns()
        return self.pace.is_due(now_s, now_ns, due_ns, all_wait=self._all_wait())

    def _go_on(self) -> bool:
        """The next event, or the end of a sleep before it; whether a program has news."""
        due_ns = self._due_ns()
        if due_ns is None or due_ns == self.world.agenda.next_ns():
            self.calls.step()
            self.pace.quiet_events += 1
            return self.happened()
        self.calls.let_pass(due_ns)
        for program in self.calls.programs:
            if program.sleeps_to_ns is not None and program.sleeps_to_ns <= due_ns:
                program.sleeps_to_ns = None
        self.happened()
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

    def _let_happen(self, now_s: float) -> None:
        """The next event if it may happen now, and those after it up to news for a program."""
        for _ in range(_TOGETHER):
            if not self._is_due(now_s) or self._go_on():
                return

    def _deliver(self, now_s: float) -> None:
        """Refuse connect requests without a listener when no program is about to listen."""
        if not self.hosts.unanswered:
            self._called_s = now_s
            return
        quiet = not self.expected and all(
            now_s - program.heard_s > _QUIET_S and sleeps_without_end(program.pid)
            for program in self.calls.programs
        )
        self.hosts.deliver(refuse=quiet or now_s - self._called_s > _CALL_S)

    def _look_for_stuck(self, now_s: float) -> None:
        if self.trouble.stuck or self._is_expecting() or now_s - self._looked_s < _LOOK_S:
            return
        self._looked_s = now_s
        programs = self.calls.programs
        for program in programs:
            if program.refusals >= CIRCLE_CALLS:
                self.trouble.hangs(f"a call of {program.name} is refused again and again")
                return
        hang = any(program.waits for program in programs) and all(
            program.empty_polls >= EMPTY_POLLS
            or (
                (program.waits or now_s - program.heard_s > STILL_S)
                and sleeps_without_end(program.pid)
            )
            for program in programs
        )
        due_ns = self.world.agenda.next_ns()
        if sentence := self.pace.stuck(now_s, due_ns, all_wait=hang):
            self.trouble.hangs(sentence)

    def _all_wait(self) -> bool:
        programs = self.calls.programs
        return bool(programs) and not self._is_expecting() and all(map(self._waits, programs))

    def _waits(self, program: Program) -> bool:
        """Whether time may pass for it; of one that is alone only while a call has no answer."""
        if not self.pace.is_virtual:
            return program.waits
        held = (connection.program for connection, _ in self.held.values())
        return program.is_asleep or program in held

    def _is_expecting(self) -> bool:
        """Whether a program is still to come: in an open lab the second one."""
        return self.expected > 0 or (self.is_open and len(self.calls.programs) < 2)

    def happened(self) -> bool:
        """Programs get the bytes and events of what has changed; whether one of them has news."""
        has_news = False
        for record in self.calls.copy_back():
            kind = rec.kind_of(record)
            if kind is Kind.MEMORY_WRITTEN:  # a long message goes on; what is sent again does not
                self.pace.quiet_events = 0
            if kind not in _NEWS:
                continue
            has_news = True
            if kind is not Kind.CQ_EVENT_RAISED:
                self.pace.news()
            if kind is not Kind.CQE_ADDED:
                self._tell_event(record, kind)
        return has_news

    def _tell_event(self, record: Record, kind: Kind) -> None:
        channel = rec.channel_of(record) if kind is Kind.CQ_EVENT_RAISED else None
        for connection in self.connections:
            source = connection.node, connection.channel
            if connection.is_stream and source == (rec.node_of(record), channel):
                _notify(connection)

    # ------------------------------------------------------------------ connections
    def _welcome(self) -> None:
        sock, _ = self.listener.accept()
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(credentials)
        if uid != os.getuid():
            sock.close()
            return
        sock.settimeout(_SEND_S)
        connection = Connection(sock, pid)
        self.connections.append(connection)
        self.selector.register(sock, selectors.EVENT_READ, connection)

    def _drop(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        self.selector.unregister(connection.sock)
        self.held.pop(id(connection), None)
        connection.sock.close()
        connection.received.clear()  # what it has sent after this is not served
        if connection.program is not None:
            self.hosts.leave(connection.program)
            self.calls.leave(connection.program, keeps_objects=self.keeps_objects)
            if self.is_open:
                self.tell(f"rdmalab: {connection.program.name} has left")
            self.happened()

    def _read(self, connection: Connection) -> None:
        try:
            octets = connection.sock.recv(_CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            octets = b""
        connection.received += octets
        try:
            while connection.received and (message := self._message(connection)):
                self._serve(connection, *message)
        except ProtocolError:
            octets = b""
        if not octets:
            self._drop(connection)

    def _message(self, connection: Connection) -> tuple[Word, str, bytes] | None:
        """The next whole message, taken out of what was received; None: it is not there yet."""
        received = connection.received
        if len(received) < HEAD.size:
            return None
        length, number, node, thread, *returns = HEAD.unpack_from(received)
        word = WORDS.get(number)
        if word is None or not word.asks.size <= length <= LONGEST or node >= len(self.calls.nodes):
            raise ProtocolError
        if len(received) < HEAD.size + length:
            return None
        body = bytes(received[HEAD.size : HEAD.size + length])
        del received[: HEAD.size + length]
        program = connection.program
        self.calls.caller = None
        if program is not None:
            sites = [program.sites.at(each) for each in returns if each]
            found = tuple(each for each in sites if each is not None)
            name = thread_name(program.pid, thread)
            self.calls.caller = Caller(program.name, name, found)
        return word, self.calls.nodes[node], body

    def _reply(self, connection: Connection, error: int, octets: bytes = b"", bad: int = 0) -> None:
        try:
            connection.sock.sendall(ANSWER.pack(len(octets), error, bad) + octets)
        except OSError:
            self._drop(connection)

    # ------------------------------------------------------------------ words
    def _serve(self, connection: Connection, word: Word, node: str, body: bytes) -> None:
        ask = word.asks.unpack(body)
        if word.name == "hello":
            self._hello(connection, word, ask)
            return
        if word.name in _STREAMS:
            self._open_stream(connection, word, node, ask)
            return
        program = connection.program
        if program is None or (program.node and program.node != node):
            raise ProtocolError
        program.heard_s = self.pace.heard_s = time.monotonic()
        if word.name in _POLLS:
            self._poll(connection, program, Held(word, node, ask, 0.0))
            return
        if word.name != "clock":
            program.active()
        tail = memoryview(body)[word.asks.size :]
        self._perform(connection, word, lambda: self._done(word, program, node, ask, tail))

    def _done(self, word: Word, program: Program, node: str, ask: Ask, tail: memoryview) -> Answer:
        if word.name == "cm_get_event":
            fields, private_data = take_event(self.hosts, program, ask["handle"])
            return word.answers.pack(fields) + private_data
        if word.name in CM_HANDLERS:
            return CM_HANDLERS[word.name](self.hosts, program, ask, bytes(tail))
        return HANDLERS[word.name](Call(self.calls, program, node, ask, tail))

    def _perform(self, connection: Connection, word: Word, action: Callable[[], Answer]) -> None:
        """Do it and answer: with its fields, or with the errno of a refusal."""
        error, bad, octets = 0, 0, b""
        self.calls.acting = () if connection.program is None else (connection.program,)
        try:
            answer: Answer = action()
            octets = answer if isinstance(answer, bytes) else word.answers.pack(answer or NOTHING)
        except Refused as refusal:
            error, bad = refusal.errno, refusal.bad_wr or 0
        except NotUnderstood as senseless:
            error = errno.EINVAL
            self.tell(f"rdmalab: {word.name}: {senseless.message}")
        except (OSError, KeyError, ValueError) as wrong:
            error = getattr(wrong, "errno", None) or errno.EINVAL
        self.calls.acting = ()
        self.happened()
        if connection.program is not None:
            connection.program.answered(word.name, error)
        self._reply(connection, error, octets, bad)

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
        self._reply(connection, 0, word.answers.pack({"first": first, "count": count}))

    def _emptiest(self) -> str:
        """The node with the fewest programs, of several the first."""
        homes = [program.node for program in self.calls.programs]
        return min(self.calls.nodes, key=homes.count)

    def excuse(self) -> None:
        """One program fewer is to come."""
        self.expected = max(0, self.expected - 1)

    def _open_stream(self, connection: Connection, word: Word, node: str, ask: Ask) -> None:
        """A second connection of a program, for a channel or for asynchronous events."""
        del ask
        program = next((p for p in self.calls.programs if p.pid == connection.pid), None)
        if program is None or connection.program is not None:
            raise ProtocolError

        def open_() -> Answer:
            connection.is_stream = True
            if word.name == "cm_open_channel":
                return {"handle": self.hosts.open_channel(program, lambda: _notify(connection))}
            if word.name == "create_comp_channel":
                made = self.calls.make(program, word.name, Noun.CHANNEL, node)
                connection.channel = made.number
            connection.node = node
            return {"handle": connection.channel or 0}

        self._perform(connection, word, open_)

    # ------------------------------------------------------------------ polls
    def _poll(self, connection: Connection, program: Program, held: Held) -> None:
        """Answer with completions; an empty one after EMPTY_POLLS in a row is answered later."""
        handle = (held.node, Noun.CQ, held.ask["handle"])
        if handle not in program.own:
            self._reply(connection, errno.EINVAL)
            return
        queue = self.calls.ref(*handle)
        if self.calls.find(queue).cqes:
            program.active()
            program.looked_at = None
            self._perform(connection, held.word, lambda: self._completions(program, queue, held))
            return
        program.empty_polls += 1
        program.looked_at = queue
        if str(queue) not in program.polled and held.word.name == "poll_cq":
            program.polled.add(str(queue))
            self._perform(connection, held.word, lambda: self._completions(program, queue, held))
        elif program.empty_polls < EMPTY_POLLS:
            self._reply(connection, _NO_ENTRY if held.word.name == "start_poll" else 0)
        else:
            held.deadline_s = time.monotonic() + HOLD_S
            self.held[id(connection)] = (connection, held)

    def _completions(self, program: Program, queue: Ref, held: Held) -> Answer:
        if held.word.name != "poll_cq":
            call = Call(self.calls, program, held.node, held.ask, memoryview(b""))
            answer = HANDLERS[held.word.name](call)
            if not isinstance(answer, bytes):
                self.trouble.polled(program, held.node, answer["wc"])
            return answer
        found = self.calls.perform("poll_cq", cq=queue, num_entries=held.ask["num_entries"])
        for cqe in found:
            self.trouble.polled(program, held.node, cqe)
        return b"".join(map(completion, found))

    def _answer_held(self) -> None:
        now_s = time.monotonic()
        for key, (connection, held) in list(self.held.items()):
            program = connection.program
            queue = self.calls.names.get((held.node, Noun.CQ, held.ask["handle"]))
            if program is None or queue is None:
                del self.held[key]
                self._reply(connection, errno.EINVAL)
            elif self.calls.find(queue).cqes:
                del self.held[key]
                self._poll(connection, program, held)
            elif now_s >= held.deadline_s:
                del self.held[key]
                self._reply(connection, _NO_ENTRY if held.word.name == "start_poll" else 0)


def _notify(connection: Connection) -> None:
    """One byte for one event; a program that has closed its end gets none."""
    with suppress(OSError):
        connection.sock.send(b"e", socket.MSG_DONTWAIT)
