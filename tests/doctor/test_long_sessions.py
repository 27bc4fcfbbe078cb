"""Answers after tens of thousands of polls are those that a short session gets."""

import pytest

from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from rdmalab.shell.error_notice import ErrorNotice
from rdmalab.spec.records import Kind
from tests.doctor.asking import played, why
from tests.labs import well

_SERVER = "program B.rx lines={loop; poll B.cq0; end}"
_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
_SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_BAD = (
    "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] remote_addr=B.mr0[0] rkey=0x77 "
    "flags=SIGNALED"
)
_LONG = "run 8ms"
"""Some 80,000 polls: more than the log keeps."""


@pytest.fixture(scope="module")
def served() -> Lab:
    """A server polls in a loop; its one message came long ago."""
    return played("use rc_pair", _SERVER, _RECV, _SEND, _LONG)


def test_a_send_that_succeeded_long_ago_is_completed(served: Lab) -> None:
    found = why(served, "A.qp0.wr[1]").outcome
    assert (found.kind, found.event) == (Status.COMPLETED, 43)
    assert "not polled yet" in found.sentence


def test_a_receive_that_was_polled_long_ago_names_its_poll(served: Lab) -> None:
    found = why(served, "B.qp0.recv_wr[1]").outcome
    assert found.kind is Status.COMPLETED
    assert "B.rx polled its completion at ev 31" in found.sentence


@pytest.mark.parametrize("time", ["2ms", "8ms"])
def test_a_server_that_has_served_is_as_well_as_in_a_short_session(time: str) -> None:
    lab = played("use rc_pair", _SERVER, _RECV, _SEND, f"run {time}", "poll_cq A.cq0")
    assert not why(lab).is_trouble
    assert why(lab, "B.rx").slug == why(lab).slug


def test_polls_do_not_push_the_posts_out_of_the_log(served: Lab) -> None:
    log = Log(served.session)
    assert log.begins == 0
    assert [record[0] for record in log.of(Kind.SEND_POSTED)] == [16]
    assert len(log.of(Kind.PROGRAM_RAN)) < 80_000


def test_a_send_that_failed_long_ago_has_its_root() -> None:
    lab = played("use rc_pair", _SERVER, _BAD, _LONG)
    assert why(lab, "A.qp0.wr[1]").slug == why(lab).slug == "rem-access"


def test_a_thread_that_is_done_is_not_called_stuck() -> None:
    lab = played("use rc_pair", "program B.rx lines={poll B.cq0}", _LONG, _RECV, _SEND, "run 20us")
    assert why(lab, "B.rx").outcome.kind is Status.WELL
    assert why(lab).outcome.kind is Status.WELL


def test_it_is_done_where_the_log_has_lost_its_beginning() -> None:
    busy = "program A.y lines={loop; post_send A.qp1 opcode=SEND sg=A.mr1[0:8] flags=SIGNALED; "
    busy += "poll A.cq1; end}"
    feed = "program B.y lines={loop; post_recv B.qp1 sg=B.mr1[0:8]; poll B.cq1; end}"
    lab = played("use rc_pair", "use rc_pair", "program B.rx lines={poll B.cq0}", feed, busy,
                 "run 12ms", _RECV, _SEND, "run 20us")  # fmt: skip
    assert Log(lab.session).begins > 0
    assert why(lab, "B.rx").outcome.kind is Status.WELL
    assert "B.rx" not in [cause.name for cause in why(lab).causes]
    well(lab, "run 12ms")
    found = why(lab, "A.qp0.wr[1]").outcome
    assert found.kind is Status.COMPLETED


@pytest.mark.parametrize("time", ["20us", "8ms"])
def test_a_server_that_has_served_is_not_called_stuck_after_a_run(time: str) -> None:
    lab = played("use rc_pair", _SERVER, _RECV, _SEND, f"run {time}")
    rows = "\n".join(row.text for row in ErrorNotice().rows(lab.session, 0, 0))
    assert "B.rx is in line 2: poll B.cq0" in rows
    assert "will not get past" not in rows
