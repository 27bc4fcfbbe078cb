"""Addresses of articles, and links of words in prose."""

from rdmalab.book.html import tag
from rdmalab.book.words import Linker, address, verb_address
from rdmalab.guide.explain import entries
from rdmalab.vocabulary import VOCABULARY


def test_every_article_has_one_address() -> None:
    names = [entry.name for entry in entries(VOCABULARY)]
    found = [address(name) for name in names]
    assert None not in found
    assert len(set(found)) == len(names)
    assert verb_address("post_send") == "guide/commands.html#verb-post_send"
    assert address("no such word") is None


def test_prose_links_a_word_once_and_names_stand_out() -> None:
    linker = Linker("../", {"err/x": "lessons/err/x.html"})
    text = linker.prose("RNR_NAK, RNR_NAK of A.qp0.wr[7]; see err/x, not err/y. <b>")
    assert text.count("<a ") == 2
    assert tag("code", "A.qp0.wr[7]") in text
    assert text.endswith("not err/y. &lt;b&gt;")
