"""Threads that repeat a READ or a compare-and-swap: in vain, or until another one changes it."""

import re

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played, why
from tests.each import each

_USE = "use rc_pair"
_HELD = r'write B.mr0[64:72] "\x07\0\0\0\0\0\0\0"'
_SWAP = (
    "post_send A.qp0 wr_id=1 opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0[64] "
    "compare_add=0 swap=1 flags=SIGNALED; poll A.cq0"
)
_READ = "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[8:9] remote=B.mr0[0] flags=SIGNALED"
_LOCK = f"program A.lock lines={{loop; {_SWAP}; if A.mr0[0] == 0; stop; end; end}}"
_RELEASE = r'write B.mr0[64:72] "\0\0\0\0\0\0\0\0"'


@each("question", ["why", "why A.lock", "why A.cq0", "why A.qp0.wr[1]", "why A.qp0"])
def test_compare_and_swap_of_a_word_without_a_writer_never_swaps(question: str) -> None:
    report = answer(played(_USE, _HELD, _LOCK, "run 60us"), question)
    kind = Status.PENDING if "qp0" in question else Status.NEVER
    assert (report.outcome.kind, report.slug, report.is_trouble) == (kind, "cas-mismatch", True)
    assert "B.mr0[64:72] is 7 each time" in report.text


@each(
    "lines",
    [
        [f"program B.holder lines={{sleep 1ms; {_RELEASE}}}"],
        [f"program B.holder lines={{loop; {_RELEASE}; sleep 1ms; end}}", _HELD],
        ["post_recv B.qp0 wr_id=9 sg=B.mr0[0:128]"],
        ["program A.wakes lines={sleep 1ms; fill A.mr0[0:8] 0}"],
    ],
)
def test_compare_and_swap_of_a_word_that_is_written_later_is_pending(lines: list[str]) -> None:
    lab = played(_USE, _HELD, _LOCK, *lines, "run 60us")
    assert not answer(lab, "why A.lock").is_trouble
    assert not answer(lab, "why").is_trouble


@each(
    "old, new",
    [
        ("loop;", "loop 9;"),
        ("end; end", "end; fill A.mr0[100:101] 1; end"),
        ("A.mr0[0] == 0", "A.cq0.total > 400"),
        ("end; end", f"end; {_READ}; end"),
    ],
)
def test_a_thread_that_ends_or_does_more_is_not_in_vain(old: str, new: str) -> None:
    lab = played(_USE, _HELD, _LOCK.replace(old, new), "run 25us")
    assert "cas-mismatch" not in (answer(lab, "why A.lock").slug, answer(lab, "why").slug)


def test_two_threads_are_in_vain_unless_one_of_them_finds_its_value() -> None:
    """They use queue pairs of their own."""
    second = _LOCK.replace("A.lock", "A.other").replace("qp0", "qp1").replace("cq0", "cq1")
    second = second.replace("A.mr0[0:8]", "A.mr0[8:16]").replace("A.mr0[0]", "A.mr0[8]")
    make = ("create_cq A.cq1 cqe=8", "create_cq B.cq1 cqe=8",
            "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
            "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq1 recv_cq=B.cq1",
            "connect A.qp1 B.qp1")  # fmt: skip
    lab = played(_USE, *make, _HELD, _LOCK, second, "run 60us")
    assert answer(lab, "why A.lock").outcome.kind is Status.NEVER
    assert answer(lab, "why A.other").outcome.kind is Status.NEVER
    releases = second.replace("compare_add=0", "compare_add=7").replace("swap=1", "swap=0")
    lab = played(_USE, *make, _HELD, _LOCK, releases.replace("loop;", "sleep 1ms; loop;"),
                 "run 60us")  # fmt: skip
    assert answer(lab, "why A.lock").outcome.kind is not Status.NEVER


_POLL_FLAG = (
    "program A.look lines={loop; post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] "
    "remote=B.mr0[64] flags=SIGNALED; poll A.cq0; if A.mr0[0] == 1; stop; end; end}"
)


@each("question", ["why", "why A.look", "why A.cq0", "why A.qp0"])
@each("beside", ["", 'program B.far lines={sleep 9us; write B.mr0[72:73] "\\x01"}'])
def test_a_flag_that_is_read_without_end_and_has_no_writer_never_comes(
    question: str, beside: str
) -> None:
    report = answer(played(_USE, _POLL_FLAG, *filter(None, [beside]), "run 60us"), question)
    kind = Status.PENDING if "qp0" in question else Status.NEVER
    assert (report.outcome.kind, report.slug, report.is_trouble) == (kind, "condition-false", True)
    assert "A.look repeats wr1, a READ of B.mr0[64:72], until A.mr0[0] == 1" in report.text


