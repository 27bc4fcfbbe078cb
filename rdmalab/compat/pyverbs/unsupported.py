"""Classes that no device of the lab has: there to be imported, refused when one is made.

A device without a feature answers EOPNOTSUPP: programs that know how to go on without it do.
"""

import errno
from collections.abc import Callable, Mapping
from typing import ClassVar, NoReturn, Self

from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError


class Absent:
    """Can be derived from and asked about by isinstance; there is never one."""

    why: ClassVar[str] = "no device of the lab has it"
    other_device: ClassVar[str] = ""  # what pyverbs says where it looks at the device itself

    def __new__(cls, *_values: object, **_named: object) -> Self:
        """Refuse before a derived class does anything of its own."""
        if cls.other_device:
            raise PyverbsUserError(cls.other_device)
        _refuse(cls.__name__, cls.why)


def stand_ins(
    module: dict[str, object],
    why: str,
    names: Mapping[type | str | None, str],
    static: Mapping[str, str] | None = None,
    other_device: Mapping[str, str] | None = None,
) -> None:
    """Put the classes of a module into its `globals()`.

    names: base → classes; a base is a class, one named before it in the table, or None.
    static: class → its functions that need no object.
    other_device: class → what it says of a device that is not its own, instead of EOPNOTSUPP.
    """
    made: dict[str, type[Absent]] = {}
    for base, row in names.items():
        kind = made[base] if isinstance(base, str) else base or Absent
        for name in row.split():
            said = (other_device or {}).get(name, "")
            body = {"__module__": module["__name__"], "why": why, "other_device": said}
            made[name] = type(name, (kind,), body)
    for name, functions in (static or {}).items():
        for function in functions.split():
            setattr(made[name], function, staticmethod(_refusing(f"{name}.{function}()", why)))
    module.update(made)


def _refusing(what: str, why: str) -> Callable[..., NoReturn]:
    def refuse(*_values: object, **_named: object) -> NoReturn:
        _refuse(what, why)

    return refuse


def _refuse(what: str, why: str) -> NoReturn:
    raise PyverbsRDMAError(f"{what} is not emulated: {why}", errno.EOPNOTSUPP)
