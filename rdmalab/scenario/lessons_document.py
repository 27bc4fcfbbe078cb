"""The list of scenarios: file, title, tags and statements of each."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.lessons import ListedLesson
from rdmalab.scenario.model import Document
from rdmalab.version import VERSION


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class LessonModel(_Model):
    """A lesson or a lab in the list."""

    name: str
    """As `load` takes it."""
    file: str
    kind: Literal["lesson", "lab"]
    title: str
    about: str
    tags: list[str]
    path: str
    """The learning path; empty: on none."""
    order: int
    """Its place on the path, from 1; 0: on none."""
    level: int | None
    """1 to 3; null: unknown."""
    minutes: int
    done: bool
    """Whether it was walked to its end on this machine."""
    steps: int
    """Number of steps, the setup included; of a lab, its tasks."""
    teaches: list[str]
    """Statements of the documents, those of steps included."""


class LessonsModel(_Model):
    """What `rdmalab lessons --json` prints."""

    model_config = ConfigDict(title="rdmalab lessons")

    rdmalab: int = FORMAT
    """Version of this document."""
    engine: str = VERSION
    lessons: list[LessonModel] = Field(default_factory=list)


def lesson(
    listed: ListedLesson, document: Document, steps: int, teaches: Iterable[str], *, done: bool
) -> LessonModel:
    """The row of a lesson whose file was loaded."""
    return LessonModel(
        name=listed.name,
        file=listed.file,
        kind="lab" if listed.is_lab else "lesson",
        title=document.title,
        about=(document.about or "").strip(),
        tags=list(document.tags),
        path=listed.path,
        order=listed.order,
        level=listed.level,
        minutes=listed.minutes,
        done=done,
        steps=steps,
        teaches=list(teaches),
    )
