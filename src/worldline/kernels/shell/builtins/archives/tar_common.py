"""What creating and reading archives share: exclusions, and the lines that name members."""

from __future__ import annotations

import fnmatch
import stat as stat_module
import tarfile
from datetime import UTC, datetime

from worldline.kernels.shell.builtins.archives.tar_plan import Plan
from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.textio import Output

__all__ = ["FATAL", "Fatal", "TarBase"]

FATAL = "tar: Error is not recoverable: exiting now\n"


class Fatal(Exception):
    """tar gives up; the message is already written."""


class TarBase:
    """One call of tar.

    Args:
        call: The invocation.
        plan: What it asks for.
        out: Where it writes.
    """

    def __init__(self, call: Call, plan: Plan, out: Output) -> None:
        self.call, self.plan, self.out = call, plan, out
        self.order_matters = False

    def excluded(self, name: str) -> bool:
        parts = name.split("/")
        tails = ["/".join(parts[index:]) for index in range(len(parts))]
        return any(fnmatch.fnmatchcase(tail, pattern) for pattern in self.plan.excluded for tail in tails if tail)

    def report(self, info: tarfile.TarInfo, *, listing: bool = False) -> None:
        verbose = self.plan.verbose
        if not verbose and not listing:
            return
        name = info.name + ("/" if info.isdir() and not info.name.endswith("/") else "")
        line = name if (verbose if listing else verbose - 1) < 1 else self.long(info, name)
        if self.plan.to_stdout or (self.plan.file == "-" and self.plan.operation == "c"):
            self.out.raw(f"{line}\n")
        else:
            self.out.line(line.encode("utf-8", "surrogateescape"))

    def long(self, info: tarfile.TarInfo, name: str) -> str:
        kind = stat_module.S_IFDIR if info.isdir() else stat_module.S_IFLNK if info.issym() else stat_module.S_IFREG
        mode = stat_module.filemode(kind | info.mode)
        if info.islnk():
            mode = "h" + mode[1:]
        numeric = self.plan.numeric
        user = str(info.uid) if numeric or not info.uname else info.uname
        group = str(info.gid) if numeric or not info.gname else info.gname
        owner = f"{user}/{group}"
        size = str(info.size)
        self.width = max(getattr(self, "width", 19), len(owner) + 1 + len(size))
        shape = "%Y-%m-%d %H:%M:%S" if self.plan.full_time else "%Y-%m-%d %H:%M"
        if self.call.env.get("TZ", self.call.world.timezone) not in ("UTC", "UTC0", ""):
            self.call.unknown("another time zone")
        moment = datetime.fromtimestamp(info.mtime, UTC).strftime(shape)
        arrow = f" -> {info.linkname}" if info.issym() else f" link to {info.linkname}" if info.islnk() else ""
        return f"{mode} {owner}{size:>{self.width - len(owner)}} {moment} {name}{arrow}"
