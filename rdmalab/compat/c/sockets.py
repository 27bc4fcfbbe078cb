"""The sockets of programs: who has connected, whole messages from them, and bytes to them."""

import fcntl
import os
import select
import socket
import struct
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from rdmalab.command import Ref
from rdmalab.compat.c.program import Program
from rdmalab.compat.c.wire import ANSWER, HEAD, LONGEST, WORDS, head_of
from rdmalab.spec.row import dataclass

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid of SO_PEERCRED
_COUNT = struct.Struct("i")
_CHUNK = 1 << 16
_SEND_S = 5.0  # a program that does not read its answer for so long has lost its connection


class ProtocolError(Exception):
    """Raised for bytes that no library of ours sends; the connection is closed."""


@dataclass(slots=True, eq=False)
class Connection:
    """A socket. program: who speaks on it; None: not known yet, or the lab writes events to it.

    node, channel: of a stream; channel None: its asynchronous events. awaits: the call that takes
    them, and of what; link: the program's end, as `link_of` names it.
    """

    sock: socket.socket
    pid: int
    program: Program | None = None
    is_stream: bool = False
    node: str = ""
    channel: int | None = None
    awaits: tuple[str, Ref] | None = None
    link: str = ""
    is_open: bool = True
    received: bytearray = field(default_factory=bytearray)  # of a message that is not whole

    def notify(self) -> None:
        """Send one byte for one event; a program that has closed its end gets none."""
        with suppress(OSError):
            self.sock.send(b"e")

    @property
    def has_unread(self) -> bool:
        """Whether the program has not read all bytes that were sent."""
        unread = fcntl.ioctl(self.sock, termios.TIOCOUTQ, bytes(_COUNT.size))
        return _COUNT.unpack(unread) != (0,)


Serve = Callable[[Connection, bytes], None]


class Sockets:
    """The listening socket, and the connections that were made to it."""

    def __init__(self, path: Path, serve: Serve, ended: Callable[[Program], None]) -> None:
        """Listen at a path.

        serve: gets each message with its head, may raise ProtocolError. ended: gets a program
        whose connection was closed.
        """
        self.serve = serve
        self.ended = ended
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.connections: list[Connection] = []
        self._by_descriptor: dict[int, Connection] = {}
        self._bells: dict[int, Callable[[], None]] = {}
        self._epoll = select.epoll()
        self._epoll.register(self.listener, select.EPOLLIN)

    def close(self) -> None:
        """End all connections."""
        for connection in list(self.connections):
            self.drop(connection)
        self.listener.close()
        self._epoll.close()

    def watch(self, descriptor: int) -> None:
        """End a wait of `listen` when this descriptor is readable; who has it reads it."""
        self._epoll.register(descriptor, select.EPOLLIN)

    def watch_bell(self, descriptor: int, ring: Callable[[], None]) -> None:
        """Call `ring` each time that bytes come there; who has it need not read them."""
        self._bells[descriptor] = ring
        self._epoll.register(descriptor, select.EPOLLIN | select.EPOLLET)

    def listen(self, wait_s: float) -> bool:
        """Serve the programs that speak within this time, seconds; whether one has."""
        ready = self._epoll.poll(wait_s)
        for descriptor, _ in ready:
            connection = self._by_descriptor.get(descriptor)
            if connection is not None:
                self._read(connection)
            elif descriptor == self.listener.fileno():
                self._welcome()
            elif descriptor in self._bells:
                self._bells[descriptor]()
        return bool(ready)

    def _welcome(self) -> None:
        sock, _ = self.listener.accept()
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(credentials)
        if uid != os.getuid():
            sock.close()
            return
        sock.setblocking(False)
        connection = Connection(sock, pid)
        self.connections.append(connection)
        self._by_descriptor[sock.fileno()] = connection
        self._epoll.register(sock, select.EPOLLIN)

    def drop(self, connection: Connection) -> None:
        """Close a connection; what its program has sent meanwhile is not served."""
        if not connection.is_open:
            return
        connection.is_open = False
        self.connections.remove(connection)
        del self._by_descriptor[connection.sock.fileno()]
        connection.sock.close()
        if connection.program is not None:
            self.ended(connection.program)

    def _read(self, connection: Connection) -> None:
        try:
            octets = connection.sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            octets = b""
        try:
            self._serve_all(connection, octets)
        except ProtocolError:
            octets = b""
        if not octets:
            self.drop(connection)

    def _serve_all(self, connection: Connection, octets: bytes) -> None:
        """Serve all messages that are whole by now, and keep the rest."""
        received = connection.received
        if received:
            received += octets
            if _length(received) > len(received):
                return
            octets = bytes(received)
            received.clear()
        at = 0
        while connection.is_open and at < len(octets):
            after = at + _length(octets, at)
            if after > len(octets):
                received += octets[at:]
                return
            self.serve(connection, octets[at:after])
            at = after

    def reply(
        self, connection: Connection, error: int, octets: bytes = b"", bad: int = 0,
        descriptors: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """Answer the message of a connection; one that does not read it is dropped.

        descriptors: travel with the answer.
        """
        octets = ANSWER.pack(len(octets), error, bad) + octets
        sock = connection.sock
        try:
            try:
                if descriptors:
                    sent = socket.send_fds(sock, [octets], descriptors)
                else:
                    sent = sock.send(octets)
            except BlockingIOError:
                sent = 0
            if sent < len(octets):
                sock.settimeout(_SEND_S)
                sock.sendall(octets[sent:])
                sock.setblocking(False)
        except OSError:
            self.drop(connection)


def _length(octets: bytes | bytearray, at: int = 0) -> int:
    """Of the message that begins there, with its head; where no head is whole, that of a head."""
    if len(octets) - at < HEAD.size:
        return HEAD.size
    length, number, _, _ = head_of(octets, at)
    word = WORDS.get(number)
    if word is None or not word.asks.size <= length <= LONGEST:
        raise ProtocolError
    return HEAD.size + int(length)
