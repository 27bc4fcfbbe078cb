"""What the documents about verbs say, statement by statement.

Four documents: the pages of `ibv_post_send`, of `ibv_post_srq_recv` and of `ibv_wr_start`, and a
guide to `ibv_modify_qp`. The ids bind statements to the scenarios that teach them and to the tests
that cover them.
"""

from functools import cache

from rdmalab.guide.sentences import read

MOST_PER_ITEM = 5
"""A scenario or a test that showed more than this would show none of it clearly."""


@cache
def statements() -> dict[str, str]:
    """Id → the sentence, page by page."""
    pages = (rows for page, rows in read("statements").items() if page != "not_applicable")
    return {number: sentence for rows in pages for number, sentence in rows.items()}


def not_applicable() -> dict[str, str]:
    """Id → why nothing in the lab can show it."""
    return dict(read("statements")["not_applicable"])


def page(statement: str) -> str:
    """The page that contains a statement."""
    return next(name for name, rows in read("statements").items() if statement in rows)
