"""Facts of packets, and the filters that use them."""

from rdmalab.grammar.nodes import Bare
from rdmalab.spec.work import WROpcode
from rdmalab.views import ladder, packet_facts
from rdmalab.views.ladder import PacketRow
from tests.pairs import Pair
from tests.views.looking import names_of


def test_a_filter_keeps_the_packets_that_fit_all_of_it() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 600)
    pair.run()
    wanted = {"from": "A", "opcode": "RDMA_WRITE_MIDDLE"}
    (row,) = ladder.rows(pair.world, names_of(pair), wanted=wanted)
    assert isinstance(row, PacketRow)
    assert row.psn == 1
    wanted = {"syndrome": Bare("ACK")}
    assert len(ladder.rows(pair.world, names_of(pair), wanted=wanted)) == 1


def test_every_fact_is_a_field_of_the_row() -> None:
    assert set(packet_facts.FACTS) <= set(PacketRow.__slots__)
    assert set(packet_facts.SHORT.values()) <= set(packet_facts.FACTS)
