"""Enums of C from rows of text, and the modules of pyverbs that have them.

`enums/*.txt` have the names and numbers of rdma-core 64; enums that `spec` has are read there.
pyverbs keeps them in `libibverbs_enums` and `librdmacm_enums` since rdma-core 59, and kept them in
`enums` and `cm_enums` up to rdma-core 58: both pairs of modules are made from these tables.
"""

import re
import types
from collections.abc import Iterator, Mapping, MutableMapping
from enum import IntEnum, IntFlag
from importlib.resources import files

from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import WcEx
from rdmalab.spec.connections import CmEvent
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import AtomicCap, DeviceCap, PortState
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import Attr, MigState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Placement, Selectivity, SendFlags, SendOps, WCOpcode, WROpcode

Enum = type[IntEnum]
Members = Mapping[str, tuple[str, type[IntEnum] | type[IntFlag]]]  # prefix in C, enum of the lab
_VENDOR = "DRIVER1"  # pyverbs has none
_GOES_ON = re.compile(r"\n +")

OF_LIBIBVERBS: Members = {
    "ibv_access_flags": ("IBV_ACCESS_", Access),
    "ibv_atomic_cap": ("IBV_ATOMIC_", AtomicCap),
    "ibv_create_cq_wc_flags": ("IBV_WC_EX_WITH_", WcEx),
    "ibv_device_cap_flags": ("IBV_DEVICE_", DeviceCap),
    "ibv_event_type": ("IBV_EVENT_", AsyncEvent),
    "ibv_flow_attr_type": ("IBV_FLOW_ATTR_", FlowType),
    "ibv_mig_state": ("IBV_MIG_", MigState),
    "ibv_placement_type": ("IBV_FLUSH_", Placement),
    "ibv_port_state": ("IBV_PORT_", PortState),
    "ibv_qp_attr_mask": ("IBV_QP_", Attr),
    "ibv_qp_create_send_ops_flags": ("IBV_QP_EX_WITH_", SendOps),
    "ibv_qp_init_attr_mask": ("IBV_QP_INIT_ATTR_", InitMask),
    "ibv_selectivity_level": ("IBV_FLUSH_", Selectivity),
    "ibv_send_flags": ("IBV_SEND_", SendFlags),
    "ibv_srq_attr_mask": ("IBV_SRQ_", SrqAttrMask),
    "ibv_srq_type": ("IBV_SRQT_", SrqType),
    "ibv_wc_status": ("IBV_WC_", WCStatus),
    "ibv_wc_opcode": ("IBV_WC_", WCOpcode),
    "ibv_wr_opcode": ("IBV_WR_", WROpcode),
}
OF_LIBRDMACM: Members = {"rdma_cm_event_type": ("RDMA_CM_EVENT_", CmEvent)}


def fill(module: dict[str, object], table: str, of_the_lab: Members) -> None:
    """Put enums and constants into the `globals()` of a module, members beside their enum as in C.

    table: the name of a file in `enums`. of_the_lab: enums that the lab has member for member.
    """
    enums, constants = read((files("rdmalab.compat") / "enums" / f"{table}.txt").read_text("utf-8"))
    for name, (prefix, kind) in of_the_lab.items():
        members = {prefix + it: int(kind[it]) for it in kind.__members__ if it != _VENDOR}
        enums[name] = _enum(name, members)
    for name, enum in enums.items():
        enum.__module__ = str(
            module["__name__"]
        )  # without a module that names it, it is not pickled
        module[name] = enum
        module.update(enum.__members__)
    module.update(constants)


def read(text: str) -> tuple[dict[str, Enum], dict[str, int]]:
    """The enums of a table by name, and its constants that belong to no named enum."""
    enums, constants = dict[str, Enum](), dict[str, int]()
    for row in _GOES_ON.sub(" ", text).splitlines():
        if row.startswith("#"):
            continue
        kind, name, prefix, members = row.split(maxsplit=3)
        found = dict(_counted(prefix, members))
        if kind == "bits":
            found = {member: 1 << bit for member, bit in found.items()}
        if name == "-":
            constants |= found
        else:
            enums[name] = _enum(name, found)
    return enums, constants


def _enum(name: str, members: dict[str, int]) -> Enum:
    def fill(body: MutableMapping[str, object]) -> None:
        body["__module__"] = __name__
        for member, number in members.items():
            body[member] = number

    return types.new_class(name, (IntEnum,), exec_body=fill)


def _counted(prefix: str, row: str) -> Iterator[tuple[str, int]]:
    number = 0
    for word in row.split():
        if word.lstrip("-").isdigit():
            number = int(word)
        else:
            yield prefix + word, number
            number += 1
