import pytest

from rdmalab.shell.reply_text import notes
from tests.shell.prompts import Prompt


@pytest.mark.parametrize(
    ("line", "facts", "wakes"),
    [
        ("alloc_pd A.pd1", ["A.pd1 created."], False),
        ("create_cq A.cq1 cqe=7", ["A.cq1 holds 7 completions."], False),
        ("post_send A.qp0 opcode=SEND", ["A.qp0 SQ 1/8."], True),
        ("post_recv B.qp0", ["B.qp0 RQ 1/8."], False),
        ("modify_qp A.qp0 state=RESET", ["A.qp0 RTS → RESET."], False),
        ("dereg_mr A.mr0", ["A.mr0 is destroyed."], False),
        ('write A.mr0[4:9] "hello"', ["5 bytes at A.mr0[4]."], False),
        ("link latency=5us", ["link latency 5 us."], False),
        ("create_comp_channel A.ch0", ["A.ch0 has no CQ yet."], False),
        ("req_notify_cq A.cq0", ["A.cq0 is armed for any completion."], False),
        ("program A.tx lines={stop}", ["A.tx runs its 1 line while time does."], True),
        ("show", [], False),
    ],
)
def test_what_a_verb_did(line: str, facts: list[str], wakes: bool) -> None:
    prompt = Prompt("use rc_pair")
    found = notes(prompt.lab.session, prompt.lab.do(line)[-1])
    assert (found.facts, found.has_work) == (facts, wakes)


def test_what_builders_did() -> None:
    prompt = Prompt("use rc_pair", width=120)
    ex = "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"
    prompt.ask(ex)
    printed = [prompt.ask(line)[0] for line in ("wr_start A.qx0", "wr_send A.qx0 wr_id=4",
            "wr_set_sge A.qx0 sg=A.mr0[0:8]", "wr_abort A.qx0")]  # fmt: skip
    ends = ("for thread 1.", "wr4 SEND 0 B, not posted yet.", "wr4 SEND 8 B, not posted yet.",
            "A.qx0: 1 built, discarded.")  # fmt: skip
    assert all(row.endswith(end) for row, end in zip(printed, ends, strict=True))


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("attach_mcast B.qp0 gid=224.0.0.9", "B.qp0 joined the multicast group ::ffff:224.0.0.9."),
        ("port B DOWN", "B: its port went DOWN."),
        ("device_fatal B", "B: its device failed."),
    ],
)
def test_notes_of_lines_without_effect(line: str, fact: str) -> None:
    (answer,) = Prompt("use ud_pair", width=200).ask(line)
    assert fact in answer
