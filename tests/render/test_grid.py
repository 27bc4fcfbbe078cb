"""Rows of one class as a grid."""

from rdmalab.lab import Lab
from rdmalab.render.grid import grid
from rdmalab.views.columns import ALL, BRIEF


def rows(*lines: str) -> list[object]:
    lab = Lab()
    for line in lines:
        lab.do(line)
    return list(lab.do("show cq A.cq0")[-1].value.rows[1:])


FAILED = ("use rc_pair rnr_retry=0", "post_send A.qp0 opcode=SEND wr_id=5", "run")


def test_a_column_that_no_row_has_goes_and_a_dash_keeps_it() -> None:
    found = grid(rows(*FAILED))
    titles = [col.title for col in found.columns]
    assert titles == ["wr_id", "opcode", "status", "len", "qp", "vendor_err"]
    assert found.is_headed
    assert found.rows[0][1] is None  # undefined on an error: the face shows the dash


def test_the_rank_chooses_the_columns() -> None:
    few, many = grid(rows(*FAILED), BRIEF), grid(rows(*FAILED), ALL)
    assert {col.title for col in few.columns} < {col.title for col in many.columns}
