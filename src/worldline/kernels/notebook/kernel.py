"""The notebook kernel: runs cells of Python code in the Python kernel's interpreter, on simulated files and clock."""

from __future__ import annotations

import ast
import base64
import json
import posixpath
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from worldline.domains.code import HOME, LOST, TIMED_OUT, CodeState, refusal
from worldline.domains.terminal.state import DEFAULT_CLOCK
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.notebook.files import MemoryFiles, Node, declared_nodes
from worldline.kernels.python import PythonLimits, PythonUnknown
from worldline.kernels.python.cells import STOPPED, Cell, CellResult, Notebook
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec, canonical_json, content_id

__all__ = ["NotebookKernel"]

_CELL_SECONDS = 2.0
"""Seconds of processor time that a cell may take in the kernel, at most; beyond them its answer is unknown."""
_MEMORY = 768 << 20
_NO_NETWORK = ("the module socket", "the module urllib.request", "the module http.client")
"""Reasons to abstain that mean that a cell reaches for the network, which is not there."""
_READ = re.compile(r"open\((['\"])([^'\"\\]+)\1\)\.read\(\)")
_PLACE = re.compile(rb" at 0x[0-9a-f]{6,16}")


@dataclass(frozen=True)
class _Settled:
    """What has been settled; immutable, so that forks share it."""

    base: Mapping[str, Node]
    """Files when the running Python session began."""
    complete: bool = True
    """What is not among the files does not exist."""
    gone: frozenset[str] = frozenset()
    """Paths that are known not to exist, in a world that is not complete."""
    cells: tuple[Cell, ...] = ()
    """Cells of the running Python session."""
    files: Mapping[str, Node] | None = None
    """Files now; None: as at the start of the session."""
    number: int = 0
    """Cells run so far, those of earlier sessions included."""
    now: datetime = DEFAULT_CLOCK
    seconds: float = 0.0
    """Processor time that the cells took here."""


@dataclass(frozen=True)
class _Trial:
    action: Action
    proposal: Proposal
    after: _Settled


