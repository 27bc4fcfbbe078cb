"""The JSON Schema of the document that `why --json` prints."""

from typing import Any

from rdmalab.doctor.finding import Verdict
from rdmalab.doctor.outcome import Status
from rdmalab.doctor.report import SCHEMA

_TEXT, _EVENT = {"type": "string"}, {"type": ["integer", "null"], "minimum": -1}
_TEXTS = {"type": "array", "items": _TEXT}
_SLUG = {"type": "string", "pattern": "^[a-z0-9-]+$"}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _said(description: str, of: dict[str, Any]) -> dict[str, Any]:
    return {**of, "description": description}


def _finding() -> dict[str, Any]:
    return _object(
        slug=_said("what why(…) is compared with", _SLUG),
        item=_said("its number in the checklist", {"type": "integer", "minimum": 0}),
        about=_said("what it was found of: A.qp0.wr[7]", _TEXT),
        rule=_said("the law it stands on", _TEXT),
        source=_said("where that is written", _TEXT),
        verdict={"enum": [verdict.name for verdict in Verdict]},
        evidence={
            "type": "array",
            "items": _object(text=_TEXT, event=_said("null: it is so now", _EVENT)),
        },
    )


def _cure() -> dict[str, Any]:
    return _object(
        lines=_said("commands that make it good", _TEXTS),
        program=_said("what only the author of the program can change; else empty", _TEXT),
        works=_said("what came of it on a branch; null: not tried", {"type": ["boolean", "null"]}),
        failure=_said("why it is not enough", _TEXT),
    )


def schema() -> dict[str, Any]:
    """One answer of the doctor."""
    findings = {"type": "array", "items": {"$ref": "#/$defs/finding"}}
    document = _object(
        rdmalab=_said("version of this document", {"const": SCHEMA}),
        question=_said("as it was asked; empty: what is wrong at all", _TEXT),
        about=_said("what was looked into first; empty: nothing is wrong", _TEXT),
        event=_said("the last event before the answer", {"type": "integer", "minimum": -1}),
        cause=_said("the root cause in a word, or how it stands", _SLUG),
        **{"is": {"enum": [kind.name.lower() for kind in Status]}},
        sentence=_said("how it stands", _TEXT),
        since=_said("which event made it so", _EVENT),
        causes=_said("the roots, the first one first", findings),
        stations=_said("what stands between them and the symptom", findings),
        warnings=_said("suspicious; nothing has failed of it", findings),
        waits=_said("nothing is wrong: what has to happen yet", findings),
        next=_said("of what is pending, the next thing that happens; else empty", _TEXT),
        ruled_out=_said("what was looked into and is not it", {"type": "array", "items": _SLUG}),
        unknown=_said("of what it takes too much to know", {"type": "array", "items": _SLUG}),
        cure={"anyOf": [_cure(), {"type": "null"}]},
    )
    draft = "https://json-schema.org/draft/2020-12/schema"
    head = {"$schema": draft, "$id": f"rdmalab:why-{SCHEMA}", "title": "rdmalab why --json"}
    return {**head, **document, "$defs": {"finding": _finding()}}
