"""Lines that people have in their logs lead to the article, behind what was read out of them."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import NotUnderstood
from rdmalab.guide.explain import explain
from rdmalab.guide.logs import read
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.connections import CmEvent
from rdmalab.spec.statuses import STATUS, WCStatus
from tests.each import chance_of, drawn_numbers, each
from tests.guide.saying import WORDS

LINES = [
    ("Failed status transport retry counter exceeded (12) for wr_id 7", "IBV_WC_RETRY_EXC_ERR"),
    ("Failed status 12: wr_id 0 syndrom 0x81", "IBV_WC_RETRY_EXC_ERR"),
    ("Completion with error at client", "wc"),
    ("oh: vendor err 129", "vendor_err"),
    ("wc.status 5", "IBV_WC_WR_FLUSH_ERR"),
    ("status=12 vendor_err=129", "IBV_WC_RETRY_EXC_ERR"),
    ("NCCL WARN NET/IB : Got completion from peer 10.2.0.5<33092> with status=12 opcode=32698 "
     "len=32696 vendor err 129 (Recv)", "IBV_WC_RETRY_EXC_ERR"),
    ("NET/IB : Got completion from peer 10.5.0.34<33956> with error 5, opcode 0, len 1, "
     "vendor err 244 (Recv)", "IBV_WC_WR_FLUSH_ERR"),
    ("got bad completion with status: 0xc, vendor syndrome: 0x81", "IBV_WC_RETRY_EXC_ERR"),
    ("Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)",
     "IBV_WC_RETRY_EXC_ERR"),
    ("mlx5_poll_one:530:(pid 0): syndrome 0x5, vendor syndrome 0xf9", "IBV_WC_WR_FLUSH_ERR"),
    ("fi_cq_readerr: err: 5, prov_err: remote access error (10)", "IBV_WC_REM_ACCESS_ERR"),
    ("ibv_modify_qp: Invalid argument", "EINVAL"),
    ("[Errno 22] Failed to modify QP state", "EINVAL"),
    ("[Errno 22]", "EINVAL"),
    ("ibv_post_send failed with ENOMEM", "ENOMEM"),
    ("non-zero status: 22 ibv_modify_qp failed.", "EINVAL"),
    ("failed to modify QP to RTR", "modify_qp … state=RTR"),
    ("Failed to modify QP to RTR, check mtu, gid: Connection timed out [110]",
     "modify_qp … state=RTR"),
    ("ibv_modify_qp RTR -> RTS: Invalid argument.", "RTR → RTS"),
    ("Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state "
     "INIT, next state RTR, local GID index 3", "INIT → RTR"),
    ("Call to ibv_modify_qp failed with error No route to host errno 113", "EHOSTUNREACH"),
    ("Couldn't post send", "post_send"),
    ("got async event IBV_EVENT_QP_FATAL for qp 0x12", "IBV_EVENT_QP_FATAL"),
    ("status 012", "IBV_WC_RETRY_EXC_ERR"),
    ("Failed status 05: wr_id 0 syndrom 0x81", "IBV_WC_WR_FLUSH_ERR"),
    ("status=12 vendor_err=0129", "IBV_WC_RETRY_EXC_ERR"),
    ("(synd 0X15 vend 0x81 hw_synd 0/0)", "IBV_WC_RETRY_EXC_ERR"),
    ("ibv_post_send returned 012", "ENOMEM"),
    (f"status {'0' * 5000}12", "IBV_WC_RETRY_EXC_ERR"),
    ("async event: local QP operation error", "IBV_WC_LOC_QP_OP_ERR"),
    ("async event: local work queue catastrophic error", "IBV_EVENT_QP_FATAL"),
    ("cma event RDMA_CM_EVENT_REJECTED, error 8", "RDMA_CM_EVENT_REJECTED"),
    ("RDMA_CM_EVENT_REJECTED status 8", "RDMA_CM_EVENT_REJECTED"),
    ("RDMA_CM_EVENT_ADDR_ERROR, error: -19", "RDMA_CM_EVENT_ADDR_ERROR"),
    ("cmatose: event: RDMA_CM_EVENT_UNREACHABLE, error: -110", "RDMA_CM_EVENT_UNREACHABLE"),
    ("RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR", "RDMA_CM_EVENT_ROUTE_ERROR"),
    ("Couldn't change state to RTR: Invalid argument", "modify_qp … state=RTR"),
    ("Unable to change QP state to INIT", "modify_qp … state=INIT"),
    ("syndrome 0x81", "vendor_err"),
    ("rnr_nak_retry_err 17", "rnr_nak_retry_err"),
    ("link mlx5_0/1 rx_write_requests 0 out_of_buffer 3 duplicate_request 0", "out_of_buffer"),
    ("req_cqe_error: 5", "req_cqe_error"),
    ("np_cnp_sent rp_cnp_handled", "np_cnp_sent"),
    ("mlx5_0: CQ overrun on CQN 0x000123", "IBV_EVENT_CQ_ERR"),
    ("mlx4_core 0000:05:00.0: CQ access violation on CQN 000085", "IBV_EVENT_CQ_ERR"),
]  # fmt: skip


@each("line, title", LINES)
def test_a_line_of_a_log_leads_to_the_article(line: str, title: str) -> None:
    answer = explain(line, WORDS)
    assert answer.title == title
    assert answer.sections[0].heading == "read"
    assert max(map(len, answer.lines(80))) <= 80


@each("status", [status for status in WCStatus if status])
def test_every_status_is_read_by_number_and_by_text(status: WCStatus) -> None:
    for line in (f"poll: status={int(status)}, giving up", f"oh: {STATUS[status].text.upper()}!"):
        found = read(line, WORDS)
        assert found is not None, line
        assert found.word == full_name(status)


@each("event", AsyncEvent)
def test_every_event_is_read_by_its_text(event: AsyncEvent) -> None:
    found = read(f"libibverbs: async: {EVENTS[event].text} on port 1", WORDS)
    assert found is not None
    assert found.word == full_name(event)


@each("event", CmEvent)
def test_every_event_of_rdma_cm_is_read_by_its_name(event: CmEvent) -> None:
    found = read(f"cma_event type rdma_cm_event_{event.name} cma_id 0x55 (parent)", WORDS)
    assert found is not None
    assert found.word == full_name(event)


@each(
    "line",
    [
        "mlx5: host: got completion with error: 00000000 00000000 00000000 00000000",
        "mlx5: host: got completion with error: 00000000",
        "completion error 0",
        "error: work completion status 0, vendor 0x51",
    ],
)
def test_a_zero_in_a_line_that_says_error_is_no_success(line: str) -> None:
    found = read(line, WORDS)
    assert found is None or "SUCCESS" not in " ".join((found.word, *found.facts))


def test_a_status_of_zero_without_an_error_is_success() -> None:
    for line in ("wr_id 3: status 0", "got a completion without error: status 0"):
        found = read(line, WORDS)
        assert found is not None
        assert found.word == full_name(WCStatus.SUCCESS)


def test_facts_beside_a_status_of_a_log_line() -> None:
    found = read("status=12 opcode=9 len=77 wr_id=3 vendor err 129", WORDS)
    assert found is not None
    text = "; ".join(found.facts)
    assert "wr_id 3" in text
    assert "0x81 = 129" in text
    assert "RETRY_EXC_ERR" in text
    assert "opcode and length are undefined" in text


def test_an_unknown_vendor_code_has_no_public_list() -> None:
    found = read("Failed status 12: wr_id 0 syndrom 0x3", WORDS)
    assert found is not None
    assert "there is no public list" in found.facts[-1]


@pytest.mark.parametrize("line", ["ibv_poll_cq returned -1", "ibv_poll_cq failed, rc=-1"])
def test_minus_one_says_that_it_failed_and_is_no_errno(line: str) -> None:
    found = read(line, WORDS)
    assert found is not None
    assert found.word == "poll_cq"
    assert "does not contain the errno" in found.facts[0]


def test_a_verb_and_an_errno_name_the_rules_of_that_verb() -> None:
    found = read("ibv_modify_qp: Invalid argument", WORDS)
    assert found is not None
    assert "attr-missing" in found.facts[-1]
    assert "queue-full" not in found.facts[-1]


def test_log_lines_without_rdma_are_not_read() -> None:
    for line in (
        "hello world",
        "status quo",
        "transport error",
        "status=99",
        "error 0",
        "Connection refused",
    ):
        assert read(line, WORDS) is None, line


def test_a_zero_in_front_leaves_a_number_decimal() -> None:
    found = read("Failed status 012: wr_id 0 vendor_err 0129", WORDS)
    assert found is not None
    assert found.word == full_name(WCStatus.RETRY_EXC_ERR)
    assert "0x81 = 129" in found.facts[-1]


@pytest.mark.parametrize(
    "line",
    ["status ٠١٢", "vendor err 0𝟙", "errno ²²", "errno 2²", f"status {'9' * 5000}",
     f"errno {'9' * 5000}", f"vendor err {'9' * 5000}", f"vendor err 0x{'f' * 5000}"],
)  # fmt: skip
def test_what_is_no_number_of_a_log_is_not_read_as_one(line: str) -> None:
    """Digits of other scripts, and numbers that no field of a completion can hold."""
    assert read(line, WORDS) is None


def test_a_number_too_long_for_its_field_leaves_the_rest_readable() -> None:
    found = read(f"status 12 vendor_err {'9' * 5000} wr_id {'1' * 5000}", WORDS)
    assert found is not None
    assert found.word == full_name(WCStatus.RETRY_EXC_ERR)
    assert len(found.facts) == 1


@pytest.mark.parametrize("word", ["status", "status (", "completion error", "syndrome 5"])
def test_a_long_text_is_read_in_linear_time(word: str) -> None:
    start = time.process_time()
    read(f"{word} " * 8_000, WORDS)
    assert time.process_time() - start < 1  # it took up to 9 s


_ODD = (
    "0", "00", "0" * 5000, "012", "0x", "0x1g", "0X15", "-1", "+5", "٣", "𝟙", "²", "9" * 30,
    "9" * 5000, "0x" + "f" * 5000,
    "\x1b[2J", "\u202e", "(", ")", "[", "]", "status", "syndrome 0x", "vend",
    "vendor err ", "errno ", "IBV_", "ibv_modify_qp", "RTR ->", "_", "é", "\n", "\0", "",
)  # fmt: skip


def _mutated(number: int) -> str:
    chance = chance_of("log line", number)
    pieces = list(chance.choice(LINES)[0])
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(pieces) + 1)
        width = chance.choice((0, 0, 1, 3))
        pieces[at : at + width] = chance.choice((*_ODD, *"0123456789abcdefx :=()"))
    return "".join(pieces)


@each("number", drawn_numbers("log lines read", 2_000, 20_000))
def test_a_mutated_log_line_is_read_or_not(number: int) -> None:
    found = read(_mutated(number), WORDS)
    assert found is None or found.facts


@each("number", drawn_numbers("log lines explained", 60, 2_000))
def test_a_mutated_log_line_is_explained_or_refused(number: int) -> None:
    with contextlib.suppress(NotUnderstood):
        assert explain(_mutated(number), WORDS).title


@given(st.text(max_size=200))
def test_any_text_is_read_or_not(text: str) -> None:
    found = read(text, WORDS)
    assert found is None or explain(found.word, WORDS).title


LOG = """\
mlx5_core: INIT2RTR_QP(0x503) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x38e54c)
Completion with error at client
 Failed status 12: wr_id 0 syndrom 0x81
