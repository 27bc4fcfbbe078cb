"""Commands of mlx5 to its firmware, as the kernel's driver names them when one is refused.

`INIT2RTR_QP(0x503) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x38e54c), err(-22)`:
the status is one of a command, not of a completion, and the syndrome is one of the firmware. Names,
codes and errnos are those of drivers/net/ethernet/mellanox/mlx5/core/cmd.c of Linux.
"""

import errno
import re
from typing import NamedTuple


class CommandStatus(NamedTuple):
    """A status of a refused command. errno: what the driver returns for it."""

    name: str
    errno: int
    means: str


STATUSES: dict[int, CommandStatus] = {
    0x01: CommandStatus("internal error", errno.EIO, "the firmware has failed"),
    0x02: CommandStatus("bad operation", errno.EINVAL, "the device does not support the command"),
    0x03: CommandStatus("bad parameter", errno.EINVAL,
                        "a value is out of range or not supported, or a reserved field is not 0"),
    0x04: CommandStatus("bad system state", errno.EIO, "the device is not enabled, or has failed"),
    0x05: CommandStatus("bad resource", errno.EINVAL,
                        "an object that is named does not exist, or is reserved"),
    0x06: CommandStatus("resource busy", errno.EBUSY, "another command is using the object"),
    0x08: CommandStatus("limits exceeded", errno.ENOMEM, "more is requested than the device has"),
    0x09: CommandStatus("bad resource state", errno.EINVAL,
                        "the object is in the wrong state, or another object still uses it"),
    0x0A: CommandStatus("bad index", errno.EINVAL, "an index is out of range"),
    0x0F: CommandStatus("no resources", errno.EAGAIN, "the firmware has too little memory"),
    0x10: CommandStatus("bad QP state", errno.EINVAL, "the queue pair is in the wrong state"),
    0x30: CommandStatus("bad packet (discarded)", errno.EINVAL, "a management packet is invalid"),
    0x40: CommandStatus("bad size too many outstanding CQEs", errno.EINVAL,
                        "the CQ has more completions than its new size takes"),
    0x50: CommandStatus("bad input length", errno.EIO, "driver and firmware do not fit together"),
    0x51: CommandStatus("bad output length", errno.EIO, "driver and firmware do not fit together"),
}  # fmt: skip

# Command → verb that sends it, and of modify_qp the states: of one word, the next one.
_VERBS: dict[str, tuple[str, str]] = {
    "RST2INIT_QP": ("modify_qp", "RESET INIT"),
    "INIT2INIT_QP": ("modify_qp", "INIT INIT"),
    "INIT2RTR_QP": ("modify_qp", "INIT RTR"),
    "RTR2RTS_QP": ("modify_qp", "RTR RTS"),
    "RTS2RTS_QP": ("modify_qp", "RTS RTS"),
    "SQERR2RTS_QP": ("modify_qp", "SQE RTS"),
    "SQD_RTS_QP": ("modify_qp", "SQD RTS"),
    "2ERR_QP": ("modify_qp", "ERR"),
    "2RST_QP": ("modify_qp", "RESET"),
    "CREATE_QP": ("create_qp", ""),
    "DESTROY_QP": ("destroy_qp", ""),
    "QUERY_QP": ("query_qp", ""),
    "CREATE_CQ": ("create_cq", ""),
    "DESTROY_CQ": ("destroy_cq", ""),
    "MODIFY_CQ": ("resize_cq", ""),
    "CREATE_SRQ": ("create_srq", ""),
    "CREATE_RMP": ("create_srq", ""),
    "CREATE_XRC_SRQ": ("create_srq", ""),
    "DESTROY_SRQ": ("destroy_srq", ""),
    "DESTROY_RMP": ("destroy_srq", ""),
    "DESTROY_XRC_SRQ": ("destroy_srq", ""),
    "ARM_RQ": ("modify_srq", ""),
    "ARM_XRC_SRQ": ("modify_srq", ""),
    "QUERY_SRQ": ("query_srq", ""),
    "CREATE_MKEY": ("reg_mr", ""),
    "DESTROY_MKEY": ("dereg_mr", ""),
    "ALLOC_PD": ("alloc_pd", ""),
    "DEALLOC_PD": ("dealloc_pd", ""),
    "ALLOC_XRCD": ("open_xrcd", ""),
    "DEALLOC_XRCD": ("close_xrcd", ""),
    "ATTACH_TO_MCG": ("attach_mcast", ""),
    "DETACH_FROM_MCG": ("detach_mcast", ""),
    "ALLOC_TRANSPORT_DOMAIN": ("alloc_td", ""),
    "DEALLOC_TRANSPORT_DOMAIN": ("dealloc_td", ""),
}

_HEX = r"(0x[0-9a-f]{1,8})"
_COMMAND = rf"\b([a-z0-9][a-z0-9_]{{1,60}})\({_HEX}\)"
_REFUSED = re.compile(
    rf"{_COMMAND}[^\n]{{0,60}}? failed, status ([a-z ()]{{1,50}}?) ?\({_HEX}\), "
    rf"syndrome \({_HEX}\)(?:, err\(-([0-9]{{1,4}})\))?",
    re.IGNORECASE,
)
_TIMED_OUT = re.compile(rf"{_COMMAND} timeout\b", re.IGNORECASE)


class RefusedCommand(NamedTuple):
    """A command that the firmware has refused, or not answered.

    verb: that sends it, empty: none of libibverbs. states: of modify_qp, `INIT RTR` or `ERR`.
    status: None: no answer came. syndrome: of the firmware, as it is printed.
    """

    command: str
    verb: str
    states: str
    errno: int
    status: CommandStatus | None = None
    syndrome: str = ""


def read_refused(text: str) -> RefusedCommand | None:
    """The refused command that a text names; None if it names none."""
    if match := _REFUSED.search(text):
        command, code = match[1].upper(), int(match[4], 16)
        status = STATUSES.get(code, CommandStatus(match[3], errno.EIO, ""))
        number = int(match[6]) if match[6] else status.errno
        return RefusedCommand(command, *_VERBS.get(command, ("", "")), number, status, match[5])
    if match := _TIMED_OUT.search(text):
        command = match[1].upper()
        if command in _VERBS:
            return RefusedCommand(command, *_VERBS[command], errno.ETIMEDOUT)
    return None
