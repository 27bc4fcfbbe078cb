"""Memory in use: a scenario, a program and a line are warned alike when they write into it."""

from rdmalab.views.device_warnings import records_of
from rdmalab.views.warnings import moment_warnings, warnings
from tests.each import each
from tests.labs import lab_of
from tests.scenario.playing import runner

READ = "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"
SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"
EARLY = "these bytes belong to the HCA until wr0 of A.qp0 completes."
SINK = "these bytes belong to the HCA: a receive of A.qp0 is posted on them."
WRITE = 'write A.mr0[0:5] "later"'


@each(
    "line, warning",
    [
        (SEND, EARLY),
        (READ, EARLY),
        ("post_recv A.qp0 sg=A.mr0[0:64]", SINK),
        ("post_recv A.qp0 sg=A.mr0[8:64]", ""),
        ("post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=INLINE", ""),
    ],
)
def test_each_face_warns_of_the_same_write(line: str, warning: str) -> None:
    lab = lab_of()
    lab.do(line)
    typed = lab.do(WRITE)[0]
    assert typed.event is not None
    answer = warnings(lab.session, typed)
    assert answer == moment_warnings(lab.session, records_of(lab.session, typed.event))
    assert answer == ([warning] if warning else [])
    played = runner(f"  - use rc_pair\n  - {line}\n  - '{WRITE}'\n")
    assert played.run()[-1].warnings == answer


def test_a_write_after_the_completion_is_no_hazard() -> None:
    lab = lab_of()
    lab.do(READ)
    lab.run()
    assert warnings(lab.session, lab.do(WRITE)[0]) == []
