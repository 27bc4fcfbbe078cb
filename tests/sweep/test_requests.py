"""Completed requests are read from the records since a number."""

from rdmalab import Lab
from rdmalab.spec.work import Local
from rdmalab.sweep.measures import peer, requests

WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:500] remote=B.mr0[0] flags=SIGNALED"


def test_a_request_posted_before_has_no_latency() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.do(WRITE)
    first = len(lab.session.world.trace.records)
    lab.run()
    lab.do(WRITE)
    lab.run()
    before, after = requests(lab.session, first)
    assert (before.octets, before.local, before.latency_ns) == (500, Local.GATHER, None)
    assert after.latency_ns is not None
    assert len(list(requests(lab.session, 0))) == 2
    assert peer(lab.session, "A", after.number) == "B"
