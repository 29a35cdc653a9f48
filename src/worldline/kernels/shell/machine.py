"""One shell of the library with the files of a kernel in it: running a script, following and restoring files."""

from __future__ import annotations

import contextlib
import posixpath
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bashkit import Bash, BashError, BuiltinContext, BuiltinResult, FileSystem

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.builtins import commands
from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.files import BROUGHT, KernelFiles, Trace, is_virtual
from worldline.kernels.shell.table import Node, Table

__all__ = ["Limits", "Machine", "Outcome", "Step"]

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one step may use before the kernel gives up."""

    seconds: float = 2.0
    commands: int = 20_000
    loop_iterations: int = 20_000
    memory: int = 256 * 1024 * 1024


@dataclass(slots=True)
class Step:
    """What is known about the step that is running; filled in by our commands."""

    state: TerminalState
    table: Table
    stamps: dict[str, float]
    now: datetime
    umask: int = 0o022
    trace: Trace = field(default_factory=Trace)
    ran: list[str] = field(default_factory=list)
    """Names of our commands that ran."""
    unknown: list[str] = field(default_factory=list)
    slept: float = 0.0
    ended: bool = True
    """Whether the end of the script was not reached."""
    status: int = 0
    report: list[str] = field(default_factory=list)
    """What the shell said about itself at the script's end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a script wrote, byte for byte, and how it ended."""

    stdout: bytes
    stderr: bytes
    status: int
    error: str | None
    truncated: bool


class _Slot:
    """Where the commands find the running step; keeps shell and commands from holding each other alive."""

    __slots__ = ("step",)

    def __init__(self) -> None:
        self.step: Step | None = None


END = "__worldline_end"


class Machine:
    """A shell of the library, our commands registered in it.

    Args:
        state: The declared world.
        limits: What one step may use.
    """

    def __init__(self, state: TerminalState, limits: Limits) -> None:
        self.state = state
        self.stamps: dict[str, float] = {}
        self._slot = _Slot()
        self._bash = Bash(
            username=state.user,
            hostname=state.hostname,
            cwd="/",
            env=environment(state),
            max_commands=limits.commands,
            max_loop_iterations=limits.loop_iterations,
            max_memory=limits.memory,
            timeout_seconds=limits.seconds,
            custom_builtins=_callbacks(self._slot),
        )
        self.vfs: FileSystem = self._bash.fs()

    # --- running

    def start(self, directory: str) -> None:
        """Enter the directory in which a session starts."""
        self._bash.execute_sync(f"cd {shlex.quote(directory)}; unset OLDPWD")

    def run(self, script: str, step: Step) -> Outcome:
        """Run a script; what our commands saw and did is noted in `step`."""
        self._slot.step = step
        try:
            result = self._bash.execute_sync(script)
        except BashError as error:
            return Outcome(b"", str(error).encode(), 2, str(error), False)
        finally:
            self._slot.step = None
        raw: Any = result  # the library's stubs leave out the two byte fields
        truncated = result.stdout_truncated or result.stderr_truncated
        return Outcome(raw.stdout_bytes, raw.stderr_bytes, result.exit_code, result.error, truncated)

    def analyze(self, script: str) -> Any:
        """Parse a script without running it.

        Raises:
            BashError: It does not parse.
        """
        return self._bash.analyze(script)

    def shell_state(self) -> Any:
        """Variables, arrays, aliases and the working directory."""
        return self._bash.shell_state()

    def save_shell(self) -> bytes:
        """Serialise variables, functions and options, without files."""
        return self._bash.snapshot(exclude_filesystem=True)

    def restore_shell(self, data: bytes) -> None:
        """Undo what happened to variables, functions and options since :meth:`save_shell`."""
        self._bash.restore_snapshot(data)

    # --- files

    def install(self, old: Table, new: Table) -> None:
        """Make the in-memory files, which are those of `old`, those of `new`."""
        gone = [path for path in old.nodes if path not in new.nodes or new.nodes[path].kind != old.nodes[path].kind]
        for path in sorted(gone, reverse=True):
            if _held(path):
                self.vfs.remove(path)
                self.stamps.pop(path, None)
        for path, node in sorted(new.nodes.items()):
            before = old.nodes.get(path)
            if before is node or not _held(path):
                continue
            fresh = before is None or before.kind != node.kind
            self._put(path, node, fresh=fresh, content=fresh or (before is not None and before.content != node.content))

    def _put(self, path: str, node: Node, *, fresh: bool, content: bool) -> None:
        if node.kind == "symlink":
            if not fresh:
                self.vfs.remove(path)
            self.vfs.symlink(node.target, path)
            return
        if node.kind == "directory":
            if fresh:
                # The library shows /etc, /usr and others before they can be written to.
                with contextlib.suppress(RuntimeError):
                    self.vfs.mkdir(path)
        elif node.kind == "file" and content:
            self.vfs.write_file(path, node.content or b"")
        if path != "/":
            self.vfs.chmod(path, node.mode)
        self.stamps[path] = self.vfs.stat(path)["modified"]

    def follow(self, table: Table, now: datetime) -> None:
        """Bring a table in step with what commands of the library did to the files."""
        seen: set[str] = set()
        changed: set[str] = set()
        self._walk("/", table, now, seen, changed)
        for path in [path for path in table.nodes if path not in seen and _held(path)]:
            del table.nodes[path]
            table.open.discard(path)
            table.tainted.pop(path, None)
            self.stamps.pop(path, None)
            changed.add(posixpath.dirname(path))
        for parent in changed:
            node = table.nodes.get(parent)
            if node is not None and node.mtime != now:
                table.nodes[parent] = replace(node, mtime=now)

    def _walk(self, directory: str, table: Table, now: datetime, seen: set[str], changed: set[str]) -> None:
        seen.add(directory)
        prefix = directory.rstrip("/") + "/"
        for entry in self.vfs.read_dir(directory):
            path = prefix + entry["name"]
            if not _held(path):
                continue
            seen.add(path)
            meta = entry["metadata"]
            kind, node = meta["file_type"], table.nodes.get(path)
            if node is None or node.kind != kind:
                changed.add(directory)
                table.open.discard(path)
            if kind == "symlink":
                self._follow_link(path, table, now)
            elif (
                node is None
                or node.kind != kind
                or node.mode != meta["mode"]
                or (kind == "file" and self.stamps.get(path) != meta["modified"])
            ):
                self._follow_file(path, meta, table, now)
            if kind == "directory":
                self._walk(path, table, now, seen, changed)

    def _follow_link(self, path: str, table: Table, now: datetime) -> None:
        target = self.vfs.read_link(path)
        node = table.nodes.get(path)
        if node is None or node.target != target:
            uid = self.state.user_id
            table.nodes[path] = Node("symlink", 0o777, uid, uid, now, target=target)

    def _follow_file(self, path: str, meta: dict[str, Any], table: Table, now: datetime) -> None:
        uid = self.state.user_id
        kind = meta["file_type"]
        node = table.nodes.get(path)
        if node is None or node.kind != kind:
            node = Node(kind, int(meta["mode"]), uid, uid, now)
        content = node.content
        if kind == "file" and self.stamps.get(path) != meta["modified"]:
            content = self.vfs.read_file(path)
            node = replace(node, mtime=now)
            if table.tainted.get(path) and content:
                # Appending to what is not known leaves it unknown; anything else replaced it.
                table.tainted.pop(path, None)
        self.stamps[path] = meta["modified"]
        table.nodes[path] = replace(node, mode=int(meta["mode"]), content=content)


