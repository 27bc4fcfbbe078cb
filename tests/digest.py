"""A fingerprint of everything that happened: equal traces, equal digests, on any machine."""

import dataclasses
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from rdmalab.wire.links import encode
from rdmalab.wire.packet import Packet
from rdmalab.world.trace import Trace


def digest(trace: Trace) -> str:
    """SHA-256 over all records in order; packets count by their bytes on the wire."""
    total = sha256()
    for record in trace.records:
        for part in record:
            for octets in _octets(part):
                total.update(octets + b";")
    return total.hexdigest()


def _octets(part: Any) -> Iterator[bytes]:
    """Values by what they say, not by how some Python version prints them."""
    if isinstance(part, int):
        yield b"%d" % part
    elif isinstance(part, Packet):
        yield encode(part)
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from _octets(getattr(part, field.name))
    elif isinstance(part, tuple | list):
        for item in part:
            yield from _octets(item)
    elif isinstance(part, bytes):
        yield part
    else:
        yield str(part).encode()
