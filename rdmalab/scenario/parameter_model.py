"""The declaration of a parameter in a scenario file, as a pydantic model."""

from pydantic import field_validator, model_validator

from rdmalab.scenario import field_types
from rdmalab.scenario.fabric import Section


class Parameter(Section):
    """A parameter: `${NAME}` in the values of this file stands for its value."""

    default: field_types.Scalar
    """Its value unless `run --set NAME=VALUE` or `sweep --over` gives another."""
    about: field_types.Sentence | None = None
    """What it is, with its unit."""

    @model_validator(mode="before")
    @classmethod
    def _mapping(cls, given: object) -> object:
        if not isinstance(given, dict):
            raise field_types.wrong("a parameter is a mapping", "write {default: VALUE}")
        return given

    @field_validator("default")
    @classmethod
    def _plain(cls, text: str) -> str:
        if "${" in text:
            raise field_types.wrong("a default has no parameters", "write the value")
        return text


Params = dict[field_types.ParameterName, Parameter]
