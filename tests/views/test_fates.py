"""What became of packets: both ends, the whole reason, completions, and what was sent again."""

from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.views import ladder
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import MarkerRow, PacketRow
from tests.labs import lab_of, well

BAD_RKEY = "post_send A.qp0 opcode=RDMA_WRITE wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"
GOOD_WRITE = "post_send A.qp0 opcode=RDMA_WRITE wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8]"


def rows_of(lab: Lab) -> list[PacketRow | MarkerRow]:
    session = lab.session
    return ladder.rows(session.world, session.names, last=None)


def packets_of(lab: Lab) -> list[PacketRow]:
    return [row for row in rows_of(lab) if isinstance(row, PacketRow)]


def test_a_received_packet_has_both_events_and_its_completions() -> None:
    send = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    lab = lab_of("post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", send, "run")
    sent, ack = packets_of(lab)
    assert (sent.event, sent.end_event) == (16, 17)
    assert (sent.by, sent.why, sent.completed, sent.failed) == ("", "", ["wr1 RECV SUCCESS"], [])
    assert ack.end_event == 19
    assert ack.completed == ["wr2 SEND SUCCESS"]


def test_a_refused_and_a_dropped_packet_name_who_turned_them_down_and_the_values() -> None:
    lab = lab_of(BAD_RKEY, GOOD_WRITE, "run")
    refused, dropped, nak = packets_of(lab)
    assert (refused.fate, refused.by) == (Fate.REFUSED, "B.qp0")
    assert refused.why == "rkey 0xdead is the key of no MR or bound window on B"
    assert refused.fate_text == f"refused: {refused.why}"
    assert (dropped.fate, dropped.by) == (Fate.DROPPED, "B.qp0")
    assert dropped.why.startswith("the QP is in error")
    assert nak.failed == ["wr7 REM_ACCESS_ERR", "wr8 WR_FLUSH_ERR"]


def test_each_test_of_a_key_has_its_sentence() -> None:
    beyond = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[4090]"
    refused = packets_of(lab_of(beyond, "run"))[0]
    assert refused.why.endswith("opens bytes 0..4096 of B.mr0; bytes 4090..4098 were named")
    weak = "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|REMOTE_READ"
    right = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr1[0]"
    refused = packets_of(lab_of(weak, right, "run"))[0]
    assert refused.why.endswith("opens B.mr1 for LOCAL_WRITE|REMOTE_READ; REMOTE_WRITE is missing")


def test_a_key_is_not_judged_by_regions_that_have_changed_since() -> None:
    lab = lab_of(BAD_RKEY, "run", "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE")
    assert packets_of(lab)[0].why.startswith("rkey 0xdead")  # a new region has a new key
    well(lab, "dereg_mr B.mr1")  # the region that is gone may have had that key
    assert packets_of(lab)[0].why == "the R_Key, its PD, rights or range do not allow it"


def test_a_lost_packet_says_which_fault_took_it() -> None:
    write = "post_send A.qp0 opcode=RDMA_WRITE wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8]"
    lab = lab_of("fault drop A->B nth=1", write, "step packet")
    (lost,) = packets_of(lab)
    assert (lost.fate, lost.end_event, lost.arrives_ns) == (Fate.LOST, lost.event, None)
    assert lost.why.startswith("fault 1: drop A->B")


def test_what_is_in_flight_has_no_end() -> None:
    (flying,) = packets_of(lab_of(GOOD_WRITE, "step packet"))
    assert (flying.fate, flying.end_event, flying.by) == (Fate.IN_FLIGHT, None, "")
    assert flying.arrives_ns


def test_a_retransmission_knows_its_first_time() -> None:
    lab = lab_of("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]", "until now >= 2ms")
    sends = [row for row in packets_of(lab) if row.opcode == "SEND_ONLY"]
    assert len(sends) > 2
    assert [row.sent_times for row in sends] == list(range(1, len(sends) + 1))
    assert [row.first_event for row in sends] == [None, *[sends[0].event] * (len(sends) - 1)]
    naks = [row for row in packets_of(lab) if row.opcode != "SEND_ONLY"]
    assert {row.sent_times for row in naks} == {1}


def test_a_first_time_that_is_too_long_ago_is_not_guessed() -> None:
    lab = lab_of("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]", "step 3000")
    lab.session.world.trace.reach = 200
    session = lab.session
    rows = ladder.rows(session.world, session.names, last=20)
    sends = [row for row in rows if isinstance(row, PacketRow) and row.opcode == "SEND_ONLY"]
    assert {(row.sent_times, row.first_event) for row in sends} == {(None, None)}


def test_a_psn_of_another_connection_is_no_retransmission() -> None:
    lab = lab_of("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]", "until now >= 1ms")
    for qp, peer in (("A.qp0", "B"), ("B.qp0", "A")):
        for attributes in (
            "state=RESET",
            "state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
            f"state=RTR path_mtu=512 dest_qp_num={peer}.qp0 rq_psn=0 max_dest_rd_atomic=1 "
            f"min_rnr_timer=12 ah={peer}",
            "state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
        ):
            well(lab, f"modify_qp {qp} {attributes}")
    well(lab, GOOD_WRITE)
    well(lab, "run")
    (write,) = (row for row in packets_of(lab) if row.opcode == "RDMA_WRITE_ONLY")
    assert (write.psn, write.sent_times) == (0, 1)


def test_markers_say_what_they_wait_for_and_what_failed() -> None:
    lab = lab_of("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]", "until now >= 1ms")
    markers = [row for row in rows_of(lab) if isinstance(row, MarkerRow)][:3]
    assert [(row.kind, row.reason, row.psn) for row in markers] == [
        (Kind.TIMER_ARMED, "rnr", 0), (Kind.TIMER_FIRED, "rnr", 0),
        (Kind.WENT_BACK, markers[2].reason, 0),
    ]  # fmt: skip
    lab = lab_of("fault drop A->B", GOOD_WRITE, "run", pair="use rc_pair retry_cnt=0")
    (fired,) = (row for row in rows_of(lab) if isinstance(row, MarkerRow))
    assert (fired.reason, fired.failed) == ("ack", ["wr8 RETRY_EXC_ERR"])


def test_the_reason_of_an_old_refusal_stays_when_other_things_are_made() -> None:
    beyond = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[4090]"
    lab = lab_of(beyond, "run")
    reason = packets_of(lab)[0].why
    assert reason.endswith("opens bytes 0..4096 of B.mr0; bytes 4090..4098 were named")
    for line in ("reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE", "alloc_pd B.pd7"):
        well(lab, line)
    assert packets_of(lab)[0].why == reason
    well(lab, "rereg_mr B.mr0 flags=CHANGE_ACCESS access=LOCAL_WRITE")
    assert packets_of(lab)[0].why == "the R_Key, its PD, rights or range do not allow it"
