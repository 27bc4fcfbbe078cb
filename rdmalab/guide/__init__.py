"""WHAT `explain` SAYS: articles, generated from the tables wherever a table knows.

Hand-written are the data modules only: `concepts` (words that no table holds), `causes` (what
usually is behind a status, and the command that tests it) and `notes` (a sentence on a member of an
enum or table). Everything else asks `spec`, `wire` and the signatures of the commands.
"""
