"""The list of scenarios: file, title, tags and statements of each."""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field

from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.files import short_name
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.source import visible
from rdmalab.version import VERSION


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class LessonModel(_Model):
    """A scenario file in the list."""

    file: str
    title: str
    about: str
    tags: list[str]
    steps: int
    """Number of steps, the setup included."""
    teaches: list[str]
    """Statements of the documents."""


class LessonsModel(_Model):
    """What `rdmalab lessons --json` prints."""

    model_config = ConfigDict(title="rdmalab lessons")

    rdmalab: int = FORMAT
    """Version of this document."""
    engine: str = VERSION
    lessons: list[LessonModel] = Field(default_factory=list)


def lesson(scenario: Scenario) -> LessonModel:
    """The row of a loaded scenario."""
    document = scenario.document
    return LessonModel(
        file=scenario.path,
        title=scenario.title,
        about=(document.about or "").strip(),
        tags=list(document.tags),
        steps=len(scenario.steps),
        teaches=[taught.statement for taught in scenario.teaches],
    )


def lines(lessons: LessonsModel) -> Iterator[str]:
    """A scenario in two lines: its name for `load` and title, then tags and statements."""
    for row in lessons.lessons:
        yield f"{visible(short_name(row.file))}: {visible(row.title)}"
        yield f"    {' '.join([*row.tags, *row.teaches])}".rstrip()
