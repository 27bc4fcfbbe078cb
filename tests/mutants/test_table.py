"""The table of mutants fits today's source; nothing is run here."""

from pathlib import Path

import pytest

from rdmalab.guide.sentences import not_applicable, statements
from tests.each import each
from tests.mutants.running import bound
from tests.mutants.table import Edit, Mutant, NotApplicable, load, mutated

MUTANTS = load()


@each("name", MUTANTS)
def test_a_mutant_applies_to_todays_source_and_compiles(name: str) -> None:
    for file, source in mutated(MUTANTS[name]).items():
        compile(source, file, "exec")


def test_every_behavioural_statement_has_a_mutant() -> None:
    assert {mutant.statement for mutant in MUTANTS.values()} == set(statements()) - set(
        not_applicable()
    )


def test_no_two_mutants_of_a_statement_do_the_same() -> None:
    assert len({(m.statement, m.edits) for m in MUTANTS.values()}) == len(MUTANTS)


def test_every_statement_with_a_mutant_has_an_item_that_is_asked() -> None:
    items = bound()
    assert [m.name for m in MUTANTS.values() if not items.get(m.statement)] == []


def test_error_of_moved_text_names_mutant_file_and_text(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    mutant = Mutant("S001", 1, "it is wrong", (Edit("a.py", "g", "return 1", "return 3"),))
    with pytest.raises(NotApplicable, match=r"S001-1: rdmalab/a.py, g: .* once, not 0 .*return 1"):
        mutated(mutant, tmp_path)


def test_error_of_a_removed_definition(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    mutant = Mutant("S001", 1, "it is wrong", (Edit("a.py", "h", "1", "2"),))
    with pytest.raises(NotApplicable, match=r"S001-1: rdmalab/a.py, h: not one definition"):
        mutated(mutant, tmp_path)


def test_a_text_is_replaced_within_its_definition_only(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n    x = 1\n\n\nclass B:\n    x = 1\n")
    mutant = Mutant("S001", 1, "it is wrong", (Edit("a.py", "B", "x = 1", "x = 2"),))
    changed = mutated(mutant, tmp_path)["a.py"]
    assert changed == "class A:\n    x = 1\n\n\nclass B:\n    x = 2\n"
