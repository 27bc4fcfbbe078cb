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
from rdmalab.spec.c_names import ANY_PREFIX
from rdmalab.spec.completions import WcEx
from rdmalab.spec.connections import CmEvent
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import AtomicCap, DeviceCap, PortState
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import Attr, MigState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Placement, Selectivity, SendFlags, SendOps, WCOpcode, WROpcode

Enum = type[IntEnum]
Members = Mapping[str, type[IntEnum] | type[IntFlag]]  # the enum of the lab
_VENDOR = "DRIVER1"  # pyverbs has none
_GOES_ON = re.compile(r"\n +")

OF_LIBIBVERBS: Members = {
    "ibv_access_flags": Access,
    "ibv_atomic_cap": AtomicCap,
    "ibv_create_cq_wc_flags": WcEx,
    "ibv_device_cap_flags": DeviceCap,
    "ibv_event_type": AsyncEvent,
    "ibv_flow_attr_type": FlowType,
    "ibv_mig_state": MigState,
    "ibv_placement_type": Placement,
    "ibv_port_state": PortState,
    "ibv_qp_attr_mask": Attr,
    "ibv_qp_create_send_ops_flags": SendOps,
    "ibv_qp_init_attr_mask": InitMask,
    "ibv_selectivity_level": Selectivity,
    "ibv_send_flags": SendFlags,
    "ibv_srq_attr_mask": SrqAttrMask,
    "ibv_srq_type": SrqType,
    "ibv_wc_status": WCStatus,
    "ibv_wc_opcode": WCOpcode,
    "ibv_wr_opcode": WROpcode,
}
OF_LIBRDMACM: Members = {"rdma_cm_event_type": CmEvent}


def fill(module: dict[str, object], table: str, of_the_lab: Members) -> None:
    """Put enums and constants into the `globals()` of a module, members beside their enum as in C.

    table: the name of a file in `enums`. of_the_lab: enums that the lab has member for member.
    """
    enums, constants = read((files("rdmalab.compat") / "enums" / f"{table}.txt").read_text("utf-8"))
    for name, kind in of_the_lab.items():
        members = {ANY_PREFIX[kind] + it: int(kind[it]) for it in kind.__members__ if it != _VENDOR}
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
