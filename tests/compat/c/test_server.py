"""The server's socket: messages that no library of ours sends, and programs that vanish."""

import os
import random
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rdmalab.command import Noun
from rdmalab.compat.c import wire
from rdmalab.compat.c.posts import HANDLERS
from rdmalab.compat.c.server import Server
from rdmalab.compat.c.words import Call
from rdmalab.lab import Lab
from tests.each import chance_of, drawn_numbers, each

MESSAGES = 100  # to one server
NUMBERS = wire.NUMBERS


OPEN: list[socket.socket] = []  # sockets of the test that runs


class Peer:
    """A program by hand."""

    def __init__(self, server: Server, path: Path) -> None:
        self.server = server
        self.sock = socket.socket(socket.AF_UNIX)
        OPEN.append(self.sock)
        self.sock.connect(str(path))
        self.sock.settimeout(5)
        self.turn()

    def turn(self, times: int = 4) -> None:
        for _ in range(times):
            self.server.turn()

    def say(
        self, word: str, at: int = 0, tail: bytes = b"", *, thread: int = 0, **fields: int
    ) -> None:
        self.send(word, at, fields, tail, thread)

    def send(self, word: str, at: int, fields: object, tail: bytes = b"", thread: int = 0) -> None:
        row = wire.WORDS[NUMBERS[word]]
        body = row.asks.pack(fields) + tail
        self.sock.sendall(wire.HEAD.pack(len(body), row.number, at, thread, 0, 0) + body)

    def ask(self, word: str, at: int = 0, tail: bytes = b"", **fields: int) -> tuple[int, bytes]:
        """The errno and the fields of the answer."""
        self.say(word, at, tail, **fields)
        return self.answer()

    def answer(self) -> tuple[int, bytes]:
        self.turn()
        length, error, _ = wire.ANSWER.unpack(self.sock.recv(wire.ANSWER.size))
        return error, self.sock.recv(length) if length else b""

    def hello(self, node: str = "A") -> None:
        assert self.ask("hello", pid=os.getpid(), node=ord(node))[0] == 0


