"""The ladder as a sequence diagram of Mermaid, which many pages and wikis draw from text."""

from collections.abc import Iterator

from rdmalab.export.ladder_plan import WHOLE, Arrow, LadderPlan, Remark, plan
from rdmalab.session.names import Names
from rdmalab.views import fmt
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.world.world import World

_ARRIVED, _IN_FLIGHT, _LOST = "->>", "-)", "-x"
_ESCAPED = {"#": "#35;", ";": "#59;", "\n": " "}
HEAD = "sequenceDiagram"


def mermaid(world: World, names: Names, first: int = 0) -> str:
    """The text of the diagram of all packets since record `first`."""
    return "\n".join(drawn(plan(world, names, first, most=WHOLE)))


def is_mermaid(octets: bytes) -> bool:
    """Whether a file is such a diagram."""
    return octets.startswith(HEAD.encode())


def drawn(planned: LadderPlan) -> Iterator[str]:
    """Its lines: each packet in the row where it left, each remark beside its node."""
    yield HEAD
    yield from (f"    participant {node}" for node in planned.nodes)
    ends = f"{planned.nodes[0]},{planned.nodes[-1]}"
    if planned.is_empty:
        yield f"    Note over {ends}: no packet yet"
        return
    yield f"    Note over {ends}: {_safe(planned.title)}"
    leaving = {arrow.start: arrow for arrow in planned.arrows}
    if None in leaving:  # it left before the drawing begins
        yield from _packet(planned, leaving[None])
    for number, row in enumerate(planned.rows):
        if row.gap:
            yield f"    Note over {ends}: {_safe(row.gap)}"
        if number in leaving:
            yield from _packet(planned, leaving[number])
        yield from (_remark(planned, row.at_ns, each) for each in row.remarks)


def _packet(planned: LadderPlan, arrow: Arrow) -> Iterator[str]:
    """One arrow for each node that it goes to."""
    packet = arrow.packet
    others = [node for node in planned.nodes if node != packet.source]
    targets = [node for node, _ in arrow.ends] or [packet.target or others[0]]
    sign = _IN_FLIGHT if packet.fate is Fate.IN_FLIGHT else _LOST
    sign = _ARRIVED if arrow.ends else sign
    for target in targets:
        yield f"    {packet.source}{sign}{target}: {_safe(_label(packet))}"


def _label(packet: PacketRow) -> str:
    size = f" {packet.length} B" if packet.length else ""
    ended = packet.fate is not Fate.RECEIVED or packet.troubles
    fate = f" ({packet.fate_text})" if ended else ""
    return f"{fmt.clock(packet.at_ns)} {packet.short}{size}{fate}"


def _remark(planned: LadderPlan, at_ns: int, remark: Remark) -> str:
    node = remark.node if remark.node in planned.nodes else planned.nodes[0]
    side = {planned.nodes[0]: "left of", planned.nodes[-1]: "right of"}.get(node, "over")
    return f"    Note {side} {node}: {fmt.clock(at_ns)} {_safe(remark.text)}"


def _safe(text: str) -> str:
    """The text without what Mermaid reads as its own syntax."""
    return "".join(_ESCAPED.get(sign, sign) for sign in text)
