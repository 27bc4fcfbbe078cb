"""A shared text comes back as it was, or is told to be damaged: never anything else."""

import base64
import hashlib
import pkgutil
import time
import zlib
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdmalab.lab import open_session
from rdmalab.scenario.loader import loads
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import saved
from rdmalab.scenario.share_text import LONGEST, Damaged, scenario_of, shared
from rdmalab.scenario.source import MAX_OCTETS
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.each import examples
from tests.labs import RECV, SEND, lab_of
from tests.machine.sessions import random_lab

DICTIONARY_1 = pkgutil.get_data("rdmalab.scenario", "share_format_1.txt") or b""
WORD = shared(saved(lab_of(RECV, SEND, "run", "poll_cq A.cq0").session, "shared"))


def test_a_short_session_fits_into_a_mail() -> None:
    assert WORD.startswith("rdmalab:2:")
    assert len(WORD) < 1_500


def test_a_link_of_the_page_has_the_word_after_its_sign() -> None:
    for link in (f"https://lab.example.org/rdma/#{WORD}", f" HTTP://host:8080/#{WORD}\n"):
        assert scenario_of(link) == scenario_of(WORD)
    with pytest.raises(Damaged, match="begins with rdmalab:2:"):
        scenario_of("https://lab.example.org/rdma/")


def test_a_word_of_format_1_is_still_read() -> None:
    """Made by the version before zlib alone was used; its dictionary must never change."""
    answer = hashlib.sha256(DICTIONARY_1).hexdigest()
    assert answer == "5bef160c6b18361c4f296a9dc29de7cccdbe36a9b682a96eccabdc8f98716c1c"
    old = "rdmalab:1:VsS4HiOzXhmtLkari9HqYrS6GK0uBrq6AJf_JmSX_xj1DBcA"
    assert scenario_of(old).endswith("  - poll_cq A.cq0\n")
    for broken in (old[:-4] + "AAAA", old.replace("VsS4", "VsS5"), old[:-3]):
        with pytest.raises(Damaged, match="damaged"):
            scenario_of(broken)


@given(st.text(max_size=300))
def test_any_text_comes_back(text: str) -> None:
    text = text.encode(errors="replace").decode()
    assert scenario_of(shared(text)) == text


def test_white_space_on_the_way_does_not_matter() -> None:
    pasted = "\n   ".join(WORD[at : at + 20] for at in range(0, len(WORD), 20))
    assert scenario_of(f"  {pasted}\n") == scenario_of(WORD)


@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=True), st.sampled_from(("strict", "rxe", "mlx5")))
def test_what_was_shared_is_the_same_world(chance: Random, profile: str) -> None:
    lab = random_lab(chance, profile)
    text = scenario_of(shared(saved(lab.session, "shared")))
    runner = Runner(loads(text, "shared", VOCABULARY), open_session)
    runner.run()
    assert runner.ok, runner.results[-1].text("shared")
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)


# --------------------------------------------------------------------------- damage
_LETTER = st.sampled_from("ABCxyz019-_=:+/ \n\x00é")


@settings(max_examples=examples(600))
@given(st.integers(0, len(WORD)), st.integers(0, 3), st.text(_LETTER, max_size=3))
@example(len(WORD) - 1, 1, "")
@example(8, 0, "0")
@example(62, 1, "0")
def test_no_damage_goes_unnoticed(at: int, gone: int, instead: str) -> None:
    damaged = WORD[:at] + instead + WORD[at + gone :]
    try:
        found = scenario_of(damaged)
    except Damaged:
        assert "".join(damaged.split()) != WORD
    else:  # not every bit of a compressed text matters
        assert found == scenario_of(WORD)


@settings(max_examples=examples(300))
@given(st.text(max_size=60) | st.binary(max_size=60).map(
    lambda octets: "rdmalab:2:" + base64.urlsafe_b64encode(octets).decode().rstrip("=")
))  # fmt: skip
def test_other_text_is_damaged(text: str) -> None:
    with pytest.raises(Damaged):
        scenario_of(text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("", "a shared session begins with rdmalab:2:"),
        ("hello", "a shared session begins with rdmalab:2:"),
        ("rdmalab:3:AAAA", "format 3 of another rdmalab; this one reads 1 and 2"),
        (WORD[:-5], "the text is damaged or incomplete"),
        ("rdmalab:2:", "the text is damaged or incomplete"),
        ("rdmalab:1:A", "the text is damaged or incomplete"),
        ("rdmalab:2:é", "the text is damaged or incomplete"),
        ("rdmalab:" + "9" * 5000 + ":AAAA", "the text is damaged or incomplete"),
    ],
    ids=str,
)
def test_messages_of_damaged_text(word: str, text: str) -> None:
    with pytest.raises(Damaged) as error:
        scenario_of(word)
    assert str(error.value) == text


def _bomb(octets: bytes) -> str:
    return "rdmalab:2:" + base64.urlsafe_b64encode(zlib.compress(octets, 9)).decode().rstrip("=")


def _bomb_1(octets: bytes) -> str:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, DICTIONARY_1)
    stream = deflate.compress(octets) + deflate.flush()
    head = zlib.crc32(octets).to_bytes(4, "big")
    return "rdmalab:1:" + base64.urlsafe_b64encode(head + stream).decode().rstrip("=")


@pytest.mark.parametrize("bomb", [_bomb, _bomb_1])
def test_a_bomb_does_not_go_off(bomb: Callable[[bytes], str]) -> None:
    word = bomb(bytes(200 * MAX_OCTETS))
    started = time.process_time()
    with pytest.raises(Damaged, match="too large: a scenario has at most 1,048,576 bytes"):
        scenario_of(word)
    assert time.process_time() - started < 1
    assert scenario_of(bomb(b"a" * MAX_OCTETS)) == "a" * MAX_OCTETS


def test_invalid_utf8_or_trailing_bytes_are_damaged() -> None:
    for word in (_bomb(b"\xff\xfe"), WORD + "AAAA", WORD + "=" * LONGEST):
        with pytest.raises(Damaged):
            scenario_of(word)
