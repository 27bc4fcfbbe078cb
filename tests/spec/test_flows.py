"""Flow rules have the numbers of verbs.h, and every type of rule has its turn."""

from rdmalab.spec.flows import DEFAULTS, FlowFlags, FlowType


def test_numbers() -> None:
    assert [kind.name for kind in sorted(FlowType)] == [
        "NORMAL", "ALL_DEFAULT", "MC_DEFAULT", "SNIFFER",
    ]  # fmt: skip
    assert sorted(FlowType) == [0, 1, 2, 3]
    assert FlowFlags.DONT_TRAP == 1 << 1


def test_the_narrower_default_is_asked_first() -> None:
    assert DEFAULTS == (FlowType.MC_DEFAULT, FlowType.ALL_DEFAULT)
    assert set(FlowType) - set(DEFAULTS) == {FlowType.NORMAL, FlowType.SNIFFER}
