"""Reads by a program: before a message arrived, never, or after its own bytes."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import played, why

_PAIR = "use rc_pair"
_TX = (
    "program A.tx lines={post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64]"
    " remote=B.mr0[64] flags=SIGNALED; poll A.cq0}"
)


_READER = (
    'program B.user lines={{sleep {ns}ns; if B.mr0[64] == 1; write B.mr0[900:901] "\\x01"; else;'
    ' write B.mr0[900:901] "\\x02"; end}}'
)


@pytest.mark.parametrize(
    ("ns", "byte", "wrong"), [(500, 1, True), (9000, 1, False), (500, 0, False)]
)
def test_read_before_write_arrived(ns: int, byte: int, *, wrong: bool) -> None:
    write = f'write A.mr0[0:1] "\\x0{byte}"'
    lab = played(_PAIR, write, _TX, _READER.format(ns=ns), "run")
    for question in ("", "B.user"):
        report = why(lab, question)
        assert report.is_trouble is wrong
        if wrong:
            assert report.slug == "read-before-complete"
            assert "B.user read B.mr0[64:65] in line 2: if B.mr0[64] == 1" in report.text
            assert "A.qp0.wr[1] wrote these bytes later" in report.text
    for question in ("B.mr0[64:65]", "A.qp0.wr[1]"):
        report = why(lab, question)
        warned = [cause.check.slug for cause in report.warnings]
        assert ("read-before-complete" in warned) is (ns == 500)
        assert not report.is_trouble


_RELAY = (
    "use rc_pair path_mtu=256", "link rate=1Gbps",
    "program B.relay lines={{wait B.mr0[{flag}] == 0x5a; post_send B.qp0 wr_id=5 opcode=RDMA_WRITE "
    "sg=B.mr0[1400:1464] remote=A.mr0[2048] flags=SIGNALED; poll B.cq0{then}}}",
    "program A.put lines={{fill A.mr0[0:1500] 0x5a; post_send A.qp0 wr_id=90 opcode=RDMA_WRITE "
    "sg=A.mr0[0:1500] remote=B.mr0[0] flags=SIGNALED; poll A.cq0; wait A.mr0[2048] == 0x5a}}",
    "run 3ms",
)  # fmt: skip


@pytest.mark.parametrize("then", ["", "; wait B.mr0[1400] == 0x5a"])
def test_bytes_that_were_sent_on_before_they_came(then: str) -> None:
    lab = played(*(line.format(flag=0, then=then) for line in _RELAY))
    report = why(lab, "A.mr0[2048:2112]")
    assert (report.slug, report.is_trouble) == ("read-before-complete", True)
    assert "A.qp0.wr[90] wrote these bytes" in report.text
    assert "filled" not in report.text
    assert "wrong-place" not in [cause.check.slug for cause in report.warnings]
    lab = played(*(line.format(flag=1499, then=then) for line in _RELAY))
    assert why(lab, "A.mr0[2048:2112]").outcome.kind is Status.WELL
    assert not why(lab).is_trouble


_CREDITS = [f'write A.mr0[{16 * n}:{16 * n + 2}] "c{n}"' for n in range(3)]


_TO_ONE_PLACE = [
    f"post_send A.qp0 wr_id={10 + n} opcode=RDMA_WRITE sg=A.mr0[{16 * n}:{16 * n + 16}]"
    f" remote=B.mr0[256] flags={'SIGNALED' if n == 2 else 0}" for n in range(3)
]  # fmt: skip


def test_overwritten_unread() -> None:
    lab = played(_PAIR, *_CREDITS, *_TO_ONE_PLACE, "run", "poll_cq A.cq0")
    for question in ("", "B.mr0[256:272]", "A.qp0.wr[12]"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("overwritten-unread", True), question
    assert "overwritten-unread" in [c.check.slug for c in why(lab, "A.qp0.wr[10]").causes]
    beside = why(lab, "B.mr0[272:288]")
    assert beside.remedy is not None
    assert beside.remedy.cure.lines == [
        "post_send A.qp0 wr_id=11 opcode=RDMA_WRITE sg=A.mr0[16:32] remote=B.mr0[272]"
    ]


_CREDITS_READ = (
    "use rc_pair",
    'program B.rx lines={loop 4; post_recv B.qp0 wr_id=1 sg=B.mr0[64:128]; end; '
    r'write B.mr0[0:1] "\x01"; post_send B.qp0 wr_id=2 opcode=RDMA_WRITE sg=B.mr0[0:1] '
    'remote=A.mr0[0] flags=SIGNALED|INLINE; loop 2; poll B.cq0; end; '
    r'write B.mr0[0:1] "\x02"; post_send B.qp0 wr_id=3 opcode=RDMA_WRITE sg=B.mr0[0:1] '
    'remote=A.mr0[0] flags=SIGNALED|INLINE; loop 3; poll B.cq0; end}',
    "program A.tx lines={loop 4; wait A.mr0[0] > A.cq0.total; post_send A.qp0 wr_id=9 opcode=SEND "
    "sg=A.mr0[64:128] flags=SIGNALED; poll A.cq0; end}", "run 100us",
)  # fmt: skip


@pytest.mark.parametrize("stops", [(), ("stop A.tx", "stop B.rx"), ("stop B.rx", "stop A.tx")])
def test_what_a_program_read_before_it_was_stopped(stops: tuple[str, ...]) -> None:
    lab = played(*_CREDITS_READ, *stops)
    report = why(lab)
    assert [(c.check.slug, c.name) for c in report.causes] == [("condition-false", "A.tx")]
    assert why(lab, "A.mr0[0:1]").outcome.kind is Status.WELL


@pytest.mark.parametrize("between", ["run", "same"])
def test_a_write_that_a_call_may_have_read_or_that_brought_the_same(between: str) -> None:
    lines = [
        each for line in _TO_ONE_PLACE for each in ((line, "run") if between == "run" else (line,))
    ]
    lab = played(_PAIR, *(_CREDITS if between == "run" else ()), *lines, "run", "poll_cq A.cq0")
    assert not why(lab).warnings


def test_message_after_the_program_cleared_its_bytes() -> None:
    send = "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[8:9] remote=B.mr0[8]"
    clear = "sleep 1us; fill B.mr0[0:64] 0x00; sleep 9us"
    start = (_PAIR, "link latency=3us", 'write A.mr0[8:9] "\\x05"',
             f"program A.tx lines={{{send}}}")  # fmt: skip
    waits = played(*start, f"program B.reset lines={{{clear}; wait B.mr0[8] == 0}}", "run")
    for question in ("", "B.reset"):
        report = why(waits, question)
        assert (report.slug, report.is_trouble) == ("condition-false", True)
        assert "A.qp0.wr[4] wrote B.mr0[8:9]" in report.text
        assert "B.reset had written them while that was under way" in report.text
    late = f"sleep 8us; {clear}; wait B.mr0[8] == 5"
    assert (
        "B.reset wrote them again"
        in why(played(*start, f"program B.reset lines={{{late}}}", "run"), "B.reset").text
    )
    assert why(waits, "B.mr0[8:9]").warnings[0].check.slug == "sink-overwritten"
    assert not why(waits, "B.mr0[8:9]").is_trouble
    lost = played(*start, f"program B.reset lines={{{clear}}}", "run")
    for question in ("", "B.mr0[8:9]"):
        report = why(lost, question)
        assert (report.slug, report.is_trouble) == ("sink-overwritten", True)
        assert "the program wrote B.mr0[8:9] before A.qp0.wr[4] came" in report.text


@pytest.mark.parametrize(
    "lines",
    [
        "fill B.mr0[8:16] 0x00; wait B.mr0[8] == 5",  # the program waits for what came
        "fill B.mr0[8:16] 0x00; sleep 9us; if B.mr0[8] == 5; sleep 1us; end",
        'write B.mr0[8:9] "\\x05"',  # the same value
        "fill B.mr0[8:16] 0x00; if B.mr0[8] == 0; sleep 9us; end; if B.mr0[8] == 5; end",
    ],
)
def test_a_message_that_lands_on_cleared_bytes_and_is_meant_to_is_no_trouble(lines: str) -> None:
    send = "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[8:9] remote=B.mr0[8] flags=SIGNALED"
    lab = played(_PAIR, "link latency=3us", 'write A.mr0[8:9] "\\x05"',
                 f"program A.tx lines={{{send}; poll A.cq0}}",
                 f"program B.rx lines={{sleep 1us; {lines}}}", "run")  # fmt: skip
    for question in ("", "B.mr0[8:9]"):
        assert not why(lab, question).is_trouble
    assert [c.check.slug for c in why(lab, "B.mr0[8:9]").warnings] == ["sink-overwritten"]


def test_sink_overwritten_by_a_finished_program() -> None:
    send = "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[8:9] remote=B.mr0[8] flags=SIGNALED"
    lab = played(_PAIR, "link latency=3us", 'write A.mr0[8:9] "\\x05"',
                 f"program A.tx lines={{{send}; poll A.cq0}}",
                 "program B.x lines={if B.mr0[8] == 0; sleep 1us; end; fill B.mr0[8:16] 0x01}",
                 "run")  # fmt: skip
    assert (why(lab).slug, why(lab).is_trouble) == ("sink-overwritten", True)


# --------------------------------------------------------------------------- nothing is wrong
def test_bytes_that_the_program_filled_itself_wait_for_no_message() -> None:
    lab = played(
        _PAIR, "post_recv A.qp0 wr_id=1 sg=A.mr0[256:264]", 'write A.mr0[0:8] "question"',
        "post_send B.qp0 wr_id=2 opcode=SEND sg=B.mr0[0:8] flags=SIGNALED", "run", "poll_cq A.cq0",
    )  # fmt: skip
    report = why(lab, "A.mr0[0:8]")
    assert (report.outcome.kind, report.is_trouble) == (Status.WELL, False)
    assert not report.warnings
    assert "the program has filled these bytes" in report.text
    cleared = played(_PAIR, "fill B.mr0[0:6] 0x00", 'write A.mr0[0:6] "result"',
                     "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:6] remote=B.mr0[64]",
                     "run")  # fmt: skip
    report = why(cleared, "B.mr0[0:6]")
    assert (report.slug, report.is_trouble) == ("wrong-place", True)
