"""The commands `mkdir`, `mkfifo`, `ln` and `truncate`."""

from __future__ import annotations

import posixpath
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.asking import Answers
from worldline.kernels.shell.builtins.shared.backups import Backup, read_backup
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.modes import ModeError, apply_mode
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, missing_operand, parse
from worldline.kernels.shell.builtins.shared.paths import canonical, is_directory, join, last_part, lstat
from worldline.kernels.shell.builtins.shared.sizes import SizeError, parse_size

__all__ = ["COMMANDS", "make_directories"]


def make_directories(call: Call, path: str, mode: int | None = None) -> list[str]:
    """Make a directory and those above it that are missing.

    Args:
        call: Whose files.
        path: The directory.
        mode: Permissions of the last one; default by the umask.

    Returns:
        The directories that were made, outermost first.

    Raises:
        OSError: With the path, as given, that could not be made in `filename`.
    """
    made: list[str] = []
    prefix = ""
    if path == "":
        raise FileNotFoundError(2, "No such file or directory", path)
    parts = re.findall(r"[^/]+/*", path)
    if path.startswith("/"):
        prefix = "/"
    for index, part in enumerate(parts):
        step = (prefix + part).rstrip("/")
        prefix += part
        last = index == len(parts) - 1
        if call.files.exists(step):
            if not is_directory(call, step):
                error = FileExistsError(17, "File exists", step) if last else NotADirectoryError(20, "", step)
                raise error
            continue
        bits = 0o777 & ~call.umask
        if not last:
            bits |= 0o300
        try:
            call.files.mkdir(step, bits if mode is None or not last else mode)
        except OSError as error:
            error.filename = step
            raise
        made.append(step)
    return made


@command()
def _mkdir(call: Call) -> Result:
    options, operands = parse(
        call,
        "pm:vZ",
        "context=? mode= parents verbose",
        same={"--mode": "-m", "--parents": "-p", "--verbose": "-v"},
    )
    if not operands:
        raise missing_operand()
    names = {name for name, _ in options}
    report = Report("mkdir")
    mode = None
    for name, value in options:
        if name == "-m":
            try:
                mode = apply_mode(value, 0o777, directory=True, umask=call.umask)
                if re.search("[st]", value):
                    call.unknown(f"the mode {value} of a new directory")
            except ModeError:
                raise UsageError(f"invalid mode {quote(value)}", hint=False) from None
    for operand in operands:
        try:
            if "-p" in names:
                made = make_directories(call, operand, mode)
            else:
                if operand == "":
                    raise FileNotFoundError(2, "No such file or directory", operand)
                call.files.mkdir(operand, 0o777 & ~call.umask if mode is None else mode)
                made = [operand]
        except OSError as error:
            shown = str(error.filename) if "-p" in names and error.filename else operand
            report.fail(f"cannot create directory {quote(shown)}", error)
            continue
        if "-v" in names:
            report.lines(f"mkdir: created directory {shell_quote(path)}" for path in made)
    return report.result()


@command()
def _mkfifo(call: Call) -> Result:
    options, operands = parse(call, "m:Z", "context=? mode=", same={"--mode": "-m"})
    if not operands:
        raise missing_operand()
    report = Report("mkfifo")
    maker = getattr(call.files, "mkfifo", None)
    for operand in operands:
        try:
            if lstat(call, operand) is not None:
                report.fail(f"cannot create fifo {shell_quote(operand)}: File exists")
            elif maker is None or options:
                call.unknown("named pipes")
            else:
                maker(operand, 0o666 & ~call.umask)
        except OSError as error:
            report.fail(f"cannot create fifo {shell_quote(operand)}", error)
    return report.result()


class _Linker:
    def __init__(self, call: Call, options: list[tuple[str, str]]) -> None:
        names = {name for name, _ in options}
        self.call = call
        self.report = Report("ln")
        self.answers = Answers(call, self.report)
        self.symbolic = "-s" in names
        self.force = "-f" in names
        last = [name for name, _ in options if name in ("-f", "-i")][-1:]
        self.ask = last == ["-i"]
        self.follow = [name for name, _ in options if name in ("-L", "-P")][-1:] == ["-L"]
        self.directories = bool({"-d", "-F", "--directory"} & names)
        self.verbose = "-v" in names
        self.relative = "-r" in names
        self.no_follow = "-n" in names or "-T" in names
        self.backup: Backup | None = read_backup(call, options)

    def one(self, source: str, target: str) -> None:
        call, report = self.call, self.report
        what = "symbolic link" if self.symbolic else "hard link"
        note = ""
        try:
            if self.symbolic and not source:
                raise FileNotFoundError(2, "No such file or directory", target)
            if not self.symbolic and not self._linkable(source):
                return
            there = lstat(call, target)
            if there is not None and (self.force or self.ask or self.backup):
                if there.kind == "directory":
                    report.fail(f"{shell_quote_if_needed(target)}: cannot overwrite directory")
                    return
                if self.ask and not self.answers.yes(f"replace {shell_quote(target)}"):
                    return
                if not self.symbolic and self._same(source, target):
                    report.fail(f"{shell_quote(source)} and {shell_quote(target)} are the same file")
                    return
                if self.backup:
                    note = f"{shell_quote(self.backup.move(call, target))} ~ "
                else:
                    call.files.remove(target)
            text = self._relative(source, target) if self.relative and self.symbolic else source
            if self.symbolic:
                call.files.symlink(text, target)
            else:
                call.files.link(canonical(call, source) if self.follow else source, target)
        except OSError as error:
            shown = shell_quote(target)
            if self.symbolic and not source:
                report.fail(f"failed to create {what} {shown} -> ''", error)
            elif self.symbolic or isinstance(error, FileExistsError):
                report.fail(f"failed to create {what} {shown}", error)
            else:
                report.fail(f"failed to create {what} {shown} => {shell_quote(source)}", error)
            return
        if self.verbose:
            arrow = "->" if self.symbolic else "=>"
            report.out(f"{note}{shell_quote(target)} {arrow} {shell_quote(text)}\n")

    def _same(self, source: str, target: str) -> bool:
        old, new = (self.call.files.stat(path, follow=False) for path in (source, target))
        places = [
            posixpath.join(canonical(self.call, posixpath.dirname(path) or "."), posixpath.basename(path))
            for path in (source, target)
        ]
        return places[0] == places[1] or bool(old.inode and old.inode == new.inode and self.backup)

    def _linkable(self, source: str) -> bool:
        try:
            stat = self.call.files.stat(source, follow=False)
        except OSError as error:
            self.report.fail(f"failed to access {shell_quote(source)}", error)
            return False
        if stat.kind == "directory" and not self.directories:
            self.report.fail(f"{shell_quote_if_needed(source)}: hard link not allowed for directory")
            return False
        return True

    def _relative(self, source: str, target: str) -> str:
        base = canonical(self.call, posixpath.dirname(target) or ".", missing="all")
        return posixpath.relpath(canonical(self.call, source, missing="all"), base)