class NotebookKernel:
    """Satisfies :class:`worldline.kernels.base.Kernel`.

    Args:
        world: Its `initial_state` is a :class:`CodeState`.

    Raises:
        pydantic.ValidationError: The initial state is not that of a Python session.
    """

    domain = "code"

    def __init__(self, world: WorldSpec) -> None:
        self.state = CodeState.model_validate(world.initial_state)
        clock = self.state.clock or DEFAULT_CLOCK
        nodes = declared_nodes({path: spec.data for path, spec in self.state.files.items()}, clock)
        self._settled = _Settled(nodes, self.state.complete, now=clock)
        self._trial: _Trial | None = None
        self._notebook: Notebook | None = None
        self._live: tuple[Cell, ...] | None = None
        """The cells that the interpreter has run."""

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Run the cell on a trial state and answer."""
        self.reject()
        refused = refusal(action)
        if refused is not None:
            proposal = Proposal(Observation.from_text(refused, is_error=True), True, ("refused",), "not a cell")
            self._trial = _Trial(action, proposal, self._settled)
            return proposal
        cell = Cell(str(action.arguments["code"]), self._settled.number + 1, self._settled.now)
        if "\0" in cell.source:
            observation = Observation.from_text(
                "ValueError: source code string cannot contain null bytes\n", is_error=True
            )
            proposal = Proposal(observation, True, ("cell ValueError",), "no source may hold a NUL byte")
            self._trial = _Trial(action, proposal, replace(self._settled, number=cell.number))
            return proposal
        try:
            result, files = self._run(cell)
        except PythonUnknown as exc:
            proposal, after = self._unknown(cell, str(exc))
        else:
            proposal, after = self._known(cell, result, files)
        self._trial = _Trial(action, proposal, after)
        return proposal

    def _run(self, cell: Cell) -> tuple[CellResult, MemoryFiles]:
        """Run a cell in the interpreter, which is brought up to date first where it is not."""
        settled, limit = self._settled, min(_CELL_SECONDS, self.state.timeout)
        notebook = self._notebook
        if notebook is None or not notebook.alive or self._live is not settled.cells:
            notebook = self._restart(limit)
        nodes = settled.files if settled.files is not None else settled.base
        files = MemoryFiles(nodes, settled.complete, cell.now, settled.gone)
        return notebook.run((cell,), files, seconds=limit), files

    def _restart(self, limit: float) -> Notebook:
        """Start an interpreter and bring it up to date."""
        self._drop()
        settled = self._settled
        self._notebook = Notebook(
            cwd=HOME,
            env=_environment(self.state),
            closed=self.state.packages is not None,
            limits=PythonLimits(seconds=limit, memory=_MEMORY),
        )
        if settled.cells:
            files = MemoryFiles(settled.base, settled.complete, settled.cells[-1].now, settled.gone)
            self._notebook.run(settled.cells, files, seconds=limit + 2 * settled.seconds)
        return self._notebook

    def _known(self, cell: Cell, result: CellResult, files: MemoryFiles) -> tuple[Proposal, _Settled]:
        settled = self._settled
        after = replace(
            settled,
            cells=(*settled.cells, cell),
            files=files.nodes,
            number=cell.number,
            now=settled.now + timedelta(seconds=int(result.slept)),
            seconds=settled.seconds + result.used,
        )
        if result.slept >= self.state.timeout:
            return self._late(("late",)), self._restarted(files.nodes, frozenset(files.gone))
        self._live = after.cells
        doubts = [*result.doubts, *files.guessed.values()]
        if self.state.clock is None and _uses_clock(cell.source):
            doubts.append("the time is not known")
        proposal = Proposal(
            Observation.from_text(_placed(result.output), is_error=result.failed),
            known=not doubts,
            classes=_classes(cell.source, result),
            why="; ".join(doubts) or f"ran {len(after.cells)} cells",
            writes=tuple(sorted(files.written)),
            details={"seconds": result.slept},
        )
        return proposal, after

    def _late(self, classes: tuple[str, ...]) -> Proposal:
        text = TIMED_OUT.format(self.state.timeout)
        return Proposal(Observation.from_text(text, is_error=True), True, classes, "it sleeps too long")

    def _unknown(self, cell: Cell, why: str) -> tuple[Proposal, _Settled]:
        """The guess where the interpreter abstains: the cell never ends, asks for too much memory, or shows nothing."""
        text, failed, name = "", False, "unsupported"
        if why == STOPPED:
            text, failed, name = TIMED_OUT.format(self.state.timeout), True, "stopped"
        elif why.startswith(("MemoryError", "a sequence too large")):
            text, failed, name = _memory_error(cell), True, "memory"
        elif why.startswith(_NO_NETWORK):
            text, failed, name = "OSError: [Errno 101] Network is unreachable\n", True, "network"
        elif "ecursion" in why:
            text, failed, name = "RecursionError: maximum recursion depth exceeded\n", True, "recursion"
        observation = Observation.from_text(text, is_error=failed)
        return Proposal(observation, known=False, classes=(name,), why=why), self._skipping(cell)

    def _skipping(self, cell: Cell) -> _Settled:
        """The state after a cell of which only the definitions are known; what it may have written is in doubt."""
        settled = self._settled
        nodes = dict(settled.files if settled.files is not None else settled.base)
        touched = _touches_files(cell.source)
        if touched:
            base = {path: _doubted(path, node) for path, node in settled.base.items()}
            settled = replace(settled, base=base, complete=False)
        return replace(
            settled,
            cells=(*settled.cells, replace(cell, how="skip")),
            number=cell.number,
            files={path: _doubted(path, node) for path, node in nodes.items()} if touched else nodes,
        )

    def _restarted(self, nodes: Mapping[str, Node], gone: frozenset[str]) -> _Settled:
        """The state after Python was started anew, with the files as they are."""
        settled = self._settled
        return _Settled(dict(nodes), settled.complete, gone, number=settled.number + 1, now=settled.now)

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""
        if self._trial is not None:
            self._settled = self._trial.after
            self._trial = None

    def reject(self) -> None:
        """Forget the trial state of the last proposal; an interpreter that went ahead is found out later."""
        self._trial = None

    def _drop(self) -> None:
        if self._notebook is not None:
            self._notebook.close()
        self._notebook, self._live = None, None

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        trial = self._trial
        if trial is None:
            return
        told, seen = trial.proposal.observation, turn.observation
        anew = seen.text in (LOST, TIMED_OUT.format(self.state.timeout))
        if anew:
            nodes = self._settled.files if self._settled.files is not None else self._settled.base
            touched = _touches_files(str(turn.action.arguments.get("code", "")))
            kept = {path: _doubted(path, node) if touched else node for path, node in nodes.items()}
            after = self._restarted(kept, self._settled.gone)
            self._settled = replace(after, complete=after.complete and not touched)
            self._trial = None
        elif trial.proposal.known and not _alike(told, seen) and trial.after.cells:
            *others, last = trial.after.cells
            self._settled = replace(trial.after, cells=(*others, replace(last, how="doubt")))
            self._trial = None
        else:
            self.accept()
            self._learn(turn)

    def _learn(self, turn: Turn) -> None:
        """Take over what a cell that only reads a file shows of it."""
        read = _READ.fullmatch(str(turn.action.arguments.get("code", "")))
        settled = self._settled
        if read is None or turn.action.name != "python":
            return
        path = posixpath.normpath(posixpath.join(HOME, read[2]))
        if turn.observation.is_error:
            if "FileNotFoundError" in turn.observation.text and not settled.complete:
                self._settled = replace(settled, gone=settled.gone | {path})
            return
        nodes = settled.files if settled.files is not None else settled.base
        known = nodes.get(path)
        if known is not None and not known.doubtful:
            return
        try:
            text = ast.literal_eval(turn.observation.text.strip())
        except (ValueError, SyntaxError):
            return
        if isinstance(text, str):
            node = known or Node("file", 0o644, self.state.clock or DEFAULT_CLOCK)
            told = replace(node, data=text.encode(), doubtful=False)
            self._settled = replace(settled, base={**settled.base, path: told}, files={**nodes, path: told})
            self._drop()

    # --- copies

    def fork(self) -> NotebookKernel:
        """Return an independent copy; it shares the settled state."""
        twin = object.__new__(NotebookKernel)
        twin.state, twin._settled, twin._trial = self.state, self._settled, None
        twin._notebook, twin._live = None, None
        return twin

    def dump(self) -> bytes:
        """Serialise the whole state."""
        settled = self._settled
        data = {
            "world": self._world_id(),
            "base": _packed(settled.base),
            "files": None if settled.files is None else _packed(settled.files),
            "complete": settled.complete,
            "gone": sorted(settled.gone),
            "cells": [[cell.source, cell.number, cell.now.isoformat(), cell.how] for cell in settled.cells],
            "number": settled.number,
            "now": settled.now.isoformat(),
        }
        return canonical_json(data).encode()

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged, or from another world.
        """
        try:
            read = json.loads(data)
            if read["world"] != self._world_id():
                raise KernelError("the dumped state is that of another world")
            cells = [Cell(text, number, datetime.fromisoformat(now), how) for text, number, now, how in read["cells"]]
            files = None if read["files"] is None else _unpacked(read["files"])
            now = datetime.fromisoformat(read["now"])
            gone = frozenset(map(str, read["gone"]))
            base, complete, number = _unpacked(read["base"]), bool(read["complete"]), int(read["number"])
            self._settled = _Settled(base, complete, gone, tuple(cells), files, number, now, 2.0)
        except (ValueError, TypeError, KeyError) as exc:
            raise KernelError("damaged state of a Python session") from exc
        self._trial = None

    def _world_id(self) -> str:
        return content_id(self.state.model_dump(mode="json"))

    # --- views

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """The session as a whole: its files and every cell that ran."""
        settled = self._settled
        cells = [[cell.source, cell.how] for cell in settled.cells]
        return {"session": content_id([self._world_id(), _packed(settled.base), cells])}

    def describe(self) -> JsonDict:
        """The files with their first characters, and the names that cells bound."""
        settled = self._settled
        nodes = settled.files if settled.files is not None else settled.base
        files = {
            path: node.data[:400].decode("utf-8", "replace")
            for path, node in sorted(nodes.items())[:60]
            if node.kind == "file" and not node.doubtful
        }
        names = sorted({name for cell in settled.cells[-200:] for name in _bound(cell.source)})
        return {"cells": settled.number, "names": names[:200], "files": files, "clock": settled.now.isoformat()}

    def close(self) -> None:
        """End the interpreter. Forks live on."""
        self._trial = None
        self._drop()


