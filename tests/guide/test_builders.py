"""The extended post API in the guide."""

import pytest

from rdmalab.guide.builders import INIT_ATTRIBUTES
from rdmalab.spec.builders import BUILDERS, InitMask, SendOps
from rdmalab.spec.work import WROpcode
from tests.guide.saying import row, said


@pytest.mark.parametrize("opcode", BUILDERS)
def test_a_flag_names_its_builder(opcode: WROpcode) -> None:
    assert BUILDERS[opcode] in said(f"IBV_QP_EX_WITH_{opcode.name}")


def test_what_a_builder_needs() -> None:
    assert row("IBV_QP_EX_WITH_SEND", "address") == "UD wr_set_ud_addr; XRC_SEND wr_set_xrc_srqn"
    assert row("IBV_QP_EX_WITH_LOCAL_INV", "data") == "takes no setter for data"
    assert row("IBV_QP_EX_WITH_RDMA_READ", "types") == "RC XRC_SEND"


def test_which_devices_lack_it() -> None:
    assert row("IBV_QP_EX_WITH_FLUSH", "not on") == "rxe: RC; mlx5: RC"
    assert "not on" not in said("IBV_QP_EX_WITH_SEND")


def test_every_bit_of_the_mask_has_its_sentence() -> None:
    assert set(INIT_ATTRIBUTES) == set(InitMask)
    assert "wr_* functions" in said("IBV_QP_INIT_ATTR_SEND_OPS_FLAGS")
    assert len(BUILDERS) == len(SendOps)
