"""A datagram that came to another queue pair than the one with a receive for it."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played

_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:256]"
_SEND = ("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah={} remote_qpn={} "
         "remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip
_SECOND = ("create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0",
           "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
           "modify_qp B.qp1 state=RTR")  # fmt: skip
TO_ITSELF = ("use ud_pair", "create_ah A.ah1 pd=A.pd0 to=A", _RECV,
             _SEND.format("A.ah1", "B.qp0"), "run", "poll_cq A.cq0")  # fmt: skip
TO_ANOTHER = ("use ud_pair", *_SECOND, _RECV, _SEND.format("A.ah0", "B.qp1"), "run",
              "poll_cq A.cq0", "poll_cq B.cq0")  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (TO_ITSELF, "A.qp0.wr[1] was sent to A.qp0, which has no receive; B.qp0 has one"),
        (TO_ANOTHER, "A.qp0.wr[1] was sent to B.qp1, which has no receive; B.qp0 has one"),
    ],
)
@pytest.mark.parametrize("question", ["", "B.qp0.recv_wr[1]"])
def test_the_queue_pair_with_the_receive_is_named_and_gets_it(
    lines: tuple[str, ...], text: str, question: str
) -> None:
    lab = played(*lines)
    report = answer(lab, f"why {question}")
    assert report.slug == "no-rr"
    assert report.outcome.kind is (Status.NEVER if question else Status.COMPLETED)
    assert text in report.text
    lab.do(f"apply {question}")
    lab.do("run")
    assert answer(lab, "why B.qp0.recv_wr[1]").outcome.kind is Status.COMPLETED


def test_a_receive_is_not_what_a_datagram_for_an_empty_queue_was_meant_for() -> None:
    used = "post_recv B.qp1 wr_id=5 sg=B.mr0[256:512]"
    lab = played("use ud_pair", *_SECOND, used, _SEND.format("A.ah0", "B.qp1"), "run", _RECV,
                 _SEND.format("A.ah0", "B.qp1"), "run")  # fmt: skip
    assert answer(lab, "why B.qp0.recv_wr[1]").outcome.kind is Status.PENDING
    assert "post_recv B.qp1" in answer(lab, "why").text


_CLIENT = ("create_cq A.cq1 cqe=8",
           *(line.replace("B.", "A.").replace("cq0", "cq1") for line in _SECOND),
           "modify_qp A.qp1 state=RTS sq_psn=0",
           "post_recv A.qp0 wr_id=1 sg=A.mr0[1024:1152]",
           "post_recv A.qp1 wr_id=1 sg=A.mr0[2048:2176]",
           _RECV, _RECV.replace("[0:256]", "[256:512]"))  # fmt: skip
_ASK = _SEND.format("A.ah0", "B.qp0")
_REPLY = _SEND.replace("A.", "B.").replace("wr_id=1", "wr_id=7").format("B.ah0", "{}")
_WAIT = "program A.one lines={poll A.cq0 until A.cq0.last.opcode == RECV}"
_TWO_CLIENTS = ("use ud_pair", *_CLIENT, _WAIT, _ASK, _ASK.replace("A.qp0", "A.qp1"), "run 9us")


@pytest.mark.parametrize("tidied", [(), ("stop A.one", "destroy_qp A.qp0", "destroy_qp B.qp0")])
def test_a_second_reply_to_one_client_was_meant_for_the_other_one(tidied: tuple[str, ...]) -> None:
    replies = [_REPLY.format("A.qp1")] * 2
    lab = played(*_TWO_CLIENTS, *replies, "run 9us", *tidied)
    for question in ("why", "why A.one"):
        report = answer(lab, question)
        assert "was sent to A.qp1, which has no receive; A.qp0 has one" in report.text
        assert "remote_qpn=A.qp0" in report.text
        assert report.is_trouble


def test_a_stream_to_one_client_is_not_meant_for_another_one() -> None:
    lab = played(*_TWO_CLIENTS, *[_REPLY.format("A.qp1")] * 3, "run 9us")
    assert "which has no receive; A.qp0 has one" not in answer(lab, "why").text
