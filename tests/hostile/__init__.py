"""Hostile input: lines, files, shared words, frames, logs, kills and disks that fail.

Each attack is a series of numbered parts, made of their numbers alone. A usual run of the tests
draws a few parts of each series with the printed seed (11,000 inputs), RDMALAB_ALL=1 tries all of
them (55,000). `python -m tests.hostile --inputs 500000 --kills 100` is another series each time.
"""
