"""The lines of a node's card, made from rows of the views: rank and text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from textual.content import Content

from rdmalab.spec.completions import Arm
from rdmalab.spec.states import ERROR_STATES, QPState
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WROpcode, is_local
from rdmalab.tui.content import (
    Ranked,
    at_right,
    click,
    dim,
    event_link,
    filled,
    first_fit,
    hex_line,
    piece,
    sign_of,
    style,
)  # fmt: skip
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning, cells, words
from rdmalab.views.queues import QpRow
from rdmalab.views.wqes import Progress, RecvRow, WqeRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdmalab.views.completions import CqRow, WcRow
    from rdmalab.views.memory import HexRow, MrRow
    from rdmalab.views.receive_need import NeedRow
    from rdmalab.views.srq import SharedRecvRow, SrqRow
    from rdmalab.views.stalled import FailureRow, StalledRow
    from rdmalab.views.states import DiagramRow
    from rdmalab.workbench.view_requests import AsyncRow

# Ranks: what a card of seven lines shows first. Equal ranks: the upper line stays.
(STATES, TROUBLE, QUEUE, FAILED, WAITS, PAIRS, BYTES, IDLE, MORE, OBJECTS, NUMBERS, BLANK,
 OTHERS) = range(0, 1300, 100)  # fmt: skip
_ARROWED = 52  # columns from which arrows stand between the states, on both nodes
ROOMY = 48  # columns; from here on queues are named in words and drawn before their numbers
_CELLS = 8  # of a drawn queue, at most: equal queues are drawn equally on both nodes
ITEMS = 8  # of a list, at most
_OCTETS = 8  # in a line

CHIPS = dict.fromkeys(ERROR_STATES, "bad") | {
    QPState.SQD: "odd", QPState.RTR: "good", QPState.RTS: "good"
}  # fmt: skip
_LEFT = {Meaning.FAILED: "failed", Meaning.UNDER_WAY: "under way", Meaning.WAITING: "waiting"}
_ARROWS = dict.fromkeys(ERROR_STATES, "   ") | {QPState.SQD: " ⇄ "}


def own(name: str) -> str:
    """A name without its node."""
    return name.rpartition(".")[2]


def state_line(row: DiagramRow, width: int) -> Content:
    """The states that the type can have, the current one as a filled chip, and the last move."""
    line = _chips(row, " → " if width >= _ARROWED else " ")
    if (move := row.taken) is None:
        return line
    texts = (f"{move.text}  ", f"from {move.before.name} ", "")
    forms = [at_right(line, event_link(move.event, text), width) for text in texts]
    return next((form for form in forms if form is not line), line)


def _chips(row: DiagramRow, arrow: str) -> Content:
    line = Content()
    for each in row.states:
        if each.possible:
            gap = _ARROWS.get(each.state, arrow) if len(arrow) > 1 else arrow
            gap = gap if line else ""
            word, style = each.state.name, "" if each.legal_next else "$dim"
            if each.current:
                tone = CHIPS.get(each.state)  # the terminal's own ink is no ground: it is reversed
                word, style = f"●{word}", f"bold $on on ${tone}" if tone else "bold reverse"
            action = click("explain", f"state {each.state.name}")
            line = Content.assemble(line, (gap, "$dim"), (word, f"{style} {action}"))
    return line


def pairs_line(states: Sequence[tuple[str, QPState]], width: int) -> Content:
    """`40 QPs: 38 RTS ✗ 1 ERR qp17`: a click on a name chooses the queue pair."""
    (most, _), *_ = counts = Counter(state for _, state in states).most_common()
    parts = [Content.styled(f"{len(states)} QPs:", f"bold {click('open', 'show qp')}")]
    counts.sort(key=lambda each: (each[0] is not most, CHIPS.get(each[0], "z")))
    for state, count in counts:
        failed = state in ERROR_STATES
        tone = style(Meaning.FAILED) if failed else ""
        parts.append(Content.styled(f"{'✗ ' * failed}{count} {state.name}", tone))
        named = [Content.styled(own(name), f"{tone} @click=choose({name!r})")
                 for name, its in states if its is state is not most]  # fmt: skip
        parts.append(filled((width - 16) // 2, named, " "))
    return filled(width, parts, " ")


def pair_lines(rows: Iterable[QpRow], width: int) -> Ranked:
    """The other queue pairs, one a line: state, requests, peer. A click on one chooses it."""
    found: Ranked = []
    for at, row in enumerate(rows):
        about, is_bad = f"@click=choose({row.name!r})", row.state in ERROR_STATES
        name = Content.styled(f"{own(row.name):<5}", f"bold {about}")
        state = piece(row.state.name, Meaning.FAILED if is_bad else Meaning.PLAIN, about)
        counts = zip(_LEFT, (row.sq.failed, row.sq.on_wire, row.sq.waiting), strict=True)
        counts_text = counted((kind for kind, count in counts for _ in range(count)), _LEFT)
        used = [dim(f"{short} {queue.used} of {queue.capacity}")
                for short, queue in (("SQ", row.sq), ("RQ", row.rq)) if queue.capacity]  # fmt: skip
        found.append((OTHERS + at, filled(width, [name, state, *counts_text, *used])))
    return found


def queue_line(
    label: tuple[str, str, str], slots: tuple[int, int], kinds: Sequence[Meaning],
    words: Sequence[Content], width: int,
) -> Content:  # fmt: skip
    """A queue: its name, its slots in numbers, what is in them, and a drawing of the slots.

    label: the short name, the word, and what `explain` is asked. slots: used, all. kinds: of each
    slot in use. The first words go first where there is no room.
    """
    (short, word, topic), (used, size) = label, slots
    name = f"{word:<10}" if width >= ROOMY else f"{short} "
    about = f"bold {click('explain', topic)}"
    head = Content.assemble((name, about), f"{used} of {size}".ljust(8 if width >= ROOMY else 0))
    forms = (filled(999, [head, *words[at:]]) for at in range(len(words) + 1))
    line = first_fit(width, *forms)
    return at_right(line, _gauge(kinds, size), width) if used else line


def _gauge(kinds: Sequence[Meaning], size: int) -> Content:
    """The slots of a queue, one a cell, `…` for free ones without a cell.

    Where more are in use than there are cells, each cell stands for equally many slots, whose
    number is written beside them, and shows the worst.
    """
    share = -(-size // _CELLS) if len(kinds) > _CELLS else 1
    groups = (kinds[at : at + share] for at in range(0, len(kinds), share))
    drawn = [_slot(min(group, key=_ORDER.index)) for group in groups]
    free = "□" * (min(_CELLS, -(-size // share)) - len(drawn))
    scale = f" {share} each" if share > 1 else "…" if size > _CELLS else ""
    return Content.assemble(*drawn, (free + scale, "$dim"))


_ORDER = (Meaning.FAILED, Meaning.FLUSHED, Meaning.REFUSED, Meaning.WAITING, Meaning.UNDER_WAY,
          Meaning.PLANNED, Meaning.OK, Meaning.DIM)  # fmt: skip


def _slot(meaning: Meaning, about: str = "") -> Content:
    """A slot in use; a receive that is ready is a full slot without a sign."""
    return Content.styled("▪", about) if meaning is Meaning.PLANNED else sign_of(meaning, about)


def counted(meanings: Iterable[Meaning], words: dict[Meaning, str]) -> list[Content]:
    """`✓ 1 acked`, `✗ 2 failed`, `3 ready`: how many there are of each."""
    counts = Counter(meanings)
    found = ((f"{counts[each]} {word}", each) for each, word in words.items() if counts[each])
    return [Content(text) if meaning is Meaning.PLANNED else piece(text, meaning)
            for text, meaning in found]  # fmt: skip


# ---- receives -----------------------------------------------------------------------------------
def receives(
    queue: QpRow | SrqRow, rows: Sequence[RecvRow | SharedRecvRow], need: NeedRow | None, width: int
) -> Ranked:
    """A receive queue, own or shared, and its receives; of a shared one, who took which."""
    if isinstance(queue, QpRow):
        label, slots = ("RQ", "receive", "max_recv_wr"), (queue.rq.used, queue.rq.capacity)
        rq, done, parts = queue.rq, "used", []
        many = (rq.failed, rq.acked - rq.failed, rq.on_wire, rq.waiting)
    else:
        label, slots = ("SRQ", own(queue.name), "srq"), (queue.used, queue.capacity)
        done, many = "taken", (0, queue.used - queue.count, 0, queue.count)
        parts = [dim(f"limit {queue.limit} armed")] if queue.armed else []
        parts += [piece("error state", Meaning.FAILED)] if queue.error else []
    words = {Meaning.FAILED: _LEFT[Meaning.FAILED], Meaning.OK: done, Meaning.UNDER_WAY: "in use"}
    words[Meaning.PLANNED] = "ready"
    kinds = [meaning for meaning, count in zip(words, many, strict=True) for _ in range(count)]
    parts += [*counted(kinds, words), *_needed(need)]
    ranked: Ranked = [(TROUBLE if need else QUEUE if kinds else IDLE,
                       queue_line(label, slots, kinds, parts, width))]  # fmt: skip
    newest = rows[-ITEMS:] if isinstance(queue, QpRow) else rows[: -ITEMS - 1 : -1]
    for at, row in enumerate(newest):
        meaning, word = _received(row)
        about = click("ask", fmt.work_name(queue.name, row.wr_id, is_send=False))
        text = f" {fmt.wr(row.wr_id)} {row.length} B {word}", about
        ranked.append((MORE + 1 + at, Content.assemble(" ", _slot(meaning, about), text)))
    return ranked if slots[1] else []


def _received(row: RecvRow | SharedRecvRow) -> tuple[Meaning, str]:
    if isinstance(row, RecvRow):
        used = row.status is Progress.ON_WIRE
        word = f"in use, {row.received} B so far" if used else "ready"
        return Meaning.UNDER_WAY if used else Meaning.PLANNED, word
    taken = f"taken by {own(row.qp)} ev {row.event}" if row.qp else "ready"
    return Meaning.OK if row.qp else Meaning.PLANNED, taken


def _needed(need: NeedRow | None) -> list[Content]:
    """The reason a receive is missing: an alarm, as a message found none or will find none."""
    if need is None:
        return []
    word, about = f"{need.due.partition(' ')[0]} needs a receive", click("explain", "RNR")
    if need.missed is not None:
        word, about = "no receive is posted", click("event", need.missed)
    return [piece(word, Meaning.ATTENTION, about)]


# ---- completions --------------------------------------------------------------------------------
def completions(cq: CqRow, rows: Sequence[WcRow], qp: str, role: str, width: int) -> Ranked:
    """A completion queue: its newest completion, polled or not, then the older ones.

    After a flush the failure that has led to it stands before the flushed ones.

    qp: the queue pair that is shown; completions of others name theirs. role: `sends`, `receives`
    where a queue pair has two CQs.
    """
    lines = [piece("overrun", Meaning.FAILED, click("explain", "cq-overrun"))] if cq.dead else []
    label = (own(cq.name) if role else "CQ", own(cq.name) if role else "completed", "cq")
    numbers_end = 20 if width >= ROOMY else 2 + len(f"{label[0]} {cq.count} of {cq.capacity}")
    room = width - numbers_end - sum(part.cell_length + 2 for part in lines)
    shown, polled = _decisive(cq, rows)
    lines += [completion(shown, qp, room, polled=polled)] if shown is not None else []
    line = queue_line(label, (cq.count, cq.capacity), [ended(row) for row in rows], lines, width)
    ranked = [(QUEUE if lines else IDLE, filled(width, [line, dim(role)]))]
    if cq.events:
        verb = f"get_cq_event {cq.channel}"
        unread = piece(f"{fmt.count(cq.events, 'event')} not read: ", Meaning.ATTENTION)
        ranked.append((WAITS, Content.assemble(" ", unread, (verb, click("type_in", verb)))))
    elif cq.armed is not Arm.NONE:
        kind = "solicited completion" if cq.armed is Arm.SOLICITED else "completion"
        ranked.append((MORE, dim(f" armed for the next {kind}")))
    older = [row for row in rows if row is not shown][-ITEMS:]
    for age, row in enumerate(reversed(older), 1):
        next_one = dim("poll_cq returns this one next" if row is rows[0] else "")
        words = [Content(" ") + completion(row, qp, width - 1), next_one]
        ranked.append((MORE + 2 + age, filled(width, words)))
    return ranked


def _decisive(cq: CqRow, rows: Sequence[WcRow]) -> tuple[WcRow | None, bool]:
    """The completion that is looked at first, and whether it was polled.

    The newest; if that was flushed, the first failure of its queue pair that was not.
    """
    last = rows[-1] if rows else cq.last
    if last is not None and ended(last) is Meaning.FLUSHED:
        failed = (row for row in rows if row.qp == last.qp and ended(row) is Meaning.FAILED)
        last = next(failed, last)
    return last, not rows


def ended(row: WcRow | WqeRow) -> Meaning:
    """The end of a work request, or its progress."""
    return next(cell.meaning for cell in cells(row, only=("status",)))


def completion(row: WcRow, qp: str, width: int, *, polled: bool = False) -> Content:
    """`✗ wr8 WR_FLUSH_ERR`, `✓ wr1 RECV SUCCESS 64 B polled`."""
    about = click("ask", fmt.work_name(row.qp, row.wr_id, is_send=row.is_send))
    tail = f"{f' {own(row.qp)}' if row.qp != qp else ''}{' polled' if polled else ''}"
    brief = words(row)
    brief_words = brief.split()
    shorter = " ".join(word for word in brief_words if word != "SUCCESS")
    parts = (brief, shorter, " ".join(brief_words[:3]), f"{brief_words[0]} {row.status.name}")
    forms = (piece(part + tail, ended(row), about) for part in parts)
    return first_fit(width, *forms, piece(row.status.name, ended(row), about))


# ---- memory, troubles, numbers ------------------------------------------------------------------
def memory(row: MrRow, octets: Sequence[HexRow], start: int, width: int) -> Ranked:
    """The bytes that were used last, from `start` on; a region's name, size and keys."""
    about, zeros = click("type_in", f"show {row.name}"), 0
    lines = [(each, column) for each in octets for column in range(0, len(each.octets), _OCTETS)]
    here = [(e, column) for e, column in lines if e.offset + column <= start][-1:] or lines[:1]
    if width < ROOMY:
        return [(BYTES, _bytes(own(row.name), *place, width).stylize(about)) for place in here]
    name = Content.styled(f"{own(row.name):<8}", f"bold {about}")
    keys = [dim(f"rkey {row.rkey:#x}"), dim(f"lkey {row.lkey:#x}")]
    ranked: Ranked = [(BYTES + 1, filled(width, [name, Content(f"{row.length} B"), *keys]))]
    for each, column in lines:
        part = range(column, column + _OCTETS)
        touched = any(at in part for at in (*each.read, *each.written))
        zeros = 0 if touched or any(each.octets[column : part.stop]) else zeros + 1
        rank = BYTES if (each, column) in here else OBJECTS + 2 + len(ranked)
        if zeros < 2 or rank == BYTES:
            ranked.append((rank, hex_line(each, column, _OCTETS).stylize(about)))
        elif zeros == 2:  # the first of many
            ranked.append((rank, dim(f"+{each.offset + column:03x} zeros")))
    return ranked


