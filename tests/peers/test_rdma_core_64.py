"""rdma-core 64's own tests on each profile: all pass or skip for a true reason, or are told why.

There is no record of Soft-RoCE for that release: what is expected is what the tests themselves say
of a device, and the reasons below where a profile decides otherwise.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.peers.rdma_core import V44, V64, recorded, results
from tests.peers.test_rdma_core import TRUE_REASONS

_NO_SYSFS = "it reads the P_Key from the kernel's /sys, which does not know the lab's devices"
_KEPT = "strict keeps completions of a QP that goes to RESET in the CQ; the test expects none"
_LOCAL = "it binds a window with LOCAL_WRITE; by ibv_bind_mw(3) a window has remote rights only"
_ZERO = "by the documents an SGE of length 0 means 2^31 bytes; the test expects 0 bytes"
_RSS = "WQs are not emulated: WQInitAttr is refused with EOPNOTSUPP, outside of the test's try"
_OLD_RXE = "Soft-RoCE of kernel 6.1 takes ATOMIC WRITE and completes it with LOC_QP_OP_ERR"

_STRICT = {
    _NO_SYSFS: "test_device.DeviceTest.test_get_pkey_index",
    _KEPT: (
        "test_mr.MRTest.test_mr_rereg_addr test_mr.MRTest.test_mr_rereg_pd "
        "test_mr.MRTest.test_mrex_rereg_addr"
    ),
    _LOCAL: (
        "test_mr.MWTest.test_invalidate_mw_type1 test_mr.MWTest.test_mw_ex_type1 "
        "test_mr.MWTest.test_mw_type1 test_mr.MWTest.test_mw_type2 "
        "test_mr.MWTest.test_mw_type2_invalidate_dealloc "
        "test_mr.MWTest.test_mw_type2_invalidate_local "
        "test_mr.MWTest.test_mw_type2_invalidate_remote "
        "test_qpex.QpExTestCase.test_qp_ex_rc_bind_mw"
    ),
    _ZERO: (
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read_zero_size "
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_zero_size "
        "test_qpex.QpExTestCase.test_qp_ex_ud_zero_size"
    ),
    _RSS: "test_rss_traffic.RSSTrafficTest.test_rss_traffic",
}
# profile → why → the tests that do not pass there, and are not skipped
REASONS = {
    "strict": _STRICT,
    "rxe": {
        _NO_SYSFS: _STRICT[_NO_SYSFS],
        _OLD_RXE: "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_write",
    },
    "mlx5": {_NO_SYSFS: _STRICT[_NO_SYSFS], _RSS: _STRICT[_RSS]},
}
SKIPPED_TOO = ("CC_DMA_BOUNCE", "Operation not supported")
# By pyverbs they really run: in strict, which emulates them.
RUN = (
    "test_qp_ex_rc_flush", "test_qp_ex_rc_flush_type_violate", "test_qp_ex_rc_atomic_write",
)  # fmt: skip


def test_each_profile_is_recorded_with_all_modules() -> None:
    record = recorded(V64)
    assert set(record) == set(V64.profiles) == set(REASONS)
    assert set(V44.modules) < set(V64.modules)
    for tests in record.values():
        assert Counter(name.partition(".")[0] for name in tests).keys() == set(V64.modules)
        assert len(tests) == 193


@pytest.mark.parametrize("profile", V64.profiles)
def test_what_does_not_pass_has_a_reason_and_each_reason_a_test(profile: str) -> None:
    record = recorded(V64)[profile]
    seen = {name for names in REASONS[profile].values() for name in names.split()}
    assert {name for name, ended in record.items() if ended.result in ("error", "fail")} == seen
    for name, ended in record.items():
        if ended.result == "skip":
            true = (*TRUE_REASONS, *SKIPPED_TOO)
            assert any(reason in ended.reason for reason in true), (name, ended)


def test_flush_and_atomic_write_run_by_pyverbs() -> None:
    record = recorded(V64)["strict"]
    assert {record[f"test_qpex.QpExTestCase.{name}"].result for name in RUN} == {"pass"}


# CI cannot get rdma-core's tests everywhere, and allows no skip: this one is there or it is not.
if V64.variable in os.environ:

    @pytest.mark.parametrize("profile", V64.profiles)
    def test_the_record_is_what_the_skin_does_now(profile: str) -> None:
        found = results(Path(os.environ[V64.variable]), profile, V64.modules)
        assert found == recorded(V64)[profile]
