"""One end was reset and brought up again; the other end takes its packets for duplicates."""

import pytest

from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all
from tests.mistakes.fixes import carried_out

_FIRST = ("use rc_pair", "post_recv B.qp0 wr_id=9 sg=B.mr0[0:16]",
          "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:16] remote=B.mr0[32] "
          "flags=SIGNALED", "run", "poll_cq A.cq0", "reset A.qp0",
          "to_rts A.qp0 B.qp0{}")  # fmt: skip
_AGAIN = ("post_send A.qp0 wr_id=2 opcode={} sg=A.mr0[100:116]{} flags=SIGNALED", "run",
          "poll_cq A.cq0")  # fmt: skip
_WRITE = ("RDMA_WRITE", " remote=B.mr0[256]")


def _lines(opcode: str, remote: str, psn: str = "") -> list[str]:
    return [line.format(psn) for line in _FIRST] + [_AGAIN[0].format(opcode, remote), *_AGAIN[1:]]


@pytest.mark.parametrize("tidy", [False, True])
@pytest.mark.parametrize("question", ["A.qp0.wr[2]", ""])
@pytest.mark.parametrize("request_", [_WRITE, ("SEND", "")])
def test_success_of_a_request_that_the_peer_took_for_a_duplicate(
    request_: tuple[str, str], question: str, tidy: bool
) -> None:
    lab = played(*_lines(*request_))
    assert lab.look("A.cq0.total(wr_id=2, status=SUCCESS) == 1")
    if tidy:
        destroy_all(lab.session)
    report = why(lab, question)
    assert (report.slug, report.is_trouble) == ("local-recovery-one-side", True)
    assert "A.qp0 was reset; B.qp0 was not" in report.text
    assert "B.qp0 took psn=0 for a duplicate" in report.text


def test_the_bytes_that_did_not_come_have_the_same_cause_and_its_fix_brings_them() -> None:
    lines = _lines(*_WRITE)
    assert why(played(*lines), "B.mr0[256:272]").slug == "local-recovery-one-side"
    lab = played(*lines)
    assert not carried_out(lab.session, why(lab, "A.qp0.wr[2]"), alone=True)


def test_a_reset_end_that_goes_on_with_the_number_that_its_peer_expects_is_well() -> None:
    lab = played(*_lines(*_WRITE, " psn=1"))
    assert not why(lab).is_trouble
    assert not why(lab, "A.qp0.wr[2]").causes
