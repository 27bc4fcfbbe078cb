"""Who handed in a file: roster, folder and name of the file; the text of the file never alone."""

import pytest

from rdmalab.classroom.owner import file_advice, folded, given, own_files, owner_of, roster_of

ROSTER = roster_of(
    "Identifier,Full name,ID number,Email address\n"
    "Participant 12345,Jane Doe,s001,jane.doe@uni.edu\n"
    "Participant 777,Bob Roe,s002,bob@uni.edu\n"
)


@pytest.mark.parametrize(
    "path",
    [
        "Jane Doe_12345_assignsubmission_file_/s002.yaml",  # the name of the file is the student's
        "Jane Doe_9_assignsubmission_onlinetext_/onlinetext.html",
        "Jane Doe_9_assignsubmission_file/s002.yaml",  # as newer versions of Moodle name it
        "Jane Doe_9_assignsubmission_onlinetext/onlinetext.html",
        "Group A-Jane Doe_9_assignsubmission_file/s002.yaml",  # of one group of the course
        "Participant_12345_assignsubmission_file_/work.yaml",
        "Jane Doe_9_assignsubmission_file_work.yaml",
        "doejane_4711_8888_work.yaml",
        "doejane_LATE_4711_8888_work.yaml",
        "s001.yaml",
        "S001_by-hand.yaml",
        "by-hand-s001.yaml",
        "s001/s002.yaml",
        "group 3/jane.doe@uni.edu.yaml",
    ],
)
def test_owner_of_a_path_by_the_roster(path: str) -> None:
    owner = owner_of(path, ROSTER)
    assert owner.id == "s001"
    for named in ("s001", "S001", "jane.doe", "JaneDoe"):
        assert not owner.refusal(named)
    assert "names s002, and was handed in by s001" in owner.refusal("s002")
    assert "loaded without student=ID" in owner.refusal("anonymous")


def test_a_name_with_a_hyphen_is_no_group() -> None:
    roster = roster_of("id,name\ns1,Anna-Lena Roe\ns2,Lena Roe\n")
    for folder, student in (("Anna-Lena Roe", "s1"), ("Lena Roe", "s2"), ("B-Lena Roe", "s2")):
        assert owner_of(f"{folder}_9_assignsubmission_file/w.yaml", roster).id == student


def test_a_path_that_names_no_student_is_not_replaced_by_the_text() -> None:
    owner = owner_of("work.yaml", ROSTER)
    assert not owner.id
    assert owner.refusal("s001") == (
        "neither file nor folder names a student of the roster; the work names s001"
    )
    assert not owner_of("s001_s002.yaml", ROSTER).id  # two of them


def test_without_a_roster_folder_or_file_must_agree_with_the_text() -> None:
    assert not owner_of("s001.yaml", None).refusal("s001")
    assert not owner_of("s001/work.yaml", None).refusal("s001")
    assert owner_of("s002/s001.yaml", None).refusal("s001")
    assert owner_of("work.yaml", None).refusal("s001") == (
        "the work names s001, and was handed in by work; a roster, a file named s001.yaml or "
        "--student s001 confirms the student"
    )
    moodle = owner_of("Jane Doe_12345_assignsubmission_file_/s001.yaml", None)
    assert moodle.refusal("s001")
    assert not moodle.refusal("jane.doe")
    assert moodle.folder == "Jane Doe_12345_assignsubmission_file_"


def test_the_command_line_can_name_the_student() -> None:
    assert given("s1").id == "s1"
    assert not given("s1").refusal("S1")
    assert not given("s1").refusal("anonymous")
    assert given("s1").refusal("s2")


def test_a_work_without_a_student_is_judged_as_that_of_its_owner() -> None:
    assert given("s1").drawn_for("anonymous") == "s1"
    assert given("s1").drawn_for("S1") == "S1"  # case does not change what is drawn
    assert "--student ID judges it" in owner_of("work.yaml", None).refusal("anonymous")


def test_a_file_that_grade_would_not_accept_gets_another_name() -> None:
    assert file_advice("s1.yaml", "s1", "") == file_advice("by-hand-s1.yaml", "s1", "") == ""
    assert file_advice("folder/work.yaml", "s1", "s1.yaml").startswith("name it s1.yaml")
    assert file_advice("work.yaml", "s1", "").startswith("name it s1.yaml in another folder")


def test_grade_accepts_each_name_that_is_proposed() -> None:
    for student in ("s1", "s-1", "s_1", "jane.doe"):
        for file in own_files(student, "sq-full"):
            assert file_advice(file, student, "x") == "", file
    assert own_files("s-1", "sq-full") == ["s-1.yaml", "s-1_sq-full.yaml"]


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
    assert roster_of("id,name\ns1,x\ns2,y\n\ns1,z\n").ids == ["s1", "s2"]
    assert roster_of("name,email,id\nJane,j@x,s001\n").ids == ["s001"]
    assert roster_of("s1\ns2\n").ids == ["s1", "s2"]
    assert roster_of("Email\njane@x.edu\n").ids == ["jane"]
    assert roster_of("").ids == []


def test_a_row_without_an_id_is_reported() -> None:
    found = roster_of("ID number,Full name\ns1,Jane\n,John\n")
    assert found.ids == ["s1"]
    assert found.wrong == ("line 3 has no id: John",)


def test_what_names_two_students_names_none() -> None:
    found = roster_of("id,name\ns1,Jane Doe\ns2,Jane Doe\n")
    assert found.named(["Jane Doe"]) is None
    assert found.named(["Jane Doe", "s2"]) is found.people[1]
    assert found.named(["s1", "s2"]) is None


def test_an_id_that_is_given_twice_is_reported_and_a_comment_is_no_student() -> None:
    found = roster_of("# the class\ns1\ns2\n#s3\ns1\n")
    assert found.ids == ["s1", "s2"]
    assert found.wrong == ("line 5 has the id s1 of an earlier line: leave one out",)
    assert roster_of("id,name\ns1,x\ns1,z\n").wrong == (
        "line 3 has the id s1 of an earlier line: leave one out",
    )
