"""The table of C functions, against the headers and libraries of this system."""

import re
import subprocess
from pathlib import Path

import pytest

from rdmalab.spec import c_library
from tests.tools import needs

INCLUDE = Path("/usr/include")
# What no program calls: drivers do, and librdmacm.
OF_DRIVERS = {
    "ibv_register_driver", "ibv_copy_ah_attr_from_kern", "ibv_copy_qp_attr_from_kern",
    "ibv_copy_path_rec_from_kern", "ibv_copy_path_rec_to_kern",
}  # fmt: skip
# Inline functions that only compute, or only call others of the table.
COMPUTE = {
    "ibv_cq_ex_to_cq", "ibv_flow_label_to_udp_sport", "ibv_inc_rkey", "ibv_is_qpt_supported",
}  # fmt: skip


def known() -> set[str]:
    return {*c_library.present(), *c_library.REFUSED}


def exported(library: str) -> dict[str, str]:
    """The functions of a library's public versions, the newest of each: name → version."""
    found = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    names = re.findall(r" T (\w+)@@((?:IBVERBS|RDMACM)_[0-9.]+)$", found.stdout, re.MULTILINE)
    return dict(names)


def library(name: str) -> str:
    path = next(Path("/usr/lib").glob(f"*/{name}"), None)
    if path is None:
        pytest.fail(f"{name} is not installed")
    return str(path)


@needs("ibv_devices")
@pytest.mark.parametrize("name", ["libibverbs.so.1", "librdmacm.so.1"])
def test_each_function_of_a_library_is_there_or_refuses(name: str) -> None:
    names = {each for each in exported(library(name)) if each.startswith(("ibv_", "rdma_", "_ibv"))}
    assert names - known() - OF_DRIVERS == set()


@needs("ibv_devices")
def test_a_function_has_the_version_of_the_real_one() -> None:
    ours = {
        name: node
        for node, names in c_library.EXPORTED.items()
        if node != c_library.PRIVATE
        for name in names.split()
    } | {name: row.node for name, row in c_library.REFUSED.items() if row.node}
    real = exported(library("libibverbs.so.1")) | exported(library("librdmacm.so.1"))
    assert {name: real.get(name, node) for name, node in ours.items()} == ours


@needs("ibv_devices")
def test_each_inline_function_of_the_header_is_there_or_refuses() -> None:
    text = (INCLUDE / "infiniband" / "verbs.h").read_text("utf-8")
    names = set(re.findall(r"^static inline[^;{(]*?[ *\n](ibv_\w+)\(", text, re.MULTILINE))
    assert len(names) > 90
    assert names - known() - COMPUTE == set()


def test_no_function_is_named_twice() -> None:
    names = [*c_library.present(), *c_library.REFUSED]
    assert len(names) == len(set(names))


def test_without_rdma_cm_its_functions_are_left_out() -> None:
    for text in (
        c_library.version_script(has_cm=False),
        c_library.refusing_functions(has_cm=False),
    ):
        assert "rdma_" not in text
        assert "RDMACM" not in text
