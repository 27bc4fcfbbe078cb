"""A reset of one end or of both, after which the next packets are taken for duplicates."""

import pytest

from rdmalab.lab import Lab
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


_STALE = (
    "use rc_pair", "fault delay A->B nth=1 by=50us", 'write A.mr0[0:4] "oldX"',
    'write A.mr0[8:12] "newY"', "post_recv B.qp0 wr_id=7 sg=B.mr0[512:576]",
    "post_send A.qp0 wr_id=1 {old} flags=SIGNALED", "run 2us", "reset A.qp0", "reset B.qp0",
    "connect A.qp0 B.qp0", "post_recv B.qp0 wr_id=8 sg=B.mr0[512:576]", "run {pause}",
    "post_send A.qp0 wr_id=2 {new} flags=SIGNALED", "run 2s", "poll_cq A.cq0",
)  # fmt: skip
_OLD = {
    "write": "opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0]",
    "send": "opcode=SEND sg=A.mr0[0:4]",
}
_NEW = {
    "write": "opcode=RDMA_WRITE sg=A.mr0[8:12] remote=B.mr0[64]",
    "send": "opcode=SEND sg=A.mr0[8:12]",
    "long": "opcode=RDMA_WRITE sg=A.mr0[8:2008] remote=B.mr0[1024]",
}


def _stale(old: str, new: str, pause: str = "60us") -> Lab:
    return played(*(line.format(old=_OLD[old], new=_NEW[new], pause=pause) for line in _STALE))


@pytest.mark.parametrize("tidy", [False, True])
@pytest.mark.parametrize("question", ["A.qp0.wr[2]", ""])
@pytest.mark.parametrize("new", list(_NEW))
@pytest.mark.parametrize("old", list(_OLD))
def test_a_packet_of_the_connection_before_takes_the_psn_of_a_request(
    old: str, new: str, question: str, tidy: bool
) -> None:
    lab = _stale(old, new)
    if tidy:
        destroy_all(lab.session)
    report = why(lab, question)
    assert (report.slug, report.is_trouble) == ("stale-packet", True)
    assert "B.qp0 took a packet of A.qp0.wr[1] for psn=0 of its next connection" in report.text


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [("write", "write", "B.mr0[0:4]"), ("write", "write", "B.mr0[64:68]"),
     ("send", "write", "B.mr0[512:516]"), ("send", "send", "B.qp0.recv_wr[8]")],
)  # fmt: skip
def test_what_an_old_packet_left_has_this_cause(old: str, new: str, question: str) -> None:
    report = why(lab := _stale(old, new), question)
    assert report.slug == "stale-packet"
    assert report.remedy is not None
    if question != "B.mr0[512:516]":  # the WRITE that is lost goes elsewhere
        assert report.remedy.works
        assert not carried_out(lab.session, report, alone=True)


def test_an_old_packet_that_comes_after_its_psn_was_used_changes_nothing() -> None:
    assert why(_stale("write", "write", "5us"), "A.qp0.wr[2]").slug != "stale-packet"
    assert why(_stale("write", "write", "5us")).slug != "stale-packet"
