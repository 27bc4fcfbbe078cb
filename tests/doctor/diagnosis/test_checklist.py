"""The checklist: complete, in its order, each suspicion with its law and its source."""

import re
from inspect import unwrap
from pathlib import Path
from types import NoneType
from typing import get_args

from rdmalab.doctor import answers
from rdmalab.doctor.case import Case
from rdmalab.doctor.check import Check, ChecklistSection
from rdmalab.doctor.diagnosis.diagnose import BY_SLUG, CHECKS, LISTS

FOLDER = Path(__file__).parents[3] / "rdmalab" / "doctor" / "checks"


def test_every_module_of_checks_has_a_check() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    modules = {check.examine.__module__.rpartition(".")[2] for check in CHECKS}
    assert files == modules


def test_92_items_each_once_in_order() -> None:
    numbers = [check.row.item for check in CHECKS]
    assert len(set(numbers)) == len(numbers) == len(BY_SLUG)
    assert set(numbers) >= set(range(1, 93))
    of_the_documents = [number for number in numbers if number <= 92]
    assert of_the_documents == sorted(of_the_documents)
    assert [check.section for check in CHECKS] == sorted(
        (check.section for check in CHECKS), key=list(ChecklistSection).index
    )


def test_the_lists_name_sections_that_exist() -> None:
    named = {section for sections in answers.LISTS.values() for section in sections}
    assert named < {section.name for section in ChecklistSection}
    assert {name: {check.section.name for check in checks} for name, checks in LISTS.items()} == {
        name: set(sections) for name, sections in answers.LISTS.items()
    }


def test_the_stations_are_those_of_the_checklist() -> None:
    stations = {check.row.item for check in CHECKS if check.row.station}
    assert stations == {25, 35, 51, 70, 71, 72, 73, 74, 77, 87, 120, 122, 123, 124, 139}


def test_each_check_has_question_rule_and_source() -> None:
    for check in CHECKS:
        assert check.row.asks.endswith("?"), check.slug
        assert check.row.asks[0].isupper(), check.slug
        assert len(check.row.rule) > 20, check.slug
        assert check.row.source, check.slug
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check.slug)


def test_every_suspicion_is_on_some_list_of_the_faq_or_about_data() -> None:
    listed = {check.slug for checks in LISTS.values() for check in checks}
    wrong = {check.slug for check in CHECKS if check.section is ChecklistSection.WRONG}
    assert listed | wrong == set(BY_SLUG)
    assert all(_in_order(checks) for checks in LISTS.values())


def _in_order(checks: tuple[Check, ...]) -> bool:
    places = [CHECKS.index(check) for check in checks]
    return places == sorted(places)


def _without_none(hint: object) -> set[object]:
    return set(get_args(hint) or (hint,)) - {NoneType}


def test_parameter_types_of_checks_are_those_of_case() -> None:
    compared = 0
    functions = [(c.slug, f) for c in CHECKS for f in (unwrap(c.examine), *c.instead_of)]
    for slug, function in functions:
        for name, hint in function.__annotations__.items():
            given = vars(Case).get(name)
            if given is not None and name != "case":
                find = given.fget if isinstance(given, property) else given.func
                found = _without_none(find.__annotations__["return"])
                assert _without_none(hint) == found, f"{slug} takes {name}: {hint}"
                compared += 1
    assert compared > 100
