"""Suspicions explained."""

from rdmalab.doctor.article import SUSPICIONS
from rdmalab.doctor.diagnosis.diagnose import BY_SLUG
from rdmalab.guide.article import Article
from rdmalab.lab import Lab
from tests.each import each


def explained(slug: str) -> Article:
    value = Lab().do(f"explain {slug}")[0].value
    assert isinstance(value, Article)
    return value


@each("slug", BY_SLUG)
def test_every_suspicion_can_be_explained(slug: str) -> None:
    found = explained(f"cause {slug}")
    assert found.title == slug
    assert BY_SLUG[slug].row.rule in found.text
    assert all(len(line) <= 80 for line in found.lines(80))


@each("slug", BY_SLUG)
def test_explain_by_slug_alone(slug: str) -> None:
    found = explained(slug)
    assert BY_SLUG[slug].row.rule in found.text or f"explain cause {slug}" in found.text


def test_article_of_a_station() -> None:
    found = explained("qp-err-flush")
    assert "an effect of another cause" in found.text
    assert "checklist no-completion" in found.see_also


def test_article_of_cq_overrun() -> None:
    text = explained("cause cq-overrun").text
    for part in ("IBV_WC_REM_OP_ERR", "IBV_EVENT_CQ_ERR", "refusal cq-overrun", "it can overrun"):
        assert part in text, part
    assert "show cq A.cq0" in text


def test_none_hides_a_word_of_the_book() -> None:
    assert len({entry.name for entry in SUSPICIONS}) == len(BY_SLUG)
    assert Lab().do("explain RNR_RETRY_EXC_ERR")[0].value.title == "IBV_WC_RNR_RETRY_EXC_ERR"
