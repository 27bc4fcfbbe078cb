"""Fields: every key that a verb takes is explained, with what its signature knows."""

from rdmalab.command import IntegerKind, Parameter
from rdmalab.guide.explain import lookup
from rdmalab.guide.fields import FieldUse, field_article, fields_of
from rdmalab.guide.sentences import concepts, read
from rdmalab.spec.states import ATTRIBUTES
from rdmalab.vocabulary import VERBS, VOCABULARY
from tests.each import each
from tests.guide.saying import WORDS, article_text, row

FIELDS = read("sentences")["field"]
PLACES = fields_of({verb: VOCABULARY[verb] for verb in VERBS})
# Words of the trade that a key is named after: qp, mr, rkey …
TRADE = {word for name, concept in concepts().items() for word in (name, *concept.words)}


@each("name", PLACES)
def test_every_field_of_every_verb_is_explained(name: str) -> None:
    has_text = name in FIELDS or name in ATTRIBUTES or name in TRADE | {"event"}
    assert has_text, "write a sentence in [field] of rdmalab/guide/data/sentences.toml"
    assert any(
        entry.kind in ("field of a verb", "QP attribute", "word") for entry in lookup(name, WORDS)
    )


@each("name", FIELDS)
def test_a_field_names_who_takes_it(name: str) -> None:
    places = fields_of(WORDS)[name]
    assert row(f"field {name}", "taken by").startswith(places[0].command)
    assert FIELDS[name] in article_text(f"field {name}")


def test_what_the_signature_knows_is_taken_from_it() -> None:
    assert row("wr_id", "type") == "64 bits"
    assert row("mss", "type") == "16 bits"
    assert row("flush_type", "type") == "GLOBAL|PERSISTENT"
    assert row("flush_type", "default") == "GLOBAL"
    assert "default" not in article_text("qp_type")  # only open_qp has one
    assert row("remote_addr", "wire") == "va of a RETH or AtomicETH"


def test_a_field_has_a_default_only_if_all_uses_agree() -> None:
    one, two = (FieldUse(v, Parameter("n", IntegerKind(), d)) for v, d in (("a", 1), ("b", 2)))
    article = [section.heading for section in field_article("wr_id", [one, two]).sections]
    assert "default" not in article
    article = [section.heading for section in field_article("wr_id", [one, one]).sections]
    assert "default" in article


def test_the_names_of_the_struct_are_known_too() -> None:
    assert article_text("send_flags").startswith("flags")
