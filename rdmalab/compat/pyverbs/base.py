"""Base classes of pyverbs' objects, and how a call becomes a command of the lab."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Generic, Self, TypeVar
from weakref import WeakSet

from rdmalab.command import NotUnderstood, Noun, Ref, Refused
from rdmalab.compat import buffers
from rdmalab.compat.buffers import UnmappedError
from rdmalab.compat.process import Process, here
from rdmalab.compat.pyverbs.c_types import UINT32, converted
from rdmalab.compat.pyverbs.pyverbs_error import (
    SKIN,
    PyverbsError,
    PyverbsRDMAError,
    PyverbsUserError,
)
from rdmalab.hca.objects import inc_rkey as next_key

LOG_LEVEL = logging.INFO
LOG_FORMAT = "[%(levelname)s] %(asctime)s %(filename)s:%(lineno)s: %(message)s"
# pyverbs has no semantics of its own: so rdma-core's tests of it test the lab, and are compared
# with Soft-RoCE.
_CRASH = "crash-"  # rules that stand for a segmentation fault
_NEVER = "no packet, timer or program is pending: this call would never return"
T_co = TypeVar("T_co", covariant=True)


class _Errno:
    """C's `errno`: the number of the last call that failed."""

    value = 0


def PyverbsRDMAErrno(msg: str, /) -> PyverbsRDMAError:  # noqa: N802  (its name)
    """An error with the current `errno`."""
    return PyverbsRDMAError(msg, _Errno.value)


def inc_rkey(rkey: int, /) -> int:
    """`ibv_inc_rkey`: the next variant of a key."""
    return next_key(converted(rkey, UINT32))


class _SkinType(type):
    """A class of the skin takes no attribute that it does not name; one of a program takes any."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object
    ) -> "_SkinType":
        if str(namespace["__module__"]).startswith(SKIN):
            namespace.setdefault("__slots__", ())
        return super().__new__(cls, name, bases, namespace, **options)


class PyverbsObject(metaclass=_SkinType):
    """The base of all classes; each shows the module name that it has in pyverbs."""

    __slots__ = ("__weakref__",)
    __module__ = __name__.removeprefix(SKIN)

    def __init__(self) -> None:
        """Take no arguments."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__module__ = cls.__module__.removeprefix(SKIN)

    @property
    def _logger(self) -> logging.Logger:
        return logging.getLogger(type(self).__name__)

    def set_log_level(self, val: int, /) -> None:
        """Set the level of the logger of its class, as a number of `logging`."""
        self._logger.setLevel(val)


class PyverbsCM(PyverbsObject):
    """An object with close(), which the end of a `with` block calls."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        self.close()

    def close(self) -> None:
        """Release it; a second call does nothing."""


def failed(text: str, refusal: Refused) -> PyverbsError:
    """The exception that a refused call raises."""
    if refusal.rule.startswith(_CRASH):
        return PyverbsError(refusal.message)
    _Errno.value = refusal.errno
    return PyverbsRDMAError(text, refusal.errno)


def call(text: str, word: str, **arguments: object) -> Any:
    """Perform a command; PyverbsRDMAError with this text and its errno if it is refused."""
    try:
        return here().call(word, **arguments)
    except Refused as refusal:
        raise failed(text, refusal) from None
    except NotUnderstood as senseless:
        raise PyverbsUserError(f"{text}: {senseless.message}") from None


def wait_for(text: str, ready: Callable[[], object], word: str, **arguments: object) -> None:
    """Let time pass until `ready()` is true, for a command that blocks until then.

    PyverbsError if nothing is pending that could make it true: C would block without limit. The
    call is carried out all the same, so that the log and a saved session have its refusal.
    """
    process = here()
    while not ready():
        if process.is_idle():
            with suppress(Refused):
                process.call(word, **arguments)
            raise PyverbsError(f"{text}: {_NEVER}")
        process.glance()


def octets_at(addr: int, length: int) -> bytes:
    """Bytes of the program's memory; PyverbsError where C crashes."""
    try:
        return buffers.read(addr, length)
    except UnmappedError as crash:
        raise PyverbsError(str(crash)) from None


def put_octets(addr: int, octets: bytes) -> None:
    """Write memory of the program; PyverbsError where C crashes."""
    if (block := here().buffers.holding(addr, len(octets))) is not None:
        block.write(addr, octets)
        return
    try:
        buffers.write(addr, octets)
    except UnmappedError as crash:
        raise PyverbsError(str(crash)) from None


class LabObject(PyverbsCM, Generic[T_co]):
    """An object T_co of the lab: destroyed with the last reference to it, after its children.

    DESTROY, FAILS: the verb that destroys it, and the message if that is refused. RANK: the order
    in which an owner closes its objects.
    """

    __slots__ = ("_owners", "_process", "_ref", "children")
    DESTROY: ClassVar[str] = ""
    FAILS: ClassVar[str] = ""
    RANK: ClassVar[int] = 0

    _ref: Ref | None
    _process: Process
    _owners: tuple["LabObject[object]", ...]
    children: "WeakSet[LabObject[object]]"

    def _made(self, text: str, word: str, noun: Noun, node: str, **arguments: object) -> Ref:
        """Create the object in the lab and return its name; errors as those of `call`."""
        try:
            ref = here().make(word, noun, node, **arguments)
        except Refused as refusal:
            raise failed(text, refusal) from None
        except NotUnderstood as senseless:
            raise PyverbsUserError(f"{text}: {senseless.message}") from None
        self._is(ref)
        return ref

    def _is(self, ref: Ref) -> None:
        """Bind it to an object of the current lab."""
        self._ref, self._process = ref, here()

    def _join(self, *owners: "LabObject[object] | None") -> None:
        """Set its owners: they stay alive as long as it, and their close() closes it."""
        self.children = WeakSet()
        self._owners = tuple(owner for owner in owners if owner is not None)
        for owner in self._owners:
            owner.children.add(self)

    @property
    def ref(self) -> Ref:
        """Its name in the lab; PyverbsUserError once it or its lab is closed."""
        found: Ref | None = getattr(self, "_ref", None)
        if found is None:
            raise PyverbsUserError(f"this {type(self).__name__} is closed")
        if self._process is not here():
            raise PyverbsUserError(f"the lab of this {type(self).__name__} is over")
        return found

    @property
    def node(self) -> str:
        return self.ref.node

    @property
    def found(self) -> T_co:
        """The object of the lab that it represents."""
        found: T_co = here().find(self.ref)
        return found

    def _close_children(self) -> None:
        for child in sorted(self.children, key=lambda each: each.RANK):
            child.close()

    def close(self) -> None:
        """Destroy its children, then the object itself; nothing if it is closed already.

        PyverbsRDMAError with the errno of the verb DESTROY.
        """
        ref: Ref | None = getattr(self, "_ref", None)
        if ref is None:
            return
        if self._process is here():  # or it has gone with its lab
            self._close_children()
            self._destroy(ref)
        self._ref = None
        self._owners = ()

    def _destroy(self, ref: Ref) -> None:
        first = here().session.vocabulary[self.DESTROY].parameters[0].name
        call(self.FAILS, self.DESTROY, **{first: ref})

    def __del__(self) -> None:
        with suppress(Exception):  # an exception in a destructor is printed and ignored
            self.close()
