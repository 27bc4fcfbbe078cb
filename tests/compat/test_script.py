"""`rdmalab python`: users' programs run as they would on hardware, and end as they end."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal import Terminal

PROGRAMS = Path(__file__).parents[1] / "pyverbs_programs"
# What a device must have that Soft-RoCE has not.
OPTIONS = {"path_migration.py": ("--link-layer", "InfiniBand")}
# What each of them prints, on Soft-RoCE where that can run it.
OUTPUT = {
    name: text
    for name, _, text in (
        part.partition("\n") for part in (PROGRAMS / "output.txt").read_text().split("== ")[1:]
    )
}


def run(*arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rdmalab", "python", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=cwd
    )


def test_every_program_has_its_output() -> None:
    assert sorted(OUTPUT) == sorted(path.name for path in PROGRAMS.glob("*.py"))
    assert len(OUTPUT) >= 10


@pytest.mark.parametrize("name", sorted(OUTPUT))
def test_a_program_prints_what_it_shows(name: str) -> None:
    done = run(*OPTIONS.get(name, ("--profile", "rxe")), str(PROGRAMS / name))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == OUTPUT[name]


def test_soft_roce_has_no_infiniband_ports() -> None:
    done = run("--profile", "rxe", *OPTIONS["path_migration.py"], str(PROGRAMS / "rc_pingpong.py"))
    assert done.returncode == 2
    assert "profile rxe has no InfiniBand port" in done.stderr


def write(folder: Path, program: str) -> str:
    path = folder / "program.py"
    path.write_text(program)
    return str(path)


def test_arguments_and_exit_codes_are_the_programs_own(tmp_path: Path) -> None:
    program = write(tmp_path, "import sys\nprint(sys.argv[1:])\nsys.exit(int(sys.argv[-1]))")
    done = run(program, "--profile", "x", "-v", "7")
    assert (done.returncode, done.stdout) == (7, "['--profile', 'x', '-v', '7']\n")
    assert run(write(tmp_path, "import sys\nsys.exit('told')")).stderr == "told\n"


def test_an_exception_is_shown_as_python_shows_it_and_is_no_bug_of_ours(tmp_path: Path) -> None:
    program = write(tmp_path, "from pyverbs.device import Context\nContext(name='mlx5_0')\n")
    done = run(program)
    assert done.returncode == 1
    first, place, *_, last = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert f'"{program}", line 2' in place
    assert last == "pyverbs.pyverbs_error.PyverbsRDMAError: Failed to find device mlx5_0"
    assert "a bug in rdmalab" not in done.stderr


def test_a_module_beside_the_program_is_found(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("VALUE = 5")
    done = run(write(tmp_path, "from neighbour import VALUE\nprint(VALUE, __name__)"))
    assert done.stdout == "5 __main__\n"


def test_a_program_knows_where_it_lies(tmp_path: Path) -> None:
    program = write(tmp_path, "print(__file__)")
    assert run("program.py", cwd=tmp_path).stdout == f"{program}\n"


def test_a_file_that_is_not_there_is_a_wrong_use() -> None:
    done = run("nowhere.py")
    assert done.returncode == 2
    assert "'nowhere.py' does not exist" in done.stderr


def test_the_profile_is_that_of_both_nodes(tmp_path: Path) -> None:
    asked = "from pyverbs.device import Context as C\n" + "".join(
        f"print(C(name='rdmalab{n}').query_device().vendor_id)\n" for n in (0, 1)
    )
    program = write(tmp_path, asked)
    vendors = {name: run("--profile", name, program).stdout.split() for name in ("rxe", "mlx5")}
    assert vendors["rxe"] == ["16777215"] * 2
    assert vendors["mlx5"][0] == vendors["mlx5"][1] != vendors["rxe"][0]


# --------------------------------------------------------------------------- what is kept of it
def test_what_a_program_did_is_a_scenario_that_replays(tmp_path: Path) -> None:
    kept = tmp_path / "kept.rdmalab.yaml"
    program = PROGRAMS / "error_handling.py"
    done = run("--profile", "rxe", "--save", str(kept), str(program))
    assert (done.returncode, done.stdout) == (0, OUTPUT[program.name])
    text = kept.read_text()
    assert "A: {profile: rxe}" in text
    assert "errno: EINVAL" in text
    command = [sys.executable, "-m", "rdmalab", "run", str(kept)]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (0, "")


def test_a_call_that_would_never_come_back_is_kept_with_its_cause(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "from pyverbs.cq import CQ, CompChannel\nfrom pyverbs.device import Context\n"
        "context = Context(name='rdmalab0')\nchannel = CompChannel(context)\n"
        "cq = CQ(context, 8, None, channel)\nchannel.get_cq_event(cq)\n",
    )
    kept = tmp_path / "kept.rdmalab.yaml"
    assert run("--save", str(kept), program).returncode == 1
    assert "get_cq_event A.channel0" in kept.read_text()
    command = [sys.executable, "-m", "rdmalab", "why", str(kept)]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert asked.returncode == 1
    assert "1. cq-not-armed" in asked.stdout


def test_save_keeps_the_calls_before_a_failure(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "from pyverbs.device import Context\nfrom pyverbs.pd import PD\n"
        "pd = PD(Context(name='rdmalab1'))\nraise RuntimeError('stop')\n",
    )
    kept = tmp_path / "kept.rdmalab.yaml"
    assert run("--save", str(kept), program).returncode == 1
    assert "alloc_pd B.pd0" in kept.read_text()


def test_save_to_an_unwritable_path_prints_the_error(tmp_path: Path) -> None:
    done = run("--save", str(tmp_path / "no" / "where.yaml"), write(tmp_path, "print(1)"))
    assert (done.returncode, done.stdout) == (2, "1\n")
    assert "No such file or directory" in done.stderr


def test_the_app_opens_on_what_a_program_did() -> None:
    program = str(PROGRAMS / "cq_events.py")
    command = [sys.executable, "-m", "rdmalab", "python", "--tui", program]
    with Terminal(command, columns=120, rows=40) as terminal:
        terminal.wait_for("73 calls; it is 79.540 us", timeout=40)
        terminal.send(b"back\r")
        terminal.wait_for("PAST", timeout=20)


GONE = """
import ctypes, mmap
from pyverbs import enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.wr import SGE

