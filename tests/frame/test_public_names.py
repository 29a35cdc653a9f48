"""What a module offers is what it says it offers."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import worldline
from worldline.errors import MissingExtraError

PACKAGE = Path(worldline.__file__).parent
MODULES = [
    ".".join(["worldline", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "__main__.py" and path.parent.name != "launch"  # what is copied beside exported sets is no module
]


def taken(module: str) -> set[tuple[str, str]]:
    """Names that a module takes from others of ours: `(module, name)`."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    nodes = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
    return {(n.module, a.name) for n in nodes if n.module and n.module.startswith("worldline") for a in n.names}


@pytest.mark.parametrize("module", MODULES)
def test_all_names_exist_and_are_sorted(module: str):
    try:
        loaded = import_module(module)
    except MissingExtraError:
        return  # an interface of others, whose own tests run where its extra is installed
    names = list(getattr(loaded, "__all__", []))
    assert len(names) == len(set(names))
    for name in names:
        assert hasattr(loaded, name), f"{module}.__all__ names {name}, which is not there"


@pytest.mark.parametrize("module", MODULES)
def test_only_public_names_are_taken_from_other_modules(module: str):
    for source, name in taken(module):
        if f"{source}.{name}" in MODULES or (source == "worldline" and name == "__version__"):
            continue
        offered = getattr(import_module(source), "__all__", ())
        assert name in offered, f"{module} takes {name} from {source}, which does not offer it in its __all__"


def test_the_top_level_offers_exactly_its_names():
    assert sorted(worldline.__all__) == sorted(worldline._HOMES)
    for name in worldline.__all__:
        assert getattr(worldline, name).__name__ == name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = worldline.nonsense


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("bashkit", "tantivy", "scipy", "httpx")
    code = f"import sys, worldline, worldline.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
