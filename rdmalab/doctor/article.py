"""Articles of `explain` about causes: the rule, its consequences, the warnings about it."""

from functools import partial

from rdmalab.doctor.check import Check
from rdmalab.doctor.diagnosis.diagnose import CHECKS, LISTS
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.causes import leads_to, warnings_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus


def _article(check: Check) -> Article:
    row = check.row
    way = "an effect of another cause, where that is found" if row.station else ""
    rows: list[Row] = [
        ("", f"{row.rule}."),
        ("asks", row.asks),
        ("about", check.section.value),
        ("is", way),
        ("leads to", ", ".join(_full(*found) for found in leads_to().get(check.slug, []))),
        ("warning", warnings_of(check.slug)),
        ("look at", row.look),
        ("source", row.source),
    ]
    lists = [title for title, checks in LISTS.items() if check in checks]
    see = ["why", *(f"checklist {title}" for title in lists)]
    return article(check.slug, f"item {row.item} of the checklist", rows, see)


def _full(table: str, word: str) -> str:
    """`IBV_WC_LOC_LEN_ERR`, `RNR_NAK`, `drop pkey`: as `explain` finds it."""
    kind = {kind.__name__: kind for kind in (WCStatus, AsyncEvent)}.get(table)
    if kind is not None:
        return full_name(kind[word])
    return word if table == Syndrome.__name__ else f"{table} {word}"


SUSPICIONS = tuple(
    Entry(f"cause {check.slug}", "cause that why names", (check.slug,), partial(_article, check))
    for check in CHECKS
)
"""An entry for each, `cause rem-access`; `rem-access` alone may be a rule of the book as well."""