@each(
    "lines",
    [
        ['program B.set lines={sleep 1ms; write B.mr0[64:65] "\\x01"}'],
        ["post_recv B.qp0 wr_id=9 sg=B.mr0[0:128]"],
        ["program A.wakes lines={sleep 1ms; fill A.mr0[0:8] 1}"],
        [_POLL_FLAG.replace("A.look", "A.counts").replace("A.mr0[0] == 1", "A.cq0.total > 90")],
    ],
)
def test_a_flag_that_may_still_come_is_read_until_it_does(lines: list[str]) -> None:
    lab = played(_USE, _POLL_FLAG, *lines, "run 60us")
    assert not answer(lab, "why A.look").is_trouble
    assert not answer(lab, "why").is_trouble


_UNDER_WAY = ("use rc_pair", r'write B.mr0[0:1] "\x07"',
              "post_send A.qp0 wr_id=4 opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0[0] "
              "compare_add={} swap=1 flags=SIGNALED")  # fmt: skip


def test_a_swap_under_way_that_will_find_another_value_is_foreseen() -> None:
    *before, post = _UNDER_WAY
    lab = played(*before, post.format(0))
    report = why(lab, "A.qp0.wr[4]")
    assert ([each.check.slug for each in report.warnings], report.is_trouble) == (
        ["cas-mismatch"],
        False,
    )
    assert (
        "B.mr0[0:8] is 7, not 0: nothing will be swapped"
        in report.warnings[0].finding.evidence[0].text
    )
    assert not why(played(*before, post.format(7)), "A.qp0.wr[4]").warnings
    lab = played(*before, post.format(0), "program B.free lines={write B.mr0[0:1] 0}")
    assert not why(lab, "A.qp0.wr[4]").warnings


_OTHER = "create_qp {0}.holder pd={0}.pd0 qp_type=RC send_cq={0}.cq0 recv_cq={0}.cq0 max_send_wr=4"
_TAKE = _SWAP.split(";")[0].replace("A.qp0", "A.holder")


@each("question", ["why", "why A.lock"])
@each("release", ["opcode=RDMA_WRITE", "opcode=ATOMIC_CMP_AND_SWP compare_add=1 swap=0"])
def test_a_failed_release_is_the_root_of_a_lock_that_stays_taken(
    release: str, question: str
) -> None:
    """The holder's release names a wrong key: the word keeps the value of the holder."""
    ends = (_OTHER.format(node) for node in "AB")
    failed = (f"post_send A.holder wr_id=9 {release} sg=A.mr0[16:24] remote_addr=B.mr0[64] "
              "rkey=0x9999 flags=SIGNALED")  # fmt: skip
    lab = played(_USE, *ends, "connect A.holder B.holder", _TAKE, "run", failed, "run",
                 "poll_cq A.cq0 num_entries=2", _LOCK, "run 60us")  # fmt: skip
    report = answer(lab, question)
    assert report.slug == "rem-access"
    assert "A.holder.wr[9] ended with REM_ACCESS_ERR" in report.text
    kind = Status.NEVER if question == "why A.lock" else Status.FAILED
    assert report.outcome.kind is kind


def test_a_thread_that_was_stopped_while_it_repeated_a_compare_and_swap() -> None:
    report = answer(played(_USE, _TAKE.replace("A.holder", "A.qp0"), "run", "poll_cq A.cq0", _LOCK,
                           "run 60us", "stop A.lock"), "why")  # fmt: skip
    assert (report.outcome.kind, report.slug) == (Status.NEVER, "cas-mismatch")
    assert report.remedy is not None
    assert "or compare" not in report.remedy.cure.program  # it would take a lock that is held


_WRITES_LATE = r'program B.writer lines={wait B.qp0.rq.used == 0; write B.mr0[64:65] "\x01"}'
_LOOKS_FIRST = (
    "program A.look lines={loop; post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] "
    "remote=B.mr0[64] flags=SIGNALED; poll A.cq0; if A.mr0[0] == 1; "
    "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; stop; end; end}"
)
_SENDS = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"


