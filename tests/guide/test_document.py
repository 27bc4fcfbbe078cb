"""The document of an article is what its schema says."""

import jsonschema
import pytest

from rdmalab.cli.schemas import schema_of
from rdmalab.guide.explain import answer, document
from tests.guide.saying import WORDS


@pytest.mark.parametrize("text", ["RNR_RETRY_EXC_ERR", "psn", "status=12 vendor_err=129", "22"])
def test_it_is_what_its_schema_says(text: str) -> None:
    jsonschema.validate(document(answer(text, WORDS)), schema_of("explain"))


def test_it_holds_the_article() -> None:
    found = answer("rnr_retry", WORDS)
    text = document(found)
    assert text["name"] == "rnr_retry"
    assert text["kind"] == "QP attribute"
    headings = [section["heading"] for section in text["sections"]]
    assert headings == [section.heading for section in found.article.sections]
    assert text["see_also"] == found.article.see_also
