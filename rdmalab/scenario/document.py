"""A scenario file as a tree with the values of its parameters, and as a model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from pydantic import TypeAdapter, ValidationError
from yaml.nodes import Node

from rdmalab.grammar.hints import quoted, suggest
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.model import Document, Params, Section
from rdmalab.scenario.parameters import PARAMS, substitute
from rdmalab.scenario.shape_errors import misshapen, worst_first
from rdmalab.scenario.source import Source, together

NO_VALUES: Mapping[str, str] = MappingProxyType({})
_PARAMS: TypeAdapter[Params] = TypeAdapter(Params)


def declared(source: Source, root: Node) -> dict[str, str]:
    """The parameters of a file with their defaults; raises FileError for a bad declaration."""
    given = yaml_tree.find(root, (PARAMS,))
    if given is root:
        return {}
    with shaped(source, root, PARAMS):
        params = _PARAMS.validate_python(yaml_tree.plain(given))
    return {name: parameter.default for name, parameter in params.items()}


def filled(source: Source, root: Node, values: Mapping[str, str]) -> Node:
    """The tree with values for its parameters; raises FileError for a name that has none.

    values: name → text, in place of the defaults of the file.
    """
    defaults = declared(source, root)
    for name in values:
        if name not in defaults:
            hint = suggest(name, list(defaults)) if defaults else f"declare it below {PARAMS}:"
            place = yaml_tree.place_of(yaml_tree.key_of(root, (PARAMS,)))
            raise source.error(f"no parameter {quoted(name)}", hint, place)
    return substitute(source, root, {**defaults, **values})


@contextmanager
def shaped(
    source: Source, root: Node, *path: str, document: type[Section] = Document
) -> Iterator[None]:
    """A context that makes FileErrors of what pydantic reports of the value at a path."""
    try:
        yield
    except ValidationError as wrong:
        shapes = worst_first(wrong.errors(include_url=False))
        for error in shapes:
            error["loc"] = (*path, *error["loc"])
        raise together([misshapen(source, root, error, document) for error in shapes]) from None
