"""A message once more, into the receive that took it."""

from rdmalab.doctor.evidence.messages import Message
from rdmalab.doctor.fixes.reposting import posted_again, receive_of
from rdmalab.lab import Lab
from tests.doctor.asking import pair
from tests.doctor.evidence.test_content import content
from tests.doctor.facts.test_key_lookup import case_of
from tests.labs import well

SENT = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"
RECV = "post_recv B.qp0 wr_id=4 sg=B.mr0[0:32]"


def again(lab: Lab) -> list[str]:
    case = case_of(lab)
    assert case.qp is not None
    return posted_again(case, case.qp, newest(lab), wr_id=9)


def newest(lab: Lab) -> Message:
    return content(lab, 0, 64).brought[0][1]


def test_the_same_receive_is_posted_where_none_waits() -> None:
    lab = pair(RECV, SENT)
    assert again(lab) == [RECV, SENT.replace("wr_id=1", "wr_id=9")]
    well(lab, "post_recv B.qp0 wr_id=5 sg=B.mr0[64:96]")
    assert again(lab) == [SENT.replace("wr_id=1", "wr_id=9")]


def test_a_write_takes_none() -> None:
    write = SENT.replace("SEND", "RDMA_WRITE") + " remote=B.mr0[0]"
    lab = pair(RECV, write)
    assert receive_of(case_of(lab), newest(lab)) is None
    assert again(lab) == [write.replace("wr_id=1", "wr_id=9")]
