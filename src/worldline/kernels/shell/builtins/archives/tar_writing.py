"""Creating tar archives."""

from __future__ import annotations

import io
import posixpath
import tarfile

from worldline.kernels.shell.builtins.archives.compressors import compress
from worldline.kernels.shell.builtins.archives.tar_common import FATAL, Fatal, TarBase
from worldline.kernels.shell.builtins.base import FileStat, Unknown
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.textio import read

__all__ = ["TarWriter"]

_SUFFIXES = {".gz": "gzip", ".tgz": "gzip", ".taz": "gzip", ".bz2": "bzip2", ".tbz": "bzip2", ".tbz2": "bzip2",
             ".tz2": "bzip2", ".xz": "xz", ".txz": "xz", ".zst": "zstd", ".tzst": "zstd"}  # fmt: skip


class TarWriter(TarBase):
    """The part of a call of tar that stores files."""

    def create(self) -> None:
        plan = self.plan
        if not plan.names and not plan.lists:
            raise UsageError("Cowardly refusing to create an empty archive")
        data = self.packed(b"")
        kind = plan.compressor
        if kind is None and plan.auto and plan.file:
            kind = _SUFFIXES.get(posixpath.splitext(plan.file)[1])
        self.store(compress(kind, data) if kind else data)
        if plan.remove:
            self.call.unknown("--remove-files")

    def store(self, data: bytes) -> None:
        name = self.plan.file or "-"
        if name == "-":
            self.out.write(data)
            return
        try:
            self.call.files.write(name, data)
        except OSError as error:
            prefix = "tar (child)" if self.plan.compressor else "tar"
            self.out.data.clear()
            if self.plan.compressor:
                self.call.unknown("a compressed archive that cannot be written")
            self.out.raw(f"{prefix}: {name}: Cannot open: {strerror(error)}\n{FATAL}")
            raise Fatal from error

    def packed(self, before: bytes) -> bytes:
        buffer = io.BytesIO()
        if before:
            buffer.write(before)
        archive = tarfile.TarFile(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT)
        self.prefixed: set[str] = set()
        for directory, name in self.plan.names:
            place = posixpath.join(directory, name) if directory else name
            self.add(archive, place, name)
        archive.close()
        return buffer.getvalue()

    def member(self, name: str) -> str:
        """The name in the archive: no leading slash, nothing up to the last `../`."""
        if self.plan.absolute:
            return name
        prefix = ""
        if name == ".." or name.startswith("../") or "/../" in name:
            at = name.rfind("../") + 3 if "../" in name else len(name)
            prefix, name = name[:at], name[at:]
        elif name.startswith("/"):
            stripped = name.lstrip("/")
            prefix, name = name[: len(name) - len(stripped)], stripped
        if prefix and prefix not in self.prefixed:
            self.prefixed.add(prefix)
            self.out.raw(f"tar: Removing leading `{prefix}' from member names\n")
        return name or "."

    def add(self, archive: tarfile.TarFile, place: str, shown: str) -> None:
        call = self.call
        if self.excluded(shown.rstrip("/")):
            return
        try:
            stat = call.files.stat(place, follow=self.plan.follow)
        except OSError as error:
            self.out.fail(f"{shown}: Cannot stat: {strerror(error)}")
            return
        if stat.kind == "fifo":
            call.unknown("a fifo")
        if self.plan.file and stat.kind == "file" and call.files.absolute(place) == call.files.absolute(self.plan.file):
            self.out.raw(f"tar: {shown}: file is the archive; not dumped\n")
            return
        info, content = self.info(place, shown, stat)
        if content is None and stat.kind == "file":
            return
        archive.addfile(info, io.BytesIO(content or b""))
        self.report(info)
        if stat.kind == "directory" and self.plan.recursion:
            self.add_entries(archive, place, shown)

    def add_entries(self, archive: tarfile.TarFile, place: str, shown: str) -> None:
        try:
            names = self.call.files.list(place)
        except OSError as error:
            self.out.fail(f"{shown}: Cannot open: {strerror(error)}")
            return
        if len(names) > 1 and not self.plan.sorted:
            try:
                names = directory_order(self.call, place)
            except Unknown:
                self.order_matters = self.order_matters or bool(self.plan.verbose)
        for name in names:
            self.add(archive, posixpath.join(place, name), posixpath.join(shown, name))

    def info(self, place: str, shown: str, stat: FileStat) -> tuple[tarfile.TarInfo, bytes | None]:
        info = tarfile.TarInfo(self.member(shown.rstrip("/") if stat.kind == "directory" else shown))
        info.mode, info.uid, info.gid = stat.mode, stat.uid, stat.gid
        info.uname, info.gname = self.plan.owner or stat.owner, self.plan.group or stat.group
        info.mtime = int(stat.mtime.timestamp())
        content: bytes | None = None
        if stat.kind == "directory":
            info.type = tarfile.DIRTYPE
        elif stat.kind == "symlink":
            info.type, info.linkname = tarfile.SYMTYPE, self.call.files.readlink(place)
        else:
            try:
                content = read(self.call, place)
            except OSError as error:
                self.out.fail(f"{shown}: Cannot open: {strerror(error)}")
                return info, None
            info.size = len(content)
        return info, content
