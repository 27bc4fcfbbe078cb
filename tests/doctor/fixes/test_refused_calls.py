"""A refused call is explained as at the prompt; the first refusal of a chain is its cause."""

import pytest

from rdmalab.doctor.fixes.refused_calls import with_flags
from rdmalab.spec.work import SendFlags
from tests.doctor import tidying
from tests.doctor.asking import answer, chain, played

UNCONNECTED = (
    "alloc_pd A.pd0", "alloc_pd B.pd0", "create_cq A.cq0 cqe=4", "create_cq B.cq0 cqe=4",
    *(f"create_qp {n}.qp0 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0 max_send_wr=2 "
      "max_recv_wr=2" for n in "AB"),
    "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_READ",
)  # fmt: skip
RTR = (
    "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic={depth} "
    "min_rnr_timer=12 ah_attr={{is_global=1 dgid=::ffff:10.0.0.2 sgid_index={index} hop_limit=9 "
    "port_num=1}}"
)
RTS = "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1"


@pytest.mark.parametrize(
    ("use", "line", "slug", "legal", "fix"),
    [
        ("use ud_pair", "create_ah A.ah7 pd=A.pd0 is_global=1 dgid=::ffff:10.0.0.2 sgid_index=5 "
         "hop_limit=64 port_num=1", "ah-sgid-empty", "entries that hold addresses: 0 1",
         "sgid_index=1"),
        ("use ud_pair", "create_ah A.ah7 pd=A.pd0 is_global=1 dgid=::ffff:10.0.0.2 sgid_index=0 "
         "hop_limit=64 port_num=9", "ah-port", "port_num=1", "port_num=1"),
        ("use rc_pair", "reg_mr A.mr5 pd=A.pd0 length=64 access=REMOTE_WRITE", "mr-access",
         "access=LOCAL_WRITE|REMOTE_WRITE", "access=LOCAL_WRITE|REMOTE_WRITE"),
    ],
)  # fmt: skip
def test_refused_call_has_legal_values_and_a_working_fix(
    use: str, line: str, slug: str, legal: str, fix: str
) -> None:
    report = answer(played(use, line), "why")
    assert report.slug == slug
    assert legal in report.text
    assert report.remedy is not None
    assert report.remedy.works
    assert fix in report.remedy.cure.lines[0]


def test_a_refused_acknowledgement_names_the_completion_queue() -> None:
    text = answer(played("use rc_pair channel=1", "ack_cq_events B.cq0"), "why").text
    assert "unacknowledged events of B.cq0: 0" in text


TWO_QUEUES = (
    "use rc_pair", "create_comp_channel B.ch5", "create_cq B.c1 cqe=16 channel=B.ch5",
    "create_cq B.c2 cqe=16 channel=B.ch5",
    "create_qp B.qp7 pd=B.pd0 qp_type=RC send_cq=B.c1 recv_cq=B.c2 max_send_wr=4 max_recv_wr=4",
    "create_qp A.qp7 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4 max_recv_wr=4",
    "connect A.qp7 B.qp7", "req_notify_cq B.c1", "req_notify_cq B.c2",
    "post_recv B.qp7 wr_id=1 sg=B.mr0[0:8]",
    "post_send A.qp7 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run",
    "get_cq_event B.ch5", "ack_cq_events B.c1",
)  # fmt: skip


@pytest.mark.parametrize("question", ["why", "why B.ch5", "why B.c1", "why EINVAL"])
def test_the_completion_queue_that_raised_the_event_is_named(question: str) -> None:
    lab = played(*TWO_QUEUES)
    report = answer(lab, question)
    assert "get_cq_event B.ch5 returned B.c2, whose event is unacknowledged" in report.text
    assert report.remedy is not None
    assert report.remedy.works
    assert report.remedy.cure.lines == ["ack_cq_events B.c2"]
    assert "1 event of it unacknowledged" in answer(lab, "why B.c2").text


