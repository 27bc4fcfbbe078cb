"""The table of remarks: read as spreadsheets write it, added to, never written again."""

from pathlib import Path

import pytest

from rdmalab.classroom.grade_document import Grade, Result
from rdmalab.classroom.remarks import (
    COLUMNS,
    Remark,
    RemarkTable,
    WrongRemarks,
    points_of,
    read,
    to_be_marked,
)
from tests.classroom.labs import TEMPLATE, loaded

LABS = {"one": loaded(TEMPLATE).document}
HEAD = ",".join(COLUMNS)


def table(path: Path) -> RemarkTable:
    return read(path, ["s1", "s2"], LABS)


def test_there_need_be_none(tmp_path: Path) -> None:
    assert table(tmp_path / "none.csv").rows == []


@pytest.mark.parametrize(
    "octets",
    [
        f"{HEAD}\ns1,one,deliver,2.5,Gut gemäß,\n".encode(),
        f"{HEAD}\r\ns1,one,deliver,2.5,Gut gemäß,\r\n".encode("utf-8-sig"),
        f"{HEAD};x\ns1;one;deliver;2,5;Gut gemäß;;\n".replace(",", ";", 5).encode("cp1252"),
        "Remark,Points,Task,Lab,Student\nGut gemäß,2.5,deliver,one,s1\n".encode(),
    ],
)
def test_it_is_read_as_spreadsheets_write_it(octets: bytes, tmp_path: Path) -> None:
    path = tmp_path / "remarks.csv"
    path.write_bytes(octets)
    (row,) = table(path).of("s1", "one")
    assert (row.task, row.points, row.text) == ("deliver", 2.5, "Gut gemäß")


def test_rows_are_added_below_what_a_person_wrote(tmp_path: Path) -> None:
    path = tmp_path / "remarks.csv"
    octets = '\ufeffstudent;lab;task;points;note of mine\ns1;one;;4;"a\nb"'.encode()
    path.write_bytes(octets)
    found = table(path)
    assert found.add([Remark("s2", "one", "deliver", answer="x")]) == 1
    assert path.read_bytes() == octets + b"\ns2;one;deliver;;\n"
    assert [row.student for row in table(path).rows] == ["s1", "s2"]


def test_an_answer_is_no_formula_and_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "remarks.csv"
    given = '=1+1, "and"\nmore'
    grade = Grade(student="s1", lab="one", results=[
        Result(id="deliver", points=2, by_hand=True, given=given)])  # fmt: skip
    new = to_be_marked(grade, [])
    table(path).add(new)
    assert "'=1+1" in path.read_text()
    assert to_be_marked(grade, table(path).rows) == []


def test_each_mistake_has_its_line_and_what_is_legal(tmp_path: Path) -> None:
    path = tmp_path / "remarks.csv"
    path.write_text(
        f"{HEAD}\ns3,one,,1,,\ns1,tow,,1,,\ns1,one,delivr,1,,\ns1,one,deliver,much,,\n"
        "s1,one,deliver,-1,,\ns1,one,deliver,nan,,\n"
    )
    with pytest.raises(WrongRemarks) as caught:
        table(path)
    assert str(caught.value).splitlines() == [
        f'{path}:2: no student "s3": legal here: s1, s2',
        f'{path}:3: no lab "tow": legal here: one',
        f'{path}:4: no task "delivr" in one: did you mean deliver?',
        *(f'{path}:{line}: points "{text}": write a number from 0 to 1000'
          for line, text in ((5, "much"), (6, "-1"), (7, "nan"))),
    ]  # fmt: skip
    path.write_text("a,b\n")
    with pytest.raises(WrongRemarks, match=":1: no column student: columns: student, lab, task"):
        table(path)


def test_points_have_a_point_or_a_comma() -> None:
    assert [points_of(text) for text in ("2", "2.5", "2,5", "0", "-1", "x", "1001", "inf")] == [
        2, 2.5, 2.5, 0, None, None, None, None,
    ]  # fmt: skip
