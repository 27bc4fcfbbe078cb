"""rdma-core's own tests end here as they do on Soft-RoCE, and where not, there is a reason."""

import os
from collections import Counter
from pathlib import Path

from tests.peers.rdma_core import MODULES, VARIABLE, recorded, results

# Better here: what Soft-RoCE does not do and the lab's device, which is as it otherwise, does.
BETTER = {
    "test_parent_domain.ParentDomainTrafficTest.test_without_allocators_rc_traffic": (
        "a parent domain needs no allocator here, and none is called"
    )
}
# An error on Soft-RoCE as well: the device has no ATOMIC WRITE and finds out when it is executed.
WRONG_ON_BOTH = {"test_qpex.QpExTestCase.test_qp_ex_rc_atomic_write"}
# Skips of what a lab cannot have, word for word or in our own.
TRUE_REASONS = (
    "is not supported", "no huge pages", "Not supported", "not supported by", "Device memory",
)  # fmt: skip


def test_what_passes_on_soft_roce_passes_here() -> None:
    """Of the record: at least 95 in a hundred are asked; it is all of them."""
    record = recorded()
    passed = {name for name, ended in record["soft_roce"].items() if ended.result == "pass"}
    assert len(passed) == 86
    assert {name for name in passed if record["rxe"][name].result != "pass"} == set()


def test_all_others_pass_or_are_skipped_for_a_true_reason() -> None:
    record = recorded()
    for name, ended in record["rxe"].items():
        there = record["soft_roce"].get(name)
        if ended.result == "skip":
            assert any(reason in ended.reason for reason in TRUE_REASONS), (name, ended)
        elif ended.result != "pass":
            assert name in WRONG_ON_BOTH, (name, ended)
            assert there is not None
            assert there.result == ended.result
        elif there is not None and there.result != "pass":
            assert name in BETTER, (name, there)


def test_every_generic_module_is_in_the_record() -> None:
    asked = Counter(name.partition(".")[0] for name in recorded()["rxe"])
    assert set(asked) == set(MODULES)
    assert sum(asked.values()) >= 140


# CI cannot get rdma-core's tests everywhere, and allows no skip: this one is there or it is not.
if VARIABLE in os.environ:

    def test_the_record_is_what_the_skin_does_now() -> None:
        found = results(Path(os.environ[VARIABLE]), "rxe")
        assert found == recorded()["rxe"]
