"""The names of pyverbs, the Python binding of rdma-core 44.0, in front of the lab."""

from rdmalab.compat.pyverbs.unsupported import make_modules

make_modules(__name__)
