"""One known mistake in a good program, as a generator of such programs found the doctor wrong."""

import pytest

from rdmalab.doctor.evidence.finding import Verdict
from rdmalab.lab import Lab
from rdmalab.spec.profiles import PROFILES
from tests.doctor.asking import blamed, chain, cured, evidence, lab_on, pair, verdict, why
from tests.labs import well

_FAST = "timeout=8 retry_cnt=1"
_IMM = "opcode=RDMA_WRITE_WITH_IMM flags=SIGNALED imm_data=0x07000000"


def posted(lab: Lab, *lines: str) -> Lab:
    """All of them, some perhaps refused, and what comes of it."""
    for line in (*lines, "run"):
        assert lab.do(line)[-1].error is None, line
    return lab


def apply(lab: Lab, what: str = "") -> None:
    """Carry the cure out for real."""
    assert not any(reply.failed for reply in lab.do(f"apply {what}"))
    well(lab, "run")


def joined(*ends: str) -> Lab:
    """Two connected pairs; the first one reset, and brought up by hand to other peers."""
    lab = pair("use rc_pair", "reset A.qp0", "reset B.qp0")
    for number, peer in zip("AB", ends, strict=True):
        up = f"modify_qp {number}.qp0 state="
        well(lab, f"{up}INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE")
        well(lab, f"{up}RTR path_mtu=512 {peer} rq_psn=77 max_dest_rd_atomic=1 min_rnr_timer=1")
        well(lab, f"{up}RTS {_FAST} rnr_retry=1 sq_psn=77 max_rd_atomic=1")
    return posted(lab, "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] "
                       "flags=SIGNALED")  # fmt: skip


def test_wrong_gid_of_a_qp_with_its_own_address() -> None:
    lab = joined("dest_qp_num=B.qp0 ah=A", "dest_qp_num=A.qp0 ah=A")
    assert chain(lab)[0] == "wrong-gid"
    apply(lab)
    assert lab.look("A.cq0.total(wr_id=3, status=SUCCESS)") == 1


def test_wrong_qpn_of_a_qp_with_another_peer() -> None:
    lab = joined("dest_qp_num=B.qp1 ah=B", "dest_qp_num=A.qp0 ah=A")
    assert chain(lab) == ["wrong-qpn", "retry-exc"]
    apply(lab)
    assert lab.look("A.cq0.total(wr_id=3, status=SUCCESS)") == 1


def test_a_partition_that_the_sender_left() -> None:
    lab = posted(pair(use=f"use rc_pair {_FAST}"), "pkey set A 0 0",
                 "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] "
                 "flags=SIGNALED")  # fmt: skip
    assert chain(lab)[0] == "pkey"
    apply(lab)
    assert lab.look("A.cq0.total(wr_id=3, status=SUCCESS)") == 1


def test_a_link_that_went_down_after_the_message_arrived() -> None:
    lab = pair("post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
               "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 "
               "remote_qkey=0x11111111 flags=SIGNALED", use="use ud_pair")  # fmt: skip
    posted(lab, "link down")
    assert chain(lab, "A.qp0.wr[2]") == []


def test_a_flush_on_another_queue_is_no_cause() -> None:
    lab = pair("create_cq B.cq9 cqe=8", "create_qp B.qp9 pd=B.pd0 qp_type=RC send_cq=B.cq0 "
               "recv_cq=B.cq9", "create_qp A.qp9 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
               f"connect A.qp9 B.qp9 {_FAST}", "post_recv B.qp9 wr_id=1 sg=B.mr0[0:8]",
               "modify_qp B.qp9 state=ERR")  # fmt: skip
    posted(lab, "post_send A.qp9 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED",
           "poll_cq B.cq0")  # fmt: skip
    assert "wrong-cq" not in chain(lab, "A.qp9.wr[2]")
    assert verdict(lab, "B.qp9.recv_wr[1]", "wrong-cq") is Verdict.WARN


