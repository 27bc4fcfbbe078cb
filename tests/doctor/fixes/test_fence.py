"""The fix of a send that overtook a READ brings the message to where the wrong bytes are."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played


@pytest.mark.parametrize("tidied", [(), ("reset A.qp0", "reset B.qp0")])
def test_the_fenced_message_takes_a_receive_as_the_first_one_did(tidied: tuple[str, ...]) -> None:
    lab = played(
        "use rc_pair", 'write B.mr0[0:4] "gold"', "post_recv B.qp0 wr_id=1 sg=B.mr0[100:104]",
        "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:4] remote=B.mr0[0]",
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED", "run",
        "poll_cq A.cq0", "poll_cq B.cq0", *tidied,
    )  # fmt: skip
    assert answer(lab, "why B.mr0[100:104]").slug == "ordering"
    lab.do("apply B.mr0[100:104]")
    lab.do("run")
    assert answer(lab, "why B.mr0[100:104]").outcome.kind is Status.WELL
    assert lab.do("read B.mr0[100:104]")[-1].value == b"gold"
