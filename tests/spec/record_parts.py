"""What each part of a record promises, and the records that hold something else."""

from collections.abc import Iterable
from operator import itemgetter
from typing import get_args, get_type_hints

from rdmalab.hca.wr import Cqe, RecvWqe, SendWqe, SendWR
from rdmalab.spec import records
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.spec.limits import LinkLayer, PortState
from rdmalab.spec.records import KINDS, MEANINGS, Part, Record, kind_of
from rdmalab.spec.states import MigState, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet
from rdmalab.world.transit import Injection

# What the types of the parts are called where only a type checker imports them.
_TYPES = {
    "AsyncEvent": AsyncEvent, "Arm": Arm, "Cqe": Cqe, "Frame": Frame, "Injection": Injection,
    "LinkLayer": LinkLayer, "MigState": MigState, "Packet": Packet, "PortState": PortState,
    "QPState": QPState, "RecvWqe": RecvWqe, "SendWR": SendWR, "SendWqe": SendWqe,
    "WCStatus": WCStatus,
}  # fmt: skip


def parts() -> dict[str, tuple[Part[object], type]]:
    """Each part by its name in the module, with the type that it promises."""
    hints = get_type_hints(records, localns=_TYPES)
    return {
        name: (part, get_args(hints[name])[1])
        for name, part in vars(records).items()
        if isinstance(part, itemgetter) and part in MEANINGS
    }


_PROMISED = {id(part): (name, kind) for name, (part, kind) in parts().items()}


def wrong(log: Iterable[Record]) -> list[str]:
    """Each part of a record that is not of its promised type: its name, and the record."""
    found = []
    for record in log:
        row = KINDS[kind_of(record)]
        for part in (row.a, row.b):
            name, kind = _PROMISED[id(part)]
            if part is not records.nothing and not isinstance(part(record), kind):
                found.append(f"{name} of {record}")
    return found
