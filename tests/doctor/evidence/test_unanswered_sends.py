"""Which packets of a send nobody took, and whether that is the end of it."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.finding import Verdict, fact
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import Unanswered, posted_as, sender_of
from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well

_WR = "A.qp0.wr[1]"
_A = Thing(Noun.QP, "A", 0x11)


def unanswered(lab: Lab, *, asked: bool = True) -> Unanswered | None:
    return case_of(lab, _WR, asked=asked).unanswered


def test_unanswered_is_none_after_an_ack() -> None:
    assert unanswered(lab_of(RECV, SEND, "run")) is None
    assert unanswered(lab_of("fault drop A->B nth=1", RECV, SEND, "run")) is None


def test_unanswered_is_none_after_rnr_retry_exc() -> None:
    assert unanswered(lab_of(SEND, "run", pair="use rc_pair rnr_retry=1")) is None


def test_misses_have_event_reason_and_node() -> None:
    lab = lab_of("port B ARMED", SEND, "run", pair="use rc_pair timeout=8 retry_cnt=2")
    found = unanswered(lab)
    assert found is not None
    assert found.final
    assert [(miss.reason, miss.node, miss.number) for miss in found.misses] == (
        [("port-down", "B", 0x11)] * 3
    )
    events = [miss.event for miss in found.misses]
    assert events == sorted(set(events))


def test_the_newest_miss_decides() -> None:
    lab = lab_of("port B ARMED", SEND, "run 20us", "port B ACTIVE", "destroy_qp B.qp0", "run",
                 pair="use rc_pair timeout=8 retry_cnt=2")  # fmt: skip
    found = unanswered(lab)
    assert found is not None
    assert found.because("port-down") == []
    assert len(found.because("wrong-qpn")) == 2
    assert len(found.because("wrong-qpn", "port-down")) == 3


def test_unanswered_warns_while_retrying() -> None:
    lab = lab_of("port B ARMED", SEND, "run 20us", pair="use rc_pair timeout=8 retry_cnt=2")
    found = unanswered(lab)
    assert found is not None
    assert found.finding(fact("so")).verdict is Verdict.WARN
    well(lab, "run")
    found = unanswered(lab)
    assert found is not None
    assert found.finding(fact("so"), since=3).origin == 3


def test_unanswered_is_final_with_timeout_zero() -> None:
    found = unanswered(lab_of("port B ARMED", SEND, "run", pair="use rc_pair timeout=0"))
    assert found is not None
    assert found.final


def test_unanswered_of_uc_only_when_asked() -> None:
    lab = lab_of(SEND, "run", pair="use uc_pair")
    assert unanswered(lab, asked=False) is None
    found = unanswered(lab)
    assert found is not None
    assert [miss.reason for miss in found.misses] == ["no-receive"]


def test_misses_without_packets_of_other_qps() -> None:
    second = "post_send A.qp1 wr_id=4 opcode=SEND sg=A.mr1[0:8] flags=SIGNALED"
    lab = lab_of("use uc_pair", RECV, SEND, second, "run", pair="use uc_pair")
    found = unanswered(lab)
    assert found is not None
    assert found.misses == []


def test_misses_without_packets_of_other_requests() -> None:
    lab = lab_of(RECV, SEND, SEND.replace("=1 ", "=8 "), "run", pair="use uc_pair")
    found = unanswered(lab)
    assert found is not None
    assert found.misses == []


def test_sender_of_a_dropped_packet_after_trimming() -> None:
    lab = lab_of(SEND, "run", pair="use uc_pair")
    log = Log(lab.session)
    record = log.of(Kind.PACKET_DROPPED)[0]
    assert sender_of(lab.session.world, record) == _A
    trace = lab.session.world.trace
    trace.forget(trace.latest + 1)
    assert sender_of(lab.session.world, record) == _A


def test_posted_as_is_the_newest_request_with_the_psn() -> None:
    lab = lab_of(SEND, SEND.replace("=1 ", "=8 "), "run", pair="use uc_pair")
    log = Log(lab.session)
    dropped = log.of(Kind.PACKET_DROPPED)
    found = [posted_as(log, _A, record) for record in dropped]
    assert [wqe.wr.wr_id for wqe in found if wqe is not None] == [1, 8]
    assert posted_as(log, _A, (0, *dropped[0][1:])) is None
