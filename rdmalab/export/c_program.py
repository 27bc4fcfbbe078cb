"""A session as a program in C against libibverbs: `export c`.

One process has both devices, and makes the calls of the session in its order. Where the session let
time pass, the program sleeps; on a lab its clock is virtual, so each packet is where it was. What
each call returned, each completion, the states and the bytes at the end are checked.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rdmalab.export.c_calls import TAB, Text, Writer
from rdmalab.export.c_values import number, string, variable
from rdmalab.export.replayed_calls import Bytes, Call, Chapter, NotExportable, Replay
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt

_WIDTH = 92
_GAP = 8  # so many zeros between two runs of bytes are not written
_MANY = 30  # calls of a function that no note begins

_HEAD = """\
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <arpa/inet.h>
#include <infiniband/verbs.h>
"""
_FAIL = """\
/* A call has done something else than in the lab. */
#define fail(what, value) failed(__LINE__, what, value)

static void failed(int line, const char *what, long value)
{
	fprintf(stderr, "line %d: %s: %ld (errno %d, %s)\\n", line, what, value, errno, strerror(errno));
	exit(1);
}
"""
_OPENED = """\
static struct ibv_context *opened(struct ibv_device **list, int which)
{
	struct ibv_context *context = ibv_open_device(list[which]);

	if (!context)
		fail("ibv_open_device", errno);
	return context;
}
"""
_MAP = """\
/* The lab's addresses, so that a number of a work request means the same here. */
static void map(uintptr_t addr, size_t length)
{
	void *at = mmap((void *)addr, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at != (void *)addr)
		fail("mmap", errno);
}
"""
_HELPERS = {
    "wait_ns": """\
/* So much time passed in the lab. A real device is slower: compile with -DLEAST_NS=20000000. */
#ifndef LEAST_NS
#define LEAST_NS 0
#endif

static void wait_ns(long long ns)
{
	long long wanted = ns > LEAST_NS ? ns : LEAST_NS;
	struct timespec time = { .tv_sec = wanted / 1000000000, .tv_nsec = wanted % 1000000000 };

	nanosleep(&time, NULL);
}
""",
    "gid_of": """\
static union ibv_gid gid_of(struct ibv_context *context, int index)
{
	union ibv_gid gid;

	if (ibv_query_gid(context, 1, index, &gid))
		fail("ibv_query_gid", errno);
	return gid;
}
""",
    "srq_number": """\
static uint32_t srq_number(struct ibv_srq *srq)
{
	uint32_t number;

	if (ibv_get_srq_num(srq, &number))
		fail("ibv_get_srq_num", errno);
	return number;
}
""",
    "flow": """\
struct flow_rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
} __attribute__((packed));
""",
    "await": """\
/* Wait until a descriptor has an event, a second at most. */
static void await(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	if (poll(&one, 1, 1000) != 1)
		fail("poll", errno);
}
""",
    "take": """\
/* A completion of the lab. has: which members have a meaning in it. */
enum { OPCODE = 1, BYTE_LEN = 2, IMM_DATA = 4, SRC_QP = 8 };

struct expected {
	uint64_t wr_id;
	enum ibv_wc_status status;
	struct ibv_qp *qp;
	int has;
	enum ibv_wc_opcode opcode;
	uint32_t byte_len, imm_data, src_qp;
	unsigned int wc_flags;
};

static void compare(const char *cq, const struct ibv_wc *wc, const struct expected *lab)
{
	const char *wrong = NULL;

	if (wc->wr_id != lab->wr_id)
		wrong = "wr_id";
	else if (wc->status != lab->status)
		wrong = "status";
	else if (lab->qp && wc->qp_num != lab->qp->qp_num)
		wrong = "qp_num";
	else if ((lab->has & OPCODE) && wc->opcode != lab->opcode)
		wrong = "opcode";
	else if ((lab->has & OPCODE) && wc->wc_flags != lab->wc_flags)
		wrong = "wc_flags";
	else if ((lab->has & BYTE_LEN) && wc->byte_len != lab->byte_len)
		wrong = "byte_len";
	else if ((lab->has & IMM_DATA) && wc->imm_data != lab->imm_data)
		wrong = "imm_data";
	else if ((lab->has & SRC_QP) && wc->src_qp != lab->src_qp)
		wrong = "src_qp";
	printf("%s wr_id=%llu %s\\n", cq, (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status));
	if (wrong)
		fail(wrong, wc->status);
}

