"""What was refused is handed over once more, with receives for what needs them."""

from rdmalab.doctor.fixes import reposting
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import lab_of

_FILL = ["post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0]"] * 2
_TWO = (
    "post_send A.qp0 wr={wr_id=1 opcode=SEND sg=A.mr0[0:7]} wr={wr_id=2 opcode=SEND sg=A.mr0[0:9]}"
)


def full(*before: str) -> Lab:
    lab = lab_of(*before, *_FILL, pair="use rc_pair max_send_wr=2")
    assert lab.do(_TWO)[-1].refusal is not None
    return lab


def again(lab: Lab, *, signaled: bool = False, revived: bool = False) -> list[str]:
    case = case_of(lab, "ENOMEM")
    assert case.qp is not None
    return reposting.repost_refused(case, case.qp, signaled=signaled, after_reset=revived)


def test_again_posts_missing_receives() -> None:
    lines = again(full())
    assert lines[:2] == ["post_recv B.qp0 sg=B.mr0[0:7]", "post_recv B.qp0 sg=B.mr0[7:16]"]
    assert lines[2] == _TWO


def test_again_uses_posted_receives() -> None:
    assert again(full("post_recv B.qp0 sg=B.mr0[0:64]"))[:-1] == ["post_recv B.qp0 sg=B.mr0[64:73]"]


def test_again_after_reset_posts_all_receives() -> None:
    assert len(again(full("post_recv B.qp0 sg=B.mr0[0:64]"), revived=True)) == 3


def test_again_signals_the_last_request() -> None:
    line = again(full(), signaled=True)[-1]
    assert line.endswith("wr={wr_id=2 opcode=SEND sg=A.mr0[0:9] flags=SIGNALED}")
    assert line.count("SIGNALED") == 1
