"""Classes no device of the lab has: named as pyverbs names them, and refused."""

import errno
import importlib
from typing import Any

import pytest

from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins
from tests.compat import newer
from tests.compat.outcome import own
from tests.compat.real import OURS, needs_pyverbs, ours, real

MLX5 = tuple(
    f"providers.mlx5.{name}"
    for name in (
        "dr_action", "dr_domain", "dr_matcher", "dr_rule", "dr_table", "mlx5_vfio", "mlx5dv",
        "mlx5dv_crypto", "mlx5dv_flow", "mlx5dv_mkey", "mlx5dv_objects", "mlx5dv_sched",
    )
)  # fmt: skip
MODULES = ("cmid", "dmabuf", "flow", "wq", "providers.efa.efadv", *MLX5)
SINCE_64 = ("providers.mlx5.mlx5dv_dmabuf", "providers.mlx5.mlx5dv_event")

# Plain records that a program makes before it asks the device.
MADE = {"FlowAttr", "Mlx5DVContextAttr"}

# Where pyverbs looks at the device before it asks: a user's error, without an errno.
OTHER_DEVICE = {"Mlx5Context"}


def refused() -> list[type]:
    """Every class but those of the two sets."""
    modules = [importlib.import_module(OURS + module) for module in (*MODULES, *SINCE_64)]
    return [
        kind
        for module in modules
        for name, kind in own(module).items()
        if name not in MADE | OTHER_DEVICE
    ]


@needs_pyverbs
def test_the_same_classes_in_the_same_families_with_the_same_functions() -> None:
    questions = [["classes", module] for module in MODULES]
    answers = zip(MODULES, real(*questions), ours(*questions), strict=True)
    for module, theirs, mine in answers:
        more = mine.keys() - theirs.keys()
        assert more <= newer.classes(module).keys()
        for name, kind in theirs.items():
            since = set(mine[name]["static"]) - set(kind["static"])
            assert since <= newer.classes(module).get(name, set())
            assert set(kind["static"]) <= set(mine[name]["static"])
            assert mine[name]["bases"] == kind["bases"]


@pytest.mark.parametrize("kind", refused())
def test_a_class_is_refused_as_by_a_device_that_lacks_it(kind: Any) -> None:
    derived = type("Derived", (kind,), {"__init__": lambda _self: None})
    for each in (kind, derived):
        with pytest.raises(PyverbsRDMAError, match=r"is not emulated: .*Errno: 95") as caught:
            each("something", more=1)
        assert caught.value.error_code == errno.EOPNOTSUPP
        assert each.__name__ in str(caught.value)
    assert not isinstance(derived, kind)


def test_a_device_that_is_not_mlx5_is_called_so() -> None:
    """The words of pyverbs; one derived that asks more than that is refused as any other."""
    mlx5dv = importlib.import_module(f"{OURS}providers.mlx5.mlx5dv")
    vfio = importlib.import_module(f"{OURS}providers.mlx5.mlx5_vfio")
    with pytest.raises(PyverbsUserError, match=r"^This is not an MLX5 device$"):
        mlx5dv.Mlx5Context(mlx5dv.Mlx5DVContextAttr(flags=1), name="rxe0")
    with pytest.raises(PyverbsRDMAError, match="Mlx5VfioContext is not emulated"):
        vfio.Mlx5VfioContext(None)


def test_functions_of_a_class_are_refused_too() -> None:
    module = importlib.import_module(f"{OURS}providers.mlx5.mlx5dv")
    with pytest.raises(
        PyverbsRDMAError, match=r"Mlx5Context\.query_mlx5_port\(\) is not"
    ) as caught:
        module.Mlx5Context.query_mlx5_port(None, 1)
    assert caught.value.error_code == errno.EOPNOTSUPP


def test_a_table_names_bases_and_the_module() -> None:
    class Root(Absent):
        pass

    made: dict[str, Any] = {"__name__": "there"}
    stand_ins(made, "not here", {None: "A", "A": "B C", Root: "D"}, {"B": "f g"})
    del made["__name__"]
    assert {name: kind.__mro__[1].__name__ for name, kind in made.items()} == {
        "A": "Absent", "B": "A", "C": "A", "D": "Root",
    }  # fmt: skip
    assert {kind.__module__ for kind in made.values()} == {"there"}
    assert not hasattr(made["C"], "f")
    with pytest.raises(PyverbsRDMAError, match=r"B.f\(\) is not emulated: not here"):
        made["B"].f()


# The words that programs print when they find a flag missing.
WORDS = (
    ("providers.mlx5.mlx5dv", "context_flags_to_str"),
    ("providers.mlx5.mlx5dv", "cqe_comp_to_str"),
    ("providers.efa.efadv", "dev_cap_to_str"),
)


@needs_pyverbs
def test_flags_have_the_same_words() -> None:
    ask = ["calls", [[*function, [flags]] for function in WORDS for flags in range(600)]]
    assert ours(ask) == real(ask)


def test_a_mask_has_the_words_of_a_table() -> None:
    names = {1: "one", 4: "four", 64: "many"}
    module = importlib.import_module(f"{OURS}providers.mlx5.mlx5dv")
    assert module.bitmask_to_str(5, names) == "one, four (5)"
    module = importlib.import_module(f"{OURS}providers.efa.efadv")
    assert module.bitmask_to_str(0x85, names) == "one, four, ??(80) (85)"
