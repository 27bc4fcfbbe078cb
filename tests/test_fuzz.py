"""Whatever is typed: an answer, a refusal or a mistake, and never a traceback."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rdmalab import cli
from rdmalab.command import NotUnderstood, Refused
from rdmalab.guide.usage import docstring
from rdmalab.lab import Lab
from rdmalab.session.lines import Reply
from rdmalab.vocabulary import VOCABULARY
from tests.labs import BUSY, RECV, SEND, fingerprint, lab_of

LINES = 10_000
A_WORLD = 25  # lines said in one world
MAX_EVENTS = 300
CLI_LINES = 150

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


def mutants(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        line = chance.choice(SEEDS)
        for _ in range(chance.randrange(4)):
            line = chance.choice(MUTATIONS)(chance, line)
        yield line


# --------------------------------------------------------------------------- Python's face
def _world(chance: random.Random) -> Lab:
    lab = lab_of() if chance.random() < 0.8 else Lab(profile=chance.choice(("rxe", "mlx5")))
    lab.session.max_events = MAX_EVENTS
    return lab


def _check(reply: Reply) -> None:
    if reply.error is not None:
        assert isinstance(reply.error, NotUnderstood)
        assert reply.error.message
        assert reply.event is None
        assert 0 <= reply.error.place.start <= reply.error.place.stop
    if reply.refusal is not None:
        assert isinstance(reply.refusal, Refused)
        assert reply.refusal.errno > 0
    if reply.travel is not None:
        assert reply.travel.over


def _speaks_of_the_past(replies: list[Reply]) -> bool:
    """Whether time may have gone back."""
    asked = [reply.invocation for reply in replies]
    return any(VOCABULARY[said.name].room == "past" for said in asked if said is not None)


@pytest.mark.slow
def test_ten_thousand_lines_are_all_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of the lines write files
    chance = random.Random(7)
    failed = refused = well = 0
    lab = _world(chance)
    for number, line in enumerate(mutants(4711, LINES)):
        if number % A_WORLD == 0:
            assert fingerprint(lab)  # every packet can be put into bytes
            lab = _world(chance)
        history, before = lab.session.history, lab.session.history.here
        try:
            replies = lab.do(line)
        except Exception as bug:
            said = [reply.text for reply in lab.said[-A_WORLD:]]
            raise AssertionError(f"{line!r} after {said}") from bug
        for reply in replies:
            _check(reply)
        assert history.start <= history.here <= history.end
        assert history.here >= before or _speaks_of_the_past(replies)
        failed += any(reply.error for reply in replies)
        refused += any(reply.refusal for reply in replies)
        well += not any(reply.failed for reply in replies)
    assert min(failed, well) > LINES // 10  # the mutations are neither too wild nor too tame
    assert refused > LINES // 100


# --------------------------------------------------------------------------- the command line
@pytest.mark.slow
def test_the_command_line_never_says_that_it_has_a_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RDMALAB_DEBUG", raising=False)
    codes = set()
    for number, line in enumerate(mutants(99, CLI_LINES)):
        pair = ["-c", "use rc_pair"] if number % 3 else []
        form = ["--json"] if number % 5 == 0 else ["--plain"] if number % 5 == 1 else []
        code = cli.main(["repl", *form, *pair, "-c", line])
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), (line, err)
        assert not any(
            word in (out + err).lower() for word in ("internal", "traceback", "a bug in")
        )
        codes.add(int(code))
    assert codes == {0, 1, 2}
