"""Reasons of refusals and drops: rules and errnos, refusals, drops, asynchronous events."""

from collections.abc import Iterator
from errno import EHOSTUNREACH
from functools import partial

from rdmalab.guide.article import Article, ArticleSection, Row, article
from rdmalab.guide.entry import About, Entry, Sort, normal, of_member, of_row
from rdmalab.guide.phrases import errno_of, sentence_of
from rdmalab.guide.sentences import Errno
from rdmalab.guide.sentences import errnos as described
from rdmalab.guide.statuses import made_by
from rdmalab.spec import absent
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.document_differences import DIFFERENCES, GUIDE_LESSON, guide_note, refused_on
from rdmalab.spec.profiles import CELL_OF_RULE, PROFILES
from rdmalab.spec.refusals import DROPS, REFUSALS, Refusal, Syndrome
from rdmalab.spec.rules import OF_EACH_REQUEST, RULES, errno_name
from rdmalab.spec.states import ATTRIBUTES
from rdmalab.spec.statuses import WCStatus

_GUIDE = "bring-up-guide"
_KIND = "a document and devices"


def difference_entries() -> Iterator[Entry]:
    """Each difference, and the attributes that a bring-up guide lists for too many types."""
    for name in DIFFERENCES:
        yield Entry(name, _KIND, (), partial(_article, name))
    yield Entry(_GUIDE, _KIND, ("bring-up guide",), _guide_article)


def _article(name: str) -> Article:
    row = DIFFERENCES[name]
    rows: list[Row] = [
        ("document", row.document),
        ("devices", row.devices),
        ("because", row.reason),
        ("source", row.source),
        ("shown by", f"load {row.lesson}"),
    ]
    return article(name, _KIND, rows, [f"explain {row.about[0]}"])


def _guide_article() -> Article:
    kinds = "all connected or all unconnected ones"
    rows: list[Row] = [
        ("document", f"a widely read guide lists attributes for all queue pairs, {kinds}"),
        *((name, f"refused on {' '.join(types)}") for name, types in _listed()),
        ("shown by", f"load {GUIDE_LESSON}"),
    ]
    return article(_GUIDE, _KIND, rows, ["explain attr-surplus", "explain modify_qp UD"])


def _listed() -> Iterator[tuple[str, list[str]]]:
    for name, row in ATTRIBUTES.items():
        if types := refused_on(row.mask):
            yield name, [qp_type.name for qp_type in types]


def differing(entry: Entry) -> list[ArticleSection]:
    """The section `differs`, if a document and devices disagree about this word."""
    parts = [*_differences_of(entry), *_of_the_guide(entry)]
    return [ArticleSection("differs", parts)] if parts else []


def _differences_of(entry: Entry) -> Iterator[str]:
    words = _words(entry)
    for name, row in DIFFERENCES.items():
        if words & {normal(word) for word in row.about}:
            yield f"{row.brief}: explain {name}"


def _words(entry: Entry) -> set[str]:
    return {normal(word) for word in (entry.name, *entry.words)}


_OF_THE_GUIDE = {normal("attr-surplus"), normal("modify_qp")}


def _of_the_guide(entry: Entry) -> Iterator[str]:
    """Attributes that a bring-up guide lists for more types than devices have them on."""
    if entry.about is not None and entry.about.sort is Sort.ATTRIBUTE:
        mask = ATTRIBUTES[entry.about.key].mask
        if note := guide_note(refused_on(mask), mask):
            yield note
    elif _words(entry) & _OF_THE_GUIDE:
        yield f"a widely read guide lists more attributes: explain {_GUIDE}"


def entries() -> Iterator[Entry]:
    """Errnos, events, refusals, drops, rules."""
    for number in errnos():
        name = errno_name(number)
        words = (str(number), f"errno {number}", _errno(number).says)
        about = About(Sort.ERRNO, number)
        yield Entry(name, "errno", words, partial(errno_article, number), about)
    for event in AsyncEvent:
        text = EVENTS[event].text
        yield of_member("async event", event, event_article, text, sort=Sort.EVENT)
    for name in REFUSALS:
        yield of_row("refusal", name, refusal_article, Sort.REFUSAL, "refusal")
    for name in DROPS:
        yield of_row("drop", name, drop_article, Sort.DROP, "drop")
    for name in RULES:
        yield of_row("rule", name, rule_article, Sort.RULE, "rule")


_ON_LINUX = {EHOSTUNREACH: "ah-neighbour"}
"""Errnos that Linux can return where a rule of the lab returns another one."""


def errnos() -> list[int]:
    """The errnos that some rule raises on some profile, and those of Linux instead of them."""
    plain = [row.errno for row in RULES.values()]
    theirs = [n for p in PROFILES.values() for m in (p.errnos, p.batch_errnos) for n in m.values()]
    return list(dict.fromkeys([*plain, *theirs, *_ON_LINUX]))


def _errno(number: int) -> Errno:
    return described().get(number, Errno(errno_name(number), ""))


def errno_article(number: int) -> Article:
    """One errno and the rules that raise it."""
    rules = [name for name, row in RULES.items() if row.errno == number]
    elsewhere = [
        f"{profile.name}{where}: {' '.join(names)}"
        for profile in PROFILES.values()
        for where, errnos_ in (("", profile.errnos), (" wr_complete", profile.batch_errnos))
        if (names := [name for name, errno in errnos_.items() if errno == number])
    ]
    rows: list[Row] = [
        ("", _errno(number).means),
        ("says", _errno(number).says),
        ("rules", " ".join(rules)),
        ("also", elsewhere),
    ]
    shown = [*rules, *([_ON_LINUX[number]] if number in _ON_LINUX else [])]
    see = [f"explain rule {name}" for name in shown[:1]]
    return article(errno_name(number), f"errno {number}", rows, see)


