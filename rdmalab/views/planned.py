"""The scheduled events: packets that will arrive, ports that will send, timers."""

from enum import IntEnum, auto

from rdmalab.command import Noun, Thing
from rdmalab.hca import requester
from rdmalab.hca.qp import QueuePair
from rdmalab.session.names import Names
from rdmalab.spec.row import dataclass
from rdmalab.spec.work import is_local
from rdmalab.views import fmt, record_text
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.world.event_queue import Door
from rdmalab.world.network import Arrival
from rdmalab.world.programs import Program
from rdmalab.world.world import World


class PlannedKind(IntEnum):
    """The kind of a scheduled event."""

    ARRIVAL = auto()
    SEND = auto()
    RNR_TIMER = auto()
    ACK_TIMER = auto()
    LOCAL = auto()  # a work request that stays within the adapter
    LINE = auto()  # of a program
    ACCIDENT = auto()  # to a thing of the host
    NOTHING = auto()  # a turn of the port, and each QP in line was reset since


@dataclass(slots=True)
class PlannedRow:
    """A scheduled event; an earlier event can cancel it."""

    at_ns: int
    node: str
    qp: str
    plan: PlannedKind
    sentence: str
    number: int | None = None  # the record of the packet that arrives

    @property
    def text(self) -> str:
        """The row in one line: time, object, sentence."""
        return f"{fmt.clock(self.at_ns)} {self.qp or self.node} {self.sentence} (planned)"


describe(
    PlannedRow,
    Col("at_ns", Meaning.DIM, form=fmt.clock),
    Col("qp", Meaning.NAME, of=lambda row: row.qp or row.node),
    Col("sentence"),
    Col("planned", Meaning.PLANNED, of=lambda _row: "planned"),
)


def planned_rows(world: World, names: Names) -> list[PlannedRow]:
    """All scheduled events, earliest first."""
    found = []
    for at_ns, _, door, node, argument, cause in world.agenda.plans():
        if door == Door.ARRIVAL:
            found.append(_arrival(names, at_ns, node, argument, cause))
        elif door == Door.PORT:
            found.append(_turn(world, names, at_ns, node))
        elif door == Door.PROGRAM:
            found.append(_line(names, at_ns, argument))
        elif door == Door.HOST:
            found.append(_accident(world, names, argument, (at_ns, node)))
        else:
            found.append(_timer(world, names, node, argument, at_ns))
    return sorted(found, key=_order)


def _order(row: PlannedRow) -> tuple[int, int, str, str]:
    """Lines of programs stay in the order in which they were filed."""
    if row.plan is PlannedKind.LINE:
        return row.at_ns, row.plan, "", ""
    return row.at_ns, row.plan, row.node, row.qp


def _arrival(names: Names, at_ns: int, node: str, argument: Arrival, cause: int) -> PlannedRow:
    packet = argument[0] if isinstance(argument, tuple) else argument
    qp = fmt.qp_name(names, node, packet.dest_qp) if packet.dest_qp else ""
    return PlannedRow(
        at_ns, node, qp, PlannedKind.ARRIVAL, f"receives {fmt.packet_words(packet)}", cause
    )


def _accident(world: World, names: Names, number: int, due: tuple[int, str]) -> PlannedRow:
    fault = next(fault for fault in world.network.cable.faults if fault.number == number)
    text = record_text.fault_words(names, fault)
    return PlannedRow(*due, "", PlannedKind.ACCIDENT, f"fault {number} is applied: {text}")


def _turn(world: World, names: Names, at_ns: int, node: str) -> PlannedRow:
    hca = world.nodes[node]
    qp = next((qp for qp in hca.ready if qp.resp.answers or requester.next_wqe(qp)), None)
    if qp is None:
        return PlannedRow(at_ns, node, "", PlannedKind.NOTHING, "has nothing to send")
    name = fmt.qp_name(names, node, qp.number)
    return PlannedRow(at_ns, node, name, *_turn_of(qp))


def _turn_of(qp: QueuePair) -> tuple[PlannedKind, str]:
    """Next action of a QP at its turn; a bind and the like put nothing on the wire."""
    wqe = None if qp.resp.answers else requester.next_wqe(qp)
    if wqe is None:
        return PlannedKind.SEND, "sends an answer"
    what = fmt.send_wqe(wqe)
    if is_local(wqe.wr.opcode):
        return PlannedKind.LOCAL, f"executes {what}"
    unit = "frame" if qp.transport.service is None else "packet"
    return PlannedKind.SEND, f"sends a {unit} of {what}"


def _line(names: Names, at_ns: int, program: Program) -> PlannedRow:
    name = names.of(Thing(Noun.PROGRAM, program.node, program.number))
    sentence = f"runs line {program.line.number}: {program.line.text}"
    return PlannedRow(at_ns, program.node, name, PlannedKind.LINE, sentence)


def _timer(world: World, names: Names, node: str, qpn: int, at_ns: int) -> PlannedRow:
    qp = world.nodes[node].qps.items.get(qpn)
    name = fmt.qp_name(names, node, qpn)
    if qp is not None and qp.comp.rnr_until_ns is not None:
        sentence = f"RNR timer expires, retransmits from psn={qp.comp.psn}"
        return PlannedRow(at_ns, node, name, PlannedKind.RNR_TIMER, sentence)
    psn = f"psn={qp.comp.psn}" if qp is not None else "anything"
    sentence = f"ack timer expires, no answer to {psn}"
    return PlannedRow(at_ns, node, name, PlannedKind.ACK_TIMER, sentence)
