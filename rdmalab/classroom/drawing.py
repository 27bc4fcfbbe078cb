"""Parameters of a lab, drawn for a student: the same on every machine, and no clock in it."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from rdmalab.classroom.parameter_model import LabParameter
from rdmalab.classroom.roster import folded


def drawn(
    lab: str, salt: str, student: str, parameters: Mapping[str, LabParameter]
) -> dict[str, str]:
    """Name → value of each parameter. lab: its id. salt: of a class and year; empty: none.

    SHA-256 of the names chooses; so the work of another student does not fit, and anyone
    can compute what was drawn. Case and signs of the student do not count: the grader takes
    `S-1` for s1, and a student must not choose between draws.
    """
    whose = folded(student)
    return {
        name: parameter.values[_number(lab, salt, whose, name) % len(parameter.values)]
        for name, parameter in parameters.items()
    }


def shuffled(lab: str, salt: str, student: str, task: str, texts: Sequence[str]) -> list[int]:
    """The numbers from 0 of these texts, in the order that is drawn for a student."""
    whose = folded(student)
    return sorted(
        range(len(texts)), key=lambda number: _number(lab, salt, whose, task, texts[number])
    )


def _number(*names: str) -> int:
    return int.from_bytes(sha256("\0".join(names).encode()).digest()[:8], "big")
