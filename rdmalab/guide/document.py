"""An article as a document for programs, and the schema of it."""

from typing import Any

from rdmalab.guide.explain import Answer

VERSION = 1


def document(found: Answer) -> dict[str, Any]:
    """What `rdmalab explain --json` prints."""
    article, entry = found
    return {
        "version": VERSION,
        "name": entry.name,
        "kind": article.kind,
        "title": article.title,
        "sections": [{"heading": s.heading, "lines": s.lines} for s in article.sections],
        "see_also": article.see_also,
    }


def schema() -> dict[str, Any]:
    """Its JSON Schema."""
    strings = {"type": "array", "items": {"type": "string"}}
    section = _object({"heading": {"type": "string"}, "lines": strings})
    properties = {
        "version": {"const": VERSION},
        "name": {"type": "string", "description": "the word that means this and nothing else"},
        "kind": {"type": "string", "description": "what sort of thing it is, with its number"},
        "title": {"type": "string"},
        "sections": {
            "type": "array",
            "items": section,
            "description": "an empty heading: text; read: what was read out of a line of a log; "
            "who raises it, the wire, look at: commands that test the causes, likeliest first; "
            "shown by: a scenario",
        },
        "see_also": strings,
    }
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "rdmalab explain --json", **_object(properties)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
