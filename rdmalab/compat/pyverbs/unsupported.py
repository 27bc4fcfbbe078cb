"""Classes that no device of the lab has: there to be imported, refused when one is made.

A device without a feature answers EOPNOTSUPP: programs that know how to go on without it do.
"""

import errno
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
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
            text = (other_device or {}).get(name, "")
            body = {"__module__": module["__name__"], "why": why, "other_device": text}
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


_RULES = "the lab's devices take no mlx5 direct rules"
_VERBS = "the lab's devices take no mlx5 direct verbs"
# Modules that have stand-ins only: name → what it is for, why it is refused, base → classes.
MODULES: Mapping[str, tuple[str, str, Mapping[type | str | None, str]]] = {
    "cmid": ("the connection manager; the lab's queue pairs are connected by hand.",
        "the lab has no connection manager (librdmacm)",
        {None: "AddrInfo CMEvent CMEventChannel CMID ConnParam JoinMCAttrEx UDParam"}),
    "dmabuf": ("memory of a GPU.", "the lab has no GPU to take memory from", {None: "DmaBuf"}),
    "providers.mlx5.dr_action": ("mlx5 direct rules: what happens to a packet.", _RULES, {
        None: "DrAction DrActionDestAttr DrFlowMeterAttr DrFlowSamplerAttr",
        "DrAction": """DrActionDefMiss DrActionDestArray DrActionDestTable DrActionDestTir
            DrActionDrop DrActionFlowCounter DrActionFlowMeter DrActionFlowSample
            DrActionIBPort DrActionModify DrActionPacketReformat DrActionPopVLan
            DrActionPushVLan DrActionQp DrActionTag DrActionVPort"""}),
    "providers.mlx5.dr_domain": ("mlx5 direct rules: where they hold.", _RULES, {None: "DrDomain"}),
    "providers.mlx5.dr_matcher": ("mlx5 direct rules: which packets.", _RULES, {None: "DrMatcher"}),
    "providers.mlx5.dr_rule": ("mlx5 direct rules: a match and its actions.", _RULES,
        {None: "DrRule"}),
    "providers.mlx5.dr_table": ("mlx5 direct rules: matchers of one level.", _RULES,
        {None: "DrTable"}),
    "providers.mlx5.mlx5dv_crypto": ("mlx5: encryption of what is read and written.",
        "the lab's devices do not encrypt",
        {None: """Mlx5CryptoAttr Mlx5CryptoExtLoginAttr Mlx5CryptoLogin Mlx5CryptoLoginAttr
            Mlx5DEK Mlx5DEKAttr Mlx5DEKInitAttr"""}),
    "providers.mlx5.mlx5dv_dmabuf": ("mlx5: regions of a dma-buf.", _VERBS, {None: "Mlx5DmaBufMR"}),
    "providers.mlx5.mlx5dv_event": ("mlx5: events of DevX.", _VERBS,
        {None: "EventChannel EventFD EventHeader"}),
    "providers.mlx5.mlx5dv_mkey": ("mlx5: memory keys over interleaved and signed memory.", _VERBS,
        {None: """Mlx5Mkey Mlx5MkeyConfAttr Mlx5MkeyErr Mlx5MrInterleaved Mlx5SigBlockAttr
            Mlx5SigBlockDomain Mlx5SigCrc Mlx5SigErr Mlx5SigT10Dif"""}),
    "providers.mlx5.mlx5dv_objects": ("mlx5: the insides of objects of the verbs.", _VERBS,
        {None: "Mlx5DvCQ Mlx5DvObj Mlx5DvPD Mlx5DvQP Mlx5DvSRQ"}),
    "providers.mlx5.mlx5dv_sched": ("mlx5: shares of the bandwidth.", _VERBS,
        {None: "Mlx5dvSchedAttr Mlx5dvSchedLeaf Mlx5dvSchedNode"}),
}  # fmt: skip
ALIASES = {"enums": "libibverbs_enums", "cm_enums": "librdmacm_enums"}
"""The modules of enums up to rdma-core 58, and what they are called since 59."""
EMPTY = ("libibverbs", "librdmacm")  # in Python, as in rdma-core 64: C declarations of Cython's


def make_modules(package: str) -> None:
    """Make the modules of MODULES, ALIASES and EMPTY, which have no file, in this package."""
    for name, about in (
        dict.fromkeys(EMPTY, "") | {n: row[0] for n, row in MODULES.items()}
    ).items():
        module = ModuleType(f"{package}.{name}", about)
        module.__spec__ = ModuleSpec(module.__name__, None)
        sys.modules[module.__name__] = module
    for name, (_, why, names) in MODULES.items():
        stand_ins(vars(sys.modules[f"{package}.{name}"]), why, names)
    vars(sys.modules[f"{package}.providers.mlx5.dr_action"])["ACTION_SIZE"] = 8
    for older, newer in ALIASES.items():
        sys.modules[f"{package}.{older}"] = import_module(f"{package}.{newer}")
