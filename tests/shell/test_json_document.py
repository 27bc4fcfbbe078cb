import json

import jsonschema
import pytest

from rdmalab.cli.schemas import schema_of
from rdmalab.lab import Lab
from rdmalab.shell.script import LineReport, document, plain_value
from rdmalab.spec.access import Access
from rdmalab.spec.states import QPState
from tests.shell.test_show import WORDS


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of("repl"))


@pytest.mark.parametrize("words", WORDS)
def test_every_view_is_json(words: str) -> None:
    lab = Lab()
    lab.do("use rc_pair ; post_send A.qp0 opcode=SEND sg=A.mr0[0:64] ; step 4")
    lines = [
        LineReport(reply, lab.session, lab.session.world.now_ns, 1, [])
        for reply in lab.do(f"show {words}".strip())
    ]
    found = json.loads(json.dumps(document(lines)))
    jsonschema.validate(found, schema_of("repl"))


def test_values() -> None:
    session = Lab().session
    assert plain_value(session, QPState.RTS) == "RTS"
    assert plain_value(session, Access(3)) == "LOCAL_WRITE|REMOTE_WRITE"
    assert plain_value(session, b"hi") == "6869"
    assert plain_value(session, {"a": (1, None, True)}) == {"a": [1, None, True]}
