"""Protection domains."""

from collections.abc import Callable
from errno import EOPNOTSUPP

from rdmalab.command import Noun
from rdmalab.compat.pyverbs.base import LabObject, PyverbsObject
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.struct import expect
from rdmalab.hca.objects import ProtectionDomain


class PD(LabObject[ProtectionDomain]):
    """`ibv_pd`."""

    DESTROY, FAILS, RANK = "dealloc_pd", "Failed to dealloc PD", 8

    def __init__(self, creator: object, **kwargs: object) -> None:
        if kwargs.get("handle") is not None:
            raise PyverbsRDMAError("Failed to import PD", EOPNOTSUPP)
        if not isinstance(creator, Context):
            raise PyverbsUserError(f"Cannot create PD from {type(creator)}")
        self._allocate(creator)

    def _allocate(self, context: Context) -> None:
        self._made("Failed to allocate PD", "alloc_pd", Noun.PD, context.node)
        self._join(context)

    def advise_mr(self, advise: int, flags: int, sg_list: object) -> int:
        """`ibv_advise_mr`: refused with EOPNOTSUPP, no memory is paged on demand."""
        del advise, flags, sg_list
        raise PyverbsRDMAError("Failed to advise MR", EOPNOTSUPP)

    def unimport(self) -> None:
        """`ibv_unimport_pd`: the same as close."""
        self.close()

    @property
    def handle(self) -> int:
        return self.found.number

    @property
    def pd(self) -> "PD":
        return self


class ParentDomainContext(PyverbsObject):
    """Functions that allocate what a driver needs; the lab's devices need nothing."""

    __slots__ = ("_functions", "user_data")

    def __init__(
        self,
        pd: PD,
        alloc_func: Callable[..., object],
        free_func: Callable[..., object],
        user_data: object = None,
    ) -> None:
        self._functions, self.user_data = (pd, alloc_func, free_func), user_data


_ALLOCATORS_AND_CONTEXT = 3  # of ibv_parent_domain_init_attr_mask


class ParentDomainInitAttr(PyverbsObject):
    """`ibv_parent_domain_init_attr`."""

    __slots__ = ("_context", "comp_mask", "parent")

    def __init__(
        self, pd: PD, pd_context: ParentDomainContext | None = None, comp_mask: int = 0
    ) -> None:
        expect("pd", pd, PD, null=False)
        expect("pd_context", pd_context, ParentDomainContext)
        if pd_context is None and comp_mask & _ALLOCATORS_AND_CONTEXT:
            raise PyverbsUserError("comp_mask: ALLOCATORS and PD_CONTEXT need a pd_context")
        self.parent, self._context = pd, pd_context
        self.comp_mask = comp_mask | (_ALLOCATORS_AND_CONTEXT if pd_context is not None else 0)


class ParentDomain(PD):
    """A parent domain: it is written wherever a PD is. Own allocators are not called."""

    RANK = 7

    def __init__(self, context: Context, attr: ParentDomainInitAttr) -> None:
        text = "Failed to allocate Parent Domain"
        if attr.comp_mask:  # a device that has no buffers in the host cannot use them
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        self._made(text, "alloc_parent_domain", Noun.PD, context.node, pd=attr.parent.ref)
        self._join(context, attr.parent)
