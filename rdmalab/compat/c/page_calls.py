"""Calls that programs have made through their pages, carried out before anything else happens."""

import time

from rdmalab.command import NotUnderstood, Noun
from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.page import Page
from rdmalab.compat.c.posts import named, plain_operands
from rdmalab.compat.c.program import Program
from rdmalab.compat.c.wire import HEAD, NUMBERS, POLL_ENTRY, RECEIVE_ENTRY, SEND_ENTRY, head_of

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
