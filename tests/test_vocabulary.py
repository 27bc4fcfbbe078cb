"""Every word there is can be found, read and tried."""

import re

from rdmalab.command import Command
from rdmalab.guide.usage import docstring
from rdmalab.vocabulary import GROUPS, VOCABULARY
from tests.each import each

EVERY = [each for group in GROUPS.values() for each in group]


def test_each_word_stands_once() -> None:
    assert len({each.name for each in EVERY}) == len(EVERY) == len(VOCABULARY)


def test_help_shows_verbs_first_and_leaving_last() -> None:
    rooms = list(dict.fromkeys(each.room for each in VOCABULARY.values()))
    assert rooms[:4] == ["pd", "mr", "cq", "qp"]
    assert next(iter(VOCABULARY)) == "alloc_pd"
    assert list(VOCABULARY)[-1] == "quit"
    names = list(VOCABULARY)
    pairs = (("create_qp", "modify_qp"), ("modify_qp", "destroy_qp"), ("post_send", "poll_cq"))
    assert all(names.index(early) < names.index(late) for early, late in pairs)


@each("each", EVERY)
def test_each_word_says_what_it_does(each: Command) -> None:
    page = docstring(each)
    assert re.fullmatch(r"[A-Z].*[.…]", each.summary)
    assert page.examples
    assert all(len(line) <= 100 for line in each.documentation.splitlines())


@each("each", EVERY)
def test_each_verb_says_where_to_read_on(each: Command) -> None:
    is_verb = each.function.__module__.startswith("rdmalab.verbs.")
    assert is_verb == ("\nSee: ibv_" in each.documentation)
    assert not is_verb or each.changes_world


@each("each", EVERY)
def test_the_example_uses_the_word_it_explains(each: Command) -> None:
    assert all(example.split()[0] == each.name for example in docstring(each).examples)


def test_what_moves_time_or_looks_is_no_invocation() -> None:
    still = [*GROUPS["time"], *GROUPS["look"], *GROUPS["learn"], *GROUPS["keep"], *GROUPS["leave"]]
    assert not any(each.changes_world for each in still)
