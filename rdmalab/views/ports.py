"""Devices, ports and the cable between them; address handles, where datagrams go."""

from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca import port
from rdmalab.hca.ah import ah_attr_of, is_group
from rdmalab.hca.objects import AddressHandle, Flow
from rdmalab.hca.steering import spelled_field
from rdmalab.session.names import Names
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import LinkLayer, PhysState, PortState
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt, record_text
from rdmalab.views.columns import Col, Meaning, NamedObject, describe, describe_fields, loud
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import node_at
from rdmalab.world.world import World


@dataclass(slots=True)
class FlowRow(NamedObject):
    """A flow rule."""

    qp: Annotated[str, "the queue pair that gets the frames"]
    type: Annotated[FlowType, "NORMAL, ALL_DEFAULT, MC_DEFAULT or SNIFFER"]
    priority: Annotated[int, "priority of the rule, 0 is the highest"]
    fits: Annotated[str, "what a frame must contain: `dst_mac=02:00:0a:00:00:02 dst_port=80`"]


describe_fields(FlowRow, "qp", "type", "priority", "fits", form=fmt.value)


def flow_row(world: World, names: Names, thing: Thing) -> FlowRow:
    """One flow rule."""
    flow = world.find(thing, Flow)
    qp = names.of(Thing(Noun.QP, thing.node, flow.qp))
    fits = " ".join(f"{name}={spelled_field(name, value)}" for name, value in flow.spec.items())
    attr = flow.attr
    return FlowRow(names.of(thing), thing.node, qp, attr.type, attr.priority, fits)


@dataclass(slots=True)
class AhRow(NamedObject):
    """An address handle."""

    to: Annotated[str, "the node it leads to, `group` for many"]
    dgid: Annotated[str, "the address packets go to"]
    dlid: Annotated[int, "the LID packets go to, of an InfiniBand port; 0 on RoCE"]
    sgid_index: Annotated[int, "which of the local addresses they come from"]
    hop_limit: Annotated[int, "routers they may pass"]
    pd: Annotated[str, "its protection domain"]


describe_fields(AhRow, "to", "dgid", "dlid", "sgid_index", "hop_limit", "pd", form=fmt.value)


def ah_row(world: World, names: Names, thing: Thing) -> AhRow:
    """One address handle."""
    ah = world.find(thing, AddressHandle)
    attr, dgid = ah.attr, gid_text(ah.attr.dgid)
    to = "group" if is_group(attr) else node_at(world, thing.node, attr) or "unknown"
    pd = names.of(Thing(Noun.PD, thing.node, ah.pd))
    route = dgid, attr.dlid, attr.sgid_index, attr.hop_limit
    return AhRow(names.of(thing), thing.node, to, *route, pd)


@dataclass(slots=True)
class PortRow:
    """The port of a node."""

    node: Annotated[str, "whose it is"]
    state: Annotated[PortState, "only ACTIVE moves data"]
    phys_state: Annotated[PhysState, "the physical state of the link"]
    link_layer: Annotated[LinkLayer, "Ethernet (RoCE) or InfiniBand"]
    lid: Annotated[int, "the first of its LIDs; 0 on Ethernet"]
    lmc: Annotated[int, "it has 2**lmc LIDs, one for each path"]
    gid: Annotated[str, "its RoCEv2 or InfiniBand address"]
    gids: Annotated[int, "addresses in its GID table"]
    pkey: Annotated[int, "the first entry of its P_Key table"]
    active_mtu: Annotated[int, "the largest path_mtu it carries, in bytes"]
    profile: Annotated[str, "which device this is: strict, rxe or mlx5"]
    ready: Annotated[int, "QPs that wait for the port to send"]
    drops: Annotated[int, "packets that arrived and were dropped"]
    bad_pkey_cntr: Annotated[int, "packets dropped for their P_Key, up to 65535"]
    qkey_viol_cntr: Annotated[int, "datagrams dropped for their Q_Key, up to 65535"]
    async_events: Annotated[int, "asynchronous events that are not yet read"]


@dataclass(slots=True)
class TableRow:
    """One entry of a port's GID or P_Key table."""

    name: str
    index: int
    value: str


@dataclass(slots=True)
class DeviceRow:
    """The device of a node: whether it works, and how much of it is in use."""

    node: Annotated[str, "whose it is"]
    state: Annotated[str, "open, closed or dead"]
    profile: Annotated[str, "which device this is: strict, rxe or mlx5"]
    objects: Annotated[int, "objects that exist on it"]


@dataclass(slots=True)
class UseRow:
    """Number of objects of a kind that a device has room for, and has."""

    name: str
    used: int
    limit: int


