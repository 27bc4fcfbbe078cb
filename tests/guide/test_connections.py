"""Events of rdma_cm in a log: the number beside each, and the articles of both."""

from rdmalab.guide.connections import number_words
from rdmalab.guide.explain import explain
from rdmalab.guide.logs import read
from rdmalab.spec.connections import REASONS, CmEvent, RejectReason
from tests.each import each
from tests.guide.saying import WORDS, row

LINES = [
    ("RDMA_CM_EVENT_REJECTED, error 8", "reject reason 8, INVALID_SERVICE_ID: no program listens"),
    ("RDMA_CM_EVENT_REJECTED (status = 28)", "reject reason 28, CONSUMER_DEFINED"),
    ("RDMA_CM_EVENT_REJECTED, error -111", "errno 111 is ECONNREFUSED"),
    ("RDMA_CM_EVENT_REJECTED, error 34", "status 34 is no reject reason that has a name"),
    ("RDMA_CM_EVENT_ADDR_ERROR, error: -19", "errno 19 is ENODEV"),
    ("RDMA_CM_EVENT_UNREACHABLE, error -110", "errno 110 is ETIMEDOUT"),
    ("RDMA_CM_EVENT_UNREACHABLE, error 2", "SIDR status 2"),
    ("RDMA_CM_EVENT_ROUTE_ERROR error 012", "errno 12 is ENOMEM"),
    ("RDMA_CM_EVENT_CONNECT_ERROR, error -1", "the line does not contain the errno"),
    ("status 5: RDMA_CM_EVENT_REJECTED", "it names RDMA_CM_EVENT_REJECTED"),
    ("error 0 in RDMA_CM_EVENT_ESTABLISHED", "it names RDMA_CM_EVENT_ESTABLISHED"),
    ("RDMA_CM_EVENT_ESTABLISHED, error 0", "it names RDMA_CM_EVENT_ESTABLISHED"),
]


@each("line, fact", LINES)
def test_number_beside_an_event_is_its_errno_or_reason(line: str, fact: str) -> None:
    found = read(f"cma event {line}", WORDS)
    assert found is not None
    assert fact in found.facts[-1]
    assert "IBV_WC" not in explain(f"cma event {line}", WORDS).text


@each("reason", RejectReason)
def test_reject_reason_is_explained_by_name_and_by_number(reason: RejectReason) -> None:
    for text in (f"IB_CM_REJ_{reason.name}", f"reject reason {int(reason)}"):
        assert explain(text, WORDS).title == f"IB_CM_REJ_{reason.name}"
    assert REASONS[reason] in number_words(CmEvent.REJECTED, int(reason))


def test_article_of_an_event_gives_the_meaning_of_its_status() -> None:
    assert "an errno" in row("RDMA_CM_EVENT_ROUTE_ERROR", "status")
    assert "no program listens" in row("RDMA_CM_EVENT_REJECTED", "reasons")
