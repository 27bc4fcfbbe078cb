"""Bytes that no request has: a receive until it is polled, a send until it is done."""

from rdmalab.command import Noun, Thing
from rdmalab.repair.free_bytes import unused
from tests.labs import RECV, SEND, lab_of


def test_bytes_of_a_receive_are_used_until_its_completion_is_polled() -> None:
    lab = lab_of(RECV, "post_recv B.qp0 wr_id=3 sg=B.mr0[64:128]", SEND, "run")
    world = lab.session.world
    domain = lab.session.names.thing_of["B.pd0"]
    (mr,) = world.nodes["B"].mrs.items.values()

    def first(length: int) -> int | None:
        found = unused(world, domain, length)
        return found[0].addr - mr.iova if found else None

    assert first(64) == 128
    lab.do("poll_cq B.cq0")
    assert (first(64), first(65), first(4096)) == (0, 128, None)
    assert unused(world, Thing(Noun.PD, "B", 99), 1) == []


def test_a_receive_of_a_fix_takes_no_bytes_that_the_program_has_written() -> None:
    session = lab_of('write B.mr0[0:8] "ownstuff"').session
    world = session.world
    (found,) = unused(world, session.names.thing_of["B.pd0"], 8)
    (mr,) = world.nodes["B"].mrs.items.values()
    assert found.addr == mr.iova + 8


def test_a_receive_of_a_fix_takes_no_bytes_of_a_send_that_may_be_retransmitted() -> None:
    back = SEND.replace("A.", "B.")
    lab = lab_of(back, back.replace("[0:64]", "[64:128] ").replace("SIGNALED", "INLINE"), "run 2ms")
    world = lab.session.world
    (mr,) = world.nodes["B"].mrs.items.values()
    domain = lab.session.names.thing_of["B.pd0"]
    assert [sge.addr - mr.iova for sge in unused(world, domain, 64)] == [64]
    for line in ("post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]", "run"):
        lab.do(line)
    assert [sge.addr - mr.iova for sge in unused(world, domain, 64)] == [0]
