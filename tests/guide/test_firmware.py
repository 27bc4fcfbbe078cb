"""Refused commands of mlx5: they are calls that failed, never completions."""

import errno

from rdmalab.guide.explain import explain, lookup
from rdmalab.guide.firmware import _VERBS, STATUSES, read_refused
from rdmalab.guide.sentences import errnos
from tests.each import each
from tests.guide.saying import WORDS

_LINE = (
    "mlx5_core 0000:03:00.0: mlx5_cmd_out_err:838:(pid 4242): {}(0x503) op_mod(0x0) failed, status "
    "{}(0x{:x}), syndrome (0x38e54c), err({})"
)


@each(
    "command, code, title, number",
    [("INIT2RTR_QP", 0x03, "INIT → RTR", 22), ("DESTROY_CQ", 0x09, "destroy_cq", 22),
     ("CREATE_QP", 0x08, "create_qp", 12), ("2ERR_QP", 0x10, "modify_qp … state=ERR", 22),
     ("CREATE_MKEY", 0x0F, "reg_mr", 11), ("ENABLE_HCA", 0x01, "EIO", 5)],
)  # fmt: skip
def test_a_refused_command_leads_to_its_verb(
    command: str, code: int, title: str, number: int
) -> None:
    """The number in parentheses is no status of a completion: 3 would be LOC_EEC_OP_ERR."""
    for line in (
        _LINE.format(command, STATUSES[code].name, code, -number),
        _LINE.format(command, STATUSES[code].name, code, 0).replace(", err(0)", ""),
    ):
        page = explain(line, WORDS)
        assert page.title == title
        facts = " ".join(page.sections[0].lines)
        assert f"the verb returns errno {number}, {errno.errorcode[number]}" in facts
        assert "IBV_WC" not in facts


def test_a_command_without_an_answer() -> None:
    text = "mlx5_core 0000:03:00.0: CREATE_CQ(0x400) timeout. Will cause a leak of a command"
    found = read_refused(text)
    assert found is not None
    assert (found.verb, found.errno, found.status) == ("create_cq", errno.ETIMEDOUT, None)
    assert "has not answered" in " ".join(explain(text, WORDS).sections[0].lines)


def test_every_verb_and_errno_of_the_table_is_explained() -> None:
    for verb, states in _VERBS.values():
        assert lookup(f"{verb} {states}".strip(), WORDS), (verb, states)
    assert {each.errno for each in STATUSES.values()} <= set(errnos())
