"""Flow rules: described, not made."""

import errno

import pytest

from rdmalab.compat.pyverbs import libibverbs_enums as e
from rdmalab.compat.pyverbs.flow import Flow, FlowAttr
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.spec import EthSpec
from tests.compat.real import needs_pyverbs, ours, real

READ = ["type", "priority", "num_of_specs", "port", "flags", "specs"]


@needs_pyverbs
@pytest.mark.parametrize(
    "given", [[], [2, 3, 4, 5, 6], [1, 0], [0, 1, 7]], ids=["nothing", "all", "two", "three"]
)
def test_the_description_of_a_rule_holds_what_pyverbs_holds(given: list[int]) -> None:
    ask = ["attributes", "flow", "FlowAttr", given, {}, READ]
    assert ours(ask) == real(ask)


def test_a_described_rule_is_refused_when_it_is_made() -> None:
    attr = FlowAttr(num_of_specs=1, port=1)
    attr.specs.append(EthSpec(ether_type=0x800))
    assert attr.type == e.IBV_FLOW_ATTR_NORMAL
    with pytest.raises(PyverbsRDMAError) as caught:
        Flow(None, attr)
    assert caught.value.error_code == errno.EOPNOTSUPP
