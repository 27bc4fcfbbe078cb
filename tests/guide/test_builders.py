"""The extended post API in the guide."""

import pytest

from rdmalab.spec.builders import InitMask, moves_data
from rdmalab.spec.work import BUILDERS, WORK, SendOps, WROpcode
from tests.guide.saying import article_text, row


@pytest.mark.parametrize("opcode", BUILDERS)
def test_a_flag_names_its_builder(opcode: WROpcode) -> None:
    assert BUILDERS[opcode] in article_text(f"IBV_QP_EX_WITH_{opcode.name}")


def test_what_a_builder_needs() -> None:
    assert row("IBV_QP_EX_WITH_SEND", "address") == "UD wr_set_ud_addr; XRC_SEND wr_set_xrc_srqn"
    assert row("IBV_QP_EX_WITH_LOCAL_INV", "data") == "takes no setter for data"
    assert row("IBV_QP_EX_WITH_RDMA_READ", "types") == "RC XRC_SEND"


def test_which_devices_lack_it() -> None:
    assert row("IBV_QP_EX_WITH_FLUSH", "not on") == "rxe: RC; mlx5: RC"
    assert "not on" not in article_text("IBV_QP_EX_WITH_SEND")


def test_every_bit_of_the_mask_has_its_sentence() -> None:
    assert all(row(f"IBV_QP_INIT_ATTR_{bit.name}", "") for bit in InitMask)
    assert "wr_* functions" in article_text("IBV_QP_INIT_ATTR_SEND_OPS_FLAGS")
    assert len(BUILDERS) == len(SendOps)


@pytest.mark.parametrize("opcode", BUILDERS)
def test_inline_setters_are_named_where_the_table_allows_inline(opcode: WROpcode) -> None:
    named = row(f"IBV_QP_EX_WITH_{opcode.name}", "data")
    assert ("wr_set_inline_data" in named) is (moves_data(opcode) and WORK[opcode].inline)


def test_who_refuses_inline_data_of_a_read() -> None:
    text = "wr_complete refuses it: explain inline-opcode"
    assert row("IBV_QP_EX_WITH_RDMA_READ", "inline") == f"{text} (rxe: not refused)"
