"""The table of scenarios: each file is there, and each one shows what the table says of it."""

import random

import pytest

from rdmalab.guide.explain import entries, explain
from rdmalab.guide.sentences import shown
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import load
from rdmalab.spec import absent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.statuses import STATUS, Side, WCStatus
from rdmalab.vocabulary import VOCABULARY
from tests.each import each
from tests.guide.saying import WORDS, row
from tests.shown import FOLDER, SAID, Showing, best, kind, played, shows

BY_NAME = {entry.name: entry for entry in entries(VOCABULARY)}
SHOWN = shown()
SCENARIOS = sorted(set(SHOWN.values()))


@each("scenario", SCENARIOS)
def test_every_scenario_that_is_named_is_there(scenario: str) -> None:
    assert (FOLDER / f"{scenario}{SUFFIX}").is_file()


def test_every_name_is_that_of_an_entry() -> None:
    assert set(SHOWN) <= set(BY_NAME)


@pytest.mark.parametrize("scenario", random.Random(7).sample(SCENARIOS, 12))
def test_a_scenario_shows_what_the_table_says(scenario: str) -> None:
    """A sample is played again; all of it, by `python -m tests.shown`, must change nothing."""
    showing = played(load(str(FOLDER / f"{scenario}{SUFFIX}"), VOCABULARY))
    for name in (name for name, shower in SHOWN.items() if shower == scenario):
        assert shows(BY_NAME[name], showing), name


def test_every_status_that_comes_is_shown() -> None:
    comes = {s for s, r in STATUS.items() if r.side is not Side.NEITHER}
    comes -= set(absent.REASONS[WCStatus])
    assert {full_name(status) for status in comes} <= set(SHOWN)


def test_an_article_names_the_scenario_as_load_takes_it() -> None:
    assert row("IBV_WC_RNR_RETRY_EXC_ERR", "shown by") == "load err/rnr-retry-exceeded"
    headings = [section.heading for section in explain("IBV_WC_TM_ERR", WORDS).sections]
    assert "shown by" not in headings


def test_the_best_scenario_has_the_word_and_is_short() -> None:
    entry = BY_NAME["refusal rkey"]

    def showing(name: str, about: str, records: int) -> Showing:
        return Showing(name, frozenset({"refusal rkey"}), about, about, records)

    long, short = showing("b/told", "the rkey is stale", 900), showing("a/silent", "", 10)
    shorter = showing("c/told", "a wrong rkey", 90)
    assert best(entry, [long, short]) == "b/told"
    assert best(entry, [long, short, shorter]) == "c/told"
    assert best(BY_NAME["refusal length"], [long]) == ""


def test_what_no_record_has_is_read_in_the_lines() -> None:
    entry = BY_NAME["field hop_limit"]
    assert kind(entry) in SAID
    answer = Showing("a/b", frozenset(), "", "- create_ah A.ah0 pd=A.pd0 hop_limit=0", 5)
    assert shows(entry, answer)
    assert not shows(entry, answer._replace(text="hop_limit is 0"))


@pytest.mark.parametrize(
    "word",
    ["link_layer", "alt_ah_attr", "alt_port_num", "path_mig_state", "PATH_MIG", "PATH_MIG_ERR",
     "ARMED", "REARM", "MIGRATED"],
)  # fmt: skip
def test_words_of_infiniband_name_a_lesson_of_infiniband(word: str) -> None:
    assert row(word, "shown by").startswith("load infiniband/")


@each("word, lesson", [
    ("RTS", "bringup/by-hand"), ("RTR", "bringup/by-hand"), ("min_rnr_timer", "bringup/by-hand"),
    ("IBV_SEND_SIGNALED", "flags/signaled"), ("INLINE", "rc/inline"), ("IBV_WR_SEND", "rc/send"),
    ("IBV_WR_RDMA_READ", "rc/rdma-read"), ("FETCH_AND_ADD", "rc/fetch-and-add"),
    ("WR_FLUSH_ERR", "why/flush-only"), ("verb post_send", "posting/later"),
])  # fmt: skip
def test_a_lesson_for_beginners_goes_before_those_that_only_use_a_word(
    word: str, lesson: str
) -> None:
    assert row(word, "shown by") == f"load {lesson}"
