"""Keys: inner fields stand beside outer ones, a name already taken is written dotted."""

import pytest

from rdmalab.command import RecordKind
from rdmalab.grammar.keys import flat_record, keys_of_command, keys_of_record
from rdmalab.vocabulary import VOCABULARY
from tests.grammar.vocabulary import modify_qp, post_send

KEYS = keys_of_command(modify_qp.parameters)


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
    keys = keys_of_command(post_send.parameters)
    assert keys.by_key["opcode"].path == ("wr", "opcode")
    assert keys.by_key["remote"].path == ("wr", "remote")
    assert "addr" not in keys.by_key


def test_the_keys_between_braces() -> None:
    kind = KEYS.by_key["ah_attr"].kind
    assert isinstance(kind, RecordKind)
    assert keys_of_record(kind).words == ["grh", "is_global", "port_num", "dgid", "hop_limit"]


REAL = keys_of_command(VOCABULARY["post_send"].parameters)


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
    keys = keys_of_command(VOCABULARY["wr_set_sge"].parameters)
    assert keys.words == ["qp", "sg", "addr", "length", "lkey"]
    kind = keys.by_key["sg"].kind
    assert flat_record(kind, lists=True) is kind
    assert flat_record(REAL.by_key["sg"].kind, lists=True) is None
