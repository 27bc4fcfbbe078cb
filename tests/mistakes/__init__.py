"""Mistakes that people make, as an exam for `why`.

Each table names the kinds of one area: the lines that make the mistake, an expression that proves
that the failure came about, what the victim asks, and the answers that are right. The answers were
written down before the doctor was asked, and stay as they were: see `frozen.txt`.
"""
