"""What every check says of one thing, in a lab to test with."""

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.diagnosis.diagnose import BY_SLUG, diagnose
from rdmalab.doctor.evidence.finding import Finding, Verdict
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from rdmalab.spec.profiles import STRICT, Profile
from tests.digest import digest
from tests.labs import well


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
    """The names of all that are called a cause; stations only where nothing else is."""
    found = findings(lab, what, asked=asked)
    failed = [slug for slug, finding in found.items()
              if finding.verdict is Verdict.FAIL and not finding.told_by]  # fmt: skip
    return [slug for slug in failed if not BY_SLUG[slug].row.station] or failed


def evidence(lab: Lab, what: str, slug: str) -> str:
    """All facts of one check, each with its event where it has one."""
    found = findings(lab, what)[slug].evidence
    return "\n".join(f"{each.text} [{each.event}]" for each in found)


def why(lab: Lab, what: str = "") -> Report:
    return consult(lab.session, parse_expression(what, "A").node if what else None)


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


def failing(lab: Lab, text: str) -> list[str]:
    """What counts as a cause."""
    return [s for s, found in findings(lab, text).items() if found.verdict is Verdict.FAIL]


def warning(lab: Lab, text: str) -> list[str]:
    """What is only suspicious."""
    return [s for s, found in findings(lab, text).items() if found.verdict is Verdict.WARN]


def evidence_of(lab: Lab, text: str, slug: str) -> str:
    """The evidence of one check, one fact a line."""
    return "\n".join(each.text for each in findings(lab, text)[slug].evidence)


def cured(lab: Lab, text: str) -> list[str]:
    """The lines of a cure that was tried and works."""
    remedy = why(lab, text).remedy
    assert remedy is not None
    assert remedy.works, remedy
    return remedy.cure.lines


def finding(lab: Lab, what: str, slug: str) -> Finding:
    """What one check says of it."""
    return findings(lab, what)[slug]


def chain(lab: Lab, what: str = "") -> list[str]:
    """The causes that it names, the root first."""
    return [cause.check.slug for cause in why(lab, what).chain]


def played(*lines: str, profile: str = "strict") -> Lab:
    """A lab in which these lines were typed; some may be refused."""
    lab = Lab(profile=profile)
    for line in lines:
        lab.do(line)
    return lab


def answer(lab: Lab, line: str) -> Report:
    """What a line `why …` answers; asking changes nothing."""
    before = digest(lab.session.world.trace), lab.session.history.here
    report = lab.do(line)[-1].value
    assert isinstance(report, Report), line
    assert (digest(lab.session.world.trace), lab.session.history.here) == before
    return report