def address(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))

context = Context(name="rdmalab0")
pd = PD(context)
"""


@pytest.mark.parametrize(
    ("steps", "printed"),
    [
        (  # the memory of an MR is unmapped, and the lab looks for what has changed in it
            "memory = mmap.mmap(-1, 4096)\n"
            "mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE, address=address(memory))\n"
            "memory.close()\nCQ(context, 4)\nmr.close()\nprint('closed')",
            "closed",
        ),
        (  # the pages were never mapped
            "try:\n MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE, address=0x1000)\n"
            "except PyverbsRDMAError as error: print(error.error_code)",
            "14",
        ),
        (  # a page may be read, but not written
            "import os\nfile = os.memfd_create('m'); os.ftruncate(file, 4096)\n"
            "memory = mmap.mmap(file, 4096, flags=mmap.MAP_PRIVATE)\nat = address(memory)\n"
            "ctypes.CDLL(None).mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 1)\n"
            "print(MR(pd, 4096, 0, address=at).length)\n"
            "try:\n MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE, address=at)\n"
            "except PyverbsRDMAError as error: print(error.error_code)",
            "4096\n14",
        ),
        (  # the program's own access, which is a crash in C
            "mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)\n"
            "for touch in (lambda: SGE(0x1000, 8, mr.lkey).read(8, 0),\n"
            "              lambda: mr.write('x', 1, 1 << 40), lambda: mr.read(1, 1 << 40)):\n"
            "    try: touch()\n"
            "    except PyverbsError as error: print(str(error)[:24])",
            "in C this would crash: n\n" * 2 + "in C this would crash: n",
        ),
    ],
)
def test_memory_that_is_not_mapped_is_no_crash(tmp_path: Path, steps: str, printed: str) -> None:
    """Each of these ended with SIGSEGV."""
    done = run(write(tmp_path, f"{GONE}{steps}\n"))
    assert (done.returncode, done.stdout) == (0, f"{printed}\n"), done.stderr
    assert "Traceback" not in done.stderr
    warned = "A.mr0: the program has unmapped memory of this MR."
    assert (warned in done.stderr) == ("closed" in printed)


_TOO_EARLY = """
from pyverbs.device import Context
from pyverbs.cq import CQ
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR
import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError

