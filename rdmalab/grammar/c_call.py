"""A call of C that was pasted, as a line of the lab: what its arguments tell, and else an example.

`ibv_poll_cq(A_cq0, 16, wc)` is `poll_cq A.cq0 num_entries=16`. What stands in a structure is not in
the call: of `attr` the mask names the fields, of a work request nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from rdmalab.grammar.enum_words import without_prefix
from rdmalab.grammar.tokens import Token
from rdmalab.spec.states import ATTRIBUTES, Attr
from rdmalab.spec.usual import usual_word

# Arguments by their place in C, the first is 0: a key, or an object.
_ARGUMENTS: Mapping[str, Mapping[int, str]] = {
    "poll_cq": {1: "num_entries"}, "req_notify_cq": {1: "solicited_only"},
    "ack_cq_events": {1: "nevents"}, "create_cq": {1: "cqe", 4: "comp_vector"},
    "resize_cq": {1: "cqe"}, "reg_mr": {0: "pd", 2: "length", 3: "access"},
    "reg_mr_iova": {0: "pd", 2: "length", 3: "hca_va", 4: "access"},
    "alloc_mw": {0: "pd", 1: "type"}, "create_qp": {0: "pd"}, "create_ah": {0: "pd"},
    "create_srq": {0: "pd"}, "query_qp": {2: "attr_mask"}, "query_port": {1: "port_num"},
    "query_gid": {1: "port_num", 2: "index"}, "query_pkey": {1: "port_num", 2: "index"},
}  # fmt: skip
_OF_OBJECT = {"pd"}  # keys whose value is the name of an object
_NAMED = re.compile(r"([A-Z])_([a-z]+\d+)")  # a variable of an exported program
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+")
_FLAGS = re.compile(r"IBV_\w+( \| IBV_\w+)*")
_OF_PEER = {"dest_qp_num": "{peer}.qp0", "ah_attr": "{peer}"}
_STATE_OF = {"pkey_index": "INIT", "port_num": "INIT", "ah_attr": "RTR", "dest_qp_num": "RTR",
             "rq_psn": "RTR", "timeout": "RTS", "sq_psn": "RTS"}  # fmt: skip


def line_of(verb: str, arguments: Sequence[Token], example: str) -> str:
    """The line that a call stands for. arguments: the tokens after the opening parenthesis.

    example: a line of this verb, for what the call does not tell.
    """
    given = list(_texts(arguments))
    words = example.split(" ")
    node, subject = _subject(verb, given, words)
    if verb == "modify_qp" and len(mask := _mask(given)) > 1:
        return " ".join([verb, subject, *_modified(mask, node)])
    for place, key in _ARGUMENTS.get(verb, {}).items():
        value = _value(key, given[place]) if place < len(given) else ""
        if value:
            words = [*(w for w in words if not w.startswith(f"{key}=")), f"{key}={value}"]
    if subject:
        words[1] = subject
    return " ".join(words)


def _subject(verb: str, given: list[str], words: list[str]) -> tuple[str, str]:
    """The node of the call and the name of its object; those of the example where C has none."""
    first = _NAMED.fullmatch(given[0]) if given else None
    named = words[1] if len(words) > 1 else ""
    if first is None or 0 in _ARGUMENTS.get(verb, {}):
        return named.partition(".")[0], named
    return first[1], f"{first[1]}.{first[2]}"


def _texts(tokens: Sequence[Token]) -> Iterator[str]:
    """The arguments as text, without the call's own parentheses."""
    depth, text, stop = 0, "", -1
    for token in tokens:
        depth += token.is_("(") - token.is_(")")
        if depth < 0:
            break
        if token.is_(",") and not depth:
            yield text
            text, stop = "", -1
            continue
        apart = " " if text and (token.place.start > stop or "|" in (token.text, text[-1])) else ""
        text, stop = text + apart + token.text, token.place.stop
    if text:
        yield text


def _value(key: str, text: str) -> str:
    if key in _OF_OBJECT:
        found = _NAMED.fullmatch(text)
        return f"{found[1]}.{found[2]}" if found else ""
    if _NUMBER.fullmatch(text):
        return text
    if _FLAGS.fullmatch(text):
        return "|".join(without_prefix(word) for word in text.split(" | "))
    return ""


def _mask(given: list[str]) -> list[str]:
    """The attributes that the mask of ibv_modify_qp names."""
    words = given[2].replace("|", " ").split() if len(given) > 2 else []
    bits = Attr(0)
    for word in words:
        bits |= Attr.__members__.get(word.removeprefix("IBV_QP_"), Attr(0))
    return [name for name, row in ATTRIBUTES.items() if row.mask & bits]


def _modified(names: list[str], node: str) -> Iterator[str]:
    peer = "A" if node == "B" else "B"
    states = [state for name, state in _STATE_OF.items() if name in names]
    if "qp_state" in names:
        yield f"state={states[0] if states else 'RTS'}"
    for name in names:
        if value := _OF_PEER.get(name, usual_word(name)):
            yield f"{'ah' if name == 'ah_attr' else name}={value.format(peer=peer)}"
