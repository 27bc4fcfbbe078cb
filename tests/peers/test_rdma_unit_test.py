"""The lab does what google/rdma-unit-test expects of a device, or differs as the entry says."""

import pytest

from tests.peers.rdma_unit_test import DIFFERS, PROFILES, Entry, entries, names, play

JUDGED = [entry for entry in entries() if not entry.dropped]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("entry", JUDGED, ids=lambda entry: entry.name)
def test_the_lab_does_what_the_entry_says(entry: Entry, profile: str) -> None:
    ending = play(entry, profile, as_told=True)
    assert ending.ok, ending.failure
    if entry.differs(profile):
        assert not play(entry, profile, as_told=False).ok, "it does not differ"


def test_each_entry_is_of_one_test_of_theirs() -> None:
    ours = [(entry.file, entry.name) for entry in entries()]
    assert len(set(ours)) == len(ours)
    assert set(ours) <= set(names())


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_an_entry_is_whole(entry: Entry) -> None:
    """It says what is demanded; a play asserts something, a difference has reason and source."""
    assert entry.raw["behaviour"]
    assert bool(entry.dropped) != ("play" in entry.raw)
    if not entry.dropped:
        asserted = {key for step in entry.raw["play"] if isinstance(step, dict) for key in step}
        assert asserted & {"expect", "errno", "wire"}
    for profile in PROFILES:
        told = entry.raw.get(profile, {})
        assert set(told) <= DIFFERS
        assert not told or (told["differs"] and told["source"])
