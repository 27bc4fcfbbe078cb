"""A format is a module of the room and a word of FORMATS; prompt and command line take it."""

import sys
from types import ModuleType

import click
import pytest

from rdmalab import export
from rdmalab.cli.exporting import export as export_command
from rdmalab.command import WordKind
from rdmalab.export.texts import TEXTS
from rdmalab.vocabulary import VOCABULARY


@pytest.mark.parametrize("name", export.FORMATS)
def test_every_format_has_its_module(name: str) -> None:
    form = export.format_called(name)
    assert callable(form.capture)
    assert not form.is_capture(b"no such file")


def test_prompt_and_command_line_take_the_formats_there_are() -> None:
    kind = VOCABULARY["export"].parameters[0].kind
    assert isinstance(kind, WordKind)
    assert kind.words == (*export.FORMATS, *TEXTS)
    choice = next(p.type for p in export_command.params if p.name == "form")
    assert isinstance(choice, click.Choice)
    assert tuple(choice.choices) == (*export.FORMATS, "text", *TEXTS)


def test_a_format_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("rdmalab.export.csv")
    vars(module).update(capture="makes it", is_capture="knows it")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert [str(each) for each in export.format_called("csv")] == ["makes it", "knows it"]


@pytest.mark.parametrize("name", [*export.FORMATS, *TEXTS])
def test_both_faces_have_the_sentence_of_each_word(name: str) -> None:
    sentence = f"{name}: {export.FORMATS.get(name) or TEXTS[name].help}"
    for shown in (VOCABULARY["export"].documentation, export_command.help or ""):
        assert sentence in " ".join(shown.split())
