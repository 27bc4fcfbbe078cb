"""A fix works if the missed request completes, all programs end, and nothing is lost."""

import pytest

from rdmalab.lab import Lab
from tests.doctor.asking import played, why
from tests.labs import lab_of

_BRING_UP = (
    "use rc_pair", "modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET",
    *(f"modify_qp {n}.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE"
      for n in "AB"),
    "modify_qp A.qp0 state=RTR path_mtu=1024 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 ah=B",
    "modify_qp B.qp0 state=RTR path_mtu=1024 dest_qp_num=A.qp0 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=A",
    "modify_qp B.qp0 state=RTS timeout=6 retry_cnt=2 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
)  # fmt: skip
_TICK = "post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[64]"
_UNSIGNALED = f"program A.tx lines={{loop 20; {_TICK}; sleep 5us; end}}"
_REAPER = "program A.reaper lines={poll A.cq0; destroy_cq A.cq0; loop; poll A.cq0; end}"
_SIGNALED = f"program A.tx lines={{loop 6; {_TICK} flags=SIGNALED; sleep 4us; end}}"
_READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"
_FENCED = (
    "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[64] flags=SIGNALED|FENCE"
)


def _applied(lab: Lab) -> Lab:
    for line in ("apply", "run 1ms"):
        lab.do(line)
    return lab


def test_the_fix_of_a_refused_bring_up_posts_the_refused_send_too() -> None:
    lab = played(*_BRING_UP)
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.lines[-1] == _BRING_UP[-1]
    assert _applied(lab).look("A.cq0.total(wr_id=1, status=SUCCESS)") == 1


@pytest.mark.parametrize("asked", ["", "ENOMEM"])
def test_no_fix_works_for_a_program_that_stays_failed(asked: str) -> None:
    unsignaled = played("use rc_pair max_send_wr=8", _UNSIGNALED, "run")
    remedy = why(unsignaled, asked).remedy
    assert remedy is not None
    assert not remedy.works
    assert "post every few requests one with IBV_SEND_SIGNALED" in remedy.cure.program
    remedy = why(played("use rc_pair max_send_wr=2", _REAPER, _SIGNALED, "run 300us"), "").remedy
    assert remedy is not None
    assert not remedy.works
    assert "has failed in line" in remedy.failure


def test_a_send_that_the_fix_discards_is_posted_again() -> None:
    lab = played("use rc_pair timeout=0", "fault drop B->A nth=1", _READ, _FENCED, "run")
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    _applied(lab)
    assert lab.look("A.cq0.total(wr_id=2, status=SUCCESS)") == 1


def test_a_message_that_the_fix_discards_is_named() -> None:
    sent = _FENCED.replace("RDMA_WRITE", "SEND").replace(" remote=B.mr0[64]", "")
    lab = played("use rc_pair timeout=0", "fault drop B->A nth=1",
                 "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", _READ, sent, "run")  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert "sends that it does not post again: wr2" in remedy.cure.note


_EXECUTED = ("use rc_pair timeout=8 retry_cnt=1", "fault drop B->A",
             "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]")  # fmt: skip
_ADD = ("post_send A.qp0 wr_id=1 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[0] "
        "compare_add=1 flags=SIGNALED")  # fmt: skip
_MESSAGE = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"


@pytest.mark.parametrize("send", [
    _ADD, _MESSAGE, _MESSAGE.replace(" sg=A.mr0[0:8]", ""),
    _MESSAGE.replace("SEND ", "RDMA_WRITE_WITH_IMM remote=B.mr0[0] "),
])  # fmt: skip
def test_a_fix_that_repeats_what_the_peer_has_executed_says_so(send: str) -> None:
    lab = played(*_EXECUTED, send, "run")
    remedy = why(lab, "").remedy
    assert remedy is not None
    assert not remedy.works
    assert remedy.ends.startswith("A.qp0.wr[1] is carried out twice, first in event ")


def test_an_atomic_whose_completion_an_overrun_lost_is_carried_out_twice() -> None:
    write = "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[8] flags=SIGNALED"
    remedy = why(played("use rc_pair cqe=1", write, _ADD, "run")).remedy
    assert remedy is not None
    assert not remedy.works
    assert remedy.ends.startswith("A.qp0.wr[1] is carried out twice, first in event ")


