from typing import Any

import pytest

from rdmalab.command import Command
from rdmalab.grammar.format import render
from rdmalab.guide.usage import usage
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.verbs.post import post_recv, post_send
from rdmalab.verbs.srq import post_srq_recv
from rdmalab.vocabulary import VOCABULARY
from tests.covers import covers
from tests.labs import RECV, lab_of, misread, refusal, seen, status, trip, well

_WR = "wr={{wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED}}"
_BAD = "wr={wr_id=9 opcode=SEND flags=0x40}"


def wrs(*wr_ids: int) -> str:
    return " ".join(_WR.format(wr_id) for wr_id in wr_ids)


def test_post_send_list_is_queued_in_order_with_one_doorbell() -> None:
    lab = lab_of(f"post_send A.qp0 {wrs(3, 1, 2)}")
    assert [wqe.wr.wr_id for _, wqe, _ in seen(lab, Kind.SEND_POSTED)] == [3, 1, 2]
    assert len(lab.session.world.agenda.heap) == 1
    trip(lab, "run")
    assert [cqe.wr_id for cqe in well(lab, "poll_cq A.cq0 num_entries=9").value] == [3, 1, 2]


@covers("S003", "S078")
@pytest.mark.parametrize("before", [0, 1, 2])
def test_post_send_requests_before_bad_wr_stay_posted(before: int) -> None:
    lab = lab_of()
    refused = refusal(lab, f"post_send A.qp0 {wrs(*range(before))} {_BAD} {wrs(8)}")
    assert (refused.rule, refused.bad_wr) == ("send-flags", before)
    trip(lab, "run")
    done = well(lab, "poll_cq A.cq0 num_entries=9").value
    assert [cqe.wr_id for cqe in done] == list(range(before))


@covers("S080")
def test_post_send_list_longer_than_the_queue() -> None:
    lab = lab_of(pair="use rc_pair max_send_wr=3")
    refused = refusal(lab, f"post_send A.qp0 {wrs(0, 1, 2, 3, 4)}")
    assert (refused.errno, refused.bad_wr) == (12, 3)


def test_post_recv_list() -> None:
    lab = lab_of(pair="use rc_pair max_recv_wr=2")
    refused = refusal(lab, "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2} wr={wr_id=3}")
    assert refused.bad_wr == 2
    assert lab.look("B.qp0.rq.used") == 2


def test_a_send_fills_the_oldest_receive() -> None:
    lab = lab_of(
        RECV,
        "post_recv B.qp0 wr_id=3 sg=B.mr0[64:128]",
        'write A.mr0[0:5] "hello"',
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:5]",
        "run",
    )
    assert well(lab, "read B.mr0[0:6]").value == b"hello\0"
    assert [cqe.wr_id for cqe in well(lab, "poll_cq B.cq0 num_entries=9").value] == [2]


@pytest.mark.parametrize(("flags", "arrives"), [("INLINE", b"old"), ("SIGNALED", b"new")])
def test_inline_data_is_copied_when_it_is_posted(flags: str, arrives: bytes) -> None:
    lab = lab_of(
        RECV,
        'write A.mr0[0:3] "old"',
        f"post_send A.qp0 opcode=SEND sg=A.mr0[0:3] flags={flags}",
        'write A.mr0[0:3] "new"',
        "run",
    )
    assert well(lab, "read B.mr0[0:3]").value == arrives


def test_negative_numbers_are_converted_as_in_c() -> None:
    """compare_add=-1 counts down, and wr_id=-1 is the largest."""
    atomic = "opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0 compare_add=-1 flags=SIGNALED"
    lab = lab_of("fill B.mr0[0:1] 5", f"post_send A.qp0 wr_id=-1 {atomic}", "run")
    assert well(lab, "read B.mr0[0:8]").value == bytes([4, 0, 0, 0, 0, 0, 0, 0])
    assert status(lab, 2**64 - 1) == "SUCCESS"


def test_sge_beyond_the_region_fails_when_executed() -> None:
    lab = lab_of("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[4090:4100]", "run")
    assert status(lab) == "LOC_PROT_ERR"


