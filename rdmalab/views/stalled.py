"""Sends that wait while no packet, timer or program is pending, and the send that failed last."""

from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca import requester
from rdmalab.hca.qp import QueuePair
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.world.world import World


@dataclass(slots=True)
class StalledRow:
    """The oldest send of a queue pair that is not completed, while nothing is planned."""

    qp: Annotated[str, "the queue pair"]
    wr_id: Annotated[int, "of the oldest send that is not completed"]
    sends: Annotated[int, "sends of the queue pair that are not completed"]
    state: Annotated[QPState | None, "the state that holds the send back; nothing: a lost packet"]

    @property
    def name(self) -> str:
        """The send, as `why` takes it: `A.qp0.wr[4]`."""
        return fmt.work_name(self.qp, self.wr_id, is_send=True)

    @property
    def text(self) -> str:
        """`A.qp0.wr[4] waits, nothing is planned`, `A.qp0.wr[4] waits in SQD`."""
        how = f"waits in {self.state.name}" if self.state else "waits, nothing is planned"
        return f"{self.name} {how}"


def stalled_rows(world: World, names: Names) -> list[StalledRow]:
    """A row for each queue pair with sends that are not completed; none while anything is planned.

    A send that its queue pair's state holds back continues after modify_qp; all others stay.
    """
    if world.agenda.next_ns() is not None:
        return []
    return [
        _stalled_row(names, qp)
        for hca in world.nodes.values()
        for qp in hca.qps.items.values()
        if qp.comp.serial < qp.sq.posted
    ]


def _stalled_row(names: Names, qp: QueuePair) -> StalledRow:
    serial = qp.comp.serial
    held = not qp.has_begun_sends and requester.reason_to_wait(qp) == "state"
    name = names.of(Thing(Noun.QP, qp.node, qp.number))
    wr_id = qp.sq.wqes[serial].wr.wr_id
    return StalledRow(name, wr_id, qp.sq.posted - serial, qp.state if held else None)


@dataclass(slots=True)
class FailureRow:
    """A send of a queue pair that completed with an error."""

    wr_id: Annotated[int, "as posted"]
    opcode: Annotated[WROpcode | int, "as posted"]
    length: Annotated[int, "bytes of the message"]
    status: Annotated[WCStatus, "how it ended"]
    event: Annotated[int, "the event in which it ended"]


def failure_row(world: World, _names: Names, thing: Thing) -> FailureRow | None:
    """The send that failed last, flushed ones aside, polled or not; None since the last reset.

    The search goes as far back as the `reach` of the trace.
    """
    for _, record in world.trace.records.newest():
        if object_of(record) != thing.number or node_of(record) != thing.node:
            continue
        if kind_of(record) is Kind.WQE_COMPLETED:
            status, wqe = rec.status_of(record), rec.send_wqe_of(record)
            if status not in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
                event = rec.event_of(record)
                return FailureRow(wqe.wr.wr_id, wqe.wr.opcode, wqe.length, status, event)
        elif kind_of(record) is Kind.STATE_CHANGED and rec.new_state_of(record) is QPState.RESET:
            return None
    return None