@contextmanager
def serving() -> Iterator[tuple[Server, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab"
        made = Server(Lab(), path, lambda _: None)
        yield made, path
        made.close()
        while OPEN:
            OPEN.pop().close()


@pytest.fixture
def server() -> Iterator[tuple[Server, Path]]:
    with serving() as made:
        yield made


def test_a_program_that_has_just_come_does_not_wait_elsewhere(
    server: tuple[Server, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdmalab.compat.c.server.socket_wait", lambda _: "in a socket")
    Peer(*server).hello()
    server[0].excuse()
    server[0].look_outside({"server": 0})
    assert not server[0].trouble.stuck


def test_a_program_says_hello_and_makes_an_object(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.hello()
    error, octets = peer.ask("alloc_pd")
    assert (error, struct.unpack("<I", octets)) == (0, (1,))
    assert peer.server.calls.session.names.find("A.pd0") is not None


def test_a_program_that_vanishes_leaves_nothing(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.hello()
    peer.ask("alloc_pd")
    peer.sock.close()
    other = Peer(*server)
    other.hello()
    assert not other.server.world.nodes["A"].pds.items
    assert len(other.server.calls.programs) == 1


def test_a_thread_blocks_until_its_own_next_call(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.hello()
    (program,) = peer.server.calls.programs
    worker, no_object = 4_000_000, 0
    peer.say("sleep", noun=no_object, number=0, thread=worker)
    peer.turn()
    assert program.waits
    peer.ask("alloc_pd")
    assert not program.waits
    assert [word for word, *_ in program.blocks.values()] == ["get_async_event"]
    peer.say("alloc_pd", thread=worker)
    peer.turn()
    assert not program.blocks


@pytest.mark.parametrize("octets", [
    wire.HEAD.pack(0, 999, 0, 0, 0, 0),
    wire.HEAD.pack(wire.LONGEST + 1, NUMBERS["alloc_pd"], 0, 0, 0, 0),
    wire.HEAD.pack(0, NUMBERS["reg_mr"], 0, 0, 0, 0),
    wire.HEAD.pack(0, NUMBERS["alloc_pd"], 7, 0, 0, 0),
], ids=["an unknown word", "too long", "too short", "no such node"])  # fmt: skip
def test_what_no_library_sends_closes_the_line(server: tuple[Server, Path], octets: bytes) -> None:
    peer = Peer(*server)
    peer.hello()
    peer.sock.sendall(octets)
    peer.turn()
    assert peer.sock.recv(1) == b""
    other = Peer(*server)
    other.hello()  # the lab lives


def test_the_first_word_is_hello(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.say("alloc_pd")
    peer.turn()
    assert peer.sock.recv(1) == b""


def test_a_message_may_come_in_pieces(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.hello()
    whole = wire.HEAD.pack(0, NUMBERS["alloc_pd"], 0, 0, 0, 0)
    for octet in whole:
        peer.sock.sendall(bytes([octet]))
        peer.turn(1)
    peer.turn()
    assert wire.ANSWER.unpack(peer.sock.recv(wire.ANSWER.size))[1] == 0


def test_a_number_that_is_no_handle_is_einval(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.hello()
    assert peer.ask("dealloc_pd", handle=77)[0] == 22
    assert peer.ask("post_recv", handle=77, count=1)[0] == 22
    assert peer.ask("cm_connect", handle=77)[0] == 22


def test_a_program_reaches_only_its_own_node(server: tuple[Server, Path]) -> None:
    peer = Peer(*server)
    peer.hello("A")
    peer.say("alloc_pd", at=1)
    peer.turn()
    assert peer.sock.recv(1) == b""


@each("number", drawn_numbers("messages", 12, 1_000))
def test_fuzzed_messages_leave_the_lab_alive(number: int) -> None:
    """Real words with random fields and tails, random words and bytes: no exception, no hang."""
    chance = chance_of("messages", number)
    with serving() as server:
        peer = Peer(*server)
        peer.hello()
        for _ in range(MESSAGES):
            if chance.random() < 0.02:
                peer.sock.close()
                peer = Peer(*server)
                peer.hello()
            with suppress(OSError):
                peer.sock.sendall(fuzzed(chance))
                peer.turn(1)
                peer.sock.settimeout(0)
                peer.sock.recv(1 << 16)
        other = Peer(*server)
        other.hello()
        assert other.ask("clock")[0] == 0


def fuzzed(chance: random.Random) -> bytes:
    if chance.random() < 0.05:
        return chance.randbytes(chance.randrange(40))
    row = wire.WORDS[chance.choice(sorted(wire.WORDS))]
    small = chance.random() < 0.7
    body = b"".join(
        (chance.randrange(4) if small else chance.getrandbits(32)).to_bytes(4, "little")
        for _ in range(row.asks.size // 4 + 1)
    )[: row.asks.size]
    tail = chance.randbytes(chance.randrange(200)) if chance.random() < 0.3 else b""
    head = len(body + tail), row.number, chance.randrange(2)
    return wire.HEAD.pack(*head, chance.getrandbits(64), chance.getrandbits(64), 1) + body + tail


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_foreign_user_is_not_let_in(server: tuple[Server, Path]) -> None:
    made, path = server
    path.parent.chmod(0o755)
    path.chmod(0o777)
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(OSError):
            os.setuid(65534)
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(str(path))
            sock.settimeout(5)
            code = 0 if sock.recv(1) == b"" else 1
        os._exit(code)
    for _ in range(20):
        made.turn()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not made.sockets.connections


def test_a_handle_of_another_program_is_no_handle(server: tuple[Server, Path]) -> None:
    calls = server[0].calls
    owner, other = calls.join(1, "A", "owner"), calls.join(2, "A", "other")
    number = calls.make(owner, "alloc_pd", Noun.PD, "A").number
    asked = {"dealloc_pd": {"handle": number}, "alloc_mw": {"pd": number, "type": 1}}
    calls.acting = (other,)
    for word, ask in asked.items():
        with pytest.raises(OSError, match="no object has this handle"):
            HANDLERS[word](Call(calls, other, "A", ask, memoryview(b"")))
    calls.acting = (owner,)
    call = Call(calls, owner, "A", {"handle": number}, memoryview(b""))
    HANDLERS["dealloc_pd"](call)
    assert not owner.own
