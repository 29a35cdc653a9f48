"""The command `cp`, and the copying that `install` shares."""

from __future__ import annotations

import posixpath

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.files.copy_rules import Rules, read_rules
from worldline.kernels.shell.builtins.shared.asking import Answers
from worldline.kernels.shell.builtins.shared.messages import Report, shell_quote, strerror
from worldline.kernels.shell.builtins.shared.modes import permission_string
from worldline.kernels.shell.builtins.shared.options import command
from worldline.kernels.shell.builtins.shared.order import creation_order
from worldline.kernels.shell.builtins.shared.paths import canonical, join, lstat
from worldline.kernels.shell.builtins.shared.targets import pair_up

__all__ = ["COMMANDS", "Copier"]


class Copier:
    """Copies files by some rules and collects what there is to say about it."""

    def __init__(self, call: Call, rules: Rules, report: Report) -> None:
        self.call = call
        self.rules = rules
        self.report = report
        self.answers = Answers(call, report)
        self._top: tuple[str, str, str] | None = None
        self._copied: dict[int, str] = {}

    def copy(self, source: str, target: str) -> bool:
        """Copy one operand; returns whether all of it was copied."""
        self._top = None
        return self._entry(source, target, top=True)

    def _entry(self, source: str, target: str, *, top: bool) -> bool:
        rules, files, report = self.rules, self.call.files, self.report
        follow = rules.follow_operands if top else rules.follow
        try:
            stat = files.stat(source, follow=follow)
        except OSError as error:
            report.fail(f"cannot stat {shell_quote(source)}", error)
            return False
        if stat.kind == "directory" and not rules.recursive:
            report.fail(f"-r not specified; omitting directory {shell_quote(source)}")
            return False
        try:
            there = files.stat(target, follow=False)
        except FileNotFoundError:
            there = None
        except OSError as error:
            report.fail(f"cannot stat {shell_quote(target)}", error)
            return False
        if there is not None and not self._may_replace(source, stat, target, there):
            return there is not None and self._skipped
        if stat.kind == "directory":
            return self._directory(source, stat, target, there, top=top)
        return self._file(source, stat, target, there, follow=follow)

    _skipped = False

    def _may_replace(self, source: str, stat: FileStat, target: str, there: FileStat) -> bool:
        """Whether to go on with what stands at the target; `_skipped` says whether that is no failure."""
        rules, report, files = self.rules, self.report, self.call.files
        self._skipped = False
        behind = there
        if there.kind == "symlink" and stat.kind != "symlink" and not rules.remove:
            try:
                behind = files.stat(target)
            except OSError:
                if stat.kind != "directory":
                    report.fail(f"not writing through dangling symlink {shell_quote(target)}")
                    return False
        same = stat.kind != "directory" and self._same(source, target, stat, there)
        if same and (rules.backup is None or stat.kind == "symlink" or rules.clobber != "f"):
            report.fail(f"{shell_quote(source)} and {shell_quote(target)} are the same file")
            return False
        if stat.kind == "directory":
            if behind.kind != "directory":
                shown = f"non-directory {shell_quote(target)} with directory {shell_quote(source)}"
                report.fail(f"cannot overwrite {shown}")
                return False
            return True
        if behind.kind == "directory":
            report.fail(f"cannot overwrite directory {shell_quote(target)} with non-directory")
            return False
        return self._wanted(target, stat, behind)

    def _same(self, source: str, target: str, stat: FileStat, there: FileStat) -> bool:
        if stat.kind == "symlink" or self.rules.remove:
            parent = canonical(self.call, posixpath.dirname(source) or ".")
            other = canonical(self.call, posixpath.dirname(target) or ".")
            return (parent, posixpath.basename(source)) == (other, posixpath.basename(target))
        try:
            if stat.inode and there.inode == stat.inode:
                return not self.rules.hard
            return canonical(self.call, source) == canonical(self.call, target)
        except OSError:
            return False

    def _wanted(self, target: str, stat: FileStat, behind: FileStat) -> bool:
        rules = self.rules
        if rules.clobber == "n" or (rules.update and behind.mtime >= stat.mtime):
            self._skipped = True
        elif rules.clobber == "i":
            question = f"overwrite {shell_quote(target)}"
            if not self._writable(target):
                bits = f"{behind.mode:04o} ({permission_string(behind.mode)})"
                question = f"unwritable {shell_quote(target)} (mode {bits.replace(' (', ', ')}; try anyway"
            self._skipped = not self.answers.yes(question)
        return not self._skipped

    def _writable(self, target: str) -> bool:
        allowed = getattr(self.call.files, "allowed", None)
        return True if allowed is None else bool(allowed(target, 2))

    # --- files

    def _file(self, source: str, stat: FileStat, target: str, there: FileStat | None, *, follow: bool) -> bool:
        rules, files, report = self.rules, self.call.files, self.report
        note = ""
        try:
            if there is not None and rules.backup is not None:
                note = f" (backup: {shell_quote(rules.backup.move(self.call, target))})"
                there = None
            elif there is not None and (rules.remove or stat.kind == "symlink"):
                files.remove(target)
                if rules.verbose and rules.remove:
                    report.out(f"removed {shell_quote(target)}\n")
                there = None
        except OSError as error:
            report.fail(f"cannot remove {shell_quote(target)}", error)
            return False
        if rules.links and stat.inode:
            first = self._copied.setdefault(stat.inode, target)
            if first != target:
                return self._hard(first, target, there, note)
        if rules.symbolic:
            return self._symbolic(source, target)
        if rules.hard:
            return self._hard(source, target, there, note)
        if stat.kind == "symlink" and not follow:
            return self._link(source, target, note)
        if stat.kind == "fifo":
            self.call.unknown("copying a fifo")
        try:
            data = b"" if rules.attributes_only else files.read(source)
        except OSError as error:
            report.fail(f"cannot open {shell_quote(source)} for reading", error)
            return False
        if not self._write(data, target, there):
            return False
        if rules.clone and data:
            report.fail(f"failed to clone {shell_quote(target)} from {shell_quote(source)}: Operation not supported")
            if there is None:
                files.remove(target)
            else:
                files.write(target, b"")
            return False
        if rules.verbose:
            report.out(f"{shell_quote(source)} -> {shell_quote(target)}{note}\n")
        self._attributes(stat, target, new=there is None)
        return True

    def _write(self, data: bytes, target: str, there: FileStat | None) -> bool:
        files, report, rules = self.call.files, self.report, self.rules
        if rules.attributes_only and there is not None:
            return True
        try:
            files.write(target, data)
            return True
        except OSError as error:
            if there is not None and rules.clobber == "f":
                try:
                    files.remove(target)
                    if rules.verbose:
                        report.out(f"removed {shell_quote(target)}\n")
                    files.write(target, data)
                    return True
                except OSError as second:
                    report.fail(f"cannot remove {shell_quote(target)}", second)
                    return False
            reason = "Not a directory" if target.endswith("/") else strerror(error)
            report.fail(f"cannot create regular file {shell_quote(target)}: {reason}")
            return False

    def _attributes(self, stat: FileStat, target: str, *, new: bool) -> None:
        rules, files = self.rules, self.call.files
        if rules.new_mode is not None:
            files.chmod(target, rules.new_mode)
        elif rules.mode:
            files.chmod(target, stat.mode)
        elif new:
            files.chmod(target, (0o666 if rules.plain_mode else stat.mode & 0o777) & ~self.call.umask)
        if rules.owner and (stat.owner, stat.group) != _owners(self.call, target):
            try:
                files.chown(target, stat.owner, stat.group)
            except OSError:
                if stat.mode & 0o6000:
                    files.chmod(target, stat.mode & 0o1777)
        if rules.times:
            files.utime(target, stat.mtime)

    def _hard(self, source: str, target: str, there: FileStat | None, note: str) -> bool:
        try:
            if there is not None and self.rules.clobber == "f":
                self.call.files.remove(target)
            self.call.files.link(source, target)
        except OSError as error:
            self.report.fail(f"cannot create hard link {shell_quote(target)} to {shell_quote(source)}", error)
            return False
        if self.rules.verbose:
            self.report.out(f"{shell_quote(source)} -> {shell_quote(target)}{note}\n")
        return True

    def _symbolic(self, source: str, target: str) -> bool:
        if not source.startswith("/") and posixpath.dirname(target) not in ("", "."):
            self.report.fail(
                f"{shell_quote(target).strip(chr(39))}: can make relative symbolic links only in current directory"
            )
            return False
        return self._make_link(source, source, target, "")

    def _link(self, source: str, target: str, note: str) -> bool:
        return self._make_link(source, self.call.files.readlink(source), target, note)

    def _make_link(self, source: str, text: str, target: str, note: str) -> bool:
        try:
            self.call.files.symlink(text, target)
        except OSError as error:
            shown = f"{shell_quote(target)} to {shell_quote(text)}"
            self.report.fail(f"cannot create symbolic link {shown}", error)
            return False
        if self.rules.verbose:
            self.report.out(f"{shell_quote(source)} -> {shell_quote(target)}{note}\n")
        return True

    # --- directories

    def _directory(self, source: str, stat: FileStat, target: str, there: FileStat | None, *, top: bool) -> bool:
        files, report, rules = self.call.files, self.report, self.rules
        real = canonical(self.call, source)
        if not top and self._top is not None and real == self._top[0]:
            _, shown_source, shown_target = self._top
            text = f"cannot copy a directory, {shell_quote(shown_source)}, into itself, {shell_quote(shown_target)}"
            report.fail(text)
            self._stop = True
            return False
        if there is None:
            try:
                files.mkdir(target, (stat.mode & ~self.call.umask) | 0o700)
            except OSError as error:
                report.fail(f"cannot create directory {shell_quote(target)}", error)
                return False
            if rules.verbose:
                report.out(f"{shell_quote(source)} -> {shell_quote(target)}\n")
        if top:
            self._stop = False
            self._top = (canonical(self.call, target), source, target)
        try:
            names = creation_order(self.call, source)
        except OSError as error:
            report.fail(f"cannot access {shell_quote(source)}", error)
            return False
        good = True
        for name in names:
            good &= self._entry(join(source, name), join(target, name), top=False)
            if self._stop:
                break
        self._finish(stat, target, new=there is None)
        return good

    _stop = False

    def _finish(self, stat: FileStat, target: str, *, new: bool) -> None:
        rules, files = self.rules, self.call.files
        if rules.mode:
            files.chmod(target, stat.mode)
        elif new:
            files.chmod(target, (0o777 if rules.plain_mode else stat.mode & 0o777) & ~self.call.umask)
        if rules.times:
            files.utime(target, stat.mtime)


