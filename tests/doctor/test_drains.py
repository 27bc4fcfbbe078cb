"""Work that is posted in ERR, after the program itself moved its queue pair there."""

import pytest

from tests.doctor.asking import chain, played, why
from tests.each import each

_TO_ERR = "modify_qp A.qp0 state=ERR"
_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED"
_SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED"
_OUTSTANDING = "post_recv A.qp0 wr={wr_id=31 sg=A.mr0[0:64]} wr={wr_id=32 sg=A.mr0[64:128]}"
_ROOT = ["own-err", "qp-err-flush"]

DRAINS = {
    "a send": (_TO_ERR, _WRITE.format(99), "poll_cq A.cq0"),
    "a receive": (_TO_ERR, "post_recv A.qp0 wr_id=99", "poll_cq A.cq0"),
    "both": (_OUTSTANDING, _TO_ERR, _WRITE.format(98), "post_recv A.qp0 wr_id=99",
             "poll_cq A.cq0 num_entries=4"),
    "a program": (_OUTSTANDING, f"program A.main lines={{{_WRITE.format(1)}; {_TO_ERR}; "
                  f"{_WRITE.format(99)}; loop 4; poll A.cq0; end}}", "run 50us"),
}  # fmt: skip
TEARDOWNS = [(), ("destroy_qp A.qp0",), ("destroy_qp A.qp0", "destroy_qp B.qp0"),
             ("modify_qp A.qp0 state=RESET",)]  # fmt: skip


@each("end", TEARDOWNS)
@each("lines", DRAINS.values())
def test_the_last_request_of_a_drain_is_no_trouble(
    lines: tuple[str, ...], end: tuple[str, ...]
) -> None:
    lab = played("use rc_pair", *lines, *end)
    assert not why(lab).is_trouble
    assert not why(lab, "A.qp0").is_trouble


@pytest.mark.parametrize(
    "lines",
    [
        (_WRITE.format(1),),
        (_WRITE.format(1), "poll_cq A.cq0", _WRITE.format(2), "poll_cq A.cq0"),
        (f"program A.late lines={{{_WRITE.format(1)}; poll A.cq0}}", "run 1us"),
    ],
)
@pytest.mark.parametrize("before", [(), (_OUTSTANDING,)])
def test_own_err_of_a_send_in_err_that_ends_no_drain(
    before: tuple[str, ...], lines: tuple[str, ...]
) -> None:
    lab = played("use rc_pair", *before, _TO_ERR, *lines)
    assert chain(lab) == _ROOT
    assert "wr1 was posted after that, in ERR" in why(lab).text


@pytest.mark.parametrize("question", ["", "A.qp0", "A.qp0.wr[2]", "B.rx"])
def test_own_err_of_a_message_in_err_that_the_peer_waits_for(question: str) -> None:
    lab = played(
        "use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "program B.rx lines={poll B.cq0}",
        f"program A.tx lines={{{_WRITE.format(1)}; poll A.cq0; {_TO_ERR}; {_SEND}; poll A.cq0}}",
        "run 300us",
    )  # fmt: skip
    report = why(lab, question)
    assert ([cause.check.slug for cause in report.chain], report.is_trouble) == (_ROOT, True)
    assert "A.tx moved A.qp0 from RTS to ERR" in report.text
