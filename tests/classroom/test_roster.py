"""Rosters of Moodle, Canvas and Gradescope, lists of ids, and what names a student."""

import pytest

from rdmalab.classroom.roster import folded, ids_of, roster_of

MOODLE = (
    '\ufeff"First name","Last name","ID number","Email address",Groups\n'
    "Jane,Doe,s001,jane.doe@uni.edu,A\nZoë,D'Arc,s002,zoe@uni.edu,B\n"
)
WORKSHEET = (
    "Identifier,Full name,ID number,Email address,Status,Grade\n"
    "Participant 12345,Jane Doe,s001,jane.doe@uni.edu,Submitted,\n"
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    "    Points Possible,,,,\n"
    '"Doe, Jane",991,s001,jdoe,One\n'
)
GRADESCOPE = "Last Name,First Name,SID,Email,Role\nDoe,Jane,s001,jane.doe@uni.edu,student\n"
GERMAN = "Vorname;Nachname;Matrikelnummer;E-Mail-Adresse\nJane;Doe;s001;jane.doe@uni.edu\n"


@pytest.mark.parametrize("text", [MOODLE, WORKSHEET, CANVAS, GRADESCOPE, GERMAN])
def test_columns_are_found_by_their_header(text: str) -> None:
    found = roster_of(text)
    first = found.people[0]
    assert first.id == "s001"
    for words in (["Jane Doe"], ["Doe, Jane"], ["doejane"], ["S001"], ["x", "jane_doe"]):
        assert found.named(words) is first, words
    assert not found.wrong


def test_other_words_name_a_student_too() -> None:
    assert roster_of(WORKSHEET).named(["12345"]) is not None
    assert roster_of(CANVAS).named(["991"]) is not None
    assert roster_of(CANVAS).named(["jdoe"]) is not None
    assert roster_of(GRADESCOPE).named(["jane.doe@uni.edu"]) is not None
    assert folded("Zoë D'Arc") == "zoedarc"
    assert roster_of(MOODLE).named(["Zoe D Arc"]) is not None


def test_a_header_is_no_student_and_a_list_needs_none() -> None:
    assert ids_of("id,name\ns1,x\ns2,y\n\ns1,z\n") == ["s1", "s2"]
    assert ids_of("name,email,id\nJane,j@x,s001\n") == ["s001"]
    assert ids_of("s1\ns2\n") == ["s1", "s2"]
    assert ids_of("Email\njane@x.edu\n") == ["jane"]
    assert ids_of("") == []


def test_a_row_without_an_id_is_reported() -> None:
    found = roster_of("ID number,Full name\ns1,Jane\n,John\n")
    assert found.ids == ["s1"]
    assert found.wrong == ("line 3 has no id: John",)


def test_what_names_two_students_names_none() -> None:
    found = roster_of("id,name\ns1,Jane Doe\ns2,Jane Doe\n")
    assert found.named(["Jane Doe"]) is None
    assert found.named(["Jane Doe", "s2"]) is found.people[1]
    assert found.named(["s1", "s2"]) is None