@pytest.mark.parametrize("send", [_READ, _READ.replace("READ", "WRITE")])
def test_a_read_or_write_may_be_repeated(send: str) -> None:
    remedy = why(played(*_EXECUTED, send, "run")).remedy
    assert remedy is not None
    assert remedy.works


def test_an_atomic_that_was_lost_on_the_way_was_not_executed() -> None:
    lab = played("use rc_pair timeout=8 retry_cnt=1", "fault drop A->B", _ADD, "run")
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    assert _applied(lab).look("B.mr0[0] == 1") is True


def test_a_fix_takes_no_region_away_from_another_connection() -> None:
    write = _READ.replace("READ", "WRITE")
    other = write.replace("A.qp0", "A.qp1").replace("A.mr0", "A.mr1")
    lab = played("use rc_pair", "use rc_pair", other, "run")
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    lab = _applied(lab)
    for line in (write, "run"):
        lab.do(line)
    assert lab.look("A.cq0.total(status=SUCCESS)") == 1
    assert lab.look("A.cq1.total(status=SUCCESS)") == 1


def test_a_region_of_a_domain_without_queues_changes_its_domain() -> None:
    lab = played("use rc_pair", "alloc_pd B.pd1", "reg_mr B.mr1 pd=B.pd1 length=64 "
                 "access=LOCAL_WRITE|REMOTE_WRITE",
                 _READ.replace("READ", "WRITE").replace("B.mr0", "B.mr1"), "run")  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.lines[0] == "rereg_mr B.mr1 flags=CHANGE_PD pd=B.pd0"


def test_a_fix_that_sends_what_was_written_since_says_so() -> None:
    lab = played("use rc_pair", 'write A.mr0[0:4] "one."',
                 "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4] remote_addr=B.mr0[0]"
                 " rkey=0x5 flags=SIGNALED", "run", "poll_cq A.cq0",
                 'write A.mr0[0:4] "two."')  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.ends == "it sends what was written to A.mr0[0:4] only in event 21"


def test_a_fix_after_which_a_receive_fails_does_not_work() -> None:
    lab = played(
        "use ud_pair", "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=224.1.2.9 sgid_index=1"
        " hop_limit=1 port_num=1", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
        "post_send A.qp0 wr_id=4 opcode=SEND sg=A.mr0[0:64] ah=A.ah1 remote_qpn=0xffffff"
        " remote_qkey=0x11111111 flags=SIGNALED", "run", "poll_cq A.cq0",
    )  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.ends == "B.qp0.recv_wr[1] then ends with LOC_LEN_ERR"


def test_a_thread_that_only_a_flush_of_the_fix_frees_is_not_helped() -> None:
    lab = played(
        "use rc_pair", "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0", "connect A.qp1 B.qp1",
        "program A.t0 lines={sleep 3us; post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8]"
        " remote=B.mr0[0] flags=SIGNALED; poll A.cq0}",
        "program A.t1 lines={sleep 1us; post_send A.qp1 wr_id=2 opcode=RDMA_READ sg=A.mr0[64:128]"
        " remote_addr=B.mr0[0] rkey=0x77 flags=SIGNALED; sleep 15us; poll A.cq0; poll A.cq0}",
        "run 200us",
    )  # fmt: skip
    remedy = why(lab, "A.t1").remedy
    assert remedy is not None
    assert not remedy.works
    assert remedy.ends == "A.qp1.wr[2] then ends with WR_FLUSH_ERR"


def test_a_fix_after_which_the_next_message_finds_no_receive_ends_the_wait_only() -> None:
    send = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:4] flags=SIGNALED; poll A.cq0"
    tx = "; ".join(["sleep 1us", *map(send.format, (1, 2))])
    lab = played("use rc_pair", "program B.rx lines={poll B.cq0; poll B.cq0}",
                 f"program A.tx lines={{{tx}}}", "run 3ms")  # fmt: skip
    for question in ("", "B.rx"):
        remedy = why(lab, question).remedy
        assert remedy is not None
        assert not remedy.works
        assert remedy.ends == "A.qp0.wr[2] then finds no receive"


