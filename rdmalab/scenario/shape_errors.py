"""Errors of pydantic as errors with places in the file."""

import re
from typing import get_args

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from yaml.nodes import Node

from rdmalab.grammar.hints import quoted, suggest
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.field_types import WRONG
from rdmalab.scenario.model import Document, Section, Step, is_of_labs
from rdmalab.scenario.source import FileError, Source

MOST_MISTAKES = 100  # that are told of one file


_SHAPES = {
    "list_type": ("a list is required here", "begin each item with -"),
    "dict_type": ("a mapping is required here", "write key: value"),
    "model_type": ("a mapping is required here", "write key: value"),
    "model_attributes_type": ("a mapping is required here", "write key: value"),
    "string_type": ("a text is required here", "write it after the key"),
    "too_short": ("this list is empty", "add one"),
    "too_long": ("this list has too many items", "split it into two"),
}

_SWITCH = {"True": "yes", "False": "no"}
_WORD = re.compile(r"(?!or\b)\w+")


def unknown_key(key: str) -> str:
    """The error of a key that is not one of its mapping."""
    return f"no key {quoted(key)} here"


def worst_first(wrong: list[ErrorDetails]) -> list[ErrorDetails]:
    """Misspelled keys first, then other errors that do not follow from those."""
    unknown = [error for error in wrong if error["type"] == "extra_forbidden"]
    holders = [error["loc"][:-1] for error in unknown]
    rest = [error for error in wrong if error not in unknown and error["loc"] not in holders
            and not (error["type"] == "missing" and error["loc"][:-1] in holders)]  # fmt: skip
    return [*unknown, *rest][:MOST_MISTAKES]


def misshapen(
    source: Source, root: Node, wrong: ErrorDetails, document: type[Section] = Document
) -> FileError:
    """The error of the file for one that pydantic reports. document: its model."""
    path = tuple(step for step in wrong["loc"] if step != "[key]")
    kind = wrong["type"]
    if kind == "extra_forbidden":
        message, hint = _unknown(document, path)
        return source.error(message, hint, yaml_tree.place_of(yaml_tree.key_of(root, path)))
    if kind == "missing":
        message = f"{path[-1]} is missing"
        return source.error(
            message, f"write {path[-1]}: …", yaml_tree.place_of(yaml_tree.find(root, path))
        )
    node = yaml_tree.key_of(root, path) if "[key]" in wrong["loc"] else yaml_tree.find(root, path)
    context: dict[str, str] = wrong.get("ctx", {})
    if kind == WRONG:
        if context["key"]:
            node = yaml_tree.key_of(root, (*path, context["key"]))
        return source.error(context["message"], context["hint"], yaml_tree.place_of(node))
    message, hint = _SHAPES.get(kind, (wrong["msg"].lower(), "look at the examples"))
    if kind == "literal_error" and isinstance(given := wrong["input"], str):
        words = [_SWITCH.get(word, word) for word in _WORD.findall(context["expected"])]
        message, hint = f"{quoted(given)} is not legal here", suggest(given, words)
    if kind == "too_short" and context.get("actual_length"):
        message = f"at least {context['min_length']} items are required here"
    if kind in ("list_type", "too_short") and path:
        message = f"{path[-1]}: {message}"
    return source.error(message, hint, yaml_tree.place_of(node))


def _unknown(document: type[Section], path: tuple[int | str, ...]) -> tuple[str, str]:
    """Message and hint for a key that its mapping does not have."""
    key = str(path[-1])
    if document is Document and is_of_labs(key):
        return f"{quoted(key)} belongs to labs", "a lab has kind: lab"
    if len(path) == 1 and key in Step.model_fields:
        return unknown_key(key), f"write it in setup: or steps:, as an item: - {key}: …"
    return unknown_key(key), suggest(key, _keys_at(document, path))


def _keys_at(document: type[Section], path: tuple[int | str, ...]) -> list[str]:
    """The valid keys at the place of an unknown one."""
    models = [document]
    for step in path[:-1]:
        fields = [field for model in models for field in _fields(model).items()]
        found = [field.annotation for name, field in fields if name == step]
        models = [section for kind in found for section in _sections(kind)] or models
    return [name for model in models for name in _fields(model)]


def _fields(model: type[Section]) -> dict[str, FieldInfo]:
    """The keys of a mapping, as they are written in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _sections(kind: object) -> list[type[Section]]:
    """The mappings in a type: that of the items of a list, of the values of a mapping."""
    if isinstance(kind, type) and issubclass(kind, Section):
        return [kind]
    return [section for part in get_args(kind) for section in _sections(part)]
