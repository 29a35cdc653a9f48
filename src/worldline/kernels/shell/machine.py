"""One shell of the library with the files of a kernel in it: running a script, following and restoring files."""

from __future__ import annotations

import contextlib
import posixpath
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bashkit import Bash, BashError, FileSystem, ShellState

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.builtins.shared.textio import restore
from worldline.kernels.shell.disk import BROUGHT, is_virtual
from worldline.kernels.shell.limits import Limits, run_limited
from worldline.kernels.shell.step import Slot, Step, callbacks
from worldline.kernels.shell.table import Node, Table

__all__ = ["Machine", "Outcome", "environment"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a script wrote, byte for byte, and how it ended."""

    stdout: bytes
    stderr: bytes
    status: int
    error: str | None
    truncated: bool


class Machine:
    """A shell of the library, our commands registered in it.

    Args:
        state: The declared world.
        limits: What one step may use.
        absolute: Whether our commands are found under `/bin/NAME` too.
        others: Names of programs that are there though nothing simulates them.
    """

    def __init__(
        self, state: TerminalState, limits: Limits, *, absolute: bool = False, others: frozenset[str] = frozenset()
    ) -> None:
        self.state = state
        self.absolute = absolute
        self.others = others
        self.stamps: dict[str, float] = {}
        self._slot = Slot()
        self._limits = limits
        self._fresh: dict[str, int] = {}
        self._ours: set[str] = set()
        self._bash = Bash(
            username=state.user,
            hostname=state.hostname,
            cwd=state.start_directory,
            env=environment(state),
            max_commands=limits.commands,
            max_loop_iterations=limits.loop_iterations,
            max_memory=limits.memory,
            timeout_seconds=limits.wall,
            custom_builtins=callbacks(self._slot, state, absolute=absolute, others=others),
        )
        self.vfs: FileSystem = self._bash.fs()
        self._bash.execute_sync("BASH=/usr/bin/bash; IFS=$' \\t\\n'; : ${TERM=dumb}")

    # --- running

    def run(self, script: str, step: Step) -> Outcome:
        """Run a script; what our commands saw and did is noted in `step`."""
        self._slot.step = step
        try:
            ran = run_limited(self._bash, script, self._limits)
        except BashError as error:
            return Outcome(b"", str(error).encode(), 2, str(error), False)
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what the library's runtime raises; it has no import path
                raise
            return Outcome(b"", b"", 2, f"the shell library failed: {error}", False)
        finally:
            self._slot.step = None
        result = ran.result
        truncated = result.stdout_truncated or result.stderr_truncated
        stderr = result.stderr_bytes if ran.error == result.error else b""  # it says that it was stopped
        return Outcome(restore(result.stdout_bytes), restore(stderr), result.exit_code, ran.error, truncated)

    @property
    def shell(self) -> Bash:
        """The library's shell, for parsing."""
        return self._bash

    def shell_state(self) -> ShellState:
        """Variables, arrays, aliases and the working directory."""
        return self._bash.shell_state()

    def variables(self) -> dict[str, str]:
        """Variables, arrays in their first element left out, without those that every shell has."""
        state = self._bash.shell_state()
        found = {**state.variables, **state.env}
        return {name: value for name, value in found.items() if name not in _OWN_VARIABLES}

    def fingerprint(self) -> tuple[object, ...]:
        """What a script may have changed of the shell, so far as it shows; cheap to take."""
        state = self._bash.shell_state()
        return (
            self.variables(),
            {name: dict(values) for name, values in state.arrays.items() if name not in _OWN_VARIABLES},
            {name: dict(values) for name, values in state.assoc_arrays.items()},
            dict(state.env),
            dict(state.aliases),
            state.cwd,
        )

    def enter(self, directory: str) -> None:
        """Change the working directory."""
        self._bash.execute_sync(f"cd {shlex.quote(directory)}")

    def save_shell(self) -> bytes:
        """Serialise variables, functions and options, without files."""
        return self._bash.snapshot(exclude_filesystem=True)

    def restore_shell(self, data: bytes) -> None:
        """Undo what happened to variables, functions and options since :meth:`save_shell`."""
        self._bash.restore_snapshot(data)

    # --- files

    def save_files(self) -> bytes:
        """Serialise the files and the shell."""
        return self._bash.snapshot()

    def restore_files(self, data: bytes, table: Table) -> None:
        """Put the files into a new shell that another one, which held those of `table`, saved."""
        self._bash.restore_snapshot(data)
        self._stamp(
            {posixpath.dirname(path) for path, node in table.nodes.items() if node.kind == "file" and _held(path)}
        )

    def install(self, old: Table, new: Table) -> None:
        """Make the in-memory files, which are those of `old`, those of `new`."""
        gone = [path for path in old.nodes if path not in new.nodes or new.nodes[path].kind != old.nodes[path].kind]
        for path in sorted(gone, reverse=True):
            if _held(path):
                with contextlib.suppress(RuntimeError):  # the library took neither its name nor its content
                    self.vfs.remove(path)
                self.stamps.pop(path, None)
        touched = []
        for path, node in sorted(new.nodes.items()):
            before = old.nodes.get(path)
            if before is node or not _held(path):
                continue
            if node.kind == "file":
                touched.append(path)
            fresh = before is None or before.kind != node.kind
            _put(
                self.vfs,
                path,
                node,
                fresh=fresh,
                content=fresh or (before is not None and before.content is not node.content),
            )
        self._stamp({posixpath.dirname(path) for path in touched})

    def rewrite(self, path: str, content: bytes, table: Table) -> None:
        """Replace a file's content, here and in a table."""
        self.vfs.write_file(path, content)
        self.vfs.chmod(path, table.nodes[path].mode)
        self.stamps[path] = self.vfs.stat(path)["modified"]
        table.nodes[path] = replace(table.nodes[path], content=content)

    def _stamp(self, directories: set[str]) -> None:
        """Note the time stamps of the files in some directories."""
        for directory in directories:
            prefix = directory.rstrip("/") + "/"
            if not self.vfs.exists(directory):
                continue
            for entry in self.vfs.read_dir(directory):
                if entry["metadata"]["file_type"] == "file":
                    self.stamps[prefix + entry["name"]] = entry["metadata"]["modified"]

    def restorer(self, table: Table) -> Callable[[str, FileSystem], None]:
        """Return what writes a path of a table, and all below it, into the in-memory files again."""

        def put_back(path: str, vfs: FileSystem) -> None:
            for name in sorted([path, *table.children(path)]):
                node = table.nodes[name]
                _put(vfs, name, node, fresh=True, content=True)
                if node.kind != "symlink":
                    self.stamps[name] = vfs.stat(name)["modified"]

        return put_back

    def follow(self, table: Table, now: datetime, umask: int, ours: set[str], suspects: frozenset[str] | None) -> None:
        """Bring a table in step with what commands of the library did to the files.

        Args:
            table: Changed in place.
            now: Virtual time of the step.
            umask: Permission bits that new files do not get.
            ours: Paths that our own commands wrote, with the right mode already.
            suspects: The only files that can have changed; None: any.
        """
        seen: set[str] = set()
        changed: set[str] = set()
        self._fresh = {"file": 0o666 & ~umask, "directory": 0o777 & ~umask}
        self._ours = ours
        if suspects is not None:
            self._look_at(suspects, table, now)
            return
        self._walk("/", table, now, seen, changed)
        for path in [path for path, node in table.nodes.items() if path not in seen and _held(path) and not node.vast]:
            del table.nodes[path]
            table.open.discard(path)
            table.tainted.pop(path, None)
            self.stamps.pop(path, None)
            changed.add(posixpath.dirname(path))
        for parent in changed:
            node = table.nodes.get(parent)
            if node is not None and node.mtime != now:
                table.nodes[parent] = replace(node, mtime=now)

    def _look_at(self, suspects: frozenset[str], table: Table, now: datetime) -> None:
        for path in suspects:
            if not _held(path):
                continue
            node, parent = table.nodes.get(path), posixpath.dirname(path)
            try:
                meta = self.vfs.stat(path)
            except RuntimeError:
                meta = None
            if meta is not None and (node is None or node.kind == "file"):
                if node is None or self.stamps.get(path) != meta["modified"]:
                    self._follow_file(path, meta, table, now)
            elif meta is None and node is not None and not node.vast:
                table.drop(path)
            if (node is None) != (meta is None) and parent in table.nodes:
                table.nodes[parent] = replace(table.nodes[parent], mtime=now)

    def _walk(self, directory: str, table: Table, now: datetime, seen: set[str], changed: set[str]) -> None:
        seen.add(directory)
        prefix = directory.rstrip("/") + "/"
        # In the order in which they were made, which the table's own order keeps.
        for entry in sorted(self.vfs.read_dir(directory), key=lambda entry: entry["metadata"]["created"]):
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
        mode = int(meta["mode"])
        entered = node is not None and kind == "file" and node.content is None and path not in self.stamps
        if node is None or node.kind != kind or entered:
            if path not in self._ours and kind in self._fresh and mode in (0o644, 0o755) and mode != self._fresh[kind]:
                mode = self._fresh[kind]
                self.vfs.chmod(path, mode)
            node = Node(kind, mode, uid, uid, now)
        elif node.mode != mode:
            # Modes are ours to change; the library resets them where it writes, and keeps some places to itself.
            with contextlib.suppress(RuntimeError):
                self.vfs.chmod(path, node.mode)
            mode = node.mode
        content = node.content
        if kind == "file" and self.stamps.get(path) != meta["modified"]:
            content = self.vfs.read_file(path)
            if restore(content) != content:
                content = restore(content)
                self.vfs.write_file(path, content)
                meta = self.vfs.stat(path)
            node = replace(node, mtime=now)
            if table.tainted.get(path) and content:
                # Appending to what is not known leaves it unknown; anything else replaced it.
                table.tainted.pop(path, None)
        self.stamps[path] = meta["modified"]
        table.nodes[path] = replace(node, mode=mode, content=content)
        for twin in table.twins(path):
            if table.nodes[twin] != table.nodes[path]:
                self.vfs.write_file(twin, content or b"")
                self.stamps[twin] = self.vfs.stat(twin)["modified"]
                table.nodes[twin] = table.nodes[path]


_OWN_WORDS = (
    "_ BASH BASHOPTS BASHPID BASH_ARGV0 BASH_COMMAND BASH_LINENO BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO BASH_VERSION "
    "COLUMNS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD HOSTNAME HOSTTYPE LINENO LINES MACHTYPE "
    "OPTIND OSTYPE PIPESTATUS PPID PS4 PWD RANDOM SECONDS SHELLOPTS SRANDOM TERM UID OLDPWD IFS"
)
_OWN_VARIABLES = frozenset(_OWN_WORDS.split())
"""Variables that every shell has."""


def _put(vfs: FileSystem, path: str, node: Node, *, fresh: bool, content: bool) -> None:
    if node.kind == "symlink":
        if not fresh:
            vfs.remove(path)
        vfs.symlink(node.target, path)
        return
    if node.kind == "directory":
        if fresh:
            # The library shows /etc, /usr and others before they can be written to.
            with contextlib.suppress(RuntimeError):
                vfs.mkdir(path)
    elif node.kind == "file" and content:
        with contextlib.suppress(RuntimeError):  # too large for the library: its content counts as unknown
            vfs.write_file(path, node.content or b"")
    if not fresh or node.mode != _CREATED.get(node.kind):
        with contextlib.suppress(RuntimeError):  # the library keeps the modes of its own /root
            vfs.chmod(path, node.mode)


_CREATED = {"file": 0o644, "directory": 0o755}
"""Modes that the library gives to new files."""


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
        "LC_ALL": state.locale,
        "TZ": state.timezone,
        "SHLVL": "1",
        **state.env,
    }
