"""Sections 2 and 3: each send flag, each rule of scatter/gather lists."""

import pytest

from tests.work_requests.book import Case, forgotten, named, play, recv, to

W = "post_send A.qp0 wr_id=1"
READ = f"{W} opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr1"
OK = "A.cq0.last.status == SUCCESS"
ERR = "A.qp0.state == ERR"
ZERO = (
    "post_send A.qp0 wr_id=1 opcode=SEND sg={addr=0x10000000 length=0 lkey=0xdead} flags=SIGNALED"
)
BAD = "sg={addr=0x10000000 length=8 lkey=0xdead}"
FOUR = "sg=A.mr0[0:1],A.mr0[1:2],A.mr0[2:3],A.mr0[3:4]"
MANY = f"{FOUR},A.mr0[4:5]" + ",A.mr0[5:6]" * 16


def fenced(flag: str) -> tuple[str, ...]:
    """A READ brings bytes that the SEND behind it is to carry."""
    return (
        'write B.mr1[0:5] "fresh"', 'write A.mr0[0:5] "stale"', recv("RC"),
        "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:5] remote=B.mr1",
        f"post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:5] flags={flag}", "run",
    )  # fmt: skip


def solicited(opcode: str, flag: str = "SOLICITED") -> tuple[str, ...]:
    return (
        recv("RC"), "req_notify_cq B.cq1 solicited_only=1",
        f"{W} opcode={opcode} sg=A.mr0[0:300] remote=B.mr0 flags={flag}", "run",
    )  # fmt: skip


def inline(opcode: str, length: int) -> str:
    return f"{W} opcode={opcode} sg=A.mr0[0:{length}] remote=B.mr1 flags=SIGNALED|INLINE"


# fmt: off
FLAGS = [
    Case("1 FENCE", fenced("FENCE|SIGNALED"), ('B.mr0[0:5] == "fresh"',)),
    Case("1 FENCE", fenced("SIGNALED"), ('B.mr0[0:5] == "stale"',)),
    Case("1 FENCE", (f"{W} opcode=SEND flags=FENCE => EINVAL",), (), "UC"),
    Case("1 FENCE", (f"{W} opcode=SEND flags=FENCE{to('UD')} => EINVAL",), (), "UD"),
    *[Case("1 FENCE", (f"{W} opcode=SEND flags=FENCE|SIGNALED", "run"), (OK,), "UC", driver)
      for driver in ("rxe", "mlx5")],
    Case("2 SIGNALED", (recv("RC"), f"{W} opcode=SEND flags=SIGNALED", "run"),
         ("A.cq0.count == 1",)),
    Case("2 SIGNALED", (recv("RC"), f"{W} opcode=SEND flags=0", "run"), ("A.cq0.count == 0",)),
    Case("2 SIGNALED", (f"{W} opcode=SEND {BAD} flags=0", "run"),
         ("A.cq0.count == 1", "A.cq0.last.status == LOC_PROT_ERR")),
    Case("4 SOLICITED", solicited("SEND"), ("B.ch0.events == 1", "B.cq1.last.status == SUCCESS")),
    Case("4 SOLICITED", solicited("SEND", "0"), ("B.ch0.events == 0",)),
    Case("4 SOLICITED", solicited("RDMA_WRITE_WITH_IMM"),
         ("B.ch0.events == 1", "B.cq1.last.status == SUCCESS")),
    Case("4 SOLICITED", (recv("RC"), "req_notify_cq B.cq1 solicited_only=1",
                         f"{W} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr1 flags=SOLICITED",
                         "run"),
         ("B.ch0.events == 0", "B.cq1.count == 0")),
    Case("8 INLINE", ('write A.mr0[0:5] "early"', recv("RC"), inline("SEND", 5),
                      'write A.mr0[0:5] "later"', "run"), (OK, 'B.mr0[0:5] == "early"')),
    Case("8 INLINE", (recv("RC"), f"{W} opcode=SEND {BAD} flags=INLINE|SIGNALED", "run"), (OK,)),
    Case("8 INLINE", (inline("RDMA_READ", 8) + " => EINVAL",)),
    Case("8 INLINE", (inline("RDMA_READ", 8), "run"),
         ("A.cq0.last.status == LOC_PROT_ERR", ERR), "RC", "rxe"),
    Case("8 INLINE", (inline("RDMA_WRITE", 64), "run"), (OK,)),
    Case("8 INLINE", (inline("RDMA_WRITE", 65) + " => EINVAL",)),
    Case("8 INLINE", (inline("RDMA_WRITE", 65) + " => EINVAL",), (), "RC", "rxe"),
    # Its driver rounds the 64 bytes that were asked for up to 124.
    Case("8 INLINE", (inline("RDMA_WRITE", 124), "run"), (OK,), "RC", "mlx5"),
    Case("8 INLINE", (inline("RDMA_WRITE", 125) + " => ENOMEM",), (), "RC", "mlx5"),
    Case("16 IP_CSUM", (f"{W} opcode=SEND sg=A.mr0[0:60] flags=IP_CSUM|SIGNALED", "run"), (OK,),
         "RAW_PACKET"),
    Case("16 IP_CSUM", (f"{W} opcode=SEND flags=IP_CSUM => EINVAL",)),
    Case("other bits", (f"{W} opcode=SEND flags=0x80 => EINVAL",)),
    Case("other bits", (recv("RC"), f"{W} opcode=SEND flags=0x82", "run"), (OK,), "RC", "rxe"),
    Case("other bits", (recv("RC"), f"{W} opcode=SEND flags=0x12", "run"), (OK,), "RC", "rxe"),
]

