"""From what waits to the messages that went astray on their way to it."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.evidence.subject import Subject
from rdmalab.doctor.facts.undelivered import for_bytes, undelivered_sends, users_of, waiting_qps
from rdmalab.lab import Lab
from tests.doctor.asking import answer, case_of, played
from tests.labs import RECV, SEND, lab_of

_RECV = "B.qp0.recv_wr[2]"
_DATAGRAM = (
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn={} "
    "remote_qkey={} flags=SIGNALED"
)


def named(lab: Lab, found: list[Subject]) -> list[tuple[str, int]]:
    return [(lab.session.names.of(each.thing), each.wr_id) for each in found]


def misplaced_receive(lab: Lab, asked: str = _RECV) -> list[tuple[str, int]]:
    case = case_of(lab, asked)
    return named(lab, [s for qp in waiting_qps(case) for s in undelivered_sends(case, qp)])


def test_misplaced_receive_of_lost_and_early_messages() -> None:
    for spoiled in ("fault drop A->B", "link latency=1us"):
        lab = lab_of(spoiled, SEND, "run", RECV, pair="use uc_pair")
        assert misplaced_receive(lab) == [("A.qp0", 1)]


def test_a_message_that_came_closes_the_past() -> None:
    lab = lab_of(SEND, "run", "post_recv B.qp0 wr_id=9 sg=B.mr0[0:64]",
                 SEND.replace("=1 ", "=4 "), "run", RECV, pair="use uc_pair")  # fmt: skip
    assert misplaced_receive(lab) == []


def test_each_message_without_acknowledgement_is_named_once_and_the_first_first() -> None:
    long = SEND.replace("[0:64]", "[0:2000]")
    lab = lab_of(long, long.replace("=1 ", "=5 "), "run", RECV, pair="use uc_pair")
    assert misplaced_receive(lab) == [("A.qp0", 1), ("A.qp0", 5)]


def test_misplaced_receive_by_the_qkey_of_a_datagram() -> None:
    for key, found in (("0x11111111", [("A.qp0", 1)]), ("0x2", [])):
        lab = lab_of("post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]", _DATAGRAM.format("0x99", key),
                     "run", pair="use ud_pair")  # fmt: skip
        assert misplaced_receive(lab) == found


def test_misplaced_receive_not_of_other_pairs() -> None:
    lab = lab_of("use uc_pair", SEND.replace("qp0", "qp1").replace("mr0", "mr1"), "run", RECV,
                 pair="use uc_pair")  # fmt: skip
    assert misplaced_receive(lab) == []


def test_waiting_qps_of_a_shared_receive() -> None:
    lab = lab_of("post_srq_recv B.srq0 wr_id=2 sg=B.mr0[0:64]", pair="use srq_pair")
    case = case_of(lab, "B.srq0.recv_wr[2]")
    assert waiting_qps(case) == users_of(case, case.subject.thing)
    assert len(waiting_qps(case)) == 2


def test_waiting_qps_is_empty_after_completion() -> None:
    assert waiting_qps(case_of(lab_of(RECV, SEND, "run"), _RECV)) == []


def test_bytes_lead_to_the_writes_and_receives_that_name_them() -> None:
    write = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[{}]"
    lab = lab_of(RECV, *(write.format(n, n * 100) for n in (1, 2)), "run")
    found = {text: named(lab, for_bytes(case_of(lab, text))) for text in
             ("B.mr0[100:108]", "B.mr0[60:205]", "B.mr0[300:400]", "A.mr0[0:8]")}  # fmt: skip
    assert found == {
        "B.mr0[100:108]": [("A.qp0", 1)],
        "B.mr0[60:205]": [("A.qp0", 2), ("A.qp0", 1), ("B.qp0", 2)],
        "B.mr0[300:400]": [],
        "A.mr0[0:8]": [],
    }


_READ = "post_send A.qp0 wr_id=7 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"
_WRITE = _READ.replace("READ", "WRITE")


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        (("fault drop B->A", _READ, "run"), "A.mr0[0:64]"),
        ((_READ + " rkey=1", "run"), "A.mr0[0:64]"),
        (("fault drop A->B", _WRITE, "run"), "B.mr0[0:64]"),
        ((_WRITE + " rkey=1", "run"), "B.mr0[0:64]"),
    ],
)
def test_bytes_that_did_not_come_have_the_cause_of_their_request(
    lines: tuple[str, ...], asked: str
) -> None:
    lab = played("use rc_pair retry_cnt=1 timeout=8", *lines)
    request, bytes_ = answer(lab, "why A.qp0.wr[7]"), answer(lab, f"why {asked}")
    assert bytes_.slug == request.slug != "unknown"
    assert request.remedy is not None
    assert bytes_.remedy is not None
    assert bytes_.remedy.cure.lines == request.remedy.cure.lines


def test_bytes_wait_while_their_write_is_on_the_wire() -> None:
    lab = played("use rc_pair", _WRITE, "step 1")
    assert answer(lab, "why B.mr0[0:64]").outcome.kind is Status.PENDING
    lab.do("run")
    assert answer(lab, "why B.mr0[0:64]").outcome.kind is Status.WELL


def test_the_first_lost_datagram_is_named() -> None:
    send = ("post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:128] ah=A.ah1 remote_qpn=0xffffff "
            "remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip
    lab = played(
        "use ud_pair", "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=224.1.2.3 sgid_index=1 "
        "hop_limit=1 port_num=1", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:168]",
        *(send.format(wr_id) for wr_id in (1, 2, 3, 4, 5)), "run",
    )  # fmt: skip
    for question in ("why", "why B.qp0.recv_wr[1]"):
        cause = answer(lab, question).causes[0]
        assert (cause.check.slug, cause.name) == ("mcast", "A.qp0.wr[1]")


def test_bytes_of_a_region_that_is_gone_and_never_had_them_are_no_bug() -> None:
    lab = lab_of("reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE", "dereg_mr B.mr1")
    assert lab.do("why B.mr1[1024:112]")[-1].error is None
