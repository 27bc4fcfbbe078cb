"""What lies in some bytes: whose write is still there, and which message brought it."""

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.doctor.evidence.content import Content, without
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import Piece
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from tests.doctor.asking import pair
from tests.doctor.evidence.test_messages import LISTS, octets
from tests.windows import thing

SENT = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64]"
TWO = "post_recv B.qp0 wr_id=2 sg=B.mr0[32:64],B.mr0[0:32]"


def content(lab: Lab, start: int, stop: int, name: str = "B.mr0") -> Content:
    subject = Subject(Sort.BYTES, thing(lab, name), start=start, stop=stop)
    return Content(lab.session, subject, Log(lab.session))


def test_content_of_a_message_in_two_pieces() -> None:
    found = content(pair(TWO, SENT), 0, 64)
    assert sorted((t.piece[0] - found.start, t.at) for t in found.written) == [(0, 32), (32, 0)]


def test_content_without_overwritten_bytes() -> None:
    lab = pair(TWO, SENT, "run", "fill B.mr0[8:16] 1")
    found = content(lab, 0, 32)
    assert [(t.piece[0] - found.start, t.piece[1], bool(t.qp)) for t in found.written] == [
        (8, 8, False), (0, 8, True), (16, 16, True),
    ]  # fmt: skip
    assert {message.wqe.wr.wr_id for _, message in found.brought} == {1}
    assert found.brought[0][0].at == 32


def test_content_of_bytes_beside_the_message() -> None:
    found = content(pair(TWO, SENT, "run", "fill B.mr0[64:70] 1"), 70, 80)
    assert (found.written, found.brought, found.receives) == ([], [], [])
    assert found.touches(Kind.HOST_WROTE) == []


def test_receives_over_these_bytes_the_newest_first() -> None:
    lab = pair("post_recv B.qp0 wr_id=5 sg=B.mr0[0:8]", "post_recv B.qp0 wr_id=6 sg=B.mr0[4:9]",
               "post_recv B.qp0 wr_id=7 sg=B.mr0[9:12]")  # fmt: skip
    assert [each.wqe.wr.wr_id for each in content(lab, 0, 8).receives] == [6, 5]


def test_shared_receives_are_of_no_queue_pair() -> None:
    lab = pair("post_srq_recv B.srq0 wr_id=5 sg=B.mr0[0:8]", use="use srq_pair")
    assert [(each.qp, each.wqe.srq > 0) for each in content(lab, 0, 8).receives] == [(0, True)]


@given(LISTS, st.tuples(st.integers(0, 60), st.integers(1, 20)))
def test_without_takes_out_these_bytes_and_no_others(pieces: list[Piece], gone: Piece) -> None:
    assert set(octets(without(pieces, gone))) == set(octets(pieces)) - set(octets([gone]))
