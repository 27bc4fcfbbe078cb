"""What every test run does: tests that are bound to statements say so in the report."""

import pytest

from rdmalab.guide.statements import MOST_PER_ITEM


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bindings travel as properties of the test, so that each report of pytest has them."""
    for item in items:
        bound = [number for mark in item.iter_markers("covers") for number in mark.args]
        if len(bound) > MOST_PER_ITEM:
            message = f"{item.nodeid} covers {len(bound)} statements, {MOST_PER_ITEM} at most"
            raise pytest.UsageError(message)
        item.user_properties += [("covers", number) for number in bound]
