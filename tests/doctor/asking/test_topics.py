"""What one can ask about, as things stand."""

import pytest

from rdmalab.doctor.asking.questions import Topic, examples, returned, topics
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.evidence.log import Log
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab

_SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    for line in (
        "use rc_pair channel=1",
        *(_SEND.format(n) for n in (7, 8, 7)),
        "post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]",
        "program A.tx lines={sleep 1us}",
        "modify_qp A.qp0 state=INIT",
    ):
        lab.do(line)
    return lab


def found(lab: Lab) -> list[Topic]:
    return topics(lab.session, Log(lab.session))


def test_topics_in_order(lab: Lab) -> None:
    assert [topic.text for topic in found(lab)] == [
        *("A.qp0", "A.qp0.wr[7]", "A.qp0.wr[8]", "B.qp0", "B.qp0.recv_wr[3]", "A.cq0", "B.cq0"),
        *("A.tx", "A.mr0", "B.mr0", "A.ch0", "B.ch0", "EINVAL", "A", "B"),
    ]
    about = {topic.text: topic.about for topic in found(lab)}
    assert about["A.qp0.wr[7]"] == "SEND 64 B, posted in ev 18"
    assert about["B.qp0.recv_wr[3]"] == "64 B, posted in ev 19"


def test_each_of_them_can_be_asked_about(lab: Lab) -> None:
    for topic in found(lab):
        assert consult(lab.session, parse_expression(topic.text).node).lines, topic


def test_only_the_newest_work_is_offered() -> None:
    lab = Lab()
    lab.do("use rc_pair max_recv_wr=40")
    for wr_id in range(20):
        lab.do(f"post_recv B.qp0 wr_id={wr_id} sg=B.mr0[0:64]")
    offered = [topic.text for topic in found(lab) if "recv_wr" in topic.text]
    assert offered == [f"B.qp0.recv_wr[{wr_id}]" for wr_id in range(19, 11, -1)]


def test_topics_without_destroyed_objects(lab: Lab) -> None:
    lab.do("dereg_mr A.mr0")
    assert "A.mr0" not in [topic.text for topic in found(lab)]


def test_examples_begin_with_work_and_stay_on_the_node(lab: Lab) -> None:
    log = Log(lab.session)
    assert examples(lab.session, log) == ["A.qp0.wr[7]", "A.qp0.wr[8]", "B.qp0.recv_wr[3]"]
    assert examples(lab.session, log, "B") == ["B.qp0.recv_wr[3]", "B.qp0", "B.cq0"]


def test_errnos_that_were_returned_the_newest_first(lab: Lab) -> None:
    for _ in range(8):
        lab.session.perform(lab.session.journal[16].invocation)
    assert returned(Log(lab.session)) == ["ENOMEM", "EINVAL"]
