"""What lies on the way for good, and what is only a loss."""

import pytest

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.finding import Verdict
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.facts import delivery
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.labs import lab_of, well

_BIG = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4096] remote=B.mr0[0] flags=SIGNALED"
_WIDE = "use rc_pair path_mtu=4096 timeout=8 retry_cnt=1"


def case_of(lab: Lab, *, asked: bool = True) -> Case:
    log = Log(lab.session)
    (subject, *_) = subjects(lab.session, log, parse_expression("A.qp0.wr[1]", "A").node)
    return Case(lab.session, subject, log, asked=asked)


def test_narrow_link_has_the_lost_packets() -> None:
    case = case_of(lab_of("fault drop longer=1514", _BIG, "run", pair=_WIDE))
    found = delivery.narrow_link(case)
    assert found is not None
    assert [row.length for row in found.lost] == [4096, 4096]
    # Ethernet, IPv4, UDP, BTH, RETH and ICRC are 74 bytes
    assert delivery.longest_payload(case, found) == 1514 - 74
    assert delivery.unrouted_address(case) is None


def test_narrow_link_of_lost_responses() -> None:
    read = _BIG.replace("RDMA_WRITE", "RDMA_READ")
    found = delivery.narrow_link(case_of(lab_of("fault drop longer=1514", read, "run", pair=_WIDE)))
    assert found is not None
    assert {row.source for row in found.lost} == {"B"}


@pytest.mark.parametrize("more", ["nth=1", "every=2", "p=99%", "count=9", "psn=0", "qp=A.qp0"])
def test_narrow_link_not_for_a_random_or_counted_fault(more: str) -> None:
    case = case_of(lab_of(f"fault drop longer=1514 {more}", _BIG, "run 2us", pair=_WIDE))
    assert delivery.narrow_link(case) is None


def test_narrow_link_is_none_after_fault_clear() -> None:
    lab = lab_of("fault drop longer=1514", _BIG, "run 2us", "fault clear", pair=_WIDE)
    assert delivery.narrow_link(case_of(lab)) is None
    well(lab, "run")
    assert delivery.narrow_link(case_of(lab)) is None


def test_the_newest_loss_counts() -> None:
    lab = lab_of("fault drop longer=1514", _BIG, "run 2us", "fault clear 1", "fault drop A->B",
                 "run", pair=_WIDE)  # fmt: skip
    assert delivery.narrow_link(case_of(lab)) is None


def test_narrow_link_in_one_direction() -> None:
    found = delivery.narrow_link(
        case_of(lab_of("fault drop A->B longer=1514", _BIG, "run", pair=_WIDE))
    )
    assert found is not None


def test_an_address_is_dead_as_target_and_as_source() -> None:
    for gid in ("10.0.0.1", "10.0.0.2"):
        case = case_of(lab_of(f"fault drop gid={gid}", _BIG, "run", pair=_WIDE))
        found = delivery.unrouted_address(case)
        assert found is not None
        assert found.match.gid is not None


def test_narrow_link_of_a_uc_success_only_when_asked() -> None:
    lab = lab_of("fault drop longer=1514", _BIG, "run", pair="use uc_pair path_mtu=4096")
    assert delivery.narrow_link(case_of(lab)) is not None
    assert delivery.narrow_link(case_of(lab, asked=False)) is None


def test_narrow_link_warns_while_retrying() -> None:
    lab = lab_of("fault drop longer=1514", _BIG, "run 2us", pair=_WIDE)
    assert delivery.finding(case_of(lab, asked=False)).verdict is Verdict.WARN
    assert delivery.finding(case_of(lab)).verdict is Verdict.FAIL
    well(lab, "run")
    assert delivery.finding(case_of(lab, asked=False)).verdict is Verdict.FAIL