# drivers/infiniband/core/addr.c, rdma_addr_find_l2_eth_by_grh: rdma_resolve_ip with 1000 ms.
_WAITS_ON_LINUX = {"ah-neighbour": "after about 1 s, in which the kernel asks for the MAC"}


def rule_article(name: str) -> Article:
    """One reason to refuse a call at once."""
    rows: list[Row] = [
        ("", sentence_of(name)),
        ("returns", errno_of(name)),
        ("accepted", _accepted(name)),
        ("wr_complete", _in_a_batch(name)),
        ("when", _when(name)),
        ("source", RULES[name].source),
    ]
    see = [f"explain {errno_name(RULES[name].errno)}"]
    kind = "rule, refused by the call" if name in _WAITS_ON_LINUX else "rule, refused at once"
    return article(name, kind, rows, see)


def _accepted(rule: str) -> str:
    """The profiles whose cell switches the rule off: there the call succeeds."""
    cell = CELL_OF_RULE.get(rule)
    if cell is None:
        return ""
    names = [profile.name for profile in PROFILES.values() if not getattr(profile, cell)]
    return f"by profile {' and '.join(names)}: explain {cell}" if names else ""


def _when(rule: str) -> str:
    """The state after a call that a rule refuses."""
    if rule in _WAITS_ON_LINUX:
        return f"here at once, on Linux {_WAITS_ON_LINUX[rule]}; the call has changed nothing"
    if rule not in OF_EACH_REQUEST:
        return "at once; the call has changed nothing"
    return (
        "at once; this work request is not posted, and none after it. Those before it in the list "
        "stay posted; wr_complete posts none of the batch"
    )


def _in_a_batch(rule: str) -> str:
    """The profiles on which wr_complete returns another errno than post_send."""
    odd = [
        f"{profile.name}: {errno_name(profile.batch_errnos[rule])}"
        for profile in PROFILES.values()
        if rule in profile.batch_errnos
    ]
    return "; ".join(odd)


def refusal_article(name: str) -> Article:
    """One refusal of a responder, with its effects on both sides."""
    row = REFUSALS[name]
    rows: list[Row] = [
        ("", row.sentence),
        ("wire", _answer(row)),
        ("here", _here(row)),
        ("sender", _sender(row)),
    ]
    for profile in PROFILES.values():
        theirs = profile.refusals.get(name, row)
        if theirs != row:
            rows.append((profile.name, _both_sides(theirs, row)))
    see = [f"explain {row.syndrome.name}"] if row.syndrome is not None else []
    return article(name, "refusal of a responder", rows, [*see, "why"])


def _both_sides(theirs: Refusal, row: Refusal) -> str:
    """The effects on a profile; those on the sender only if they differ from `row`."""
    text, sender = f"{_answer(theirs)}; {_here(theirs)}", _sender(theirs)
    return text if sender == _sender(row) else f"{text}; sender: {sender}"


def _answer(row: Refusal) -> str:
    if row.syndrome is None:
        return "no reply"
    once = ", once per gap" if row.once else ""
    return f"{row.syndrome.name} {row.syndrome:#04x}{once}"


def _here(row: Refusal) -> str:
    """Effects of a refusal on the responder."""
    lines = ["its QP goes to ERR" if row.fatal else "its QP stays in its state"]
    if row.status is not None:
        lines.append(f"a receive it had taken completes with {row.status.name}")
    if row.event is not None:
        lines.append(f"{'otherwise ' if row.status else ''}{row.event.name} is raised")
    return "; ".join(lines)


def _sender(row: Refusal) -> str:
    """Effect of a refusal on the requester."""
    if (status := made_by(row)) is not None:
        return f"its request ends with {status.name}"
    if row.syndrome is Syndrome.RNR_NAK:
        last = WCStatus.RNR_RETRY_EXC_ERR.name
        return f"waits and sends again, up to rnr_retry times, then {last}"
    if row.syndrome is Syndrome.NAK_SEQUENCE:
        return f"sends again at once, up to retry_cnt times, then {WCStatus.RETRY_EXC_ERR.name}"
    if row.syndrome is Syndrome.ACK:
        return f"gets the ACK: its request completes with {WCStatus.SUCCESS.name}"
    return "gets no reply; its ack timer is running"


def drop_article(name: str) -> Article:
    """One reason why a packet is dropped."""
    rows: list[Row] = [
        ("", DROPS[name].sentence),
        ("wire", "no reply; a counter of drops"),
        ("sender", f"RC: ack timer, finally {WCStatus.RETRY_EXC_ERR.name}; other types: nothing"),
    ]
    return article(name, "reason to drop a packet", rows, ["why", "explain retry"])


def _never(event: AsyncEvent) -> str:
    reason = absent.REASONS[AsyncEvent].get(event, "")
    return f"never: {reason}" if reason else ""


def event_article(event: AsyncEvent) -> Article:
    """One asynchronous event."""
    row = EVENTS[event]
    raisers = [refusal.name for refusal in REFUSALS.values() if refusal.event is event]
    rows: list[Row] = [
        ("says", row.text),
        ("when", row.when),
        ("kind", row.kind.value),
        ("refusals", " ".join(raisers)),
        ("here", _never(event)),
    ]
    see = ["explain async event", "ibv_get_async_event(3)"]
    return article(full_name(event), f"async event {int(event)}", rows, see)
