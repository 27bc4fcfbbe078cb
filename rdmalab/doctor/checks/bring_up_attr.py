"""bring-up-attr: modify_qp was refused for what it was given, or was not."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.modified import ModifyCall, asked_of, corrected, takes
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.spec.states import QPState
from rdmalab.views import fmt

RULES = ("transition", "attr-missing", "attr-surplus", "attr-range", "attr-support", "cur-state",
         "mask-mismatch", "draining", "ah-port", "alt-path")  # fmt: skip


def examine(case: Case) -> Finding:
    """Which attribute of which move was wrong."""
    call, qp = case.call, case.qp
    if call is None or call.verb != "modify_qp":
        return NA
    if call.refusal not in RULES:
        return ok("its attributes were not what was wrong")
    asked = asked_of(case, call)
    if asked is None or qp is None:
        return fail(said(call.message, call.event))
    lines = corrected(case, qp, asked)
    return fail(
        said(f"{case.qp_name(qp)}, {_move(asked)}: {call.message}", call.event),
        *_law(case, asked, call.refusal), cure=Fix(lines) if lines else None,
    )  # fmt: skip


def _move(asked: ModifyCall) -> str:
    return f"{asked.now.name} to {fmt.member(asked.to, QPState)}"


def _law(case: Case, asked: ModifyCall, rule: str) -> list[Evidence]:
    """What would have been right."""
    return [said(text) for text in takes(case, asked, rule)]


CHECK = Check(
    27, "bring-up-attr", Section.LOCAL,
    question="Was a move refused for an attribute that is missing, too much, or out of range?",
    rule="each move requires some attributes, allows some more, and refuses all others",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
