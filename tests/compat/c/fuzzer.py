"""`python -m tests.compat.c.fuzzer SOCKET FIRST COUNT`: send hostile messages to a lab's socket.

A process of its own, because a lab reads and writes the memory of the process that speaks to it.
It prints how many connections it needed and how many answers it got.
"""

import socket
import sys
from random import Random

from rdmalab.compat.c.wire import ANSWER, HEAD, NUMBERS, WORDS, Layout
from tests.each import chance_of

_BUFFER = bytearray(1 << 16)
_FEW = (0, 1, 2, 3, 7, 16, 17, 64, 255, 4096, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
_PATIENCE_S = 20.0


def address() -> int:
    """Where memory is that the lab may register."""
    import ctypes

    return ctypes.addressof(ctypes.c_char.from_buffer(_BUFFER))


def head(length: int, word: int, node: int) -> bytes:
    """The head of a message; where it was sent from is an address of no code."""
    others = len(HEAD.unpack(bytes(HEAD.size))) - 3
    return HEAD.pack(length, word, node, *[address()] * others)


class Fuzzer:
    """A client that is connected again whenever the lab ends its connection."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sock: socket.socket | None = None
        self.connections = self.answers = 0

    def line(self, chance: Random) -> socket.socket:
        """The connection; a new one mostly says hello first."""
        if self.sock is None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(_PATIENCE_S)
            self.sock.connect(self.path)
            self.connections += 1
            if chance.random() < 0.95:
                hello = WORDS[NUMBERS["hello"]].asks.pack({"node": chance.choice((0, 0, 0, 0, 65))})
                self.send(head(len(hello), NUMBERS["hello"], 0) + hello)
        return self.sock

    def send(self, octets: bytes, *, is_whole: bool = True) -> None:
        """Send; of a whole message wait for the answer, or for the end of the connection."""
        sock = self.sock
        assert sock is not None
        try:
            sock.sendall(octets)
            if not is_whole:
                return
            length, _, _ = ANSWER.unpack(self.received(sock, ANSWER.size))
            self.received(sock, length)
            self.answers += 1
        except OSError:
            self.close()

    def received(self, sock: socket.socket, count: int) -> bytes:
        """So many bytes; OSError if the lab has ended the connection or says nothing."""
        octets = b""
        while len(octets) < count:
            found = sock.recv(count - len(octets))
            if not found:
                raise OSError("the connection was ended")
            octets += found
        return octets

    def close(self) -> None:
        """Forget the connection."""
        if self.sock is not None:
            self.sock.close()
        self.sock = None

    def message(self, chance: Random) -> None:
        """One message: of the right shape with hostile values, or of another shape."""
        self.line(chance)
        word = WORDS[chance.choice(list(WORDS))]
        body = hostile(word.asks, chance) + chance.randbytes(chance.choice((0, 0, 0, 16, 200)))
        octets = head(len(body), word.number, chance.choice((0, 0, 1))) + body
        whole, kind = octets, chance.randrange(150)
        if kind == 0:
            octets = chance.randbytes(chance.randrange(1, 300))
        elif kind == 1:
            octets = octets[: chance.randrange(1, len(octets))]
        elif kind == 2:
            at = chance.randrange(len(octets))
            octets = octets[:at] + chance.randbytes(1) + octets[at + 1 :]
        self.send(octets, is_whole=octets == whole)
        if octets != whole:
            self.close()  # what follows would be read as the rest of it
        if chance.randrange(400) == 0:
            self.close()


def hostile(layout: Layout, chance: Random) -> bytes:
    """The fields of a word: handles that may exist, sizes at the limits, addresses of memory."""
    values: dict[str, object] = {}
    for field in layout.fields:
        *outer, name = field.name.split(".")
        into = values
        for each in outer:
            into = into.setdefault(each, {})  # type: ignore[assignment]
        if field.type == "gid":
            into[name] = chance.getrandbits(128)
        elif field.type == "text":
            into[name] = ""
        elif "addr" in name or "iova" in name:
            into[name] = address() + chance.choice((0, 8, 4096)) if chance.random() < 0.8 else 64
        elif chance.random() < 0.6:
            into[name] = chance.choice((0, 1, 1, 2, 3, 17))
        else:
            value = chance.choice(_FEW) if chance.random() < 0.7 else chance.getrandbits(32)
            into[name] = min(value, 2**31 - 1) if field.type == "i32" else value
    return layout.pack(values)


def main() -> None:
    """Send the messages of these numbers."""
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    fuzzer = Fuzzer(path)
    for number in range(first, first + count):
        fuzzer.message(chance_of("fuzzed messages", number))
    sys.stdout.write(f"{fuzzer.connections} {fuzzer.answers}\n")


if __name__ == "__main__":
    main()