NET/IB : Got completion from peer 10.5.0.34<33956> with error 5, opcode 0, len 1, vendor err 244
scnt=128, ccnt=0
NET/IB : Got completion from peer 10.5.0.34<33957> with error 5, opcode 0, len 1, vendor err 244
infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe
00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
00000030: 00 00 00 00 00 00 88 13 08 00 01 0f 00 09 ab d2
"""


def test_a_log_of_several_lines_names_each_subject_once() -> None:
    page = explain(LOG, WORDS)
    assert page.title == "4 subjects in 11 lines"
    found = {each.heading: each.lines[0] for each in page.sections}
    assert found == {
        "modify_qp INIT RTR": "line 1",
        "IBV_WC_RETRY_EXC_ERR": "line 2",
        "IBV_WC_WR_FLUSH_ERR": "2 times, first in line 4",
        "IBV_WC_REM_ACCESS_ERR": "line 8",
    }
    for line in page.see_also:
        assert explain(line.removeprefix("explain "), WORDS).title


def test_a_log_with_one_subject_is_its_article() -> None:
    lines = LOG.splitlines()
    assert explain("\n".join(lines[1:3]), WORDS).title == "IBV_WC_RETRY_EXC_ERR"
    assert explain("\n".join(lines[6:]), WORDS).title == "IBV_WC_REM_ACCESS_ERR"


def test_a_bring_up_that_timed_out_names_the_address_that_no_host_has() -> None:
    found = read("ibv_modify_qp failed with 110 Connection timed out, curr state INIT, next state "
                 "RTR, remote GID ::ffff:10.0.0.9", WORDS)  # fmt: skip
    assert found is not None
    assert found.word == "modify_qp INIT RTR"
    assert "remote GID ::ffff:10.0.0.9: explain rule ah-neighbour" in found.facts[-1]
