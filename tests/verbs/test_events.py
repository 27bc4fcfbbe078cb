"""Waking up: channels, arming, taking and acknowledging, at the prompt."""

from rdmalab.command import Thing
from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.verbs.events import AsyncReport, CqEvent
from tests.labs import RECV, SEND, everything, lab_of, played_again, refusal, well

PAIR = "use rc_pair channel=1"


def thing(lab: Lab, name: str) -> Thing:
    found = lab.session.names.find(name)
    assert found is not None
    return found


def test_cq_event_loop() -> None:
    lab = lab_of("req_notify_cq B.cq0", RECV, SEND, "run", pair=PAIR)
    assert well(lab, "get_cq_event B.ch0").value == CqEvent(thing(lab, "B.cq0"), 0)
    assert refusal(lab, "get_cq_event B.ch0").errno == 11
    well(lab, "req_notify_cq B.cq0")
    assert len(well(lab, "poll_cq B.cq0 num_entries=9").value) == 1
    well(lab, "destroy_qp B.qp0")
    assert refusal(lab, "destroy_cq B.cq0").rule == "cq-events-unacked"
    assert refusal(lab, "ack_cq_events B.cq0 nevents=2").argument == "nevents"
    well(lab, "ack_cq_events B.cq0")
    assert refusal(lab, "destroy_comp_channel B.ch0").errno == 16
    well(lab, "destroy_cq B.cq0")
    well(lab, "destroy_comp_channel B.ch0")
    assert everything(played_again(lab)) == everything(lab)


def test_get_cq_event_returns_cq_context() -> None:
    lab = lab_of(
        "create_comp_channel A.ch0", "create_cq A.cq1 cqe=4 channel=A.ch0 cq_context=0x77",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1", "req_notify_cq A.cq1",
        "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        "post_recv A.qp1 wr_id=1", "modify_qp A.qp1 state=ERR",
    )  # fmt: skip
    assert well(lab, "get_cq_event A.ch0").value == CqEvent(thing(lab, "A.cq1"), 0x77)


def test_create_cq_with_a_channel_of_another_node() -> None:
    lab = lab_of("create_comp_channel B.ch0")
    assert refusal(lab, "create_cq A.cq1 cqe=4 channel=B.ch0").rule == "other-node"


def test_get_async_event_and_ack_async_event() -> None:
    wrong = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0 rkey=0"
    lab = lab_of(wrong, "run", "link down")
    taken = well(lab, "get_async_event B").value
    assert taken == AsyncReport(AsyncEvent.QP_ACCESS_ERR, thing(lab, "B.qp0"))
    assert well(lab, "get_async_event B").value == AsyncReport(AsyncEvent.PORT_ERR, port_num=1)
    assert refusal(lab, "get_async_event B").errno == 11
    assert refusal(lab, "destroy_qp B.qp0").rule == "async-unacked"
    assert refusal(lab, "ack_async_event B.cq0").rule == "async-ack"
    assert refusal(lab, "ack_async_event B event=CQ_ERR").rule == "async-ack"
    well(lab, "ack_async_event B.qp0")
    well(lab, "destroy_qp B.qp0")
    well(lab, "ack_async_event B event=PORT_ERR")
    assert refusal(lab, "ack_async_event B").rule == "async-ack"
    assert well(lab, "get_async_event A").value.event is AsyncEvent.PORT_ERR


def test_start_poll_next_poll_end_poll() -> None:
    lab = lab_of(
        "create_cq_ex A.cq1 cqe=8 wc_flags=BYTE_LEN|IBV_WC_EX_WITH_COMPLETION_TIMESTAMP",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0", "connect A.qp1 B.qp1",
    )  # fmt: skip
    assert refusal(lab, "start_poll A.cq1").errno == 2
    read = "post_send A.qp1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED wr_id="
    for line in (f"{read}7", f"{read}8", "run"):
        well(lab, line)
    assert well(lab, "start_poll A.cq1").value.wr_id == 7
    assert refusal(lab, "poll_cq A.cq1").rule == "poll-open"
    assert well(lab, "next_poll A.cq1").value.fields["byte_len"] == 8
    assert well(lab, "wc_read A.cq1 byte_len").value.text == "byte_len = 8"
    assert refusal(lab, "wc_read A.cq1 src_qp").rule == "crash-wc-read"
    assert refusal(lab, "next_poll A.cq1").rule == "poll-empty"
    assert lab.look("A.cq1.reading") == 2
    assert well(lab, "end_poll A.cq1").value == "2 taken off."
    assert lab.look("A.cq1.count") == 0
    assert refusal(lab, "create_cq_ex A.cq2 cqe=8 wc_flags=CVLAN").rule == "wc-flags"
    assert everything(played_again(lab)) == everything(lab)


def test_resize_cq() -> None:
    lab = lab_of(RECV, SEND, "run")
    assert well(lab, "resize_cq A.cq0 cqe=64").value == "It holds 64 completions now."
    for cqe, rule in ((0, "cqe-range"), (-1, "cqe-range"), (4096, "cqe-range")):
        assert refusal(lab, f"resize_cq A.cq0 cqe={cqe}").rule == rule
    well(lab, "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED")
    well(lab, "run")
    assert refusal(lab, "resize_cq A.cq0 cqe=1").rule == "cqe-unpolled"
    well(lab, "resize_cq A.cq0 cqe=2")
    assert lab.look("A.cq0.free") == 0


def test_resize_cq_as_soft_roce() -> None:
    """post_errno.json, resize_cq: 15 → 15, 1 → 1, 0 → EINVAL, 32767 → 32767, 40000 → EINVAL."""
    lab = Lab(profile="rxe")
    well(lab, "create_cq A.cq0 cqe=7")
    for asked, granted in ((15, 15), (1, 1), (0, 1), (32767, 32767), (40000, 32767), (8, 15)):
        lab.do(f"resize_cq A.cq0 cqe={asked}")
        assert lab.look("A.cq0.capacity") == granted