@command()
def _ln(call: Call) -> Result:
    options, operands = parse(
        call,
        "bdfinrst:vFLPS:T",
        "backup=? directory no-dereference no-target-directory force interactive suffix= target-directory= logical"
        " physical relative symbolic verbose",
        same={
            "--symbolic": "-s",
            "--force": "-f",
            "--no-dereference": "-n",
            "--no-target-directory": "-T",
            "--target-directory": "-t",
            "--interactive": "-i",
            "--verbose": "-v",
            "--relative": "-r",
            "--suffix": "-S",
        },
    )
    linker = _Linker(call, options)
    if not operands:
        raise UsageError("missing file operand")
    into = next((value for name, value in options if name == "-t"), None)
    whole = any(name == "-T" for name, _ in options)
    if whole and len(operands) != 2:
        if len(operands) < 2:
            raise UsageError(f"missing destination file operand after {shell_quote(operands[0])}")
        raise extra_operand(operands[2])
    if linker.relative and not linker.symbolic:
        raise UsageError("cannot do --relative without --symbolic", hint=False)
    sources = operands
    if into is None and len(operands) == 1:
        into = "."
    elif into is None:
        last = operands[-1]
        if whole or not is_directory(call, last, follow=not linker.no_follow):
            if len(operands) > 2:
                reason = "Not a directory" if call.files.exists(last) else "No such file or directory"
                raise UsageError(f"target {shell_quote(last)}: {reason}", hint=False)
            linker.one(operands[0], last)
            return linker.report.result()
        into, sources = last, operands[:-1]
    for source in sources:
        linker.one(source, join(into, last_part(source)))
    return linker.report.result()


@command()
def _link(call: Call) -> Result:
    _, operands = parse(call)
    if len(operands) < 2:
        raise missing_operand(operands[0] if operands else None)
    if len(operands) > 2:
        raise extra_operand(operands[2])
    source, target = operands
    try:
        call.files.link(source, target)
    except OSError as error:
        text = f"cannot create link {shell_quote(target)} to {shell_quote(source)}: {strerror(error)}"
        raise UsageError(text, hint=False) from error
    return Result()


@command()
def _truncate(call: Call) -> Result:
    options, operands = parse(
        call,
        "cor:s:",
        "no-create io-blocks reference= size=",
        same={"--no-create": "-c", "--io-blocks": "-o", "--reference": "-r", "--size": "-s"},
    )
    chosen = dict(options)
    if "-s" not in chosen and "-r" not in chosen:
        raise UsageError(f"you must specify either {quote('--size')} or {quote('--reference')}")
    if not operands:
        raise UsageError("missing file operand")
    if "-o" in chosen or ("-s" in chosen and "-r" in chosen):
        call.unknown("--io-blocks, or --size beside --reference")
    text = chosen.get("-s", "")
    sign = text[:1] if text[:1] in tuple("+-<>/%") else ""
    try:
        amount = call.files.stat(chosen["-r"]).size if "-r" in chosen else parse_size(text[len(sign) :].strip())
    except SizeError:
        raise UsageError(f"Invalid number: {quote(text[len(sign) :])}", hint=False) from None
    except OSError as error:
        raise UsageError(f"cannot stat {shell_quote(chosen['-r'])}: {strerror(error)}", hint=False) from error
    report = Report("truncate")
    for operand in operands:
        try:
            if "-c" in chosen and not call.files.exists(operand):
                continue
            data = call.files.read(operand) if call.files.exists(operand) else b""
            size = _new_size(len(data), sign, amount)
            if size > 64 * 1024 * 1024:
                call.unknown("a file that large")
            call.files.write(operand, data[:size].ljust(size, b"\0"))
        except OSError as error:
            report.fail(f"cannot open {shell_quote(operand)} for writing", error)
    return report.result()


def _new_size(size: int, sign: str, amount: int) -> int:
    if sign in ("/", "%") and amount == 0:
        raise UsageError("division by zero", hint=False)
    return {
        "": lambda: amount,
        "+": lambda: size + amount,
        "-": lambda: max(0, size - amount),
        "<": lambda: min(size, amount),
        ">": lambda: max(size, amount),
        "/": lambda: size // amount * amount,
        "%": lambda: -(-size // amount) * amount,
    }[sign]()


COMMANDS: dict[str, Builtin] = {
    "mkdir": _mkdir,
    "mkfifo": _mkfifo,
    "ln": _ln,
    "link": _link,
    "truncate": _truncate,
}
