"""What every check says of one thing, in a lab to test with."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.complaints import subjects
from rdmalab.doctor.consult import consult, diagnose
from rdmalab.doctor.finding import Finding, Verdict
from rdmalab.doctor.log import Log
from rdmalab.doctor.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab


def case_of(lab: Lab, what: str, *, asked: bool = True) -> Case:
    """The case of the first thing that a question is about."""
    log = Log(lab.session)
    (subject, *_) = subjects(lab.session, log, parse_expression(what, "A").node)
    return Case(lab.session, subject, log, asked=asked)


def findings(lab: Lab, what: str, *, asked: bool = True) -> dict[str, Finding]:
    """By the name of the check."""
    case = case_of(lab, what, asked=asked)
    seen = diagnose(lab.session, case.subject, case.log, asked=asked)
    return {check.slug: finding for check, finding in seen.findings}


def verdict(lab: Lab, what: str, slug: str, *, asked: bool = True) -> Verdict:
    return findings(lab, what, asked=asked)[slug].verdict


def blamed(lab: Lab, what: str, *, asked: bool = True) -> list[str]:
    """The names of all that are called a cause."""
    found = findings(lab, what, asked=asked)
    return [slug for slug, finding in found.items() if finding.verdict is Verdict.FAIL]


def evidence(lab: Lab, what: str, slug: str) -> str:
    """All facts of one check, each with its event where it has one."""
    found = findings(lab, what)[slug].evidence
    return "\n".join(f"{each.text} [{each.event}]" for each in found)


def why(lab: Lab, what: str = "") -> Report:
    return consult(lab.session, parse_expression(what, "A").node if what else None)
