"""The receiving side of rsync: which files change, how, and the lines that tell of it."""

from __future__ import annotations

import posixpath
import re

from worldline.kernels.shell.builtins.base import Call, FileStat
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.modes import ModeError, apply_mode
from worldline.kernels.shell.builtins.shared.textio import restore
from worldline.kernels.shell.builtins.transfer.rsync_deletion import Remover
from worldline.kernels.shell.builtins.transfer.rsync_list import Entry
from worldline.kernels.shell.builtins.transfer.rsync_options import Refusal, RsyncOptions

__all__ = ["Transfer"]

_KIND = {"file": "f", "directory": "d", "symlink": "L"}


class Transfer:
    """Brings a destination up to date.

    Args:
        call: The invocation.
        options: Its options.
        target: The destination as given.
    """

    def __init__(self, call: Call, options: RsyncOptions, target: str) -> None:
        self._call = call
        self._files = call.files
        self._options = options
        self._root = target
        self._dry = options.on("n")
        self.single = False
        """Whether the destination is the name of the one file that is sent."""
        self.failed = False
        self._fresh = False
        """Whether the destination was made by this transfer."""
        self._remover = Remover(call, options, self._place, dry=self._dry)
        self._skipped: list[str] = []
        self._changes: list[str] = []
        self._times: list[tuple[str, Entry]] = []
        self._before: dict[str, FileStat | None] = {}

    def lines(self) -> list[str]:
        """What is shown of the changes: deletions come first, since they are told at once."""
        if self._options.on("q"):
            return []
        late = self._options.on("delete-after") or self._options.on("delete-delay")
        told = self._remover.lines
        return [*self._skipped, *self._changes, *told] if late else [*told, *self._skipped, *self._changes]

    def create(self) -> None:
        """Make the destination directory."""
        self._fresh = True
        if self._dry:
            return
        target = self._root.rstrip("/") or "/"
        try:
            missing = []
            path = target
            while not self._files.exists(path or "."):
                missing.append(path)
                path = posixpath.dirname(path)
            for folder in reversed(missing):
                self._files.mkdir(folder, 0o777 & ~self._call.umask)
        except OSError as error:
            raise Refusal(
                f'rsync: [Receiver] mkdir "{self._files.absolute(target)}" failed: {strerror(error)} ({error.errno})\n'
                "rsync error: error in file IO (code 11) at main.c(808) [Receiver=3.5.0]\n",
                11,
            ) from error

    def run(self, entries: list[Entry]) -> None:
        """Transfer all entries."""
        names = {entry.path for entry in entries}
        # Directories are compared before deletions change their times.
        self._before = {entry.path: self._existing(entry.path) for entry in entries if entry.directory}
        if self._options.delete and not self.failed:
            if not (self._options.on("r") or self._options.on("d")):
                raise Refusal(
                    "rsync: --delete does not work without --recursive (-r) or --dirs (-d).\n"
                    "rsync error: syntax or usage error (code 1) at main.c(1886) [client=3.5.0]\n",
                    1,
                )
            for entry in entries:
                if entry.content and self._existing(entry.path) is not None and not (entry.path == "." and self._fresh):
                    self._remover.extra(entry.path, names)
        sent = []
        skipped: list[str] = []
        for entry in entries:
            if any(entry.path.startswith(f"{folder}/") for folder in skipped):
                continue
            if self._bring(entry):
                sent.append(entry)
            elif entry.directory:
                skipped.append(entry.path)
        for path, entry in reversed(self._times):
            self._files.utime(path, entry.mtime)
        if self._options.on("remove-source-files") and not self._dry:
            for entry in sent:
                if not entry.directory:
                    self._files.remove(entry.source)

    # --- one entry

    def _place(self, path: str) -> str:
        if self.single:
            return self._root
        return self._root if path == "." else posixpath.join(self._root, path)

    def _existing(self, path: str) -> FileStat | None:
        if self._dry and (self._fresh or path in self._remover.gone):
            return None
        try:
            return self._files.stat(self._place(path), follow=False)
        except OSError:
            return None

    def _bring(self, entry: Entry) -> bool:
        """Bring one entry; returns whether the destination has it now (or did)."""
        old = self._before.get(entry.path) or self._existing(entry.path)
        if self.single and old is not None and old.kind == "symlink":
            self._call.unknown("a destination that is a link")
        if entry.path == "." and self._fresh:
            old = None
        if entry.stat.kind == "symlink" and not self._options.on("l"):
            self._skipped.append(f'skipping non-regular file "{entry.path}"\n')
            return False
        creating = old is None and not (entry.path == "." and self._fresh)
        if creating and (self._options.on("existing") or self._options.on("ignore-non-existing")):
            return False
        if old is not None and not entry.directory:
            if self._options.on("ignore-existing"):
                return False
            if self._options.on("u") and old.kind != "directory" and old.mtime > entry.mtime:
                return False
        if entry.stat.kind == "file" and not self._fits(entry.stat.size):
            return False
        if old is not None and old.kind != entry.stat.kind:
            self._make_way(entry, old)
            old = None
        if entry.directory:
            self._directory(entry, old)
        elif entry.stat.kind == "symlink":
            self._link(entry, old)
        else:
            self._file(entry, old)
        return True

    def _fits(self, size: int) -> bool:
        options = self._options
        return (options.max_size is None or size <= options.max_size) and (
            options.min_size is None or size >= options.min_size
        )

    def _make_way(self, entry: Entry, old: FileStat) -> None:
        place = self._place(entry.path)
        if entry.path == "." or (old.kind == "symlink" and entry.directory):
            self._call.unknown("a directory over something else")
        if old.kind == "directory":
            if self._files.list(place):
                self._call.unknown("a file in the place of a directory")
        elif self._options.on("b"):
            self._call.unknown("a backup of what is of another kind")
        if not self._dry:
            self._files.remove(place)

    def _directory(self, entry: Entry, old: FileStat | None) -> None:
        place = self._place(entry.path)
        changes = self._differences(entry, old)
        if old is None:
            self._tell("cd+++++++++", entry)
        else:
            self._tell_attributes("d", changes, entry)
        if self._dry:
            return
        if old is None and not (entry.path == "." and self._fresh):
            self._files.mkdir(place, 0o777 & ~self._call.umask)
        self._attributes(entry, place, old)

    def _link(self, entry: Entry, old: FileStat | None) -> None:
        place = self._place(entry.path)
        same = old is not None and self._files.readlink(place) == entry.target
        changes = self._differences(entry, old)
        if old is None:
            self._tell("cL+++++++++", entry)
        elif not same:
            late = changes[2] if self._options.on("t") else "T"
            self._tell(f"cLc.{late}......", entry)
        else:
            self._tell_attributes("L", changes, entry)
        if self._dry:
            return
        if not same:
            if old is not None:
                self._remover.backup(entry.path)
                self._remover.discard(place)
            self._files.symlink(entry.target, place)
        if self._options.on("t") and (entry.mtime != self._call.now or changes[2] == "t"):
            # The time of a link itself shows in few places, and cannot be set here.
            self._call.unknown("the time of a link")

    def _file(self, entry: Entry, old: FileStat | None) -> None:
        place = self._place(entry.path)
        content = restore(self._files.read(entry.source))
        changes = self._differences(entry, old)
        if old is None:
            self._tell(">f+++++++++", entry)
        elif self._must_send(entry, old, content, place):
            mark = "c" if self._options.on("c") and self._different(content, place) else "."
            size = "s" if old.size != entry.stat.size else "."
            late = changes[2] if self._options.on("t") else "T"
            self._tell(f">f{mark}{size}{late}{changes[3:]}", entry)
        else:
            self._tell_attributes("f", changes, entry)
            if not self._dry:
                self._attributes(entry, place, old)
            return
        if self._dry:
            return
        if old is not None:
            self._remover.backup(entry.path)
            if not self._options.on("inplace"):
                self._remover.discard(place)
        self._files.write(place, content)
        self._attributes(entry, place, old, fresh=True)

    def _different(self, content: bytes, place: str) -> bool:
        return restore(self._files.read(place)) != content

    def _must_send(self, entry: Entry, old: FileStat, content: bytes, place: str) -> bool:
        if old.size != entry.stat.size:
            return True
        if self._options.on("I"):
            return True
        if self._options.on("c"):
            return self._different(content, place)
        return not self._options.on("size-only") and old.mtime != entry.mtime

    def _differences(self, entry: Entry, old: FileStat | None) -> str:
        """The letters of an itemised line after the kind, for what is there already."""
        if old is None:
            return "+" * 9
        times = self._options.on("t") and old.mtime != entry.mtime
        if entry.directory and self._options.on("O"):
            times = False
        mode = self._options.on("p") and old.kind != "symlink" and old.mode != self._mode(entry, old)
        root = self._call.world.user_id == 0
        owner = root and self._options.on("o") and old.uid != entry.stat.uid
        group = self._options.on("g") and old.gid != entry.stat.gid and root
        letters = [".", ".", "t" if times else ".", "p" if mode else ".", "o" if owner else ".", "g" if group else "."]
        return "".join(letters) + "..."

    # --- attributes

    def _mode(self, entry: Entry, old: FileStat | None) -> int:
        mode = entry.stat.mode
        if self._options.chmod is not None:
            for part in self._options.chmod.split(","):
                match = re.match(r"([DF]?)(.*)$", part)
                assert match is not None
                if match[1] and (match[1] == "D") != entry.directory:
                    continue
                try:
                    mode = apply_mode(match[2], mode, directory=entry.directory, umask=self._call.umask)
                except ModeError:
                    self._call.unknown("a wrong --chmod")
        if self._options.on("p"):
            return mode
        if old is None:
            return mode & (0o7000 | (0o777 & ~self._call.umask))
        if self._options.on("E") and not entry.directory:
            self._call.unknown("--executability")
        return old.mode

    def _attributes(self, entry: Entry, place: str, old: FileStat | None, *, fresh: bool = False) -> None:
        files, options = self._files, self._options
        now = files.stat(place)
        mode = self._mode(entry, old)
        if now.mode != mode:
            files.chmod(place, mode)
        if self._call.world.user_id == 0 and options.on("o") and now.uid != entry.stat.uid:
            files.chown(place, entry.stat.owner, entry.stat.group)
        if not options.on("t") or (entry.directory and options.on("O")):
            return
        if entry.directory:
            self._times.append((place, entry))
        elif now.mtime != entry.mtime:
            files.utime(place, entry.mtime)

    # --- messages

    def _tell(self, letters: str, entry: Entry) -> None:
        name = entry.path
        if self.single and self._root:
            name = posixpath.basename(entry.source)
        if entry.directory:
            name += "/"
        if entry.target and entry.stat.kind == "symlink":
            name += f" -> {entry.target}"
        if self._options.on("i"):
            self._changes.append(f"{letters} {name}\n")
        elif self._options.on("v"):
            self._changes.append(f"{name}\n")

    def _tell_attributes(self, kind: str, changes: str, entry: Entry) -> None:
        """Tell of changed attributes; with `-ii` also of what has not changed."""
        if changes.strip("."):
            self._tell(f".{kind}{changes}", entry)
        elif self._options.flags.get("i", 0) > 1:
            self._tell(f".{kind}{'':9}", entry)
