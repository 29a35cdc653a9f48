"""The commands `rm`, `rmdir` and `unlink`."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.asking import Answers
from worldline.kernels.shell.builtins.shared.messages import Report, shell_quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, missing_operand, parse
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.paths import canonical, join, kind_of, strip_slashes

__all__ = ["COMMANDS"]

_KINDS = {"directory": "directory", "symlink": "symbolic link", "fifo": "fifo"}


class _Remover:
    def __init__(self, call: Call, options: list[tuple[str, str]]) -> None:
        names = [name for name, _ in options]
        self.call = call
        self.report = Report("rm")
        self.answers = Answers(call, self.report)
        self.recursive = "-r" in names
        self.directories = "-d" in names
        self.verbose = "-v" in names
        self.force = False
        self.ask = ""
        for name, value in options:
            if name in ("-f", "-i", "-I", "--interactive"):
                chosen = {"-f": "f", "-i": "i", "-I": "I"}.get(name) or _when(call, value)
                self.force, self.ask = chosen == "f", chosen if chosen != "f" else ""

    def operand(self, path: str) -> None:
        bare = strip_slashes(path)
        if self.recursive and bare.split("/")[-1] in (".", ".."):
            self.report.fail(f"refusing to remove '.' or '..' directory: skipping {shell_quote(path)}")
            return
        try:
            if self.recursive and canonical(self.call, path, missing="all") == "/":
                self.report.fail("it is dangerous to operate recursively on " + shell_quote(path))
                self.report.fail("use --no-preserve-root to override this failsafe")
                return
            kind = kind_of(self.call, path)
            if not kind:
                self.call.files.stat(path, follow=False)
        except (FileNotFoundError, NotADirectoryError) as error:
            if not self.force:
                self.report.fail(f"cannot remove {shell_quote(path)}", error)
            return
        except OSError as error:
            self.report.fail(f"cannot remove {shell_quote(path)}", error)
            return
        self.entry(path, kind)

    def entry(self, path: str, kind: str) -> bool:
        """Remove one file or directory; returns whether it is gone."""
        if kind == "directory":
            if not self.recursive and not self.directories:
                self.report.fail(f"cannot remove {shell_quote(path)}: Is a directory")
                return False
            return self.directory(path)
        if self.ask == "i":
            stat = self.call.files.stat(path, follow=False)
            what = _KINDS.get(stat.kind) or ("regular file" if stat.size else "regular empty file")
            if not self.answers.yes(f"remove {what} {shell_quote(path)}"):
                return False
        return self.drop(path, "removed ")

    def directory(self, path: str) -> bool:
        try:
            names = self.call.files.list(path) if self.recursive else []
            if len(names) > 1 and (self.verbose or self.ask == "i"):
                names = directory_order(self.call, path)
        except OSError as error:
            self.report.fail(f"cannot remove {shell_quote(path)}", error)
            return False
        question = "descend into directory" if names else "remove directory"
        if self.ask == "i" and not self.answers.yes(f"{question} {shell_quote(path)}"):
            return False
        kinds = {child: kind_of(self.call, child) for child in (join(path, name) for name in names)}
        gone = {child: self.entry(child, kind) for child, kind in kinds.items()}
        kept = [child for child in gone if not gone[child]]
        if kept and (self.ask != "i" or any(kinds[child] == "directory" for child in kept)):
            return False  # after a file was kept it still asks
        if self.ask == "i" and names and not self.answers.yes(f"remove directory {shell_quote(path)}"):
            return False
        return self.drop(path, "removed directory ")

    def drop(self, path: str, verb: str) -> bool:
        if path.endswith("/") and kind_of(self.call, strip_slashes(path)) == "symlink":
            self.report.fail(f"cannot remove {shell_quote(path)}: Not a directory")
            return False
        try:
            self.call.files.remove(path)
        except OSError as error:
            self.report.fail(f"cannot remove {shell_quote(path)}", error)
            return False
        if self.verbose:
            self.report.out(f"{verb}{shell_quote(path)}\n")
        return True


def _when(call: Call, value: str) -> str:
    found = {"": "i", "always": "i", "yes": "i", "once": "I", "never": "", "no": "", "none": ""}.get(value)
    if found is None:
        raise UsageError(
            f"invalid argument ‘{value}’ for ‘--interactive’\nValid arguments are:\n  - ‘never’, ‘no’, ‘none’"
            "\n  - ‘once’\n  - ‘always’, ‘yes’"
        )
    return found


def _with_advice(call: Call, error: UsageError) -> UsageError:
    """Add how a file can be removed whose name was taken for an option."""
    for word in call.argv:
        if word == "--":
            break
        if word.startswith("-") and len(word) > 1 and call.files.exists(word, follow=False):
            advice = f"Try 'rm ./{shell_quote_if_needed(word)}' to remove the file {shell_quote(word)}."
            return UsageError(f"{error.message}\n{advice}")
    return error


@command()
def _rm(call: Call) -> Result:
    try:
        options, operands = parse(
            call,
            "dfirvIR",
            "force interactive=? one-file-system no-preserve-root preserve-root=? recursive dir verbose",
            same={"--force": "-f", "-R": "-r", "--recursive": "-r", "--dir": "-d", "--verbose": "-v"},
        )
    except UsageError as error:
        raise _with_advice(call, error) from error
    if ("--no-preserve-root", "") in options and any(canonical(call, name, missing="all") == "/" for name in operands):
        call.unknown("--no-preserve-root")
    remover = _Remover(call, options)
    if not operands:
        if remover.force:
            return Result()
        raise missing_operand()
    if remover.ask == "I" and (len(operands) > 3 or remover.recursive):
        count = f"{len(operands)} argument{'s' if len(operands) != 1 else ''}"
        if not remover.answers.yes(f"remove {count}{' recursively' if remover.recursive else ''}"):
            return remover.report.result()
    for operand in operands:
        remover.operand(operand)
    return remover.report.result()


@command()
def _rmdir(call: Call) -> Result:
    options, operands = parse(
        call,
        "pv",
        "ignore-fail-on-non-empty path parents verbose",
        same={"--parents": "-p", "--path": "-p", "--verbose": "-v"},
    )
    names = {name for name, _ in options}
    if not operands:
        raise missing_operand()
    report = Report("rmdir")
    for operand in operands:
        _rmdir_one(call, report, operand, names)
    return report.result()


def _rmdir_one(call: Call, report: Report, operand: str, options: set[str]) -> None:
    path, first = operand, True
    while path:
        if "-v" in options:
            report.out(f"rmdir: removing directory, {shell_quote(path)}\n")
        try:
            if path.endswith("/") and kind_of(call, strip_slashes(path)) == "symlink":
                reason = (
                    "Symbolic link not followed" if call.files.stat(path).kind == "directory" else "Not a directory"
                )
                report.fail(f"failed to remove {shell_quote(path)}: {reason}")
                return
            if call.files.stat(path, follow=False).kind != "directory":
                report.fail(f"failed to remove {shell_quote(path)}: Not a directory")
                return
            if strip_slashes(path).split("/")[-1] in (".", ".."):
                reason = "Invalid argument" if strip_slashes(path).endswith("/.") or path.rstrip("/") == "." else ""
                if not reason:
                    call.unknown(f"removing {path}")
                report.fail(f"failed to remove {shell_quote(path)}: {reason}")
                return
            call.files.remove(path)
        except OSError as error:
            if not ("--ignore-fail-on-non-empty" in options and strerror(error) == "Directory not empty"):
                what = "" if first else "directory "
                report.fail(f"failed to remove {what}{shell_quote(path)}", error)
            return
        if "-p" not in options:
            return
        path, first = strip_slashes(path.rpartition("/")[0]) if "/" in strip_slashes(path) else "", False


@command()
def _unlink(call: Call) -> Result:
    _, operands = parse(call)
    if not operands:
        raise missing_operand()
    if len(operands) > 1:
        raise extra_operand(operands[1])
    try:
        if call.files.stat(operands[0], follow=False).kind == "directory":
            raise UsageError(f"cannot unlink {shell_quote(operands[0])}: Is a directory", hint=False)
        call.files.remove(operands[0])
    except OSError as error:
        raise UsageError(f"cannot unlink {shell_quote(operands[0])}: {strerror(error)}", hint=False) from error
    return Result()


COMMANDS: dict[str, Builtin] = {"rm": _rm, "rmdir": _rmdir, "unlink": _unlink}
