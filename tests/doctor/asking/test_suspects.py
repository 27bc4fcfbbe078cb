"""Objects of every noun can be asked about: what uses them, and what failed because of them."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.doctor.evidence.outcome import Status
from tests.doctor import tidying
from tests.doctor.asking import answer, chain, played, why

SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:24] {} flags=SIGNALED"
SHARED = {"use xrc_pair": "remote_srqn=B.srq0", "use srq_pair": ""}
WINDOW = (
    "use rc_pair",
    "reg_mr B.mr2 pd=B.pd0 length=128 access=LOCAL_WRITE|REMOTE_READ|MW_BIND",
    "alloc_mw B.mw3 pd=B.pd0 type=TYPE_2",
    "post_send B.qp0 wr_id=1 opcode=BIND_MW mw=B.mw3 bind=B.mr2[0:128] bind_access=REMOTE_READ "
    "flags=SIGNALED",
    "run", "poll_cq B.cq0",
)  # fmt: skip
READ = (
    "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[0:16] remote_addr=0x20101000 rkey={} "
    "flags=SIGNALED"
)


@pytest.mark.parametrize("use", SHARED)
@pytest.mark.parametrize("question", ["why", "why A.qp0.wr[6]", "why B.srq0"])
def test_an_empty_shared_receive_queue_is_named_and_filled(use: str, question: str) -> None:
    sends = [SEND.format(wr_id, SHARED[use]) for wr_id in (5, 6)]
    lab = played(use, "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]", *sends, "run 3ms")
    report = answer(lab, question)
    assert report.slug == "no-rr"
    assert "a message came to B.qp0, and B.srq0 was empty" in report.text
    assert report.is_trouble
    assert report.remedy is not None
    assert report.remedy.works
    assert report.remedy.cure.lines == [
        "post_srq_recv B.srq0 wr={wr_id=2 sg=B.mr0[64:88]}"
    ]  # [0:64] unread


def test_a_thread_without_receives_on_a_shared_queue() -> None:
    lab = played("use srq_pair", "program B.p lines={poll B.cq0}", "run 20us")
    assert "nothing was posted on B.qp0 and B.srq0" in answer(lab, "why B.p").text


@pytest.mark.parametrize("question", ["why", "why A.qp0.wr[2]", "why B.mw3"])
def test_rkey_rotated_of_a_window(question: str) -> None:
    report = answer(played(*WINDOW, READ.format("0x8000121"), "run"), question)
    assert report.slug == "rkey-rotated"
    assert "a bind of B.mw3 changed its rkey 0x8000121 to 0x8000122" in report.text
    assert report.remedy is not None
    assert report.remedy.works


def test_a_window_that_is_not_bound() -> None:
    lab = played(*WINDOW, "alloc_mw B.mw4 pd=B.pd0 type=TYPE_2", READ.format("0x80002be"), "run")
    assert "rkey 0x80002be is of B.mw4, which is not bound" in answer(lab, "why").text
    lab.do("dealloc_mw B.mw4")
    text = answer(lab, "why A.qp0.wr[2]").text
    assert "B.mw4" in text


def test_dereg_early_of_a_region() -> None:
    lab = played(WINDOW[0], WINDOW[1], "dereg_mr B.mr2", READ.format("0x595"), "run")
    assert chain(lab, "B.mr2") == ["dereg-early", "rem-access"]
    assert why(lab, "B.mr2").outcome.kind is Status.FAILED


def test_a_region_that_is_in_the_way() -> None:
    lab = played(
        "use rc_pair", "alloc_pd A.pd3", "reg_mr A.mr8 pd=A.pd3 length=256 access=LOCAL_WRITE"
    )
    well = answer(lab, "why A.mr8")
    assert (well.outcome.kind, well.is_trouble) == (Status.WELL, False)
    assert "A.pd3 is used by A.mr8" in answer(lab, "why A.pd3").text
    lab.do("dealloc_pd A.pd3")
    for question in ("why A.mr8", "why A.pd3"):
        assert answer(lab, question).slug == "in-use"
    assert "A.mr8 uses A.pd3" in answer(lab, "why A.mr8").text


def test_an_address_handle_that_was_destroyed_twice() -> None:
    lab = played("use ud_pair", "destroy_ah A.ah0")
    assert answer(lab, "why A.ah0").outcome.kind is Status.WELL
    assert "A.ah0 was destroyed" in answer(lab, "why A.ah0").text
    lab.do("destroy_ah A.ah0")
    report = answer(lab, "why A.ah0")
    assert (report.slug, report.is_trouble) == ("segfault-class", True)


def test_cause_of_a_refused_creation_by_name() -> None:
    lab = played("use rc_pair", "create_cq A.cq1 cqe=0")
    assert answer(lab, "why A.cq1").slug == "cqe-range"
    assert answer(lab, "why cq1").slug == "cqe-range"
    with pytest.raises(NotUnderstood):
        why(lab, "A.cq2")


def test_bytes_of_a_region_are_still_asked_about_alone() -> None:
    lab = played("use rc_pair", "reg_mr A.mr8 pd=A.pd0 length=256 access=LOCAL_WRITE")
    assert answer(lab, "why A.mr8[0:8]").outcome.kind is Status.NEVER


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (("use rc_pair", "destroy_cq A.cq0"), ("A.cq0", "A.qp0")),
        ((*WINDOW, "dereg_mr B.mr2"), ("B.mr2", "B.mw3")),
        (
            ("use rc_pair", "create_comp_channel A.ch1", "create_cq A.c1 cqe=4 channel=A.ch1",
             "destroy_comp_channel A.ch1"),
            ("A.ch1", "A.c1"),
        ),
    ],
)  # fmt: skip
def test_in_use_of_a_refused_destroy_for_both_objects(
    lines: tuple[str, ...], names: tuple[str, ...]
) -> None:
    lab = played(*lines)
    for name in names:
        assert [c.check.slug for c in answer(lab, f"why {name}").causes] == ["in-use"]


def test_the_key_of_another_node() -> None:
    lab = played("use rc_pair", READ.format("A.mr0"), "run")
    assert "is that of A.mr0, and B has no such key" in answer(lab, "why").text


TIDIED = (
    (("use srq_pair", "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]", SEND.format(5, ""),
      SEND.format(6, ""), "run 3ms"), "B.srq0", "no-rr"),
    ((*WINDOW, READ.format("0x8000121"), "run"), "B.mw3", "rkey-rotated"),
    (("use rc_pair", READ.format("A.mr0"), "run"), "B.mr0", "rem-access"),
)  # fmt: skip


@pytest.mark.parametrize("tidy", tidying.TIDY)
@pytest.mark.parametrize(("lines", "name", "slug"), TIDIED, ids=["srq", "mw", "mr"])
def test_the_cause_of_an_object_after_its_destruction(
    tidy: str, lines: tuple[str, ...], name: str, slug: str
) -> None:
    lab = played(*lines)
    tidying.TIDY[tidy](lab.session)
    assert answer(lab, f"why {name}").slug == slug


@pytest.mark.parametrize("tidy", ["destroyed", "drained"])
def test_refused_destroy_is_no_trouble_after_a_later_destroy(tidy: str) -> None:
    made = "reg_mr A.mr8 pd=A.pd3 length=256 access=LOCAL_WRITE"
    lab = played("use rc_pair", "alloc_pd A.pd3", made, "dealloc_pd A.pd3")
    tidying.TIDY[tidy](lab.session)
    for name in ("A.mr8", "A.pd3"):
        report = answer(lab, f"why {name}")
        assert (report.outcome.kind, report.is_trouble) == (Status.WELL, False)
