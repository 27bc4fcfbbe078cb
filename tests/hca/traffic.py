"""Mixed traffic both ways at once, and what must be true when all of it is over."""

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from rdmalab.hca.qp import Capacity
from rdmalab.hca.wr import SendWR
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, SendFlags, WCFlags, WCOpcode, WROpcode
from tests.pairs import MANY, SIGNALED, End, Pair

MTU_BYTES = 256
MOST = 20  # messages a side
SLOT = 1024  # bytes: room for any message
INBOX = MOST * SLOT  # of a receive
WINDOW = 2 * INBOX  # of a WRITE or READ of the peer's
COUNTER = 3 * INBOX
CAPACITY = Capacity(max_send_wr=MOST, max_recv_wr=MOST)

_ATOMICS = (WROpcode.ATOMIC_FETCH_AND_ADD, WROpcode.ATOMIC_CMP_AND_SWP)
_OPCODES = (
    WROpcode.SEND,
    WROpcode.SEND_WITH_IMM,
    WROpcode.RDMA_WRITE,
    WROpcode.RDMA_WRITE_WITH_IMM,
    WROpcode.RDMA_READ,
    *_ATOMICS,
)


@dataclass(frozen=True, slots=True)
class Message:
    """operand: what FETCH_AND_ADD adds. hits: whether COMPARE_AND_SWAP guesses right."""

    opcode: WROpcode
    length: int
    fence: bool
    operand: int
    hits: bool


_message = st.builds(
    Message,
    st.sampled_from(_OPCODES),
    st.integers(0, 3 * MTU_BYTES + 1),
    st.booleans(),
    st.integers(0, 2**64 - 1),
    st.booleans(),
)
messages = st.lists(_message, max_size=MOST) | st.lists(_message, min_size=MOST, max_size=MOST)


@dataclass(slots=True)
class Side:
    """What one end asks of the other, and what must come of it."""

    end: End
    asked: list[Message]

    def prepare(self) -> list[SendWR]:
        end, peer = self.end, self.end.peer
        for index in range(len(self.asked)):
            end.poke(index * SLOT, self.pattern(index, "out"))
            peer.poke(WINDOW + index * SLOT, self.pattern(index, "window"))
        return [self.request(index, message) for index, message in enumerate(self.asked)]

    def pattern(self, index: int, where: str) -> bytes:
        """Bytes that nothing else here has."""
        seed = f"{self.end.hca.node}{where}{index:02}".encode()
        return (seed * (SLOT // len(seed) + 1))[:SLOT]

    def request(self, index: int, message: Message) -> SendWR:
        atomic = message.opcode in _ATOMICS
        before, _ = self.counter(index)
        guess = before if message.hits else before ^ 1
        swaps = message.opcode is WROpcode.ATOMIC_CMP_AND_SWP
        return self.end.wr(
            message.opcode,
            8 if atomic else message.length,
            wr_id=index,
            at=index * SLOT,
            to=COUNTER if atomic else WINDOW + index * SLOT,
            flags=SIGNALED | (SendFlags.FENCE if message.fence else SendFlags(0)),
            imm_data=index,
            compare_add=guess if swaps else message.operand,
            swap=message.operand,
        )

    def counter(self, index: int) -> tuple[int, int]:
        """The peer's counter before and after message `index`, all before it executed once."""
        before = value = 0
        for message in self.asked[: index + 1]:
            before = value
            if message.opcode is WROpcode.ATOMIC_FETCH_AND_ADD:
                value = (value + message.operand) % 2**64
            elif message.opcode is WROpcode.ATOMIC_CMP_AND_SWP and message.hits:
                value = message.operand
        return before, value

    def consuming(self) -> list[int]:
        """The messages that take a receive, in order."""
        return [
            index
            for index, message in enumerate(self.asked)
            if WORK[message.opcode].consumes_receive
        ]

    def post_receives(self, first: int, last: int) -> None:
        """Receives `first` to `last` of those that the messages take, on the peer."""
        for number in range(first, min(last, len(self.consuming()))):
            self.end.peer.recv(SLOT, wr_id=number, at=INBOX + number * SLOT)

    # ------------------------------------------------------------------ afterwards
    def check(self) -> None:
        count = len(self.asked)
        assert self.end.sent() == [(index, WCStatus.SUCCESS) for index in range(count)]
        self.check_receives()
        for index, message in enumerate(self.asked):
            self.check_memory(index, message)
        if self.asked:
            word = self.end.peer.peek(COUNTER, 8)
            assert int.from_bytes(word, "little") == self.counter(count - 1)[1]

    def check_receives(self) -> None:
        got = [
            (cqe.wr_id, cqe.status, cqe.opcode, cqe.byte_len, cqe.wc_flags, cqe.imm_data)
            for cqe in self.end.peer.poll(self.end.peer.recv_cq)
        ]
        assert got == list(self.expected_receives())

    def expected_receives(self) -> Iterator[tuple[int, WCStatus, WCOpcode, int, int, int]]:
        for number, index in enumerate(self.consuming()):
            message = self.asked[index]
            writes = message.opcode is WROpcode.RDMA_WRITE_WITH_IMM
            opcode = WCOpcode.RECV_RDMA_WITH_IMM if writes else WCOpcode.RECV
            immediate = WORK[message.opcode].immediate
            flags, imm = (int(WCFlags.WITH_IMM), index) if immediate else (0, 0)
            yield number, WCStatus.SUCCESS, opcode, message.length, flags, imm
            inbox = self.end.peer.peek(INBOX + number * SLOT, SLOT)
            placed = 0 if writes else message.length
            assert inbox == self.pattern(index, "out")[:placed] + bytes(SLOT - placed)

    def check_memory(self, index: int, message: Message) -> None:
        out, window = self.pattern(index, "out"), self.pattern(index, "window")
        length = message.length
        if message.opcode in _ATOMICS:
            out = self.counter(index)[0].to_bytes(8, "little") + out[8:]
        elif message.opcode is WROpcode.RDMA_READ:
            out = window[:length] + out[length:]
        elif "WRITE" in message.opcode.name:
            window = out[:length] + window[length:]
        assert self.end.peek(index * SLOT, SLOT) == out
        assert self.end.peer.peek(WINDOW + index * SLOT, SLOT) == window


def check_idle(pair: Pair) -> None:
    """Nothing is under way, idle.

    No packet, timer or program is pending, and looking again adds no record.
    """
    world = pair.world
    assert world.agenda.next_ns() is None
    records = len(world.trace.records)
    assert world.run(MANY) == 0
    assert len(world.trace.records) == records
    for end in (pair.a, pair.b):
        assert not end.hca.ready
        assert not end.hca.turn_filed
        assert not end.qp.resp.answers
        assert not end.qp.comp.watching
        assert end.qp.comp.psn == end.qp.req.psn == end.qp.req.sent == end.peer.qp.resp.psn
        assert end.qp.comp.serial == end.qp.req.serial == end.qp.sq.posted
