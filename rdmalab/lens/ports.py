"""Ports and the cable between them."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.spec.limits import PortState
from rdmalab.wire.packet import gid_text
from rdmalab.world.world import World


@dataclass(slots=True)
class PortRow:
    """The port of a node."""

    node: Annotated[str, "whose it is"]
    state: Annotated[PortState, "only ACTIVE moves data"]
    gid: Annotated[str, "its RoCEv2 address"]
    active_mtu: Annotated[int, "the largest path_mtu it carries, in bytes"]
    profile: Annotated[str, "which device this is: strict, rxe or mlx5"]
    ready: Annotated[int, "QPs that stand in line to send"]
    drops: Annotated[int, "packets that arrived and were dropped"]
    async_events: Annotated[int, "asynchronous events that nobody fetched yet"]


@dataclass(slots=True)
class LinkRow:
    """The cable."""

    up: bool
    latency_ns: int
    rate_bps: int
    mtu: int
    faults: list[str]


def port_row(world: World, node: str) -> PortRow:
    """The port of one node."""
    hca = world.nodes[node]
    return PortRow(
        node=node,
        state=hca.port_state,
        gid=gid_text(hca.gids[-1]),
        active_mtu=int(hca.profile.caps.active_mtu),
        profile=hca.profile.name,
        ready=len(hca.ready),
        drops=sum(hca.drops.values()),
        async_events=len(hca.async_events),
    )


def link_row(world: World) -> LinkRow:
    """The cable as it is set."""
    cable = world.cable
    faults = [f"{fault.number}: {fault}" for fault in cable.faults]
    return LinkRow(cable.up, cable.latency_ns, cable.rate_bps, cable.mtu, faults)
