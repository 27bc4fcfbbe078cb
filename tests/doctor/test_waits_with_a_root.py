"""A thread waits in vain, and the reason is somewhere else: it has to be named, not the wait."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor import tidying
from tests.doctor.asking import answer, chain, played, why
from tests.each import each

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
        (two_messages(f"use srq_pair {_SHORT}", receive="post_srq_recv B.srq0"), "no-rr"),
        (
            two_messages("use xrc_pair", "remote_srqn=B.srq0", receive="post_srq_recv B.srq0"),
            "no-rr",
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


# --------------------------------------------------------------------------- what the peer left
_BUILT = (
    "use rc_pair",
    "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4 "
    "max_recv_wr=4 send_ops_flags=RDMA_WRITE|SEND",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=4 max_recv_wr=4",
    "connect A.qx0 B.qp1", "post_recv B.qp1 wr_id=4 sg=B.mr0[512:576]",
    r'write A.mr0[0:1] "\x01"',
    "program A.tx lines={{wr_start A.qx0; wr_set A.qx0 wr_id=5 wr_flags=SIGNALED; {0}; "
    "wr_set_sge A.qx0 sg=A.mr0[0:1]}}", "program B.rx lines={{{1}}}", "run 300us",
)  # fmt: skip


@pytest.mark.parametrize(
    ("build", "wait"),
    [("wr_send A.qx0", "poll B.cq0"),
     ("wr_rdma_write A.qx0 remote=B.mr0[100]", "wait B.mr0[100] == 1")],
)  # fmt: skip
@pytest.mark.parametrize("question", ["", "B.rx"])
def test_what_the_peer_built_and_never_posted_is_the_root(
    build: str, wait: str, question: str
) -> None:
    *first, tx, rx, run = _BUILT
    report = why(played(*first, tx.format(build), rx.format("", wait), run), question)
    assert (report.slug, report.outcome.kind) == ("region-not-completed", Status.NEVER)
    assert report.remedy is not None
    assert report.remedy.works


@pytest.mark.parametrize("question", ["", "A.tx"])
def test_a_message_that_a_peer_left_unread_when_it_ended_is_the_root(question: str) -> None:
    lab = played(
        "use rc_pair", "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}",
        "post_recv A.qp0 wr_id=11 sg=A.mr0[600:664]",
        "program A.tx lines={loop 2; post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:8] "
        "flags=SIGNALED; poll A.cq0; end; poll A.cq0}", "program B.rx lines={poll B.cq0}",
        "run 1ms",
    )  # fmt: skip
    report = why(lab, question)
    assert (report.slug, report.outcome.kind) == ("thread-stopped", Status.NEVER)
    assert "B.rx has ended" in report.text
    assert "1 message for B.qp0 unread on B.cq0" in report.text


_AT_B = "remote_qpn=B.qp0 remote_qkey=0x11111111 flags=SIGNALED"
_UD_AS_RC = ("create_qp A.qp1 pd=A.pd0 qp_type=UD send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=8",
             "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
             f"post_send A.qp1 wr_id=3 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 {_AT_B}")  # fmt: skip
_NO_AH = (f"post_send A.qp0 wr_id=4 opcode=SEND sg=A.mr0[0:8] ah=NULL {_AT_B}",)
_NO_OPCODE = ("post_send A.qp0 wr_id=4 opcode=77 sg=A.mr0[0:8] flags=SIGNALED",)


@pytest.mark.parametrize("asked", ["B.rx", "B.qp0.recv_wr[1]", ""])
@pytest.mark.parametrize(
    ("use", "calls", "slug"),
    [("ud_pair", _UD_AS_RC, "bring-up-attr"), ("ud_pair", _NO_AH, "segfault-class"),
     ("rc_pair", _NO_OPCODE, "opcode-unknown")],
)  # fmt: skip
def test_a_refused_post_of_the_peer_is_why_no_message_comes(
    use: str, calls: tuple[str, ...], slug: str, asked: str
) -> None:
    lab = played(f"use {use}", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
                 "program B.rx lines={poll B.cq0}", *calls, "run 1ms")  # fmt: skip
    report = why(lab, asked)
    assert report.slug == slug
    assert report.is_trouble
    assert report.outcome.kind in (Status.NEVER, Status.REFUSED)


@pytest.mark.parametrize("asked", ["A.tx", ""])
def test_not_posted_of_a_request_after_a_null_next(asked: str) -> None:
    write = "opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]"
    lab = played(
        "use rc_pair", f"post_send A.qp0 wr_id=9 {write} flags=SIGNALED", "run", "poll_cq A.cq0",
        f"program A.tx lines={{post_send A.qp0 wr={{wr_id=1 {write} next=0}} "
        f"wr={{wr_id=2 {write} flags=SIGNALED}}; poll A.cq0}}", "run 1ms",
    )  # fmt: skip
    report = why(lab, asked)
    assert report.slug == "not-posted"
    assert "wr2 follows wr1, whose next is NULL" in report.causes[0].finding.evidence[0].text


_TO_GROUP = "ah=A.ah1 remote_qpn=0xffffff remote_qkey=0x11111111"
_COPIED = ("fault duplicate A->B nth=1", 'write A.mr0[0:6] "onetwo"',
           "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:104]} wr={wr_id=2 sg=B.mr0[104:208]}",
           'program B.rx lines={poll B.cq0; poll B.cq0; wait B.mr0[144:147] == "two"}',
           *(f"post_send A.qp0 wr_id={4 + n} opcode=SEND sg=A.mr0[{3 * n}:{3 * n + 3}] {_TO_B} "
             "flags=SIGNALED" for n in (0, 1)), "run 1ms")  # fmt: skip
_OWN_DATAGRAM = (
    *(f"attach_mcast {node}.qp0 gid=224.0.0.9" for node in "AB"),
    "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=224.0.0.9 sgid_index=1 hop_limit=1 port_num=1",
    "post_recv A.qp0 wr_id=1 sg=A.mr0[512:616]", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
    "program B.srv lines={poll B.cq0; post_send B.qp0 wr_id=8 opcode=SEND sg=B.mr0[200:204] "
    "ah=B.ah0 remote_qpn=A.qp0 remote_qkey=0x11111111}",
    f"program A.cli lines={{post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:4] {_TO_GROUP}; "
    'poll A.cq0; wait A.mr0[552:556] == "here"}', "run 1ms",
)  # fmt: skip


@pytest.mark.parametrize("pointed", [True, False])
@pytest.mark.parametrize(
    ("session", "waits", "text"),
    [(_COPIED, "B.rx", "a copy of A.qp0.wr[4], which fault 1 made"),
     (_OWN_DATAGRAM, "A.cli", "its own datagram A.qp0.wr[3]: it is in the group")],
)  # fmt: skip
def test_no_rr_of_a_datagram_whose_receive_a_copy_or_an_own_datagram_took(
    session: tuple[str, ...], waits: str, text: str, pointed: bool
) -> None:
    lab = played("use ud_pair", *session)
    for line in ("run", f"stop {waits}"):
        report = why(lab, waits if pointed else "")
        assert [cause.check.slug for cause in report.causes] == ["no-rr"]
        found = report.causes[0].finding.evidence[0].text
        assert found == f"{waits[0]}.qp0 consumed its last receive for {text}"
        lab.do(line)


@pytest.mark.parametrize("asked", ["", "B.rx"])
def test_same_buffer_twice_of_a_wait_for_the_bytes_of_the_second_message(asked: str) -> None:
    sends = (f"post_send A.qp0 wr_id={5 + n} opcode=SEND sg=A.mr0[{3 * n}:{3 * n + 3}] "
             "flags=SIGNALED" for n in (0, 1))  # fmt: skip
    lab = played("use rc_pair", 'write A.mr0[0:6] "onetwo"',
                 "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
                 "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}",
                 "program B.rx lines={sleep 20us; poll B.cq0; poll B.cq0; "
                 'wait B.mr0[64:67] == "two"}',
                 *sends, "run 1ms")  # fmt: skip
    report = why(lab, asked)
    assert [cause.check.slug for cause in report.causes] == ["same-buffer-twice"]


_FILL = "post_srq_recv B.srq0 wr_id=5 sg=B.mr0[1024:1088]"
_LIMITED = (
    "use srq_pair", *[_FILL] * 4, "modify_srq B.srq0 srq_limit=2",
    "program B.refill lines={loop; get_async_event B; ack_async_event B; "
    f"{_FILL}; {_FILL}; ARM end}}",
    "program B.rx lines={loop; poll B.cq0; end}",
    "program A.tx lines={loop 9; post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; "
    "poll A.cq0; sleep 2us; end}", "run 1ms",
)  # fmt: skip


def limited(*more: str) -> Lab:
    """Nine messages, and a thread that posts two receives for each event of the limit."""
    return played(*(line.replace("ARM ", "".join(more)) for line in _LIMITED))


@pytest.mark.parametrize("asked", ["", "A.tx", "B.refill", "A.qp0.wr[1]"])
def test_a_limit_that_was_not_armed_again_is_the_root_of_retries_without_limit(asked: str) -> None:
    report = why(limited(), asked)
    assert report.slug == "srq-empty-limit"
    assert "no modify_srq armed it again" in report.causes[0].finding.evidence[0].text
    assert report.outcome.kind is Status.NEVER
    assert report.remedy is not None
    assert report.remedy.works
    assert report.remedy.cure.lines[-1] == "modify_srq B.srq0 srq_limit=2"


def test_the_fix_of_the_past_arms_the_limit_again() -> None:
    lab = limited()
    for line in ("stop A.tx", "stop B.rx", "stop B.refill", "destroy_qp A.qp0", "destroy_qp B.qp0"):
        lab.do(line)
    report = why(lab)
    assert report.slug == "srq-empty-limit"
    assert report.remedy is not None
    assert "works: modify_srq B.srq0 srq_limit=2" in report.remedy.cure.program


def test_a_thread_that_waits_for_an_event_of_an_armed_limit_is_well() -> None:
    lab = limited("modify_srq B.srq0 srq_limit=2; ")
    assert lab.look("A.cq0.total") == 9
    assert [why(lab, asked).causes for asked in ("", "B.refill", "B.rx")] == [[], [], []]


_TWO_QUEUES = (
    "use rc_pair", "create_cq A.rcq cqe=16", "create_cq B.rcq cqe=16",
    "create_qp A.q pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.rcq",
    "create_qp B.q pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.rcq", "connect A.q B.q",
)  # fmt: skip
_ECHO = ("post_recv B.q wr_id=1 sg=B.mr0[0:64]; poll B.cq0; "
         "post_send B.q wr_id=2 opcode=SEND sg=B.mr0[0:64] flags=SIGNALED")  # fmt: skip
_CALLER = ("program A.client lines={sleep 1us; post_recv A.q wr_id=1 sg=A.mr0[64:128]; "
           "post_send A.q wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED; "
           "poll A.cq0; poll A.rcq}")  # fmt: skip


@each(
    "tried", ["", "try post_send B.q opcode=RDMA_READ sg=B.mr0[0:8] remote=A.mr0[0] flags=INLINE; "]
)
@each("question", ["why", "why A.client", "why B.echo"])
def test_a_refusal_that_a_program_tolerates_is_no_message_and_no_completion(
    tried: str, question: str
) -> None:
    lab = played(*_TWO_QUEUES, f"program B.echo lines={{{tried}{_ECHO}}}", _CALLER, "run 100us")
    assert answer(lab, question).slug == "wrong-cq"
