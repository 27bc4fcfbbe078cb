"""What the checks say of one thing, and what the doctor answers."""

from rdmalab.doctor.complaints import subjects
from rdmalab.doctor.consult import consult, diagnose
from rdmalab.doctor.finding import Finding, Verdict
from rdmalab.doctor.log import Log
from rdmalab.doctor.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from rdmalab.spec.profiles import STRICT, Profile
from tests.labs import well


def lab_on(profile: Profile, *lines: str) -> Lab:
    """Two nodes of a profile, and these lines carried out; some may be refused."""
    lab = Lab({"A": profile, "B": profile})
    for line in lines:
        assert lab.do(line)[-1].error is None, line
    return lab


def pair(*lines: str, use: str = "use rc_pair", profile: Profile = STRICT) -> Lab:
    """A connected pair, each line carried out well, and all that comes of it."""
    lab = Lab({"A": profile, "B": profile})
    for line in (use, *lines):
        well(lab, line)
    well(lab, "run")
    return lab


def why(lab: Lab, text: str = "") -> Report:
    return consult(lab.session, parse_expression(text, "A").node if text else None)


def findings(lab: Lab, text: str, *, asked: bool = True) -> dict[str, Finding]:
    """What every check says of the first thing that is asked about."""
    log = Log(lab.session)
    subject = subjects(lab.session, log, parse_expression(text, "A").node)[0]
    seen = diagnose(lab.session, subject, log, asked=asked)
    return {check.slug: finding for check, finding in seen.findings}


def verdict(lab: Lab, text: str, slug: str) -> Verdict:
    return findings(lab, text)[slug].verdict


def failing(lab: Lab, text: str) -> list[str]:
    """What counts as a cause."""
    return [s for s, found in findings(lab, text).items() if found.verdict is Verdict.FAIL]


def warning(lab: Lab, text: str) -> list[str]:
    """What is only suspicious."""
    return [s for s, found in findings(lab, text).items() if found.verdict is Verdict.WARN]


def told(lab: Lab, text: str, slug: str) -> str:
    """The evidence of one check, one fact a line."""
    return "\n".join(each.text for each in findings(lab, text)[slug].evidence)


def cured(lab: Lab, text: str) -> list[str]:
    """The lines of a cure that was tried and works."""
    remedy = why(lab, text).remedy
    assert remedy is not None
    assert remedy.works, remedy
    return remedy.cure.lines
