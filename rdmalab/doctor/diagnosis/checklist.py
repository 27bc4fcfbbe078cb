"""The checklist: every suspicion in its order; and the FAQs of the documents, as lists of them."""

from importlib import import_module
from pkgutil import iter_modules

from rdmalab.doctor import answers, checks
from rdmalab.doctor.check import Check, Section

_SECTIONS = tuple(Section)


def _of_family(name: str) -> list[Check]:
    """The checks of one module of `checks/`."""
    module = import_module(f"{checks.__name__}.{name}")
    return [value for value in vars(module).values() if isinstance(value, Check)]


CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (check for _, name, _ in iter_modules(checks.__path__) for check in _of_family(name)),
        key=lambda check: (_SECTIONS.index(check.section), check.row.item),
    )
)

BY_SLUG: dict[str, Check] = {check.slug: check for check in CHECKS}


LISTS: dict[str, tuple[Check, ...]] = {
    name: tuple(check for check in CHECKS if check.section.name in sections)
    for name, sections in answers.LISTS.items()
}
"""Checks by the names that `checklist` takes: the FAQs of the documents."""
