"""Keys: inner fields stand beside outer ones, a name already taken is written dotted."""

import pytest

from rdmalab.command import RecordKind
from rdmalab.grammar.keys import keys_of_command, keys_of_record
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
