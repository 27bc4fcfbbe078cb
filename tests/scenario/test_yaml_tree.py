"""YAML as texts with places."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.cli import Exit, main
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.source import FileError, Source, SourcePlace


def place(text: str, path: tuple[int | str, ...], word: str) -> SourcePlace:
    """Where a word of the value at a path stands."""
    source = Source("f", text)
    node = yaml_tree.find(yaml_tree.compose(source), path)
    start = node.value.index(word)
    return yaml_tree.place_in(source, node, start, start + len(word))


@pytest.mark.parametrize(
    "text",
    [
        "k: one two three\n",
        "k: 'one two three'\n",
        'k: "one two three"\n',
        "k: 'it''s one two three'\n",
        'k: "a \\"one\\" two three"\n',
        "k: one\n  two\n  three\n",
        "k: |\n  one\n  two\n  three\n",
        "k: >\n  one\n  two\n\n  three\n",
        "k: |+2\n    one two\n  three\n\n",
        "k: {j: [one two, three]}\n",
        "k: 日本 one two\n",
    ],
)
@pytest.mark.parametrize("word", ["one", "two"])
def test_words_are_found_where_they_stand(text: str, word: str) -> None:
    path: tuple[int | str, ...] = ("k", "j", 0) if "{" in text else ("k",)
    found = place(text, path, word)
    line = text.splitlines()[found.line - 1]
    assert line[found.column - 1 : found.column - 1 + found.length] == word


def test_plain_values_are_texts() -> None:
    root = yaml_tree.compose(Source("f", "a: 1\nb: [no, 0x1, ~]\nc: {d: 1:30}\n"))
    assert yaml_tree.plain(root) == {"a": "1", "b": ["no", "0x1", "~"], "c": {"d": "1:30"}}


def test_a_path_that_ends_early_gives_the_last_node() -> None:
    root = yaml_tree.compose(Source("f", "a:\n  b: 1\n"))
    assert yaml_tree.find(root, ("a", "x", 3)) is yaml_tree.find(root, ("a",))
    assert yaml_tree.place_of(yaml_tree.key_of(root, ("a", "b"))) == SourcePlace(2, 3)
    assert yaml_tree.place_of(yaml_tree.key_of(root, ("a", "c"))) == SourcePlace(2, 3)


def complaint(text: str) -> FileError | None:
    try:
        yaml_tree.plain(yaml_tree.compose(Source("f", text)))
    except FileError as wrong:
        return wrong
    return None


@given(st.text(max_size=60) | st.text(alphabet="[]{}&*!|>:-? \n\t'\"#%@`,ab\\", max_size=80))
def test_any_text_is_a_tree_or_a_message(text: str) -> None:
    wrong = complaint(text)
    assert wrong is None or (wrong.place is not None and str(wrong).startswith("f:"))


ITEM = "      - a\n" * (yaml_tree.MAX_ITEMS + 1)


@pytest.mark.parametrize("lead", ["  - note: |\n", "  - note: x\n    name: >-\n", "  - |\n"])
def test_lines_of_a_text_are_no_items(lead: str) -> None:
    yaml_tree._refuse_long_lists(Source("f", f"steps:\n{lead}{ITEM}  - b\n"))


def test_the_items_of_several_lists_are_not_counted_together() -> None:
    setup = "setup:\n" + "- step\n" * 15_000
    step = "- do: step\n  expect:\n  - idle\n  - now == 0\n" * 15_000
    yaml_tree._refuse_long_lists(Source("f", f"{setup}steps:\n{step}"))
    with pytest.raises(FileError, match=f"f:{yaml_tree.MAX_ITEMS + 5}:7: more than 20,000 items"):
        yaml_tree._refuse_long_lists(Source("f", f"steps:\n- do: a\n  expect:\n# b\n{ITEM}"))


@pytest.mark.parametrize("more", [" ", "    "])
def test_an_item_that_is_indented_too_deep_is_no_part_of_the_text_above(more: str) -> None:
    wrong = complaint(f"a: 1\nsteps:\n  - use rc_pair\n  {more}- post_recv B.qp0\n  - run\n")
    assert wrong is not None
    assert str(wrong).startswith(f"f:4:{3 + len(more)}: this line is indented deeper")
    assert "begin it in column 3" in str(wrong)
    assert complaint("a:\n  - one\n    -two\n  - |\n    x\n    - y\n") is None


def test_check_names_an_item_that_is_indented_too_deep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.rdmalab.yaml"
    file.write_text("rdmalab: 1\ntitle: t\nsteps:\n  - use rc_pair\n   - post_recv B.qp0\n")
    assert main(["check", str(file)]) == Exit.USAGE
    answer = capsys.readouterr().out
    assert answer.startswith(f"{file}:5:4: this line is indented deeper than the list above")
    assert "begin it in column 3" in answer


def test_a_bracket_that_is_never_closed_is_named_where_it_opens() -> None:
    wrong = complaint("steps:\n  - note: [Two nodes\n  - use rc_pair\n  - write A.mr0[0:5]\n")
    assert wrong is not None
    assert str(wrong).startswith("f:2:11: this bracket is not closed")
    assert "put the text in quotes" in str(wrong)
