"""The receive side, items 53 to 66: who is not to be blamed, and who takes the blame instead."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.lab import Lab
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from tests.doctor.asking import blamed, cured, evidence, findings, verdict, why
from tests.labs import RECV, SEND, lab_of, refusal, well

_RECV = "B.qp0.recv_wr[2]"
_WR = "A.qp0.wr[1]"
_READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
_WRITE = _READ.replace("RDMA_READ", "RDMA_WRITE")
_DATAGRAM = (
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED"
)
_UD_RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:104]"
_WAITS = "program B.rx lines={poll B.cq0}"


def lab_on(profile: Profile, *lines: str, pair: str) -> Lab:
    lab = Lab(profile=profile)
    for line in (pair, *lines):
        well(lab, line)
    return lab


def helps(lab: Lab, what: str) -> bool:
    """Whether there is a fix, and it works, or ends the wait."""
    remedy = why(lab, what).remedy
    return remedy is not None and remedy.helps


# --------------------------------------------------------------------------- 53, 64
def test_no_remote_send_is_a_warning_while_waiting() -> None:
    lab = lab_of(RECV, _WAITS, "run 1us")
    assert verdict(lab, _RECV, "no-remote-send") is Verdict.WARN
    assert blamed(lab, _RECV) == []
    assert why(lab, _RECV).slug == "no-remote-send"


def test_no_remote_send_after_a_read_of_the_peer() -> None:
    lab = lab_of(RECV, _WAITS, _READ, "run 50us")
    assert blamed(lab, _RECV) == ["no-remote-send"]
    assert "A.qp0 did wr1 RDMA_READ 8 B" in evidence(lab, _RECV, "no-remote-send")
    assert helps(lab, _RECV)


def test_no_remote_send_and_write_no_signal_warn_without_a_waiting_thread() -> None:
    for line, slug in ((_READ, "no-remote-send"), (_WRITE, "write-no-signal")):
        lab = lab_of(RECV, line, "run")
        assert verdict(lab, _RECV, slug) is Verdict.WARN
        assert blamed(lab, _RECV) == []
        well(lab, SEND)
        assert verdict(lab, _RECV, slug) is Verdict.OK


def test_write_no_signal_not_with_a_later_send() -> None:
    lab = lab_of(RECV, "post_recv B.qp0 wr_id=3", _WRITE, SEND, "run", _WAITS, "run 50us")
    assert verdict(lab, "B.qp0.recv_wr[3]", "write-no-signal") is Verdict.OK
    assert blamed(lab, "B.rx") == []


def test_write_no_signal_of_a_write_after_the_last_send() -> None:
    lab = lab_of("post_recv B.qp0 wr_id=9 sg=B.mr0[0:64]", SEND, "run", RECV, _WAITS,
                 "poll_cq B.cq0", _WRITE, "run 50us")  # fmt: skip
    assert blamed(lab, _RECV) == ["write-no-signal"]


def test_uc_loss_after_a_write() -> None:
    lab = lab_of("fault drop A->B nth=2", RECV, _WAITS, _WRITE, SEND.replace("=1 ", "=6 "),
                 "run 50us", pair="use uc_pair")  # fmt: skip
    assert verdict(lab, _RECV, "write-no-signal") is Verdict.OK
    assert why(lab, _RECV).slug == "uc-loss"


_CLIENT = f"program A.tx lines={{{_WRITE}; poll A.cq0}}"
_SERVES = "program B.rx lines={{loop; {}; sleep 20us; end}}"


@pytest.mark.parametrize("lines", [
    (_SERVES.format("poll_cq B.cq0"), _CLIENT),
    (RECV, _SERVES.format("poll_cq B.cq0"), _CLIENT),
    (RECV, _SERVES.format(f"poll B.cq0; {RECV}"),
     _CLIENT.replace("{", "{" + SEND + "; poll A.cq0; ")),
])  # fmt: skip
def test_a_plain_write_beside_an_idle_server_is_no_failure(lines: tuple[str, ...]) -> None:
    lab = lab_of(*lines, "run 200us")
    for asked in ("", "B.rx"):
        report = why(lab, asked)
        assert not report.is_trouble, report.text
        assert not report.causes
    assert "write-no-signal" in [cause.check.slug for cause in why(lab, "B.rx").waits]


def test_a_plain_write_to_a_server_that_blocks_for_its_first_message() -> None:
    lab = lab_of(RECV, _SERVES.format("poll B.cq0"), _CLIENT, "run 200us")
    assert why(lab).slug == why(lab, "B.rx").slug == "write-no-signal"
    assert why(lab).is_trouble


_TWO_SHARED = tuple(f"post_srq_recv B.srq0 wr_id={n} sg=B.mr0[0:64]" for n in (5, 6))
_THREE = f"program A.tx lines={{loop 3; {SEND}; poll A.cq0; end}}"


@pytest.mark.parametrize(
    ("limit", "slug"), [((), "no-rr"), (("modify_srq B.srq0 srq_limit=2",), "srq-empty-limit")]
)
def test_an_srq_that_was_not_refilled_stands_first(limit: tuple[str, ...], slug: str) -> None:
    lab = lab_of(*_TWO_SHARED, *limit, _THREE, "run 3ms", pair="use srq_pair")
    for asked in ("", "B.srq0", "A.tx"):
        report = why(lab, asked)
        assert [cause.check.slug for cause in report.causes] == [slug], asked
        assert "B.qp0 consumed the last receive of B.srq0" in report.text
        assert report.remedy is not None
        assert report.remedy.works


def test_write_no_signal_with_an_armed_cq() -> None:
    lab = lab_of("req_notify_cq B.cq0", RECV, _WRITE, "run", pair="use rc_pair channel=1")
    assert blamed(lab, _RECV) == ["write-no-signal"]
    assert "the program that armed B.cq0 waits" in evidence(lab, _RECV, "write-no-signal")


def test_write_no_signal_not_unasked() -> None:
    lab = lab_of("req_notify_cq B.cq0", RECV, _WRITE, "run", pair="use rc_pair channel=1")
    assert why(lab).slug == "well"


# --------------------------------------------------------------------------- 54 no-rr
def test_no_rr_is_the_cause_only_after_rnr_retry_exc() -> None:
    lab = lab_of(SEND, "run 10us", pair="use rc_pair rnr_retry=3 min_rnr_timer=12")
    assert findings(lab, _WR)["no-rr"].told_by == "rnr-wait"
    assert blamed(lab, _WR) == ["rnr-wait"]
    well(lab, "run")
    assert verdict(lab, _WR, "no-rr") is Verdict.FAIL
    assert helps(lab, _WR)


def test_no_rr_not_for_a_receive_after_a_later_message() -> None:
    lab = lab_of(SEND, "run", RECV, SEND.replace("=1 ", "=4 "), "run", "post_recv B.qp0 wr_id=5",
                 pair="use uc_pair")  # fmt: skip
    assert blamed(lab, _WR) == ["no-rr"]
    assert why(lab, "B.qp0.recv_wr[5]").causes == []


def test_no_rr_by_a_receive_posted_too_late() -> None:
    lab = lab_of(SEND, "run", RECV, pair="use uc_pair")
    report = why(lab, _RECV)
    assert (report.slug, report.causes[0].name) == ("no-rr", "A.qp0.wr[1]")
    assert helps(lab, _RECV)


def test_a_request_that_waits_for_a_receive_has_not_found_one() -> None:
    lab = lab_of(SEND, "run 1ms")
    text = lab.do(f"checklist no-receive {_WR}")[-1].value.text
    assert "in all: 1 FAIL" in text
    assert "FAIL no-rr" in text
    report = why(lab, _WR)
    assert [cause.check.slug for cause in report.causes] == ["rnr-infinite"]
    assert not {"no-rr", "rnr-wait"} & {*report.ruled_out}


@pytest.mark.parametrize(("retries", "profile", "said"), [
    (0, STRICT, ""),
    (1, STRICT, "each further try came 10 us later: min_rnr_timer=1 of B.qp0"),
    (1, RXE, "each further try came 4 ms later: min_rnr_timer=1 of B.qp0 asks for 10 us, and "
             "timers tick every 4 ms"),
])  # fmt: skip
def test_the_wait_before_a_further_try_is_that_of_the_device(
    retries: int, profile: Profile, said: str
) -> None:
    lab = lab_on(profile, SEND, "run", pair=f"use rc_pair rnr_retry={retries} min_rnr_timer=1")
    found = [fact.text for fact in findings(lab, _WR)["no-rr"].evidence if "further" in fact.text]
    assert found == ([said] if said else [])


# --------------------------------------------------------------------------- 55 recv-state
def test_a_receive_posted_in_init_is_no_failure() -> None:
    lab = lab_of("reset B.qp0", "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 "
                 "qp_access_flags=0", RECV)  # fmt: skip
    assert verdict(lab, _RECV, "recv-state") is Verdict.WARN
    assert blamed(lab, _RECV) == []


def test_a_connection_that_was_down_is_brought_up_for_the_message() -> None:
    lab = lab_of("reset B.qp0", "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 "
                 "qp_access_flags=0", SEND, "run", pair="use uc_pair")  # fmt: skip
    assert blamed(lab, _WR) == ["recv-state"]
    assert helps(lab, _WR)


# --------------------------------------------------------------------------- 56 to 58: datagrams
def test_the_right_key_is_not_blamed_for_a_missing_receive() -> None:
    lab = lab_of(_DATAGRAM, "run", pair="use ud_pair")
    assert blamed(lab, _WR) == ["no-rr"]
    assert blamed(lab, _WR, asked=False) == []


def test_ud_40_bytes_not_with_room_for_grh_and_data() -> None:
    lab = lab_of(_UD_RECV, _DATAGRAM, "run", pair="use ud_pair")
    assert verdict(lab, _RECV, "ud-40-bytes") is Verdict.OK
    assert blamed(lab, _WR) == []


def test_ud_40_bytes_names_the_lengths_on_strict_and_rxe() -> None:
    for profile in ("strict", RXE):
        lab = Lab(profile=profile)
        for line in ("use ud_pair", "post_recv B.qp0 wr_id=2 sg=B.mr0[4064:4096]", _DATAGRAM,
                     "run"):  # fmt: skip
            well(lab, line)
        assert verdict(lab, _RECV, "ud-40-bytes") is Verdict.FAIL
        assert "it has 32 bytes; the datagram needs 48: 40 of GRH and 8 of data" in evidence(
            lab, _RECV, "ud-40-bytes"
        )
        assert helps(lab, _RECV)


def test_a_flushed_receive_was_not_too_short() -> None:
    lab = lab_of(_UD_RECV, "modify_qp B.qp0 state=ERR", pair="use ud_pair")
    assert verdict(lab, _RECV, "ud-40-bytes") is Verdict.OK


def test_a_datagram_of_exactly_the_mtu_is_not_too_long() -> None:
    for length, bad in ((4096, False), (4097, True)):
        long = _DATAGRAM.replace("A.mr0[0:8]", f"A.mr0[0:{length}]")
        lab = lab_of("post_recv B.qp0 wr_id=2 sg=B.mr0[0:8192]", long, "run",
                     pair="use ud_pair length=8192")  # fmt: skip
        assert ("ud-too-long" in blamed(lab, _WR)) is bad
        assert helps(lab, _WR) is bad


def test_ud_too_long_on_mlx5_has_a_working_fix() -> None:
    lab = lab_on(MLX5, "post_recv B.qp0 wr_id=2 sg=B.mr0[0:8192]",
                 _DATAGRAM.replace("A.mr0[0:8]", "A.mr0[0:5000]"), "run",
                 pair="use ud_pair length=8192")  # fmt: skip
    assert "ud-too-long" in blamed(lab, _WR)
    assert "it ended with LOC_LEN_ERR" in evidence(lab, _WR, "ud-too-long")
    assert helps(lab, _WR)


# --------------------------------------------------------------------------- 59 uc-loss
def test_uc_loss_not_for_rc() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, "run")
    assert verdict(lab, _WR, "uc-loss") is Verdict.NA


def test_a_fault_that_would_strike_again_is_taken_away_first() -> None:
    lab = lab_of("fault drop A->B", RECV, SEND, "run", pair="use uc_pair")
    assert blamed(lab, _WR) == ["uc-loss"]
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert remedy.cure.lines[0] == "fault clear 1"
    well(lab, "apply A.qp0.wr[1]")
    well(lab, "run")
    assert lab.look("B.cq0.total") == 1


def test_a_fault_that_is_over_is_left_alone() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, "run", pair="use uc_pair")
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert (remedy.works, len(remedy.cure.lines)) == (True, 1)


def test_uc_loss_of_the_last_packet_by_the_receive() -> None:
    lab = lab_of("fault drop A->B nth=2", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:1024]",
                 SEND.replace("[0:64]", "[0:1000]"), "run", pair="use uc_pair")  # fmt: skip
    assert why(lab, _RECV).slug == "uc-loss"


def test_unsignaled_is_a_warning_at_the_sender_only_where_the_message_was_lost() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND.replace(" flags=SIGNALED", ""), "run",
                 pair="use uc_pair")  # fmt: skip
    assert [cause.check.slug for cause in why(lab, _RECV).causes] == ["uc-loss"]
    lost = why(lab, _WR)  # its standing says that no completion will come
    assert [each.check.slug for each in (*lost.causes, *lost.warnings)] == ["uc-loss", "unsignaled"]
    lab = lab_of("fault drop A->B nth=1", _WRITE.replace(" flags=SIGNALED", ""), "run",
                 pair="use uc_pair")  # fmt: skip
    assert [cause.check.slug for cause in why(lab, "B.mr0[0:8]").causes] == ["uc-loss"]


# --------------------------------------------------------------------------- 60 to 63: shared
_SRQ_RECV = "post_srq_recv B.srq0 wr_id=2 sg=B.mr0[0:64]"
_SHARED = "B.srq0.recv_wr[2]"


def test_srq_stolen_only_if_another_qp_lacks_a_receive() -> None:
    lab = lab_of(_SRQ_RECV, SEND, "run", pair="use srq_pair")
    assert verdict(lab, _SHARED, "srq-stolen") is Verdict.OK
    well(lab, SEND.replace("qp0", "qp1"))
    well(lab, "run 10us")
    assert verdict(lab, _SHARED, "srq-stolen") is Verdict.FAIL
    well(lab, "post_srq_recv B.srq0 wr_id=3 sg=B.mr0[64:128]")
    assert verdict(lab, _SHARED, "srq-stolen") is Verdict.OK
    well(lab, "run")
    assert verdict(lab, _SHARED, "srq-stolen") is Verdict.OK


def test_srq_checks_do_not_apply_without_an_srq() -> None:
    lab = lab_of(SEND, "run", pair="use rc_pair rnr_retry=1")
    assert [findings(lab, _WR)[slug].verdict for slug in ("srq-empty-limit", "srq-error")] == [
        Verdict.NA, Verdict.NA,
    ]  # fmt: skip


def test_a_shared_queue_that_is_refilled_in_time_is_not_blamed() -> None:
    lab = lab_of(SEND, "run 10us", pair="use srq_pair rnr_retry=3 min_rnr_timer=12")
    assert "srq-empty-limit" not in blamed(lab, _WR)
    for line in (_SRQ_RECV, "run"):
        well(lab, line)
    assert blamed(lab, _WR) == []


def test_srq_empty_limit_of_a_read_event() -> None:
    lines = ("modify_srq B.srq0 srq_limit=1", SEND.replace("=1 ", "=7 "), "run",
             "get_async_event B", "ack_async_event B", SEND, "run")  # fmt: skip
    lab = lab_of(_SRQ_RECV, *lines, pair="use srq_pair rnr_retry=1")
    assert "srq-empty-limit" in blamed(lab, _WR)
    assert "a program read it, and posted nothing" in evidence(lab, _WR, "srq-empty-limit")
    assert helps(lab, _WR)


def test_the_fix_of_a_limit_posts_one_receive_more_than_it_and_arms_it_again() -> None:
    lab = lab_of(_SRQ_RECV, "post_srq_recv B.srq0 wr_id=3 sg=B.mr0[64:128]",
                 "modify_srq B.srq0 srq_limit=2", *[SEND.replace("=1 ", "=7 ")] * 2, "run", SEND,
                 "run", pair="use srq_pair rnr_retry=1")  # fmt: skip
    fix = cured(lab, _WR)
    assert [line.count("wr_id=") for line in fix if line.startswith("post_srq_recv")] == [3]
    assert "modify_srq B.srq0 srq_limit=2" in fix


def test_no_rr_of_an_empty_shared_queue_without_a_limit() -> None:
    lab = lab_of(_SRQ_RECV, SEND.replace("=1 ", "=7 "), "run", SEND, "run",
                 pair="use srq_pair rnr_retry=1")  # fmt: skip
    assert blamed(lab, _WR) == ["no-rr"]
    assert "B.srq0 was empty" in evidence(lab, _WR, "no-rr")
    posts = [line for line in cured(lab, _WR) if line.startswith("post_srq_recv")]
    assert [line.count("wr_id=") for line in posts] == [1]


def test_a_datagram_that_found_a_shared_queue_empty_is_lost() -> None:
    made = (
        "create_srq B.srq0 pd=B.pd0 max_wr=4",
        "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq0",
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
        "modify_qp B.qp1 state=RTR",
    )
    lab = lab_of(*made, _DATAGRAM.replace("B.qp0", "B.qp1"), "run", pair="use ud_pair")
    assert blamed(lab, _WR) == ["no-rr"]
    assert helps(lab, _WR)


def test_a_broken_queue_is_not_called_empty() -> None:
    lab = lab_of(_SRQ_RECV, "fault srq_error srq=B.srq0", SEND, "run",
                 pair="use srq_pair rnr_retry=1")  # fmt: skip
    assert "srq-error" in blamed(lab, _WR)
    assert verdict(lab, _WR, "srq-empty-limit") is Verdict.OK
    assert helps(lab, _WR)


def test_srq_error_of_a_receive_and_of_modify_srq() -> None:
    lab = lab_of(_SRQ_RECV, "fault srq_error srq=B.srq0", "run", pair="use srq_pair")
    assert verdict(lab, _SHARED, "srq-error") is Verdict.FAIL
    refusal(lab, "modify_srq B.srq0 srq_limit=1")
    assert verdict(lab, "EINVAL", "srq-error") is Verdict.FAIL
    lab = lab_of(_SRQ_RECV, pair="use srq_pair")
    assert verdict(lab, _SHARED, "srq-error") is Verdict.OK


def test_srq_qp_err_no_flush_with_and_without_a_waiting_thread() -> None:
    lab = lab_of(_SRQ_RECV, "modify_qp B.qp0 state=ERR", pair="use srq_pair")
    assert verdict(lab, _SHARED, "srq-qp-err-no-flush") is Verdict.WARN
    well(lab, _WAITS)
    well(lab, "run 1us")
    assert verdict(lab, _SHARED, "srq-qp-err-no-flush") is Verdict.FAIL
    assert "QP_LAST_WQE_REACHED reports" in evidence(lab, _SHARED, "srq-qp-err-no-flush")


def test_on_soft_roce_no_last_event_comes_either() -> None:
    lab = lab_on(RXE, _SRQ_RECV, "modify_qp B.qp0 state=ERR", pair="use srq_pair")
    answer = evidence(lab, _SHARED, "srq-qp-err-no-flush")
    assert "raises no QP_LAST_WQE_REACHED" in answer


def test_an_own_receive_is_flushed() -> None:
    lab = lab_of(RECV, "modify_qp B.qp0 state=ERR", _WAITS, "run")
    assert verdict(lab, _RECV, "srq-qp-err-no-flush") is Verdict.NA


# --------------------------------------------------------------------------- 65 mcast
_GROUP = "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=224.1.2.3 sgid_index=1 hop_limit=1 port_num=1"
_ANNOUNCED = _DATAGRAM.replace("A.ah0", "A.ah1").replace("B.qp0", "0xffffff")


def test_a_member_that_has_no_receive_is_a_member_all_the_same() -> None:
    lab = lab_of(_GROUP, "attach_mcast B.qp0 gid=224.1.2.3", _ANNOUNCED, "run", pair="use ud_pair")
    assert verdict(lab, _WR, "mcast") is Verdict.OK


def test_mcast_not_for_another_qkey() -> None:
    other = (
        "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0",
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x22222222",
        "modify_qp B.qp1 state=RTR", "post_recv B.qp1 wr_id=3 sg=B.mr0[256:512]",
    )  # fmt: skip
    lab = lab_of(_GROUP, "attach_mcast B.qp0 gid=224.1.2.3", _UD_RECV, *other, _ANNOUNCED, "run",
                 pair="use ud_pair")  # fmt: skip
    assert verdict(lab, "B.qp1.recv_wr[3]", "mcast") is Verdict.OK


def test_fix_of_mcast_attaches_the_qp() -> None:
    lab = lab_of(_GROUP, _UD_RECV, _ANNOUNCED, "run", pair="use ud_pair")
    assert blamed(lab, _WR) == ["mcast"]
    assert "B.qp0 was in no group" in evidence(lab, _WR, "mcast")
    assert helps(lab, _WR)


def test_only_datagrams_have_groups() -> None:
    lab = lab_of()
    refusal(lab, "attach_mcast B.qp0 gid=224.1.2.3")
    assert verdict(lab, "EINVAL", "mcast-type") is Verdict.FAIL
    assert verdict(lab, "EINVAL", "mcast") is Verdict.OK
    refusal(lab, "detach_mcast B.qp0 gid=224.1.2.3")
    assert verdict(lab, "EINVAL", "mcast-type") is Verdict.NA


# --------------------------------------------------------------------------- 66 xrc-srqn
def test_xrc_srqn_not_for_a_bad_rkey() -> None:
    late = (
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] rkey=1 remote_srqn=B.srq0 "
        "flags=SIGNALED"
    )
    lab = lab_of(late, "run", pair="use xrc_pair")
    assert verdict(lab, _WR, "xrc-srqn") is Verdict.OK
    lab = lab_of(late, "run", pair="use xrc_pair qp_access_flags=REMOTE_READ")
    assert lab.look("A.cq0.last.status").name == "REM_INV_REQ_ERR"
    assert verdict(lab, _WR, "xrc-srqn") is Verdict.OK


def test_without_any_shared_queue_only_the_program_can_help() -> None:
    wrong = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] remote_srqn=9 flags=SIGNALED"
    lab = lab_of("destroy_srq B.srq0", wrong, "run", pair="use xrc_pair")
    assert "xrc-srqn" in blamed(lab, _WR)
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert "make an XRC SRQ" in remedy.cure.program


def test_the_number_of_a_destroyed_shared_queue_is_that_of_its_name() -> None:
    late = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] remote_srqn=B.srq0 flags=SIGNALED"
    lab = lab_of("destroy_srq B.srq0", late, "run", pair="use xrc_pair")
    assert "that was B.srq0, which a call destroyed in ev" in evidence(lab, _WR, "xrc-srqn")


def test_an_empty_queue_gets_a_receive_with_the_message() -> None:
    wrong = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] remote_srqn=9 flags=SIGNALED"
    lab = lab_of(wrong, "run", pair="use xrc_pair")
    assert "xrc-srqn" in blamed(lab, _WR)
    assert helps(lab, _WR)


def test_a_plain_write_before_it_is_no_cause_where_a_message_found_no_receive() -> None:
    lab = lab_of(_WAITS, _WRITE, "run 50us",
                 _WRITE.replace("wr_id=1", "wr_id=2").replace("_WRITE", "_WRITE_WITH_IMM"),
                 "run 300us", "poll_cq A.cq0", pair="use rc_pair rnr_retry=2 min_rnr_timer=1",
                 )  # fmt: skip
    for asked in ("", "B.rx", "A.qp0.wr[2]"):
        report = why(lab, asked)
        assert (report.slug, report.causes[0].name) == ("no-rr", "A.qp0.wr[2]"), asked
        assert "write-no-signal" not in [each.check.slug for each in report.chain]


def test_the_sender_of_a_datagram_learns_that_its_receive_was_too_short() -> None:
    short = _UD_RECV.replace("0:104", "0:44")
    lab = lab_of(short, _DATAGRAM, "run", "poll_cq A.cq0", "poll_cq B.cq0", pair="use ud_pair")
    for asked in ("", _WR, "A.qp0"):
        report = why(lab, asked)
        assert (report.slug, report.causes[0].name) == ("ud-40-bytes", _RECV), asked
        assert report.remedy is not None
        assert report.remedy.works
