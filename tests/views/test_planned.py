"""The future: what is planned is what happens next."""

from rdmalab.spec.records import Kind
from rdmalab.spec.work import WROpcode
from rdmalab.views import planned
from rdmalab.views.planned import PlannedKind
from tests.labs import lab_of
from tests.pairs import Pair
from tests.views.looking import names_of


def plans_of(pair: Pair) -> list[planned.PlannedRow]:
    return planned.planned_rows(pair.world, names_of(pair))


def test_nothing_is_planned_in_an_idle_world() -> None:
    assert plans_of(Pair()) == []


def test_a_posted_request_will_be_sent_then_arrive_while_a_timer_runs() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 8, wr_id=7)
    (send,) = plans_of(pair)
    assert (send.plan, send.qp) == (PlannedKind.SEND, "A.qp0")
    assert send.sentence == "sends a packet of wr7 RDMA_WRITE 8 B"
    pair.world.run(1)
    arrival, timer = plans_of(pair)
    assert (arrival.plan, arrival.node, arrival.qp) == (PlannedKind.ARRIVAL, "B", "B.qp0")
    assert arrival.number is not None
    assert pair.world.trace.records[arrival.number][3] is Kind.PACKET_SENT
    assert (timer.plan, timer.qp) == (PlannedKind.ACK_TIMER, "A.qp0")
    pair.world.run(1)
    assert plans_of(pair)[0].sentence == "sends an answer"


def test_after_a_reset_the_turn_of_the_port_sends_nothing() -> None:
    lab = lab_of("post_send A.qp0 opcode=SEND sg=A.mr0[0:8]", "modify_qp A.qp0 state=RESET")
    (turn,) = planned.planned_rows(lab.session.world, lab.session.names)
    assert (turn.plan, turn.qp) == (PlannedKind.NOTHING, "")
    assert turn.sentence == "has nothing to send"


def test_an_rnr_wait_plans_the_next_try() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.SEND, 8)
    while pair.a.qp.comp.rnr_until_ns is None:
        assert pair.world.step()
    (plan,) = plans_of(pair)
    assert (plan.plan, plan.at_ns) == (PlannedKind.RNR_TIMER, pair.a.qp.comp.rnr_until_ns)
    assert plan.text.endswith("A.qp0 RNR timer expires, retransmits from psn=0 (planned)")


def test_the_soonest_plan_is_when_the_agenda_moves_next() -> None:
    pair = Pair()
    pair.b.recv(4096)
    pair.a.issue(WROpcode.SEND, 1000)
    pair.a.issue(WROpcode.RDMA_READ, 1000)
    while (plans := plans_of(pair)) and pair.world.agenda.next_ns() is not None:
        assert plans[0].at_ns == pair.world.agenda.next_ns()
        pair.world.step()
        assert pair.world.now_ns == plans[0].at_ns


def test_planned_rows_at_one_time_are_in_order_of_execution() -> None:
    lab = lab_of("program B.first lines={poll_cq B.cq0}", "program A.second lines={stop}")
    rows = planned.planned_rows(lab.session.world, lab.session.names)
    assert [row.qp for row in rows] == ["B.first", "A.second"]
    assert rows[0].sentence == "runs line 1: poll_cq B.cq0"
    assert rows[0].plan is PlannedKind.LINE
