"""Section 5: when slots come back, and what a completion says."""

import pytest

from tests.work_requests.book import RIGHTS, Case, forgotten, named, play, recv

WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr1 flags={}"
QUIET, LOUD = WRITE.format(1, 0), WRITE.format(2, "SIGNALED")
READ = "post_send A.qp0 wr_id=3 opcode=RDMA_READ sg=A.mr0[0:600] remote=B.mr1 flags=SIGNALED"
BAD = "post_send A.qp0 wr_id=7 opcode=SEND sg={addr=0x10000000 length=8 lkey=0xdead}"
POLL = "poll_cq A.cq0 num_entries=16"
ALL = "create_qp A.qp7 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq1 sq_sig_all=1 max_send_wr=16"
OTHER = "create_qp B.qp7 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq1"
ON_7 = QUIET.replace("A.qp0", "A.qp7")
SHARED = ("create_srq B.srq0 pd=B.pd0 max_wr=4",
          "create_qp A.qp7 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq1",
          f"{OTHER} srq=B.srq0", "connect A.qp7 B.qp7", "post_srq_recv B.srq0 wr_id=4",
          "post_send A.qp7 wr_id=1 opcode=SEND")  # fmt: skip

# fmt: off
CASES = [
    Case("An SQ slot is taken", (QUIET, "run"), ("A.qp0.sq.used == 1",)),
    Case("An SQ slot is taken", (QUIET, LOUD, "run"), ("A.qp0.sq.used == 2",)),
    Case("An SQ slot is taken", (QUIET, LOUD, QUIET, "run", POLL), ("A.qp0.sq.used == 1",)),
    Case("Consequence:", (*[QUIET] * 8, "run", f"{QUIET} => ENOMEM", POLL, f"{QUIET} => ENOMEM"),
         ("A.qp0.sq.used == 8",)),
    Case("Consequence:", (*[QUIET] * 7, LOUD, "run", POLL, *[QUIET] * 7, LOUD),
         ("A.qp0.sq.used == 8",)),
    Case("RXE frees", (*[QUIET, "run"] * 16,), ("A.qp0.sq.used == 0",), "RC", "rxe"),
    Case("RXE frees", (LOUD, "run"), ("A.qp0.sq.used == 0", "A.cq0.count == 1"), "RC", "rxe"),
    *[Case("Receive slots:", (recv("RC"), LOUD.replace("RDMA_WRITE", "SEND"), "run"),
           (f"B.qp0.rq.used == {left}",), "RC", device)
      for device, left in (("strict", 1), ("mlx5", 1), ("rxe", 0))],
    Case("Receive slots:", (recv("RC"), LOUD.replace("RDMA_WRITE", "SEND"), "run", "poll_cq B.cq1"),
         ("B.qp0.rq.used == 0",)),
    *[Case("Receive slots:", (*SHARED, "run"), (f"B.srq0.used == {left}",), "RC", device)
      for device, left in (("strict", 1), ("rxe", 0))],
    Case("Receive slots:", (*SHARED, "run", "poll_cq B.cq1"), ("B.srq0.used == 0",)),
    Case("Full test mlx5", ("link down", *[QUIET] * 8, f"{QUIET} => ENOMEM"), (), "RC", "mlx5"),
    Case("Full test mlx5", ("link down", *[QUIET] * 15, f"{QUIET} => ENOMEM"), (), "RC", "rxe"),
    Case("Error CQEs free", (QUIET, BAD, QUIET, "run", POLL), ("A.qp0.sq.used == 0",)),
    Case("Error CQEs free", ("link down", QUIET, "post_recv A.qp0", "modify_qp A.qp0 state=RESET"),
         ("A.qp0.sq.used == 0", "A.qp0.rq.used == 0")),
    Case("A signaled completion",
         ('write A.mr0[0:4] "here"', *[QUIET] * 3, LOUD, "until A.cq0.count == 1"),
         ('B.mr1[0:4] == "here"', "A.qp0.sq.on_wire == 0", "A.qp0.sq.waiting == 0")),
    Case("A signaled completion", (LOUD, "run"), ("A.cq0.count == 1", "B.cq1.count == 0")),
    Case("Nobody can ask", (*[QUIET] * 2, LOUD, "run", "link down", QUIET),
         ("A.qp0.sq.posted == 4", "A.qp0.sq.used == 4", "A.qp0.sq.free == 4")),
    Case("sq_sig_all=1:", (ALL, OTHER, f"connect A.qp7 B.qp7 qp_access_flags={RIGHTS}",
                           *[ON_7] * 3, "run"), ("A.cq0.count == 3",)),
    Case("sq_sig_all=1:", (ALL, OTHER, f"connect A.qp7 B.qp7 qp_access_flags={RIGHTS}",
                           *[LOUD] * 8, *[ON_7] * 9, "run"),
         ("A.qp7.state == ERR", "A.cq0.dead == 1")),
    Case("Execution order:", (READ, LOUD, "run"), ("A.cq0.count == 2", "A.cq0.last.wr_id == 2",
                                                   "A.cq0.next.wr_id == 3")),
]
# fmt: on


def test_every_bullet_of_slots_has_a_case() -> None:
    assert not forgotten(5, CASES)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_bullet(case: Case) -> None:
    play(case)
