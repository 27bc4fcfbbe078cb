"""What pydantic reports of a scenario, as errors with places in the file."""

from pydantic_core import ErrorDetails
from yaml.nodes import Node

from rdmalab.grammar.hints import quoted, suggest
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.fabric import Link
from rdmalab.scenario.field_types import WRONG
from rdmalab.scenario.model import Document, ParameterKeys, ProgramKeys, StepKeys, later
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


def worst_first(wrong: list[ErrorDetails]) -> list[ErrorDetails]:
    """Misspelled keys first, then other errors that do not follow from those."""
    unknown = [error for error in wrong if error["type"] == "extra_forbidden"]
    holders = [error["loc"][:-1] for error in unknown]
    rest = [error for error in wrong if error not in unknown and error["loc"] not in holders
            and not (error["type"] == "missing" and error["loc"][:-1] in holders)]  # fmt: skip
    return [*unknown, *rest][:MOST_MISTAKES]


def misshapen(source: Source, root: Node, wrong: ErrorDetails) -> FileError:
    """The error of the file for one that pydantic reports."""
    path = tuple(step for step in wrong["loc"] if step != "[key]")
    kind = wrong["type"]
    if kind == "extra_forbidden":
        key = str(path[-1])
        hint = suggest(key, _keys_at(path))
        message = f"no key {quoted(key)} here"
        if later(key):
            message, hint = f"{quoted(key)} belongs to labs, which are not supported yet", ""
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
    if kind in ("list_type", "too_short") and path:
        message = f"{path[-1]}: {message}"
    return source.error(message, hint, yaml_tree.place_of(node))


def _keys_at(path: tuple[int | str, ...]) -> list[str]:
    """The valid keys at the place of an unknown one."""
    if len(path) == 1:
        return list(Document.model_fields)
    if path[0] == "nodes":
        return list(Document.node_keys())
    if path[0] == "programs":
        return list(ProgramKeys)
    if path[0] == "params":
        return list(ParameterKeys)
    return list(Link.model_fields if path[0] == "link" else StepKeys)