/* Poll for up to `most` completions, and wait for those that the lab got, for a second at most. */
static void take(const char *name, struct ibv_cq *cq, int most, int count, const struct expected *lab)
{
	struct timespec begin, now;
	int have = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		struct ibv_wc wc[16];
		int room = most - have < 16 ? most - have : 16, at;
		int found = ibv_poll_cq(cq, room, wc);

		if (found < 0 || have + found > count)
			fail(name, found);
		for (at = 0; at < found; at++)
			compare(name, &wc[at], &lab[have++]);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (have < count && now.tv_sec - begin.tv_sec < 2);
	if (have != count)
		fail(name, have);
}
""",
    "expect_state": """\
static void expect_state(const char *name, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		fail(name, errno);
	if (attr.qp_state != state)
		fail(name, attr.qp_state);
}
""",
    "expect_bytes": """\
/* Bytes of a region that are not 0. text: NULL, all of them are `byte`. */
struct run {
	size_t at, length;
	const char *text;
	uint8_t byte;
};

static void expect_bytes(const char *name, const void *region, size_t length, int count,
			 const struct run *runs)
{
	const uint8_t *bytes = region;
	size_t at = 0, next;
	int run;

	for (run = 0; run <= count; run++) {
		next = run < count ? runs[run].at : length;
		for (; at < next; at++)
			if (bytes[at])
				fail(name, (long)at);
		for (; run < count && at < next + runs[run].length; at++)
			if (bytes[at] != (runs[run].text ? (uint8_t)runs[run].text[at - next] : runs[run].byte))
				fail(name, (long)at);
	}
}
""",
}


def program(session: Session, title: str, chapters: Sequence[Chapter] = ()) -> str:
    """The text of the program; NotExportable says what no program can do.

    title: its first comment. chapters: parts of the journal; none: parts of thirty calls.
    """
    _judge(session)
    replay = Replay(session)
    try:
        return _Program(session, replay, chapters or _parts(session)).text(title)
    finally:
        replay.end()


def _judge(session: Session) -> None:
    """Refuse a world that a program does not find on a lab."""
    nodes = session.world.nodes
    if len(nodes) != 2:
        raise NotExportable(f"the session has {len(nodes)} nodes, a program of this kind two devices")
    profile, other = (hca.profile for hca in nodes.values())
    if profile != other:
        raise NotExportable("the two nodes are different devices")
    if PROFILES.get(profile.name) != profile:
        raise NotExportable(f"its {profile.name} devices have limits of their own")


def _parts(session: Session) -> list[Chapter]:
    count = len(session.journal)
    stops = [*range(_MANY, count, _MANY), count]
    return [Chapter("", stop, {}) for stop in stops]


class _Program:
    """A program while it is written."""

    def __init__(self, session: Session, replay: Replay, chapters: Sequence[Chapter]) -> None:
        self.session = session
        self.replay = replay
        self.chapters = chapters
        self.writer = Writer()
        self.functions: list[tuple[str, list[str]]] = []
        self.pending: Text | None = None
        self.done = 0  # entries of the journal

    def text(self, title: str) -> str:
        """All of it."""
        for name, lines in self._chapters():
            self._function(name, lines)
        self._function("look", self._looks())
        self._function("tidy_up", self._tidying())
        return self._whole(title)

    def _chapters(self) -> Iterator[tuple[str, list[str]]]:
        calls = self.replay.calls()
        for at, chapter in enumerate(self.chapters, 1):
            lines = comment(chapter.title)
            for call in islice(calls, 2 * (chapter.stop - self.done)):
                run = chapter.runs.get(call.entry or 0, "")
                lines += self._made(call, run)
            self.done = chapter.stop
            yield f"part_{at}", lines

    def _made(self, call: Call, run: str = "") -> list[str]:
        """Before the call the wait for it, after it its lines."""
        if call.outcome is None:
            self.pending = self.writer.begin(call)
            return self._wait(call.passed_ns, call.events, run)
        return self.writer.end(call, self.pending)

    def _wait(self, passed_ns: int, events: int, run: str = "") -> list[str]:
        if not passed_ns and not events:
            return []
        self.writer.needs.add("wait_ns")
        return [f"wait_ns({passed_ns});{f' /* {_safe(run)} */' if run else ''}"]

    def _looks(self) -> list[str]:
        lines = [f"/* {_END} */", *self._wait(*self.replay.rest())]
        for call in self.replay.looks():
            lines += self._made(call)
        return lines + [line for part in self.replay.memory() for line in self._bytes(part)]

    def _bytes(self, part: Bytes) -> list[str]:
        name = self.replay.again.names.of(part.thing)
        self.writer.needs.add("expect_bytes")
        runs = [_run(at, octets) for at, octets in _runs(part.octets)]
        begin = f'expect_bytes("{name}", {variable(name)}->addr, {number(part.length)}, {len(runs)}, '
        if not runs:
            return [f"{begin}NULL);"]
        return [f"{begin}(struct run[]){{", *(TAB + run for run in runs), "});"]

    def _tidying(self) -> list[str]:
        return [line for call in self.replay.tidying() for line in self._made(call)]

    def _function(self, name: str, lines: list[str]) -> None:
        if lines:
            self.functions.append((name, lines))

    def _whole(self, title: str) -> str:
        profile = next(iter(self.session.world.nodes.values())).profile.name
        option = "" if profile == "strict" else f" --profile {profile}"
        needs, nodes = self.writer.needs, [variable(node) for node in self.session.world.nodes]
        parts = ["\n".join([*_wrapped(title, f"rdmalab exec{option} -- ./program"), _HEAD])]
        parts.append(f"static struct ibv_context *{', *'.join(nodes)};")
        parts[-1] += "".join(f"\n{_declared(n, t)}" for n, t in self.writer.variables.items())
        parts[-1] += "\n"
        parts += [_FAIL, _OPENED, *(text for name, text in _HELPERS.items() if name in needs)]
        ranges = _merged(self.writer.ranges)
        parts += [_MAP] if ranges else []
        for name, body in self.functions:
            lines = ["int ret;", "", *body] if any("ret = " in line for line in body) else body
            parts.append("\n".join([f"static void {name}(void)", "{", *map(_indented, lines), "}", ""]))
        parts.append(self._main(nodes, ranges))
        return "\n".join(parts)

    def _main(self, nodes: list[str], ranges: list[tuple[int, int]]) -> str:
        done = fmt.count(self.writer.completions, "completion")
        lines = [
            "int count;", "struct ibv_device **list = ibv_get_device_list(&count);", "",
            "if (!list || !count)", f'{TAB}fail("ibv_get_device_list", errno);',
            *(f"{node} = opened(list, {at} % count);" for at, node in enumerate(nodes)),
            "ibv_free_device_list(list);",
            *(f"map({addr:#x}, {length:#x});" for addr, length in ranges),
            *(f"{name}();" for name, _ in self.functions),
            *(line for node in reversed(nodes) for line in
              (f"if (ibv_close_device({node}))", f'{TAB}fail("ibv_close_device", errno);')),
            f'puts("as in the lab: {done}, states and memory");', "return 0;",
        ]  # fmt: skip
        return "\n".join(["int main(void)", "{", *map(_indented, lines), "}", ""])


_END = "What is left at the end: completions, the states of the queue pairs, memory."


def _declared(name: str, kind: str) -> str:
    """`static struct ibv_qp *A_qp0;`; a type after * is no pointer."""
    if kind.startswith("*"):
        return f"static struct {kind[1:]} {name};"
    return f"static struct {kind} *{name};"


def _indented(line: str) -> str:
    return TAB + line if line else line


def _safe(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


def comment(text: str) -> list[str]:
    """A comment of one or more lines; none for an empty text."""
    lines = [
        line for part in _safe(text).splitlines() for line in textwrap.wrap(part, _WIDTH) or [""]
    ]
    if not lines:
        return []
    return [f"/* {lines[0]}", *(f" * {line}".rstrip() for line in lines[1:-1]), *(
        [f" * {lines[-1]} */"] if len(lines) > 1 else []
    )] if len(lines) > 1 else [f"/* {lines[0]} */"]  # fmt: skip


def _wrapped(title: str, command: str) -> list[str]:
    told = [line for part in _safe(title).splitlines() for line in textwrap.wrap(part, _WIDTH) or [""]]
    return [
        "/*", *(f" * {line}".rstrip() for line in told), " *",
        " * Made by rdmalab from what happened there. To compile and run it on a lab:", " *",
        " *     cc -o program program.c -libverbs", f" *     {command}", " */",
    ]  # fmt: skip


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Whole pages of all ranges, those that touch as one."""
    pages = sorted((addr & ~4095, (addr + length + 4095) & ~4095) for addr, length in ranges)
    found: list[tuple[int, int]] = []
    for start, stop in pages:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return [(start, stop - start) for start, stop in found]


def _runs(octets: bytes) -> Iterable[tuple[int, bytes]]:
    """The bytes between long gaps of zeros, with their place."""
    at = 0
    for piece in octets.split(bytes(_GAP)):
        if stripped := piece.strip(b"\0"):
            yield at + len(piece) - len(piece.lstrip(b"\0")), stripped
        at += len(piece) + _GAP


def _run(at: int, octets: bytes) -> str:
    if len(octets) > 4 and not octets.strip(octets[:1]):
        return f"{{ {at}, {len(octets)}, NULL, {octets[0]:#04x} }},"
    return f"{{ {at}, {len(octets)}, {string(octets)}, 0 }},"
