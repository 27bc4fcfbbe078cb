"""Hostile input: lines, files, shared words, frames, logs, kills and disks that fail.

Everything follows from a seed. `python -m tests.hostile --inputs 500000 --kills 100` by hand; in
the test run 30,000 inputs and 10 kills with a new seed, which is printed; RDMALAB_SEED repeats it.
"""
