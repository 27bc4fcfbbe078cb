"""Peers of queue pairs, nodes of addresses, objects that exist."""

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.hca.objects import AddressHandle
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from rdmalab.world.relations import exists, find_qp, node_at, partner_of, peer_of, peer_thing
from tests.labs import lab_of


def qp_of(lab: Lab, name: str) -> QueuePair:
    thing = lab.session.names.find(name)
    assert thing is not None
    return lab.session.world.find(thing, QueuePair)


@pytest.mark.parametrize("reset", [False, True])
def test_a_partner_is_the_peer_or_the_queue_pair_whose_path_leads_here(reset: bool) -> None:
    lab = lab_of(*["reset A.qp0"] * reset)
    world, qp, other = lab.session.world, qp_of(lab, "A.qp0"), qp_of(lab, "B.qp0")
    assert peer_of(world, qp) is (None if reset else other)
    assert partner_of(world, qp) is other
    assert peer_of(world, other) is qp


def test_a_destroyed_peer_has_a_number_and_no_object() -> None:
    lab = lab_of("destroy_qp B.qp0")
    world, qp = lab.session.world, qp_of(lab, "A.qp0")
    thing = peer_thing(world, qp)
    assert thing == lab.session.names.find("B.qp0")
    assert thing is not None
    assert not exists(world, thing)
    assert find_qp(world, thing.node, thing.number) is None
    assert find_qp(world, "C", thing.number) is None


def test_datagrams_have_no_peer() -> None:
    lab = lab_of(pair="use ud_pair")
    world, qp = lab.session.world, qp_of(lab, "A.qp0")
    assert peer_thing(world, qp) is None
    assert partner_of(world, qp) is None


@pytest.mark.parametrize("layer", ["Ethernet", "InfiniBand"])
def test_an_address_leads_to_a_node_by_gid_or_by_lid(layer: str) -> None:
    lab = lab_of(pair=f"use ud_pair link_layer={layer}")
    ah = lab.session.names.find("A.ah0")
    assert ah is not None
    attr = lab.session.world.find(ah, AddressHandle).attr
    assert node_at(lab.session.world, "A", attr) == "B"


def test_nodes_exist() -> None:
    world = lab_of().session.world
    assert exists(world, Thing(Noun.NODE, "A", 0))
    assert not exists(world, Thing(Noun.NODE, "C", 0))
