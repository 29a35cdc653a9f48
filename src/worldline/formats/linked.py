"""Records that name their parent: lines and trees of them, safe against cycles and missing parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldline.types import JsonDict

__all__ = ["Node", "ancestry", "roots"]


@dataclass(frozen=True, slots=True)
class Node:
    """A record and its place in the tree."""

    name: str
    parent: str | None
    value: JsonDict
    line: int
    index: int
    """Place in the file among the nodes."""


def ancestry(node: Node, by_name: Mapping[str, Node]) -> list[Node]:
    """Return the line from the root to `node`; it starts where a parent is missing or comes up again."""
    line, seen = [node], {node.name}
    while (parent := by_name.get(line[-1].parent or "")) is not None and parent.name not in seen:
        line.append(parent)
        seen.add(parent.name)
    return line[::-1]


def roots(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the name of each node's root; a cycle's root is its first node in `nodes`."""
    by_name = {node.name: node for node in nodes}
    found: dict[str, str] = {}
    for node in nodes:
        path: list[Node] = []
        on_path: set[str] = set()
        here: Node | None = node
        while here is not None and here.name not in found and here.name not in on_path:
            path.append(here)
            on_path.add(here.name)
            here = by_name.get(here.parent or "")
        root = path[-1].name if here is None else found.get(here.name, here.name)
        found.update((step.name, root) for step in path)
    return found
