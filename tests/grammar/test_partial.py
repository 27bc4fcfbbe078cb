"""Half lines, the cursor at `|`: what may come there, and what completion would replace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.grammar.partial import Expected, expect
from tests.grammar.strategies import texts
from tests.grammar.vocabulary import ALIASES, VOCABULARY


def at(line: str) -> Expected:
    cursor = line.index("|>")
    return expect(line.replace("|>", "", 1), cursor, VOCABULARY, "A", ALIASES)


def values(expected: Expected) -> list[str]:
    return [slot.dotted for slot in expected.values]


@pytest.mark.parametrize(
    ("line", "partial"),
    [("|>", ""), ("  |>", ""), ("post_s|>", "post_s"), ("step ; |>", ""), ("step\nli|>", "li"),
     ("po|>st_send qp0", "po")],
)  # fmt: skip
def test_a_verb_comes_first(line: str, partial: str) -> None:
    expected = at(line)
    assert expected.is_verb
    assert expected.partial == partial


@pytest.mark.parametrize(
    ("line", "slots", "partial"),
    [
        ("post_send |>", ["qp"], ""),
        ("post_send A.|>", ["qp"], "A."),
        ("post_send A.qp0 |>", ["wr"], ""),
        ("post_send A.qp0, |>", ["qp"], ""),
        ("post_send A.qp0 op|>", ["wr"], "op"),
        ("post_send A.qp0 opcode=|>", ["wr.opcode"], ""),
        ("post_send A.qp0 opcode = |>", ["wr.opcode"], ""),
        ("post_send A.qp0 opcode=SE|>", ["wr.opcode"], "SE"),
        ("post_send A.qp0 flags=FENCE|SIG|>", ["wr.flags"], "SIG"),
        ("post_send A.qp0 flags=FENCE| |>", ["wr.flags"], ""),
        ("post_send A.qp0 sg=A.mr0,A.m|>", ["wr.sg"], "A.m"),
        ("post_send A.qp0 sg=A.mr0, |>", ["wr.sg"], ""),
        ("post_send A.qp0 remote=B|> wr_id=3", ["wr.remote"], "B"),
        ("post_send A.qp0 nokey=1|>", [], ""),
        ("modify_qp A.qp0 state=RTS |>", [], ""),
        ("step |>", ["count", "kind"], ""),
        ("step 5 pa|>", ["kind"], "pa"),
        ("n |>", ["count"], ""),
        ("fault |>", ["what"], ""),
        ("fault drop B->|>", ["direction", "by"], "B->"),
        ('write A.mr0 "he|>', ["text"], '"he'),
        ("until |>", ["condition"], ""),
        ("until A.qp0.st|>", ["condition"], "A.qp0.st"),
        ("until A.qp0.state == |>", ["condition"], ""),
        ("until A.qp0.state == E|>", ["condition"], "E"),
        ("until idle |>", ["condition"], ""),
        ("run until A.qp0.state == |>", ["condition"], ""),
        ("until idle within |>", ["within"], ""),
        ("until idle within 2|>", ["within"], "2"),
        ("nonsense |>", [], ""),
        ("step # 5|>", [], ""),
        ("post_send A.qp0 wr={|>", [], ""),
        ("post_send A.qp0 wr={opcode=SEND |>", [], ""),
        ("post_send A.qp0 wr={opcode=SEND wr|>", [], "wr"),
        ("post_send A.qp0 wr={opcode=|>}", ["opcode"], ""),
        ("post_send A.qp0 wr={opcode=SEND sg={addr=1 len|>", [], "len"),
        ("post_send A.qp0 wr={opcode=SEND sg={lkey=|>", ["lkey"], ""),
    ],
)
def test_a_value_comes_there(line: str, slots: list[str], partial: str) -> None:
    expected = at(line)
    assert values(expected) == slots
    assert expected.partial == partial
    assert line[expected.place.start : expected.place.stop] == partial
    assert not expected.is_verb


def test_the_keys_that_are_left() -> None:
    keys = at("modify_qp A.qp0 state=RTS ah_attr.port_num=1 |> timeout=3").keys
    assert {"port_num", "dgid", "alt_ah_attr.port_num", "ah", "attr_mask"} <= set(keys)
    assert not {"qp", "attr", "qp_state", "timeout", "ah_attr", "ah_attr.port_num"} & set(keys)
    assert keys["dgid"].dotted == "attr.ah_attr.grh.dgid"


def test_a_list_of_records_may_go_on() -> None:
    assert list(at("post_send A.qp0 wr={opcode=SEND} |>").keys) == ["wr", "bad_wr"]


def test_keys_end_a_question_once_a_space_is_typed() -> None:
    assert list(at("until idle |>").keys) == ["within", "limit"]
    assert at("until idle|>").keys == {}


def test_between_braces_the_record_has_its_own_keys() -> None:
    expected = at("post_send A.qp0 wr={opcode=SEND sg={|>")
    assert list(expected.keys) == ["addr", "length", "lkey"]
    assert expected.record is not None
    assert expected.record.record.__name__ == "SGE"


def test_what_is_given_elsewhere_is_known_with_its_value() -> None:
    given = at("modify_qp B.qp0 state=|> timeout=14 port_num=x").given
    assert {key: part.value for key, part in given.items()} == {
        "qp": given["qp"].value,
        "attr.timeout": 14,
        "attr.port_num": None,
    }
    assert given["attr.port_num"].wrong is not None
    assert str(given["qp"].value) == "B.qp0"


@given(texts, st.integers(-2, 60))
def test_any_text_and_any_cursor_expect_something(text: str, cursor: int) -> None:
    expected = expect(text, cursor, VOCABULARY, None, ALIASES)
    start, stop = expected.place
    assert 0 <= start <= stop <= max(0, min(cursor, len(text)))
    assert text[start:stop].split() == expected.partial.split() or "|" in text or " " in text


@given(texts)
def test_a_verb_before_any_text_is_recognized(text: str) -> None:
    line = "post_send " + text.replace(";", "").replace("\n", "").replace("#", "")
    expected = expect(line, len(line), VOCABULARY, "A", ALIASES)
    assert expected.command is VOCABULARY["post_send"] or expected.is_verb
