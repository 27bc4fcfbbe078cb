"""Frames that no flow rule takes: the receive and the thread that wait for them."""

import pytest

from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all

_FRAME = (r'write A.mr0[0:14] "\x02\x00\x0a\x00\x00\x02\x02\x00\x0a\x00\x00\x01\x88\xb5"',
          "post_recv B.qp0 wr_id=7 sg=B.mr0[0:64]",
          "post_send A.qp0 wr_id=8 opcode=SEND sg=A.mr0[0:60] flags=SIGNALED",
          "program B.tap lines={poll B.cq0}", "run 50us")  # fmt: skip
_OTHER = "create_flow B.mine qp=B.qp0 dst_mac=A ether_type=0x88b5"


@pytest.mark.parametrize("tidy", [False, True])
@pytest.mark.parametrize("question", ["B.qp0.recv_wr[7]", "B.tap", ""])
@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((), "B.qp0 had no flow rule"),
        ((_OTHER,), "B.mine takes frames of dst_mac=02:00:0a:00:00:01; the frame has "
                    "dst_mac=02:00:0a:00:00:02"),
    ],
)  # fmt: skip
def test_a_frame_that_no_flow_rule_takes(
    rules: tuple[str, ...], text: str, question: str, tidy: bool
) -> None:
    lab = played("use raw_pair", "destroy_flow B.flow0", *rules, *_FRAME)
    if tidy:
        destroy_all(lab.session)
    report = why(lab, question)
    assert (report.slug, report.is_trouble) == ("no-flow-rule", True)
    assert text in report.text


def test_a_frame_that_a_rule_takes_is_no_trouble() -> None:
    lab = played("use raw_pair", *_FRAME)
    assert not why(lab).is_trouble
    assert why(lab, "B.qp0.recv_wr[7]").slug != "no-flow-rule"
