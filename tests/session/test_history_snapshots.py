"""Snapshots: what they share, and what they must not forget."""

from rdmalab import Lab
from tests.labs import well


def test_a_snapshot_shares_what_has_not_changed() -> None:
    lab = Lab()
    well(lab, "use rc_pair")
    moments = lab.session.history.moments
    moments.take()
    before = moments.base
    well(lab, "alloc_pd A.pd7")
    after = moments.capture()
    key = ("A", "qp", lab.session.world.nodes["A"].qps.next_number - 1)
    assert after.images[key] is before.images[key]
    assert after.names is not before.names
    number = lab.session.world.nodes["A"].pds.next_number - 1
    assert set(after.images) - set(before.images) == {("A", "pd", number)}
    moments.restore(before)
    assert lab.session.names.find("A.pd7") is None
    assert number not in lab.session.world.nodes["A"].pds.items


def test_a_queue_pair_that_waited_for_the_port_is_gone_when_it_is_destroyed() -> None:
    """What nothing names any more is in no image: it must not stay in the line for the port."""
    lab = Lab()
    lab.do("use rc_pair")
    lab.do("post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]")
    assert [qp.number for qp in lab.session.world.nodes["A"].ready] == [17]
    lab.do("destroy_qp A.qp0")
    assert not lab.session.world.nodes["A"].ready
    lab.run()
    assert lab.look("wire.count()") == 0