def test_a_uc_message_that_was_lost_is_not_sent_twice_by_its_fix() -> None:
    two = "wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}"
    send = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:4] flags=SIGNALED; poll A.cq0"
    threads = (
        "program B.rx lines={loop 2; poll B.cq0; end}",
        (f"program A.tx lines={{{send.format(5)}; sleep 9us; {send.format(6)}}}"),
    )
    lines = "use uc_pair", f"post_recv B.qp0 {two}", *threads, "run 1ms"
    report = why(played(lines[0], "fault drop A->B nth=1", *lines[1:]))
    assert report.slug == "uc-loss"
    assert report.remedy is not None
    assert report.remedy.works
    lab = played(lines[0], "fault duplicate A->B nth=1", *lines[1:])  # UC carries out a copy, too
    assert lab.look("B.cq0.total == 2")
    assert not why(lab).is_trouble or why(lab).slug == "no-rr"


def test_receives_that_a_reset_of_the_fix_discards_are_posted_again() -> None:
    receives = [f"post_recv B.qp0 wr_id={n} sg=B.mr0[{start}:{start + 8}]"
                for n, start in ((7, 0), (7, 0), (8, 8))]  # fmt: skip
    up = (_BRING_UP[1], _BRING_UP[3], f"{_BRING_UP[5]} min_rnr_timer=12".replace("B.qp0", "0x99"),
          _BRING_UP[7].replace("B.qp0", "A.qp0"))  # fmt: skip
    lab = played("use rc_pair", *up, *receives, _READ.replace("READ", "WRITE"), "run")
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.works
    assert [line for line in remedy.cure.lines if line.startswith("post_recv")] == receives
    assert _applied(lab).look("B.qp0.rq.used") == 3


def test_a_fix_names_the_send_of_the_peer_that_its_reset_discards() -> None:
    back = "post_send B.qp0 wr_id=5 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0[0] flags=SIGNALED"
    lab = played("use rc_pair rnr_retry=0", "fault drop B->A nth=1", back, _MESSAGE, "run 1ms")
    remedy = why(lab, "A.qp0.wr[1]").remedy
    assert remedy is not None
    assert remedy.cure.note == "sends that it does not post again: B.qp0.wr[5]"


_TWICE = ("use rc_pair rnr_retry=0", *(_MESSAGE.replace("=1 ", f"={n} ") for n in (1, 2, 3)), "run")
_TIDIED = ("modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET")
_LIST = ("post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:9],B.mr0[9:10],"
         "B.mr0[10:11],B.mr0[11:12],B.mr0[12:16]} wr={wr_id=3 sg=B.mr0[16:24]}")  # fmt: skip


def test_a_fix_names_the_flushed_sends_after_a_reset_as_before() -> None:
    notes = [remedy.cure.note for lines in (_TWICE, (*_TWICE, *_TIDIED))
             if (remedy := why(played(*lines), "A.qp0.wr[1]").remedy) is not None]  # fmt: skip
    assert notes == ["sends that it does not post again: wr2, wr3"] * 2
    again = (*_TIDIED, "connect A.qp0 B.qp0", "post_recv B.qp0 wr_id=9 sg=B.mr0[0:8]", _MESSAGE)
    remedy = why(played(*_TWICE, *again, "run"), "A.qp0").remedy
    assert remedy is None or not remedy.cure.note


@pytest.mark.parametrize("tidied", [(), _TIDIED])
def test_the_fix_of_a_refused_list_posts_it_after_its_reset(tidied: tuple[str, ...]) -> None:
    lab = played(_TWICE[0], _LIST, *_TWICE[1:], *tidied)
    remedy = why(lab, "A.qp0").remedy
    assert remedy is not None
    assert remedy.works
    verbs = [line.split()[0] for line in remedy.cure.lines]
    assert verbs == ["modify_qp", "modify_qp", "connect", "post_recv", "post_send", "post_send"]
    for line in ("apply A.qp0", "run"):
        lab.do(line)
    assert lab.look("B.cq0.total(status=SUCCESS)") == 3


