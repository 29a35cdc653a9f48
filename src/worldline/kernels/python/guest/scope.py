"""Which names a block binds, and where a name that it uses lives."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Literal

__all__ = ["Place", "Scope", "contains_yield", "own_nodes"]

Kind = Literal["module", "class", "function", "comprehension"]
Place = tuple[Literal["local", "outer", "class", "global"], int]

_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node below `nodes` that runs in the same block: not the bodies of nested functions and classes."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        elif isinstance(node, ast.Lambda):
            stack += [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        elif isinstance(node, ast.ClassDef):
            stack += [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
        elif isinstance(node, _COMPREHENSIONS):
            stack.append(node.generators[0].iter)
            stack += [n for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
        else:
            stack += list(ast.iter_child_nodes(node))[::-1]


def contains_yield(node: ast.AST) -> bool:
    """Whether running `node` may suspend the function it stands in."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes([node]))


class Scope:
    """A block of the script and the names it binds."""

    def __init__(
        self, kind: Kind, parent: Scope | None, body: Iterable[ast.AST] = (), arguments: Iterable[str] = ()
    ) -> None:
        self.kind = kind
        self.parent = parent
        self.owner: str | None = parent.owner if parent else None
        """Name of the class whose private names apply."""
        self.names: dict[str, None] = dict.fromkeys(arguments)
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.prefix = ""
        """Start of the qualified names of what is defined here."""
        for node in own_nodes(body):
            self._collect(node)
        for name in self.globals | self.nonlocals:
            self.names.pop(name, None)

    def bind(self, name: str) -> None:
        self.names[name] = None

    def bind_targets(self, target: ast.expr) -> None:
        """Bind every name that an assignment to `target` sets."""
        for node in own_nodes([target]):
            self._collect(node)

    def _collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.bind(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.bind(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self.bind(alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self.bind(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.bind(node.rest)
        elif isinstance(node, ast.Global):
            self.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            self.nonlocals.update(node.names)

    def place(self, name: str) -> Place:
        """Where `name` lives: in this frame, so many function frames further out, or among the globals."""
        if self.kind == "module" or name in self.globals:
            return "global", 0
        if self.kind == "class" and name in self.names:
            return "class", self._depth(name)
        if name in self.names:
            return "local", 0
        depth = self._depth(name)
        return ("outer", depth) if depth else ("global", 0)

    def _depth(self, name: str) -> int:
        """How many function frames further out `name` is bound; 0: in none."""
        depth, scope = 0, self.parent
        while scope is not None and scope.kind != "module":
            if scope.kind != "class":
                depth += 1
                if name in scope.globals:
                    return 0
                if name in scope.names:
                    return depth
            scope = scope.parent
        return 0

    def mangle(self, name: str) -> str:
        """Apply the class's private prefix to `__name`."""
        if self.owner and name.startswith("__") and not name.endswith("__") and "." not in name:
            return f"_{self.owner.lstrip('_')}{name}"
        return name
