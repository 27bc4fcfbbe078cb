"""Phrases: times the grammar can read, errnos by name, profiles where they differ."""

import pytest

from rdmalab.command import Unit
from rdmalab.grammar.quantities import whole
from rdmalab.guide.phrases import (
    attribute_names,
    by_profile,
    duration,
    errno_of,
    right_words,
    sentence_of,
    type_names,
)
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import Profile
from rdmalab.spec.states import Attr, QPType
from rdmalab.spec.timers import RNR_NS
from tests.each import each


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [(40, "40 ns"), (655_360_000, "655.36 ms"), (67_108_864, "67.109 ms"), (2_000, "2 us"),
     (8_796_093_022_208, "2.443 h")],
)  # fmt: skip
def test_durations_have_three_decimals_at_most(time_ns: int, text: str) -> None:
    assert duration(time_ns) == text


@each("time_ns", RNR_NS)
def test_the_grammar_reads_every_rnr_wait_back(time_ns: int) -> None:
    assert whole(duration(time_ns), Unit.NS) == time_ns


def test_profiles_are_named_only_where_they_differ() -> None:
    def name(profile: Profile) -> str:
        return profile.name if profile.name == "rxe" else "same"

    assert by_profile(lambda _profile: "1") == "1"
    assert by_profile(name) == "same (rxe: rxe)"
    assert errno_of("send-state") == "EINVAL (mlx5: ENOMEM)"


def test_sentences_without_a_case() -> None:
    assert sentence_of("transition") == "STATE to STATE is not a legal transition"


def test_types_rights_and_attributes_by_name() -> None:
    assert type_names([QPType.UC, QPType.RC]) == "RC UC"
    assert type_names(QPType) == "every type"
    assert type_names([]) == "no type"
    assert right_words(Access(0)) == "none"
    assert right_words(Access.REMOTE_READ | Access.REMOTE_WRITE) == "REMOTE_WRITE or REMOTE_READ"
    assert attribute_names(Attr.PORT | Attr.ALT_PATH) == "port_num alt_*"
