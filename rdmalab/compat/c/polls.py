"""Calls that programs have made through their pages, and polls that a program only waits in.

The calls are carried out before anything else happens. A poll is answered at once, or later.
"""

import errno
import time
from collections.abc import Callable

from rdmalab.command import NotUnderstood, Noun, Ref
from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.page import HOLD_NS, Page
from rdmalab.compat.c.posts import named, plain_operands
from rdmalab.compat.c.program import EMPTY_POLLS, Program
from rdmalab.compat.c.sockets import Connection, Sockets
from rdmalab.compat.c.source_lines import Caller
from rdmalab.compat.c.trouble import Trouble
from rdmalab.compat.c.wire import (
    HEAD,
    NUMBERS,
    POLL_ENTRY,
    RECEIVE_ENTRY,
    SEND_ENTRY,
    Ask,
    Word,
    head_of,
    pack_cqe,
)
from rdmalab.compat.c.words import HANDLERS, NOTHING, Answer, Call
from rdmalab.spec.row import dataclass

_POLL, _RECEIVE, _SEND = NUMBERS["poll_cq"], NUMBERS["post_recv"], NUMBERS["post_send"]
_PIECE = ("addr", "length", "lkey")
_MOST = (1 << 31) - 1  # an int of C
Values = tuple[int, ...]


class PageCalls:
    """Carries out the entries of pages; they take no virtual time, since none has passed."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def carry_out(self, program: Program, page: Page) -> None:
        """All entries of a page; ValueError for what no library of ours writes there."""
        program.heard_s = time.monotonic()
        for octets, at in page.entries():
            _, number, place, call = head_of(octets, at)
            if place >= len(self.calls.nodes):
                raise ValueError(place)
            node = self.calls.nodes[place]
            self.calls.caller = caller = program.caller(call)
            if program.blocks:
                program.blocks.pop(caller.thread, None)
            if number == _POLL:
                self._poll(program, page, node, POLL_ENTRY.values(octets, at + HEAD.size))
            elif number == _RECEIVE:
                self._receive(program, page, node, RECEIVE_ENTRY.values(octets, at + HEAD.size))
            elif number == _SEND:
                self._send(program, page, node, SEND_ENTRY.values(octets, at + HEAD.size))
            else:
                raise ValueError(number)

    def _poll(self, program: Program, page: Page, node: str, values: Values) -> None:
        number, entries, taken = values
        handle = (node, Noun.CQ, number)
        slot, queue = program.slots.get(handle, 0), self.calls.queue(handle)
        if not 0 < entries <= _MOST or taken > entries or not page.take(slot, taken):
            raise ValueError(values)
        if queue is None:
            return  # destroyed by a command of the user
        name = self.calls.names[handle]
        if not taken:
            # A completion that has come meanwhile: either order is right.
            if not queue.cqes and program.looked_in_vain(name):
                self._accepted("poll_cq", {"cq": name, "num_entries": entries})
            return
        program.active()
        program.looked_at = None
        # More may have come since: the same poll would find them too.
        entries = taken if len(queue.cqes) > taken else entries
        self._accepted("poll_cq", {"cq": name, "num_entries": entries})
        if queue.cqes:
            self.calls.show(program, handle)

    def _receive(self, program: Program, page: Page, node: str, values: Values) -> None:
        number, pieces, wr_id, addr, length, lkey = values
        handle = (node, Noun.QP, number)
        if handle not in program.pairs or pieces > 1:
            raise ValueError(values)
        sges = [{"addr": addr, "length": length, "lkey": lkey}] * pieces
        program.active()
        page.posted(program.pairs[handle])
        if self.calls.memory.has_long:
            self.calls.memory.publish_sges(node, sges)
        wr = [{"wr_id": wr_id, "sg": [named(self.calls, node, each) for each in sges]}]
        self._accepted("post_recv", {"qp": self.calls.names[handle], "wr": wr})

    def _send(self, program: Program, page: Page, node: str, values: Values) -> None:
        number, opcode, flags, imm_data, rkey, pieces, wr_id, remote_addr, *piece = values
        handle = (node, Noun.QP, number)
        if handle not in program.pairs or pieces > 1:
            raise ValueError(values)
        program.active()
        page.sent(program.pairs[handle])
        self.calls.memory.publish_before_send(program)
        sges = [dict(zip(_PIECE, piece, strict=True))] * pieces
        if self.calls.memory.has_long:
            self.calls.memory.publish_sges(node, sges)
        wr: dict[str, object] = {"opcode": opcode}
        wr["sg"] = [named(self.calls, node, each) for each in sges]
        wr |= plain_operands(opcode, flags, imm_data, rkey, remote_addr)
        if wr_id:
            wr["wr_id"] = wr_id
        self._accepted("post_send", {"qp": self.calls.names[handle], "wr": [wr]})

    def _accepted(self, word: str, arguments: dict[str, object]) -> None:
        """Carry out what the program was promised; if a device has failed since, it is refused."""
        try:
            self.calls.carry_out(word, arguments)
        except NotUnderstood:  # a command of the user has destroyed the object
            return


POLLS = ("poll_cq", "start_poll")
"""The words that are served here."""


@dataclass(slots=True)
class Poll:
    """A poll of a program. deadline_s: when it is answered at the latest, of one that is held."""

    connection: Connection
    program: Program
    word: Word
    node: str
    ask: Ask
    caller: Caller | None
    deadline_s: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether it is `ibv_poll_cq`."""
        return self.word.name == "poll_cq"