@each("question", ["why", "why A.look", "why B.writer"])
@each("waits", ["wait B.qp0.rq.used == 0", "poll B.cq0", "wait B.cq0.total >= 1"])
def test_reader_and_the_writer_that_waits_for_it_are_a_circle(question: str, waits: str) -> None:
    writer = _WRITES_LATE.replace("wait B.qp0.rq.used == 0", waits)
    lab = played(
        _USE, "post_recv B.qp0 wr_id=5 sg=B.mr0[128:192]", writer, _LOOKS_FIRST, "run 60us"
    )
    report = answer(lab, question)
    assert (report.slug, report.is_trouble) == ("mutual-wait", True)
    assert re.search(r"B.writer (waits|polls in vain) in line 1", report.text)
    if question == "why":
        assert report.outcome.kind is Status.NEVER


@each("more", [_SENDS, f"program A.sends lines={{sleep 1ms; {_SENDS}}}"])
def test_writer_that_gets_another_message_is_in_no_circle(more: str) -> None:
    lab = played(_USE, "post_recv B.qp0 wr_id=5 sg=B.mr0[128:192]", _WRITES_LATE, more,
                 _LOOKS_FIRST, "run 2us")  # fmt: skip
    lab = played(_USE, "post_recv B.qp0 wr_id=5 sg=B.mr0[128:192]", _WRITES_LATE, _LOOKS_FIRST,
                 "run 60us", more) if "sleep" in more else lab  # fmt: skip
    assert not answer(lab, "why A.look").is_trouble
    assert not answer(lab, "why").is_trouble


def test_writer_that_waits_in_vain_is_evidence_of_the_reader() -> None:
    looks = _LOOKS_FIRST.replace("post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] "
                                 "flags=SIGNALED; ", "")  # fmt: skip
    lab = played(_USE, "post_recv B.qp0 wr_id=5 sg=B.mr0[128:192]", _WRITES_LATE, looks, "run 60us")
    report = answer(lab, "why A.look")
    assert report.outcome.kind is Status.NEVER
    assert "B.writer waits in line 1" in report.text


_SWAPS_ON = ("post_send {} wr_id={} opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[{}:{}] remote=B.mr0[0] "
         "compare_add={} swap={} flags=SIGNALED")  # fmt: skip
_TAKES, _RELEASES = (_SWAPS_ON.format("A.qp0", n, 8 * n, 8 * n + 8, "{}", "{}") for n in (1, 2))


@each("compared, is_failure", [(1, True), (7, False)])
def test_a_release_that_compares_with_another_value_than_was_taken(
    compared: int, is_failure: bool
) -> None:
    lab = played(_USE, _TAKES.format(0, 7), "run", _RELEASES.format(compared, 0), "run",
                 "poll_cq A.cq0 num_entries=2")  # fmt: skip
    for question in ("why", "why A.qp0.wr[2]"):
        report = answer(lab, question)
        assert report.is_trouble is is_failure
        assert (report.slug == "cas-mismatch") is is_failure
    if is_failure:
        assert "A.qp0.wr[1] had put 7 there" in answer(lab, "why").text
        for line in ("apply", "run", "poll_cq A.cq0"):
            lab.do(line)
        assert not answer(lab, "why").is_trouble


def test_a_failed_release_is_the_root_of_another_thread_that_waits_for_the_lock() -> None:
    owner = f"program A.one lines={{{_TAKES.format(0, 7)}; poll A.cq0; {_RELEASES.format(1, 0)}}}"
    again = _SWAPS_ON.format("A.qp1", 3, 24, 32, 0, 9)
    other = f"program A.two lines={{loop; {again}; poll A.cq0; if A.mr0[24] == 0; stop; end; end}}"
    lab = played("use srq_pair", owner, "run", "poll_cq A.cq0", other, "run 100us")
    for question in ("why", "why A.two"):
        report = answer(lab, question)
        assert (report.slug, report.causes[0].name) == ("cas-mismatch", "A.qp0.wr[2]")
        assert report.outcome.kind is Status.NEVER


def test_a_lock_that_is_not_released_names_its_holder_and_no_fix_takes_it_away() -> None:
    again = _SWAPS_ON.format("A.qp1", 3, 24, 32, 0, 9)
    other = f"program A.two lines={{loop; {again}; poll A.cq0; if A.mr0[24] == 0; stop; end; end}}"
    lab = played("use srq_pair", _TAKES.format(0, 7), "run", "poll_cq A.cq0", other, "run 100us")
    for question in ("why", "why A.two", "why B.mr0[0:8]"):
        report = answer(lab, question)
        assert report.slug == "cas-mismatch"
        assert "A.qp0.wr[1] put 7 there; nothing has changed it since" in report.text
        assert report.remedy is None or "compare_add=7" not in "".join(report.remedy.cure.lines)
    sentence = answer(lab, "why B.mr0[0:8]").outcome.sentence
    assert sentence.endswith("and a compare-and-swap since has not changed them")  # it is held
