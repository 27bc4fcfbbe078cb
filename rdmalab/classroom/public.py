"""The part of a lab that students get: hidden tasks are announced, and no right answer is in it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import product

import yaml

from rdmalab.classroom.answers import sealed_choices, sealed_values
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.lab_file import SALT, LabFile, loads
from rdmalab.classroom.model import GRADER, Task
from rdmalab.command import WrongFile
from rdmalab.scenario import yaml_tree

_SHOWN = ("id", "title", "points", "ask", "hidden", "announce", "needs", "hints")
"""Of a hidden task: its answer, goals and feedback are absent."""
_ANSWERS = ("answer", "at", "sealed", "depends", "judged")
_WORLD = ("nodes", "link", "profile", "seed", "setup", "programs")
_OF_CHOICE = ("right", "when_wrong", "sealed")
_DIGITS = 12
_KEPT_BACK = ("solutions", "instructor", "bars", "seal")
"""Keys of a lab that students do not get; a seal is written again."""
MOST_DRAWS = 500
"""The most combinations of parameters for which values are sealed; with more the grader judges."""


def published(lab: LabFile, *, live: bool = False) -> str:
    """The text of the lab for students; comments are left out, since they may tell too much.

    live: answers of tasks that are shown are judged at once, by seals in the file; else by the
    grader alone, and the file has nothing to judge them by. Raises BrokenLab or FileError if the
    right answer of a task cannot be asked.
    """
    return dumped(_handed_out(lab, live=live))


def _handed_out(lab: LabFile, *, live: bool) -> dict[str, object]:
    """The document of the file for students."""
    plain = _public(lab)
    if live:
        plain["seal"] = _seal(lab)
    tasks = plain["tasks"]
    assert isinstance(tasks, list)  # as in the document
    for index, (given, task) in enumerate(zip(tasks, lab.document.tasks, strict=True)):
        if not (task.hidden or task.essay) and task.is_asked:
            _answer(given, lab, index, live=live)
    return plain


def is_for_students(lab: LabFile) -> bool:
    """Whether a lab has nothing that students do not get, such as solutions and right answers."""
    plain = yaml_tree.plain(yaml_tree.compose(lab.source))
    return plain == _handed_out(lab, live=lab.document.seal is not None)


def is_published(octets: bytes) -> bool:
    """Whether this is a file for students: to publish it again changes nothing in it.

    A lab with solutions, right answers or comments is none.
    """
    try:
        text = octets.decode()
        lab = loads(text, "", student="1")
        return published(lab, live=lab.document.seal is not None) == text
    except (UnicodeDecodeError, WrongFile):
        return False


def _public(lab: LabFile) -> dict[str, object]:
    """The lab for students, with the answers of tasks that are shown."""
    plain = yaml_tree.plain(yaml_tree.compose(lab.source))
    assert isinstance(plain, dict)  # a document of a lab is a mapping
    given = {key: value for key, value in plain.items() if key not in _KEPT_BACK}
    tasks = plain["tasks"]
    assert isinstance(tasks, list)  # the document has the same tasks
    pairs = zip(tasks, lab.document.tasks, strict=True)
    given["tasks"] = [_task(text, task) for text, task in pairs]
    return _salted(given, lab.salt)


def _salted(given: dict[str, object], salt: str) -> dict[str, object]:
    """The document with this salt after its id; empty: with none."""
    kept = {key: value for key, value in given.items() if key != SALT}
    if not salt:
        return kept
    first = [key for key in kept if key in ("rdmalab", "kind", "id")]
    head: dict[str, object] = {key: kept.pop(key) for key in first}
    return {**head, SALT: salt, **kept}


def _task(given: dict[str, object], task: Task) -> dict[str, object]:
    if not task.hidden:
        return dict(given)
    kept = {key: value for key, value in given.items() if key in _SHOWN}
    if task.choice is not None:
        kept["ask"] = "\n".join(
            [task.ask or "", *(f"{n}. {c.text}" for n, c in enumerate(task.choice, 1))]
        ).strip()
    return kept


# --------------------------------------------------------------------------- answers
def _answer(given: dict[str, object], lab: LabFile, index: int, *, live: bool) -> None:
    """Replace what is right in a task by its seal, or by nothing where the grader judges it."""
    task = lab.document.tasks[index]
    is_live = live and task.judged != GRADER
    if is_live and lab.document.seal is not None:
        return
    seals: list[str] = []
    names: list[str] = []
    if is_live and task.choice is not None:
        choices = [(c.get("right") == "true", c.get("when_wrong", "")) for c in _choices(given)]
        seals = sealed_choices(_seal(lab), task.id, choices)
    elif is_live:
        names = _depends(lab, given)
        labs = list(_drawn(lab, names))
        seals = sealed_values(_seal(lab), labs, index, names) if len(labs) <= MOST_DRAWS else []
    _strip(given)
    if not seals:
        given["judged"] = GRADER
        given.pop("tries", None)
    elif task.choice is None:
        given.update({"depends": names} if names else {}, sealed=seals)
    else:
        pairs = zip(_choices(given), seals, strict=True)
        given["choice"] = [{**each, "sealed": seal} for each, seal in pairs]


def unlimited(lab: LabFile, *, live: bool) -> list[str]:
    """The tasks whose `tries` the file for students has not: the grader alone judges them.

    Their answers are noted, and the last one counts.
    """
    return [
        task.id for task in lab.document.tasks
        if task.tries and not task.hidden and not (live and task.judged != GRADER)
    ]  # fmt: skip


def _choices(given: dict[str, object]) -> list[dict[str, str]]:
    """The choices of a task as they are written; none of a task without them."""
    choices = given.get("choice", [])
    assert isinstance(choices, list)  # as in the document
    return choices


def _strip(given: dict[str, object]) -> None:
    for key in _ANSWERS:
        given.pop(key, None)
    if "choice" in given:
        given["choice"] = [
            {key: value for key, value in each.items() if key not in _OF_CHOICE}
            for each in _choices(given)
        ]


def _depends(lab: LabFile, task: dict[str, object]) -> list[str]:
    """The parameters on which the right value of a task can depend: the setup or it names them."""
    plain = yaml_tree.plain(yaml_tree.compose(lab.source))
    assert isinstance(plain, dict)  # a document of a lab is a mapping
    worlds = [each.get("vary") for each in plain["tasks"]]
    text = json.dumps(
        [plain.get(key) for key in _WORLD] + [worlds, task.get("answer"), task.get("at")]
    )
    return [name for name in lab.document.params if f"${{{name}}}" in text]


def _drawn(lab: LabFile, names: list[str]) -> Iterator[LabFile]:
    """The lab for each combination of these parameters, MOST_DRAWS and one more at the most."""
    draws = product(*(lab.document.params[name].values for name in names))
    for values, _ in zip(draws, range(MOST_DRAWS + 1), strict=False):
        params = {**lab.params, **dict(zip(names, values, strict=True))}
        yield loads(lab.source.text, lab.source.path, params=params)


def _seal(lab: LabFile) -> str:
    """The salt of the seals: the same for the same file of the instructor."""
    if lab.document.seal is not None:
        return lab.document.seal
    return sha256(f"seal\0{lab.source.text}".encode()).hexdigest()[:_DIGITS]


class _Dumper(yaml.SafeDumper):
    """Long texts in block style, all others as plain as they can be: every scalar is a text."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.yaml_implicit_resolvers = {}
