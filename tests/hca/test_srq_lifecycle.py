"""SRQs and XRC domains as the host asks for them: sizes, errnos, who still uses what."""

from errno import EAGAIN, EBUSY, EINVAL, ENOMEM, EOPNOTSUPP

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from tests.labs import everything, refusal, well
from tests.sharing import ask, send, shared, stock, xrc


def lab_with(profile: Profile = STRICT, max_wr: int = 8) -> Lab:
    return shared(qps=0, profile=profile, max_wr=max_wr)


def test_an_srq_waits_for_the_ack_of_its_limit_event() -> None:
    lab = lab_with()
    for line in ("post_srq_recv B.srq0", "modify_srq B.srq0 srq_limit=2", "get_async_event B"):
        well(lab, line)
    no = refusal(lab, "destroy_srq B.srq0")
    assert (no.rule, no.errno) == ("async-unacked", EAGAIN)
    well(lab, "ack_async_event B")
    well(lab, "destroy_srq B.srq0")


# --------------------------------------------------------------------------- sizes
@pytest.mark.parametrize(
    ("profile", "asked", "granted"),
    [
        (STRICT, 100, 100), (RXE, 100, 127), (RXE, 7, 7), (RXE, 8, 15), (RXE, 1, 1),
        (MLX5, 100, 127), (MLX5, 4, 7), (MLX5, 8, 15),
    ],
)  # fmt: skip
def test_post_srq_recv_up_to_max_wr(profile: Profile, asked: int, granted: int) -> None:
    lab = lab_with(profile, asked)
    assert well(lab, "query_srq B.srq0").value.max_wr == granted
    for _ in range(granted):
        well(lab, "post_srq_recv B.srq0")
    full = refusal(lab, "post_srq_recv B.srq0")
    assert (full.rule, full.errno, full.bad_wr) == ("queue-full", ENOMEM, 0)


@pytest.mark.parametrize(
    ("sizes", "argument"),
    [("max_wr=0", "max_wr"), ("max_wr=4097", "max_wr"), ("max_wr=1 max_sge=9", "max_sge")],
)
def test_create_srq_beyond_the_device_limits(sizes: str, argument: str) -> None:
    no = refusal(lab_with(), f"create_srq B.srq1 pd=B.pd0 {sizes}")
    assert (no.rule, no.errno, no.argument) == ("srq-range", EINVAL, argument)


@pytest.mark.parametrize(("profile", "got"), [(STRICT, (0, 0)), (RXE, (1, 1)), (MLX5, (1, 0))])
def test_create_srq_max_sge_0(profile: Profile, got: tuple[int, int]) -> None:
    """srq_limit is ignored here; Soft-RoCE arms it (rxe_srq_from_init)."""
    lab = lab_with(profile)
    well(lab, "create_srq B.srq1 pd=B.pd0 max_wr=1 max_sge=0 srq_limit=1")
    cap = well(lab, "query_srq B.srq1").value
    assert (cap.max_sge, cap.srq_limit) == got


def test_create_srq_limit_of_the_device() -> None:
    lab = lab_with()
    for number in range(1, 64):
        well(lab, f"create_srq B.srq{number} pd=B.pd0 max_wr=1")
    assert refusal(lab, "create_srq B.srq64 pd=B.pd0 max_wr=1").errno == ENOMEM


# --------------------------------------------------------------------------- modify_srq
def test_create_srq_as_soft_roce_answered() -> None:
    """post_errno.json, objects, modify_srq: in this order, on an SRQ of max_wr 8."""
    lab = lab_with(RXE)
    for change, errno, after in (
        ("srq_limit=3", 0, (15, 3)),
        ("srq_limit=9", 0, (15, 9)),
        ("srq_limit=1000", EINVAL, (15, 9)),
        ("max_wr=16", 0, (31, 9)),
        ("max_wr=1", EINVAL, (31, 9)),
        ("max_wr=5 srq_attr_mask=4", 0, (31, 9)),
    ):
        reply = lab.do(f"modify_srq B.srq0 {change}")[-1]
        assert (reply.refusal.errno if reply.refusal else 0) == errno, change
        cap = well(lab, "query_srq B.srq0").value
        assert (cap.max_wr, cap.srq_limit) == after


