"""A client of a WebSocket on this machine: texts out, texts in, one after the other (RFC 6455)."""

from __future__ import annotations

import base64
import os
import socket
from urllib.parse import urlsplit

_TEXT, _CONTINUED, _CLOSE, _PING, _PONG = 1, 0, 8, 9, 10
_LAST, _MASKED = 0x80, 0x80
_TWO, _EIGHT = 126, 127  # the length is in so many further octets


class WebSocket:
    """Connected to a `ws:` address. patience_s: how long an answer may take."""

    def __init__(self, address: str, patience_s: float) -> None:
        parts = urlsplit(address)
        self._socket = socket.create_connection((parts.hostname, parts.port), patience_s)
        self._stream = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket",
            "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", "",
        )  # fmt: skip
        self._socket.sendall("\r\n".join(lines).encode())
        status = self._stream.readline()
        assert b" 101 " in status, status
        while self._stream.readline().strip():
            pass

    def send(self, text: str) -> None:
        """Send one text."""
        self._frame(_TEXT, text.encode())

    def _frame(self, kind: int, octets: bytes) -> None:
        size, mask = len(octets), os.urandom(4)
        if size < _TWO:
            head = bytes([_LAST | kind, _MASKED | size])
        elif size < 1 << 16:
            head = bytes([_LAST | kind, _MASKED | _TWO]) + size.to_bytes(2, "big")
        else:
            head = bytes([_LAST | kind, _MASKED | _EIGHT]) + size.to_bytes(8, "big")
        many = int.from_bytes(mask * (size // 4 + 1), "big") >> 8 * (4 - size % 4)
        masked = (int.from_bytes(octets, "big") ^ many).to_bytes(size, "big")
        self._socket.sendall(head + mask + masked)

    def receive(self) -> str:
        """The next text. Raises TimeoutError; AssertionError at the end of the connection."""
        text = b""
        while True:
            is_last, kind, octets = self._read()
            assert kind != _CLOSE, "the browser has closed the connection"
            if kind == _PING:
                self._frame(_PONG, octets)
            elif kind in (_TEXT, _CONTINUED):
                text += octets
                if is_last:
                    return text.decode()

    def _read(self) -> tuple[bool, int, bytes]:
        first, size = self._exactly(2)
        if size in (_TWO, _EIGHT):
            size = int.from_bytes(self._exactly(2 if size == _TWO else 8), "big")
        return bool(first & _LAST), first & 0xF, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        octets = self._stream.read(size)
        assert len(octets) == size, "the browser has ended"
        return octets

    def close(self) -> None:
        """Close the connection without a word."""
        self._stream.close()
        self._socket.close()
