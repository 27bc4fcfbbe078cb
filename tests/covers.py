"""`@covers("S042")`: this test shows a statement of the documents."""

import pytest

from rdmalab.guide.sentences import MOST_PER_ITEM
from rdmalab.guide.sentences import statements as known


def covers(*statements: str) -> pytest.MarkDecorator:
    """Bind a test to statements; a typing mistake fails before anything runs."""
    for statement in statements:
        if statement not in known():
            message = f"{statement} is not a statement"
            raise ValueError(message)
    if not 0 < len(set(statements)) == len(statements) <= MOST_PER_ITEM:
        message = f"one to {MOST_PER_ITEM} different statements, not {statements}"
        raise ValueError(message)
    return pytest.mark.covers(*statements)
