"""A device is closed with all it holds, comes back empty, or dies without a word but one."""

from rdmalab.command import Noun
from rdmalab.hca.context import TEARDOWN
from rdmalab.lab import Lab
from tests.labs import RECV, SEND, lab_of, refusal, well


def test_close_device_destroys_every_kind_of_object() -> None:
    assert {*TEARDOWN} == {*Noun} - {Noun.NODE, Noun.PROGRAM}


def test_close_device_frees_all_without_ebusy() -> None:
    lab = lab_of(RECV, SEND, "create_ah A.ah0 pd=A.pd0 to=B", "close_device A")
    hca = lab.session.world.nodes["A"]
    assert not any(table.items for table in hca.tables.values())
    assert not hca.lkeys
    assert not hca.rkeys
    assert refusal(lab, "alloc_pd A.pd1").rule == "device-closed"
    assert refusal(lab, "close_device A").rule == "device-closed"
    well(lab, "run 50us")
    well(lab, "open_device A")
    well(lab, "alloc_pd A.pd1")


def test_device_fatal_sends_and_receives_nothing() -> None:
    lab = lab_of(RECV, SEND, "device_fatal A", "run 50us")
    assert (lab.look("A.cq0.count"), lab.look("A.device.state")) == (0, "dead")
    for line in (SEND, "post_recv A.qp0 sg=A.mr0[0:4]", "modify_qp A.qp0 state=ERR",
                 "query_qp A.qp0", "query_port A", "alloc_pd A.pd1", "open_device A"):  # fmt: skip
        assert refusal(lab, line).rule == "device-fatal", line
    for line in ("link up", "poll_cq A.cq0", "destroy_qp A.qp0", "close_device A", "open_device A"):
        well(lab, line)
    assert lab.look("A.port.state").name == "ACTIVE"


def test_device_fatal_takes_no_srq_receive() -> None:
    lab = lab_of("device_fatal B", pair="use srq_pair")
    assert refusal(lab, "post_srq_recv B.srq0 sg=B.mr0[0:64]").rule == "device-fatal"


def test_device_fatal_is_not_seen_by_post_send_of_mlx5() -> None:
    lab = Lab(profile="mlx5")
    well(lab, "use rc_pair")
    well(lab, "device_fatal A")
    for line in (SEND, "post_recv A.qp0 sg=A.mr0[0:4]", "run 50us"):
        well(lab, line)
    assert lab.look("A.cq0.total") == 0
    for line in ("query_qp A.qp0", "alloc_pd A.pd1"):
        assert refusal(lab, line).rule == "device-fatal", line


def test_device_fatal_of_mlx5_flushes_no_receive() -> None:
    lab = Lab(profile="mlx5")
    for line in ("use rc_pair", "modify_qp A.qp0 state=ERR", "device_fatal A",
                 RECV.replace("B.", "A."), "run 50us"):  # fmt: skip
        well(lab, line)
    assert lab.look("A.cq0.total") == 0
