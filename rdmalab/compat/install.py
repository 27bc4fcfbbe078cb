"""An import hook: `import pyverbs` gives the modules of the skin."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_NAME = "pyverbs"
_ROOM = "rdmalab.compat."


class _Skin(Loader):
    """The module of the skin, under both names."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(_ROOM + spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: create_module has executed it."""


class _Finder(MetaPathFinder):
    """The first finder of sys.meta_path: an installed pyverbs is not found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        try:
            known = importlib.util.find_spec(_ROOM + fullname)
        except ModuleNotFoundError:
            return None
        if known is None:
            return None
        return ModuleSpec(
            fullname, _Skin(), is_package=known.submodule_search_locations is not None
        )


def install() -> None:
    """Add the hook to this process; a second call does nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
