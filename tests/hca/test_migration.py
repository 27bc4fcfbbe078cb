"""Automatic path migration: two paths between two InfiniBand ports, and what becomes of each."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.command import Refused
from rdmalab.hca.ah import ah_attr_of, alt_ah_attr_of
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.profiles import MLX5, STRICT
from rdmalab.spec.records import Kind
from rdmalab.spec.states import MigState, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.wire.packet import Packet
from rdmalab.world.faults import Chance, Drop, Match
from tests.each import examples
from tests.pairs import End, Pair

SEND, READ = WROpcode.SEND, WROpcode.RDMA_READ
MIGRATED, REARM, ARMED = MigState.MIGRATED, MigState.REARM, MigState.ARMED
PATH_MIG, PATH_MIG_ERR = AsyncEvent.PATH_MIG, AsyncEvent.PATH_MIG_ERR
OK = WCStatus.SUCCESS
FIRST, SECOND = (2, 4), (3, 5)  # LIDs of A and B on each path


def infiniband(**options: Any) -> Pair:
    return Pair(**{"link_layer": LinkLayer.INFINIBAND, "timeout": 5, "retry_cnt": 2, **options})


def load(end: End, **changes: Any) -> None:
    """Load the other path and set REARM."""
    given: dict[str, Any] = {
        "alt_ah_attr": alt_ah_attr_of(end.peer.hca), "alt_pkey_index": 0, "alt_port_num": 1,
        "alt_timeout": 6, "path_mig_state": REARM,
    }  # fmt: skip
    end.modify(**{**given, **changes})


def armed(**options: Any) -> Pair:
    """Both ends have a path loaded, and one message has told them so."""
    pair = infiniband(**options)
    for end in (pair.a, pair.b):
        load(end)
    assert states(pair) == (REARM, REARM)
    completions_of(pair, 1)
    assert states(pair) == (ARMED, ARMED)
    return pair


def completions_of(pair: Pair, wr_id: int) -> list[tuple[int, WCStatus]]:
    """A SEND from A to B; what A is told."""
    pair.b.recv(64, wr_id=wr_id)
    pair.a.issue(SEND, 64, wr_id=wr_id)
    pair.run()
    return pair.a.sent()


def states(pair: Pair) -> tuple[MigState, MigState]:
    a, b = (MigState(end.qp.attr.path_mig_state or 0) for end in (pair.a, pair.b))
    return a, b


def cut(pair: Pair, *lids: int) -> None:
    """No packet to these LIDs arrives any more."""
    for lid in lids:
        number = pair.world.network.cable.next_fault
        pair.world.network.cable.next_fault += 1
        pair.world.network.set_fault(Drop(number, Match(dlid=lid)))


def sent_by(pair: Pair, node: str) -> list[Packet]:
    return [seen.a for seen in pair.records(Kind.PACKET_SENT) if seen.node == node]


# --------------------------------------------------------------------------- ARMED by agreement
def test_a_packet_without_mig_req_arms_both_ends() -> None:
    pair = armed()
    request, answer = sent_by(pair, "A")[0], sent_by(pair, "B")[0]
    assert (request.flow.src, request.flow.dst) == FIRST
    assert (request.migrated, answer.migrated) == (False, False)
    changes = [(s.node, s.a, s.b) for s in pair.records(Kind.MIGRATION_CHANGED)]
    assert changes == [("B", REARM, ARMED), ("A", REARM, ARMED)]
    assert pair.a.events() == pair.b.events() == []


def test_one_end_alone_stays_in_rearm() -> None:
    pair = infiniband()
    load(pair.a)
    assert completions_of(pair, 1) == [(1, OK)]
    assert states(pair) == (REARM, MIGRATED)
    assert [packet.migrated for packet in sent_by(pair, "B")] == [True]


def test_mig_req_is_set_from_the_first_packet() -> None:
    pair = infiniband()
    completions_of(pair, 1)
    assert all(packet.migrated for node in "AB" for packet in sent_by(pair, node))


# --------------------------------------------------------------------------- the path is cut
def test_when_retries_are_exhausted_the_connection_migrates() -> None:
    pair = armed()
    cut(pair, *FIRST)
    assert completions_of(pair, 2) == [(2, OK)]
    assert pair.b.received() == [(1, OK), (2, OK)]
    assert states(pair) == (MIGRATED, MIGRATED)
    assert (pair.a.events(), pair.b.events()) == ([PATH_MIG], [PATH_MIG])
    tries = [(p.flow.src, p.flow.dst, p.migrated) for p in sent_by(pair, "A")][1:]
    assert tries == [(*FIRST, False)] * 3 + [(*SECOND, True)]
    answer = sent_by(pair, "B")[-1]
    assert (answer.flow.dst, answer.flow.src, answer.migrated) == (*SECOND, True)


def test_the_alternate_attributes_become_those_of_the_path() -> None:
    pair = infiniband()
    pair.a.hca.pkeys[1] = pair.b.hca.pkeys[1] = 0x8002
    for end in (pair.a, pair.b):
        load(end, alt_pkey_index=1)
    completions_of(pair, 1)
    cut(pair, *FIRST)
    assert completions_of(pair, 2) == [(2, OK)]
    attr = pair.a.qp.attr
    assert attr.ah_attr == AhAttr(dlid=5, src_path_bits=1, port_num=1)
    assert (attr.pkey_index, attr.port_num, attr.timeout) == (1, 1, 6)
    assert sent_by(pair, "A")[-1].pkey == 0x8002
    assert attr.alt_ah_attr == attr.ah_attr  # it stays loaded until another one is


def test_a_lost_response_migrates_too() -> None:
    pair = armed()
    cut(pair, 2)
    assert completions_of(pair, 2) == [(2, OK)]
    assert len(pair.b.received()) == 2
    assert states(pair) == (MIGRATED, MIGRATED)


def test_a_read_whose_responses_are_lost_is_read_on_the_other_path() -> None:
    pair = armed()
    cut(pair, 2)
    pair.a.issue(READ, 600, wr_id=5)
    pair.run()
    assert pair.a.sent() == [(5, OK)]


def test_without_an_alternate_path_retries_end_in_an_error() -> None:
    pair = infiniband()
    cut(pair, *FIRST)
    assert completions_of(pair, 1) == [(1, WCStatus.RETRY_EXC_ERR)]
    assert pair.a.events() == []


def test_in_rearm_retries_end_in_an_error() -> None:
    pair = infiniband()
    load(pair.a)
    cut(pair, *FIRST)
    assert completions_of(pair, 1) == [(1, WCStatus.RETRY_EXC_ERR)]


def test_when_both_paths_are_cut_it_migrates_and_fails_there() -> None:
    pair = armed()
    cut(pair, *FIRST, *SECOND)
    assert completions_of(pair, 2) == [(2, WCStatus.RETRY_EXC_ERR)]
    assert (pair.a.events(), pair.b.events()) == ([PATH_MIG], [])
    assert len(sent_by(pair, "A")) == 1 + 3 + 3  # the counter starts again on the new path


def test_migration_to_a_path_that_was_not_loaded_gets_no_answer() -> None:
    pair = infiniband()
    for end in (pair.a, pair.b):
        end.modify(path_mig_state=REARM)
    completions_of(pair, 1)
    cut(pair, *FIRST)
    assert completions_of(pair, 2) == []  # and alt_timeout is 0: it waits for ever
    assert pair.records(Kind.PACKET_LOST)[-1].b == "no port has the LID 0"


def test_after_a_migration_another_path_can_be_loaded() -> None:
    pair = armed()
    cut(pair, *FIRST)
    completions_of(pair, 2)
    pair.world.network.cable.faults.clear()
    for end in (pair.a, pair.b):
        load(end, alt_ah_attr=ah_attr_of(end.peer.hca))
    assert completions_of(pair, 3) == [(3, OK)]
    assert states(pair) == (ARMED, ARMED)
    cut(pair, *SECOND)
    assert completions_of(pair, 4) == [(4, OK)]
    assert (sent_by(pair, "A")[-1].flow.src, sent_by(pair, "A")[-1].flow.dst) == FIRST


def test_uc_migrates_with_its_peer() -> None:
    pair = infiniband(qp_type=QPType.UC)
    for end in (pair.a, pair.b):
        load(end)
        end.recv(64, wr_id=1)
        end.recv(64, wr_id=2)
    for end in (pair.a, pair.b):
        end.issue(SEND, 8)
        pair.run()
    assert states(pair) == (ARMED, ARMED)
    pair.a.modify(path_mig_state=MIGRATED)
    pair.a.issue(SEND, 8)
    pair.run()
    assert states(pair) == (MIGRATED, MIGRATED)
    assert pair.b.received() == [(1, OK), (2, OK)]


# --------------------------------------------------------------------------- software migrates
def test_modify_qp_migrated_takes_the_peer_along() -> None:
    pair = armed()
    pair.a.modify(path_mig_state=MIGRATED)
    assert states(pair) == (MIGRATED, ARMED)
    change = pair.records(Kind.MIGRATION_CHANGED)[-1]
    assert (change.node, change.a, change.b) == ("A", ARMED, MIGRATED)
    assert completions_of(pair, 2) == [(2, OK)]
    assert states(pair) == (MIGRATED, MIGRATED)
    assert (pair.a.events(), pair.b.events()) == ([PATH_MIG], [PATH_MIG])


def test_an_answer_takes_the_requester_along() -> None:
    pair = armed()
    pair.b.recv(64, wr_id=2)
    pair.a.issue(SEND, 64, wr_id=2)
    assert pair.world.run(1) == 1  # the request has left on the first path
    pair.b.modify(path_mig_state=MIGRATED)
    pair.run()
    assert pair.a.sent() == [(2, OK)]
    assert states(pair) == (MIGRATED, MIGRATED)


@pytest.mark.parametrize("profile", [STRICT, MLX5], ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    ("now", "wanted"), [(MIGRATED, ARMED), (REARM, ARMED), (ARMED, REARM), (REARM, MIGRATED)]
)
def test_path_mig_state_that_only_the_device_sets_is_refused(
    profile: Any, now: MigState, wanted: MigState
) -> None:
    pair = armed(profile=profile) if now is ARMED else infiniband(profile=profile)
    if now is REARM:
        load(pair.a)
    with pytest.raises(Refused) as refused:
        pair.a.modify(path_mig_state=wanted)
    assert refused.value.rule == "mig-state"
    assert states(pair)[0] is now


def test_rearm_needs_rts() -> None:
    pair = infiniband()
    pair.a.modify(qp_state=QPState.SQD)
    with pytest.raises(Refused) as refused:
        load(pair.a)
    assert refused.value.rule == "mig-state"
    load(pair.a, qp_state=QPState.RTS)
    assert states(pair)[0] is REARM


def test_path_mig_state_migrated_while_migrated() -> None:
    pair = infiniband()
    pair.a.modify(path_mig_state=MIGRATED)
    assert states(pair)[0] is MIGRATED
    assert pair.a.events() == []


def test_a_roce_port_keeps_the_alternate_path_and_never_migrates() -> None:
    pair = Pair(timeout=5, retry_cnt=0)
    pair.a.modify(path_mig_state=ARMED)
    assert states(pair)[0] is ARMED
    pair.world.network.set_link(up=False)
    assert completions_of(pair, 1) == [(1, WCStatus.RETRY_EXC_ERR)]


# --------------------------------------------------------------------------- in SQD
def test_another_path_is_loaded_in_sqd_and_counts_when_the_queue_resumes() -> None:
    pair = armed()
    pair.a.modify(qp_state=QPState.SQD)
    attr = AhAttr(dlid=4, src_path_bits=1, port_num=1)
    load(pair.a, alt_ah_attr=attr, qp_state=QPState.SQD, path_mig_state=None)
    assert (states(pair)[0], pair.a.qp.attr.alt_ah_attr) == (ARMED, attr)
    pair.a.modify(qp_state=QPState.RTS)
    alternate = pair.a.qp.alternate
    assert alternate is not None
    assert (alternate.flow.src, alternate.flow.dst) == (3, 4)


def test_software_migrates_in_sqd_and_the_requests_that_wait_take_the_other_path() -> None:
    pair = armed()
    pair.a.modify(qp_state=QPState.SQD)
    pair.b.recv(64, wr_id=2)
    pair.a.issue(SEND, 64, wr_id=2)
    pair.a.modify(qp_state=QPState.SQD, path_mig_state=MIGRATED)
    assert (states(pair), pair.a.events()) == ((MIGRATED, ARMED), [PATH_MIG])
    pair.a.modify(qp_state=QPState.RTS)
    pair.run()
    assert pair.a.sent() == [(2, OK)]
    last = sent_by(pair, "A")[-1]
    assert (last.flow.src, last.flow.dst, last.migrated) == (*SECOND, True)
    assert states(pair) == (MIGRATED, MIGRATED)


@pytest.mark.parametrize("to", [None, QPState.SQD])
def test_migration_with_or_without_the_state_is_the_same_transition(to: QPState | None) -> None:
    pair = infiniband()
    pair.a.modify(qp_state=QPState.SQD)
    load(pair.a, qp_state=to, path_mig_state=None)
    assert pair.a.qp.alternate is not None
    with pytest.raises(Refused) as refused:
        pair.a.modify(qp_state=to, path_mig_state=REARM)
    assert refused.value.rule == "mig-state"


def test_a_primary_and_an_alternate_path_in_one_modify_qp() -> None:
    """SQD → SQD takes AV, PORT, TIMEOUT and ALT_PATH in one call."""
    pair = infiniband()
    pair.a.modify(qp_state=QPState.SQD)
    hca = pair.b.hca
    load(
        pair.a, path_mig_state=None, qp_state=QPState.SQD, ah_attr=alt_ah_attr_of(hca),
        alt_ah_attr=ah_attr_of(hca), port_num=1, timeout=7,
    )  # fmt: skip
    path, alternate = pair.a.qp.path, pair.a.qp.alternate
    assert path is not None
    assert alternate is not None
    assert (path.flow.src, path.flow.dst) == SECOND
    assert (alternate.flow.src, alternate.flow.dst) == FIRST


# --------------------------------------------------------------------------- refused requests
def test_a_migration_request_on_a_path_that_is_not_loaded_is_path_mig_err() -> None:
    pair = infiniband()
    load(pair.a)
    load(pair.b, alt_ah_attr=AhAttr(dlid=9, port_num=1))  # A has no LID 9
    completions_of(pair, 1)
    cut(pair, *FIRST)
    assert completions_of(pair, 2) == [(2, WCStatus.RETRY_EXC_ERR)]
    assert set(pair.b.events()) == {PATH_MIG_ERR}
    assert states(pair) == (MIGRATED, ARMED)
    assert pair.b.qp.state is QPState.RTS


def test_a_migration_request_to_a_qp_that_is_not_armed_is_path_mig_err() -> None:
    pair = infiniband()
    load(pair.a)
    load(pair.b)
    pair.b.issue(SEND, 8)  # arms A
    pair.a.recv(64, wr_id=7)
    cut(pair, 4)  # and its answer, which would arm B, is lost
    pair.world.run(1_000, pair.world.now_ns + 10_000)
    assert states(pair) == (ARMED, REARM)
    pair.a.modify(path_mig_state=MIGRATED)
    pair.b.recv(64)
    pair.a.issue(SEND, 8, wr_id=2)
    pair.run()
    assert PATH_MIG_ERR in pair.b.events()
    assert (2, WCStatus.RETRY_EXC_ERR) in pair.a.sent()


def test_another_pkey_on_the_alternate_path_is_path_mig_err() -> None:
    pair = infiniband()
    pair.a.hca.pkeys[1], pair.b.hca.pkeys[1] = 0x8002, 0x8003
    for end in (pair.a, pair.b):
        load(end, alt_pkey_index=1)
    completions_of(pair, 1)
    pair.a.modify(path_mig_state=MIGRATED)
    assert completions_of(pair, 2) == [(2, WCStatus.RETRY_EXC_ERR)]
    assert set(pair.b.events()) == {PATH_MIG_ERR}


def test_a_migrated_peer_does_not_disturb_a_qp_that_is_not_armed() -> None:
    pair = infiniband()
    load(pair.b)
    assert completions_of(pair, 1) == [(1, OK)]
    assert states(pair) == (MIGRATED, REARM)
    assert pair.b.events() == []


def test_packets_of_the_old_path_are_dropped_after_the_migration() -> None:
    pair = armed()
    pair.a.modify(path_mig_state=MIGRATED)
    pair.b.issue(SEND, 8)
    pair.a.recv(64)
    pair.world.run(3)
    dropped = [seen.b for seen in pair.records(Kind.PACKET_DROPPED)]
    assert dropped == ["wrong-source"]
    assert pair.a.events() == [PATH_MIG]


# --------------------------------------------------------------------------- whatever is lost
@settings(max_examples=examples(40))
@given(
    percent=st.integers(0, 100),
    seed=st.integers(0, 2**16),
    lengths=st.lists(st.integers(0, 900), min_size=1, max_size=6),
    opcodes=st.lists(st.sampled_from([SEND, READ, WROpcode.RDMA_WRITE]), min_size=6, max_size=6),
)
def test_whatever_the_first_path_loses_each_request_completes_once_and_in_order(
    percent: int, seed: int, lengths: list[int], opcodes: list[WROpcode]
) -> None:
    pair = armed(rnr_retry=7)
    for number, lid in enumerate(FIRST, 1):
        chance = Chance(percent * 10_000, seed, number)
        pair.world.network.set_fault(Drop(number, Match(dlid=lid, chance=chance)))
    for nth in range(len(lengths)):
        pair.b.recv(1000, wr_id=nth, at=1000 * nth)
    for nth, (length, opcode) in enumerate(zip(lengths, opcodes, strict=False)):
        pair.a.issue(opcode, length, wr_id=nth)
    pair.run()
    assert pair.a.sent() == [(nth, OK) for nth in range(len(lengths))]
    sends = sum(opcode is SEND for opcode in opcodes[: len(lengths)])
    assert pair.b.received() == [(1, OK), *[(nth, OK) for nth in range(sends)]]
    assert states(pair) in ((ARMED, ARMED), (MIGRATED, MIGRATED))


# --------------------------------------------------------------------------- the port of a path
@pytest.mark.parametrize("port", [0, 1])
def test_an_alternate_path_without_alt_port_num_is_refused_by_that_name(port: int) -> None:
    pair = infiniband()
    address = AhAttr(dlid=5, src_path_bits=1, port_num=port)
    with pytest.raises(Refused) as refused:
        pair.a.modify(alt_ah_attr=address, alt_pkey_index=0, alt_timeout=6)
    assert refused.value.rule == "attr-range"
    assert "alt_port_num=0" in refused.value.message
    assert "alt_port_num=1..1" in refused.value.legal


def test_port_0_in_the_address_of_an_alternate_path_is_refused() -> None:
    pair = infiniband()
    with pytest.raises(Refused) as refused:
        load(pair.a, alt_ah_attr=AhAttr(dlid=5, src_path_bits=1, port_num=0))
    assert refused.value.rule == "ah-port"
