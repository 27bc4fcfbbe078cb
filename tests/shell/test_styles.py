import pytest

from rdmalab.shell.styles import SAID, prompt_style


@pytest.mark.parametrize("name", [name for name, style in SAID.items() if style])
def test_each_class_looks_like_something(name: str) -> None:
    style = prompt_style()
    assert style.get_attrs_for_style_str(f"class:{name}") != style.get_attrs_for_style_str("")
