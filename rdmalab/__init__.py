"""rdmalab: type RDMA verbs, see two emulated nodes do them.

`Lab` is handed out lazily, so that reading a table of `rdmalab.spec` loads only tables.
"""

from typing import TYPE_CHECKING

from rdmalab import version

if TYPE_CHECKING:
    from rdmalab.lab import Lab

__all__ = ["Lab"]
__version__ = version.VERSION


def __getattr__(name: str) -> object:
    if name == "Lab":
        from rdmalab.lab import Lab

        return Lab
    raise AttributeError(f"module 'rdmalab' has no attribute {name!r}")
