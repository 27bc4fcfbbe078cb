"""The pages of the manual: every block of them is carried out, and they name what exists."""

import re
import subprocess
from importlib import import_module
from pathlib import Path

import click
import pytest

from rdmalab.guide import manual
from rdmalab.guide.manual import PAGES, Shape, page
from rdmalab.tui.keys import AT_PROMPT, EVERYWHERE, IN_PANES, Key, shown
from rdmalab.tui.pane import Pane
from rdmalab.tui.pane_table import ROWS, TABS, made
from tests.blocks import ROOT, Reader, check, supply
from tests.tui.stand import stand

FOLDER = ROOT / "rdmalab/guide/pages"
WIDEST = 76  # columns of a line that is typed, at 80 with its margin
NO_PANES = ("head", "tape", "caption", "strip")  # the bars, and the lesson once more
LANGUAGES = {"lab", "console", "sh", "python", "yaml"}


def test_every_file_of_the_folder_is_a_page() -> None:
    assert sorted(PAGES) == sorted(path.stem for path in FOLDER.glob("*"))


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_a_page_is_carried_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))
    supply(tmp_path)
    reader = Reader()
    reader.read(page(name).parts)
    check(FOLDER / f"{name}.md", reader)
    assert reader.done == manual.source(name).count("\n```") // 2


@pytest.mark.parametrize("name", PAGES)
def test_every_block_says_what_it_is_and_fits(name: str) -> None:
    for part in page(name).parts:
        for block in part.blocks:
            if block.shape is Shape.CODE:
                assert block.language.partition(" ")[0] in LANGUAGES, block
                assert max(map(len, block.texts[0].splitlines())) <= WIDEST, block


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_names_in_passing_exists(name: str) -> None:
    """`load …`, `help …` and `explain …` in backquotes are answered; lessons exist."""
    reader = Reader()
    for code in re.findall(r"`((?:help|explain|load|use) [a-zA-Z_/-]+)`", manual.source(name)):
        if not re.search(r"[A-Z]{4}$", code):  # WORD, FILE
            reader.type(code)
    for folder in re.findall(r"lessons in `(\w+)/`", manual.source(name)):
        assert (ROOT / "scenarios" / folder).is_dir()


@pytest.mark.parametrize(
    "block",
    [
        "lab\npost_sned A.qp0", "lab\nuse rc_pair # refused", "sh\nrdmalab repl -c frobnicate",
        "sh\nrdmalab book public --nonsense", "sh\nrm -r x", "python\nassert False",
    ],
)  # fmt: skip
def test_a_block_that_is_wrong_is_found(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = manual.parts_of(f"# Title\n\n```{block}\n```\n")
    with pytest.raises((AssertionError, click.UsageError, subprocess.CalledProcessError)):
        Reader().read(parts)


def test_the_commands_for_screen_readers_are_understood() -> None:
    rows = [
        block.cells for part in page("plain").parts for block in part.blocks
        if block.shape is Shape.ROW
    ]  # fmt: skip
    reader = Reader("use rc_pair", "write A.mr0[0:4] ping", "post_send A.qp0 opcode=SEND", "step 3")
    for _, typed in rows:
        for piece in typed:
            if piece.is_code and piece.text != "task":  # in a lesson or a lab
                assert reader.type(piece.text), piece.text


@pytest.mark.parametrize(
    ("heading", "table"),
    [("Everywhere", EVERYWHERE), ("At the prompt", AT_PROMPT), ("In every pane", IN_PANES)],
)
def test_every_key_of_the_app_is_on_its_page(heading: str, table: tuple[Key, ...]) -> None:
    """With the command that does the same."""
    (part,) = (part for part in page("keys").parts if part.heading == heading)
    rows = [block.texts for block in part.blocks if block.shape is Shape.ROW]
    on_page = {name: " ".join(row) for row in rows for name in row[0].replace(",", "").split()}
    for key in table:
        name = shown(key.keys.partition(",")[0])
        if not name.isdecimal():
            assert key.word.partition(" ")[0] in on_page[name] or heading == "At the prompt", name


def test_every_function_key_of_the_page_is_bound() -> None:
    bound = {shown(each) for key in EVERYWHERE for each in key.keys.split(",")} | {"F2"}
    assert set(re.findall(r"(?:Shift-)?F\d", manual.source("keys"))) - bound <= {"F10", "F1"}


@pytest.mark.parametrize("name", ROWS)
def test_every_key_of_a_pane_is_on_the_page_of_keys(name: str) -> None:
    module, _, wanted = ROWS[name].made_in.partition(":")
    pane = vars(import_module(f"rdmalab.tui.panes.{module}"))[wanted]
    own = {key for each in vars(pane).get("BINDINGS", ()) for key in each.key.split(",")}
    text = " ".join(" ".join(b.texts) for p in page("keys").parts for b in p.blocks)
    words = {word.strip(".:,") or word for word in text.split()}
    assert {shown(key) for key in own} <= words


async def test_the_command_of_each_pane_is_on_the_page_for_screen_readers() -> None:
    named = re.findall(r"`([a-z]+ ?[a-z]*)", manual.source("plain"))
    async with stand((200, 60)) as it:
        for pane in it.app.main.query(Pane):
            twin = " ".join(word for word in pane.twin.split()[:2] if word.isalpha())
            assert twin in named or pane.id in NO_PANES, (pane.id, pane.twin)
        assert all(made(name, it.app.main.view).twin for name in TABS)
