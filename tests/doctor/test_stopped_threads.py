"""Threads that hung: the cause stays when one of them is stopped, and goes when it is mended."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import chain, played, why
from tests.each import each

_PAIR = "use rc_pair"
_RECEIVES = "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}"
_SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:4]"
_RX = 'program B.rx lines={poll B.cq0; write B.mr0[500:501] "x"}'
_TX = f"program A.tx lines={{{_SEND.format(1)} flags=SIGNALED; poll A.cq0}}"
_SILENT = f"program A.tx lines={{{_SEND.format(1)}; poll A.cq0; {_SEND.format(2)} flags=SIGNALED}}"
_RX_TWO = 'program B.rx lines={poll B.cq0; poll B.cq0; write B.mr0[500:501] "x"}'
_RUN = "run 100us"

HUNG = {
    "an old write": (
        _PAIR, "post_send B.qp0 wr_id=70 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0[0] "
        "flags=SIGNALED", "run", "poll_cq B.cq0",
        *(f"program {n}.end lines={{post_recv {n}.qp0 wr_id=7 sg={n}.mr0[256:320]; poll {n}.cq0; "
          f"post_send {n}.qp0 wr_id=8 opcode=SEND sg={n}.mr0[0:8] flags=SIGNALED}}" for n in "AB"),
        _RUN,
    ),
    "joins": (
        _PAIR, "program A.a lines={wait A.b.state == DONE}",
        "program A.b lines={wait A.c.state == DONE; sleep 1us}",
        "program A.c lines={wait A.a.state == DONE; sleep 1us}", _RUN,
    ),
    "no receive": (_PAIR, _TX, _RX, _RUN),
    "unsignaled": (_PAIR, _RECEIVES, _SILENT, _RX_TWO, _RUN),
}  # fmt: skip


def _hung(lab_lines: tuple[str, ...]) -> list[str]:
    return [line.split()[1] for line in lab_lines if line.startswith("program ")]


@each("lines", HUNG.values())
def test_the_root_stays_when_one_of_several_hung_threads_is_stopped(lines: tuple[str, ...]) -> None:
    root = why(played(*lines)).slug
    for name in _hung(lines):
        assert why(played(*lines, f"stop {name}")).slug == root, name
        assert why(played(*lines, f"stop {name}", _RUN)).slug == root, name


@pytest.mark.parametrize(
    "lines",
    [
        (_PAIR, _TX, _RX, _RUN, "stop A.tx", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "run 20ms"),
        (_PAIR, _RECEIVES, _SILENT, _RX_TWO, _RUN, "stop A.tx", f"{_SEND.format(3)} flags=SIGNALED",
         "run 20ms", "poll_cq A.cq0"),
        (_PAIR, "program A.w lines={wait A.mr0[300] == 1}", _RUN, "stop A.w",
         'write A.mr0[300:301] "\\x01"'),
    ],
)  # fmt: skip
def test_a_stopped_thread_is_well_after_the_repair(lines: tuple[str, ...]) -> None:
    report = why(played(*lines))
    assert report.outcome.kind in (Status.WELL, Status.LATE), report.text


def test_a_stopped_thread_is_reported_while_what_it_waited_for_has_not_come() -> None:
    waits = (f'program {n}.w lines={{wait {n}.mr0[300] == 1; write {n}.mr0[0:1] "x"}}'
             for n in "AB")  # fmt: skip
    lab = played(_PAIR, *waits, _RUN, "stop A.w", 'write B.mr0[300:301] "\\x01"', _RUN)
    assert (chain(lab), why(lab).name) == (["condition-false"], "A.w")
