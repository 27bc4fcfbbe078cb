"""The rows of a ladder: every packet and its end, waits, what is left out, what is in flight."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.export.ladder_plan import MOST_FIRST, MOST_LAST, LadderPlan, plan
from rdmalab.lab import Lab
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow, rows
from tests.labs import RECV, SEND, lab_of


def planned(lab: Lab, first: int = 0, in_flight: tuple[int, ...] = ()) -> LadderPlan:
    return plan(lab.session.world, lab.session.names, first, in_flight)


def records(lab: Lab) -> int:
    return len(lab.session.world.trace.records)


def test_a_send_and_its_ack() -> None:
    lab = lab_of()
    first = records(lab)
    lab.do(RECV)
    lab.do(SEND)
    lab.run()
    found = planned(lab, first)
    send, ack = found.arrows
    assert (send.packet.label, ack.packet.label) == ("SEND_ONLY", "ACK")
    assert send.start == 0
    assert send.ends == [("B", 1)]
    assert ack.ends == [("A", 3)]
    assert [r.text for r in found.rows[1].remarks] == ["B.cq0: added wr2 RECV SUCCESS"]
    assert found.title.startswith("2 packets between A and B, ")
    assert found.nodes == ["A", "B"]
    assert not found.in_flight


def test_a_packet_in_flight_is_in_two_drawings() -> None:
    lab = lab_of()
    lab.do(RECV)
    lab.do(SEND)
    first = records(lab)
    lab.do("until wire.count(opcode=SEND_ONLY) == 1")
    before = planned(lab, first)
    assert before.arrows[0].packet.fate is Fate.IN_FLIGHT
    assert before.arrows[0].ends == []
    second = records(lab)
    lab.run()
    after = planned(lab, second, tuple(before.in_flight))
    assert after.arrows[0].start is None
    assert after.arrows[0].ends == [("B", 0)]
    assert len(planned(lab, second).arrows) == 1  # not given: only the ACK is known


def test_a_wait_has_a_row_and_a_lost_packet_no_end() -> None:
    lab = lab_of()
    lab.do("fault drop A->B nth=1")
    lab.do(RECV)
    first = records(lab)
    lab.do(SEND)
    lab.run()
    found = planned(lab, first)
    lost = found.arrows[0]
    assert lost.packet.fate is Fate.LOST
    assert lost.ends == []
    assert "later" in found.rows[1].gap
    assert "A.qp0: its ack timer fired" in [r.text for row in found.rows for r in row.remarks]


def test_a_multicast_packet_arrives_more_than_once() -> None:
    lab = Lab(nodes={"A": "strict", "B": "strict", "C": "strict"})
    for node in "ABC":
        for line in (
            f"alloc_pd {node}.pd0", f"create_cq {node}.cq0 cqe=8",
            f"reg_mr {node}.mr0 pd={node}.pd0 length=256 access=LOCAL_WRITE",
            f"create_qp {node}.qp0 pd={node}.pd0 qp_type=UD send_cq={node}.cq0 recv_cq={node}.cq0",
            f"modify_qp {node}.qp0 state=INIT pkey_index=0 port_num=1 qkey=7",
            f"modify_qp {node}.qp0 state=RTR", f"modify_qp {node}.qp0 state=RTS sq_psn=0",
        ):  # fmt: skip
            assert not lab.do(line)[-1].failed, line
    for node in "BC":
        assert not lab.do(f"attach_mcast {node}.qp0 gid=::ffff:224.1.1.1 lid=0")[-1].failed
        lab.do(f"post_recv {node}.qp0 sg={node}.mr0[0:128]")
    made = lab.do(
        "create_ah A.ah0 pd=A.pd0 is_global=1 dgid=::ffff:224.1.1.1 sgid_index=1 "
        "hop_limit=1 port_num=1"
    )
    assert not made[-1].failed, made[-1]
    sent = lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=0xffffff "
                  "remote_qkey=7")  # fmt: skip
    assert not sent[-1].failed, sent[-1]
    lab.run()
    (arrow,) = planned(lab).arrows
    assert sorted(node for node, _ in arrow.ends) == ["B", "C"]


def test_remark_of_a_refused_call_has_no_rule_name() -> None:
    lab = lab_of()
    lab.do("modify_qp A.qp0 state=INIT")
    lines = [remark.text for row in planned(lab).rows for remark in row.remarks]
    assert "A: refused a call: RTS → INIT is not a legal transition" in lines


def test_a_program_that_polls_has_one_row_for_its_line() -> None:
    lab = lab_of()
    lab.do(RECV)
    first = records(lab)
    lab.start("A.tx", [SEND, "poll A.cq0"])
    lab.run()
    lines = [r.text for row in planned(lab, first).rows for r in row.remarks]
    assert lines.count("A.tx: poll A.cq0") == 1


def test_a_long_trace_is_shortened_and_says_by_how_much() -> None:
    lab = lab_of()
    lab.do("; ".join([SEND] * 3))
    lab.do("run 60ms")
    found = planned(lab)
    drawn = [row for row in found.rows if not row.gap]
    assert MOST_LAST < len(drawn) <= MOST_FIRST + MOST_LAST
    (gap,) = [row.gap for row in found.rows if "left out" in row.gap]
    assert int(gap.split()[0].replace(",", "")) > 10
    assert len(list(found.lines())) < 200


LINES = st.lists(
    st.sampled_from([
        SEND, RECV, "run 1us", "run 500ns", "run 20us", "fault drop A->B chance=0.5",
        "fault duplicate A->B nth=1", "fault reorder A->B nth=1 behind=1", "step packet",
        "fault clear",
        "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED",
        "post_send B.qp0 opcode=RDMA_WRITE sg=B.mr0[0:3000] remote=A.mr0[0]", "run 2ms",
    ]),
    max_size=12,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(LINES)
def test_every_packet_is_drawn_once_and_ends_as_the_ladder_says(lines: list[str]) -> None:
    """Each drawing begins where the one before has ended; together they have each packet."""
    lab = lab_of()
    first = records(lab)
    flying: tuple[int, ...] = ()
    begun: list[int] = []
    ended: list[int] = []
    for line in lines:
        for reply in lab.do(line):
            if reply.travel is not None:
                reply.travel.finish()
        found = planned(lab, first, flying)
        first, flying = records(lab), tuple(found.in_flight)
        if not any("left out" in row.gap for row in found.rows):
            begun += [a.packet.number for a in found.arrows if a.start is not None]
            ended += [a.packet.number for a in found.arrows if a.ends]
            for arrow in found.arrows:
                assert all(at >= (arrow.start or 0) for _, at in arrow.ends)
    packets = [r for r in rows(lab.session.world, lab.session.names, last=None)
               if isinstance(r, PacketRow)]  # fmt: skip
    arrived = (Fate.RECEIVED, Fate.REFUSED, Fate.DROPPED)
    assert len(set(begun)) == len(begun)
    if len(packets) < MOST_LAST:
        assert sorted(begun) == [row.number for row in packets]
        assert sorted(ended) == [row.number for row in packets if row.fate in arrived]