_Dumper.add_representer(str, _text)


def dumped(plain: dict[str, object]) -> str:
    """The text of a lab: every scalar as it is, long texts in block style."""
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


# --------------------------------------------------------------------------- versions
def digest(lab: LabFile) -> str:
    """The first digits of the SHA-256 of the part for students: which version was worked on.

    A published file has the same digest as the file from which it was made: how its answers are
    judged, and the salt, are left out.
    """
    plain = _public(replace(lab, salt=""))
    plain.pop("seal", None)
    tasks = plain["tasks"]
    assert isinstance(tasks, list)  # as in the document
    for given in tasks:
        _strip(given)
        given.pop("tries", None)
    return sha256(dumped(plain).encode()).hexdigest()[:_DIGITS]


OPEN_IT = "load the file of the lab with which the work was begun"
"""Advice at the prompt about a work for another version of a lab."""


def other_version(lab: LabFile, work: Submission) -> str:
    """The version of the lab for which a work was handed in; empty: it is that of this file."""
    version = work.lab.partition(" ")[2]
    return version if version != digest(lab) else ""


def other_lab(lab: LabFile, work: Submission, cure: str = OPEN_IT) -> str:
    """The reason a submission is not one of this lab, with its parameters; empty if it is.

    cure: what to do with a work for another version; empty: any version is right.
    """
    name = work.lab.partition(" ")[0]
    if name != lab.document.id:
        return f"this is a submission of the lab {name}, not of {lab.document.id}"
    if cure and (version := other_version(lab, work)):
        return f"this is for another version of the lab: {version}, now {digest(lab)}; {cure}"
    if (work.salt or "") != lab.salt:
        drawn, here = (f"the salt {each}" if each else "no salt" for each in (work.salt, lab.salt))
        cure = f"--salt {work.salt}" if work.salt else "grade it without a salt"
        return f"its parameters were drawn with {drawn}, those of the lab with {here}: {cure}"
    return ""
