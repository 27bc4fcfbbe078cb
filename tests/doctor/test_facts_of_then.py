"""A fact about a destroyed thing is taken at the moment of its failure, never at its destroy."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played

PROTECTED = (
    "use rc_pair", "reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE",
    "post_send A.qp0 wr_id=5 opcode=SEND sg={addr=0x10101020 length=64 lkey=A.mr1} flags=SIGNALED",
    "run", "poll_cq A.cq0", "dereg_mr A.mr1", "destroy_qp A.qp0",
)  # fmt: skip


@pytest.mark.parametrize("question", ["why", "why A.qp0", "why A.qp0.wr[5]"])
def test_a_region_that_was_deregistered_later_is_not_the_reason(question: str) -> None:
    report = answer(played(*PROTECTED), question)
    assert report.slug == "loc-prot"
    assert "opens bytes 0..64 of A.mr1; bytes 32..96 were named" in report.text
    assert "deregistered" not in report.text


def test_why_of_bytes_before_they_were_written() -> None:
    lab = played(
        "use rc_pair", "post_recv A.qp0 wr_id=1 sg=A.mr0[2048:2112]",
        "program B.p lines={post_send B.qp0 wr_id=2 opcode=SEND sg=B.mr0[0:8]; sleep 4us; "
        "post_send B.qp0 wr_id=3 opcode=RDMA_WRITE sg=B.mr0[8:24] remote=A.mr0[100] "
        "flags=SIGNALED; poll B.cq0}",
        "program A.p lines={poll A.cq0}", "run", "destroy_qp A.qp0", "destroy_qp B.qp0",
        "dereg_mr A.mr0",
    )  # fmt: skip
    report = answer(lab, "why A.mr0[100:116]")
    assert (report.outcome.kind, report.chain, report.warnings) == (Status.WELL, [], [])


def test_own_err_before_and_after_destroy_qp() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]",
                 "modify_qp B.qp0 state=ERR")  # fmt: skip
    assert answer(lab, "why B.qp0").slug == "own-err"
    lab.do("destroy_qp B.qp0")
    assert answer(lab, "why B.qp0").slug == "own-err"
    assert answer(lab, "why").warnings == []


def test_a_reset_of_the_past_is_not_the_reason_for_err() -> None:
    lab = played(
        "use rc_pair", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0",
        "post_send A.qp0 wr_id=9 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[4096] flags=SIGNALED",
        "run", "poll_cq A.cq0",
    )  # fmt: skip
    assert answer(lab, "why B.qp0").slug == "rem-access"


def test_a_later_receive_names_the_messages_of_earlier_ones() -> None:
    lab = played(
        "use rc_pair", "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:16]}",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run",
    )  # fmt: skip
    text = answer(lab, "why B.qp0.recv_wr[2]").text
    assert "earlier receives took what A.qp0 sent, and it has sent nothing since" in text


def test_rem_access_names_the_rights_of_a_deregistered_mr() -> None:
    lab = played(
        "use rc_pair", "reg_mr B.mr5 pd=B.pd0 length=64 access=LOCAL_WRITE|REMOTE_READ",
        "post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr5[0] flags=SIGNALED",
        "run", "poll_cq A.cq0", "dereg_mr B.mr5", "destroy_qp B.qp0",
    )  # fmt: skip
    for question in ("why", "why B.qp0", "why A.qp0.wr[5]"):
        report = answer(lab, question)
        assert report.slug == "rem-access"
        assert "opens B.mr5 for LOCAL_WRITE|REMOTE_READ; REMOTE_WRITE is missing" in report.text


def test_qp_not_rts_after_reset() -> None:
    report = answer(played("use rc_pair", "reset B.qp0"), "why B.qp0")
    assert (report.slug, report.outcome.kind) == ("qp-not-rts", Status.NEVER)


def test_a_thread_that_is_done_has_no_cause() -> None:
    lab = played(
        "use rc_pair timeout=4", "fault drop A->B count=1", "post_recv B.qp0 sg=B.mr0[0:8]",
        "program A.engine lines={post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; "
        "poll A.cq0}",
        "run", "destroy_qp A.qp0", "destroy_qp B.qp0",
    )  # fmt: skip
    report = answer(lab, "why A.engine")
    assert (report.outcome.kind, report.causes, report.is_trouble) == (Status.WELL, [], False)


def test_rem_access_names_the_rights_of_a_deallocated_mw() -> None:
    lab = played(
        "use rc_pair", "reg_mr B.mr2 pd=B.pd0 length=128 access=LOCAL_WRITE|REMOTE_READ|MW_BIND",
        "alloc_mw B.mw3 pd=B.pd0 type=TYPE_1",
        "bind_mw B.qp0 B.mw3 wr_id=1 bind=B.mr2[0:128] bind_access=REMOTE_READ flags=SIGNALED",
        "run", "poll_cq B.cq0",
        "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:16] remote=B.mw3[0] flags=SIGNALED",
        "run", "poll_cq A.cq0", "dealloc_mw B.mw3", "destroy_qp A.qp0", "destroy_qp B.qp0",
    )  # fmt: skip
    for question in ("why", "why A.qp0", "why B.qp0", "why B.mw3", "why B.mr2"):
        text = answer(lab, question).text
        assert "opens B.mw3 for REMOTE_READ; REMOTE_WRITE is missing" in text, question
        assert "invalid" not in text


REFUSALS = {
    "its qp_access_flags are REMOTE_WRITE, without REMOTE_READ": (
        "use rc_pair qp_access_flags=REMOTE_WRITE",
        "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0 flags=SIGNALED",
    ),
    "rkey 0xdead is the key of no MR or bound window on B": (
        "use rc_pair", "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] "
        "remote_addr=0x20000000 rkey=0xdead flags=SIGNALED",
    ),
    "opens bytes 0..4096 of B.mr0; bytes 4090..4154 were named": (
        "use rc_pair", "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] "
        "remote=B.mr0[4090] flags=SIGNALED",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
@pytest.mark.parametrize("question", ["why", "why A.qp0.wr[1]"])
def test_refusal_of_a_peer_that_is_destroyed_while_its_nak_is_under_way(
    text: str, question: str
) -> None:
    lab = played(*REFUSALS[text], "until B.qp0.state == ERR", "destroy_qp B.qp0",
                 "dereg_mr B.mr0", "run", "poll_cq A.cq0")  # fmt: skip
    report = answer(lab, question)
    assert (report.outcome.kind, report.name) == (Status.FAILED, "A.qp0.wr[1]")
    assert report.causes[0].finding.evidence[0].text.endswith(text)
    assert "destroyed" not in report.text
    change = "give the modify_qp of event 9 qp_access_flags=REMOTE_WRITE|REMOTE_READ"
    fix = change if "qp_access_flags" in text else "after event 13, as line 4 of 4, this works"
    assert f"fix: change the program: {fix}" in report.text


def test_short_receive_of_a_peer_that_is_destroyed_while_its_nak_is_under_way() -> None:
    lab = played(
        "use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
        "until B.qp0.state == ERR", "destroy_qp B.qp0", "run",
    )  # fmt: skip
    assert "loc-len" in [cause.check.slug for cause in answer(lab, "why A.qp0.wr[1]").chain]


@pytest.mark.parametrize("later", [[], ["detach_mcast B.qp0 gid=224.0.0.9"]])
def test_the_groups_of_a_queue_pair_are_those_of_the_dropped_datagram(later: list[str]) -> None:
    lab = played(
        "use ud_pair", "attach_mcast B.qp0 gid=224.0.0.9",
        "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=::ffff:224.0.0.8 sgid_index=1 hop_limit=4",
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:256]",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah1 remote_qpn=0xffffff "
        "remote_qkey=0x11111111 flags=SIGNALED", "run", *later,
    )  # fmt: skip
    assert "B.qp0 was in 224.0.0.9" in answer(lab, "why").text