_TO = "opcode=SEND ah={0}.ah0 remote_qpn={1}.qp0 remote_qkey=0x11111111 flags=SIGNALED"
_SHORT_OF_A_DATAGRAM = (
    "use ud_pair",
    "program B.server lines={post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]; poll B.cq0; post_send B.qp0 "
    f"wr_id=2 sg=B.mr0[0:64] {_TO.format('B', 'A')}}}",
    "program A.client lines={sleep 2us; post_recv A.qp0 wr_id=3 sg=A.mr0[0:104]; post_send A.qp0 "
    f"wr_id=1 sg=A.mr0[128:192] {_TO.format('A', 'B')}; poll A.cq0; poll A.cq0}}",
    "run 100us",
)  # fmt: skip


@pytest.mark.parametrize("asked", ["", "B.qp0.recv_wr[1]", "A.client"])
def test_a_repeated_datagram_whose_completion_ends_the_poll_for_the_reply_is_no_cure(
    asked: str,
) -> None:
    lab = played(*_SHORT_OF_A_DATAGRAM)
    remedy = why(lab, asked).remedy
    assert remedy is not None
    assert not remedy.works
    _applied(lab)  # the client has ended, and its reply has not come
    assert lab.look("A.client.state == DONE and A.qp0.rq.used == 1")


_SUCCESSOR = (
    "use rc_pair timeout=10 retry_cnt=3", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run 1ms",
    "poll_cq A.cq0", "poll_cq B.cq0", "destroy_qp B.qp0",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0",
    "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
    "post_recv B.qp1 wr_id=2 sg=B.mr0[64:128]",
    "modify_qp B.qp1 state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn={} max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=A",
    "modify_qp B.qp1 state=RTS timeout=10 retry_cnt=3 rnr_retry=7 sq_psn={} max_rd_atomic=1",
    "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run 100ms",
    "poll_cq A.cq0",
)  # fmt: skip


@pytest.mark.parametrize(("rq_psn", "sq_psn"), [(0, 0), (1, 0), (0, 7), (0x1000, 3)])
def test_one_end_alone_begins_with_the_packet_numbers_of_the_other(
    rq_psn: int, sq_psn: int
) -> None:
    lines = [line.format(rq_psn if "rq_psn" in line else sq_psn) for line in _SUCCESSOR]
    lab = _applied(played(*lines))
    assert [cqe.wr_id for cqe in lab.do("poll_cq B.cq0")[-1].value] == [2]
    assert not why(lab).is_trouble


def test_one_end_alone_takes_what_the_other_still_sends_again() -> None:
    up = "modify_qp B.qp1 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1"
    lines = [line.format(1) if "rq_psn" in line else line for line in _SUCCESSOR]
    lines[next(n for n, line in enumerate(lines) if "state=RTS" in line)] = up
    lab = played(
        *lines, "write B.mr0[512:515] abc", "post_send B.qp1 wr_id=5 opcode=RDMA_WRITE "
        "sg=B.mr0[512:520] remote=A.mr0[512] flags=SIGNALED", "run 1ms",
    )  # fmt: skip
    remedy = why(lab, "A.qp0.wr[2]").remedy
    assert remedy is not None
    assert remedy.works
    for line in ("apply A.qp0.wr[2]", "run 900ms"):
        lab.do(line)
    assert lab.look("A.mr0[512:515]") == b"abc"


_OVERRUN = (
    *(f"{line.format(n)}" for n in "AB" for line in (
        "alloc_pd {0}.pd0", "create_cq {0}.cq0 cqe=4",
        "reg_mr {0}.mr0 pd={0}.pd0 length=8192 access=LOCAL_WRITE|REMOTE_WRITE",
        "create_qp {0}.qp0 pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0",
        "create_qp {0}.qp1 pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0",
    )),
    "connect A.qp0 B.qp0", "connect A.qp1 B.qp1",
    "program A.bulk lines={loop 8; post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] "
    "remote=B.mr0[0] flags=SIGNALED; end; sleep 100us; poll A.cq0}",
    "program A.ctl lines={sleep 50us; post_send A.qp1 wr_id=77 opcode=RDMA_WRITE "
    "sg=A.mr0[64:72] remote=B.mr0[64] flags=SIGNALED}", "run 10ms",
)  # fmt: skip


