"""Rows as JSON have the fields and the types that their schema names."""

import importlib
import json
from pathlib import Path

import jsonschema
import pytest

from rdmalab.cli.schemas import schema_of
from rdmalab.lab import Lab
from rdmalab.render.json_rows import grid, schema, schema_of_view
from rdmalab.shell.script import plain_value
from rdmalab.views.columns import ALL, BRIEF, COLUMNS
from rdmalab.views.completions import WcRow
from rdmalab.views.queues import QpRow
from tests.shell.prompts import Prompt
from tests.shell.test_show import WORDS

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*/*.rdmalab.yaml"))[::40]


def views(prompt: Prompt) -> list[dict[str, list[dict[str, object]]]]:
    lab = prompt.conversation.lab
    replies = [reply for words in WORDS for reply in lab.do(f"show {words}".strip())]
    found = [plain_value(lab.session, reply.value) for reply in replies]
    return [
        json.loads(json.dumps(view)) for view in found if isinstance(view, dict) and "rows" in view
    ]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_row_is_valid_against_the_schema_of_its_class(path: Path) -> None:
    checker = jsonschema.Draft202012Validator(schema_of_view([*COLUMNS, QpRow]))
    found = views(Prompt(f'load "{path}"', *["next"] * 6))
    assert any(view["rows"] for view in found)
    for view in found:
        checker.validate(view)


def test_a_row_names_its_class_and_a_wrong_field_is_not_valid() -> None:
    prompt = Prompt("use rc_pair rnr_retry=0", "post_send A.qp0 opcode=SEND wr_id=5", "run")
    rows = [row for view in views(prompt) for row in view["rows"] if row["row"] == "WcRow"]
    checker = jsonschema.Draft202012Validator(schema_of_view(COLUMNS))
    assert checker.is_valid({"title": "", "rows": rows[:1]})
    for wrong in ({"wr_id": "5"}, {"status": "FINE"}, {"row": None}):
        broken = {
            key: value for key, value in {**rows[0], **wrong}.items() if key != "row" or value
        }
        assert not checker.is_valid({"title": "", "rows": [broken]}), wrong


def test_the_printed_schema_has_every_class_that_is_described() -> None:
    assert importlib.import_module("rdmalab.workbench.show")
    printed = json.dumps(schema_of("repl"))
    assert not [cls.__name__ for cls in COLUMNS if f'"const": "{cls.__name__}"' not in printed]


def test_a_field_has_its_sentence_and_null_where_it_can_be_undefined() -> None:
    found = schema(WcRow)["properties"]
    assert isinstance(found, dict)
    assert found["byte_len"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert found["byte_len"]["description"].startswith("bytes moved; undefined on an error")


def rows(*lines: str) -> list[object]:
    lab = Lab()
    for line in lines:
        lab.do(line)
    return list(lab.do("show cq A.cq0")[-1].value.rows[1:])


FAILED = ("use rc_pair rnr_retry=0", "post_send A.qp0 opcode=SEND wr_id=5", "run")


def test_a_column_that_no_row_has_goes_and_a_dash_keeps_it() -> None:
    found = grid(rows(*FAILED))
    titles = [col.title for col in found.columns]
    assert titles == ["wr_id", "opcode", "status", "len", "qp", "vendor_err"]
    assert found.is_headed
    assert found.rows[0][1] is None  # undefined on an error: the face shows the dash


def test_the_rank_chooses_the_columns() -> None:
    few, many = grid(rows(*FAILED), BRIEF), grid(rows(*FAILED), ALL)
    assert {col.title for col in few.columns} < {col.title for col in many.columns}