@pytest.mark.parametrize(
    ("rights", "remote", "slug"),
    [("REMOTE_WRITE", "remote_addr=0x20000000 rkey=0xdead", "rem-access"),
     ("0", "remote=B.mr0[0]", "rem-inv-req")],
)  # fmt: skip
def test_uc_write_denied_by_the_peer(rights: str, remote: str, slug: str) -> None:
    lab = pair("post_recv B.qp0 wr_id=1", "post_recv B.qp0 wr_id=2",
               use=f"use uc_pair qp_access_flags={rights}")  # fmt: skip
    posted(lab, f"post_send A.qp0 wr_id=3 sg=A.mr0[0:8] {remote} {_IMM}",
           "post_send A.qp0 wr_id=4 opcode=SEND flags=SIGNALED")  # fmt: skip
    assert blamed(lab, "A.qp0.wr[3]") == [slug]
    assert chain(lab, "B.qp0.recv_wr[2]") == [slug]
    apply(lab, "A.qp0.wr[3]")
    assert lab.look("B.cq0.total(opcode=RECV_RDMA_WITH_IMM, status=SUCCESS)") == 1


def test_a_bring_up_that_stopped_half_way() -> None:
    lab = pair("reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 "
               "qp_access_flags=0", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]")  # fmt: skip
    posted(lab, "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 "
           "max_dest_rd_atomic=1 min_rnr_timer=1 ah_attr={dlid=1 port_num=1}",
           "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED")  # fmt: skip
    for what in ("", "A.qp0.wr[2]", "B.qp0.recv_wr[1]"):
        assert chain(lab, what) == ["no-grh", "wrong-state-post"], what
    apply(lab, "A.qp0.wr[2]")
    assert lab.look("A.cq0.total(wr_id=2, status=SUCCESS)") == 1