with Context(name="rdmalab0") as ctx, PD(ctx) as pd, CQ(ctx, 4) as cq:
    with QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())) as qp:
        try:
            qp.post_send(SendWR(wr_id=7, opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(0, 64, 1)]))
        except PyverbsRDMAError:
            pass
"""


def test_why_is_asked_at_the_end_after_all_is_destroyed(tmp_path: Path) -> None:
    program = tmp_path / "early.py"
    program.write_text(_TOO_EARLY)
    text = run("--why", str(program))
    assert text.returncode == 1
    assert text.stderr.startswith("REFUSED ")
    assert "post_send returned EINVAL" in text.stderr
    assert run(str(program)).returncode == 0


def test_why_of_a_program_without_errors_is_well() -> None:
    text = run("--why", str(PROGRAMS / "rc_pingpong.py"))
    assert text.returncode == 0
    assert text.stderr.startswith("WELL ")
    assert text.stdout == OUTPUT["rc_pingpong.py"]


_VAIN = """
import sys
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

def node(name):
    context = Context(name=name)
    pd, cq = PD(context), CQ(context, 8)
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(), sq_sig_all=0)
    return context, cq, MR(pd, 64, 7), QP(pd, init)

def connect(qp, context, number):
    route = GlobalRoute(dgid=context.query_gid(1, 1), sgid_index=1, hop_limit=64)
    attr = QPAttr(port_num=1, path_mtu=e.IBV_MTU_1024)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    attr.dest_qp_num, attr.qp_access_flags = number, 7
    qp.to_rts(attr)

(a, a_cq, a_mr, a_qp), (b, _, b_mr, b_qp) = node("rdmalab0"), node("rdmalab1")
connect(a_qp, b, b_qp.qp_num)
connect(b_qp, a, a_qp.qp_num)
sge = SGE(a_mr.buf, 64, a_mr.lkey)
wr = SendWR(wr_id=5, opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[sge], send_flags=0)
wr.set_wr_rdma(b_mr.rkey, b_mr.buf)
a_qp.post_send(wr)
print("polls", flush=True)
for _ in range(int(sys.argv[1])):
    if a_cq.poll()[0]:
        break
"""


def test_a_queue_that_is_polled_in_vain_is_reported_once_with_the_cause(tmp_path: Path) -> None:
    program, saved = tmp_path / "vain.py", tmp_path / "vain.rdmalab.yaml"
    program.write_text(_VAIN)
    done = run("--save", str(saved), str(program), "3000")
    assert done.returncode == 0
    assert done.stderr.count("A.cq0 was polled for 1 s and nothing is planned") == 1
    assert "unsignaled: a send that is not signaled" in done.stderr
    assert "vain.py:" in done.stderr
    assert saved.read_text().count("poll_cq A.cq0") == 1
    assert "polled" not in run("--poll-warning", "4", str(program), "3000").stderr
    assert "polled for 100 ms" in run("--poll-warning", "0.1", str(program), "3000").stderr
    assert run("--poll-warning", "0", str(program), "3000").stderr == ""


def test_an_interrupt_in_a_loop_that_polls_in_vain_still_saves(tmp_path: Path) -> None:
    program, saved = tmp_path / "vain.py", tmp_path / "vain.rdmalab.yaml"
    program.write_text(_VAIN)
    command = [sys.executable, "-m", "rdmalab", "python", "--save", str(saved)]
    with subprocess.Popen(
        [*command, str(program), str(10**9)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "polls\n"
        running.send_signal(signal.SIGINT)
        _, answer = running.communicate(timeout=60)
    assert running.returncode == 130
    assert answer.rstrip().endswith("KeyboardInterrupt")
    assert "wr_id=5 opcode=RDMA_WRITE" in saved.read_text()