def _environment(state: CodeState) -> dict[str, str]:
    base = {"HOME": HOME, "USER": "user", "LOGNAME": "user", "SHELL": "/bin/bash", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games", **base, **state.env}


def _doubted(path: str, node: Node) -> Node:
    return replace(node, doubtful=True) if node.kind == "file" else node


def _alike(told: Observation, seen: Observation) -> bool:
    """Whether two answers tell of the same effects: the same text, or the same kind of error."""
    if told.text == seen.text:
        return True
    return bool(told.is_error and seen.is_error) and _error_name(told.text) == _error_name(seen.text)


def _error_name(text: str) -> str:
    return (text.rstrip("\n").rsplit("\n", 1)[-1]).partition(":")[0]


def _placed(output: bytes) -> bytes:
    """Addresses of objects, which nothing tells, as some addresses of the usual shape: the same for the same object."""
    found = dict.fromkeys(_PLACE.findall(output))
    for number, place in enumerate(found):
        output = output.replace(place, b" at 0x7f%010x" % (0x3A5B0C4E10 + number * 0x150))
    return output


def _memory_error(cell: Cell) -> str:
    """The traceback of a cell whose last statement asks for too much memory."""
    lines = cell.source.rstrip("\n").splitlines() or [""]
    place = f'  File "<cell {cell.number}>", line {len(lines)}, in <module>\n    {lines[-1].strip()}\n'
    return f"Traceback (most recent call last):\n{place}MemoryError\n"


def _tree(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _names(source: str) -> set[str]:
    """All names and attributes in a text."""
    found = set()
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def _bound(source: str) -> set[str]:
    return {
        node.id for node in ast.walk(_tree(source)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


_FILE_NAMES = frozenset(
    {"open", "Path", "os", "shutil", "pathlib", "write_text", "write_bytes", "mkdir", "unlink", "to_csv"}
)


def _touches_files(source: str) -> bool:
    """Whether a cell may write files, as far as its own text tells."""
    return bool(_names(source) & _FILE_NAMES)


def _uses_clock(source: str) -> bool:
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("now", "today", "utcnow", "localtime", "gmtime", "ctime", "asctime"):
                return not node.args or name == "now"
            if name == "time" and not node.args and not node.keywords and isinstance(node.func, ast.Attribute):
                return getattr(node.func.value, "id", "") == "time"
    return False


def _classes(source: str, result: CellResult) -> tuple[str, ...]:
    """Classes whose trust is measured: how the cell ended, and the library modules that it names."""
    ending = "cell" if not result.failed else f"cell {result.error or 'SyntaxError'}"
    modules = sorted(name for name in _names(source) if name in sys.stdlib_module_names)
    return (ending, *(f"module {name}" for name in modules))


def _packed(nodes: Mapping[str, Node]) -> JsonDict:
    return {
        path: [
            node.kind,
            node.mode,
            node.mtime.isoformat(),
            base64.b64encode(node.data).decode(),
            node.uid,
            node.doubtful,
        ]
        for path, node in nodes.items()
    }


def _unpacked(data: Mapping[str, Any]) -> dict[str, Node]:
    return {
        path: Node(
            kind, mode, datetime.fromisoformat(mtime).astimezone(UTC), base64.b64decode(content), uid, uid, 1, doubt
        )
        for path, (kind, mode, mtime, content, uid, doubt) in data.items()
    }
