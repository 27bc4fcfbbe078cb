"""pyverbs.librdmacm_enums: the enums and constants of librdmacm, as from rdma-core 59 on."""

from typing import TYPE_CHECKING, Any

from rdmalab.compat.enum_tables import OF_LIBRDMACM, fill

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the enums and members, which are added below


fill(globals(), "librdmacm", OF_LIBRDMACM)
