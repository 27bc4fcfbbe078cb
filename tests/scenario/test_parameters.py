"""`${name}` in a scenario: values scalar by scalar, and errors at their places in the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import NotUnderstood
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.parameters import fill, substitute
from rdmalab.scenario.source import FileError, Source

VALUES = {"p": "1us", "depth": "12", "empty": ""}


def filled(text: str, values: dict[str, str] = VALUES) -> object:
    source = Source("f", text)
    return yaml_tree.plain(substitute(source, yaml_tree.compose(source), values))


def wrong(text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        filled(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${p}", "1us"),
        ("sleep ${p}; ${depth}${depth}", "sleep 1us; 1212"),
        ("$${p} $p {p} $", "${p} $p {p} $"),
        ("$$${p}", "$${p}"),
        ("a${empty}b", "ab"),
    ],
)
def test_values_are_filled_in(text: str, value: str) -> None:
    assert fill(text, VALUES).text == value


def test_a_value_is_not_substituted_again() -> None:
    assert fill("${a}", {"a": "${b}", "b": "x"}).text == "${b}"


@pytest.mark.parametrize("text", ["${q}", "${", "x ${} y", "${p", "${a b}"])
def test_an_unknown_parameter_is_named_at_its_place(text: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        fill(text, VALUES)
    assert caught.value.place.start == text.index("${")
    assert caught.value.hint


def test_the_tree_keeps_its_shape_and_params_stay_as_they_are() -> None:
    text = "params: {p: '${p}'}\na: [x, '${p}', {b: '${depth}: 3\n\n  - c'}]\n"
    assert filled(text) == {"params": {"p": "${p}"}, "a": ["x", "1us", {"b": "12: 3\n- c"}]}
    source = Source("f", text)
    root = yaml_tree.compose(source)
    before = yaml_tree.plain(root)
    substitute(source, root, VALUES)
    assert yaml_tree.plain(root) == before


def test_all_unknown_names_are_reported_with_their_places() -> None:
    error = wrong("a: ${deptth}\nb:\n  - |\n    x\n    y ${q} ${p}\n  - {k: '${r}'}\n${p}: 3\n")
    assert [str(each).splitlines()[0] for each in error.all] == [
        'f:1:4: no parameter "deptth"',
        'f:5:7: no parameter "q"',
        'f:6:10: no parameter "r"',
        "f:7:1: a key has no parameters",
    ]
    assert "did you mean depth?" in str(error)


def test_the_parameters_cannot_make_a_file_large_without_limit() -> None:
    with pytest.raises(FileError, match="f:1:4: the parameters make this file too large"):
        filled("a: ${p}${p}\n", {"p": "x" * (1 << 20)})


STYLES = ["k: one ${p} two ${depth}three\n", "k: 'one ${p} two ${depth}three'\n",
          'k: "one ${p} \\"two ${depth}three"\n', "k: |\n  one ${p}\n  two ${depth}three\n",
          "k: >\n  one ${p}\n  two\n  ${depth}three\n"]  # fmt: skip


@pytest.mark.parametrize("text", STYLES)
@pytest.mark.parametrize(
    ("word", "there"),
    [("one", "one"), ("1us", "${p}"), ("us", "${p}"), ("12", "${depth}"), ("three", "three"),
     ("12th", "${depth}th")],
)  # fmt: skip
def test_an_error_in_a_value_is_placed_at_the_parameter(text: str, word: str, there: str) -> None:
    source = Source("f", text)
    node = yaml_tree.find(substitute(source, yaml_tree.compose(source), VALUES), ("k",))
    start = node.value.index(word)
    place = yaml_tree.place_in(source, node, start, start + len(word))
    line = text.splitlines()[place.line - 1]
    assert line[place.column - 1 : place.column - 1 + place.length] == there


def test_two_kinds_of_names_are_filled_one_after_the_other() -> None:
    source = Source("f", "k: '${p} %{q} x'\n")
    once = substitute(source, yaml_tree.compose(source), VALUES)
    assert yaml_tree.plain(once) == {"k": "1us %{q} x"}
    twice = substitute(source, once, {"q": "longer"}, sign="%")
    assert yaml_tree.plain(twice) == {"k": "1us longer x"}
    place = yaml_tree.place_in(source, yaml_tree.find(twice, ("k",)), 5, 8)
    assert (place.column, place.length) == (10, 4)
    assert yaml_tree.place_in(source, yaml_tree.find(twice, ("k",)), 11, 12).column == 15


_PIECES = st.lists(st.sampled_from(["${p}", "${depth}", "${empty}", "$", "a", "é", " b", "}"]))


@given(_PIECES.map("".join))
def test_each_character_has_its_place(text: str) -> None:
    found = fill(text, VALUES)
    assert len(found.spans) == len(found.text)
    for character, (start, stop) in zip(found.text, found.spans, strict=True):
        assert text[start:stop] == character or text[start:stop].startswith(("${", "$${"))
    assert [span[0] for span in found.spans] == sorted(span[0] for span in found.spans)