def _owners(call: Call, path: str) -> tuple[str, str]:
    stat = call.files.stat(path)
    return stat.owner, stat.group


@command()
def _cp(call: Call) -> Result:
    rules, options, operands = read_rules(call)
    names = {name for name, _ in options}
    report = Report("cp")
    copier = Copier(call, rules, report)
    if "--strip-trailing-slashes" in names:
        call.unknown("--strip-trailing-slashes")  # 9.1 leaves the slashes of some operands
    for source, target in pair_up(call, options, operands, parents="--parents" in names):
        if "--parents" in names and not _make_parents(copier, source, target):
            continue
        copier.copy(source, target)
    return report.result()


def _make_parents(copier: Copier, source: str, target: str) -> bool:
    """Make the directories that `cp --parents` needs, with the permissions of those of the source."""
    call, report = copier.call, copier.report
    base = target[: len(target) - len(source.lstrip("/"))]
    steps = [part for part in posixpath.dirname(source.strip("/")).split("/") if part]
    path, origin = base.rstrip("/"), "/" if source.startswith("/") else ""
    for step in steps:
        path, origin = f"{path}/{step}", posixpath.join(origin, step)
        try:
            there = lstat(call, path)
            if there is None:
                call.files.mkdir(path, call.files.stat(origin).mode & ~call.umask)
                if copier.rules.verbose:
                    report.out(f"{origin} -> {path}\n")
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                report.fail(f"cannot stat {shell_quote(source)}", error)
            else:
                report.fail(f"cannot make directory {shell_quote(path)}", error)
            return False
    return True


COMMANDS: dict[str, Builtin] = {"cp": _cp}