SGES = [
    Case("`num_sge` <=", (f"{W} opcode=SEND {FOUR}", recv("RC"), "run")),
    Case("`num_sge` <=", (f"{W} opcode=SEND {MANY} => EINVAL",)),
    Case("`num_sge` <=", (f"{W} opcode=SEND {MANY} => EINVAL",), (), "RC", "rxe"),
    Case("`num_sge` <=", (f"{W} opcode=SEND {MANY} => ENOMEM",), (), "RC", "mlx5"),
    *[Case("`num_sge` <=", (f"post_recv A.qp0 {MANY} => EINVAL",), (), "RC", driver)
      for driver in ("strict", "rxe", "mlx5")],
    *[Case("`num_sge` <=", ("create_srq A.srq0 pd=A.pd0 max_wr=4 max_sge=4",
                            f"post_srq_recv A.srq0 {MANY} => EINVAL"), (), "RC", driver)
      for driver in ("strict", "rxe", "mlx5")],
    *[Case("Negative num_sge", (f"{W} opcode=SEND num_sge=-1 => EINVAL",
                                "post_recv A.qp0 num_sge=-1 => EINVAL"), (), "RC", driver)
      for driver in ("strict", "rxe", "mlx5")],
    Case("**length == 0.**", (recv("RC"), ZERO, "run"),
         ("A.cq0.last.status == LOC_PROT_ERR", ERR)),
    *[Case("**length == 0.**", (recv("RC"), ZERO, "run"), (OK, "B.cq1.last.byte_len == 0"), "RC", d)
      for d in ("rxe", "mlx5")],
    Case("The lkey/PD/range check", (f"{W} opcode=SEND {BAD}", "run"),
         ("A.cq0.last.status == LOC_PROT_ERR", ERR)),
    Case("The lkey/PD/range check", (f"{W} opcode=SEND {BAD}", "run"),
         ("A.cq0.last.status == LOC_QP_OP_ERR", ERR), "RC", "rxe"),
    Case("The lkey/PD/range check", (f"{W} opcode=SEND sg=A.mr1[4000:5000]", "run"),
         ("A.cq0.last.status == LOC_PROT_ERR", ERR), "RC", "rxe"),
    Case("The lkey/PD/range check", ("link down", f"{W} opcode=SEND sg=A.mr1[0:8]",
                                     "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr1[0:8] "
                                     "remote=B.mr0", "dereg_mr A.mr1"), ("A.cq0.count == 0",)),
    Case("The lkey/PD/range check", ("alloc_pd A.pd1", "reg_mr A.mr2 pd=A.pd1 length=64 access=0",
                                     f"{W} opcode=SEND sg=A.mr2[0:8]", "run"),
         ("A.cq0.last.status == LOC_PROT_ERR",)),
    Case("A zero-length SGE's lkey", (recv("RC"), ZERO, "run"), (OK,), "RC", "rxe"),
    Case("Order of memory access", ("post_recv B.qp0 wr_id=2 sg=B.mr0[0:4],B.mr0[2:6]",
                                    'write A.mr0[0:8] "abcdefgh"',
                                    f"{W} opcode=SEND sg=A.mr0[0:8]", "run"),
         ('B.mr0[0:6] == "abefgh"',)),
    Case("Total length limit", (f"{W} opcode=SEND sg={{addr=0 length=0x80000000 lkey=1}},A.mr0[0:1]"
                                " => message-length",
                                "post_recv A.qp0 sg={addr=0 length=0x80000000 lkey=1},A.mr0[0:1]"),
         ("A.qp0.rq.posted == 1",)),
    Case("The sum of RR lengths", ("post_recv B.qp0 wr_id=2 sg=B.mr0[0:30],B.mr0[100:130]",
                                   f"{W} opcode=SEND sg=A.mr0[0:61] flags=SIGNALED", "run"),
         ("A.cq0.last.status == REM_INV_REQ_ERR", "B.cq1.last.status == LOC_LEN_ERR")),
    Case("The sum of RR lengths", ("post_recv B.qp0 wr_id=2 sg=B.mr0[0:30],B.mr0[100:130]",
                                   f"{W} opcode=SEND sg=A.mr0[0:50] flags=SIGNALED", "run"),
         (OK, "B.cq1.last.byte_len == 50")),
    Case("UD RR:", (recv("UD", 2, 48), 'write A.mr0[0:8] "abcdefgh"',
                    f"{W} opcode=SEND sg=A.mr0[0:8]{to('UD')}", "run"),
         ("B.cq1.last.status == SUCCESS", 'B.mr0[40:48] == "abcdefgh"'), "UD"),
    Case("UD RR:", (recv("UD", 2, 47), f"{W} opcode=SEND sg=A.mr0[0:8]{to('UD')}", "run"),
         ("B.cq1.last.status == LOC_LEN_ERR",), "UD"),
]
# fmt: on


@pytest.mark.parametrize(("number", "cases"), [(2, FLAGS), (3, SGES)])
def test_every_bullet_of_flags_has_a_case(number: int, cases: list[Case]) -> None:
    assert not forgotten(number, cases)


@pytest.mark.parametrize("case", [*FLAGS, *SGES], ids=named)
def test_a_bullet(case: Case) -> None:
    play(case)
