"""An article as a document for programs. `cli/schemas.py` has its schema."""

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