@pytest.mark.parametrize(
    ("profile", "change", "rule", "argument"),
    [
        (STRICT, "srq_limit=9", "srq-limit", "srq_limit"),
        (STRICT, "srq_limit=-1", "srq-limit", "srq_limit"),
        (STRICT, "max_wr=0", "srq-range", "max_wr"),
        (STRICT, "max_wr=4097", "srq-range", "max_wr"),
        (STRICT, "max_wr=1", "srq-small", "max_wr"),
        (STRICT, "max_wr=4 srq_limit=5", "srq-limit", "srq_limit"),
        (STRICT, "srq_attr_mask=4 max_wr=9", "srq-mask", "srq_attr_mask"),
        (STRICT, "srq_attr_mask=LIMIT max_wr=9", "mask-mismatch", "srq_attr_mask"),
        (MLX5, "max_wr=16", "srq-resize", "max_wr"),
    ],
)
def test_what_modify_srq_refuses(profile: Profile, change: str, rule: str, argument: str) -> None:
    lab = lab_with(profile)
    stock(lab, 1, 2)
    before = everything(lab)[0]
    no = refusal(lab, f"modify_srq B.srq0 {change}")
    assert (no.rule, no.errno, no.argument) == (rule, EINVAL, argument)
    assert everything(lab)[0] == before


def test_modify_srq_changes_what_the_mask_names() -> None:
    lab = lab_with()
    well(lab, "modify_srq B.srq0 max_wr=4 srq_limit=3 srq_attr_mask=MAX_WR")
    assert (ask(lab, "B.srq0.capacity"), ask(lab, "B.srq0.limit")) == (4, 0)


def test_modify_srq_max_wr_below_srq_limit() -> None:
    """Even if the same call lowers the limit; only where a limit may be undercut does it matter."""
    lab = lab_with(RXE)
    well(lab, "modify_srq B.srq0 srq_limit=5")
    assert refusal(lab, "modify_srq B.srq0 max_wr=4 srq_limit=1").rule == "srq-small"
    well(lab, "modify_srq B.srq0 max_wr=5 srq_limit=1")
    assert (ask(lab, "B.srq0.capacity"), ask(lab, "B.srq0.limit")) == (7, 1)


@pytest.mark.parametrize(("profile", "reads"), [(STRICT, True), (RXE, False)])
def test_modify_srq_in_error_is_refused(profile: Profile, reads: bool) -> None:
    lab = lab_with(profile)
    well(lab, "fault srq_error srq=B.srq0")
    assert refusal(lab, "modify_srq B.srq0 srq_limit=1").rule == "srq-error"
    assert (lab.do("query_srq B.srq0")[-1].refusal is None) is reads


# --------------------------------------------------------------------------- posting
def test_post_srq_recv_keeps_the_requests_before_bad_wr() -> None:
    lab = lab_with()
    sges = "sg=B.mr0[0:1],B.mr0[1:2],B.mr0[2:3]"
    no = refusal(lab, f"post_srq_recv B.srq0 wr={{wr_id=1}} wr={{wr_id=2 {sges}}} wr={{wr_id=3}}")
    assert (no.rule, no.errno, no.bad_wr) == ("srq-sges", EINVAL, 1)
    assert ask(lab, "B.srq0.count") == 1


@pytest.mark.parametrize(("profile", "errno"), [(STRICT, EINVAL), (RXE, EINVAL), (MLX5, ENOMEM)])
def test_post_recv_on_a_qp_with_srq_is_refused(profile: Profile, errno: int) -> None:
    no = refusal(shared(qps=1, profile=profile), "post_recv B.qp1 sg=B.mr0[0:8]")
    assert (no.rule, no.errno) == ("recv-shared", errno)


# --------------------------------------------------------------------------- who uses what
def test_destroy_srq_in_use_is_ebusy() -> None:
    lab = shared(qps=1)
    assert refusal(lab, "destroy_srq B.srq0").errno == EBUSY
    well(lab, "destroy_qp B.qp1")
    well(lab, "destroy_qp B.qp0")
    well(lab, "dereg_mr B.mr0")
    assert refusal(lab, "dealloc_pd B.pd0").message.endswith("1 SRQ")
    well(lab, "destroy_srq B.srq0")
    well(lab, "dealloc_pd B.pd0")
    assert refusal(lab, "post_srq_recv B.srq0").rule == "use-after-destroy"


def test_xrc_objects_in_use_are_ebusy() -> None:
    lab = xrc()
    assert refusal(lab, "destroy_cq B.cq1").errno == EBUSY
    assert refusal(lab, "close_xrcd B.xrcd0").message.endswith("1 SRQ and 1 QP")
    well(lab, "destroy_qp B.qp1")
    well(lab, "destroy_srq B.srq0")
    well(lab, "close_xrcd B.xrcd0")
    well(lab, "destroy_cq B.cq1")


def test_an_xrc_srq_is_held_by_a_message_under_way() -> None:
    lab = xrc()
    stock(lab, 1, length=2048)
    well(lab, "post_send A.qp1 opcode=SEND sg=A.mr0[0:2000] remote_srqn=B.srq0")
    well(lab, "until B.srq0.count == 0")
    assert refusal(lab, "destroy_srq B.srq0").errno == EBUSY
    well(lab, "run")
    well(lab, "destroy_srq B.srq0")


