"""The shape of a file, and the schema that editors get of it."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.model import ACTIONS, MAX_STEPS, Document, Node, Step
from rdmalab.scenario.report import schema_of_file
from tests.each import each
from tests.tables import read_table

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "rdmalab" / "scenario" / "scenario-1.json"
FILES = sorted((ROOT / "scenarios").rglob(f"*{SUFFIX}"))


@cache
def checker() -> Any:
    return jsonschema.Draft202012Validator(schema_of_file(Document, "scenario"))


def valid(document: Any) -> bool:
    return bool(checker().is_valid(document))


def test_the_shipped_schema_is_current() -> None:
    is_current = json.loads(SHIPPED.read_text("utf-8")) == schema_of_file(Document, "scenario")
    assert is_current, "run: rdmalab schema > rdmalab/scenario/scenario-1.json"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of_file(Document, "scenario"))


def keys_without_text(schema: object, path: str = "") -> Iterator[str]:
    """Each key below a schema that has no description: an editor shows nothing there."""
    if isinstance(schema, dict):
        for key, below in schema.get("properties", {}).items():
            if isinstance(below, dict) and not below.get("description"):
                yield f"{path}/{key}"
        for key, below in schema.items():
            yield from keys_without_text(below, f"{path}/{key}")
    elif isinstance(schema, list):
        for number, below in enumerate(schema):
            yield from keys_without_text(below, f"{path}/{number}")


def test_an_editor_has_a_text_for_every_key() -> None:
    bare = list(keys_without_text(schema_of_file(Document, "scenario")))
    assert not bare, (
        f"no text for {bare}: of a field, Field(description=...) in rdmalab/scenario/model.py; of "
        "a device limit, a row of [limit] or [queried_limit] in guide/data/sentences.toml"
    )


@each("path", FILES)
def test_every_scenario_is_valid_for_an_editor(path: Path) -> None:
    """An editor types scalars as YAML does; the schema must be content with that."""
    assert valid(read_table(path))


@pytest.mark.parametrize(
    "steps",
    [[], ["x", 3], [{}], [{"id": "x"}], [{"do": "x", "run": "1us"}], [{"do": "x", "foo": 1}], "x"],
)
def test_the_schema_refuses(steps: Any) -> None:
    assert valid({"rdmalab": 1, "title": "t", "steps": ["alloc_pd A.pd0"]})
    assert not valid({"rdmalab": 1, "title": "t", "steps": steps})


def test_every_key_has_a_sentence() -> None:
    """They are what an editor shows."""
    schema = schema_of_file(Document, "scenario")
    parts = [schema, schema["$defs"]["Link"], schema["$defs"]["Step"]["oneOf"][1]]
    for part in parts:
        for name, field in part["properties"].items():
            assert field.get("description"), name


def test_a_step_has_one_action() -> None:
    given: dict[str, Any] = dict.fromkeys(ACTIONS, "x")
    given |= {"steps": ["x"], "include": "x.yaml"}
    for action in ACTIONS:
        more = {"repeat": "2"} if action == "steps" else {}
        step = Step.model_validate({action: given[action], **more})
        assert step.action == action
    assert Step.model_validate("alloc_pd A.pd0").do == "alloc_pd A.pd0"


@pytest.mark.parametrize(
    ("step", "key", "message"),
    [
        ({"do": "x", "cause": "y"}, "cause", "cause goes with why only"),
        ({"why": "", "goal": ["x"]}, "goal", "goal needs a cause"),
        ({"why": "", "station": "x"}, "station", "station needs a cause"),
        ({"why": "", "verdict": "warning"}, "verdict", "verdict needs a cause"),
        ({"why": "", "cause": "x", "cure": "program", "goal": ["x"]}, "goal", "exclude each other"),
        ({"do": "alloc_pd A.pd0", "at": "1us", "repeat": "2"}, "at", "exclude each other"),
        ({"run": "", "at": "1us"}, "at", "at goes with do or fault or checkpoint only"),
        (
            {"why": "", "cause": "x", "verdict": "warning", "station": "y"},
            "station",
            "which has no chain",
        ),
    ],
)
def test_what_a_step_says_of_the_answer_agrees(step: Any, key: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Step.model_validate(step)
    (error,) = caught.value.errors()
    assert message in error["msg"]
    assert key in str(error)


def test_a_step_that_asks_why_may_ask_only() -> None:
    assert Step.model_validate({"why": ""}).action == "why"
    step = Step.model_validate({"why": "A.qp0", "cause": "x", "goal": ["A.qp0.state == RTS"]})
    assert step.goal == ["A.qp0.state == RTS"]


@pytest.mark.parametrize("key", ["expect", "wire"])
def test_a_step_with_expectations_alone_belongs_to_the_step_above(key: str) -> None:
    with pytest.raises(ValidationError, match=f"{key} belongs to the step above"):
        Step.model_validate({key: ["idle"]})


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"do": "alloc_pd A.pd0", "errno": "EINVAL"}, ["errno EINVAL"]),
        ({"run": "", "expect": ["event == 1"], "wire": ["skip"]}, ["skip", "event == 1"]),
        ({"why": "", "cause": "no-rr"}, ["cause no-rr"]),
        ({"run": ""}, []),
    ],
)
def test_a_report_prints_each_assertion_of_a_step(given: dict[str, Any], lines: list[str]) -> None:
    assert Step.model_validate(given).asserted == lines


def test_limits_of_a_node_are_those_of_query_device() -> None:
    document = Document.model_validate(
        {"rdmalab": "1", "title": "t", "steps": ["x"], "nodes": {"A": {"max_qp": "4"}, "B": {}}}
    )
    assert document.nodes["A"].caps() == {"max_qp": 4}
    assert "max_cqe" in Node.model_fields
    assert MAX_STEPS == 20_000
