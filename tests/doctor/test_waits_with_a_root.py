"""A thread waits in vain, and the reason is somewhere else: it has to be named, not the wait."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor import tidying
from tests.doctor.asking import chain, played, why

_TWO_POLLS = "program B.rx lines={poll B.cq0; poll B.cq0}"


def two_messages(use: str, to: str = "", *, receive: str = "post_recv B.qp0") -> tuple[str, ...]:
    """One receive, a thread that wants two messages, and one that sends them."""
    sent = f"opcode=SEND sg=A.mr0[0:4] flags=SIGNALED {to}"
    lines = "; ".join(f"post_send A.qp0 wr_id={n} {sent}; poll A.cq0" for n in (1, 2))
    return (use, f"{receive} wr_id=1 sg=B.mr0[0:64]", _TWO_POLLS,
            f"program A.tx lines={{{lines}}}", "run 300us")  # fmt: skip


_TO_B = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"
_SHORT = "rnr_retry=1 min_rnr_timer=1"


@pytest.mark.parametrize("asked", ["", "B.rx"])
@pytest.mark.parametrize(
    ("session", "slug"),
    [
        (two_messages(f"use rc_pair {_SHORT}"), "no-rr"),
        (two_messages("use uc_pair"), "no-rr"),
        (two_messages("use ud_pair", _TO_B), "no-rr"),
        (two_messages(f"use srq_pair {_SHORT}", receive="post_srq_recv B.srq0"), "srq-empty-limit"),
        (
            two_messages("use xrc_pair", "remote_srqn=B.srq0", receive="post_srq_recv B.srq0"),
            "rnr-infinite",
        ),
    ],
)
def test_a_message_that_found_no_receive_is_the_root_of_a_poll_in_vain(
    session: tuple[str, ...], slug: str, asked: str
) -> None:
    assert chain(played(*session), asked)[0] == slug


def test_already_polled_of_a_poll_for_more_than_was_sent() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", _TWO_POLLS,
                 "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED",
                 "run 300us")  # fmt: skip
    assert chain(lab, "B.rx") == ["already-polled"]


def test_a_thread_that_was_stopped_was_to_send_the_rest() -> None:
    lab = played(
        "use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
        "program A.tx lines={post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED; "
        "poll A.cq0; wait A.mr0[300] == 1; "
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:4] flags=SIGNALED}",
        "program B.rx lines={poll B.cq0; poll B.cq0; post_send B.qp0 wr_id=3 opcode=RDMA_WRITE "
        "sg=B.mr0[0:1] remote=A.mr0[300] flags=SIGNALED}", "run 300us", "stop A.tx", "stop B.rx",
    )  # fmt: skip
    tidying.reset(lab.session)
    assert "already-polled" not in [cause.check.slug for cause in why(lab).causes]


def test_a_message_of_which_only_the_beginning_came_is_still_expected() -> None:
    lab = played(
        "use rc_pair timeout=8 retry_cnt=2", "link rate=1Gbps",
        "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:3136]}",
        "program B.rx lines={poll B.cq0; poll B.cq0}",
        "program A.tx lines={post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; "
        "poll A.cq0; post_send A.qp0 wr_id=4 opcode=SEND sg=A.mr0[0:2048]; "
        "modify_qp A.qp0 state=ERR; destroy_qp A.qp0}", "run 200us",
    )  # fmt: skip
    ended = ("own-err", "peer-destroyed")
    assert chain(lab, "B.rx")[0] in ended
    lab.do("stop B.rx")
    assert chain(lab, "B.rx")[0] in ended
    tidying.reset(lab.session)
    assert chain(lab)[0] in ended


_WRITE = "post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"


@pytest.mark.parametrize("asked", ["", "A.tx"])
@pytest.mark.parametrize(
    "lines",
    [
        f"{_WRITE}; wait A.qp0.sq.used == 0",
        f"{_WRITE}; wait A.cq0.total == 1; wait A.qp0.sq.free == 8",
        f"{_WRITE}; loop 20; poll_cq A.cq0 num_entries=0; sleep 1us; end; wait A.qp0.sq.used == 0",
    ],
)
def test_an_unread_completion_holds_the_slot_that_a_thread_waits_for(
    lines: str, asked: str
) -> None:
    lab = played("use rc_pair", f"program A.tx lines={{{lines}}}", "run 100us")
    assert chain(lab, asked) == ["polls-missing"]
    lab.do("apply")
    assert lab.look("A.qp0.sq.used") == 0


def test_an_unread_completion_of_a_receive_holds_its_slot() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]",
                 "program B.rx lines={wait B.qp0.rq.used == 0}",
                 "post_send A.qp0 wr_id=6 opcode=SEND sg=A.mr0[0:8]", "run 100us")  # fmt: skip
    assert chain(lab, "B.rx") == ["polls-missing"]


_REFUSED = (
    "program A.tx lines={{post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:8] {}; poll A.cq0}}"
)
_REGION = "reg_mr B.{} pd=B.pd0 length=256 access=LOCAL_WRITE|REMOTE_WRITE"


def waits_for_a_refused_write(target: str, *lines: str, region: str = "B.new") -> Lab:
    """A thread that waits for a byte of a region, and a write with a wrong address or key."""
    return played("use rc_pair timeout=6 retry_cnt=1", *lines,
                  f"program B.rx lines={{wait {region}[0] == 1}}", "fill A.mr0[0:8] 1",
                  _REFUSED.format(f"{target} flags=SIGNALED"), "run 100us")  # fmt: skip


@pytest.mark.parametrize("asked", ["", "B.rx"])
def test_a_write_with_the_right_key_and_a_far_address_was_for_that_region(asked: str) -> None:
    lab = waits_for_a_refused_write("remote_addr=0x30000000 rkey=B.new", _REGION.format("new"))
    assert chain(lab, asked)[0] == "rem-access"


@pytest.mark.parametrize("asked", ["", "B.rx"])
def test_a_write_with_the_key_of_a_former_region_was_for_what_is_awaited(asked: str) -> None:
    old = (_REGION.format("old"), "dereg_mr B.old", _REGION.format("new"))
    lab = waits_for_a_refused_write("remote_addr=0x20101000 rkey=0x595", *old)
    assert chain(lab, asked)[0] == "dereg-early"


def test_a_refused_write_into_another_region_is_not_what_a_thread_waits_for() -> None:
    both = (_REGION.format("new"), _REGION.format("far"))
    lab = waits_for_a_refused_write("remote_addr=0x30000000 rkey=B.far", *both)
    assert chain(lab, "B.rx")[0] == "condition-false"


_SPIN = "loop; if B.mr0[0] == 1; stop; end; sleep 1us; end"


def spins(*lines: str, look: str = _SPIN) -> Lab:
    """A thread that looks at a byte again and again, and what others do."""
    return played("use rc_pair", f"program B.rx lines={{{look}}}", *lines, "run 200us")


@pytest.mark.parametrize("asked", ["", "B.rx"])
@pytest.mark.parametrize("look", [_SPIN, "loop; if B.mr0[0] == 1; stop; end; end"])
def test_a_loop_that_reads_a_byte_which_never_comes_hangs(look: str, asked: str) -> None:
    lab = spins(look=look)
    report = why(lab, asked)
    assert (report.slug, report.outcome.kind) == ("condition-false", Status.NEVER)
    lab.do("stop B.rx")
    assert why(lab, asked).outcome.kind is Status.NEVER


def test_a_loop_that_reads_a_byte_has_the_root_of_a_wait_for_it() -> None:
    lab = spins("fill A.mr0[0:8] 1", "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:8] "
                "remote_addr=0x20100000 rkey=0x77 flags=SIGNALED")  # fmt: skip
    assert chain(lab, "B.rx")[0] == chain(lab)[0] == "rem-access"


@pytest.mark.parametrize(
    "look",
    [
        "loop; if B.mr0[0] == 1; fill B.mr0[0:1] 0; end; sleep 1us; end",
        "loop; if B.mr0[8] == 1; fill B.mr0[8:9] 0; end; if B.mr0[0] == 1; stop; end; end",
    ],
)
def test_an_idle_server_with_a_byte_to_look_at_does_not_hang(look: str) -> None:
    lab = spins(look=look)
    assert not why(lab).is_trouble
    assert why(lab, "B.rx").outcome.kind is not Status.NEVER
    lab.do("stop B.rx")
    assert not why(lab).is_trouble
