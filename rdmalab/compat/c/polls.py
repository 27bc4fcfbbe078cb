"""Polls of completion queues: answered at once, or later where a program only waits."""

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass

from rdmalab.command import Noun, Ref
from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.page import HOLD_NS
from rdmalab.compat.c.program import EMPTY_POLLS, Program
from rdmalab.compat.c.sockets import Connection, Sockets
from rdmalab.compat.c.source_lines import Caller
from rdmalab.compat.c.trouble import Trouble
from rdmalab.compat.c.wire import Ask, Word
from rdmalab.compat.c.words import HANDLERS, NOTHING, Answer, Call, completion

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
        return b"".join(map(completion, found))

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
