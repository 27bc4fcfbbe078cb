"""Memory windows by verbs: what is refused, and by which rule."""

from errno import EINVAL, ENOMEM

import pytest

from rdmalab.command import Refused
from rdmalab.hca import lifecycle
from tests.labs import lab_of, misread, refusal, well
from tests.windows import lab_with


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("alloc_mw B.mw1 pd=B.pd0 type=3", "mw-type"),
        ("alloc_mw B.mw1 pd=A.pd0 type=TYPE_1", "other-node"),
        ("bind_mw A.qp0 B.mw0", "other-node"),
    ],
)
def test_bind_mw_and_alloc_mw_refused(line: str, rule: str) -> None:
    refused = refusal(lab_with(), line)
    assert (refused.rule, refused.errno) == (rule, EINVAL)


def test_alloc_mw_limit() -> None:
    hca = lab_of().session.world.nodes["A"]
    for _ in range(hca.profile.caps.max_mw):
        lifecycle.alloc_mw(hca, 1, 1)
    with pytest.raises(Refused) as caught:
        lifecycle.alloc_mw(hca, 1, 1)
    assert (caught.value.rule, caught.value.errno) == ("limit", ENOMEM)


def test_dealloc_mw_twice() -> None:
    lab = lab_with("dealloc_mw B.mw0")
    assert refusal(lab, "dealloc_mw B.mw0").rule == "use-after-destroy"
    assert refusal(lab, "bind_mw B.qp0 B.mw0").rule == "use-after-destroy"


def test_mw_name_stands_for_its_rkey() -> None:
    lab = lab_with()
    line = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] rkey={}"
    well(lab, line.format("B.mw0"))
    assert "is a queue pair" in misread(lab, line.format("B.qp0")).message
