"""The numbers of libibverbs: types, masks and flags of SRQs and XRC domains."""

import os

from rdmalab.hca.srq import SrqChange
from rdmalab.spec.srq import SRQ_FIELDS, OpenFlag, SrqAttrMask, SrqType


def test_they_have_the_numbers_of_the_header() -> None:
    assert [(t.name, int(t)) for t in SrqType] == [("BASIC", 0), ("XRC", 1), ("TM", 2)]
    assert [(m.name, int(m)) for m in SrqAttrMask] == [("MAX_WR", 1), ("LIMIT", 2)]


def test_the_flags_are_those_of_open() -> None:
    assert {flag.name: int(flag) for flag in OpenFlag} == {
        "O_CREAT": os.O_CREAT, "O_EXCL": os.O_EXCL,
    }  # fmt: skip


def test_each_bit_changes_a_field_that_can_be_given() -> None:
    assert set(SRQ_FIELDS) == set(SrqAttrMask)
    assert set(SRQ_FIELDS.values()) == set(SrqChange.__slots__)
