"""Bytes that the adapter owns: the program writes them, or two requests fill them."""

import pytest

from tests.doctor.asking import answer, played, warning, why

_READ = "post_send A.qp0 wr_id=7 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
_ADD = _READ.replace("RDMA_READ", "ATOMIC_FETCH_AND_ADD") + " compare_add=1"
_SLOW = "fault delay B->A 100us count=1"
_TEARDOWN = ("poll_cq A.cq0", "destroy_qp A.qp0", "destroy_qp B.qp0")


@pytest.mark.parametrize("post", [_READ, _ADD])
@pytest.mark.parametrize("tidy", [(), _TEARDOWN])
def test_a_write_into_a_sink_is_named_whichever_side_won(post: str, tidy: tuple[str, ...]) -> None:
    write = 'write A.mr0[0:8] "newowner"'
    lab = played("use rc_pair", _SLOW, post, "run 20us", write, "run", *tidy)
    for question in ("why A.mr0[0:8]", "why A.qp0.wr[7]", "why"):
        assert answer(lab, question).slug == "sink-overwritten", question
    lab = played("use rc_pair", _SLOW, post, "run", write, *tidy)
    for question in ("why A.mr0[0:8]", "why A.qp0.wr[7]", "why"):
        assert answer(lab, question).slug != "sink-overwritten", question


@pytest.mark.parametrize(
    "lines",
    [
        ("use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", 'write B.mr0[8:12] "mine"'),
        ("use srq_pair", "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]", 'write B.mr0[8:12] "mine"'),
        ("use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
         'program B.x lines={write B.mr0[8:12] "mine"}', "run 1us"),
    ],
)  # fmt: skip
def test_sink_overwritten_of_a_posted_receive(lines: tuple[str, ...]) -> None:
    lab = played(*lines)
    assert why(lab, "B.mr0[8:12]").slug == why(lab).slug == "sink-overwritten"
    assert why(lab, "B.mr0[64:72]").slug != "sink-overwritten"


@pytest.mark.parametrize("opcode", ["SEND", "RDMA_WRITE remote=B.mr0[0]"])
def test_buffer_reused_early_of_a_retransmission(opcode: str) -> None:
    post = f"post_send A.qp0 wr_id=7 opcode={opcode} sg=A.mr0[0:8] flags=SIGNALED"
    receive = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
    write = 'write A.mr0[2:4] "no"'
    lab = played("use rc_pair", receive, "fault drop A->B nth=1", post, "run 2us", write, "run")
    assert why(lab).name == "B.mr0[0:8]"
    for question in ("why B.mr0[0:8]", "why A.qp0.wr[7]", "why"):
        assert answer(lab, question).slug == "buffer-reused-early", question
    assert answer(lab, "why B.mr0[4:8]").slug == "well"
    assert answer(lab, "why B.mr0[0:8]").lines[0].startswith("FAILED")
    lab = played("use rc_pair", receive, post, "run", write)
    assert why(lab).slug == "well"


def test_same_buffer_twice_only_before_a_poll() -> None:
    recv = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
    send = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    lab = played("use rc_pair", recv, recv, send, send, "run")
    assert warning(lab, "B.mr0[0:8]") == ["same-buffer-twice"]
    lab = played("use rc_pair", recv, send, "run", "poll_cq B.cq0", recv, send, "run")
    assert warning(lab, "B.mr0[0:8]") == []


@pytest.mark.parametrize(("second", "is_lost"), [("512", True), ("0", False)])
def test_a_read_into_the_buffer_of_a_receive_that_was_not_polled(
    second: str, is_lost: bool
) -> None:
    """A failure if the bytes were others, and no call was typed in between: none looked at them."""
    read = "post_send A.qp0 wr_id=3 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[{}] flags=SIGNALED"
    lab = played("use rc_pair", 'write B.mr0[0:4] "mail"', 'write B.mr0[512:516] "read"',
                 "post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]",
                 f"program A.app lines={{sleep 9us; {read.format(second)}; sleep 9us;"
                 " poll A.cq0}",
                 "post_send B.qp0 wr_id=2 opcode=SEND sg=B.mr0[0:8] flags=SIGNALED",
                 "run")  # fmt: skip
    for question in ("", "A.mr0[0:4]"):
        assert why(lab, question).is_trouble is is_lost
    assert "same-buffer-twice" in why(lab, "A.mr0[0:4]").text
