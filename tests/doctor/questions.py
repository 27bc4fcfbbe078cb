"""Ask the doctor in a test: the case, what one check says of it, and the chain of causes."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.checklist import BY_SLUG
from rdmalab.doctor.complaints import subjects
from rdmalab.doctor.consult import consult
from rdmalab.doctor.finding import Finding, Verdict
from rdmalab.doctor.log import Log
from rdmalab.doctor.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab


def case_of(lab: Lab, asked: str) -> Case:
    """The case of what is asked about: `A.qp0.wr[7]`, `ENOMEM`."""
    log = Log(lab.session)
    (subject, *_) = subjects(lab.session, log, parse_expression(asked, "A").node)
    return Case(lab.session, subject, log, asked=True)


def finding(lab: Lab, slug: str, asked: str) -> Finding:
    """What one check says of it."""
    return BY_SLUG[slug].examine(case_of(lab, asked))


def verdict(lab: Lab, slug: str, asked: str) -> Verdict:
    """The first word of that."""
    return finding(lab, slug, asked).verdict


def why(lab: Lab, asked: str = "") -> Report:
    """The whole answer."""
    return consult(lab.session, parse_expression(asked, "A").node if asked else None)


def chain(lab: Lab, asked: str = "") -> list[str]:
    """The causes that it names, the root first."""
    return [cause.check.slug for cause in why(lab, asked).chain]
