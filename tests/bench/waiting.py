"""What a waiting program adds to a run: the same run with the program and without it.

The condition reads what changes in the run, a queue and a completion queue, and never comes true.
"""

import time

from rdmalab.lab import Lab
from tests.bench.loads import settle

_WAITS = "program A.idle lines={wait A.qp0.sq.free > 1000 or A.cq0.count > 1000}"
_PAIR = "use rc_pair max_send_wr=32 max_recv_wr=32 cqe=64 length=65536 mtu=1024"
_AT_ONCE, _ROUNDS = 16, 60
_POLL = f"sleep 1ms\npoll_cq A.cq0 num_entries={_AT_ONCE}"
_WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:16KiB] remote=B.mr0[0] flags=SIGNALED"


def writes(*more: str) -> float:
    """CPU seconds of an event of a run: a program posts WRITEs of sixteen packets each."""
    settle()
    lines = [f"loop {_ROUNDS}", *[_WRITE] * _AT_ONCE, _POLL, "end"]
    lab = Lab()
    for line in (_PAIR, *more, "program A.tx pace=10ns lines={" + "\n".join(lines) + "}"):
        for reply in lab.do(line):
            assert not reply.failed, reply
    start = time.process_time()
    lab.run()
    seconds = time.process_time() - start
    assert lab.look("A.cq0.total(status=SUCCESS)") == _ROUNDS * _AT_ONCE
    return seconds / float(lab.look("event"))


def writes_awaited() -> float:
    """The same with a program that waits."""
    return writes(_WAITS)
