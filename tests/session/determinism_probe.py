"""Plays a fixed story and prints its digest; run by test_digest in other processes and Pythons."""

import sys

from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.verbs import cq, mr, pd, post, qp
from rdmalab.workbench import faults, memory, shortcuts, time
from rdmalab.world.world import World
from tests.digest import digest

WORDS = (
    pd.alloc_pd, mr.reg_mr, cq.create_cq, cq.poll_cq, qp.create_qp, qp.modify_qp, qp.query_qp,
    qp.destroy_qp, post.post_send, post.post_recv, shortcuts.use, time.run, time.step, memory.write,
    memory.fill, faults.fault, faults.link,
)  # fmt: skip

STORY = """
use rc_pair length=16384 max_send_wr=16 max_recv_wr=16 max_rd_atomic=4 max_dest_rd_atomic=4
write A.mr0[0:5] "hello"
fill B.mr0[4096:8192] 0xab
fault drop A->B nth=3
fault drop B->A opcode=ACKNOWLEDGE nth=2
fault corrupt A->B nth=7 byte=60
post_recv B.qp0 wr_id=1 sg=B.mr0[0:4096]
post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:3000] flags=SIGNALED
post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[8192:11192] remote=B.mr0[4096] flags=SIGNALED
post_send A.qp0 wr_id=3 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[8] compare_add=5
post_send B.qp0 wr_id=4 opcode=RDMA_WRITE sg=B.mr0[0:2000] remote=A.mr0[12000] flags=SIGNALED|FENCE
run 100us
link down
step 3
link up
run
poll_cq A.cq0 num_entries=8
modify_qp A.qp0 state=ERR
post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:64]
modify_qp B.qp0 state=INIT
query_qp A.qp0
destroy_qp A.qp0
"""


def main() -> None:
    session = Session(World(), {word.name: word for word in WORDS})
    for line in STORY.strip().splitlines():
        for reply in replies(session, line):
            assert reply.error is None, reply.error
            if reply.travel is not None:
                reply.travel.finish()
    sys.stdout.write(f"{len(session.world.trace.records)} {digest(session.world.trace)}\n")


if __name__ == "__main__":
    main()
