"""The command `mv`."""

from __future__ import annotations

import posixpath

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.shared.asking import Answers
from worldline.kernels.shell.builtins.shared.backups import Backup, read_backup
from worldline.kernels.shell.builtins.shared.messages import Report, shell_quote
from worldline.kernels.shell.builtins.shared.options import command, parse
from worldline.kernels.shell.builtins.shared.paths import canonical, inside, lstat, strip_slashes
from worldline.kernels.shell.builtins.shared.targets import pair_up

__all__ = ["COMMANDS"]

_SAME = {
    "--force": "-f",
    "--interactive": "-i",
    "--no-clobber": "-n",
    "--no-target-directory": "-T",
    "--suffix": "-S",
    "--target-directory": "-t",
    "--update": "-u",
    "--verbose": "-v",
    "-b": "--backup",
}


class _Mover:
    def __init__(self, call: Call, options: list[tuple[str, str]]) -> None:
        names = [name for name, _ in options]
        clobber = [name for name in names if name in ("-f", "-i", "-n")]
        self.call = call
        self.report = Report("mv")
        self.answers = Answers(call, self.report)
        self.clobber = clobber[-1] if clobber else ""
        self.update = "-u" in names
        self.verbose = "-v" in names
        self.backup: Backup | None = read_backup(call, options)

    def move(self, source: str, target: str) -> None:
        call, report = self.call, self.report
        try:
            stat = call.files.stat(source, follow=False)
        except OSError as error:
            report.fail(f"cannot stat {shell_quote(source)}", error)
            return
        shown = f"cannot move {shell_quote(source)} to {shell_quote(target)}"
        if strip_slashes(source).split("/")[-1] in (".", "..") or strip_slashes(source) == "/":
            report.fail(f"{shown}: Device or resource busy")
            return
        note = ""
        try:
            there = lstat(call, strip_slashes(target) if stat.kind == "directory" else target)
            if there is not None and not self._may_replace(source, stat, target, there):
                return
            if stat.kind == "directory" and self._into_itself(source, target):
                report.fail(f"cannot move {shell_quote(source)} to a subdirectory of itself, {shell_quote(target)}")
                return
            if there is not None and self.backup is not None:
                note = f" (backup: {shell_quote(self.backup.move(call, target))})"
            if target.endswith("/") and stat.kind != "directory" and there is None:
                report.fail(f"{shown}: Not a directory")
                return
            call.files.rename(strip_slashes(source), strip_slashes(target))
        except OSError as error:
            report.fail(shown, error)
            return
        if self.verbose:
            report.out(f"renamed {shell_quote(source)} -> {shell_quote(target)}{note}\n")

    def _may_replace(self, source: str, stat: FileStat, target: str, there: FileStat) -> bool:
        report = self.report
        if self._same(source, target) or (stat.inode and stat.inode == there.inode):
            report.fail(f"{shell_quote(source)} and {shell_quote(target)} are the same file")
            return False
        if self.clobber == "-n" or (self.update and there.mtime >= stat.mtime):
            return False
        if self.clobber == "-i" and not self.answers.yes(f"overwrite {shell_quote(target)}"):
            return False
        if stat.kind == "directory" and there.kind != "directory":
            text = f"non-directory {shell_quote(target)} with directory {shell_quote(source)}"
            report.fail(f"cannot overwrite {text}")
            return False
        if stat.kind != "directory" and there.kind == "directory":
            report.fail(f"cannot overwrite directory {shell_quote(target)} with non-directory")
            return False
        return True

    def _same(self, source: str, target: str) -> bool:
        def place(path: str) -> str:
            bare = strip_slashes(path)
            parent = canonical(self.call, posixpath.dirname(bare) or ".")
            return posixpath.normpath(posixpath.join(parent, posixpath.basename(bare)))

        return place(source) == place(target)

    def _into_itself(self, source: str, target: str) -> bool:
        return inside(canonical(self.call, target, missing="all"), canonical(self.call, source))


@command()
def _mv(call: Call) -> Result:
    options, operands = parse(
        call,
        "bfint:uvS:TZ",
        "backup=? context force interactive no-clobber no-target-directory strip-trailing-slashes suffix="
        " target-directory= update verbose",
        same=_SAME,
    )
    mover = _Mover(call, options)
    if ("--strip-trailing-slashes", "") in options:
        operands = [strip_slashes(operand) for operand in operands[:-1]] + operands[-1:]
    for source, target in pair_up(call, options, operands):
        mover.move(source, target)
    return mover.report.result()


COMMANDS: dict[str, Builtin] = {"mv": _mv}
