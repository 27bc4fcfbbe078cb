"""The fall by which work was flushed, and not another one."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.facts.qp_error_cause import ErrorCause, qp_error_cause
from rdmalab.spec.states import QPState
from tests.doctor.asking import case_of
from tests.labs import SEND, lab_of

_WR = "A.qp0.wr[1]"
_ERR = "modify_qp A.qp0 state=ERR"
_WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0 flags=SIGNALED"


def fall_of(*lines: str, what: str = _WR, pair: str = "use rc_pair") -> ErrorCause:
    found = qp_error_cause(case_of(lab_of(*lines, pair=pair), what))
    assert found is not None
    return found


def test_qp_error_cause_before_the_flush() -> None:
    lab = lab_of(_ERR, SEND, "run")
    first = lab.session.world.event
    for line in ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0", _ERR):
        lab.do(line)
    found = qp_error_cause(case_of(lab, _WR))
    assert found is not None
    assert found.event < first


def test_qp_error_cause_of_a_refused_key_names_its_failed_test() -> None:
    bad = "post_send B.qp0 opcode=RDMA_WRITE sg=B.mr0[0:4] remote=A.mr0[4094] flags=SIGNALED"
    found = fall_of(bad, SEND, "run")
    assert found.sentence.endswith("opens bytes 0..4096 of A.mr0; bytes 4094..4098 were named")


def test_qp_error_cause_is_none_in_rts_and_after_reset() -> None:
    assert qp_error_cause(case_of(lab_of(SEND), _WR)) is None
    assert qp_error_cause(case_of(lab_of(_ERR, "reset A.qp0"), "A.qp0")) is None


def test_qp_error_cause_before_a_cq_overrun_by_the_flush() -> None:
    bad = "post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:4] rkey=1"
    found = fall_of(bad, _WRITE, SEND, "run", pair="use rc_pair cqe=1")
    assert "its wr9 ended with REM_ACCESS_ERR" in found.sentence
    assert found.cq is None


def test_qp_error_cause_has_the_overrun_cq() -> None:
    found = fall_of(_WRITE, _WRITE, _WRITE, "run", SEND, pair="use rc_pair cqe=1")
    assert found.cq == Thing(Noun.CQ, "A", 1)
    assert found.state is QPState.ERR


def test_an_unreliable_queue_pair_falls_less_deep() -> None:
    bad = "post_send A.qp0 wr_id=9 opcode=SEND sg={addr=0x5 length=9 lkey=0xdead}"
    found = fall_of(bad, "run", SEND, "run", pair="use uc_pair")
    assert (found.state, found.sentence) == (QPState.SQE, "its wr9 ended with LOC_PROT_ERR")


def test_qp_error_cause_of_device_fatal() -> None:
    assert fall_of(SEND, "device_fatal A").sentence == "the device of A failed (DEVICE_FATAL)"


def test_a_refusal_older_than_the_kept_trace_has_its_general_words() -> None:
    lab = lab_of(_WRITE.replace("remote=B.mr0", "rkey=0xdead"), "run")
    case = case_of(lab, "B.qp0")
    trace = lab.session.world.trace
    before = qp_error_cause(case)
    assert before is not None
    assert "rkey 0xdead" in before.sentence
    trace.forget(trace.latest + 1)
    found = qp_error_cause(case)
    assert found is not None
    assert "refused RDMA_WRITE" in found.sentence