@pytest.mark.parametrize("asked", ["", "A.qp1.wr[77]"])
def test_a_fix_posts_again_what_was_flushed_on_all_queue_pairs_that_it_makes_again(
    asked: str,
) -> None:
    lab = played(*_OVERRUN)
    for line in (f"apply {asked}", "run 1ms"):
        lab.do(line)
    polled = lab.do("poll_cq A.cq0 num_entries=16")[-1].value
    assert sorted(cqe.wr_id for cqe in polled) == [1, 1, 1, 77]
    assert not why(lab).is_trouble


def test_of_a_region_that_was_taken_while_a_receive_was_missing_both_are_named() -> None:
    lab = played(
        "use rc_pair", "program A.tx lines={post_send A.qp0 wr_id=1 opcode=RDMA_WRITE_WITH_IMM "
        "sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED; sleep 100us; dereg_mr A.mr0; poll A.cq0}",
        "run 8ms",
    )  # fmt: skip
    for question in ("", "A.qp0.wr[1]"):
        report = why(lab, question)
        assert report.slug == "dereg-early"
        assert "was still under way: B.qp0 had no receive for it" in report.text
        assert report.remedy is not None
        assert report.remedy.works
        assert any(line.startswith("post_recv B.qp0") for line in report.remedy.cure.lines)


@pytest.mark.parametrize(
    "request_", ["RDMA_READ", "RDMA_WRITE", "ATOMIC_FETCH_AND_ADD compare_add=1"]
)
def test_a_right_that_queue_pair_and_region_lack_is_given_to_both(request_: str) -> None:
    lab = played("use rc_pair", "dereg_mr B.mr0",
                 "reg_mr B.mr0 pd=B.pd0 length=64 access=LOCAL_WRITE",
                 "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0 qp_access_flags=LOCAL_WRITE",
                 f"post_send A.qp0 wr_id=1 opcode={request_} sg=A.mr0[0:8] remote=B.mr0[0] "
                 "flags=SIGNALED", "run")  # fmt: skip
    for asked in ("", "A.qp0.wr[1]", "B.qp0"):
        report = why(lab, asked)
        told = " ".join(each.text for each in report.causes[0].finding.evidence)
        assert "its qp_access_flags are LOCAL_WRITE, without" in told
        assert "opens B.mr0 for LOCAL_WRITE; " in told
        assert report.remedy is not None
        assert report.remedy.works
    assert _applied(lab).look("A.cq0.total(wr_id=1, status=SUCCESS)") == 1


_SEND = "post_send {0}.qp0 wr_id={2} opcode={3} sg={0}.mr0[0:64] remote={1}.mr0[0] flags=SIGNALED"


_CLOSED = [f"rereg_mr {n}.mr0 flags=CHANGE_ACCESS access=LOCAL_WRITE" for n in "AB"]


@pytest.mark.parametrize(("pair", "before", "opcode", "slug"), [
    ("use rc_pair", _CLOSED, "RDMA_WRITE", "rem-access"),
    ("use rc_pair qp_access_flags=0", [], "RDMA_READ", "rem-inv-req"),
])  # fmt: skip
def test_two_ends_that_refuse_each_other_are_both_named(
    pair: str, before: list[str], opcode: str, slug: str
) -> None:
    """Each is in ERR before the NAK of the other comes, so that both requests are flushed."""
    sends = _SEND.format("A", "B", 1, opcode), _SEND.format("B", "A", 2, opcode)
    lab = lab_of(*before, *sends, "run", pair=pair)
    for asked in ("A.qp0.wr[1]", "B.qp0.wr[2]"):
        report = why(lab, asked)
        assert report.slug == slug
        assert "was flushed before the NAK came" in report.text
        assert report.remedy is not None
        assert report.remedy.works
    assert len(why(lab, "").causes) == 2
