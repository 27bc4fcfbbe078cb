"""fork(): nothing to prepare."""

from rdmalab.compat.pyverbs import fork
from rdmalab.compat.pyverbs import libibverbs_enums as e


def test_fork_needs_no_preparation() -> None:
    assert fork.is_fork_initialized() == e.IBV_FORK_UNNEEDED
    fork.fork_init()
    assert fork.is_fork_initialized() is e.IBV_FORK_UNNEEDED
