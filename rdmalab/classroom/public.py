"""The part of a lab that students get: hidden tasks are announced, and nothing else of them."""

from hashlib import sha256

import yaml

from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.model import LabDocument, Task
from rdmalab.scenario import yaml_tree

_SHOWN = ("id", "title", "points", "ask", "hidden", "announce", "needs", "hints")
"""Of a hidden task: its answer, goals and feedback are absent."""
_DIGITS = 12
_KEPT_BACK = ("solutions", "instructor")
"""Keys of a lab that students do not get."""


def published(lab: LabFile) -> str:
    """The text of the lab for students; comments are left out, since they may tell too much."""
    plain = yaml_tree.plain(yaml_tree.compose(lab.source))
    assert isinstance(plain, dict)  # a document of a lab is a mapping
    return _dumped(_public(plain, lab.document))


def _public(plain: dict[str, object], document: LabDocument) -> dict[str, object]:
    given = {key: value for key, value in plain.items() if key not in _KEPT_BACK}
    tasks = plain["tasks"]
    assert isinstance(tasks, list)  # the document has the same tasks
    given["tasks"] = [_task(text, task) for text, task in zip(tasks, document.tasks, strict=True)]
    return given


def _task(given: dict[str, object], task: Task) -> dict[str, object]:
    if not task.hidden:
        return given
    kept = {key: value for key, value in given.items() if key in _SHOWN}
    if task.choice is not None:
        kept["ask"] = "\n".join(
            [task.ask or "", *(f"{n}. {c.text}" for n, c in enumerate(task.choice, 1))]
        ).strip()
    return kept


class _Dumper(yaml.SafeDumper):
    """Long texts in block style, all others as plain as they can be: every scalar is a text."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.yaml_implicit_resolvers = {}
_Dumper.add_representer(str, _text)


def _dumped(plain: dict[str, object]) -> str:
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def digest(lab: LabFile) -> str:
    """The first digits of the SHA-256 of the part for students: which version was worked on.

    The published file has the same digest as the file from which it was made.
    """
    return sha256(published(lab).encode()).hexdigest()[:_DIGITS]


def other_lab(lab: LabFile, named: str) -> str:
    """Why a submission is not one of this lab; empty if it is. named: the lab that it names."""
    name, _, version = named.partition(" ")
    if name != lab.document.id:
        return f"this is a submission of the lab {name}, not of {lab.document.id}"
    if version and version != digest(lab):
        return f"this is for another version of the lab: {version}, now {digest(lab)}"
    return ""
