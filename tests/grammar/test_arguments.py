"""Values with commas and braces; records gather their fields and name what is missing."""

import time
from typing import Any

import pytest

from rdmalab.command import (
    ExpressionKind,
    IntegerKind,
    ListKind,
    NotUnderstood,
    RecordKind,
    Ref,
    Span,
)
from rdmalab.grammar.arguments import flat_record, keys_of_command, keys_of_record, literal
from rdmalab.grammar.line import parse
from rdmalab.vocabulary import VOCABULARY
from tests.grammar.vocabulary import modify_qp, post_send

WR = keys_of_command(post_send).by_key["wr"].kind
SG = keys_of_command(post_send).by_key["sg"].kind
ATTR = keys_of_command(modify_qp).by_key["attr"].kind
MR = Ref("A", "mr0", 0, 64)


def test_a_long_list_costs_as_much_an_entry_as_a_short_one() -> None:
    start = time.process_time()
    assert len(literal(",".join(["A.mr0[0:64]"] * 8_000), SG)) == 8_000
    line = "post_send A.qp0 opcode=SEND sg=" + ",".join(["A.mr0[0:64]"] * 8_000)
    (invocation,) = parse(line, {"post_send": post_send})
    assert time.process_time() - start < 3  # it took 10 s
    items = [place for key, place in invocation.places.items() if key.endswith("]")]
    assert len(items) == 8_000
    assert items[-1].stop == len(line)


def test_lists() -> None:
    numbers = ListKind(IntegerKind())
    assert literal("1, 2,3", numbers) == [1, 2, 3]
    assert literal("1", numbers) == [1]
    assert literal("[]", numbers) == []
    assert literal("NULL", SG) is None


def test_records_and_short_forms_mix_in_a_list() -> None:
    assert literal("A.mr0[0:64],{addr=0x1064 length=0 lkey=0xdead},{addr=1}", SG) == [
        MR,
        {"addr": 0x1064, "length": 0, "lkey": 0xDEAD},
        {"addr": 1},
    ]


def test_records_in_records() -> None:
    answer = literal("{state=RTS dgid=fe80::1 ah_attr.port_num=2 ah=B}", ATTR)
    ah_attr = {"grh": {"dgid": 0xFE80 << 112 | 1}, "port_num": 2}
    assert answer == {"qp_state": 3, "ah_attr": ah_attr, "ah": Ref("B")}


def test_a_question_stands_alone() -> None:
    assert literal("qp0.state == ERR", ExpressionKind(), "A").text == "A.qp0.state == ERR"
    assert literal("NULL", ExpressionKind(nullable=True)) is None
    assert [q.text for q in literal("now,idle", ListKind(ExpressionKind()))] == ["now", "idle"]


@pytest.mark.parametrize(
    ("text", "kind", "place", "message"),
    [
        ("{length=4}", SG, (0, 10), "this struct also needs addr"),
        ("{addr=1 addr=2}", SG, (8, 12), "addr is given twice"),
        ("{addr=1 7}", SG, (8, 9), "a key is missing here"),
        ("{adr=1}", SG, (1, 4), 'no key "adr"'),
        ("{addr=}", SG, (1, 5), "addr has no value"),
        ("{addr=1,2}", SG, (8, 9), "only one value is wanted here"),
        ("{opcode=SEND},{wr_id=2}", WR, (14, 23), "this struct also needs opcode"),
        ("{ah_attr={port_num=1} is_global=1}", ATTR, (22, 31), "ah_attr and is_global give"),
        ("{is_global=1 ah_attr={port_num=1}}", ATTR, (13, 20), "is_global and ah_attr give"),
    ],
)
def test_what_is_wrong_in_braces(
    text: str, kind: Any, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        literal(text, kind)
    assert wrong.value.message.startswith(message)
    assert wrong.value.place == Span(*place)
    assert wrong.value.hint


def test_a_key_that_stands_for_fields_excuses_those_and_no_others() -> None:
    written = "{opcode=SEND remote=B.mr0}"
    assert literal(written, WR)[0]["remote"] == Ref("B", "mr0")
    with pytest.raises(NotUnderstood, match="also needs opcode"):
        literal("{remote=B.mr0}", WR)


KEYS = keys_of_command(modify_qp)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("qp", "qp"),
        ("attr", "attr"),
        ("timeout", "attr.timeout"),
        ("attr.timeout", "attr.timeout"),
        ("state", "attr.qp_state"),
        ("attr.state", "attr.qp_state"),
        ("port_num", "attr.port_num"),
        ("ah_attr.port_num", "attr.ah_attr.port_num"),
        ("dgid", "attr.ah_attr.grh.dgid"),
        ("grh.dgid", "attr.ah_attr.grh.dgid"),
        ("ah_attr.dgid", "attr.ah_attr.grh.dgid"),
        ("alt_ah_attr.dgid", "attr.alt_ah_attr.grh.dgid"),
        ("ah", "attr.ah"),
    ],
)
def test_what_a_key_means(key: str, path: str) -> None:
    assert KEYS.by_key[key].dotted == path


