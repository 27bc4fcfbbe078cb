"""Work requests, flags and rights, as the tables have them."""

import pytest

from rdmalab.guide.work import packets_of
from rdmalab.spec.access import RIGHTS, Access
from rdmalab.spec.opcodes import Op
from rdmalab.spec.work import WORK, SendFlags, WCFlags, WCOpcode, WROpcode
from tests.each import each
from tests.guide.saying import article_text, row


@pytest.mark.parametrize("opcode", WROpcode)
def test_an_opcode_says_how_it_completes_and_which_packets_it_becomes(opcode: WROpcode) -> None:
    name = f"IBV_WR_{opcode.name}"
    assert row(name, "completes as") == f"IBV_WC_{WORK[opcode].wc_opcode.name}"
    assert bool(packets_of(WORK[opcode])) == (WORK[opcode].message is not None)
    assert row(name, "buffers") == WORK[opcode].local.value


def test_every_request_packet_comes_from_some_opcode() -> None:
    made = {label for work in WORK.values() for label in packets_of(work)}
    assert "SEND_LAST_WITH_IMMEDIATE" in made
    assert Op.RDMA_READ_RESPONSE.name not in made


def test_packets_of_a_send_with_immediate() -> None:
    assert packets_of(WORK[WROpcode.SEND_WITH_IMM]) == [
        "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST_WITH_IMMEDIATE", "SEND_ONLY_WITH_IMMEDIATE",
    ]  # fmt: skip


def test_what_a_read_needs() -> None:
    assert row("READ", "peer allows") == "REMOTE_READ, on the key and on the QP"
    assert row("READ", "depth") == "counts against max_rd_atomic"
    assert row("SEND_WITH_INV", "reads") == "invalidate_rkey"
    assert row("SEND_WITH_IMM", "reads") == "imm_data"


@pytest.mark.parametrize("flag", SendFlags)
def test_send_flags(flag: SendFlags) -> None:
    assert row(f"IBV_SEND_{flag.name}", "types")


def test_flags_name_the_opcodes_they_go_with() -> None:
    assert "RDMA_READ" not in row("inline", "opcodes").split()
    assert "SEND" in row("solicited", "opcodes").split()


@pytest.mark.parametrize("right", Access)
def test_rights(right: Access) -> None:
    assert RIGHTS[right].sentence in article_text(f"IBV_ACCESS_{right.name}")


def test_a_right_that_leans_on_another() -> None:
    assert row("REMOTE_WRITE", "needs") == "LOCAL_WRITE"
    assert "RDMA_WRITE" in row("REMOTE_WRITE", "used by")


@each("code", WCOpcode)
def test_completion_opcodes_tell_their_side(code: WCOpcode) -> None:
    side = "receive" if code >= 128 else "send"
    assert row(f"IBV_WC_{code.name}", "side").startswith(side)


@pytest.mark.parametrize("flag", WCFlags)
def test_completion_flags(flag: WCFlags) -> None:
    assert f"completion flag {int(flag)}" in article_text(f"IBV_WC_{flag.name}")
