"""Parts of tables: each member has a sentence of its own."""

import enum

from rdmalab.guide.parts import KINDS, part_article
from rdmalab.guide.sentences import note
from rdmalab.spec.opcodes import OPCODES, Service
from rdmalab.spec.states import Mishap
from tests.each import each
from tests.guide.saying import article_text, row

MEMBERS = [member for cls in KINDS for member in cls]


@each("member", MEMBERS)
def test_every_member_says_something_of_its_own(member: enum.Enum) -> None:
    own = part_article(member).sections[0].lines[0]
    others = [part_article(other).sections[0].lines[0] for other in type(member)]
    assert others.count(own) == 1
    assert own == (note(member) or member.value)


def test_what_the_tables_know_is_taken_from_them() -> None:
    codes = [o.code for o in OPCODES.values() if o.service is Service.XRC]
    assert row("service XRC", "wire").startswith(f"opcodes {min(codes):#04x} to {max(codes):#04x}")
    assert row("mishap SEND_ERROR", "leads to").startswith("ERR (RC")
    assert Mishap.CQ_OVERRUN.value in article_text("mishap CQ_OVERRUN")
    assert row("rounding POWER", "SQ and RQ") == "mlx5"
    assert row("rounding POWER_LESS_ONE", "CQ and SRQ") == "rxe mlx5"
    assert row("LINK_UP", "port state") == "INIT ARMED ACTIVE"
    assert "SEND_LAST" in row("place LAST", "wire")
    assert "RDMA_READ" in row("buffers SCATTER", "opcodes")
    assert "CQ_ERR" in row("event kind ERROR", "events")


def test_what_never_comes_says_why() -> None:
    assert "every port" in row("link layer UNSPECIFIED", "here")


def test_names_of_c_are_known() -> None:
    assert "every frame" in article_text("IBV_FLOW_ATTR_SNIFFER")
