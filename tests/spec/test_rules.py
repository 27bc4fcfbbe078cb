"""Rules that verbs refuse by: each is used, says something, and is filled with what it asks for."""

import errno
from pathlib import Path
from string import Formatter

from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.rules import OF_EACH_REQUEST, RULES, errno_name
from tests.each import each

PACKAGE = Path(__file__).parents[2] / "rdmalab"
ROOMS = ("hca", "world", "verbs")
ENGINES = "\n".join(f.read_text("utf-8") for room in ROOMS for f in (PACKAGE / room).rglob("*.py"))
LATER: set[str] = set()


@each("name", RULES)
def test_every_rule_is_used_by_a_refusal(name: str) -> None:
    assert (f'"{name}"' in ENGINES) is (name not in LATER)


@each("name", RULES)
def test_its_sentence_takes_what_an_engine_has_to_say(name: str) -> None:
    room = sum(part is not None for _, part, _, _ in Formatter().parse(RULES[name].sentence))
    assert room <= 2


@each("name", RULES)
def test_a_rule_has_an_errno_and_says_where_it_comes_from(name: str) -> None:
    row = RULES[name]
    assert row.errno in errno.errorcode
    assert row.source
    assert not row.sentence.endswith(".")


def test_names_are_those_of_the_man_pages() -> None:
    assert errno_name(errno.EOPNOTSUPP) == "EOPNOTSUPP"
    assert errno_name(22) == "EINVAL"
    assert errno_name(99_999) == "99999"


def test_a_profile_overrides_only_rules_that_exist() -> None:
    for profile in PROFILES.values():
        assert set(profile.errnos) <= set(RULES)


def test_the_rules_of_each_request_are_those_of_the_posting_engines() -> None:
    asked = "\n".join(
        (PACKAGE / "hca" / f"{module}.py").read_text("utf-8")
        for module in ("posting", "invalid_pointers", "offloads", "send_checks", "srq_lifecycle")
    )
    assert set(RULES) >= OF_EACH_REQUEST
    assert all(f'"{name}"' in asked for name in OF_EACH_REQUEST)
