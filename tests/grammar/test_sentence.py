"""One reading of a command: words find their parameters, nothing raises, wrong parts say so."""

import pytest
from hypothesis import given

from rdmalab import vocabulary
from rdmalab.command import NotUnderstood
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.line import parse
from rdmalab.grammar.sentence import Sentence, find_verb
from rdmalab.grammar.syntax import commands
from rdmalab.grammar.tokens import scan
from tests.grammar.strategies import texts
from tests.grammar.vocabulary import ALIASES, VOCABULARY


def read(line: str) -> dict[str, object]:
    """Each part as `slot: value`, or its message where it is wrong."""
    command, rest = find_verb(scan(line), VOCABULARY, ALIASES)
    assert command is not None
    parts = Sentence(command, rest, "A").parts
    return {
        p.slot.dotted if p.slot else "?": p.wrong.message if p.wrong else p.value for p in parts
    }


def test_a_word_goes_to_the_first_free_parameter_that_accepts_it() -> None:
    assert read("goto 30") == {"event": 30}
    assert read("goto 9.2us") == {"at": 9200}
    assert read("goto @nak") == {"mark": "@nak"}
    assert read("goto 30 40") == {"event": 30, "mark": "40"}
    assert read("step packet 5") == {"kind": "packet", "count": 5}


def test_a_question_takes_what_the_parameters_before_it_refuse() -> None:
    assert read("run 100us") == {"duration": 100_000}
    assert str(read("run until idle")["condition"]).startswith("Expression(text='idle'")
    assert read("run utnil idle")["goal"] == '"utnil" means nothing here'
    assert read("run 100")["duration"] == '"100" has no unit'


def test_an_alias_may_be_several_words() -> None:
    assert read("n") == {"kind": "packet"}
    assert read("z")["condition"] == parse_expression("idle or now > 2s")
    assert read("n 3") == {"kind": "packet", "count": 3}


def test_reading_continues_after_a_mistake() -> None:
    answer = read("post_send A.qp0 opcode=SENT flag=3 wr_id=7")
    assert answer["wr.wr_id"] == 7
    assert answer["wr.opcode"] == '"SENT" is no opcode of a work request'
    assert answer["?"] == 'no key "flag"'


def test_prose_takes_the_rest_of_the_line_as_it_stands() -> None:
    line = "peer 10.2.0.5<33> with status=12 opcode=3, [Errno 22]  (Recv) wc->status"
    assert read(f"tell {line}") == {"text": line}
    assert read("tell word") == {"text": "word"}
    assert read('tell "a; b # c"') == {"text": "a; b # c"}
    assert read('tell he said "no" twice') == {"text": 'he said "no" twice'}
    assert read("tell status=12") == {"text": "status=12"}


@given(texts)
def test_nothing_raises(text: str) -> None:
    for tokens in commands(scan(text)):
        for name in ("post_send", "run", "modify_qp", "tell"):
            command = VOCABULARY[name]
            sentence = Sentence(command, tokens, None)
            assert all(
                p.wrong is None or isinstance(p.wrong, NotUnderstood) for p in sentence.parts
            )


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("modify_qp A.qp0 INIT", "write state=INIT"),
        ("modify_qp A.qp0 IBV_QPS_RTR", "write state=IBV_QPS_RTR"),
        ("post_send A.qp0 SEND", "write opcode=SEND"),
    ],
)
def test_hint_for_a_bare_value_is_its_key(line: str, hint: str) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        parse(line, vocabulary.VOCABULARY)
    assert wrong.value.message == f'unexpected "{line.split()[-1]}"'
    assert wrong.value.hint == hint
