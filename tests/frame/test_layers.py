"""Imports point left only (design section 3), and no module imports itself in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import worldline

PACKAGE = Path(worldline.__file__).parent
LAYERS = [
    {"errors", "types", "registry", "recordings", "writing"},
    {"formats", "domains"},
    {"models", "kernels", "memory", "control"},
    {"engines"},
    {"sessions"},
    {"worlds", "record", "agents", "data"},
    {"bench", "check"},
    {"serve"},
    {"train"},
    {"ui", "cli", "__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = {
    ".".join(["worldline", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """Name of the module that a `from` import takes from, relative ones resolved."""
    if not node.level:
        return node.module or ""
    package = ("worldline", *path.relative_to(PACKAGE).parts)[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def imported(path: Path, *, top_level_only: bool) -> set[str]:
    """Names of our own modules that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (source := absolute(node, path)).startswith("worldline"):
            parts = {f"{source}.{a.name}" for a in node.names if f"{source}.{a.name}" in MODULES}
            found |= parts if len(parts) == len(node.names) else {*parts, source}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("worldline")}
    return found


def layer(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_left(module: str):
    here = layer(module)
    if here is None:
        return
    assert here in RANK, f"{here} has no place among the layers"
    for other in imported(MODULES[module], top_level_only=False):
        there = layer(other)
        if there is not None:
            assert RANK[there] <= RANK[here], f"{module} imports {other}, which lies to its right"


def test_no_cycles():
    graph = {m: imported(p, top_level_only=True) & set(MODULES) - {m} for m, p in MODULES.items() if m != "worldline"}
    for module, others in graph.items():
        # A package's __init__ re-exports its own modules; they may not import it back.
        graph[module] = {other for other in others if other != "worldline"}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("module", MODULES)
def test_files_can_be_read_in_one_sitting(module: str):
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= 600
