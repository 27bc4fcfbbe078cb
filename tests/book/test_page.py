"""The frame with the lab: addresses that are admitted, and what a page says and permits."""

from __future__ import annotations

import re

import pytest

from rdmalab import cli
from rdmalab.book.build import build
from rdmalab.book.catalogue import catalogue
from rdmalab.book.page import LabSite
from rdmalab.scenario.files import lessons_folder
from tests.book.conftest import LAB, Inline, Made

RNR = str(lessons_folder() / "err/rnr-retry-exceeded.rdmalab.yaml")
PAGE = "lessons/err/rnr-retry-exceeded.html"


@pytest.mark.parametrize(
    ("address", "policy"),
    [
        ("../", "frame-src 'self' file:"),
        ("../../lab/", "frame-src 'self' file:"),
        ("https://lab.example/", "frame-src https://lab.example"),
        ("http://127.0.0.1:8000/x/y-z/", "frame-src http://127.0.0.1:8000"),
    ],
)
def test_a_page_permits_this_frame_and_no_other(address: str, policy: str) -> None:
    assert LabSite(address).policy == policy


@pytest.mark.parametrize(
    "address",
    [
        "", "/", "//evil.example/", "https://lab.example", "https://lab.example/x",
        "https://lab.example/?a=b/", "https://lab.example/#x/", "javascript:alert(1)/",
        "data:text/html,x/", "https://a.example; script-src */", "https://u:p@lab.example/",
        "ftp://lab.example/", '../"x/', "../\n/", "https:///x/",
    ],
)  # fmt: skip
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="write https://HOST/FOLDER/, or"):
        LabSite(address)


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("../", "../../../#scenario=err/rnr-retry-exceeded"),
        ("https://lab.example/x/", "https://lab.example/x/#scenario=err/rnr-retry-exceeded"),
    ],
)
def test_lessons_and_labs_can_be_tried_and_other_pages_load_nothing(
    address: str, link: str
) -> None:
    site = LabSite(address)
    book = build(catalogue([RNR, LAB]), Inline(), site=site)  # type: ignore[arg-type]
    text = book.files[PAGE].decode()
    assert f'href="{link}"' in text
    assert "#lab=labs/sq-full" in book.files["labs/sq-full.html"].decode()
    framed = {name for name, octets in book.files.items() if b"frame-src" in octets}
    assert framed == {PAGE, "labs/sq-full.html"}
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].replace("&#x27;", "'").endswith(f"; {site.policy}")


def test_without_a_lab_no_page_has_a_frame(made: Made) -> None:
    assert not [name for name in made.book.files if 'class="try"' in made.text(name)]


def test_the_command_refuses_another_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["book", "out", "--lab", "javascript:x"]) == 2
    assert "--lab javascript:x: write https://HOST/FOLDER/" in capsys.readouterr().err