def test_sqd_of_the_sender_at_a_waiting_receive() -> None:
    lab = posted(pair("post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]", use="use ud_pair"),
                 "modify_qp A.qp0 state=SQD", "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] "
                 "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip
    assert chain(lab, "B.qp0.recv_wr[1]") == ["sqd"]


def test_a_cure_that_only_the_sender_believes_in_does_not_work() -> None:
    lab = posted(pair("post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]", use="use ud_pair"),
                 "fault corrupt A->B byte=60", "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] "
                 "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip
    for what in ("A.qp0.wr[2]", "B.qp0.recv_wr[1]"):
        assert cured(lab, what)[0] == "fault clear 1"
    lab.do("fault clear")
    well(lab, "link down")
    remedy = why(lab, "B.qp0.recv_wr[1]").remedy
    assert remedy is not None
    assert remedy.works is False


def test_moves_that_only_a_driver_believes_in_or_that_lead_nowhere() -> None:
    lab = lab_on(PROFILES["rxe"], "use rc_pair", "modify_qp A.qp0 state=ERR",
                 "modify_qp A.qp0 state=RTS cur_qp_state=RTR")  # fmt: skip
    assert chain(lab, "EINVAL") == ["bring-up-attr"]
    assert "RTR to RTS requires" in evidence(lab, "EINVAL", "bring-up-attr")
    lab.do("modify_qp A.qp0 state=64")
    assert "there is no state 64" in evidence(lab, "EINVAL", "bring-up-attr")


def test_a_server_that_waits_for_its_next_request_is_no_failure() -> None:
    serve = ("post_recv B.qp0 sg=B.mr0[0:8]; post_recv B.qp0 sg=B.mr0[0:8]; loop; poll B.cq0 until "
             "B.cq0.last.opcode == RECV; post_recv B.qp0 sg=B.mr0[0:8]; post_send B.qp0 "
             "opcode=SEND sg=B.mr0[64:72] flags=SIGNALED; poll B.cq0; end")  # fmt: skip
    ask = ("loop 3; post_recv A.qp3 wr_id=2 sg=A.mr0[128:136]; post_send A.qp3 wr_id=3 opcode=SEND "
           "sg=A.mr0[0:8] flags=SIGNALED; poll A.cq0; end")  # fmt: skip
    lab = Lab()
    for line in ("use rc_pair", "create_cq A.sends cqe=32", "destroy_qp A.qp0", "create_qp A.qp3 "
                 "pd=A.pd0 qp_type=RC send_cq=A.sends recv_cq=A.cq0 max_send_wr=8 max_recv_wr=8",
                 "reset B.qp0", "connect A.qp3 B.qp0", f"program B.srv lines={{{serve}}}",
                 f"program A.cli lines={{{ask}}}", "run 60us"):  # fmt: skip
        well(lab, line)
    assert lab.look("A.cli.state == DONE")
    assert not why(lab).is_trouble
    assert not why(lab, "B.srv").is_trouble


@pytest.mark.parametrize("question", ["", "A.qp0.wr[4]"])
def test_a_fix_makes_the_refused_post_again(question: str) -> None:
    lab = posted(
        pair("reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"),
        "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 min_rnr_timer=1 ah=B",
        f"modify_qp A.qp0 state=RTS {_FAST} rnr_retry=1 sq_psn=0 max_rd_atomic=1",
        "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED",
    )
    assert chain(lab, question)[0] == "bring-up-attr"
    apply(lab, question)
    assert lab.look("A.cq0.total(wr_id=4, status=SUCCESS)") == 1
    assert not why(lab, question).is_trouble


def test_of_a_fix_after_a_teardown_the_attribute_is_shown_that_it_changes() -> None:
    lab = posted(
        pair("link latency=100us", "post_recv B.qp0 wr_id=7 sg=B.mr0[0:64]",
             use="use rc_pair timeout=2 retry_cnt=1"),
        "post_send A.qp0 wr_id=8 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED",
    )  # fmt: skip
    for line in ("poll_cq A.cq0", "destroy_qp A.qp0", "destroy_qp B.qp0"):
        well(lab, line)
    remedy = why(lab, "A.qp0.wr[8]").remedy
    assert remedy is not None
    assert remedy.cure.program.startswith("give the modify_qp of event 12 timeout=")


def test_a_fix_with_a_reset_posts_the_waiting_sends_again() -> None:
    read = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    write = "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[8:16] remote=B.mr0[64] flags="
    lab = posted(pair("fault drop B->A nth=1", use="use rc_pair timeout=0"),
                 read, f"{write}SIGNALED|FENCE")  # fmt: skip
    apply(lab)
    assert lab.look("A.cq0.total(status=SUCCESS)") == 2


def test_a_fix_of_an_unsignaled_send_does_not_bring_a_completion() -> None:
    lab = posted(pair(), "post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:64]")
    remedy = why(lab, "A.qp0.wr[5]").remedy
    assert remedy is not None
    assert not remedy.works
    assert "not signaled" in remedy.ends


def test_a_fix_of_a_call_does_not_revive_its_program() -> None:
    fill = ("loop 20; post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[64]; "
            "sleep 5us; end")  # fmt: skip
    lab = pair(f"program A.tx lines={{{fill}}}", use="use rc_pair max_send_wr=8")
    assert lab.look("A.tx.state == FAILED")
    for question in ("", "ENOMEM"):
        remedy = why(lab, question).remedy
        assert remedy is not None
        assert not remedy.works
        assert "post every few requests one with IBV_SEND_SIGNALED" in remedy.cure.program


def test_a_failure_of_a_shared_receive_is_over_once_its_queue_pair_works_again() -> None:
    lab = posted(
        pair("post_srq_recv B.srq0 wr_id=1 sg=B.mr0[512:576]", use="use srq_pair"),
        "post_send A.qp1 wr_id=1 opcode=SEND sg=A.mr0[0:256] flags=SIGNALED",
    )
    assert why(lab).slug == "loc-len"
    apply(lab)
    assert lab.look("A.cq0.total(status=SUCCESS)") == 1
    assert not why(lab).is_trouble
