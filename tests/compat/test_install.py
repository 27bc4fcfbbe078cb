"""In the place of pyverbs: the same modules under its name, and no others."""

import subprocess
import sys
import textwrap


def output_of(program: str) -> str:
    """What a fresh Python prints, in which the skin is installed."""
    head = "from rdmalab.compat.script import install\ninstall()\n"
    code = head + textwrap.dedent(program)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_one_class_under_both_names() -> None:
    assert (
        output_of("""
        import pyverbs.qp, pyverbs.enums as e
        from pyverbs.cq import CQ
        from pyverbs.providers.mlx5.mlx5dv import Mlx5Context
        import rdmalab.compat.pyverbs.qp as skin
        print(pyverbs.qp.QP is skin.QP, CQ.__module__, int(e.IBV_QPT_RC), skin.__name__)
    """)
        == "True pyverbs.cq 2 rdmalab.compat.pyverbs.qp"
    )


def test_what_pyverbs_does_not_have_is_not_there() -> None:
    assert output_of("""
        for name in ("pyverbs.process", "pyverbs.nonsense", "pyverbs.cq.CQ"):
            try:
                __import__(name)
            except ModuleNotFoundError as missing:
                print(missing.name)
    """).split() == ["pyverbs.process", "pyverbs.nonsense", "pyverbs.cq.CQ"]


def test_installing_twice_is_installing_once() -> None:
    assert (
        output_of("""
        import sys
        before = len(sys.meta_path)
        install()
        print(len(sys.meta_path) - before)
    """)
        == "0"
    )
