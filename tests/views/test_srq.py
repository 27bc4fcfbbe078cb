"""Shared receive queues as rows: numbers, and who took which receive."""

from tests.labs import well
from tests.sharing import ask, send, shared, stock, xrc


def test_the_numbers_add_up() -> None:
    lab = shared(qps=1)
    stock(lab, 1, 2, 3)
    well(lab, "modify_srq B.srq0 srq_limit=1")
    send(lab, "A.qp1")
    fields = ("count", "used", "free", "capacity", "total", "limit", "armed", "users", "error")
    assert [ask(lab, f"B.srq0.{f}") for f in fields] == [2, 3, 5, 8, 3, 1, True, 1, False]


def test_who_took_which() -> None:
    lab = shared(qps=2)
    stock(lab, 1, 2, 3)
    send(lab, "A.qp2")
    send(lab, "A.qp1")
    assert [ask(lab, f"B.srq0.recv_wr[{n}].qp") for n in (1, 2, 3)] == ["B.qp2", "B.qp1", ""]
    rows = [getattr(row, "text", "") for row in well(lab, "show B.srq0").value.rows[1:]]
    assert [text.split(" ev")[0] for text in rows] == [
        "wr1 64 B taken by B.qp2", "wr2 64 B taken by B.qp1", "wr3 64 B waits",
    ]  # fmt: skip


def test_a_wr_id_used_again_means_the_newest() -> None:
    lab = shared(qps=1)
    stock(lab, 1)
    send(lab, "A.qp1")
    stock(lab, 1)
    assert (ask(lab, "B.srq0.recv_wr[1].qp"), ask(lab, "B.srq0.recv_wr[1].serial")) == ("", 1)


def test_a_receive_of_another_queue_is_not_among_them() -> None:
    lab = shared("post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", qps=1)
    stock(lab, 2)
    send(lab, "A.qp0")
    send(lab, "A.qp1")
    assert len(well(lab, "show B.srq0").value.rows) == 2


def test_the_log_names_srq_and_qp_of_a_receive() -> None:
    lab = shared(qps=1)
    stock(lab, 5)
    send(lab, "A.qp1")
    lines = [row.text for row in well(lab, "show log last=40").value.rows]
    assert "B.srq0  got wr5, 64 B" in lines
    assert "B.qp1  took wr5, 64 B of B.srq0, for an arriving message" in lines


def test_buffers_in_a_shared_queue_belong_to_the_hca() -> None:
    lab = shared(qps=1)
    stock(lab, 5)
    rows = well(lab, "show B.mr0").value.rows
    assert any("B.srq0" in getattr(row, "text", "") for row in rows)


def test_its_receive_queue_is_empty_when_its_srq_is() -> None:
    lab = shared(qps=1)
    assert ask(lab, "B.qp1.rq_empty") is True
    stock(lab, 5)
    assert ask(lab, "B.qp1.rq_empty") is False
    assert [ask(xrc(), f"{qp}.rq_empty") for qp in ("A.qp1", "B.qp1")] == [False, False]
