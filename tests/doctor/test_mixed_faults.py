"""Two things wrong at once: both are found, the earlier first."""

import pytest

from rdmalab.doctor.consultation import consult
from tests.doctor.asking import played, why
from tests.doctor.masks import asked, together
from tests.doctor.test_root_causes import loaded
from tests.mistakes.fixes import carried_out

# Scenarios whose cause is seen without naming a thing, the second played behind the first in the
# same world. Two of one queue pair, of queues, of calls, of keys, of paths; roots and stations.
PAIRS = [
    ("memlock", "srq-error"), ("mw-bind-pd", "rem-op-cq-overrun"), ("rem-access", "xrc-srqn"),
    ("bring-up-attr-extra", "loc-len"), ("link-mtu", "rem-access-pd"), ("pkey", "wrong-qpn"),
    ("loc-prot-local-write", "loc-qp-op-destroyed"), ("memlock", "missing-setter-xrc"),
    ("rem-access", "wrong-qpn"), ("armed-after-cqe", "qp-err-flush-by-peer"),
    ("mw-bind-pd", "rem-inv-req-rd-atomic"), ("srq-error", "unacked-events-async"),
    ("cq-overrun", "wrong-state-post"), ("loc-qp-op-destroyed", "too-many-sges"),
    ("qp-not-rts", "unacked-events"), ("rem-inv-req-loc-len", "wrong-qpn"),
    ("no-grh", "srq-empty-limit"), ("rem-inv-req-reads", "wrong-state-post"),
    ("armed-after-cqe", "segfault-class"), ("beyond-device", "no-channel"),
    ("port-not-active-late", "srq-error"), ("segfault-class", "srq-vs-rq"),
    ("port-not-active-late", "rem-op-cq-overrun"), ("no-route", "xrc-srqn"),
    ("inline-opcode", "mw-bind-range"), ("link-mtu", "loc-prot-pd"),
    ("psn-mismatch-behind", "wrong-gid"), ("loc-len", "peer-state"),
    ("loc-prot", "rnr-retry-exc"), ("loc-qp-op", "sq-full-of-unsignaled"),
    ("no-grh-ah", "qp-err-flush-root"), ("peer-mtu", "peer-state"),
    ("beyond-device", "psn-mismatch-ahead"), ("missing-setter", "mw-bind-right"),
    ("bring-up-attr-range", "retry-exc"), ("peer-destroyed", "peer-port"),
    ("retry-exc", "rem-inv-req"), ("rkey-rotated", "solicited-only"),
    ("mw-bind", "unmapped"), ("dereg-early-remote", "qp-err-flush-by-peer"),
    ("peer-type", "rem-op"),
]  # fmt: skip


# Their call was refused right before the question: the answer begins with it.
JUST_REFUSED = ("missing-setter-xrc", "segfault-class", "sq-full-of-unsignaled",
                "too-many-sges", "unmapped", "wrong-state-post")  # fmt: skip

# Their call was refused, and nothing was posted on the queue pair: what has failed comes first.
OF_AN_UNUSED_QUEUE_PAIR = ("bring-up-attr-extra", "bring-up-attr-range", "no-grh")


# A datagram was lost, and later work failed in the last run: the answer begins with that.
JUST_FAILED = ("no-route", "xrc-srqn")


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_both_are_found_in_their_order(first: str, second: str) -> None:
    scenarios = [loaded(f"{name}.rdmalab.yaml") for name in (first, second)]
    wanted = [step.step.cause for scenario in scenarios for step in asked(scenario)]
    wanted = wanted[::-1] if first in OF_AN_UNUSED_QUEUE_PAIR else wanted
    is_news = second in JUST_REFUSED or (first, second) == JUST_FAILED
    wanted = [*wanted[-1:], *wanted[:-1]] if is_news else wanted
    report = consult(together(*scenarios))
    found = [cause.check.slug for cause in report.causes]
    assert [slug for slug in found if slug in wanted] == wanted


_TWO = (
    "create_cq A.cq9 cqe=4", "create_cq B.cq9 cqe=4",
    "create_qp A.qp9 pd=A.pd0 qp_type=RC send_cq=A.cq9 recv_cq=A.cq9",
    "create_qp B.qp9 pd=B.pd0 qp_type=RC send_cq=B.cq9 recv_cq=B.cq9", "connect A.qp9 B.qp9",
)  # fmt: skip
_SENDS = "post_send A.{} wr_id=4 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_BAD_KEY = "post_send A.qp9 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] rkey=0x77 flags=SIGNALED"
INDEPENDENT = {
    ("rem-access", "no-rr"): (
        f"program A.t1 lines={{{_BAD_KEY}; poll A.cq9}}",
        f"program A.t2 lines={{sleep 20us; {_SENDS.format('qp0')}; poll A.cq0}}",
    ),
    ("write-no-signal", "in-use"): (
        "program B.s lines={try EBUSY dealloc_pd B.pd0; poll B.cq0}",
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]",
    ),
    ("unsignaled", "loc-prot"): (
        "program A.t lines={post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] "
        "remote=B.mr0[0]; poll A.cq0}", "run 50us",
        "post_send A.qp9 wr_id=9 opcode=RDMA_READ sg={addr=0x5 length=8 lkey=0x99} "
        "remote=B.mr0[0] flags=SIGNALED",
    ),
    ("loc-len", "peer-destroyed"): (
        "post_recv A.qp9 wr_id=1 sg=A.mr0[512:576]", "program A.rx lines={poll A.cq9}",
        "program B.own lines={sleep 5us; destroy_qp B.qp9}", "post_recv B.qp0 sg=B.mr0[0:8]",
        f"program A.tx lines={{sleep 30us; {_SENDS.format('qp0')}; poll A.cq0}}",
    ),
    ("no-rr", "inline-too-long"): (
        "program A.tx lines={try EINVAL post_send A.qp0 wr_id=1 opcode=RDMA_WRITE "
        "sg=A.mr0[0:2000] remote=B.mr0[0] flags=SIGNALED|INLINE; "
        f"{_SENDS.format('qp0')}; poll A.cq0}}",
    ),
    ("unsignaled", "already-polled"): (
        "program A.u lines={post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] "
        "remote=B.mr0[0]; poll A.cq0}",
        "program B.r lines={post_recv B.qp9 wr_id=2 sg=B.mr0[0:64]; poll B.cq9; poll B.cq9}",
        f"program A.s lines={{sleep 10us; {_SENDS.format('qp9')}; poll A.cq9}}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("slugs", INDEPENDENT)
def test_both_of_two_independent_mistakes_are_named(slugs: tuple[str, str]) -> None:
    lab = played("use rc_pair rnr_retry=1 min_rnr_timer=1", *_TWO, *INDEPENDENT[slugs], "run 200us")
    report = why(lab)
    named = [cause.check.slug for cause in (*report.causes, *report.warnings)]
    assert (named[0], [slug for slug in named if slug in slugs]) == (slugs[0], list(slugs))


def test_a_read_for_which_its_peer_lacks_the_right_and_the_depth() -> None:
    """`rdma_accept` with responder_resources=0 leaves both out."""
    lines = ("use rc_pair max_dest_rd_atomic=0 qp_access_flags=REMOTE_WRITE",
             "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] "
             "flags=SIGNALED", "run", "poll_cq A.cq0")  # fmt: skip
    lab = played(*lines)
    report = why(lab, "A.qp0.wr[1]")
    assert "without REMOTE_READ, and its max_dest_rd_atomic is 0" in report.text
    assert report.remedy is not None
    assert report.remedy.works
    assert not carried_out(lab.session, report, alone=True)
