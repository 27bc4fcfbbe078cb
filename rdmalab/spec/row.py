"""Classes of values: `dataclass`, and the base class of table rows that engine objects refer to."""

import dataclasses
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:  # for a type checker it is that of the library
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, unsafe_hash=False, **options):
        """The dataclass of the standard library, with __eq__, __hash__ and __repr__ that all share.

        The library writes and compiles three functions for each class. For the 260 classes that
        the lab needs before its first answer that took a twentieth of the start (`ready_ratio`).
        """

        def make(cls):
            own = vars(cls)
            made = dataclasses.dataclass(cls, eq=False, repr=False, frozen=frozen, **options)
            compared = [f.name for f in dataclasses.fields(made) if f.compare]
            made.__compared__ = attrgetter(*compared) if compared else staticmethod(lambda _: ())
            if "__repr__" not in own:
                made.__repr__ = _repr
            if eq and "__eq__" not in own:
                made.__eq__ = _eq
                made.__hash__ = _hash if frozen or unsafe_hash else None
            return made

        return make if cls is None else make(cls)

    @recursive_repr("...")
    def _repr(self):
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _eq(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self.__compared__(self) == self.__compared__(other)

    def _hash(self):
        return hash(self.__compared__(self))


class Row:
    """Immutable: a copy of an object that refers to a row shares the row."""

    __slots__ = ()

    def __deepcopy__(self, _memo: Any) -> Self:
        return self
