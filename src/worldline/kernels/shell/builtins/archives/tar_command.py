"""`tar`: create, list, extract, append, compare."""

from __future__ import annotations

import fnmatch
import io
import posixpath
import re
import tarfile
from datetime import UTC, datetime

from worldline.kernels.shell.builtins.archives.compressors import NotThisFormat, decompress, detect
from worldline.kernels.shell.builtins.archives.tar_common import FATAL, Fatal
from worldline.kernels.shell.builtins.archives.tar_plan import read_plan
from worldline.kernels.shell.builtins.archives.tar_writing import TarWriter
from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError
from worldline.kernels.shell.builtins.shared.textio import Output, read, stdin

__all__ = ["COMMANDS"]

_FAILED = "tar: Exiting with failure status due to previous errors\n"


_NOT_COMPRESSED = {
    "gzip": ("\ngzip: stdin: not in gzip format\n", 1),
    "bzip2": ("bzip2: (stdin) is not a bzip2 file.\n", 2),
    "xz": ("xz: (stdin): File format not recognized\n", 1),
}


_REST = (
    "acls",
    "anchored",
    "bootstrap",
    "check-device",
    "check-links",
    "checkpoint-action",
    "clamp-mtime",
    "delay-directory-restore",
    "exclude-backups",
    "exclude-caches",
    "exclude-caches-all",
    "exclude-caches-under",
    "exclude-ignore",
    "exclude-ignore-recursive",
    "exclude-tag",
    "exclude-tag-all",
    "exclude-tag-under",
    "exclude-vcs-ignores",
    "force-local",
    "group-map",
    "hard-dereference",
    "help",
    "hole-detection",
    "ignore-case",
    "ignore-command-error",
    "ignore-failed-read",
    "ignore-zeros",
    "incremental",
    "index-file",
    "info-script",
    "interactive",
    "keep-directory-symlink",
    "label",
    "level",
    "listed-incremental",
    "lzip",
    "lzop",
    "multi-volume",
    "new-volume-script",
    "newer",
    "newer-mtime",
    "after-date",
    "no-acls",
    "no-anchored",
    "no-auto-compress",
    "no-check-device",
    "no-delay-directory-restore",
    "no-ignore-case",
    "no-ignore-command-error",
    "no-null",
    "no-overwrite-dir",
    "no-quote-chars",
    "no-seek",
    "no-selinux",
    "no-unquote",
    "no-verbatim-files-from",
    "no-wildcards",
    "no-wildcards-match-slash",
    "no-xattrs",
    "occurrence",
    "old-archive",
    "one-top-level",
    "overwrite-dir",
    "owner-map",
    "pax-option",
    "portability",
    "preserve-order",
    "quote-chars",
    "quoting-style",
    "read-full-records",
    "record-size",
    "recursive-unlink",
    "restrict",
    "rmt-command",
    "rsh-command",
    "same-order",
    "seek",
    "selinux",
    "show-defaults",
    "show-omitted-dirs",
    "show-snapshot-field-ranges",
    "show-stored-names",
    "starting-file",
    "suffix",
    "tape-length",
    "test-label",
    "to-command",
    "totals",
    "uncompress",
    "unquote",
    "usage",
    "verbatim-files-from",
    "version",
    "volno-file",
    "warning",
    "wildcards-match-slash",
    "xattrs",
    "xattrs-exclude",
    "xattrs-include",
    "zstd",
)
"""Options of the program that are not simulated."""


def tar(call: Call) -> Result:
    """Store files in an archive, or take them out."""
    out = Output(call, 2)
    try:
        plan = read_plan(call)
        job = _Tar(call, plan, out)
        job.run()
    except UsageError as error:
        given = re.search(r"unrecognized option '--([^=']*)", error.message)
        if given is not None and any(name.startswith(given[1]) for name in _REST):
            call.unknown(error.message)
        text = f"tar: {error.message}\nTry 'tar --help' or 'tar --usage' for more information.\n"
        fatal = "Cowardly" in text or "specify" in text or "Old option" in text
        return Result(stderr=text, status=2 if fatal else 64)
    except Fatal:
        out.status = 2
        return out.result()
    if job.order_matters:
        call.unknown("the order in which a directory is read", guess=out.result())
    return out.result()


