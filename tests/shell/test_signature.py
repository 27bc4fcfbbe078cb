import pytest

from rdmalab.shell.signature import signature
from tests.shell.prompts import Prompt


@pytest.fixture(scope="module")
def fresh() -> Prompt:
    return Prompt("use rc_pair", "reset A.qp0", "reset B.qp0")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("modify_qp A.qp0 state=INIT port_num=", "[required RESET→INIT]"),
        ("modify_qp A.qp0 state=INIT port_num=", "1..1"),
        ("modify_qp A.qp0 state=INIT ", "RESET→INIT still needs: qp_access_flags= pkey_index="),
        ("post_recv B.qp0 sg=B.mr0[0:64", "B.mr0 4096 bytes, lkey"),
        ("create_cq A.cq1 ", "create_cq still needs: cqe="),
        ("create_cq ", "create_cq NEW_CQ cqe=N [comp_vector=N] [channel=CHANNEL] [cq_context=N]"),
        ("step", "Run one step"),
        ("why ", "why [THING]"),
        ("why A.q", "THING   a queue, a work request by wr_id, a program, bytes, an errno"),
        ("checklist ", "checklist no-completion|no-receive|bring-up|slow [THING]"),
        ("nonsense x", ""),
        ("", ""),
    ],
)
def test_signatures(fresh: Prompt, line: str, text: str) -> None:
    found = signature(fresh.lab.session, line, len(line))
    assert text in found
    assert bool(found) is bool(text)
