"""Mistakes that people make, as an exam for `why`.

Each table names the kinds of one area: the lines that make the mistake, an expression that proves
that the failure came about, what the victim asks, and the answers that are right. The answers were
written down, and committed, before the doctor was asked; a later change of one says why. Both
questions are judged alike since the answer of `why` alone shows its first warning, too; before that
only the count of warnings stood there, and a root among them was wrong.
"""
