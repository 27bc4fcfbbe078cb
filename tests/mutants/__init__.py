"""Mutants of the engine: each makes one statement of the documents false, in plain sight.

`table/` holds them as data, `table.py` reads and applies them, `running.py` asks the items that are
bound to the statement whether they notice. `python -m tests.mutants [S042 …]` does a run. A mutant
is written from the statement's sentence, before its items are looked at, and not exchanged later.
"""
