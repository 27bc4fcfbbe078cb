"""Memory windows as rows: bound, free, and those on a region."""

from rdmalab.spec.access import Access, MWType
from rdmalab.views.windows import MwRow, OpenRow, WindowState, mw_row, open_rows
from tests.labs import well
from tests.windows import BOUND, lab_with, thing, window


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
