"""Saying no: the rule's sentence, with the errno of the profile."""

from errno import EINVAL, ENOMEM

from rdmalab.hca.errors import refused
from rdmalab.spec.profiles import MLX5, STRICT
from rdmalab.spec.rules import RULES


def test_errno_is_of_the_profile_and_the_sentence_of_the_rule() -> None:
    for profile, errno in ((STRICT, EINVAL), (MLX5, ENOMEM)):
        refusal = refused(profile, "send-state", "INIT", argument="qp", legal="wait")
        assert refusal.errno == errno
        assert refusal.message == RULES["send-state"].filled("INIT")
        assert (refusal.rule, refusal.argument, refusal.legal) == ("send-state", "qp", "wait")
        assert refusal.bad_wr is None
