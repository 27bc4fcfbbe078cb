"""Exports that are texts: each is written at the prompt and recognised again."""

from pathlib import Path

import pytest

from rdmalab.export.texts import TEXTS
from tests.labs import RECV, SEND, lab_of


@pytest.mark.parametrize("word", TEXTS)
def test_a_session_is_written_and_replaced_by_its_own_kind_only(word: str, tmp_path: Path) -> None:
    lab, file = lab_of(), tmp_path / "x"
    for line in (RECV, SEND, "run"):
        lab.do(line)
    (first,) = lab.do(f'export {word} "{file}"')
    assert TEXTS[word].is_one(file.read_bytes())
    assert TEXTS[word].kind in first.value.text
    (again,) = lab.do(f'export {word} "{file}"')
    assert again.value.replaced
    file.write_text("something else")
    (other,) = lab.do(f'export {word} "{file}"')
    assert other.error is not None
    assert f"is not a {TEXTS[word].kind}" in other.error.message
    assert file.read_text() == "something else"


@pytest.mark.parametrize("word", ["c", "pyverbs"])
def test_a_line_that_no_program_can_do_is_named(word: str, tmp_path: Path) -> None:
    lab = lab_of()
    lab.do("fault drop A->B nth=1")
    (reply,) = lab.do(f'export {word} "{tmp_path / "x"}"')
    assert reply.error is not None
    assert "no program does the same: fault drop A->B nth=1: fault is " in reply.error.message
