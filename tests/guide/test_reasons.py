"""Rules, errnos, refusals, drops and asynchronous events."""

import os

import pytest

from rdmalab.guide.reasons import errnos
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.refusals import DROPS, REFUSALS
from rdmalab.spec.rules import RULES, errno_name
from tests.each import each
from tests.guide.saying import article_text, row


@each("name", RULES)
def test_a_rule_says_its_sentence_and_errno(name: str) -> None:
    text = article_text(f"rule {name}")
    assert RULES[name].general in text
    assert "…" not in RULES[name].general.replace("wr_start … wr_complete", "")
    assert errno_name(RULES[name].errno) in row(f"rule {name}", "returns")
    assert RULES[name].source in text


def test_a_rule_has_the_general_form_of_a_value() -> None:
    assert "the device has no port N" in article_text("rule port-num")
    assert "the send or receive queue is full: N slots, none free" in article_text(
        "rule queue-full"
    )


@pytest.mark.parametrize("number", errnos())
def test_an_errno_names_every_rule_that_raises_it(number: int) -> None:
    named = row(errno_name(number), "rules").split()
    assert named == [name for name, rule in RULES.items() if rule.errno == number]


def test_errnos_read_as_the_system_reads_them() -> None:
    assert all(row(errno_name(number), "says") == os.strerror(number) for number in errnos())


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("send-flags-type", "by profile rxe and mlx5: explain refuses_foreign_flags"),
        ("inline-opcode", "by profile rxe: explain refuses_inline_read"),
        ("atomic-length", "by profile strict and mlx5: explain refuses_odd_atomics"),
        ("queue-full", ""),
    ],
)
def test_a_rule_names_the_profiles_that_accept(name: str, accepted: str) -> None:
    assert row(f"rule {name}", "accepted") == accepted


def test_an_errno_that_another_profile_gives() -> None:
    assert "mlx5: send-state" in row("ENOMEM", "also")


@each("name", REFUSALS)
def test_a_refusal_says_what_comes_of_it_on_both_sides(name: str) -> None:
    refusal = REFUSALS[name]
    assert refusal.sentence in article_text(f"refusal {name}")
    answer = row(f"refusal {name}", "wire")
    assert answer == "no reply" if refusal.syndrome is None else refusal.syndrome.name in answer
    assert ("ERR" in row(f"refusal {name}", "here").split(";")[0]) == refusal.fatal


def test_what_the_sender_gets() -> None:
    assert row("sequence-gap", "wire") == "NAK_SEQUENCE 0x60, once per gap"
    assert row("no-receive", "sender").endswith("then RNR_RETRY_EXC_ERR")
    assert row("refusal rkey", "sender") == "its request ends with REM_ACCESS_ERR"
    assert row("refusal dying", "sender") == "gets no reply; its ack timer is running"
    assert "LOC_QP_OP_ERR" in row("receive-short", "rxe")
    assert row("opcode-order", "here").endswith("otherwise QP_REQ_ERR is raised")


def test_a_failed_remote_invalidate_is_acknowledged() -> None:
    assert row("invalidate", "sender") == "gets the ACK: its request completes with SUCCESS"
    silent = row("invalidate", "mlx5")
    assert silent.startswith("no reply")
    assert silent.endswith("sender: gets no reply; its ack timer is running")


@each("name", DROPS)
def test_a_drop_says_its_sentence(name: str) -> None:
    assert DROPS[name].sentence in article_text(f"drop {name}")


@each("event", AsyncEvent)
def test_an_event_says_when_and_about_what(event: AsyncEvent) -> None:
    text = article_text(f"IBV_EVENT_{event.name}")
    assert EVENTS[event].text in text
    assert EVENTS[event].when in text


def test_an_event_names_the_refusals_that_raise_it() -> None:
    assert row("QP_ACCESS_ERR", "refusals") == "rkey"


def test_a_batch_has_errnos_of_its_own() -> None:
    assert row("rule queue-full", "wr_complete") == "rxe: ENOSPC"
    assert row("rule send-state", "wr_complete") == "mlx5: EINVAL"
    assert row("rule send-flags", "wr_complete") == ""
    assert "rxe wr_complete: queue-full send-sges inline-length" in row("ENOSPC", "also")
    assert "queue-full ENOSPC" in row("rxe", "wr_complete")


@pytest.mark.parametrize("name", ["send-sges", "queue-full", "crash-next", "recv-sges"])
def test_a_rule_of_each_request_says_that_earlier_ones_stay_posted(name: str) -> None:
    answer = row(f"rule {name}", "when")
    assert "Those before it in the list stay posted" in answer
    assert "changed nothing" not in answer


def test_other_rules_change_nothing_and_einval_says_both() -> None:
    assert row("rule transition", "when") == "at once; the call has changed nothing"
    assert "earlier requests of a list stay posted" in article_text("EINVAL")


def test_the_rule_of_an_unknown_address_says_that_linux_waits() -> None:
    assert "on Linux after about 1 s" in row("rule ah-neighbour", "when")
    assert row("ETIMEDOUT", "who") == "the verb returns it"
    assert "explain rule ah-neighbour" in article_text("EHOSTUNREACH")


def test_the_length_of_2_to_the_31_is_not_ascribed_to_the_manual_page() -> None:
    assert "RDMAmojo" in article_text("zero-length-sge")
