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
