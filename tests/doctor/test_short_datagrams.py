"""Datagrams that do not fit into a receive: dropped by one device, an error on another."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all

_SEND = (
    "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:{}] ah=A.ah0 remote_qpn=B.qp0"
    " remote_qkey=0x11111111 flags=SIGNALED"
)
_SHORT = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
_LONG = "post_recv B.qp0 wr_id=3 sg=B.mr0[512:1024]"
_BOTH = "another one completes the receive with LOC_LEN_ERR"


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
def test_a_receive_without_room_for_the_header_is_named_on_each_device(profile: str) -> None:
    lab = played("use ud_pair", _SHORT, _LONG, _SEND.format(64), "run", profile=profile)
    for question in ("", "B.qp0.recv_wr[1]", *(["A.qp0.wr[2]"] if profile == "mlx5" else [])):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("ud-40-bytes", True), question
        assert "needs 104: 40 of GRH and 64 of data" in report.text
        assert (_BOTH in report.text) is (profile == "mlx5")
        assert report.remedy is not None
        assert report.remedy.works
    destroy_all(lab.session)
    assert (why(lab).slug, why(lab).is_trouble) == ("ud-40-bytes", True)


def test_a_receive_that_stays_after_a_dropped_datagram_waits_in_vain() -> None:
    lab = played("use ud_pair", _SHORT, _LONG, _SEND.format(64), "run", profile="mlx5")
    assert why(lab, "B.qp0.recv_wr[1]").outcome.kind is Status.NEVER
    for line in ("apply", "run", "poll_cq B.cq0"):
        lab.do(line)
    assert lab.look("B.cq0.total(wr_id=1, status=SUCCESS)") == 1
    assert lab.look("B.qp0.rq.used") == 1


def test_a_receive_that_a_later_datagram_took_is_no_failure_and_the_loss_is_still_reported() -> (
    None
):
    lines = (_SHORT, _SEND.format(64), "run", _SEND.format(8).replace("wr_id=2", "wr_id=4"), "run",
             _LONG)  # fmt: skip
    lab = played("use ud_pair", *lines, profile="mlx5")
    assert why(lab, "B.qp0.recv_wr[1]").slug == "completed"
    assert why(lab, "B.qp0.recv_wr[3]").slug != "ud-40-bytes"
    text = why(lab, "A.qp0.wr[2]").text
    assert "the receive of B.qp0 that it came to was shorter" in text
    assert "has 512 bytes" not in text
