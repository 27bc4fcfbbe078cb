"""WHAT `explain` SAYS: articles, generated from the tables wherever a table knows the fact.

The sentences that no table has are in `data/*.toml`, and `sentences` reads them. Everything else
asks `spec`, `wire` and the signatures of the commands.
"""
