"""The words and signs of expressions, and how strongly they bind."""

WORLD = ("idle", "now", "wire", "log", "why")
"""The first words of paths that belong to no node."""

KEYWORDS = ("and", "or", "not")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
SINCE = "since"
"""The key of a count that takes a moment: `since=@ready`."""

# All of a row bind from the left, comparisons do not chain.
OR, AND, NOT, COMPARED, SUM, PRODUCT, SIGN = range(1, 8)
STRENGTH = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(COMPARISONS, COMPARED),
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "//": PRODUCT,
}
