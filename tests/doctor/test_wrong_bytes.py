"""Bytes that came with SUCCESS and are not those that were meant: what is known of their way."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all

_ON_OTHER_QP = (
    "use srq_pair", "link rate=1Gbps", 'write A.mr0[0:4] "tail"',
    "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[2048:4096],A.mr0[0:4] remote=B.mr0[0] "
    "flags=SIGNALED",
    "post_send A.qp1 wr_id=2 opcode=RDMA_READ sg=A.mr0[16:20] remote=B.mr0[2048] flags=SIGNALED",
    "run", "poll_cq A.cq0 num_entries=2",
)  # fmt: skip
_TOO_SOON = (
    "use rc_pair",
    "program B.owner lines={sleep 4us; write B.mr0[8:9] 1; sleep 2us; write B.mr0[0:4] \"full\"}",
    "post_send A.qp0 wr_id=3 opcode=RDMA_READ sg=A.mr0[64:80] remote=B.mr0[0] flags=SIGNALED",
    "run", "poll_cq A.cq0",
)  # fmt: skip
_ECHO = (
    "use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]",
    "post_recv A.qp0 wr_id=2 sg=A.mr0[256:264]", "post_recv A.qp0 wr_id=3 sg=A.mr0[264:272]",
    'write A.mr0[0:4] "ping"', 'write A.mr0[8:12] "pong"',
    "program B.echo lines={loop 2; poll B.cq0; post_recv B.qp0 wr_id=4 sg=B.mr0[0:8]; sleep 9us; "
    "post_send B.qp0 wr_id=5 opcode=SEND sg=B.mr0[0:8]; end}",
    "program A.client lines={post_send A.qp0 wr_id=6 opcode=SEND sg=A.mr0[0:8]; sleep 5us; "
    "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[8:16]; poll A.cq0; poll A.cq0}", "run 1ms",
)  # fmt: skip


@pytest.mark.parametrize("tidy", [False, True])
def test_a_read_on_another_queue_pair_fetched_bytes_before_a_write_brought_them(tidy: bool) -> None:
    lab = played(*_ON_OTHER_QP)
    if tidy:
        destroy_all(lab.session)
    report = why(lab, "A.mr0[16:20]")
    assert (report.slug, report.is_trouble) == ("cross-qp-order", True)
    assert "A.qp0.wr[1] wrote B.mr0[2048:2052] after A.qp1.wr[2] had read them" in report.text


@pytest.mark.parametrize("tidy", [False, True])
def test_the_owner_wrote_the_bytes_of_a_read_after_its_answer(tidy: bool) -> None:
    lab = played(*_TOO_SOON)
    if tidy:
        destroy_all(lab.session)
    report = why(lab, "A.mr0[64:68]")
    assert "B.owner wrote B.mr0[0:4]" in report.text
    assert "A.qp0.wr[3] had read them before" in report.text
    assert not why(lab).is_trouble


@pytest.mark.parametrize("tidy", [False, True])
def test_a_reply_sent_bytes_that_the_next_request_had_replaced(tidy: bool) -> None:
    lab = played(*_ECHO)
    assert lab.look("A.mr0[256:260]") == b"pong"
    if tidy:
        destroy_all(lab.session)
    report = why(lab, "A.mr0[256:260]")
    assert (report.slug, report.is_trouble) == ("overwritten-unread", True)
    assert "A.qp0.wr[7] wrote over what " in report.text
    assert why(lab, "A.mr0[264:268]").slug != "overwritten-unread"


def test_bytes_that_an_atomic_changed_name_it_and_the_word_that_it_wrote() -> None:
    lab = played(
        "use rc_pair", "fill B.mr0[128:132] 0xff", "write B.mr0[132:133] 5",
        "post_send A.qp0 wr_id=9 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[128] "
        "compare_add=3 flags=SIGNALED", "run", "poll_cq A.cq0",
    )  # fmt: skip
    report = why(lab, "B.mr0[132:133]")
    assert "A.qp0.wr[9] ATOMIC_FETCH_AND_ADD wrote B.mr0[128:136]" in report.text


def test_bytes_that_came_name_the_request_that_wrote_them() -> None:
    lab = played("use rc_pair", "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:64] "
                 "remote=B.mr0[0] flags=SIGNALED", "run", "poll_cq A.cq0")  # fmt: skip
    report = why(lab, "B.mr0[16:20]")
    assert report.outcome.kind is Status.WELL
    assert "A.qp0.wr[4] RDMA_WRITE wrote B.mr0[0:64]" in report.text


_BAD_LKEY = (
    "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg={addr=0x10000100 length=4 lkey=0x326} "
    "remote=B.mr0[256] flags=SIGNALED"
)
_BAD_RKEY = (
    "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[256:260] remote_addr=0x20000100 "
    "rkey=0xbad flags=SIGNALED"
)
_SHORT = "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[256:356] flags=SIGNALED"
_AGAIN = ("run 100us", "poll_cq A.cq0", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
_WRITE = (
    "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[256:260] remote=B.mr0[{}] flags=SIGNALED"
)


@pytest.mark.parametrize("wr_id", [3, 4])
@pytest.mark.parametrize("mistake", [_BAD_LKEY, _BAD_RKEY, _SHORT])
@pytest.mark.parametrize("tidy", [False, True])
def test_bytes_that_a_later_request_brought_are_well(mistake: str, wr_id: int, tidy: bool) -> None:
    lab = played("use rc_pair", 'write A.mr0[256:260] "good"', "post_recv B.qp0 wr_id=1 "
                 "sg=B.mr0[256:260]", mistake, *_AGAIN, _WRITE.format(wr_id, 256), "run 100us",
                 "poll_cq A.cq0")  # fmt: skip
    if tidy:
        destroy_all(lab.session)
    report = why(lab, "B.mr0[256:260]")
    assert (report.outcome.kind is Status.WELL, report.causes, report.remedy) == (True, [], None)


def test_bytes_of_which_a_later_request_brought_a_part_name_the_failure() -> None:
    lab = played("use rc_pair", _BAD_RKEY, *_AGAIN, _WRITE.format(4, 258), "run 100us")
    assert why(lab, "B.mr0[256:260]").slug == "rem-access"


_SENT_ON = (
    "post_send B.qp0 wr_id={} opcode=RDMA_WRITE sg=B.mr0[0:64] remote=A.mr0[{}] flags=SIGNALED; "
    "poll B.cq0"
)
_FLAG_FIRST = (
    "use rc_pair", "link rate=100Mbps", "fill A.mr0[0:64] 1", "fill A.mr0[100:101] 1",
    "program A.tx lines={post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[100:101] "
    "remote=B.mr0[512]; post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:64] "
    "remote=B.mr0[0] flags=SIGNALED; poll A.cq0}",
)  # fmt: skip
_WAITS = f"wait B.mr0[512] == 1; {_SENT_ON.format(2, 2048)}"


@pytest.mark.parametrize("lines", [
    f"loop; {_WAITS}; fill B.mr0[512:513] 0; end", f"{_WAITS}; {_SENT_ON.format(3, 2560)}",
])  # fmt: skip
def test_bytes_that_were_sent_on_too_early_are_wrong_without_a_question_too(lines: str) -> None:
    lab = played(*_FLAG_FIRST, f"program B.user lines={{{lines}}}", "run 1ms")
    for asked in ("", "A.mr0[2048:2112]"):
        report = why(lab, asked)
        assert (report.slug, report.is_trouble) == ("read-before-complete", True)
        assert "A.mr0[2048:2112]" in report.name


@pytest.mark.parametrize("polls", [(), ("poll_cq B.cq0",)])
def test_second_receive_on_bytes_of_an_unpolled_one(polls: tuple[str, ...]) -> None:
    """Calls of another node in between are no reading of the first message."""
    posts = ("post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "post_recv B.qp0 wr_id=2 sg=B.mr0[32:96]")
    send = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[{}:{}] flags=SIGNALED"
    lab = played("use rc_pair", "fill A.mr0[0:64] 7", *posts, send.format(1, 0, 64), "run", *polls,
                 send.format(2, 64, 128), "run", "poll_cq B.cq0 num_entries=2")  # fmt: skip
    report = why(lab)
    assert report.is_trouble is not bool(polls)
    assert polls or report.slug == "same-buffer-twice"


def test_a_flag_on_another_queue_pair_is_named_where_it_came_before_its_data() -> None:
    user = ("program B.user lines={wait B.mr0[3000] == 1; if B.mr0[2047] == 1; "
            "fill B.mr0[3500:3501] 1; end}")  # fmt: skip
    lab = played(
        "use srq_pair", "link rate=1Gbps", "fill A.mr0[0:2048] 1", user,
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:2048] remote=B.mr0[0] flags=SIGNALED",
        "post_send A.qp1 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[3000] flags=SIGNALED",
        "run",
    )  # fmt: skip
    report = why(lab)
    assert (report.slug, report.is_trouble) == ("read-before-complete", True)
    assert "A.qp1.wr[2] was posted after A.qp0.wr[1], on another queue pair" in report.text
