"""One thing to try after a verb was refused, made from the tables; empty where nothing is sure."""


# Where a queue pair keeps the number of what it uses.
