"""The pages of words on which a document and devices disagree."""

import pytest

from rdmalab.cli import main
from rdmalab.spec.document_differences import DIFFERENCES
from tests.guide.saying import article_text
from tests.shell.prompts import Prompt


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_has_a_page_with_both_sides(name: str) -> None:
    row, page = DIFFERENCES[name], " ".join(article_text(name).split())
    for sentence in (row.document, row.devices, row.reason, row.source, f"load {row.lesson}"):
        assert sentence in page


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_pages_that_it_is_about_lead_to_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for word in DIFFERENCES[name].about:
        assert main(["explain", word]) == 0  # with the words of the doctor, too
        page = capsys.readouterr().out
        assert f"explain {name}" in " ".join(page.split()), word


@pytest.mark.parametrize(
    ("attribute", "whom", "types"),
    [
        ("qp_access_flags", "all types", "UD"),
        ("path_mtu", "all types", "UD"),
        ("max_dest_rd_atomic", "all connected types", "UC"),
        ("timeout", "all connected types", "UC"),
    ],
)
def test_an_attribute_that_a_guide_demands_of_more_types(
    attribute: str, whom: str, types: str
) -> None:
    page = " ".join(article_text(attribute).split())
    assert f"a widely read guide demands {attribute} of {whom}" in page
    assert f"devices refuse it on {types}" in page


def test_attributes_that_all_sources_agree_on_say_nothing() -> None:
    assert "guide" not in article_text("dest_qp_num")


def test_the_guide_has_a_page() -> None:
    assert "refused on UC" in article_text("bring-up guide")


def test_the_refusal_of_ud_without_sq_psn_names_the_guide() -> None:
    prompt = Prompt("use ud_pair", "modify_qp A.qp0 state=RESET", width=400)
    prompt.ask("modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qkey=1")
    prompt.ask("modify_qp A.qp0 state=RTR")
    refusal = " ".join(prompt.ask("modify_qp A.qp0 state=RTS"))
    assert DIFFERENCES["sq-psn-of-ud"].sentence in refusal