@pytest.mark.parametrize(
    ("depth", "index", "slug"), [("1", "6", "ah-sgid-empty"), ("40", "1", "bring-up-attr")]
)
@pytest.mark.parametrize("question", ["why", "why A.qp0", "why EINVAL"])
def test_the_first_refused_move_is_the_cause(
    depth: str, index: str, slug: str, question: str
) -> None:
    lab = played(*UNCONNECTED, RTR.format(depth=depth, index=index), RTS)
    report = answer(lab, question)
    assert [cause.check.slug for cause in report.causes] == [slug]
    assert report.causes[0].finding.origin == 7
    assert [cause.check.slug for cause in report.stations] == ["bring-up-attr"]
    assert report.remedy is not None
    assert "state=RTR" in report.remedy.cure.lines[0]
    assert report.remedy.works


def test_a_failure_comes_before_a_refused_call() -> None:
    lab = played(
        "use rc_pair", "create_cq A.cq7 cqe=0",
        "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[4096] flags=SIGNALED",
        "run",
    )  # fmt: skip
    assert chain(lab)[0] == "rem-access"


def test_a_rule_is_explained_as_a_rule() -> None:
    report = answer(played("use rc_pair", "create_cq A.cq7 cqe=0"), "why")
    assert report.chain[0].check.article == "rule cqe-range"
    assert [report.word(row) for row in report.rows if row.slug][:1] == ["rule cqe-range"]


def test_beyond_device_names_the_objects() -> None:
    report = answer(played(*(f"alloc_pd A.p{n}" for n in range(65))), "why")
    assert "64 PDs of A exist, A.p0 to A.p63; none ended by dealloc_pd" in report.text
    assert report.remedy is not None
    assert "first A.p0, the oldest without a user" in report.remedy.cure.program


def test_path_mtu_out_of_range_in_bytes() -> None:
    move = RTR.format(depth=1, index=1).replace("path_mtu=512", "path_mtu=4096")
    text = answer(played("link mtu=1024", *UNCONNECTED, move), "why").text
    assert "path_mtu=4096 is out of range" in text


@pytest.mark.parametrize("question", ["why", "why A.qp0", "why EINVAL", "why A.qp0.wr[1]"])
def test_bring_up_attr_is_the_cause_of_later_refusals(question: str) -> None:
    move = RTR.format(depth=1, index=1).replace("dest_qp_num=B.qp0 ", "")
    lab = played(*UNCONNECTED, move, RTS, "post_send A.qp0 wr_id=1 opcode=SEND flags=SIGNALED")
    report = answer(lab, question)
    assert [(c.check.slug, c.finding.origin) for c in report.causes] == [("bring-up-attr", 7)]
    assert "also needs dest_qp_num" in " ".join(report.text.split())


@pytest.mark.parametrize("tidy", tidying.TIDY)
@pytest.mark.parametrize("question", ["why", "why A.qp0", "why EINVAL"])
def test_the_first_refused_move_is_the_cause_after_a_tidy_up(tidy: str, question: str) -> None:
    lab = played(*UNCONNECTED, RTR.format(depth="1", index="6"), RTS)
    tidying.TIDY[tidy](lab.session)
    assert answer(lab, question).slug == "ah-sgid-empty"


@pytest.mark.parametrize("question", ["why", "why A.qp0"])
def test_fix_of_recv_state_brings_up_and_posts_again(question: str) -> None:
    post = "post_recv A.qp0 wr_id=1 sg=A.mr0[0:8]"
    lab = played("use rc_pair", "modify_qp A.qp0 state=RESET", post)
    report = answer(lab, question)
    assert report.slug == "recv-state"
    assert report.remedy is not None
    assert report.remedy.works
    assert report.remedy.cure.lines[0].startswith("modify_qp A.qp0 state=INIT")
    assert report.remedy.cure.lines[1:] == [post]


def test_the_range_of_an_address_field() -> None:
    line = ("create_ah A.ah7 pd=A.pd0 is_global=1 dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64 "
            "port_num=1 sl=20")  # fmt: skip
    assert "sl takes 0..15" in answer(played("use ud_pair", line), "why A.ah7").text


def test_beyond_device_after_all_pds_were_deallocated() -> None:
    lab = played(*(f"alloc_pd A.p{number}" for number in range(65)))
    tidying.destroy_all(lab.session)
    report = answer(lab, "why ENOMEM")
    assert report.slug == "beyond-device"
    assert "max_pd=64" in report.text


def test_with_flags_adds_flags() -> None:
    assert with_flags({"flags": 1}, SendFlags.SIGNALED) == {"flags": 3}
    assert with_flags({}, SendFlags.SIGNALED) == {"flags": 2}
