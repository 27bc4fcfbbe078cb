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


def test_start_poll_frees_cqes_at_end_poll() -> None:
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


def test_start_poll_cqes_keep_their_room_until_end_poll() -> None:
    pair, cq = busy(cqe=3)
    polling.start(pair.a.hca, cq)
    pair.a.issue(WROpcode.RDMA_WRITE)
    pair.run()
    assert cq.dead


def test_start_poll_locks_the_cq() -> None:
    pair, cq = busy()
    hca = pair.a.hca
    polling.start(hca, cq)
    assert rule(polling.poll, hca, cq, 1) == "poll-open"
    assert rule(polling.start, hca, cq) == "poll-open"
    assert rule(lifecycle.resize_cq, hca, cq, 64) == "poll-open"
    polling.end(hca, cq)
    assert [cqe.wr_id for cqe in polling.poll(hca, cq, 1)] == [8]


def test_next_poll_before_start_poll() -> None:
    pair, cq = busy()
    for call in (polling.advance, polling.end):
        assert rule(call, pair.a.hca, cq) == "poll-not-open"
    assert rule(polling.read, pair.a.hca, cq, "opcode") == "poll-not-open"


def test_start_poll_needs_create_cq_ex() -> None:
    pair, cq = busy(None)
    assert rule(polling.start, pair.a.hca, cq) == "cq-not-extended"


def test_wc_read_needs_its_wc_flag() -> None:
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


def test_wc_read_completion_ts_is_in_order() -> None:
    pair, cq = busy()
    hca = pair.a.hca
    polling.start(hca, cq)
    first = polling.read(hca, cq, "completion_ts")
    polling.advance(hca, cq)
    assert polling.read(hca, cq, "completion_ts") > first


def test_wc_read_of_an_error_has_few_fields() -> None:
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


def test_start_poll_with_completions_of_a_destroyed_qp() -> None:
    pair, cq = busy(profile=MLX5)
    polling.start(pair.a.hca, cq)
    polling.advance(pair.a.hca, cq)
    pair.a.modify(qp_state=QPState.RESET)
    assert (cq.reading, len(cq.cqes)) == (0, 0)
    assert rule(polling.end, pair.a.hca, cq) == "poll-not-open"
