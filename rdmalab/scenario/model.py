"""The pydantic model of a scenario file; commands in it are still text."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from rdmalab.guide.devices import limit_sentence
from rdmalab.scenario import field_types
from rdmalab.scenario.yaml_tree import MAX_ITEMS
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


class Parameter(Section):
    """A parameter: `${NAME}` in the values of this file stands for its value."""

    default: field_types.Scalar
    """Its value unless `run --set NAME=VALUE` or `sweep --over` gives another."""
    about: field_types.Sentence | None = None
    """Description, with its unit."""

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


MAX_STEPS = MAX_ITEMS
MAX_ASSERTIONS = 500
NOT_FIRST = "the first key is not rdmalab"
"""The error of a file that begins with another key."""
_OF_LABS = ("kind", "id", "rules", "tasks", "solutions")

ACTIONS = (
    "do", "run", "fault", "checkpoint", "note", "predict", "reveal", "why", "steps", "include",
)  # fmt: skip
_ASSERTIONS = ("wire", "expect", "errno", "cause")
_ONLY_WITH = {
    **dict.fromkeys((*_ASSERTIONS, "teaches", "id", "name"), ACTIONS[:-2]),
    "within": ("run",), "at": ("do", "fault", "checkpoint"), "choices": ("predict",),
    "errno": ("do", "fault"),
    "repeat": ("do", "fault", "run", "steps"),
    **dict.fromkeys(("cause", "plain", "station", "verdict", "cure", "goal"), ("why",)),
}  # fmt: skip
_Lines = Annotated[list[field_types.Sentence], Field(max_length=MAX_ASSERTIONS)]
_Statements = Annotated[list[field_types.StatementId], Field(min_length=1)]


class Step(TextOrSection):
    """One step: one action, and what must be true after it. A text alone is a `do`."""

    do: field_types.Sentence | None = None
    """A line as at the prompt, with full names: `post_send A.qp0 opcode=SEND sg=A.mr0[0:64]`."""
    run: str | None = None
    """Run: `until EXPRESSION`, `10us`, `step packet`; empty: until idle.

    Or go to another moment: `back packet`, `rewind`, `goto @NAME`, `goto 9.2us`."""
    fault: field_types.Sentence | None = None
    """Apply a fault: `drop A->B psn=1`, `clear`."""
    checkpoint: field_types.Word | None = None
    """Give this moment a name."""
    note: field_types.Sentence | None = None
    """A note for the reader; stepping through the scenario stops here."""
    predict: field_types.Sentence | None = None
    """A question about what comes: stepping stops here, and a `reveal` below answers it."""
    choices: Annotated[list[field_types.Sentence], Field(min_length=2, max_length=9)] | None = None
    """Answers to choose from, for `predict`."""
    reveal: field_types.Sentence | None = None
    """The answer to the `predict` above, shown after the steps between them."""
    why: str | None = None
    """Run why: about a subject, `A.qp0.wr[7]`, or an errno; empty: about all errors."""
    steps: "Steps | None" = None
    """A block of steps, done `repeat` times in this order."""
    include: field_types.IncludePath | None = None
    """A file in this folder or below, `pair.yaml`: its setup in a setup, its steps in steps."""
    cause: field_types.Word | None = None
    """Cause that `why` must find first, by its name in the checklist: `rnr-infinite`."""
    plain: field_types.Word | Literal[False] | None = None
    """The root that `why` alone names here, if it is not `cause`; `no`: it finds no trouble,
    because no record shows what the program expects."""
    station: field_types.Word | None = None
    """A finding that must be in the chain between the cause and the symptom."""
    verdict: Literal["cause", "warning"] | None = None
    """`warning`: the cause is suspicious, without a failure so far."""
    cure: Literal["program"] | None = None
    """`program`: the fix is a change of the program, not a command."""
    goal: _Lines | None = None
    """Conditions that must be true after the fix, on a copy of the session."""
    id: field_types.Word | None = None
    """The name of this step in reports."""
    name: field_types.Sentence | None = None
    """A headline; stepping through the scenario stops here."""
    within: field_types.Time | None = None
    """The limit of virtual time for `run`."""
    at: field_types.Instant | None = None
    """The virtual time of this call: before it, time runs on to there, with all events due by then.

    It is a point of the clock that panes, captures and `why` show, not a distance from the step
    above: a call keeps its time when a step is added or removed, and no error adds up. A scenario
    that is there later already fails."""
    errno: field_types.ErrnoName | None = None
    """The errno that the verb must return; without it a failing verb fails the scenario."""
    repeat: field_types.Repeat | None = None
    """Repeat the action, or the block of steps, this many times."""
    expect: _Lines | None = None
    """Conditions that must be true: `A.cq0.count == 1`, `all(A.qp.state == RTS)`.

    `help expr` lists all that they can ask: `A.cq0.total(status!=SUCCESS, since=@ready) == 0`."""
    wire: _Lines | None = None
    """All packets sent in this step, in order: `A->B SEND_ONLY psn=0`; `skip` is any number.

    After a jump in time: packets sent since the arrival there."""
    teaches: _Statements | None = None
    """Statements of the documents that this step shows; see `rdmalab lessons --coverage`."""

    @model_validator(mode="before")
    @classmethod
    def _one_action(cls, given: object) -> object:
        if isinstance(given, str):
            return {"do": given}
        if not isinstance(given, dict):
            raise field_types.wrong("a step is a line, or a mapping", "write - do: post_send …")
        if any(key not in cls.model_fields for key in given):
            return given  # told by that key
        actions = [key for key in given if key in ACTIONS]
        if not actions and (key := next((key for key in ("expect", "wire") if key in given), "")):
            message = f"{key} belongs to the step above: this step has no action"
            raise field_types.wrong(message, f"leave out the - before {key}", key)
        if not actions:
            raise field_types.wrong("this step does nothing", f"one of {', '.join(ACTIONS)}")
        if len(actions) > 1:
            two = f"{actions[0]} and {actions[1]} are two steps"
            raise field_types.wrong(two, "begin another with -", actions[1])
        _agree(given, actions[0])
        return given

    @property
    def action(self) -> str:
        """Its action, one of ACTIONS."""
        return next(name for name in ACTIONS if getattr(self, name) is not None)

    @property
    def title(self) -> str:
        return self.id or self.name or ""

    @property
    def asserted(self) -> list[str]:
        """Lines of its assertions for a report; a value with its name, `errno EINVAL`."""
        given = {name: getattr(self, name) for name in _ASSERTIONS}
        lines = [line for value in given.values() if isinstance(value, list) for line in value]
        values = {name: value for name, value in given.items() if isinstance(value, str | int)}
        return lines + [f"{name} {value}" for name, value in values.items()]

    @classmethod
    def _forms(cls, mapping: JsonSchemaValue) -> list[JsonSchemaValue]:
        return [TEXT, {**mapping, "oneOf": [{"required": [name]} for name in ACTIONS]}]


def _agree(given: dict[str, object], action: str) -> None:
    """Check that the other keys of a step fit its action and each other."""
    for key, with_ in _ONLY_WITH.items():
        if key in given and action not in with_:
            raise field_types.wrong(
                f"{key} goes with {' or '.join(with_)} only", "leave it out", key
            )
    if "at" in given and "repeat" in given:
        message = "at and repeat exclude each other: a time comes once"
        raise field_types.wrong(message, "leave out at or repeat", "at")
    if action == "steps" and "repeat" not in given:
        raise field_types.wrong("a block of steps needs repeat", "add repeat: 8", "steps")
    if "why" in given:
        _agree_on_why(given)
    if "teaches" in given and not any(key in given for key in _ASSERTIONS):
        message = "a step with teaches needs an assertion"
        raise field_types.wrong(message, f"add one of {', '.join(_ASSERTIONS)}", "teaches")


def _agree_on_why(given: dict[str, object]) -> None:
    """Check that keys about the cause are given only with a cause."""
    for key in ("plain", "station", "verdict", "cure", "goal"):
        if key in given and "cause" not in given:
            raise field_types.wrong(
                f"{key} needs a cause", "add cause: NAME, as the checklist has it", key
            )
    if "cure" in given and "goal" in given:
        message = "cure: program and goal exclude each other: a change of the program is not run"
        raise field_types.wrong(message, "leave out cure or goal", "goal")
    if given.get("verdict") == "warning" and "station" in given:
        message = "station does not fit a warning, which has no chain"
        raise field_types.wrong(message, "leave out station", "station")


def _steps(value: object) -> object:
    if not isinstance(value, list):
        raise field_types.wrong("a list of steps is wanted here", "begin each with -")
    return value


Steps = Annotated[list[Step], BeforeValidator(_steps), Field(min_length=1)]
Step.model_rebuild()


class Program(TextOrSection):
    """A program: its lines, as a list or as one text; or a mapping that also has its pace."""

    lines: Annotated[_Lines, Field(min_length=1)]
    """Verbs, and the words of `help lines`."""
    pace: field_types.Time | None = None
    """The time that a line takes; default: 100ns."""

    @model_validator(mode="before")
    @classmethod
    def _lines_alone(cls, given: object) -> object:
        if isinstance(given, dict):
            lines = given.get("lines")
            return {**given, "lines": [lines]} if isinstance(lines, str) else given
        if isinstance(given, str | list):
            return {"lines": [given] if isinstance(given, str) else given}
        raise field_types.wrong("a program is a list of lines", "begin each with -")

    @classmethod
    def _forms(cls, mapping: JsonSchemaValue) -> list[JsonSchemaValue]:
        several = mapping["properties"]["lines"]
        lines = {"description": several.get("description", ""), "oneOf": [TEXT, several]}
        properties = {**mapping["properties"], "lines": lines}
        return [TEXT, several, {**mapping, "properties": properties}]


def _nodes(value: object) -> object:
    if isinstance(value, dict) and len(value) < 2:
        raise field_types.wrong("a scenario needs at least two nodes", "write {A: {}, B: {}}")
    return value


def _two_nodes() -> dict[str, NodeOptions]:
    return {"A": Node(), "B": Node()}


_Awaited = Annotated[list[field_types.Subject], Field(max_length=MAX_ASSERTIONS)]


class _File(Section):
    @model_validator(mode="before")
    @classmethod
    def _version_first(cls, given: object) -> object:
        if not isinstance(given, dict):
            raise field_types.wrong("a scenario is a mapping", "it begins with rdmalab: 1")
        if next(iter(given), None) != "rdmalab":
            raise field_types.wrong(NOT_FIRST, "begin the file with rdmalab: 1")
        return given


class Document(_File, title="rdmalab scenario"):
    """A scenario of rdmalab: RDMA nodes, commands, and the expected results."""

    rdmalab: field_types.Version
    """Version of the format; the first key."""
    title: field_types.Sentence
    """One line."""
    about: field_types.Sentence | None = None
    """Subject: what it shows."""
    tags: list[field_types.Word] = []
    """For searching."""
    level: field_types.Level | None = None
    """1 begins from nothing, 3 needs most; default: that of its learning path."""
    minutes: field_types.Number | None = None
    """Minutes that it takes; nothing is enforced."""
    teaches: _Statements | None = None
    """Statements of the documents that the whole scenario shows; at most five with its steps."""
    seed: field_types.Number = 0
    """Random seed."""
    params: Params = {}
    """Parameters by name; `$${` is a `${` that names none."""
    nodes: Annotated[dict[field_types.NodeName, Node], BeforeValidator(_nodes)] = Field(
        default_factory=_two_nodes
    )
    """The hosts, each with one adapter: 10.0.0.1, 10.0.0.2, …"""
    link: Link = Link()
    """The cable between them."""
    setup: Annotated[list[Step], BeforeValidator(_steps)] = []
    """Steps before the first stop."""
    programs: dict[field_types.ProgramName, Program] = {}
    """Small applications that run in virtual time; they start after the setup, in this order."""
    steps: Steps
    """The steps."""
    outside: _Lines = []
    """After the last step: what befell C programs outside of the adapters, as `exec --save` writes
    it: `FAILED B asked for 10.0.0.1:7001: rejected, no program listens there`. `why` shows it."""
    awaited: _Awaited = []
    """After the last step: what C programs wait for without end, `A.cq0`, as `exec --save` writes
    it."""


class Part(_File):
    """A file that others include: steps, and the parameters in them."""

    rdmalab: field_types.Version
    title: field_types.Sentence | None = None
    about: field_types.Sentence | None = None
    params: Params = {}
    setup: Annotated[list[Step], BeforeValidator(_steps)] = []
    steps: Annotated[list[Step], BeforeValidator(_steps)] = []


def is_of_labs(key: str) -> bool:
    """Whether a key belongs to labs, which have `kind: lab`."""
    return key in _OF_LABS
