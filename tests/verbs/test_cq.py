from tests.labs import RECV, SEND, lab_of, refusal, trip, well

_WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED wr_id="


def test_poll_cq_takes_the_oldest_first() -> None:
    lab = lab_of(*[f"{_WRITE}{wr_id}" for wr_id in (7, 8, 9)], "run")
    assert [cqe.wr_id for cqe in well(lab, "poll_cq A.cq0").value] == [7]
    assert [cqe.wr_id for cqe in well(lab, "poll_cq A.cq0 num_entries=5").value] == [8, 9]
    assert well(lab, "poll_cq A.cq0").value == []


def test_poll_cq_byte_len_of_a_receive() -> None:
    lab = lab_of(RECV, SEND, "run")
    (cqe,) = well(lab, "poll_cq B.cq0 num_entries=9").value
    assert (cqe.wr_id, cqe.byte_len, cqe.is_send) == (2, 64, False)


def test_unpolled_completions_keep_the_send_queue_full() -> None:
    lab = lab_of(*[f"{_WRITE}{wr_id}" for wr_id in range(8)], "run")
    assert refusal(lab, f"{_WRITE}9").rule == "queue-full"
    well(lab, "poll_cq A.cq0")
    well(lab, f"{_WRITE}9")
    assert refusal(lab, f"{_WRITE}10").errno == 12


def test_destroy_cq_in_use_is_ebusy() -> None:
    lab = lab_of()
    assert refusal(lab, "destroy_cq A.cq0").errno == 16
    well(lab, "destroy_qp A.qp0")
    well(lab, "destroy_cq A.cq0")
    assert refusal(lab, "poll_cq A.cq0").errno == 14


def test_poll_cq_of_no_entries_is_no_error() -> None:
    """As the loops of libmlx5 and librxe: nothing is taken, and 0 is returned."""
    lab = lab_of(RECV, SEND, "run")
    for entries in (0, -1):
        assert well(lab, f"poll_cq A.cq0 num_entries={entries}").value == []
    assert lab.look("A.cq0.count") == 1


def test_cq_overrun_moves_its_qps_to_err() -> None:
    lab = lab_of(*[f"{_WRITE}{wr_id}" for wr_id in (1, 2)], pair="use rc_pair cqe=1")
    trip(lab, "run")
    assert lab.look("A.cq0.overruns") >= 1
    assert lab.look("A.qp0.state == ERR")
