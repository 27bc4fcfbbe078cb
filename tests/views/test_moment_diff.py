"""Differences: every field of every thing, bytes in runs, and what is in one moment only."""

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.hca.memory import PAGE
from rdmalab.lab import Lab
from rdmalab.views.changes import Facts, difference_rows, facts
from tests.labs import lab_of, well


def taken(lab: Lab) -> Facts:
    return facts(lab.session.world, lab.session.names)


def differences(lab: Lab, before: Facts, after: Facts) -> list[str]:
    rows = difference_rows(lab.session.world, lab.session.names, before, after)
    return [row.text for row in rows]


def test_the_same_moment_does_not_differ() -> None:
    lab = lab_of()
    assert differences(lab, taken(lab), taken(lab)) == []


def test_what_is_new_and_what_is_gone() -> None:
    lab = lab_of()
    before = taken(lab)
    well(lab, "alloc_pd A.pd1")
    after = taken(lab)
    new, gone = differences(lab, before, after), differences(lab, after, before)
    assert "A.pd1 (does not exist) → exists" in new
    assert "A.pd1 exists → (gone)" in gone
    assert len(new) == len(gone)


def test_what_was_destroyed_is_gone_though_its_name_is_known() -> None:
    lab = lab_of()
    before = taken(lab)
    well(lab, "destroy_qp A.qp0")
    found = differences(lab, before, taken(lab))
    assert "A.qp0 RTS → (gone)" in found
    assert "A.pd0.qps 1 → 0" in found


def test_differences_in_both_directions() -> None:
    lab = lab_of()
    before = taken(lab)
    well(lab, "modify_qp A.qp0 state=ERR")
    well(lab, 'write A.mr0[7] "x"')
    after = taken(lab)
    there, back = differences(lab, before, after), differences(lab, after, before)
    assert "A.qp0.state RTS → ERR" in there
    assert "A.mr0[7].1 bytes 00 → 78" in there
    assert "A.qp0.state ERR → RTS" in back


def test_a_small_gap_does_not_part_a_run_and_a_large_one_does() -> None:
    lab = lab_of()
    before = taken(lab)
    for at in (100, 104, 200):
        well(lab, f"fill A.mr0[{at}:{at + 1}] 255")
    well(lab, "fill A.mr0[300:320] 1")
    assert differences(lab, before, taken(lab)) == [
        "A.mr0[100].5 bytes 00 00 00 00 00 → ff 00 00 00 ff",
        "A.mr0[200].1 bytes 00 → ff",
        "A.mr0[300].20 bytes 00 00 00 00 00 00 00 00 … → 01 01 01 01 01 01 01 01 …",
    ]


@given(st.dictionaries(st.integers(0, PAGE - 1), st.integers(1, 255), max_size=30))
def test_runs_hold_every_byte_that_differs_once_and_begin_and_end_with_one(
    changes: dict[int, int],
) -> None:
    lab = Lab()
    page = bytearray(PAGE)
    for at, octet in changes.items():
        page[at] = octet
    empty = Facts({}, {("A", 0): bytes(PAGE)})
    rows = difference_rows(
        lab.session.world, lab.session.names, empty, Facts({}, {("A", 0): bytes(page)})
    )
    lengths = [int(row.field.split()[0]) for row in rows]
    runs: list[list[int]] = []
    for at in sorted(changes):
        if runs and at - runs[-1][-1] <= 8:
            runs[-1].append(at)
        else:
            runs.append([at])
    assert lengths == [run[-1] - run[0] + 1 for run in runs]
    assert [row.new.partition(" ")[0] for row in rows] == [f"{page[run[0]]:02x}" for run in runs]
