import pytest

from rdmalab.shell.notes import notes
from tests.shell.talk import Talk


@pytest.mark.parametrize(
    ("line", "facts", "wakes"),
    [
        ("alloc_pd A.pd1", ["A.pd1 is there."], False),
        ("create_cq A.cq1 cqe=7", ["A.cq1 holds 7 completions."], False),
        ("post_send A.qp0 opcode=SEND", ["A.qp0 SQ 1/8."], True),
        ("post_recv B.qp0", ["B.qp0 RQ 1/8."], False),
        ("modify_qp A.qp0 state=RESET", ["A.qp0 RTS → RESET."], False),
        ("dereg_mr A.mr0", ["A.mr0 is gone."], False),
        ('write A.mr0[4:9] "hello"', ["5 bytes at A.mr0[4]."], False),
        ("link latency=5us", ["link latency 5us."], False),
        ("create_comp_channel A.ch0", ["A.ch0 waits for CQs to be made with it."], False),
        ("req_notify_cq A.cq0", ["A.cq0 waits for any completion."], False),
        ("show", [], False),
    ],
)
def test_what_a_verb_did(line: str, facts: list[str], wakes: bool) -> None:
    talk = Talk("use rc_pair")
    found = notes(talk.lab.session, talk.lab.do(line)[-1])
    assert (found.facts, found.wakes) == (facts, wakes)
