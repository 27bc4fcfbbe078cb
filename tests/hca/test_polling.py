"""Extended polling: one completion after the other, the fields asked for, the slots at the end."""

from collections.abc import Callable
from typing import Any

import pytest

from rdmalab.command import Refused
from rdmalab.hca import lifecycle, polling
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.polling import CurrentWc
from rdmalab.spec.completions import READS, WcEx
from rdmalab.spec.profiles import MLX5
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCOpcode, WROpcode
from tests.pairs import Pair

ASKED = WcEx.BYTE_LEN | WcEx.COMPLETION_TIMESTAMP


def busy(fields: int | None = int(ASKED), **more: Any) -> tuple[Pair, CompletionQueue]:
    """Three WRITEs are done; nobody has polled."""
    pair = Pair(**more)
    pair.a.send_cq.fields = fields
    for wr_id in (7, 8, 9):
        pair.a.issue(WROpcode.RDMA_READ, wr_id=wr_id)
    pair.run()
    return pair, pair.a.send_cq


def rule(call: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(Refused) as refused:
        call(*args)
    return refused.value.rule


def test_a_slot_is_free_when_its_completion_is_read_and_all_leave_at_the_end() -> None:
    pair, cq = busy()
    hca = pair.a.hca
    used = pair.a.qp.sq.posted - pair.a.qp.sq.freed
    assert [polling.start(hca, cq).wr_id, polling.advance(hca, cq).wr_id] == [7, 8]
    assert (len(cq.cqes), pair.a.qp.sq.posted - pair.a.qp.sq.freed) == (3, used - 2)
    assert polling.end(hca, cq) == 2
    assert (len(cq.cqes), pair.a.qp.sq.posted - pair.a.qp.sq.freed) == (1, used - 2)
    assert polling.start(hca, cq).wr_id == 9
    assert rule(polling.advance, hca, cq) == "poll-empty"
    assert polling.end(hca, cq) == 1
    assert rule(polling.start, hca, cq) == "poll-empty"


def test_what_is_seen_keeps_its_room_until_the_end() -> None:
    pair, cq = busy(cqe=3)
    polling.start(pair.a.hca, cq)
    pair.a.issue(WROpcode.RDMA_WRITE)
    pair.run()
    assert cq.dead


def test_the_queue_is_locked_meanwhile() -> None:
    pair, cq = busy()
    hca = pair.a.hca
    polling.start(hca, cq)
    assert rule(polling.poll, hca, cq, 1) == "poll-open"
    assert rule(polling.start, hca, cq) == "poll-open"
    assert rule(lifecycle.resize_cq, hca, cq, 64) == "poll-open"
    polling.end(hca, cq)
    assert [cqe.wr_id for cqe in polling.poll(hca, cq, 1)] == [8]


def test_nothing_is_open_before_the_start() -> None:
    pair, cq = busy()
    for call in (polling.advance, polling.end):
        assert rule(call, pair.a.hca, cq) == "poll-not-open"
    assert rule(polling.read, pair.a.hca, cq, "opcode") == "poll-not-open"


def test_a_plain_queue_has_no_start_poll() -> None:
    pair, cq = busy(None)
    assert rule(polling.start, pair.a.hca, cq) == "cq-not-extended"


def test_only_what_was_asked_for_can_be_read() -> None:
    pair, cq = busy()
    hca = pair.a.hca
    cqe = polling.start(hca, cq)
    assert polling.read(hca, cq, "byte_len") == 8
    assert polling.read(hca, cq, "opcode") == WCOpcode.RDMA_READ
    assert 0 < polling.read(hca, cq, "completion_ts") < pair.world.now_ns
    for name, row in READS.items():
        if row.flag is not None and not row.flag & ASKED:
            assert rule(polling.read, hca, cq, name) == "crash-wc-read"
    fields = {"opcode": 2, "vendor_err": 0, "wc_flags": 0, "byte_len": 8}
    assert polling.current(cq, cqe) == CurrentWc(
        7, WCStatus.SUCCESS, fields | {"completion_ts": cqe.at_ns}
    )


def test_timestamps_tell_the_order() -> None:
    pair, cq = busy()
    hca = pair.a.hca
    polling.start(hca, cq)
    first = polling.read(hca, cq, "completion_ts")
    polling.advance(hca, cq)
    assert polling.read(hca, cq, "completion_ts") > first


def test_an_error_leaves_little_to_read() -> None:
    pair = Pair()
    pair.a.send_cq.fields = int(ASKED | WcEx.QP_NUM)
    pair.a.issue(WROpcode.RDMA_WRITE, rkey=1)
    pair.run()
    cq = pair.a.send_cq
    cqe = polling.start(pair.a.hca, cq)
    found = polling.current(cq, cqe)
    assert found.status is WCStatus.REM_ACCESS_ERR
    assert list(found.fields) == ["vendor_err", "qp_num"]
    assert [polling.is_undefined(cq, name) for name in ("byte_len", "qp_num")] == [True, False]


def test_completions_that_vanish_are_not_given_back_twice() -> None:
    pair, cq = busy(profile=MLX5)
    polling.start(pair.a.hca, cq)
    polling.advance(pair.a.hca, cq)
    pair.a.modify(qp_state=QPState.RESET)
    assert (cq.reading, len(cq.cqes)) == (0, 0)
    assert rule(polling.end, pair.a.hca, cq) == "poll-not-open"
