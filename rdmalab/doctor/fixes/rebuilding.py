"""A critical region once more, as it was or with one thing mended: lines from wr_start on."""

from collections.abc import Callable

from rdmalab.command import Invocation
from rdmalab.doctor.case import Case
from rdmalab.doctor.work.batches import Batch, Building
from rdmalab.grammar.format import render

Change = Callable[[Building], list[Invocation] | None]
"""The setters after the builder of a work request; None keeps its setters."""


def rebuild(
    case: Case, batch: Batch, change: Change | None = None, flags: int = 0
) -> list[str] | None:
    """The lines of a region, each work request with its wr_id and flags; None if not in the log.

    change: which setters to replace; flags: added to every work request.
    """
    lines: list[Invocation] = []
    for built in batch.built:
        builder = _said(case, built.event)
        if builder is None:
            return None
        own = {"wr_id": built.wr.wr_id, "wr_flags": built.flags | flags}
        lines.append(Invocation(builder.name, builder.arguments | {"qpx": own}))
        changed = change(built) if change is not None else None
        lines += changed if changed is not None else setters(case, built)
    return _in_region(case, lines) if lines else None


def _in_region(case: Case, lines: list[Invocation]) -> list[str]:
    qp = {"qp": lines[0].arguments["qp"]}
    framed = [Invocation("wr_start", qp), *lines, Invocation("wr_complete", qp)]
    return [render(each, case.session.vocabulary[each.name]) for each in framed]


def setters(case: Case, built: Building) -> list[Invocation]:
    """The setter calls after a builder."""
    found = [_said(case, each.event) for each in built.setters]
    return [each for each in found if each is not None]


def _said(case: Case, event: int) -> Invocation | None:
    return case.log.asked(event)[0]
