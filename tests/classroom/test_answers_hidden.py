"""Nothing that a student reads before an answer is given contains that answer."""

import inspect
import re
from collections.abc import Iterator

import yaml

from rdmalab.classroom.answers import right_answers, right_choice
from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.public import published
from rdmalab.guide import manual
from rdmalab.workbench import lab_words
from tests.classroom.labs import FOLDER, loaded
from tests.each import each

LABS = [path.name for path in sorted(FOLDER.glob("*.lab.yaml"))]
STUDENTS = ("1", "2", "3")
WORD, PREFIX = re.compile(r"[\w-]+"), re.compile("^(IBV_WC_|IBV_)")


def read_before(lab: LabFile) -> str:
    """Title, introduction, what tasks ask and announce, and the hints that cost nothing."""
    shown = yaml.safe_load(published(lab))
    texts = [shown["title"], shown["about"]]
    for task in shown["tasks"]:
        texts += [task.get("ask", ""), task.get("announce", "")]
        texts += [hint["text"] for hint in task.get("hints", ()) if not hint.get("cost")]
    return "\n".join(texts)


def telling(lab: LabFile, number: int) -> Iterator[str]:
    """Words that give an answer away: its spellings, the names that only the right choice has."""
    task = lab.document.tasks[number]
    if task.choice is None:
        drawn = set(lab.params.values())  # a question may ask which of two values it is
        yield from {each for each in right_answers(lab, number) if not each.isdecimal()} - drawn
        return
    right = right_choice(task) - 1
    told = [task.ask or "", *(each.text for n, each in enumerate(task.choice) if n != right)]
    others = {word for text in told for word in WORD.findall(text)}
    yield from (w for w in WORD.findall(task.choice[right].text) if w not in others and is_name(w))


def is_name(word: str) -> bool:
    """Whether it is a term or a number, and no word of a sentence."""
    return "_" in word or any(each.isdigit() for each in word) or (word.isupper() and len(word) > 2)


@each("name", LABS)
def test_no_text_of_a_lab_contains_an_answer(name: str) -> None:
    for student in STUDENTS:
        lab = loaded((FOLDER / name).read_text(), student)
        words = {PREFIX.sub("", word) for word in WORD.findall(read_before(lab))}
        for number, task in enumerate(lab.document.tasks):
            answers = telling(lab, number) if task.is_asked else ()
            assert [word for word in answers if PREFIX.sub("", word) in words] == [], task.id


def test_no_example_of_the_manual_or_of_a_verb_answers_a_lab() -> None:
    examples = {
        match.groups()
        for text in (*map(manual.source, manual.PAGES), inspect.getsource(lab_words))
        for match in re.finditer(r"answer (\w[\w-]*) (\S+)", text)
    }
    labs = [loaded((FOLDER / name).read_text()) for name in LABS]
    right = {
        (task.id, answer)
        for lab in labs
        for number, task in enumerate(lab.document.tasks)
        if task.is_asked
        for answer in right_answers(lab, number)
    }
    assert len(examples) >= 1
    assert examples & right == set()
