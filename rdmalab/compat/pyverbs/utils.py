"""pyverbs.utils: numbers of the verbs as words, and GIDs as text."""

import struct
import sys

from rdmalab.compat.pyverbs import libibverbs_enums as e
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsUserError

_QP_TYPES: dict[int, str] = {
    e.IBV_QPT_RC: "RC",
    e.IBV_QPT_UC: "UC",
    e.IBV_QPT_UD: "UD",
    e.IBV_QPT_RAW_PACKET: "Raw Packet",
    e.IBV_QPT_XRC_SEND: "XRCD_SEND",
    e.IBV_QPT_XRC_RECV: "XRCD_RECV",
    e.IBV_QPT_DRIVER: "Driver QP",
}
_QP_STATES = dict(enumerate(("Reset", "Init", "RTR", "RTS", "SQD", "SQE", "Error", "Unknown")))
_MIG_STATES = dict(enumerate(("Migrated", "Re-arm", "Armed")))
_MTUS: dict[int, int] = {int(mtu): 128 << mtu for mtu in e.ibv_mtu}
_ACCESS = ("Local write", "Remote write", "Remote read", "Remote atomic", "MW bind", "Zero based",
           "On demand")  # fmt: skip
_REREG_ERRORS: dict[int, str] = {error.value: error.name for error in e.ibv_rereg_mr_err_code}
_GID_WORDS = 8


def be64toh(num: int) -> int:
    """A number of the wire as a number of this machine."""
    return int.from_bytes(struct.pack(">Q", num), sys.byteorder)


def gid_str(subnet_prefix: int, interface_id: int) -> str:
    """Eight words of four digits, from the two halves as they lie in memory."""
    digits = f"{be64toh(subnet_prefix):016x}{be64toh(interface_id):016x}"
    return ":".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def gid_str_to_array(val: str) -> list[str]:
    """The sixteen bytes of a GID, each as two digits."""
    words = val.split(":")
    if len(words) != _GID_WORDS or any(len(word) != 4 for word in words):
        raise PyverbsUserError(f"Invalid GID value ({words})")
    digits = "".join(words)
    int(digits, 16)  # ValueError where these are not digits
    return [digits[at : at + 2] for at in range(0, len(digits), 2)]


def qp_type_to_str(qp_type: int) -> str:
    """`RC`, `UC`, `UD`, …"""
    return _QP_TYPES.get(qp_type, f"Unknown ({qp_type})")


def qp_state_to_str(qp_state: int) -> str:
    """`Reset`, `Init`, `RTR`, …; pyverbs names its own function where it has no name, this not."""
    return _QP_STATES.get(qp_state, f"Unknown ({qp_state})")


def mtu_to_str(mtu: int) -> int:
    """The bytes of an MTU, 0: not an MTU. A number, though the name says text."""
    return _MTUS.get(mtu, 0)


def access_flags_to_str(flags: int) -> str:
    """The rights as text, each followed by a blank; pyverbs has words for the first seven."""
    return "".join(f"{word} " for bit, word in enumerate(_ACCESS) if flags & 1 << bit)


def mig_state_to_str(mig: int) -> str:
    """`Migrated`, `Re-arm`, `Armed`."""
    return _MIG_STATES.get(mig, f"Unknown ({mig})")


def rereg_error_to_str(error: int) -> str:
    """The name of an error of rereg_mr."""
    return _REREG_ERRORS.get(error, f"Unknown error ({error})")
