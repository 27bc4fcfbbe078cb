"""A checklist worked through."""

import pytest

from rdmalab.doctor.check import NA, ChecklistSection, fact, fail, ok
from rdmalab.doctor.checklist_report import VERDICTS, ChecklistReport, walk
from rdmalab.doctor.diagnosis.diagnose import LISTS
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.doctor.saying import NAME, check


def test_lines_of_a_checklist_report() -> None:
    posted = ChecklistSection.POSTED
    walked = ChecklistReport(
        "no-completion",
        NAME,
        [
            (check(1, "never-posted", section=posted), ok("it was", 14)),
            (check(2, "refused", section=posted), NA),
            (check(3, "pending", section=posted), NA),
            (check(71, "rem-access"), fail(fact("B refused it", 27))),
        ],
    )
    assert walked.lines == [
        "checklist no-completion of A.qp0.wr[7]",
        "     in all: 1 FAIL, 1 pass, 2 not applicable",
        "  71 FAIL rem-access: Is it rem-access?",
        "          B refused it  [ev 27]",
        posted.value,
        "   1 pass never-posted: Is it never-posted?",
        f"          {NAME} was  [ev 14]",
        "     -    not applicable: refused, pending",
    ]
    assert walked.text.splitlines() == walked.lines


@pytest.mark.parametrize("title", LISTS)
def test_every_item_of_a_list_gets_a_verdict(title: str) -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.do("post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    walked = walk(lab.session, title, parse_expression(NAME).node)
    assert [item["slug"] for item in walked.as_json()["items"]] == [c.slug for c in LISTS[title]]
    assert walked.name == NAME
    assert all(any(c.slug in line for line in walked.lines) for c in LISTS[title])


def test_checklist_report_without_a_fault() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    walked = walk(lab.session, "slow", None)
    assert walked.lines == [
        "checklist slow: no check found a fault",
        "name what you mean: checklist slow A.qp0",
    ]
    assert walk(Lab().session, "slow", None).lines[0] == walked.lines[0]


def test_words_of_verdicts_differ() -> None:
    assert len(set(VERDICTS.values())) == len(VERDICTS)
