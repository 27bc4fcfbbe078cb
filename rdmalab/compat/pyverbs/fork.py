"""pyverbs.fork: memory after fork(); no memory of the lab is pinned, so a child copies nothing."""

from rdmalab.compat.pyverbs import libibverbs_enums as e


def fork_init() -> None:
    """Succeeds: there is nothing to prepare."""


def is_fork_initialized() -> object:
    """IBV_FORK_UNNEEDED, as a kernel answers that copies pinned pages for the child."""
    return e.IBV_FORK_UNNEEDED
