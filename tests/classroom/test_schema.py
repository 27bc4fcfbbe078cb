"""The JSON Schemas of labs, submissions and grades hold for what there is."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.owner import given
from rdmalab.cli import main
from rdmalab.cli.schemas import schema_of
from tests.classroom.courses import CourseFolder
from tests.classroom.courses import right as right_of
from tests.classroom.labs import FOLDER, TEMPLATE
from tests.classroom.test_grading import handed_in, right
from tests.each import each

LABS = [str(path) for path in sorted(FOLDER.glob("*.lab.yaml"))]


def valid(document: object, name: str) -> bool:
    return bool(jsonschema.Draft202012Validator(schema_of(name)).is_valid(document))


@each("path", LABS)
def test_a_lab_is_valid(path: str) -> None:
    document = yaml.safe_load(Path(path).read_text())
    jsonschema.validate(document, schema_of("lab"))
    document["tasks"][0]["pionts"] = 1
    assert not valid(document, "lab")


def test_the_schema_refuses_what_the_loader_refuses() -> None:
    lab = yaml.safe_load(TEMPLATE)
    assert valid(lab, "lab")
    changes: list[dict[str, object]] = [
        {"kind": "scenario"}, {"tasks": []}, {"id": "a b"}, {"level": 7}, {"extra": 1},
    ]  # fmt: skip
    for change in changes:
        assert not valid({**lab, **change}, "lab"), change
    assert not valid({key: value for key, value in lab.items() if key != "tasks"}, "lab")


def test_a_submission_and_a_grade_are_valid() -> None:
    text = handed_in("s1", "run 1us")
    assert valid(yaml.safe_load(text), "submission")
    assert not valid({"rdmalab": 1, "kind": "submission"}, "submission")
    for work in (right("s1"), text, "nothing"):
        grade = grade_submission(Item(TEMPLATE, "x", work, "w", given("s1")))
        assert valid(json.loads(grade.model_dump_json()), "grade")


def test_every_key_of_a_lab_is_explained() -> None:
    def missing(schema: dict[str, object], path: str) -> list[str]:
        found = []
        properties = schema.get("properties", {})
        assert isinstance(properties, dict)
        for name, row in properties.items():
            if "description" not in row and "const" not in row:
                found.append(f"{path}.{name}")
        for name, row in dict(schema.get("$defs", {})).items():  # type: ignore[call-overload]
            found += missing(row, name) if name != "Node" else []  # limits of query_device
        return found

    assert missing(schema_of("lab"), "lab") == []


def test_a_course_and_its_gradebook_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = CourseFolder(tmp_path, 2)
    text = made.path.read_text().replace("2026-11-30", '"2026-11-30"')  # no date of YAML 1.1
    assert valid(yaml.safe_load(text), "course")
    assert not valid({"rdmalab": 1, "kind": "course", "title": "x"}, "course")
    made.put("one", "s001", right_of(made.texts["one"], "s001"))
    made.put("two", "s001", "nothing")
    main(["course", "grade"])
    assert valid(json.loads((tmp_path / "marks/gradebook.json").read_text()), "gradebook")
