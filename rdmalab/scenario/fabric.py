"""Nodes and link of a scenario file, as pydantic models."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    create_model,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from rdmalab.guide.devices import limit_sentence
from rdmalab.scenario import field_types
from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.profiles import PROFILES

_MTUS = ("max_mtu", "active_mtu")
_CAPS = {
    name: (field_types.Mtu if name in _MTUS else field_types.Number, Field(None, description=text))
    for name, text in ((f.name, limit_sentence(f.name)) for f in fields(DeviceCaps))
}
TEXT: Final[JsonSchemaValue] = {"type": "string", "minLength": 1}
"""The schema of a text."""
_NODE = "A node: device profile, and limits that differ from it, named as in query_device."


class Section(BaseModel):
    """Base of all mappings: no extra keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class TextOrSection(Section):
    """Base of the mappings that may also be written in another way, most as one text."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        mapping = dict(handler.resolve_ref_schema(handler(core_schema)))
        title, about = mapping.pop("title"), mapping.pop("description", "")
        return {"title": title, "description": about, "oneOf": cls._forms(mapping)}

    @classmethod
    def _forms(cls, mapping: JsonSchemaValue) -> list[JsonSchemaValue]:
        """The schemas of all ways to write it. mapping: the schema of the mapping."""
        return [TEXT, mapping]


class NodeOptions(Section):
    """The keys of a node that are no limits."""

    profile: field_types.ProfileName | None = None
    """Device model; `--profile` replaces it. Default: `strict`."""

    link_layer: field_types.LayerName | None = None
    """Link layer of its port: Ethernet (RoCE) or InfiniBand. Default: Ethernet."""

    @model_validator(mode="after")
    def _has_such_ports(self) -> Self:
        layers = PROFILES[self.profile].link_layers if self.profile else ()
        if layers and self.link_layer not in (None, *(layer.text for layer in layers)):
            message = f"profile {self.profile} has no {self.link_layer} port"
            raise field_types.wrong(message, "write profile: strict or profile: mlx5", "link_layer")
        return self

    def caps(self) -> dict[str, int]:
        """The limits that were given."""
        return {name: value for name in _CAPS if (value := getattr(self, name)) is not None}


class Link(Section):
    """The cable."""

    latency: field_types.Time | None = None
    """One way; default: 1us."""
    rate: field_types.Rate | None = None
    """Both ways; default: 100Gbps."""
    mtu: field_types.Mtu | None = None
    """active_mtu of the ports, in bytes; default: 4096."""


if TYPE_CHECKING:
    Node = NodeOptions
else:
    Node = create_model("Node", __base__=NodeOptions, __doc__=_NODE, **_CAPS)


def port_lines(nodes: Mapping[str, NodeOptions]) -> list[str]:
    """The commands for the link layers of the ports."""
    layers = {name: node.link_layer for name, node in nodes.items() if node.link_layer}
    return [f"port {name} link_layer={layer}" for name, layer in layers.items()]


def link_line(link: Link) -> list[str]:
    """The settings of the cable as a command, so that they are in the journal."""
    units = {"latency": "ns", "rate": "bps", "mtu": ""}
    given = {name: getattr(link, name) for name in units}
    words_ = [f"{name}={v}{units[name]}" for name, v in given.items() if v is not None]
    return [f"link {' '.join(words_)}"] if words_ else []
