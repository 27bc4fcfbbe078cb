"""Arming and extended completions: the numbers of verbs.h, and where each field comes from."""

import pytest

from rdmalab.hca.wr import Cqe
from rdmalab.spec.completions import READS, STANDARD_FIELDS, Arm, WcEx
from rdmalab.spec.profiles import PROFILES

# verbs.h, enum ibv_create_cq_wc_flags
BITS = (
    "BYTE_LEN", "IMM", "QP_NUM", "SRC_QP", "SLID", "SL", "DLID_PATH_BITS",
    "COMPLETION_TIMESTAMP", "CVLAN", "FLOW_TAG", "TM_INFO", "COMPLETION_TIMESTAMP_WALLCLOCK",
)  # fmt: skip


def test_bits_are_those_of_the_header() -> None:
    assert [(flag.name, int(flag)) for flag in WcEx] == [(n, 1 << b) for b, n in enumerate(BITS)]
    assert int(STANDARD_FIELDS) == 0x7F


def test_any_wins_over_solicited() -> None:
    assert Arm.NONE < Arm.SOLICITED < Arm.ANY
    assert not Arm.NONE


@pytest.mark.parametrize("name", READS)
def test_a_read_finds_its_field(name: str) -> None:
    source = READS[name].source
    assert not source or hasattr(Cqe, source)


def test_every_flag_but_tag_matching_opens_one_read() -> None:
    opened = [row.flag for row in READS.values() if row.flag is not None]
    assert len(opened) == len(set(opened))
    assert set(WcEx) - set(opened) == {WcEx.TM_INFO}


def test_only_these_survive_an_error() -> None:
    assert [name for name, row in READS.items() if row.on_error] == ["vendor_err", "qp_num"]


def test_every_device_offers_the_standard_fields() -> None:
    assert all(p.extended_fields & STANDARD_FIELDS == STANDARD_FIELDS for p in PROFILES.values())
