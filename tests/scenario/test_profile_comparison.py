"""Two device models: the first event that differs, and the cells of the table that cause it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from rdmalab.lab import Lab, open_session
from rdmalab.scenario.keeping import kept
from rdmalab.scenario.loader import load, loads
from rdmalab.scenario.profile_comparison import Difference, ProfilePair
from rdmalab.session.names import Names
from rdmalab.session.session import Session
from rdmalab.spec.profiles import Profile
from rdmalab.spec.records import Record
from rdmalab.views import record_text
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.world import World

HEAD = "rdmalab: 1\ntitle: t\nsteps:\n  - use rc_pair rnr_retry=1 max_recv_wr=8\n"
LONG = HEAD + "  - do: post_recv B.qp0 sg=B.mr0[0:64]\n    repeat: 2\n"
SEND = "  - post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED\n"
RUN = "  - run: until idle\n"


def differs(text: str, left: str, right: str, *ignored: str) -> Difference | None:
    scenario = loads(text, "x.yaml", VOCABULARY)
    return ProfilePair(scenario, open_session, left, right, ignored).difference()


def causes(text: str, left: str, right: str, *ignored: str) -> list[str]:
    found = differs(text, left, right, *ignored)
    assert found is not None
    return [cause.name for cause in found.causes]


def test_the_first_event_and_its_cell() -> None:
    found = differs(HEAD + SEND + RUN, "strict", "rxe", "slots_freed")
    assert found is not None
    assert (found.step, found.line) == (3, "until idle")
    assert "armed its RNR timer, due at 642." in found.left[0]
    assert "armed its RNR timer, due at 4.0" in found.right[0]
    (cause,) = found.causes
    assert (cause.name, cause.left, cause.right) == ("timer_tick_ns", "0", "4000000")
    assert cause.sentence.startswith("Timers are rounded up")
    assert cause.asked_by.startswith("hca.")


def test_an_ignored_cell_uncovers_the_next_difference() -> None:
    text = LONG + SEND + RUN
    assert causes(text, "strict", "rxe") == ["slots_freed"]
    found = differs(text, "strict", "rxe", "slots_freed")
    assert found is not None
    assert "BTH migrated 1" in found.left
    assert "BTH migrated 0" in found.right
    names = [cause.name for cause in found.causes]
    assert "sends_mig_req" in names
    assert differs(text, "strict", "rxe", "slots_freed", *names) is None
    with pytest.raises(KeyError, match="slot"):
        differs(text, "strict", "rxe", "slot")


def test_an_entry_of_a_part_is_named_and_not_the_whole_part() -> None:
    early = "rdmalab: 1\ntitle: t\nsetup:\n  - use rc_pair\n  - reset A.qp0\nsteps:\n"
    early += "  - do: post_send A.qp0 opcode=SEND sg=A.mr0[0:8]\n    errno: EINVAL\n"
    found = differs(early, "strict", "mlx5")
    assert found is not None
    (cause,) = found.causes
    assert (cause.name, cause.left, cause.right) == ("errnos[send-state]", "EINVAL", "ENOMEM")
    assert "posting a send needs RTS" in cause.sentence
    assert differs(early, "strict", "mlx5", "errnos") is None
    cq = "rdmalab: 1\ntitle: t\nsteps:\n  - {do: create_cq A.cq0 cqe=5000, errno: EINVAL}\n"
    assert causes(cq, "strict", "rxe") == ["caps.max_cqe"]


def test_what_a_command_returned_and_several_cells() -> None:
    text = HEAD + "  - post_recv B.qp0 sg=B.mr0[0:64]\n"
    text += "  - post_send A.qp0 opcode=SEND_WITH_IMM imm_data=1 sg=A.mr0[0:8] flags=SIGNALED\n"
    text += RUN + "  - poll_cq A.cq0\n"
    found = differs(text, "strict", "rxe", "slots_freed", "sends_mig_req")
    assert found is not None
    assert found.left == ("poll_cq[0].byte_len = 0", "poll_cq[0].wc_flags = 0")
    assert found.right == ("poll_cq[0].byte_len = 8", "poll_cq[0].wc_flags = WITH_IMM")
    assert [each.name for each in found.causes] == ["imm_flag_on_sender", "send_byte_len"]


def test_nothing_differs_and_limits_of_the_file_are_kept() -> None:
    assert differs(LONG + SEND + RUN, "strict", "mlx5") is None
    assert differs(LONG + SEND + RUN, "rxe", "rxe") is None
    own = "rdmalab: 1\ntitle: t\nnodes:\n  A: {max_qp_wr: 7}\n  B: {}\n"
    text = f"{own}steps:\n  - {{do: create_cq A.cq0 cqe=8, errno: EINVAL}}\n"
    assert differs(text, "strict", "rxe") is None


def test_a_step_that_ends_differently_without_an_event() -> None:
    text = "rdmalab: 1\ntitle: t\nsteps:\n  - create_cq A.cq0 cqe=8\n  - note: x\n"
    text += "  - do: alloc_pd A.pd0\n    expect: [A.cq0.capacity == 8]\n"
    found = differs(text, "strict", "rxe")
    assert found is not None
    assert (found.event, found.step, found.line) == (None, 3, "alloc_pd A.pd0")
    assert found.left == ("passed",)
    assert "15" in found.right[-1]
    assert found.causes == ()


def test_the_call_of_a_session_file_and_texts_up_to_the_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects are destroyed later, and the cause is found all the same."""
    lab, path = Lab(), tmp_path / "x.rdmalab"
    lines = ["use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"]
    lines += ["post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run"]
    lines += ["query_device A"] * 300 + ["destroy_qp A.qp0", "destroy_qp B.qp0"]
    for line in lines:
        lab.do(line)
    path.write_bytes(kept(lab.session, str(path)).octets)
    texts, opened = list[object](), list[object]()
    sentence = record_text.sentence

    def counted(world: World, names: Names, record: Record) -> str:
        texts.append(record)
        return sentence(world, names, record)

    monkeypatch.setattr(record_text, "sentence", counted)

    def opening(profiles: Mapping[str, Profile], *, seed: int) -> Session:
        opened.append(profiles)
        return open_session(profiles, seed=seed)

    found = ProfilePair(load(str(path), VOCABULARY), opening, "strict", "rxe").difference()
    assert found is not None
    assert (found.event, found.step) == (17, 16)
    assert found.line.startswith("post_send A.qp0 wr_id=2")
    assert [cause.name for cause in found.causes] == ["slots_freed"]
    assert len(texts) < 100 * len(opened)  # of 320 records each
