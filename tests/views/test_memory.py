"""Memory: hex rows with the marks of an event, and whose bytes they are."""

from rdmalab.command import Noun, Thing
from rdmalab.spec.access import Access, MWType
from rdmalab.spec.records import Kind
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import memory
from rdmalab.views.memory import MwRow, OpenRow, WindowState, mw_row, open_rows
from tests.labs import well
from tests.pairs import Pair
from tests.views.looking import MR, PEER_MR, names_of
from tests.windows import BOUND, lab_with, thing, window


def test_a_region_and_its_domain() -> None:
    pair = Pair()
    row = memory.mr_row(pair.world, names_of(pair), MR)
    assert (row.name, row.length, row.lkey, row.pd) == ("A.mr0", 1 << 16, pair.a.mr.lkey, "A.pd0")
    domain = memory.pd_row(pair.world, names_of(pair), Thing(Noun.PD, "A", 1))
    assert (domain.mrs, domain.qps) == (1, 1)


def test_what_an_event_wrote_is_marked() -> None:
    pair = Pair()
    pair.a.poke(0, b"hello")
    pair.a.issue(WROpcode.RDMA_WRITE, 5, to=14)
    pair.world.run(2)
    first, second = memory.hex_rows(pair.world, PEER_MR, 0, 32)
    assert (first.written, second.written, first.read) == ((14, 15), (0, 1, 2), ())
    assert second.text.startswith("+010[6c 6c 6f]00 00 ")
    assert second.text.endswith("|llo.............|")


def test_what_an_earlier_event_read_is_marked_too() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 5, at=3)
    pair.world.run(1)
    event = pair.world.event
    pair.run()
    (row,) = memory.hex_rows(pair.world, MR, 0, 16, event)
    assert row.read == (3, 4, 5, 6, 7)
    (row,) = memory.hex_rows(pair.world, MR, 0, 16)
    assert row.read == ()


def test_what_the_application_wrote_is_marked_as_written() -> None:
    pair = Pair()
    pair.world.begin_event()
    pair.world.trace.record(Kind.HOST_WROTE, "A", MR.number, pair.a.mr.addr, 2)
    (row,) = memory.hex_rows(pair.world, MR, 0, 16)
    assert row.written == (0, 1)


def test_only_the_rows_asked_of_a_huge_region_are_read() -> None:
    pair = Pair(mr_bytes=2**31)
    end = 2**31 - 8
    rows = memory.hex_rows(pair.world, MR, end - 20, 2**31 + 100)
    assert [row.offset for row in rows] == [end - 24, end - 8]
    assert [len(row.octets) for row in rows] == [16, 16]
    assert memory.octets(pair.world, MR, end, 2**31 + 5) == bytes(8)


def test_a_row_at_the_ragged_end_is_short() -> None:
    pair = Pair(mr_bytes=20)
    rows = memory.hex_rows(pair.world, MR, 0, 20)
    assert [len(row.octets) for row in rows] == [16, 4]
    assert len({row.text.index("|") for row in rows}) == 1


def test_buffers_belong_to_the_hca_until_their_request_completes() -> None:
    pair = Pair()
    pair.a.recv(100, wr_id=3, at=1000)
    pair.a.issue(WROpcode.RDMA_WRITE, 64, wr_id=7, at=8)
    pair.a.issue(WROpcode.RDMA_WRITE, 8, wr_id=8, flags=SendFlags.INLINE | SendFlags.SIGNALED)
    send, recv = memory.owned_rows(pair.world, names_of(pair), MR)
    assert send.text == "[8:72] HCA until A.qp0 wr7 completes: do not modify"
    assert recv.text == "[1000:1100] HCA until A.qp0 wr3 completes: do not read"
    pair.run()
    (row,) = memory.owned_rows(pair.world, names_of(pair), MR)
    assert (row.queue, row.wr_id) == ("rq", 3)


def row_of(lab) -> MwRow:  # type: ignore[no-untyped-def]
    return mw_row(lab.session.world, lab.session.names, thing(lab, "B.mw0"))


def test_a_window_before_during_and_after() -> None:
    lab = lab_with()
    row = row_of(lab)
    assert (row.state, row.mr, row.start, row.length) == (WindowState.FREE, None, None, 0)
    assert (row.type, row.pd, row.rkey) == (MWType.TYPE_2, "B.pd0", window(lab).rkey)
    well(lab, BOUND.replace("REMOTE_ATOMIC", "REMOTE_READ"))
    assert row_of(lab).state is WindowState.FREE  # posted is not done
    well(lab, "run")
    row = row_of(lab)
    assert (row.state, row.mr, row.start, row.length) == (WindowState.BOUND, "B.mr1", 64, 64)
    assert (row.access, row.qp) == (Access.REMOTE_WRITE | Access.REMOTE_READ, "B.qp0")
    assert row.rkey == window(lab).rkey
    well(lab, "post_send B.qp0 opcode=LOCAL_INV invalidate_rkey=B.mw0")
    well(lab, "run")
    assert row_of(lab).state is WindowState.FREE


def test_the_windows_on_a_region() -> None:
    lab = lab_with(BOUND)
    world, names = lab.session.world, lab.session.names
    (row,) = open_rows(world, names, thing(lab, "B.mr1"))
    rights = Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
    assert row == OpenRow(64, 128, "B.mw0", rights, window(lab).rkey)
    assert row.text.startswith(f"[64:128] open by rkey {row.rkey:#x} of B.mw0: REMOTE_WRITE|")
    assert open_rows(world, names, thing(lab, "B.mr0")) == []
