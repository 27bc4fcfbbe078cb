import pytest

from rdmalab.shell.prompt_setup import choices
from rdmalab.spec.states import MOVES, QPState, QPType, fields_of
from tests.shell.prompts import Prompt

UP = (
    "modify_qp A.qp0 state=INIT port_num=1 pkey_index=0 qp_access_flags=0",
    "to_rts A.qp0 B.qp0",
    "modify_qp A.qp0 state=SQD",
)


@pytest.mark.parametrize("height", range(len(UP) + 1))
def test_what_is_offered_is_what_the_table_takes(height: int) -> None:
    session = Prompt("use rc_pair", "reset A.qp0", *UP[:height]).lab.session
    now = session.world.nodes["A"].qps.items[0x11].state
    for to in QPState:
        move = MOVES.get((QPType.RC, now, to))
        line = f"modify_qp A.qp0 state={to.name} "
        keys = {choice.text.rstrip("=") for choice in choices(session, line, len(line))[0]}
        taken = set(fields_of(move.required | move.optional)) if move else set()
        # on RoCE there is no alternate path; `ah=B` says all of ah_attr
        wanted = {"ah" if n == "ah_attr" else n for n in taken if not n.startswith("alt_")}
        assert keys == wanted, line


def test_an_alternate_path_is_offered_on_an_infiniband_port() -> None:
    session = Prompt("use rc_pair link_layer=InfiniBand").lab.session
    line = "modify_qp A.qp0 alt_timeout=14 "
    keys = {choice.text.rstrip("=") for choice in choices(session, line, len(line))[0]}
    assert {"alt_ah", "alt_pkey_index", "alt_port_num", "path_mig_state"} <= keys
    assert "alt_timeout" not in keys