def _bytes(name: str, row: HexRow, column: int, width: int) -> Content:
    """Bytes in one narrow line: without their text, or half of them, where there is no room."""
    whole = hex_line(row, column, _OCTETS, name)
    bare = whole[: len(name) + len("+000") + _OCTETS * 3]
    return first_fit(width, whole, bare, hex_line(row, column, _OCTETS // 2, name))


def pending(rows: Sequence[AsyncRow], width: int) -> Content:
    """`! async event QP_ACCESS_ERR not read: get_async_event B`."""
    name, verb = rows[0].event.name, f"get_async_event {rows[0].node}"
    named = f"{name} and {len(rows) - 1} more" if len(rows) > 1 else name
    short = verb.partition(" ")[0]
    forms = ((f"async event {named} not read: ", verb), (f"{named} not read: ", verb),
             (f"{named}: ", verb), (f"{name} ", short),
             (f"{len(rows)} pending: ", short))  # fmt: skip
    about, typed = click("explain", name), f"{style(Meaning.ATTENTION)} {click('type_in', verb)}"
    return first_fit(width, *(piece(text, Meaning.ATTENTION, about) + Content.styled(word, typed)
                              for text, word in forms))  # fmt: skip


def numbers(qp: QpRow, width: int) -> Ranked:
    """PSNs, retries, sizes and timers of a queue pair, as far as its type has them."""
    transport, lines = TRANSPORTS[qp.qp_type], []
    if transport.connected and qp.peer:
        # The two that are compared with those of the peer come first.
        lines.append(f"PSN next {qp.next_psn}  expected {qp.rq_psn}"
                     f"  unacknowledged from {qp.unacked_psn}  MSN {qp.msn}")  # fmt: skip
    if transport.acknowledged and transport.sends and qp.peer:
        left = f"{qp.rnr_retries_left} of {qp.rnr_retry} left"
        left = "unlimited" if qp.rnr_retry == INFINITE_RETRIES else left
        timeout = fmt.duration(qp.timeout_ns) if qp.timeout_ns is not None else "off"
        lines += [f"retries {qp.retries_left} of {qp.retry_cnt} left  RNR retries {left}",
                  f"ack timeout {timeout}  RNR NAK asks for {fmt.duration(qp.min_rnr_timer_ns)}",
                  f"path_mtu {qp.path_mtu}  max_rd_atomic {qp.max_rd_atomic}"
                  f"  max_dest_rd_atomic {qp.max_dest_rd_atomic}"]  # fmt: skip
    if transport.addressed:
        lines.append(f"Q_Key {qp.qkey:#x}  next PSN {qp.next_psn}  groups {qp.groups or 'none'}")
    return [
        (NUMBERS + at, filled(width, map(dim, line.split("  ")))) for at, line in enumerate(lines)
    ]


_HOLDS = {"fence": "for the fence", "rd-atomic": "for max_rd_atomic", "window": "for the window"}


def sends(
    qp: QpRow, rows: Sequence[WqeRow], stalled: StalledRow | None, failure: FailureRow | None,
    width: int,
) -> Ranked:  # fmt: skip
    """The send queue, and its work requests: the failed and the waiting ones stay longest."""
    if not qp.sq.capacity:
        return []
    meanings = [_meaning(row, stalled) for row in rows]
    done = "acked" if TRANSPORTS[qp.qp_type].acknowledged else "sent"
    words = {Meaning.OK: done, **_LEFT, Meaning.REFUSED: "refused"}
    counts_text = counted((Meaning.FAILED if m is Meaning.FLUSHED else m for m in meanings), words)
    if not qp.sq.free:
        counts_text.append(piece("full", Meaning.ATTENTION, click("explain", "sq-full")))
    slots = qp.sq.used, qp.sq.capacity
    line = queue_line(("SQ", "send", "max_send_wr"), slots, meanings, counts_text, width)
    ranked: Ranked = [(QUEUE if rows else IDLE, line)]
    if stalled is not None and stalled.state is None:
        ranked.append((TROUBLE, _dead(stalled, width)))
    if failure is not None and Meaning.FAILED not in meanings:
        told_once = Meaning.FAILED, failure.status.name
        line = _work(qp, failure, told_once, [event_link(failure.event)], width)
        ranked.append((FAILED, line))
    urgent = _most_urgent(meanings)
    for at, row in enumerate(rows):
        if at in urgent or at >= len(rows) - ITEMS:
            rank = FAILED if meanings[at] is Meaning.FAILED else WAITS
            word, more = _progress(qp, row, stalled, width)
            line = _work(qp, row, (meanings[at], word), more, width)
            ranked.append((rank if at in urgent else MORE + len(rows) - at, line))
    return ranked


def _most_urgent(meanings: Sequence[Meaning]) -> set[int]:
    """The newest request that failed, flushed ones aside, and the oldest that is not completed."""
    failed, flushed, left = (
        [at for at, meaning in enumerate(meanings) if meaning in wanted]
        for wanted in ((Meaning.FAILED,), (Meaning.FLUSHED,), (Meaning.WAITING, Meaning.UNDER_WAY))
    )
    return {*(failed or flushed)[-1:], *left[:1]}


def _meaning(row: WqeRow, stalled: StalledRow | None) -> Meaning:
    is_stalled = row.status is Progress.ON_WIRE and stalled is not None
    return Meaning.WAITING if is_stalled else ended(row)


def _dead(stalled: StalledRow, width: int) -> Content:
    """That nothing will move the oldest send on."""
    name, about = fmt.wr(stalled.wr_id), click("ask", stalled.name)
    forms = (f"dead: nothing is planned and {name} waits", f"dead: {name} waits, nothing planned",
             f"dead: {name} waits")  # fmt: skip
    return first_fit(width, *(piece(form, Meaning.FAILED, about) for form in forms))


def _progress(
    qp: QpRow, row: WqeRow, stalled: StalledRow | None, width: int
) -> tuple[str, list[Content]]:
    """The word for the progress of a send, and its PSNs and timer."""
    word, more = row.word.lower(), []
    if row.status is Progress.FAILED and row.wc_status is not None:
        word = row.wc_status.name
    elif row.status is Progress.RNR_WAIT and qp.rnr_timer.left_ns is not None:
        word = f"RNR wait {fmt.duration(qp.rnr_timer.left_ns)}"
    elif row.status is Progress.WAITING:
        word = f"waits {_HOLDS.get(row.reason, f'in {qp.state.name}')}"
    elif row.status is Progress.ON_WIRE:
        word = "under way" if stalled is None else "waits"
    if row.psns and width >= ROOMY:
        more = [dim(f"psn {row.psns}")]
    if row.status is Progress.ON_WIRE and qp.ack_timer.left_ns is not None:
        more.append(dim(f"ack timer {fmt.duration(qp.ack_timer.left_ns)}"))
    elif row.status is Progress.ON_WIRE and not qp.timeout:
        more.append(dim("timeout=0"))
    return word, more


def _work(
    qp: QpRow, row: WqeRow | FailureRow, lines: tuple[Meaning, str], more: list[Content], width: int
) -> Content:
    """`✗ wr7 WRITE 5 B REM_ACCESS_ERR`: size and opcode go first where there is no room."""
    (meaning, word), about = lines, click("ask", fmt.work_name(qp.name, row.wr_id, is_send=True))
    opcode = f" {fmt.member(row.opcode, WROpcode).replace('RDMA_', '')}"
    size = "" if is_local(row.opcode) else f" {row.length} B"
    sign, text = sign_of(meaning, about), (f" {word}", f"{style(meaning)} {about}")
    forms = (Content.assemble(" ", sign, (f" {fmt.wr(row.wr_id)}{what}", f"bold {about}"), text)
             for what in (f"{opcode}{size}", opcode, ""))  # fmt: skip
    return filled(width, [first_fit(width, *forms), *more])
