"""Lines that were typed wrongly: of every example of the help, and of what people type."""

import random
from collections.abc import Callable, Iterator

from rdmalab.guide.usage import docstring
from rdmalab.vocabulary import VOCABULARY
from tests.labs import BUSY, RECV, SEND

TYPED = (
    *BUSY,
    RECV,
    SEND,
    "use rc_pair rnr_retry=1 max_send_wr=8 length=16384",
    "modify_qp qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE|REMOTE_READ",
    "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=B",
    "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0xffffff max_rd_atomic=1",
    "modify_qp A.qp0 attr_mask=STATE|PORT ah_attr={dgid=::ffff:10.0.0.2 hop_limit=64 sgid_index=1}",
    "post_send A.qp0 sg={addr=0x1064 length=0 lkey=0xdead} opcode=SEND num_sge=3",
    "post_send A.qp0 wr={opcode=SEND_WITH_IMM imm_data=htonl(0x1234)} wr={opcode=RDMA_READ}",
    "post_send B.qp0 opcode=ATOMIC_CMP_AND_SWP sg=B.mr0[0:8] remote=A.mr0[8] compare_add=-1 swap=5",
    "post_send A.qp0 opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:600] remote=B.mr0 flags=SIGNALED|INLINE",
    "ibv_post_send qp0 IBV_WR_SEND",
    "fault corrupt A->B nth=1 byte=60 bit=3; run 20us; fault clear",
    "link latency=5us rate=25Gbps mtu=1024 down",
    "link up",
    "run 100us",
    "run",
    "step 3 packet; step cqe",
    "until A.cq0.cqes[0].status == SUCCESS and not idle within 2ms",
    'until wire.count(opcode=SEND_ONLY, from=A) >= 2 or A.mr0[0:5] == "hello"',
    'write B.mr0[0:5] "he\\x41\\n"',
    "show wire A->B opcode=ACKNOWLEDGE last=5 psn=0",
    "show packet 17; show log 3; show A.mr0[0:64]",
    "explain modify_qp RTR; help expr",
    "destroy_qp A.qp0; dereg_mr A.mr0; destroy_cq A.cq0; dealloc_pd A.pd0",
    "program A.tx lines={loop 3; try post_send qp0 opcode=SEND sg=mr0[0:8]; poll cq0; end; stop}",
    "program B.rx pace=30ns lines={wait B.cq0.count > 0; if now < 5us; poll_cq cq0; else; end}",
    "stop A.tx; programs; show B.rx",
    "# a remark",
)
SEEDS = (*(e for each in VOCABULARY.values() for e in docstring(each).examples), *TYPED)
ODD = [
    "0",
    "-1",
    "0x",
    "99999999999999999999",
    "0b1",
    "1e9",
    "{",
    "}",
    "[",
    "]",
    "[5:2]",
    "=",
    "==",
    "->",
    "|",
    ";",
    "\n",
    '"',
    "\\",
    "'",
    ",",
    "(",
    ")",
    "#",
    "A",
    "B",
    "C.qp0",
    "A.",
    ".qp0",
    "A.mr0[",
    "NULL",
    "None",
    "within",
    "and",
    "not",
    "µs",
    "é",
    "\0",
    "\x1b[31m",
    "\u202e",
    "𝟙",
    "²",
    "",
    "[]",
    "A->",
    "sg=",
    "wr={",
    "ah=NULL",
    "flags=-1",
    "state=99",
    "opcode=-5",
    "length=2147483648",
    "1000000000s",
    "0ns",
    "%s",
]


# --------------------------------------------------------------------------- mutations
def _characters(chance: random.Random, line: str) -> str:
    at, to = sorted(chance.randrange(len(line) + 1) for _ in range(2))
    to = min(to, at + 4)
    letter = chance.choice("abAB019=.,;:[]{}()\"'|<>-+ #_\\xé\t\0")
    return chance.choice(
        (
            line[:at] + line[to:],
            line[:at] + letter + line[at:],
            line[:at] + line[at:to] * 2 + line[to:],
            line[:at] + line[at:to][::-1] + line[to:],
            line[:at] + letter + line[at + 1 :],
            line[:at],
        )
    )


def _tokens(chance: random.Random, line: str) -> str:
    words = line.split(" ")
    at, other = chance.randrange(len(words)), chance.randrange(len(words))
    what = chance.randrange(5)
    if what == 0:
        del words[at]
    elif what == 1:
        words.insert(at, words[other])
    elif what == 2:
        words[at], words[other] = words[other], words[at]
    elif what == 3:
        words.insert(at, chance.choice(ODD))
    else:
        key, equals, value = words[at].partition("=")
        words[at] = f"{key}={chance.choice(ODD)}" if equals else value or chance.choice(ODD)
    return " ".join(words)


def _joined(chance: random.Random, line: str) -> str:
    """The words of one line behind the beginning of another."""
    other = chance.choice(SEEDS)
    return line[: chance.randrange(len(line) + 1)] + other[chance.randrange(len(other) + 1) :]


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (
    _characters,
    _tokens,
    _tokens,
    _joined,
)


# Words that ask; `why` and `trace` look into the past for it.
ASKING = frozenset((
    "show", "changes", "help", "explain", "read", "hexdump", "faults", "breaks", "programs", "why",
    "checklist", "trace", "branches", "diff", "share",
))  # fmt: skip
_QUESTIONS = [line for line in SEEDS if line.split(" ", 1)[0] in ASKING]


def mutants(chance: random.Random, count: int) -> Iterator[str]:
    """Lines with up to three mutations; one of eight is a question as the help has it."""
    for _ in range(count):
        asked = chance.random() < 1 / 8
        line = chance.choice(_QUESTIONS if asked else SEEDS)
        for _ in range(0 if asked else chance.randrange(4)):
            line = chance.choice(MUTATIONS)(chance, line)
        yield line
