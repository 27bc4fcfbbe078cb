"""Names of C: prefixes of enum members, which one table has for every room."""

import enum

from rdmalab.spec.c_names import ANY_PREFIX, PREFIX, PREFIX_OF_PART, full_name
from rdmalab.spec.flows import FlowType
from rdmalab.spec.states import MTU, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, SendOps
from tests.each import each


@each(
    "member, name",
    [
        (WCStatus.SUCCESS, "IBV_WC_SUCCESS"), (MTU.B1024, "IBV_MTU_1024"),
        (QPState.RTR, "IBV_QPS_RTR"), (FlowType.SNIFFER, "IBV_FLOW_ATTR_SNIFFER"),
        (SendOps.SEND, "IBV_QP_EX_WITH_SEND"), (SendFlags.FENCE, "IBV_SEND_FENCE"),
    ],
)  # fmt: skip
def test_full_names_are_those_of_libibverbs(member: enum.IntEnum | enum.IntFlag, name: str) -> None:
    assert full_name(member) == name


def test_no_enum_has_two_prefixes() -> None:
    assert len(ANY_PREFIX) == len(PREFIX) + len(PREFIX_OF_PART)
