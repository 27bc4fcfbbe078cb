"""Atomics on a word, and what each found there."""

import pytest

from rdmalab.doctor.evidence.content import atomics
from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import pair, played, why
from tests.doctor.evidence.test_content import content

ADD = "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] compare_add=3 remote=B.mr0"
SWAP = "post_send A.qp0 opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] compare_add=3 swap=7 remote=B.mr0"


def test_atomics_have_original_and_wrote() -> None:
    lab = pair(f"{ADD}[8]", f"{SWAP}[8]", f"{SWAP}[8]", f"{ADD}[64]")
    found = atomics(content(lab, 8, 16))
    assert [(a.original, a.wrote) for a in found] == [(0, True), (3, True), (7, False)]
    assert len(atomics(content(lab, 0, 128))) == 4


def test_reads_and_writes_are_none() -> None:
    lab = pair("post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[8]",
               "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[8]")  # fmt: skip
    assert atomics(content(lab, 8, 16)) == []


_SLOW = "timeout=8 retry_cnt=0"
_OWNER = "program B.owner lines={sleep 20ms; wait B.mr0[0] == 1}"
_CONNECTED = ("run 10ms", "poll_cq A.cq0", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
_LOST = "fault drop B->A opcode=ATOMIC_ACKNOWLEDGE nth=1"


def add(wr_id: int, number: int = 1) -> str:
    return (f"post_send A.qp0 wr_id={wr_id} opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] "
            f"remote=B.mr0[0] compare_add={number} flags=SIGNALED")  # fmt: skip


def test_an_addition_that_failed_after_it_was_carried_out_was_posted_again() -> None:
    lab = played(f"use rc_pair {_SLOW}", _LOST, _OWNER, add(1), *_CONNECTED, add(2), "run")
    for question in ("B.mr0[0:8]", "", "B.owner"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("posted-twice", True), question
        assert "A.qp0.wr[1] then ended with RETRY_EXC_ERR" in report.text
        assert "A.qp0.wr[2] added 1 once more" in report.text
        assert "add 1 in B.owner" not in report.text


@pytest.mark.parametrize(
    "lines",
    [
        ("fault drop A->B nth=1", add(1), *_CONNECTED, add(2)),  # it was not carried out
        (_LOST, add(1), *_CONNECTED, add(2, 5)),  # another number
        (_LOST, add(1), *_CONNECTED, add(2), add(3)),  # it counts
        (_LOST, add(1), *_CONNECTED,
         "post_send A.qp0 wr_id=9 opcode=RDMA_READ sg=A.mr0[8:16] remote=B.mr0[0]", "run", add(2)),
        (add(1), add(2)),
    ],
)  # fmt: skip
def test_additions_that_are_no_repetition(lines: tuple[str, ...]) -> None:
    lab = played(f"use rc_pair {_SLOW}", *lines, "run")
    assert why(lab, "B.mr0[0:8]").outcome.kind is Status.WELL


def test_advice_on_the_old_value_is_for_who_gets_it() -> None:
    lab = played("use rc_pair", "program B.owner lines={wait B.mr0[0] == 1}", add(1, 2), "run")
    report = why(lab, "B.owner")
    assert "the value before it, 0, to which it added 2" in report.text
    assert "add 2 in B.owner" not in report.text