def test_every_slot_has_one_canonical_key() -> None:
    assert {
        s.dotted: KEYS.written(s) for s in KEYS.slots if s.parameter.name in ("dgid", "port_num")
    } == {
        "attr.port_num": "port_num",
        "attr.ah_attr.port_num": "ah_attr.port_num",
        "attr.alt_ah_attr.port_num": "alt_ah_attr.port_num",
        "attr.ah_attr.grh.dgid": "dgid",
        "attr.alt_ah_attr.grh.dgid": "alt_ah_attr.dgid",
    }
    assert len(set(KEYS.words)) == len(KEYS.slots)
    assert all(KEYS.by_key[KEYS.written(slot)] is slot for slot in KEYS.slots)


def test_a_list_of_records_is_flattened_once() -> None:
    keys = keys_of_command(post_send)
    assert keys.by_key["opcode"].path == ("wr", "opcode")
    assert keys.by_key["remote"].path == ("wr", "remote")
    assert "addr" not in keys.by_key


def test_the_keys_between_braces() -> None:
    kind = KEYS.by_key["ah_attr"].kind
    assert isinstance(kind, RecordKind)
    assert keys_of_record(kind).words == ["grh", "is_global", "port_num", "dgid", "hop_limit"]


REAL = keys_of_command(VOCABULARY["post_send"])


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("wr.rdma.remote_addr", "wr.remote_addr"),
        ("rdma.remote_addr", "wr.remote_addr"),
        ("wr.wr.rdma.rkey", "wr.rkey"),
        ("wr.atomic.remote_addr", "wr.remote_addr"),
        ("wr.atomic.compare_add", "wr.compare_add"),
        ("wr.atomic.swap", "wr.swap"),
        ("wr.atomic.rkey", "wr.rkey"),
        ("wr.ud.ah", "wr.ah"),
        ("wr.ud.remote_qpn", "wr.remote_qpn"),
        ("ud.remote_qkey", "wr.remote_qkey"),
        ("qp_type.xrc.remote_srqn", "wr.remote_srqn"),
        ("bind_mw.mw", "wr.mw"),
        ("bind_mw.rkey", "wr.mw_rkey"),
        ("bind_mw.bind_info.mr", "wr.bind_mr"),
        ("bind_info.mw_access_flags", "wr.bind_access"),
        ("tso.hdr", "wr.hdr_addr"),
        ("tso.hdr_sz", "wr.hdr_sz"),
        ("tso.mss", "wr.mss"),
        ("wr.imm_data", "wr.imm_data"),
        ("invalidate_rkey", "wr.invalidate_rkey"),
    ],
)
def test_a_field_may_be_written_as_in_c(key: str, path: str) -> None:
    assert REAL.by_key[key].dotted == path


def test_the_keys_of_a_struct_inside_a_struct() -> None:
    assert set(REAL.below("wr.rdma")) == {"remote_addr", "rkey"}
    assert set(REAL.below("wr.ud")) == {"ah", "remote_qpn", "remote_qkey"}
    assert REAL.below("wr") == REAL.below("rdma.rkey") == REAL.below("foo") == {}


def test_a_record_with_a_short_form_may_be_written_flat() -> None:
    keys = keys_of_command(VOCABULARY["wr_set_sge"])
    assert keys.words == ["qp", "sg", "addr", "length", "lkey"]
    kind = keys.by_key["sg"].kind
    assert flat_record(kind, lists=True) is kind
    assert flat_record(REAL.by_key["sg"].kind, lists=True) is None


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("flags=SIGNALED,INLINE", "write SIGNALED|INLINE"),
        ("sg=0x1000:64:0x999", "write A.mr0[0:64] or {addr=… length=… lkey=…}"),
        ("wr_id=1,2", "leave it out"),
        ("sg=A.mr0,", "write {key=value …}"),
    ],
)
def test_a_hint_has_the_form_that_is_taken(typed: str, hint: str) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        parse(f"post_send A.qp0 opcode=SEND {typed}", VOCABULARY, "A")
    assert wrong.value.hint == hint
