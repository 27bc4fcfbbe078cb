"""Threads that make a refused call again and again, and READs that brought half-old bytes."""

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played, why
from tests.each import each

_SPIN = "program A.bye lines={{loop; try EBUSY {}; sleep 1us; end}}"
_OTHER = "program A.other lines={sleep 1ms; destroy_qp A.qp0; dereg_mr A.mr0}"


@each("call", ["dealloc_pd A.pd0", "destroy_cq A.cq0"])
def test_a_thread_that_repeats_a_refused_call_never_goes_on(call: str) -> None:
    lab = played("use rc_pair", _SPIN.format(call), "run 50us")
    report = answer(lab, "why A.bye")
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "in-use")
    assert answer(lab, "why").slug == "in-use"


def test_a_thread_whose_refused_call_another_one_makes_legal_goes_on() -> None:
    lab = played("use rc_pair", _SPIN.format("dealloc_pd A.pd0"), _OTHER, "run 50us")
    report = answer(lab, "why A.bye")
    assert (report.outcome.kind, report.is_trouble) == (Status.PENDING, False)


_READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:2048] remote=B.mr0[0] flags=SIGNALED"
_TORN = (
    "use rc_pair path_mtu=256", "link rate=1Gbps", "fill B.mr0[0:2048] 0x61",
    f"program A.rd lines={{{_READ}; poll A.cq0}}",
)  # fmt: skip


@each("late", [True, False])
@each("tidy", [(), ("destroy_qp A.qp0", "destroy_qp B.qp0")])
def test_a_read_knows_that_its_owner_changed_the_bytes_meanwhile(
    *, late: bool, tidy: tuple[str, ...]
) -> None:
    delay = "100us" if late else "6us"
    update = f"program B.upd lines={{sleep {delay}; fill B.mr0[0:2048] 0x62}}"
    report = answer(played(*_TORN, update, "run", *tidy), "why A.qp0.wr[1]")
    assert report.outcome.kind is Status.COMPLETED
    assert (report.slug == "lent-buffer-reused") is not late
    assert report.is_trouble is not late


def test_a_try_that_succeeds_names_no_object_that_is_missing() -> None:
    lab = played("use rc_pair", "create_cq A.cq1 cqe=4",
                 "program A.main lines={try EBUSY destroy_cq A.cq1}", "run")  # fmt: skip
    report = why(lab, "A.main")
    assert "no-such-object" not in [cause.check.slug for cause in report.chain]
    assert "EBUSY was expected; it succeeded" in report.text
