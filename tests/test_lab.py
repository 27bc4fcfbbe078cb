"""The lab as Python sees it: the same words, the same answers."""

import pytest

import rdmalab
from rdmalab.command import NotUnderstood
from rdmalab.lab import Lab
from rdmalab.spec.profiles import PROFILES
from tests.labs import RECV, SEND, fingerprint, lab_of, misread, well


def test_the_story_of_the_design_page() -> None:
    lab = rdmalab.Lab()
    lab.do("use rc_pair")
    lab.do(RECV)
    lab.do(SEND)
    assert lab.run().travel is not None
    assert lab.look("A.cq0.count") == lab.look("B.cq0.count") == 1


def test_a_short_form_is_followed_by_what_it_stands_for() -> None:
    answer = Lab().do("use rc_pair")
    assert [reply.depth for reply in answer] == [0] + [1] * (len(answer) - 1)
    assert answer[0].event is None
    assert [reply.event for reply in answer[1:]] == list(range(len(answer) - 1))


def test_the_first_failure_is_the_last_word() -> None:
    lab = lab_of()
    before = lab.session.world.event
    replies = lab.do('write A.mr0 "a"; destroy_qp A.qp9; write A.mr0 "b"')
    assert [reply.failed for reply in replies] == [False, True]
    assert lab.session.world.event == before + 1
    assert lab.look("A.mr0[0]") == ord("a")


def test_a_line_that_cannot_be_read_does_nothing_of_what_it_says() -> None:
    lab = lab_of()
    before = lab.session.world.event
    assert misread(lab, 'write A.mr0 "a"; post_sned A.qp0').hint == "did you mean post_send?"
    assert lab.session.world.event == before


def test_all_replies_keeps_every_line() -> None:
    lab = lab_of(SEND, "run 1us")
    lab.do("nonsense")
    assert [reply.text for reply in lab.all_replies if not reply.depth] == [
        "use rc_pair",
        SEND,
        "run 1us",
        "nonsense",
    ]


def test_run_until() -> None:
    lab = lab_of(RECV, SEND)
    travel = lab.run("wire.count(opcode=SEND_ONLY) == 1").travel
    assert travel is not None
    assert travel.met
    assert not lab.look("idle")


@pytest.mark.parametrize("question", ["A.qp9.state", "A.qp0.stat", "1 +", "A.qp0"])
def test_looking_for_nothing(question: str) -> None:
    with pytest.raises(NotUnderstood):
        lab_of().look(question)


def test_names_without_a_node_are_the_default_nodes() -> None:
    lab = lab_of("node B")
    assert well(lab, "create_cq cq7 cqe=4").value.node == "B"
    assert lab.look("cq7.capacity") == lab.look("B.cq7.capacity")
    other = Lab(default_node="")
    assert misread(other, "alloc_pd pd0").hint


def test_nodes_may_have_different_profiles_and_other_names() -> None:
    lab = Lab({"X": "rxe", "Y": PROFILES["strict"]})
    world = lab.session.world
    assert [hca.profile.name for hca in world.nodes.values()] == ["rxe", "strict"]
    assert well(lab, "use rc_pair").event is not None
    assert lab.look("Y.qp0.state == RTS")


def test_a_profile_for_both() -> None:
    lab = Lab(profile="mlx5")
    assert {hca.profile.name for hca in lab.session.world.nodes.values()} == {"mlx5"}


def test_two_labs_are_two_worlds_and_alike() -> None:
    one, two = lab_of(RECV, SEND, "run"), lab_of(RECV, SEND, "run")
    assert fingerprint(one) == fingerprint(two)
    well(one, "fill A.mr0 1")
    assert two.look("A.mr0[0]") == 0


def test_a_program_is_started_from_python() -> None:
    lab = lab_of(RECV)
    assert not lab.start(
        "A.tx", [SEND, "poll A.cq0  # until it is acknowledged"], pace="50ns"
    ).failed
    assert lab.start("B.rx", "poll B.cq0").event is not None
    lab.run("A.tx.state == DONE and B.rx.state == DONE")
    assert lab.look("B.cq0.total(status=SUCCESS)") == 1
    error = lab.start("A.bad", ["plol A.cq0"]).error
    assert error is not None
    assert error.hint == "did you mean poll?"


@pytest.fixture(scope="module")
def answered() -> Lab:
    """One ACK, one RNR NAK and one NAK have been sent, in this order."""
    lab = Lab()
    for line in (
        "use rc_pair min_rnr_timer=1", "post_recv B.qp0 sg=B.mr0[0:64]",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "run",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "until wire.last.opcode == RNR_NAK",
        "post_recv B.qp0 sg=B.mr0[0:64]",
        "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0 rkey=0xdead", "run",
    ):  # fmt: skip
        assert not lab.do(line)[-1].failed, line
    return lab


@pytest.mark.parametrize(
    ("name", "count"),
    [("ACK", 2), ("RNR_NAK", 1), ("NAK", 1), ("NAK_REMOTE_ACCESS", 1), ("NAK_SEQUENCE", 0),
     ("ACKNOWLEDGE", 4)],
)  # fmt: skip
def test_the_names_on_the_screen_are_names_in_questions(
    answered: Lab, name: str, count: int
) -> None:
    assert answered.look(f"wire.count(opcode={name})") == count
    assert answered.look(f"wire.count(opcode={name.lower()})") == count
    assert answered.look(f"wire.last.opcode == {name}") is (
        name in ("NAK", "NAK_REMOTE_ACCESS", "ACKNOWLEDGE")
    )
    if name != "ACKNOWLEDGE":
        assert answered.look(f"wire.count(syndrome={name})") == count
    shown = answered.do(f"show wire opcode={name}")[-1].value.rows
    assert len(shown) == count


@pytest.mark.parametrize("name", ["ACK", "NAK", "RNR_NAK"])
def test_the_names_on_the_screen_are_names_in_faults(name: str) -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.do(f"fault drop B->A opcode={name} count=1")
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    lab.do("until wire.count(opcode=RNR_NAK) == 2 within 20ms")
    lost = [
        r
        for r in lab.do("show wire last=9")[-1].value.rows
        if "lost" in getattr(r, "fate_text", "")
    ]
    assert [row.label for row in lost] == ["RNR_NAK"] * (name == "RNR_NAK")


def test_jupyter_shows_the_moment_the_last_error_and_the_ladder() -> None:
    lab = lab_of()
    assert "no packet yet" in Lab()._repr_html_()
    lab.do(RECV)
    lab.do(SEND)
    lab.run()
    shown = lab._repr_html_()
    assert "SEND_ONLY psn=0 64 B" in shown
    assert f"event {lab.session.world.event}, " in shown
    lab.do('write B.mr0[9999:9999] "<b>"')
    assert "<b>" not in lab._repr_html_()
    assert "&lt;b&gt;" in lab._repr_html_()
    assert lab.ladder()._repr_svg_().startswith("<svg")
    assert "ACK psn=0" in lab.ladder().text
    assert "SEND_ONLY" not in str(lab.ladder(last=1))
