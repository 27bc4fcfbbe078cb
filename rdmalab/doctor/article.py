"""What `explain` says of the suspicions of the checklist."""

from functools import partial

from rdmalab.doctor.checklist import CHECKS, LISTS
from rdmalab.doctor.finding import Check
from rdmalab.guide.article import Article, article
from rdmalab.guide.entry import Entry


def _article(check: Check) -> Article:
    item = f"item {check.number} of the checklist" if check.number else "a suspicion of the doctor"
    way = "the cause only if nothing is found behind it; else on the way from that"
    rows = [
        ("", f"{check.rule}."),
        ("asks", check.question),
        ("about", check.section.value),
        ("stands", way if check.station else ""),
        ("source", check.source),
    ]
    lists = [title for title, checks in LISTS.items() if check in checks]
    return article(check.slug, item, rows, ["why", *(f"checklist {title}" for title in lists)])


SUSPICIONS = tuple(
    Entry(f"cause {check.slug}", "cause that why names", (check.slug,), partial(_article, check))
    for check in CHECKS
)
"""An entry for each, `cause rem-access`; `rem-access` alone may be a rule of the book as well."""
