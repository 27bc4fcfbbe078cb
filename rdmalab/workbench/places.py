"""Where a person's own things are kept: the history of what was typed."""

from pathlib import Path


def state_path() -> Path:
    """The directory for what outlives a session; it exists afterwards if it can."""
    from platformdirs import user_state_path

    path = user_state_path("rdmalab", appauthor=False)
    path.mkdir(parents=True, exist_ok=True)
    return path
