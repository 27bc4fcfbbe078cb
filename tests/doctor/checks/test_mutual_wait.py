"""Threads of two nodes that wait for each other while their sends are retried without limit."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played

_THREAD = (
    "program {0}.main lines={{post_send {0}.qp0 wr_id=1 opcode=SEND sg={0}.mr0[0:64] "
    "flags=SIGNALED; poll {0}.cq0; {1}post_recv {0}.qp0 wr_id=2 sg={0}.mr0[64:128]; poll {0}.cq0}}"
)


@pytest.mark.parametrize(
    ("time", "questions"),
    [*((time, ("why", "why A.main", "why B.main")) for time in ("100us", "635us", "700us")),
     ("3ms", ("why",))],
)  # fmt: skip
def test_sends_before_receives_at_both_ends(time: str, questions: tuple[str, ...]) -> None:
    lab = played("use rc_pair", *(_THREAD.format(node, "") for node in "AB"), f"run {time}")
    for question in questions:
        report = answer(lab, question)
        assert (report.outcome.kind, report.slug) == (Status.NEVER, "mutual-wait"), question
        assert "A.main polls in vain in line 2" in report.text, question


def test_a_thread_that_will_post_its_receive_holds_nothing_up_for_long() -> None:
    late = "program B.main lines={sleep 2ms; post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]; poll B.cq0}"
    lab = played("use rc_pair", _THREAD.format("A", ""), late, "run 100us")
    assert answer(lab, "why").outcome.kind in (Status.WELL, Status.PENDING)
    assert "mutual-wait" not in answer(lab, "why A.main").text
