"""The sequential-thinking server: it counts the thoughts it is told and names the branches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from worldline.errors import KernelError
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers import zod
from worldline.kernels.tools.servers.js import stringify
from worldline.kernels.tools.servers.node_server import NodeServer, Refused
from worldline.types import JsonDict, Observation, content_id

__all__ = ["SequentialKernel"]

TOOL = "sequentialthinking"
_OBJECT_NAMES = frozenset({
    "__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toString", "valueOf",
    "toLocaleString", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
})  # fmt: skip
"""Names that every JavaScript object has already: a branch of that name cannot be made."""


class SequentialKernel(NodeServer):
    """Thoughts so far and the names of the branches, in the order in which they were opened."""

    kind = "sequentialthinking"
    schemas: ClassVar[Mapping[str, zod.Schema]] = {
        TOOL: zod.record(
            thought=zod.text,
            nextThoughtNeeded=zod.coerced_boolean,
            thoughtNumber=zod.coerced_integer,
            totalThoughts=zod.coerced_integer,
            isRevision=zod.optional(zod.coerced_boolean),
            revisesThought=zod.optional(zod.coerced_integer),
            branchFromThought=zod.optional(zod.coerced_integer),
            branchId=zod.optional(zod.text),
            needsMoreThoughts=zod.optional(zod.coerced_boolean),
        )
    }

    def __init__(self) -> None:
        self._count = 0
        self._branches: tuple[str, ...] = ()

    def run(self, tool: str, value: Any) -> str:
        """Take a thought."""
        self._count += 1
        branch = value.get("branchId")
        if value.get("branchFromThought") and branch:
            if branch in _OBJECT_NAMES:
                message = "this.branches[input.branchId].push is not a function"
                raise Refused(stringify({"error": message, "status": "failed"}, 2))
            if branch not in self._branches:
                self._branches = (*self._branches, branch)
        return self._answer(value)

    def _answer(self, value: Mapping[str, Any]) -> str:
        number = value["thoughtNumber"]
        shown = {
            "thoughtNumber": number,
            "totalThoughts": max(number, value["totalThoughts"]),
            "nextThoughtNeeded": value["nextThoughtNeeded"],
            "branches": sorted(self._branches, key=_place),
            "thoughtHistoryLength": self._count,
        }
        return stringify(shown, 2)

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take the count and the branches from an answer."""
        told = _read(observation.text)
        if isinstance(told.get("thoughtHistoryLength"), int):
            self._count = told["thoughtHistoryLength"]
            names = told.get("branches", [])
            kept = [name for name in self._branches if name in names]
            self._branches = (*kept, *(name for name in names if name not in kept))

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The count and the branches."""
        if zod.parse(self.schemas[TOOL], dict(arguments))[1] or tool != TOOL:
            return {}
        return {"thoughts": content_id([self._count, self._branches])}

    def fork(self) -> SequentialKernel:
        """Copy two values."""
        twin = SequentialKernel()
        twin._count, twin._branches = self._count, self._branches
        return twin

    def dump(self) -> JsonDict:
        """Return both values."""
        return {"count": self._count, "branches": list(self._branches)}

    def load(self, data: JsonDict) -> None:
        """Take both values."""
        try:
            self._count, self._branches = int(data["count"]), tuple(map(str, data["branches"]))
        except (KeyError, TypeError, ValueError) as exc:
            raise KernelError("damaged state of a sequential-thinking server") from exc

    def describe(self) -> JsonDict:
        """Count and branches."""
        return {"thoughts": self._count, "branches": list(self._branches[:50])}

    def close(self) -> None:
        """Nothing to free."""


def _place(name: str) -> tuple[int, int]:
    """Where JavaScript lists a key: whole numbers first, in order; others as they came."""
    whole = name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and int(name) < 2**32 - 1
    return (0, int(name)) if whole else (1, 0)


def _read(text: str) -> JsonDict:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