@dataclass(slots=True)
class LinkRow:
    """The cable."""

    up: bool
    latency_ns: int
    rate_bps: int
    mtu: int
    faults: list[str]


describe(
    LinkRow,
    Col(
        "up", lambda row: Meaning.OK if row.up else Meaning.FAILED, "link {}",
        of=lambda row: "UP" if row.up else "DOWN",
    ),
    Col("latency_ns", label="{} one way", form=fmt.duration),
    Col("rate_bps", form=fmt.rate),
    Col("mtu", label="mtu {}"),
    Col("faults", Meaning.ATTENTION, of=lambda row: ", ".join(f"fault {f}" for f in row.faults)),
)  # fmt: skip


def _lids(row: PortRow) -> str:
    return f"{row.link_layer.text} lid {row.lid} lmc {row.lmc}" if row.lid else ""


describe(
    PortRow,
    Col("node", Meaning.NAME),
    Col(
        "state",
        lambda row: Meaning.OK if row.state is PortState.ACTIVE else Meaning.ATTENTION,
        form=fmt.value,
    ),
    Col("gid"),
    Col("lid", of=_lids),
    Col("mtu", label="mtu {}", of=lambda row: row.active_mtu),
    Col("profile", label="profile {}"),
    Col("drops", lambda row: loud(row.drops), "{} dropped"),
    Col("events", lambda row: loud(row.async_events), "{} events", of=lambda row: row.async_events),
    Col("bad P_Key", Meaning.ATTENTION, "{} bad P_Key", of=lambda row: row.bad_pkey_cntr or None),
    Col("bad Q_Key", Meaning.ATTENTION, "{} bad Q_Key", of=lambda row: row.qkey_viol_cntr or None),
)
describe(
    TableRow, Col("name", Meaning.NAME), Col("index", Meaning.NUMBER, right=True), Col("value")
)
describe(
    UseRow,
    Col("name"),
    Col("used", Meaning.NUMBER, right=True),
    Col("limit", Meaning.DIM, "of {}", of=lambda row: f"{row.limit:,}", right=True),
)
describe(
    DeviceRow,
    Col("node", Meaning.NAME),
    Col("state", lambda row: Meaning.OK if row.state == "open" else Meaning.FAILED),
    Col("profile", label="profile {}"),
    Col("objects", label="{} objects"),
)


def port_row(world: World, node: str) -> PortRow:
    """The port of one node."""
    hca = world.nodes[node]
    return PortRow(
        node=node,
        state=hca.port_state,
        phys_state=port.phys_state(hca),
        link_layer=port.link_layer(hca),
        lid=hca.lids[0] if hca.lids else 0,
        lmc=port.lmc(hca),
        gid=gid_text(hca.gids[0] if hca.lids else ah_attr_of(hca).dgid),
        gids=sum(map(bool, hca.gids)),
        pkey=hca.pkeys[0],
        active_mtu=int(hca.profile.caps.active_mtu),
        profile=hca.profile.name,
        ready=len(hca.ready),
        drops=sum(hca.drops.values()),
        bad_pkey_cntr=port.bad_pkey_cntr(hca),
        qkey_viol_cntr=port.qkey_viol_cntr(hca),
        async_events=len(hca.async_events),
    )


def table_rows(world: World, node: str) -> list[TableRow]:
    """The entries of a port's tables that are not empty."""
    hca = world.nodes[node]
    gids = [TableRow(f"{node} GID", n, gid_text(gid)) for n, gid in enumerate(hca.gids) if gid]
    pkeys = [TableRow(f"{node} P_Key", n, f"{key:#06x}") for n, key in enumerate(hca.pkeys) if key]
    return gids + pkeys


def device_row(world: World, node: str) -> DeviceRow:
    """The device of one node."""
    hca = world.nodes[node]
    state = hca.unavailable_rule.removeprefix("device-").replace("fatal", "dead") or "open"
    count = sum(len(t.items) for noun, t in hca.tables.items() if noun != Noun.PROGRAM)
    return DeviceRow(node, state, hca.profile.name, count)


def use_rows(world: World, node: str) -> list[UseRow]:
    """Each kind of object the device limits."""
    hca = world.nodes[node]
    return [
        UseRow(f"{node} {table.noun}", len(table.items), int(limit))
        for table in hca.tables.values()
        if (limit := getattr(hca.profile.caps, f"max_{table.noun}", None)) is not None
    ]


def link_row(world: World, names: Names) -> LinkRow:
    """The cable as it is set."""
    cable = world.network.cable
    faults = [f"{each.number}: {record_text.fault_words(names, each)}" for each in cable.faults]
    return LinkRow(cable.up, cable.latency_ns, cable.rate_bps, cable.mtu, faults)
