"""A refused call of which later calls have made another thing: it is no trouble any more."""

import pytest

from tests.doctor.asking import answer, played, why
from tests.each import each

_RTS_TO_INIT = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE"
_ELEMENTS = " ".join(f"sg=A.mr0[{4 * n}:{4 * n + 4}]" for n in range(6))
_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE {} remote=B.mr0[0] flags=SIGNALED"
_DONE = ("run", "poll_cq A.cq0")
_SHARED = "post_{} wr_id={} sg=B.mr0[0:64]"

SESSIONS = {
    "rights": ("use rc_pair", _RTS_TO_INIT,
               "modify_qp A.qp0 state=RTS qp_access_flags=REMOTE_WRITE"),
    "one element": ("use rc_pair", _WRITE.format(1, _ELEMENTS),
                    _WRITE.format(2, "sg=A.mr0[0:24]"), *_DONE),
    "on the SRQ": ("use srq_pair", _SHARED.format("recv B.qp0", 1),
                   _SHARED.format("srq_recv B.srq0", 2),
                   "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED", *_DONE,
                   "poll_cq B.cq0"),
}  # fmt: skip


@each("lines", SESSIONS.values())
def test_a_refused_call_that_another_one_has_made_good(lines: tuple[str, ...]) -> None:
    lab = played(*lines)
    assert not any(answer(lab, f"why {name}").is_trouble for name in ("", "A.qp0", "B.qp0"))


@pytest.mark.parametrize(
    "later",
    [
        (),
        ("post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]",),
        (_WRITE.format(2, "sg=A.mr0[0:4] sg=A.mr0[8:12]"),),
    ],
)
def test_a_refused_call_that_no_call_has_made_good_is_the_cause(later: tuple[str, ...]) -> None:
    assert why(played("use rc_pair", _RTS_TO_INIT, *later)).slug == "bring-up-attr"
    lab = played("use rc_pair", _WRITE.format(1, _ELEMENTS), *later, *_DONE)
    assert why(lab).slug == "too-many-sges"


def test_a_refusal_that_a_program_tolerated_is_no_trouble_before_or_after_a_fix() -> None:
    server = "program B.s lines={try EBUSY dealloc_pd B.pd0; sleep 1us}"
    lab = played("use rc_pair", server, "run")
    report = answer(lab, "why")
    assert not report.is_trouble
    assert "1 refused call (1 tolerated by its program)" in report.text
    assert answer(lab, "why EBUSY").slug == "in-use"
    send = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    lab = played("use rc_pair", server, f"program A.tx lines={{{send}; poll A.cq0}}", "run 3ms")
    assert answer(lab, "why").slug == "rnr-infinite"
    for line in ("apply", "run 3ms"):
        lab.do(line)
    assert not answer(lab, "why").is_trouble


_BAD_KEY = (
    "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg={addr=1 length=4 lkey=9} remote=B.mr0[0] "
    "flags=SIGNALED"
)
_GOOD = "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED"
_FAILED = ("use rc_pair", "post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]", _BAD_KEY, "run",
           "poll_cq A.cq0 num_entries=3")  # fmt: skip


def test_a_peer_that_was_repaired_is_in_err_no_more() -> None:
    one_end = played(*_FAILED, "reset A.qp0", "to_rts A.qp0 B.qp0", _GOOD, "run", "poll_cq A.cq0")
    for asked in ("", "B", "B.cq0", "B.qp0"):
        report = why(one_end, asked)
        told = {cause.check.slug for cause in (*report.causes, *report.warnings)}
        assert (report.is_trouble, told & {"peer-state", "loc-prot"}) == (False, set()), asked
    both = played(*_FAILED, "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
    warned = [cause.check.slug for cause in why(both, "B.qp0.recv_wr[2]").warnings]
    assert "peer-state" not in warned


def test_a_queue_pair_is_asked_about_its_last_life_only() -> None:
    """Before the peer's RESET it was below RTS; it was brought up since."""
    lab = played("use rc_pair", _GOOD, "run", "poll_cq A.cq0", "destroy_qp A.qp0",
                 "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
                 "reset B.qp0", "connect A.qp0 B.qp0")  # fmt: skip
    assert not why(lab, "A.qp0").is_trouble
