"""Protection domains: the fence between what belongs together and what does not."""

from rdmalab.hca.pd import ProtectionDomain
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair


def test_pd_handle_is_a_number() -> None:
    assert ProtectionDomain(5).number == 5


def test_lkey_of_another_pd_is_refused() -> None:
    pair = Pair()
    other = pair.end("B").mr
    pair.a.issue(WROpcode.RDMA_READ, rkey=other.rkey, remote_addr=other.addr)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.REM_ACCESS_ERR)]
