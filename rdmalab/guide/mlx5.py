"""What a ConnectX writes into an error completion, read from a dump.

Layout and syndromes: rdma-core, providers/mlx5. The vendor codes are in spec/vendor_errors.py.
"""

import re
from typing import NamedTuple

from rdmalab.spec.profiles import STRICT
from rdmalab.spec.statuses import STATUS, WCStatus
from rdmalab.spec.vendor_errors import SEEN_WITH
from rdmalab.spec.work import WROpcode

_S, _O = WCStatus, WROpcode

SYNDROMES: dict[int, WCStatus] = {
    0x01: _S.LOC_LEN_ERR,
    0x02: _S.LOC_QP_OP_ERR,
    0x04: _S.LOC_PROT_ERR,
    0x05: _S.WR_FLUSH_ERR,
    0x06: _S.MW_BIND_ERR,
    0x10: _S.BAD_RESP_ERR,
    0x11: _S.LOC_ACCESS_ERR,
    0x12: _S.REM_INV_REQ_ERR,
    0x13: _S.REM_ACCESS_ERR,
    0x14: _S.REM_OP_ERR,
    0x15: _S.RETRY_EXC_ERR,
    0x16: _S.RNR_RETRY_EXC_ERR,
    0x22: _S.REM_ABORT_ERR,
}
PAGE_FAULT = 0x93  # the one code that the driver has a name for, beside REM_ABORT_ERR

_OPCODES: dict[int, WROpcode] = {
    0x01: _O.SEND_WITH_INV,
    0x08: _O.RDMA_WRITE,
    0x09: _O.RDMA_WRITE_WITH_IMM,
    0x0A: _O.SEND,
    0x0B: _O.SEND_WITH_IMM,
    0x0E: _O.TSO,
    0x10: _O.RDMA_READ,
    0x11: _O.ATOMIC_CMP_AND_SWP,
    0x12: _O.ATOMIC_FETCH_AND_ADD,
    0x1B: _O.LOCAL_INV,
}
_SENDER, _RECEIVER = 13, 14  # the upper four bits of the last byte
_TAIL = 16  # bytes, the last of 64: all that an error completion says of itself
_IN_WORDS = re.compile(r"\b[0-9a-f]{8}(?:\s+[0-9a-f]{8}){3,15}\b", re.IGNORECASE)
_IN_BYTES = re.compile(r"\b(?:[0-9a-f]{2}\s+){15}[0-9a-f]{2}\b", re.IGNORECASE)


class ErrorCqe(NamedTuple):
    """The tail of an error completion, taken apart. opcode: of the work request, if it was sent."""

    status: WCStatus
    syndrome: int
    vendor_err: int
    qp_num: int
    wqe_counter: int
    is_send: bool
    opcode: WROpcode | None


def read(text: str) -> ErrorCqe | None:
    """The error completion that a text dumps, in words or in bytes; its last line suffices."""
    for pattern in (_IN_WORDS, _IN_BYTES):
        dumps = [bytes.fromhex(found[0]) for found in pattern.finditer(text)]
        if dumps and (cqe := _taken_apart(dumps[-1][-_TAIL:])) is not None:
            return cqe
    return None


def _taken_apart(tail: bytes) -> ErrorCqe | None:
    vendor_err, syndrome, opcode, last = tail[6], tail[7], tail[8], tail[15] >> 4
    if last not in (_SENDER, _RECEIVER):
        return None
    is_send = last == _SENDER
    return ErrorCqe(
        status=SYNDROMES.get(syndrome, WCStatus.GENERAL_ERR),
        syndrome=syndrome,
        vendor_err=vendor_err,
        qp_num=int.from_bytes(tail[9:12]),
        wqe_counter=int.from_bytes(tail[12:14]),
        is_send=is_send,
        opcode=_OPCODES.get(opcode) if is_send else None,
    )


def vendor_words(code: int) -> str:
    """What is known of a vendor code."""
    said = f"vendor code {code:#x} = {code}"
    if not code:
        return f"{said}: the device has no code, or none is known for this status"
    known = [f"profile strict returns it with {status.name}" for status in _of_strict(code)]
    if (seen := SEEN_WITH.get(code)) is not None:
        known.insert(0, f"on ConnectX, reports show it with {seen.name}")
    if code == PAGE_FAULT:
        known.insert(0, "a page fault on ON_DEMAND memory, by the mlx5 driver")
    if not known:
        return f"{said}: a code of the device; there is no public list"
    return f"{said}: {', '.join(known)}; there is no public list"


def _of_strict(code: int) -> list[WCStatus]:
    errors = STRICT.vendor_errors
    return [s for s in STATUS if s and STATUS[s].side and errors.code(s) == code]