Perform = Callable[[Connection, Word, Callable[[], Answer]], None]


class Polls:
    """Those of all programs. held: by their programs, those that are answered later."""

    def __init__(self, calls: Calls, trouble: Trouble, sockets: Sockets, perform: Perform) -> None:
        """Note who carries a call out and answers it: perform."""
        self.calls = calls
        self.trouble = trouble
        self.sockets = sockets
        self.perform = perform
        self.held: dict[Program, Poll] = {}

    def serve(self, poll: Poll) -> None:
        """Answer with completions; an empty one after EMPTY_POLLS in a row is answered later."""
        program, handle = poll.program, (poll.node, Noun.CQ, poll.ask["handle"])
        if handle not in program.own:
            self.sockets.reply(poll.connection, errno.EINVAL)
            return
        self.calls.see()
        name = self.calls.names[handle]
        queue = self.calls.queue(handle)
        if queue is None:
            self.sockets.reply(poll.connection, errno.EINVAL)
            return
        if queue.cqes:
            program.active()
            program.looked_at = None
            self._carry_out(poll, name)
            return
        is_first = program.looked_in_vain(name)
        program.looked_by = poll.caller
        if is_first and poll.is_plain:
            self._carry_out(poll, name)
        elif program.empty_polls < EMPTY_POLLS:
            self._answer_empty(poll)
        else:
            poll.deadline_s = time.monotonic() + HOLD_NS / 1e9
            self.held[program] = poll

    def _carry_out(self, poll: Poll, queue: Ref) -> None:
        self.calls.caller = poll.caller
        self.perform(poll.connection, poll.word, lambda: self._completions(poll, queue))

    def _completions(self, poll: Poll, queue: Ref) -> Answer:
        if not poll.is_plain:
            call = Call(self.calls, poll.program, poll.node, poll.ask, memoryview(b""))
            answer = HANDLERS[poll.word.name](call) or NOTHING
            if not isinstance(answer, bytes):
                self.trouble.polled(poll.program, poll.node, answer["wc"])
            return answer
        found = self.calls.perform("poll_cq", cq=queue, num_entries=poll.ask["num_entries"])
        for cqe in found:
            self.trouble.polled(poll.program, poll.node, cqe)
        return b"".join(map(pack_cqe, found))

    def _answer_empty(self, poll: Poll) -> None:
        self.sockets.reply(poll.connection, 0 if poll.is_plain else errno.ENOENT)

    def wait_s(self, now_s: float) -> float:
        """Seconds until the first of those that are held is answered at the latest."""
        return max(0.0, min(poll.deadline_s for poll in self.held.values()) - now_s)

    def answer_held(self) -> None:
        """Answer those for which something has come, or whose time is over."""
        if not self.held:
            return
        now_s = time.monotonic()
        for program, poll in list(self.held.items()):
            queue = self.calls.queue((poll.node, Noun.CQ, poll.ask["handle"]))
            is_empty = queue is not None and not queue.cqes
            if is_empty and now_s < poll.deadline_s:
                continue
            self.held.pop(program, None)
            if is_empty:
                self._answer_empty(poll)
            else:
                self.serve(poll)
