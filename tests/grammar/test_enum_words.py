"""Words for enum values: prefixes dropped, either case, numbers where no member has the value."""

from collections.abc import Iterable, Iterator
from enum import IntEnum, IntFlag

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import EnumKind
from rdmalab.command.kinds import ArgumentKind, ListKind, Parameter, RecordKind
from rdmalab.grammar.enum_words import (
    AnyEnum,
    legal_words,
    member_value,
    no_member,
    value_of,
    word_for,
)
from rdmalab.lab import Lab
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import PhysState
from rdmalab.spec.states import MTU, Attr, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCOpcode, WROpcode
from rdmalab.views import query_fields
from tests.labs import lab_of, misread

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
        ("IBV_FLOW_ATTR_ALL_DEFAULT", FlowType.ALL_DEFAULT),
        ("IB_PORT_PHYS_STATE_LINK_UP", PhysState.LINK_UP),
        ("IBV_ACCESS_REMOTE_WRITE", Access.REMOTE_WRITE),
        ("IBV_SEND_SIGNALED", SendFlags.SIGNALED),
        ("IBV_QP_EN_SQD_ASYNC_NOTIFY", Attr.EN_SQD_ASYNC_NOTIFY),
        ("ibv_event_qp_fatal", AsyncEvent.QP_FATAL),
    ],
)
def test_prefixes_and_case_do_not_matter(word: str, member: IntEnum | IntFlag) -> None:
    assert member_value(word, type(member)) == member


def kinds_of(parameters: Iterable[Parameter]) -> Iterator[ArgumentKind]:
    """The kinds of all arguments, of those in braces too."""
    for parameter in parameters:
        kind = parameter.kind
        while isinstance(kind, ListKind):
            kind = kind.item
        yield kind
        if isinstance(kind, RecordKind):
            yield from kinds_of(kind.fields)


def enums() -> set[AnyEnum]:
    """The enums of all arguments of commands, and of all that a condition can name."""
    commands = Lab().session.vocabulary.values()
    kinds = (kind for command in commands for kind in kinds_of(command.parameters))
    types = (part for row in query_fields.fields() for part in row.type.split(" or "))
    found = {each.__name__: each for base in (IntEnum, IntFlag) for each in made_of(base)}
    asked = {found[name] for name in types if name in found}
    return asked | {kind.enum for kind in kinds if isinstance(kind, EnumKind)}


def made_of(base: AnyEnum) -> Iterator[AnyEnum]:
    """The enums of rdmalab that are made of this one."""
    yield from (each for each in base.__subclasses__() if each.__module__.startswith("rdmalab"))


def test_an_error_has_the_words_of_the_field_and_no_name_of_a_python_type() -> None:
    found = enums()
    assert len(found) > 25
    python = {each.__name__ for each in found} - {"MTU", "Errno"}
    for each in found:
        wrong = no_member("DEAD", each)
        assert wrong.startswith('"DEAD" is no '), each
        assert not python & set(wrong.replace('"', " ").split()), wrong


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("modify_qp A.qp0 state=DEAD", '"DEAD" is no QP state'),
        ("until A.qp0.state == DEAD", '"DEAD" is no QP state'),
        ("until A.qp0.state == 'x'", "a QP state is never compared with a text"),
        ("until log.any(errno=EFOO)", '"EFOO" is no errno'),
        ("until wire.any(opcode=FOO)", '"FOO" is no opcode'),
        ("until A.cq0.total(status=FOO)", '"FOO" is no completion status'),
        ("post_send A.qp0 wr={wr_id=3}", "ibv_send_wr also needs opcode"),
        ("create_qp A.q pd=A.pd0 init_attr={}", "ibv_qp_init_attr also needs qp_type"),
    ],
)
def test_refused_words_are_named_by_the_field(line: str, message: str) -> None:
    assert misread(lab_of(), line.replace("'", '"')).message == message


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
