"""Words for enum values: prefixes dropped, either case, numbers where no member has the value."""

from enum import IntEnum, IntFlag

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import EnumKind
from rdmalab.grammar.enum_words import legal_words, member_value, value_of, word_for
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.states import MTU, Attr, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCOpcode, WROpcode

MTUS = EnumKind(MTU, tuple((str(m.octets), int(m)) for m in MTU))


@pytest.mark.parametrize(
    ("word", "member"),
    [
        ("IBV_WR_SEND", WROpcode.SEND),
        ("send", WROpcode.SEND),
        ("IBV_WC_RNR_RETRY_EXC_ERR", WCStatus.RNR_RETRY_EXC_ERR),
        ("IBV_WC_WR_FLUSH_ERR", WCStatus.WR_FLUSH_ERR),
        ("IBV_WC_RECV_RDMA_WITH_IMM", WCOpcode.RECV_RDMA_WITH_IMM),
        ("IBV_QPS_RTS", QPState.RTS),
        ("IBV_ACCESS_REMOTE_WRITE", Access.REMOTE_WRITE),
        ("IBV_SEND_SIGNALED", SendFlags.SIGNALED),
        ("IBV_QP_EN_SQD_ASYNC_NOTIFY", Attr.EN_SQD_ASYNC_NOTIFY),
        ("ibv_event_qp_fatal", AsyncEvent.QP_FATAL),
    ],
)
def test_prefixes_and_case_do_not_matter(word: str, member: IntEnum | IntFlag) -> None:
    assert member_value(word, type(member)) == member


def test_a_further_spelling_wins_over_the_number() -> None:
    assert value_of("1024", MTUS) == value_of("IBV_MTU_1024", MTUS) == MTU.B1024
    assert value_of("B1024", MTUS) == MTU.B1024
    assert value_of("1025", MTUS) is None
    assert legal_words(MTUS) == ["256", "512", "1024", "2048", "4096"]
    assert word_for(MTU.B1024, MTUS) == "1024"


def test_a_number_that_looks_like_a_spelling_is_written_in_hex() -> None:
    assert word_for(1024, MTUS) == "0x400"
    assert word_for(7, MTUS) == "7"


def test_flags_are_written_by_name_and_what_is_left_as_a_number() -> None:
    flags = EnumKind(SendFlags)
    assert word_for(0, flags) == "0"
    assert word_for(3, flags) == "FENCE|SIGNALED"
    assert word_for(0x102, flags) == "SIGNALED|0x100"


@given(st.sampled_from([QPState, WROpcode, WCStatus, MTU]), st.integers(-5, 300))
def test_one_word_says_one_value(of: type[QPState], value: int) -> None:
    word = word_for(value, EnumKind(of))
    assert member_value(word, of) == value or (value not in set(of) and int(word, 0) == value)
