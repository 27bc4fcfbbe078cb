"""pyverbs.libibverbs: empty in Python, as in rdma-core 64; C declarations of Cython's only."""
