"""A lab from Python: the world of one student, with tasks, hints, answers and the grade.

from rdmalab import Exercise
lab = Exercise("labs/sq-full", student="s4711")
lab.do("poll_cq A.cq0")
lab.answer("see", "EAGAIN")
print(lab.grade().score)
lab.submit("work.yaml")
"""

from collections.abc import Iterator
from pathlib import Path

from rdmalab import disk
from rdmalab.classroom import formats, submission
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.lab_session import LabSession
from rdmalab.lab import Lab
from rdmalab.scenario.files import found, read
from rdmalab.session.lines import Reply


class RuleBroken(Exception):  # noqa: N818  (it says what was done)
    """Raised for a line that the rules of the lab do not allow; the line was not run."""


class Exercise(Lab):
    """A lab that is open, with all that a `Lab` can do; what is typed here can be handed in.

    file: path, or the short name of a shipped lab. student: draws the parameters, and stands in
    the submission; empty: that of `work`. work: the path of a submission that is continued.
    Raises FileError for a wrong file, BrokenLab if its setup fails, WrongWork for a submission of
    another lab.
    """

    def __init__(self, file: str, student: str = "", work: str = "") -> None:
        path = found(file)
        given = read(work) if work else ""
        self.work = LabSession.begun(read(path), path, student, given, work)
        nodes = {name: node.profile for name, node in self.work.session.world.nodes.items()}
        super().__init__(nodes, seed=self.work.session.seed)
        self.session.dispose()
        self.session = self.work.session

    def replies(self, line: str, *, file: bool = False) -> Iterator[Reply]:
        """As `Lab.replies`; raises RuleBroken for a line that is not allowed in this lab."""
        if foul := self.work.refusal(self.session, line):
            raise RuleBroken(foul)
        if full := self.work.refusal_at_limit(line):
            raise RuleBroken(full)
        for reply in super().replies(line, file=file):
            yield reply
            self.work.follow(reply)
        self.work.keep(self.session, line)

    def answer(self, task: str, text: str) -> None:
        """Answer a task; the last answer counts. Raises WrongTask."""
        self.work.answer(task, text)

    def hint(self, task: str) -> str:
        """Take the next hint of a task, whatever it costs; empty: there is no more.

        Raises WrongTask.
        """
        hint = self.work.take_hint(task)
        return hint.text if hint is not None else ""

    def grade(self) -> Grade:
        """Grade of the work as it is now; hidden tasks are judged by the instructor only."""
        return self.work.grade()

    @property
    def report(self) -> str:
        """The grade as text: each task, and what is missing."""
        return formats.report(self.grade())

    def submit(self, file: str = "") -> str:
        """The submission as one word; also written to a file, if one is named.

        A file that exists and is no submission of this student in this lab is not replaced: raises
        disk.FileExistsAsOther.
        """
        self.work.grade(replayed=True)
        work = self.work.submission()
        if file:
            _, is_own = submission.replaceable(work)
            disk.write(str(Path(file)), submission.written(work).encode(), is_own)
        return submission.word_of(work)
