"""Short words for tests: a scenario from its steps, played."""

from rdmalab.lab import open_session
from rdmalab.scenario.loader import Scenario, loads
from rdmalab.scenario.result import StepResult
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY

PAIR = "  - use rc_pair\n"
SEND = "  - post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED\n"
WRITE = (
    "  - post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED\n"
)


def scenario(steps: str, more: str = "") -> Scenario:
    return loads(f"rdmalab: 1\ntitle: t\n{more}steps:\n{steps}", "x.yaml", VOCABULARY)


def runner(steps: str, more: str = "") -> Runner:
    return Runner(scenario(steps, more), open_session)


def last(steps: str, more: str = "") -> StepResult:
    """What came of the last step that was done."""
    return runner(steps, more).run()[-1]


def failure_text(steps: str, more: str = "") -> str:
    """What is told about a failure; nothing if all went well."""
    return last(steps, more).text("x.yaml")
