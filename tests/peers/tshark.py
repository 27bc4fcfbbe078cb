"""Frames into a capture file, and what tshark says of a capture."""

import struct
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from rdmalab.spec.opcodes import Op

# What we call it → what tshark calls it; extended headers one by one.
BASE = {
    "opcode": "infiniband.bth.opcode",
    "psn": "infiniband.bth.psn",
    "dest_qp": "infiniband.bth.destqp",
    "pkey": "infiniband.bth.p_key",
    "ack_req": "infiniband.bth.a",
    "solicited": "infiniband.bth.se",
    "migrated": "infiniband.bth.m",
}
EXTENDED_FIELDS = {
    ("reth", "va"): "infiniband.reth.va",
    ("reth", "rkey"): "infiniband.reth.r_key",
    ("reth", "dma_length"): "infiniband.reth.dmalen",
    ("atomiceth", "va"): "infiniband.reth.va",
    ("atomiceth", "rkey"): "infiniband.reth.r_key",
    ("atomiceth", "swap_add"): "infiniband.atomiceth.swapdt",
    ("atomiceth", "compare"): "infiniband.atomiceth.cmpdt",
    ("aeth", "msn"): "infiniband.aeth.msn",
    ("aeth", "syndrome"): "infiniband.aeth.syndrome",
    ("atomicacketh", "original"): "infiniband.atomicacketh.origremdt",
    ("deth", "qkey"): "infiniband.deth.q_key",
    ("deth", "src_qp"): "infiniband.deth.srcqp",
}

NEW_OPS = (Op.FLUSH, Op.ATOMIC_WRITE)  # tshark 4.0 reads the BTH of these and no further

_MAGIC_NS = 0xA1B23C4D
_ETHERNET = 1
_NS_PER_S = 1_000_000_000
_SEPARATOR, _AS_TSHARK_SAYS = "\t", "/t"


def write_pcap(path: Path, frames: Iterable[tuple[int, bytes]]) -> None:
    """`frames`: (time in ns, bytes)."""
    records = [
        struct.pack("<IIII", *divmod(at_ns, _NS_PER_S), len(frame), len(frame)) + frame
        for at_ns, frame in frames
    ]
    header = struct.pack("<IHHiIII", _MAGIC_NS, 2, 4, 0, 0, 65535, _ETHERNET)
    path.write_bytes(header + b"".join(records))


# Heuristics and well-known ports by which payloads that mean nothing would be read as something.
_QUIET = [word for name in ("rpcordma", "dns") for word in ("--disable-protocol", name)]


def dissected(
    path: Path, columns: Sequence[str], options: Sequence[str] = ()
) -> list[dict[str, str]]:
    """One dict a frame: field → its text, empty where the frame has none."""
    wanted = [word for column in columns for word in ("-e", column)]
    form = ["-T", "fields", "-E", f"separator={_AS_TSHARK_SAYS}", "-E", "occurrence=f"]
    command = ["tshark", *_QUIET, *options, "-r", str(path), *form, *wanted]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    lines = run.stdout.splitlines()
    return [dict(zip(columns, line.split(_SEPARATOR), strict=True)) for line in lines]


def with_errors(path: Path) -> list[int]:
    """The frames, counted from 0, in which tshark finds what it calls an error."""
    is_error = ["-Y", "_ws.expert.severity >= 8388608"]  # PI_ERROR
    # over IPv6, too, a tunnel may leave out the UDP checksum (RFC 6935), and RoCEv2 does
    options = ["-o", "udp.ignore_ipv6_zero_checksum:TRUE", *is_error]
    # payload that begins with 06 00 00 00, such as the number 6, is taken for XNS over EtherType
    options += ["--disable-protocol", "idp"]
    return [int(row["frame.number"]) - 1 for row in dissected(path, ["frame.number"], options)]


def number(text: str) -> int:
    """tshark's numbers, true and false among them."""
    return {"True": 1, "False": 0}[text] if text in ("True", "False") else int(text, 0)
