"""Words that ask something of the face: handed out, handed on, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.scenario.sharing import shared
from rdmalab.session.digest import digest
from rdmalab.shell.conversation import End
from rdmalab.shell.wishes import WISHES
from rdmalab.workbench.files import Open, Shared
from tests.diaries import close_all, opened
from tests.labs import RECV, SEND
from tests.shell.talk import Talk

if TYPE_CHECKING:
    from pathlib import Path

ENDLESS = """rdmalab: 1
title: endless
steps:
  - use rc_pair rnr_retry=7 min_rnr_timer=1
  - post_send A.qp0 opcode=SEND sg=A.mr0[0:64]
  - run: step 15000
  - run: step 15000
"""


def world_of(talk: Talk) -> str:
    return digest(talk.lab.session.world.trace)


def test_each_wish_is_granted() -> None:
    assert {Open, Shared} < set(WISHES)


def test_what_one_shares_another_opens() -> None:
    one = Talk("use rc_pair", RECV, SEND, "run", "modify_qp A.qp0 state=INIT", "run 3us", width=40)
    (word,) = one.ask("share")
    assert len(word) > 40  # never folded
    other = Talk("node B", "alloc_pd A.pd3")
    assert other.ask(f"open {word}") == ["20 steps; it is 5.215us, event 20"]
    assert other.conversation.end is End.FINE
    assert world_of(other) == world_of(one)
    assert other.lab.session.default_node == "B"
    assert other.ask("show A.qp0")[0] == "A.qp0"
    assert other.ask("share") == [word]


def test_where_there_is_a_clipboard_it_is_there_too() -> None:
    talk, copied = Talk("use rc_pair"), list[str]()
    talk.conversation.copy = copied.append
    said = talk.ask("share")
    assert copied == [said[0]]
    assert said[1:] == ["copied, if this terminal lets a program do so"]


def test_a_damaged_text_changes_nothing() -> None:
    talk = Talk("use rc_pair")
    (word,) = talk.ask("share")
    before = talk.lab.session
    said = talk.ask(f"open {word[:-3]}x")
    assert " ".join(" ".join(said).split()).startswith(
        "not understood (nothing happened): this cannot be opened: it is damaged, or not all of it "
    )
    assert talk.lab.session is before
    assert talk.conversation.end is End.NOT_UNDERSTOOD


def test_what_is_shared_and_no_scenario_is_told_with_its_place() -> None:
    talk = Talk()
    said = talk.ask(f"open {shared('rdmalab: 1')}")
    assert said[0].startswith("shared:1:1: ")
    word = shared("rdmalab: 1\ntitle: x\nsteps:\n  - save x.yaml\n")
    assert "save is a word of the prompt, not of a scenario" in talk.ask(f"open {word}")[0]


def test_an_opening_that_fails_says_where() -> None:
    word = shared("rdmalab: 1\ntitle: x\nsteps:\n  - alloc_pd A.pd0\n  - dealloc_pd A.pd1\n")
    talk = Talk()
    said = talk.ask(f"open {word}")
    assert "shared:5" in said[0]
    assert talk.conversation.end is End.FAILED


def test_a_long_one_can_be_stopped_and_comes_back_as_far_as_it_went(tmp_path: Path) -> None:
    from tests.shell.test_continuing import stop_after

    talk = Talk(diary=opened(tmp_path))
    stop_after(talk, f"open {shared(ENDLESS)}", 5)
    event = talk.lab.session.world.event
    assert 0 < event < 30000
    close_all()
    again = Talk("continue", diary=opened(tmp_path))
    assert (again.lab.session.world.event, world_of(again)) == (event, world_of(talk))
