"""Programs of rdma-core 44 and of rdma-core 64 import what they need; no network is used."""

import importlib
import subprocess
import sys
from operator import attrgetter

import pytest

from rdmalab.compat.pyverbs.unsupported import Absent
from tests.compat import newer
from tests.compat.real import OURS

# Addresses of C structs, and a file descriptor, that the lab's objects do not have.
WITHOUT_C = {"CQ.cq", "CompChannel.fd", "QP.qp", "RecvWR.sg_list", "SRQ.srq"}
# Plain modules of the skin; the classes of the others are refused when one is made.
PLAIN = ("addr", "base", "cq", "device", "mem_alloc", "mr", "pd", "qp", "srq", "wr", "xrcd")


def test_the_list_is_that_of_all_tests_of_rdma_core_64() -> None:
    assert len(newer.IMPORTED) == 39
    assert sum(map(len, newer.IMPORTED.values())) == 595


@pytest.mark.parametrize("module", newer.IMPORTED)
def test_every_name_that_tests_of_rdma_core_64_import_is_there(module: str) -> None:
    found = importlib.import_module(OURS + module)
    for name in newer.IMPORTED[module]:
        of = name.rpartition(".")[0]
        kind = getattr(found, of, None)
        if isinstance(kind, type) and issubclass(kind, Absent):
            continue  # its methods are those of an object that is never made
        assert attrgetter(name)(found) is not None, name


@pytest.mark.parametrize("module", PLAIN)
def test_classes_have_what_those_of_rdma_core_64_have(module: str) -> None:
    found = importlib.import_module(OURS + module)
    for name, attributes in newer.classes(module).items():
        kind = getattr(found, name)
        missing = {f"{name}.{each}" for each in attributes if not hasattr(kind, each)}
        assert missing == {each for each in WITHOUT_C if each.startswith(f"{name}.")}


def output_of(program: str) -> str:
    """What a fresh Python prints in which the skin is installed."""
    code = f"from rdmalab.compat.script import install\ninstall()\n{program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_both_layouts_in_one_program() -> None:
    assert (
        output_of("""
import pyverbs.enums as e, pyverbs.cm_enums as ce
import pyverbs.libibverbs, pyverbs.librdmacm
from pyverbs.libibverbs_enums import ibv_access_flags, ibv_wr_opcode, IBV_FLUSH_GLOBAL
from pyverbs.librdmacm_enums import rdma_port_space
from pyverbs.device import FdArr
from pyverbs.mem_alloc import madvise
print(e.ibv_access_flags is ibv_access_flags, ce.rdma_port_space is rdma_port_space)
print(e.IBV_FLUSH_GLOBAL is IBV_FLUSH_GLOBAL, ibv_wr_opcode.IBV_WR_FLUSH is e.IBV_WR_FLUSH)
""")
        == "True True\nTrue True"
    )


def test_an_enum_of_either_layout_can_be_pickled() -> None:
    assert (
        output_of("""
import pickle
import pyverbs.libibverbs_enums as new, pyverbs.enums as old
kept = pickle.dumps([old.IBV_QPT_RC, new.ibv_qp_type.IBV_QPT_RC])
print(pickle.loads(kept)[0] is pickle.loads(kept)[1] is new.IBV_QPT_RC)
""")
        == "True"
    )