def test_post_send_null_list_has_its_fields() -> None:
    lab = lab_of()
    assert misread(lab, "post_send A.qp0").message == "post_send also needs opcode"
    well(lab, "post_recv A.qp0")
    well(lab, "post_send A.qp0 wr=NULL")
    well(lab, "post_send A.qp0 opcode=SEND sg=0xdead num_sge=0")
    lines = [render(e.invocation, VOCABULARY[e.invocation.name]) for e in lab.session.journal[-3:]]
    assert lines[:2] == ["post_recv A.qp0", "post_send A.qp0 wr=NULL"]
    well(lab, lines[2])  # a wild pointer is read again as it was written
    assert [wqe.wr.sg[0].addr for _, wqe, _ in seen(lab, Kind.SEND_POSTED)] == [0xDEAD, 0xDEAD]


@pytest.mark.parametrize("verb", ["post_send", "post_recv"])
def test_the_usage_line_names_what_is_needed_and_no_more(verb: str) -> None:
    line = usage(VOCABULARY[verb])
    assert ("opcode=OPCODE" in line) is (verb == "post_send")
    assert "[opcode" not in line


@covers("S118")
def test_post_send_wr_and_sg_list_may_be_changed_after_the_call() -> None:
    lab = lab_of('write A.mr0[0:8] "one-two-"')
    wr = sending(lab, wr_id=1, offset=0)
    call(lab, post_send, "A.qp0", wr)
    again = sending(lab, wr_id=2, offset=4)
    wr.wr_id, wr.remote_addr, wr.sg[0].addr = again.wr_id, again.remote_addr, again.sg[0].addr
    call(lab, post_send, "A.qp0", wr)
    wr.sg.clear()
    well(lab, "run")
    assert [cqe.wr_id for cqe in well(lab, "poll_cq A.cq0 num_entries=9").value] == [1, 2]
    assert lab.look('B.mr0[0:8] == "one-two-"')


@covers("S213")
@pytest.mark.parametrize("queue", ["B.qp0", "B.srq0"])
def test_post_recv_wr_may_be_changed_after_the_call(queue: str) -> None:
    lab = lab_of("create_srq B.srq0 pd=B.pd0 max_wr=8", 'write A.mr0[0:4] "news"')
    make = "create_qp {}.qp1 pd={}.pd0 qp_type=RC send_cq={}.cq0 recv_cq={}.cq0"
    for line in (make.format(*"AAAA"), f"{make.format(*'BBBB')} srq=B.srq0", "connect A.qp1 B.qp1"):
        well(lab, line)
    post = post_recv if queue == "B.qp0" else post_srq_recv
    mr = found(lab, "B.mr0")
    wr = RecvWR(1, [SGE(mr.addr, 64, mr.lkey)])
    call(lab, post, queue, wr)
    wr.wr_id, wr.sg[0].addr = 2, mr.addr + 64
    call(lab, post, queue, wr)
    wr.sg.clear()
    sender = "A.qp0" if queue == "B.qp0" else "A.qp1"
    well(
        lab, f"post_send {sender} wr={{opcode=SEND sg=A.mr0[0:4]}} wr={{opcode=SEND sg=A.mr0[0:4]}}"
    )
    well(lab, "run")
    assert [cqe.wr_id for cqe in well(lab, "poll_cq B.cq0 num_entries=9").value] == [1, 2]
    assert lab.look('B.mr0[0:4] == "news" and B.mr0[64:68] == "news"')


def sending(lab: Lab, wr_id: int, offset: int) -> SendWR:
    """A WRITE of 4 bytes, from and to one offset."""
    ours, theirs = found(lab, "A.mr0"), found(lab, "B.mr0")
    return SendWR(
        wr_id=wr_id,
        opcode=WROpcode.RDMA_WRITE,
        sg=[SGE(ours.addr + offset, 4, ours.lkey)],
        flags=SendFlags.SIGNALED,
        remote_addr=theirs.addr + offset,
        rkey=theirs.rkey,
    )


def found(lab: Lab, name: str) -> Any:
    thing = lab.session.names.find(name)
    assert thing is not None
    return lab.session.world.find(thing, object)


def call(lab: Lab, verb: Command, name: str, wr: SendWR | RecvWR) -> None:
    """The verb itself, with a request that stays the caller's."""
    thing = lab.session.names.find(name)
    assert thing is not None
    lab.session.world.begin_event()
    verb.function(lab.session.world, thing, wr=[wr])


@pytest.mark.parametrize("null", ["NULL", "None"])
@pytest.mark.parametrize("before", ["wr={opcode=SEND}", "wr=NULL"])
def test_post_send_null_list_has_no_other_entries(before: str, null: str) -> None:
    (reply,) = lab_of().do(f"post_send A.qp0 {before} wr={null}")
    assert reply.error is not None
    assert reply.error.message == "wr is given twice"
