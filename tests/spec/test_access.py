"""Access rights: the bits of verbs.h and the rules of ib_check_mr_access."""

import pytest

from rdmalab.spec.access import FOR_QP, OPTIONAL, RIGHTS, Access, needs_local_write, unknown


def test_bits_are_those_of_verbs_h() -> None:
    assert {a.name: a.value for a in Access} == {
        "LOCAL_WRITE": 1,
        "REMOTE_WRITE": 2,
        "REMOTE_READ": 4,
        "REMOTE_ATOMIC": 8,
        "MW_BIND": 16,
        "ZERO_BASED": 32,
        "ON_DEMAND": 64,
        "HUGETLB": 128,
        "FLUSH_GLOBAL": 256,
        "FLUSH_PERSISTENT": 512,
        "RELAXED_ORDERING": 1048576,
    }
    assert set(RIGHTS) == set(Access)


def test_the_optional_range_is_bits_20_to_29() -> None:
    assert [bit for bit in range(40) if OPTIONAL >> bit & 1] == list(range(20, 30))


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (0, 0),
        (0x3FF, 0),
        (0x400, 0x400),
        (0x40001, 0x40000),  # the flag of the rdma-core test
        (1 << 20 | 1 << 29, 0),  # optional ones are dropped, not refused, with a name or without
        (1 << 19 | 1 << 30, 1 << 19 | 1 << 30),
    ],
)
def test_unknown_bits(flags: int, left: int) -> None:
    assert unknown(flags) == left


@pytest.mark.parametrize("right", list(Access))
def test_remote_write_and_atomic_need_local_write(right: Access) -> None:
    changes = {Access.REMOTE_WRITE, Access.REMOTE_ATOMIC}
    assert needs_local_write(right) == (right in changes)


def test_the_need_stays_when_local_write_is_there() -> None:
    assert needs_local_write(Access.LOCAL_WRITE | Access.REMOTE_WRITE)


def test_access_flags_of_a_qp() -> None:
    assert FOR_QP == 1 | 2 | 4 | 8 | 256 | 512