def _held(path: str) -> bool:
    """Whether the in-memory file system lets us decide what is at a path."""
    return path != "/" and not is_virtual(path) and path not in BROUGHT


def environment(state: TerminalState) -> dict[str, str]:
    """Exported variables a session starts with."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
        "HOME": state.home,
        "USER": state.user,
        "LOGNAME": state.user,
        "SHELL": "/bin/bash",
        "LANG": state.locale,
        "LC_ALL": state.locale,
        "TZ": state.timezone,
        **state.env,
    }


def _callbacks(slot: _Slot) -> dict[str, Callable[[BuiltinContext], BuiltinResult]]:
    table: dict[str, Callable[[BuiltinContext], BuiltinResult]] = {}
    for name, function in commands().items():
        callback = _callback(slot, name, function)
        for key in (name, f"/bin/{name}", f"/usr/bin/{name}"):
            table[key] = callback
    table[END] = _end(slot)
    return table


def _end(slot: _Slot) -> Callable[[BuiltinContext], BuiltinResult]:
    def end(context: BuiltinContext) -> BuiltinResult:
        if slot.step is not None:
            slot.step.ended = False
            slot.step.status = int(context.argv[0])
            slot.step.report = context.argv[1:]
        return BuiltinResult("", "", 0)

    return end


def _callback(slot: _Slot, name: str, function: Builtin) -> Callable[[BuiltinContext], BuiltinResult]:
    def callback(context: BuiltinContext) -> BuiltinResult:
        step = slot.step
        if step is None:
            return BuiltinResult("", "", 125)
        result = invoke(step, context, name, function)
        return BuiltinResult(result.stdout, result.stderr, result.status)

    return callback


def invoke(step: Step, context: BuiltinContext, name: str, function: Builtin) -> Result:
    """Run one command of ours; what it does not know is noted, and gives status 125."""
    step.ran.append(name)
    stdin = context.stdin
    files = KernelFiles(context.fs, step.table, step.state, context.cwd, step.now, step.trace, step.stamps, step.umask)
    call = Call(name, context.argv, stdin, context.env, context.cwd, files, step.state, step.now)
    if stdin is not None and _REPLACEMENT in stdin:
        step.unknown.append(f"{name}: its input may be binary")
    try:
        return function(call)
    except Unknown as error:
        step.unknown.append(str(error))
    except OSError as error:
        return Result("", f"{name}: {error.filename}: {error.strerror}\n", 1)
    return Result("", "", 125)
