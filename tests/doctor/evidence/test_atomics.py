"""Atomics on a word, and what each found there."""

from rdmalab.doctor.checks.ownership import atomics
from tests.doctor.asking import pair
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
