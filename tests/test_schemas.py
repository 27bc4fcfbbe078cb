"""The document of an answer is what its schema says."""

import json

import jsonschema
import pytest

from rdmalab.cli.schemas import schema_of
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.evidence.finding import Fix
from rdmalab.doctor.report.report import Report, TriedFix
from rdmalab.lab import Lab
from tests.doctor.saying import WAITS, failed, pending

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of("why"))


@pytest.mark.parametrize(
    "report",
    [
        failed(),
        failed(remedy=None, question=""),
        failed(remedy=TriedFix(Fix(program="poll"))),
        pending(waits=[WAITS], next="at 1us"),
        consult(Lab().session),
    ],
)
def test_a_document(report: Report) -> None:
    jsonschema.validate(json.loads(json.dumps(report.as_json())), schema_of("why"))


@pytest.mark.parametrize("lines", [(), ("run 1ms",), ("run 10ms",), ("modify_qp A.qp0 state=ERR",)])
def test_what_is_answered_now(lines: tuple[str, ...]) -> None:
    lab = Lab()
    for line in ("use rc_pair", _SEND, *lines):
        lab.do(line)
    document = consult(lab.session).as_json()
    jsonschema.validate(document, schema_of("why"))
    assert document["event"] == lab.session.world.event


def test_it_allows_nothing_else() -> None:
    document = failed().as_json()
    checker = jsonschema.Draft202012Validator(schema_of("why"))
    assert checker.is_valid(document)
    assert not checker.is_valid({**document, "more": 1})
    assert not checker.is_valid({**document, "is": "dead"})
    assert not checker.is_valid({k: v for k, v in document.items() if k != "cure"})
