"""The lab does what google/rdma-unit-test expects of a device, or differs as the entry says."""

import pytest

from tests.each import each
from tests.peers.rdma_unit_test import DIFFERS, PROFILES, Entry, entries, names, play

JUDGED = [entry for entry in entries() if not entry.dropped]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("entry", JUDGED, ids=lambda entry: entry.name)
def test_the_lab_does_what_the_entry_says(entry: Entry, profile: str) -> None:
    ending = play(entry, profile, as_told=True)
    assert ending.ok, ending.failure
    if entry.differs(profile):
        assert not play(entry, profile, as_told=False).ok, "it does not differ"


def test_each_of_their_tests_has_one_entry() -> None:
    assert sorted((entry.file, entry.name) for entry in entries()) == sorted(names())


def test_most_of_their_tests_are_judged_and_equal() -> None:
    """At least 345 of the 410 are judged, and 97 in a hundred of those are equal under mlx5."""
    assert len(JUDGED) >= 345
    different = [entry.name for entry in JUDGED if entry.differs("mlx5")]
    assert len(different) * 100 <= 3 * len(JUDGED), different


@each("entry", entries())
def test_an_entry_is_whole(entry: Entry) -> None:
    """It says what is demanded; a play asserts something, a difference has reason and source."""
    assert entry.raw["behaviour"]
    assert bool(entry.dropped) != ("play" in entry.raw)
    if not entry.dropped:
        asserted = {key for step in entry.raw["play"] if isinstance(step, dict) for key in step}
        assert asserted & {"expect", "errno", "wire"}
    for profile in PROFILES:
        answer = entry.raw.get(profile, {})
        assert set(answer) <= DIFFERS
        assert not answer or (answer["differs"] and answer["source"])
