"""The verbs beside a teardown are verbs, and make nothing."""

from rdmalab.spec.teardown import BESIDE_TEARDOWN
from rdmalab.vocabulary import VERBS


def test_they_are_verbs_that_make_and_post_nothing() -> None:
    assert set(VERBS) >= BESIDE_TEARDOWN
    assert not [verb for verb in BESIDE_TEARDOWN if verb.startswith(("create_", "post_", "reg_"))]
