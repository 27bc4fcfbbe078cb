from rdmalab.command import NewKind, Noun, ThingKind, kind_of
from rdmalab.verbs import nouns


def test_each_noun_is_taken_and_made_under_its_own_name() -> None:
    for noun in Noun:
        if noun is not Noun.NODE:
            name = noun.value.capitalize()
            assert kind_of(getattr(nouns, name)) == ThingKind(noun)
            assert kind_of(getattr(nouns, f"New{name}")) == NewKind(noun)