class _Tar(TarWriter):
    """All that a call of tar does."""

    def run(self) -> None:
        plan = self.plan
        for name in plan.lists:
            lines = read(self.call, name).decode().split("\n")
            plan.names += [(plan.directory, line) for line in lines if line]
        if plan.file is None:
            # Debian's tar is built to use the standard streams where no archive is named.
            plan.file = "-"
        action = {"c": self.create, "t": self.table, "x": self.extract, "r": self.append, "d": self.compare}
        if plan.operation not in action:
            self.call.unknown(f"the operation {plan.operation}")
        action[plan.operation]()
        if self.out.status == 2:
            self.out.raw(_FAILED)

    def append(self) -> None:
        plan = self.plan
        if plan.compressor or not plan.names:
            self.call.unknown("appending like this")
        members: list[tuple[tarfile.TarInfo, bytes]] = []
        if self.call.files.exists(plan.file or ""):
            members = self.members()
        buffer = io.BytesIO()
        archive = tarfile.TarFile(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT)
        self.prefixed = set()
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
        for directory, name in plan.names:
            self.add(archive, posixpath.join(directory, name) if directory else name, name)
        archive.close()
        self.store(buffer.getvalue())

    def members(self) -> list[tuple[tarfile.TarInfo, bytes]]:
        raw = self.archive_data()
        data = self.unpacked(raw)
        if not raw:
            self.out.raw(f"tar: This does not look like a tar archive\n{_FAILED}")
            raise Fatal
        if not data:
            return []
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
                return [(info, self.body(archive, info)) for info in archive.getmembers()]
        except tarfile.ReadError as error:
            if len(data) > 512 and tarfile.is_tarfile(io.BytesIO(data)):
                raise Unknown("tar: a torn archive") from error
            more = "tar: Skipping to next header\n" if len(data) >= 512 else ""
            self.out.raw(f"tar: This does not look like a tar archive\n{more}{_FAILED}")
            raise Fatal from error

    def body(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
        if not info.isfile():
            return b""
        handle = archive.extractfile(info)
        return handle.read() if handle is not None else b""

    def archive_data(self) -> bytes:
        plan = self.plan
        if plan.file == "-":
            if self.call.stdin is None:
                self.call.unknown("a terminal or nothing as archive")
            return stdin(self.call)
        try:
            return read(self.call, plan.file or "")
        except OSError as error:
            if isinstance(error, IsADirectoryError):
                self.call.unknown("a directory as archive")
            if plan.compressor:
                child = "tar (child)"
                self.out.raw(f"{child}: {plan.file}: Cannot open: {strerror(error)}\n{FATAL.replace('tar', child, 1)}")
                self.out.raw(f"tar: Child returned status 2\n{FATAL}")
            else:
                self.out.raw(f"tar: {plan.file}: Cannot open: {strerror(error)}\n{FATAL}")
            raise Fatal from error

    def unpacked(self, data: bytes) -> bytes:
        kind = detect(data)
        wanted = self.plan.compressor
        if wanted is None and kind is not None and self.plan.file == "-":
            options = {"gzip": "-z", "bzip2": "-j", "xz": "-J", "zstd": "--zstd"}
            self.out.raw(f"tar: Archive is compressed. Use {options[kind]} option\n{FATAL}")
            raise Fatal
        wanted = wanted or kind
        if wanted is None:
            return data
        try:
            return decompress(wanted, data)
        except NotThisFormat as error:
            if str(error) or data[:2] == b"PK" or wanted == "zstd":
                self.call.unknown("a damaged archive")
            said, status = _NOT_COMPRESSED[wanted]
            if wanted == "gzip" and not data:
                said = "\ngzip: stdin: unexpected end of file\n"
            self.out.raw(f"{said}tar: Child returned status {status}\n{FATAL}")
            raise Fatal from error

    def chosen(self) -> list[tuple[tarfile.TarInfo, bytes]]:
        """The members that the operands name; complains about names that match none."""
        names = [name.rstrip("/") for _, name in self.plan.names]
        hit: set[str] = set()
        found = []
        for info, content in self.members():
            if self.excluded(info.name):
                continue
            matches = [name for name in names if self.matches(name, info.name)]
            hit.update(matches)
            if matches or not names:
                found.append((info, content))
        self.missing = [name for name in names if name not in hit]
        if self.plan.verbose or self.plan.operation == "t":
            self.check_order(found)
        return found

    def matches(self, name: str, member: str) -> bool:
        if self.plan.wildcards:
            parts = member.split("/")
            heads = ["/".join(parts[: index + 1]) for index in range(len(parts))]
            return any(fnmatch.fnmatchcase(head, name) for head in heads)
        return member == name or member.startswith(name + "/")

    def check_order(self, members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        """The entries of an archived directory come in an order that is not known."""
        if self.plan.sorted:
            return
        directories = {info.name for info, _ in members if info.isdir()}
        seen: dict[str, int] = {}
        for info, _ in members:
            parent = posixpath.dirname(info.name) or "."
            if parent in directories and info.name != ".":
                seen[parent] = seen.get(parent, 0) + 1
        if any(count > 1 for count in seen.values()) and not hasattr(self.call.files, "order"):
            self.order_matters = True

    def table(self) -> None:
        for info, _ in self.chosen():
            self.report(info, listing=True)
        self.not_found()

    def not_found(self) -> None:
        for name in self.missing:
            self.out.fail(f"{name}: Not found in archive")

    def extract(self) -> None:
        plan, call = self.plan, self.call
        if plan.directory and not self.is_directory(plan.directory):
            self.archive_data()
            error = FileNotFoundError if not call.files.exists(plan.directory) else NotADirectoryError
            reason = "No such file or directory" if error is FileNotFoundError else "Not a directory"
            self.out.raw(f"tar: {plan.directory.rstrip('/') or '/'}: Cannot open: {reason}\n{FATAL}")
            raise Fatal
        late: list[tuple[str, datetime]] = []
        for info, content in self.chosen():
            if info.name.startswith("/") or ".." in info.name.split("/"):
                call.unknown("a member outside")
            parts = [part for part in info.name.split("/") if part not in ("", ".")]
            if plan.strip and len(parts) <= plan.strip:
                continue
            if plan.strip and info.name.startswith("./"):
                call.unknown("stripping from ./")
            self.report(info)
            if plan.to_stdout:
                self.out.data.append(content)
                continue
            name = "/".join(parts[plan.strip :])
            place = posixpath.join(plan.directory, name) if plan.directory else name
            if place:
                self.put(info, content, place, late)
        for place, moment in reversed(late):
            call.files.utime(place, moment)
        self.not_found()

    def is_directory(self, name: str) -> bool:
        try:
            return self.call.files.stat(name).kind == "directory"
        except OSError:
            return False

    def put(self, info: tarfile.TarInfo, content: bytes, place: str, late: list[tuple[str, datetime]]) -> None:
        files = self.call.files
        moment = self.call.now if self.plan.touch else datetime.fromtimestamp(info.mtime, UTC)
        try:
            self.parents(place)
            if info.isdir():
                if not self.is_directory(place):
                    files.mkdir(place)
                files.chmod(place, info.mode & 0o777 & ~self.call.umask)
                late.append((place, moment))
                return
            if files.exists(place, follow=False):
                if self.plan.skip_old:
                    return
                if self.plan.keep:
                    self.out.fail(f"{info.name}: Cannot open: File exists")
                    return
                files.remove(place)
            if info.issym():
                files.symlink(info.linkname, place)
                return
            if info.islnk():
                self.call.unknown("a hard link")
            files.write(place, content)
            files.chmod(place, info.mode & 0o777 & ~self.call.umask)
            files.utime(place, moment)
        except OSError as error:
            self.out.fail(f"{info.name}: Cannot {'mkdir' if info.isdir() else 'open'}", error)

    def parents(self, place: str) -> None:
        missing = []
        parent = posixpath.dirname(place)
        while parent and not self.call.files.exists(parent):
            missing.append(parent)
            parent = posixpath.dirname(parent)
        for name in reversed(missing):
            self.call.files.mkdir(name)

    def compare(self) -> None:
        for info, content in self.chosen():
            if not info.isfile():
                continue
            try:
                now = self.call.files.stat(info.name)
                data = read(self.call, info.name)
            except OSError as error:
                self.out.warn(f"{info.name}: Warning: Cannot stat: {strerror(error)}")
                self.out.status = max(self.out.status, 1)
                continue
            differences = []
            if now.mode != info.mode:
                differences.append("Mode differs")
            if int(now.mtime.timestamp()) != info.mtime:
                differences.append("Mod time differs")
            if len(data) != len(content):
                differences.append("Size differs")
            elif data != content:
                differences.append("Contents differ")
            for text in differences:
                self.out.line(f"{info.name}: {text}".encode())
                self.out.status = max(self.out.status, 1)
        self.not_found()


COMMANDS: dict[str, Builtin] = {"tar": tar}
