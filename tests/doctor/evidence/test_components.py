"""Which things can have to do with each other, what is planned for them, when they changed last."""

from rdmalab.command import Thing
from rdmalab.doctor.evidence.components import component_of, last_change, planned
from rdmalab.lab import Lab
from rdmalab.world.event_queue import Door
from tests.doctor.asking import played

_SEND = "post_send A.qp{n} wr_id=7 opcode=SEND sg=A.mr{n}[0:64] flags=SIGNALED"
_BUSY = (
    "program A.busy lines={loop; post_send A.qp1 opcode=RDMA_WRITE flags=SIGNALED; poll A.cq1; end}"
)


def thing(lab: Lab, name: str) -> Thing:
    found = lab.session.names.find(name)
    assert found is not None
    return found


def names(lab: Lab, name: str) -> set[str]:
    """The names of the things of a component."""
    component = component_of(lab.session, thing(lab, name))
    return {lab.session.names.of(each) for each in component if each.node}


def test_a_pair_is_a_component_of_its_own() -> None:
    lab = played("use rc_pair", "use rc_pair")
    first = names(lab, "A.qp0")
    assert first == {f"{node}.{noun}0" for node in "AB" for noun in ("pd", "mr", "cq", "qp")}
    assert names(lab, "B.mr1") == {name.replace("0", "1") for name in first}


def test_one_domain_one_queue_and_one_thread_join_components() -> None:
    for line in (
        "create_qp A.qp9 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
        "program A.x lines={poll A.cq0; poll A.cq1}",
        "program A.x lines={wait B.qp1.state == ERR; poll A.cq0}",
        "program A.x lines={get_async_event A}",
    ):
        lab = played("use rc_pair", "use rc_pair", line)
        assert {"A.qp0", "A.qp1", "B.qp0"} <= names(lab, "A.qp0"), line


def test_datagrams_may_go_to_any_queue_pair_of_their_kind() -> None:
    lab = played("use ud_pair", "use ud_pair", "use rc_pair")
    assert {"A.qp0", "B.qp0", "A.qp1", "B.qp1"} <= names(lab, "A.qp0")
    assert "A.qp2" not in names(lab, "A.qp0")


def test_planned_events_of_a_component() -> None:
    lab = played("use rc_pair", "use rc_pair", _SEND.format(n=1), "run 500ns")
    session = lab.session
    ours, theirs = (component_of(session, thing(lab, name)) for name in ("A.qp0", "A.qp1"))
    assert planned(session.world, ours) == []
    assert {entry[2] for entry in planned(session.world, theirs)} == {Door.ARRIVAL, Door.TIMER}


def test_last_change_of_a_component() -> None:
    lab = played("use rc_pair rnr_retry=0", _SEND.format(n=0), "run", "poll_cq A.cq0")
    last = lab.session.world.event
    for line in ("use rc_pair", _BUSY, "run 2ms"):
        lab.do(line)
    session = lab.session
    component = component_of(session, thing(lab, "A.qp0"))
    assert session.world.event > 3_000
    found = last_change(session.history, component)
    assert found is not None
    assert last <= found < last + 2_048
    busy = component_of(session, thing(lab, "A.qp1"))
    assert (last_change(session.history, busy) or 0) > session.world.event - 2_048


def test_last_change_of_a_component_with_a_peer_at_an_unknown_address() -> None:
    lab = played("use rc_pair", "reset A.qp0", "modify_qp A.qp0 state=INIT port_num=1 pkey_index=0",
                 "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
                 "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0"
                 " max_dest_rd_atomic=1 min_rnr_timer=12"
                 " ah_attr={is_global=1 dgid=10.0.0.7 sgid_index=1 hop_limit=64 port_num=1}",
                 _BUSY.replace("qp1", "qp2"), "use rc_pair", "use rc_pair", "run 5000")  # fmt: skip
    component = component_of(lab.session, thing(lab, "A.qp0"))
    assert "" in {each.node for each in component}
    assert last_change(lab.session.history, component) != 0
