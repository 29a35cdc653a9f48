"""Stand-ins that make the shell library refuse what permissions forbid; it knows modes but does not heed them.

A file that may not be read or written is hidden behind a directory, a directory that may not be searched behind
a file. The library then refuses with `Is a directory` or `Not a directory`, which is reworded to `Permission
denied`. Our own commands look through the stand-ins. Changing the mode of what stands behind one lifts it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from bashkit import FileSystem

from worldline.kernels.shell.table import Table

__all__ = ["NO_BARRIERS", "Barriers"]

_REFUSAL = re.compile(r"^(bash: (?:line \d+: )?(?:\S+: )?)([^\n]*): (?:Is a directory|Not a directory)$", re.MULTILINE)


class Barriers:
    """The stand-ins of one run.

    Args:
        vfs: The in-memory file system; None where there are none.
        table: The files before the run.
        restore: Puts a path and what lies below it back into the file system.
    """

    def __init__(self, vfs: FileSystem | None, table: Table, restore: Callable[[str, FileSystem], None]) -> None:
        self._vfs = vfs
        self._table = table
        self._restore = restore
        self.paths: set[str] = set()
        self.placed: frozenset[str] = frozenset()

    def place(self, paths: set[str]) -> None:
        """Hide paths; a path that is not there becomes a directory."""
        if self._vfs is None:
            return
        for path in sorted(paths):
            node = self._table.nodes.get(path)
            # The library does not let go of some places that it makes up, such as /root.
            with contextlib.suppress(RuntimeError):
                if node is not None:
                    self._vfs.remove(path, node.kind == "directory")
                if node is not None and node.kind == "directory":
                    self._vfs.write_file(path, b"")
                else:
                    self._vfs.mkdir(path)
                self.paths.add(path)
        self.placed = frozenset(self.paths)

    def lift(self, path: str, vfs: FileSystem) -> None:
        """Put back what stands behind a path, through a handle that may be used at this moment."""
        if path in self.paths:
            self.paths.discard(path)
            with contextlib.suppress(RuntimeError):
                vfs.remove(path, True)
            if path in self._table.nodes:
                self._restore(path, vfs)

    def lift_all(self) -> None:
        """Put everything back."""
        for path in sorted(self.paths):
            if self._vfs is not None:
                self.lift(path, self._vfs)

    def reword(self, stderr: str, resolve: Callable[[str], str]) -> str:
        """Turn the library's refusals at stand-ins into `Permission denied`."""
        if not self.placed:
            return stderr

        def word(match: re.Match[str]) -> str:
            path = resolve(match[2])
            behind = any(path == hidden or path.startswith(hidden + "/") for hidden in self.placed)
            return f"{match[1]}{match[2]}: Permission denied" if behind else match[0]

        return _REFUSAL.sub(word, stderr)


NO_BARRIERS = Barriers(None, Table(), lambda path, vfs: None)
"""For calls where nothing is hidden."""