# --------------------------------------------------------------------------- types
@pytest.mark.parametrize(
    ("profile", "parts", "rule", "errno"),
    [
        (STRICT, "srq_type=XRC cq=B.cq0", "srq-parts", EINVAL),
        (STRICT, "cq=B.cq0", "srq-plain-parts", EINVAL),
        (STRICT, "srq_type=TM", "srq-type-support", EOPNOTSUPP),
        (STRICT, "srq_type=3", "srq-type-unknown", EINVAL),
        (RXE, "srq_type=XRC", "srq-type-support", EOPNOTSUPP),
    ],
)
def test_create_srq_ex_refused(profile: Profile, parts: str, rule: str, errno: int) -> None:
    no = refusal(lab_with(profile), f"create_srq_ex B.srq1 pd=B.pd0 max_wr=1 {parts}")
    assert (no.rule, no.errno) == (rule, errno)


def test_an_xrc_srq_needs_a_cq_too() -> None:
    no = refusal(xrc(), "create_srq_ex B.srq1 pd=B.pd0 max_wr=1 srq_type=XRC xrcd=B.xrcd0")
    assert (no.rule, no.legal) == ("srq-parts", "cq=B.cq0")


def test_each_xrc_srq_has_a_number() -> None:
    assert well(xrc(), "get_srq_num B.srq0").value == 0x31
    assert refusal(lab_with(RXE), "get_srq_num B.srq0").errno == EOPNOTSUPP


# --------------------------------------------------------------------------- domains
@pytest.mark.parametrize(
    ("before", "how", "rule", "errno"),
    [
        ("", "", "xrcd-private", EINVAL),
        ("", "fd=5", "xrcd-none", EAGAIN),
        ("fd=5 oflag=O_CREAT", "fd=5 oflag=O_CREAT|O_EXCL", "xrcd-exists", EINVAL),
    ],
)
def test_open_xrcd_refused(before: str, how: str, rule: str, errno: int) -> None:
    lab = Lab()
    if before:
        well(lab, f"open_xrcd A.xrcd0 {before}")
    no = refusal(lab, f"open_xrcd A.xrcd1 {how}")
    assert (no.rule, no.errno) == (rule, errno)


def test_open_xrcd_of_one_file_is_one_domain() -> None:
    lab = Lab()
    for name, how in (
        ("xrcd0", "fd=5 oflag=O_CREAT|O_EXCL"), ("xrcd1", "fd=5"), ("xrcd2", "fd=6 oflag=O_CREAT"),
        ("xrcd3", "oflag=O_CREAT|O_EXCL"), ("xrcd4", "oflag=O_CREAT|O_EXCL"),
    ):  # fmt: skip
        well(lab, f"open_xrcd A.{name} {how}")
    assert [ask(lab, f"A.xrcd{n}.domain") for n in range(5)] == [1, 1, 3, 4, 5]


def test_soft_roce_has_no_xrc() -> None:
    lab = lab_with(RXE)
    assert refusal(lab, "open_xrcd B.xrcd0 oflag=O_CREAT").errno == EOPNOTSUPP
    send_only = "create_qp B.qp1 pd=B.pd0 qp_type=XRC_SEND send_cq=B.cq0"
    assert refusal(lab, send_only).errno == EOPNOTSUPP
    assert refusal(lab, "create_qp B.qp1 qp_type=XRC_RECV").errno == EINVAL


def test_xrc_qp_opened_twice_is_destroyed_with_the_last_close() -> None:
    lab = xrc("open_qp B.qp2 xrcd=B.xrcd0 qp_num=B.qp1")
    assert ask(lab, "B.qp2.qp_num") == ask(lab, "B.qp1.qp_num")
    well(lab, "destroy_qp B.qp2")
    stock(lab, 1)
    send(lab, "A.qp1", more="remote_srqn=B.srq0")
    assert ask(lab, "A.cq0.last.status").name == "SUCCESS"
    well(lab, "destroy_qp B.qp1")
    assert not lab.session.world.nodes["B"].qps.items.get(0x12)


@pytest.mark.parametrize(
    ("xrcd", "qp_num", "more"),
    [
        ("B.xrcd0", "B.qp0", ""),
        ("B.xrcd0", "99", ""),
        ("B.xrcd9", "B.qp1", ""),
        ("B.xrcd0", "B.qp1", "qp_type=RC"),
    ],
)
def test_open_qp_refused(xrcd: str, qp_num: str, more: str) -> None:
    lab = xrc("open_xrcd B.xrcd9 oflag=O_CREAT")
    no = refusal(lab, f"open_qp B.qp2 xrcd={xrcd} qp_num={qp_num} {more}")
    assert (no.rule, no.errno) == ("qp-open", EINVAL)
