"""Ten ways to points without work of one who has read the program."""

import re
from collections.abc import Callable
from itertools import chain, product

from rdmalab.classroom.judging import JudgedWork
from rdmalab.classroom.parameter_model import drawn
from rdmalab.classroom.trust import written
from tests.classroom.cheat import PAIR, STUDENTS, Cheat

_WRITE = re.compile(r'write (?P<where>\S+\[\d+):\d+\] "(?P<text>[^"\\]*)"')


def _spellings(cheat: Cheat) -> float:
    """A friend's file under another spelling of the own name, which may draw the same."""
    friend, document = cheat.ways.labs[1], cheat.ways.labs[1].document
    signs = ["".join(each) for count in range(5) for each in product("._-", repeat=count)]
    assert document.solutions is not None
    names = (f"{left}{STUDENTS[0]}{right}" for left, right in product(signs, signs))
    same = (name for name in names
            if drawn(document.id, "", name, document.params) == friend.params)  # fmt: skip
    lines, name = document.solutions.accept[0].lines, next(same, STUDENTS[0])
    return cheat.graded(cheat.work(lines, student=name))


def _own_atomics(cheat: Cheat) -> float:
    """B makes its bytes without `write`: COMPARE_SWAP and WRITE between queue pairs of its own."""
    new = "pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=8 max_recv_wr=8"
    rights = "access=LOCAL_WRITE|REMOTE_WRITE|REMOTE_ATOMIC"
    pair = [f"create_qp B.qp{n} {new}" for n in (93, 94)]
    regions = [f"rereg_mr B.{name} flags=CHANGE_ACCESS {rights}" for name in ("mr0", "box")]
    ready = [f"reg_mr B.mr9 pd=B.pd0 length=64 {rights}", *regions, *pair, "connect B.qp93 B.qp94"]

    def made(line: str, at: int) -> list[str]:
        if (found := _WRITE.fullmatch(line)) is None:
            return [line]
        word = int.from_bytes(found["text"].encode("latin-1")[:8], "little")
        send = "post_send B.qp93 flags=SIGNALED"
        return [
            f"{send} opcode=ATOMIC_CMP_AND_SWP sg=B.mr9[0:8] remote=B.mr9[{at}] compare_add=0 "
            f"swap={word}; run 20us",
            f"{send} opcode=RDMA_WRITE sg=B.mr9[{at}:{at + len(found['text'])}] "
            f"remote={found['where']}]; run 20us",
        ]

    ways = ([*ready, *chain.from_iterable(map(made, lines, range(8, 64, 8))), *lines[7:]]
            for lines in written(cheat.lab))  # fmt: skip
    return max(map(cheat.ways.alone, ways))


def _unreliable(cheat: Cheat) -> float:
    """The solution on UC pairs of which the peer is not ready: they complete without an answer."""
    if not any(PAIR.search(line) for line in cheat.solved):
        return 0  # the work names no queue pair: it is the right work
    made = [f"create_qp {n}.qp92 pd={n}.pd0 qp_type=UC send_cq={n}.cq0 recv_cq={n}.cq0 "
            "max_send_wr=8 max_recv_wr=8" for n in "AB"]  # fmt: skip
    lines = [PAIR.sub(r"\1.qp92", line) for line in cheat.solved if "post_recv" not in line]
    return cheat.ways.alone([*made, "to_rts A.qp92 B.qp92", *lines, "run 1ms"])


def _burned(cheat: Cheat) -> float:
    """Work that must fail, and a thread that uses up all events, so that nothing more happens."""
    solutions, limit = cheat.lab.document.solutions, cheat.lab.document.rules.limits.events
    assert solutions is not None
    burn = [f"program A.burn lines={{ loop {limit}; sleep 1ns; end }}", "run 9s"]
    won = [0.0]
    for each in solutions.reject:
        plain = cheat.ways.share(cheat.lab, JudgedWork(each.lines))
        burned = cheat.ways.share(cheat.lab, JudgedWork([*each.lines, *burn]))
        won.append(burned - plain)
    return max(won)


def _line_breaks(cheat: Cheat) -> float:
    """What is shut behind a line break, a comment, a quote, another blank."""
    breaks = ("\n", "\r", "\u2028", " # \n", ' "" ; ', "\u00a0;", "\\\n")
    shut = ("fault clear", "use rc_pair", 'write B.mr0[0:5] "hello"', "apply")
    return cheat.ways.alone([f"run 1us{each}{line}" for each in breaks for line in shut])


def _programs_that_sleep(cheat: Cheat) -> float:
    """Threads that act when the work is over: while it settles, and in hidden tasks."""
    acts = ('write B.mr0[0:5] "hello"', 'write B.box[0:5] "hello"', "post_recv B.qp0",
            "post_send A.qp0 opcode=SEND flags=SIGNALED", "poll_cq A.cq0 num_entries=16",
            "poll_cq B.cq0 num_entries=16")  # fmt: skip
    return cheat.ways.alone([
        f"program {line.partition('.')[0][-1]}.late{n} lines={{ loop 9; sleep 90us; {line}; end }}"
        for n, line in enumerate(acts)
    ])  # fmt: skip


def _expressions(cheat: Cheat) -> float:
    """Answers that are questions, ranges, names of parameters."""
    asked = [task.id for task in cheat.lab.document.tasks if task.is_asked]
    odd = ("A.cq0.last.status", "${size}", "%{x}", "0..99", "1 or 2", "1e0", "0x1", "=1", "True",
           "not 0", "any", "[1,2,3]", "1\n2", "-1", "+1")  # fmt: skip
    return max(cheat.graded(cheat.work([], answers=dict.fromkeys(asked, each))) for each in odd)


def _answered_goals(cheat: Cheat) -> float:
    """An answer to each task that asks for none, hidden ones among them."""
    tasks = [task.id for task in cheat.lab.document.tasks if not task.is_asked]
    return max(cheat.graded(cheat.work([], answers=dict.fromkeys(tasks, each))) for each in
               ("1", "true", "passed"))  # fmt: skip


def _c_and_files(cheat: Cheat) -> float:
    """C calls, programs, and files of the grader's machine in lines."""
    return cheat.ways.alone([
        "ibv_modify_qp(qp, &attr, IBV_QP_STATE);", "exec true", "load labs/sq-full student=1",
        "save /dev/null", "export c /dev/null", "share", "continue", "lab", "tour", "submit x",
        "answer see 1", "task", "settings", "alias w write", "run 1ms",
    ])  # fmt: skip


def _other_branch(cheat: Cheat) -> float:
    """The setup changed on another branch; what that adds to a line of the solution."""
    work = [*cheat.solved[:1], "run 1ms"]
    moved = ["run 1us", "goto @start", "back 1", "checkpoint start", "use rc_pair", "goto 0",
             "checkpoint start", 'write B.mr0[0:5] "hello"', "switch main", "rewind 5"]  # fmt: skip
    return max(0.0, cheat.ways.alone([*moved, "use rc_pair", *work]) - cheat.ways.alone(work))


READ: dict[str, Callable[[Cheat], float]] = {
    "spellings": _spellings, "own atomics": _own_atomics, "unreliable": _unreliable,
    "burned": _burned, "line breaks": _line_breaks, "programs that sleep": _programs_that_sleep,
    "expressions": _expressions, "answered goals": _answered_goals, "C and files": _c_and_files,
    "other branch": _other_branch,
}  # fmt: skip
