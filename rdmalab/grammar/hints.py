"""Hints for an unknown word: the word itself, and exactly one suggestion."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 40  # what a message repeats of a text; difflib is quadratic beyond
_MISSPELLED = "set_wr_"  # for wr_set_
_SGE = ("addr", "length", "lkey")
_SAME = dict.fromkeys(("probability", "prob", "chance", "percent"), "rate")
"""Keys of other programs, and what they are called here."""
_NAMED = 6  # how many legal words a suggestion names


def quoted(text: str) -> str:
    """The text in quotes, cut when it is long."""
    return f'"{text}"' if len(text) <= _LONGEST else f'"{text[:_LONGEST]}…"'


def with_article(noun: str) -> str:
    """`a QP state`, `an errno`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def verb_of(word: str) -> str:
    """A function of C as the lab may call it: the example of ibv_wr_start has `ibv_set_wr_sge`."""
    plain = word.strip().removeprefix("ibv_")
    rest = plain.removeprefix(_MISSPELLED)
    return plain if rest == plain else f"wr_set_{rest}"


EMPTY = "new makes an empty world"
_SEARCH = "/ in a pane finds a text; explain WORD explains a term, help WORD a verb or a key"
_LEAVES = "quit leaves; new leaves a lab or a lesson only"
# Words for which other programs have what the lab calls otherwise.
ELSEWHERE = {
    "clear": f"{EMPTY}; Ctrl-L clears the answers",
    "cls": f"{EMPTY}; Ctrl-L clears the answers",
    "restart": EMPTY,
    "reboot": EMPTY,
    "init": EMPTY,
    "exit": _LEAVES,
    "leave": _LEAVES,
    "undo": "back undoes the last event",
    "theme": "settings theme NAME chooses the colours; F3 changes to the next theme",
    "ls": "show lists the objects, lessons the lessons",
    "compare": "rdmalab compare is a command of the shell; profile NAME changes the device here",
    "grade": "submit writes what you have done; rdmalab grade is a command of the shell",
    "check": "checklist shows the checks of why; rdmalab check is a command of the shell",
    "filter": "f in the pane Wire filters packets; help filter explains it",
    "branch": "branches lists the branches of time; switch NAME goes to one",
    "jump": "goto goes to a moment; F2 finds an object and shows it",
    "pin": "p in the pane of a node holds its queue pair; F2 finds any object",
    "send": "did you mean post_send?",
    "recv": "did you mean post_recv?",
    "receive": "did you mean post_recv?",
    "poll": "did you mean poll_cq?",
    "register": "did you mean reg_mr?",
    "find": _SEARCH,
    "search": _SEARCH,
    "memory": "reg_mr registers memory; show mr lists what is registered",
}
_WORLDS = ("world", "all", "everything", "lab", "session")


def elsewhere(word: str) -> str:
    """The hint for a word of other programs, also if it is misspelled; empty if there is none."""
    near = get_close_matches(word.lower(), ELSEWHERE, 1, 0.8) if len(word) <= _LONGEST else []
    return ELSEWHERE[near[0]] if near else ""


def world_hint(name: str) -> str:
    """The hint for a name that means the whole world, as in `reset world`; empty for any other."""
    return EMPTY if name.rpartition(".")[2].lower() in _WORLDS else ""


def part_of_sge(word: str, keys: list[str]) -> str:
    """The hint for a field of `ibv_sge` where sg holds all three; empty for any other word."""
    if word not in _SGE or "sg" not in keys:
        return ""
    is_address = word == "addr" and "remote_addr" in keys
    peer = "; remote_addr is the address at the peer" if is_address else ""
    return f"sg=A.mr0[0:64] is addr, length and lkey of the local bytes{peer}"


def suggest(word: str, legal: Iterable[str]) -> str:
    """One suggestion: the nearest legal word, else what would be legal, abbreviated."""
    words = list(dict.fromkeys(legal))
    lowered = {w.lower(): w for w in reversed(words)}
    near = get_close_matches(word.lower(), lowered, 1) if len(word) <= _LONGEST else []
    begun = [w for w in lowered if len(word) > 1 and w.startswith(word.lower())]
    ended = [w for w in lowered if w.endswith(f"_{word.lower()}")]
    same = [_SAME[word.lower()]] if _SAME.get(word.lower()) in lowered else []
    nearest = [*same, *near, *reversed(begun), *(ended if len(ended) == 1 else [])]
    return f"did you mean {lowered[nearest[0]]}?" if nearest else listed(words)


def listed(words: list[str], lead: str = "legal here: ") -> str:
    """`legal here: a, b, c, …`; nothing where nothing is legal."""
    more = ", …" if len(words) > _NAMED else ""
    return lead + ", ".join(words[:_NAMED]) + more if words else ""
