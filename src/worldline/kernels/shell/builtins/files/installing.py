"""The command `install`."""

from __future__ import annotations

import posixpath

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.files.copy_rules import Rules
from worldline.kernels.shell.builtins.files.copying import Copier
from worldline.kernels.shell.builtins.files.making import make_directories
from worldline.kernels.shell.builtins.shared.backups import read_backup
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote
from worldline.kernels.shell.builtins.shared.modes import ModeError, apply_mode
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.paths import canonical
from worldline.kernels.shell.builtins.shared.targets import pair_up

__all__ = ["COMMANDS"]

_LONG = (
    "backup=? compare context=? debug directory group= mode= no-target-directory owner= preserve-timestamps"
    " preserve-context strip strip-program= suffix= target-directory= verbose"
)
_SAME = {
    "--directory": "-d",
    "--group": "-g",
    "--mode": "-m",
    "--no-target-directory": "-T",
    "--owner": "-o",
    "--preserve-timestamps": "-p",
    "--suffix": "-S",
    "--target-directory": "-t",
    "--verbose": "-v",
    "-b": "--backup",
    "--compare": "-C",
    "--strip": "-s",
}


@command()
def _install(call: Call) -> Result:
    options, operands = parse(call, "bcCsDdg:m:o:pt:TvS:Z", _LONG, same=_SAME)
    given = dict(options)
    if {"-s", "-C", "-Z"} & given.keys():
        call.unknown("stripping, comparing and contexts")
    for name in ("-o", "-g"):
        if name in given and given[name] not in (call.world.user, str(call.world.user_id)):
            call.unknown(f"installing for {given[name]}")
    try:
        mode = apply_mode(given.get("-m", "755"), 0, directory="-d" in given, umask=0)
    except ModeError:
        raise UsageError(f"invalid mode {quote(given['-m'])}", hint=False) from None
    report = Report("install")
    if "-d" in given:
        if not operands:
            raise UsageError("missing file operand")
        return _install_directories(call, report, operands, mode, verbose="-v" in given)
    rules = Rules(
        new_mode=mode, remove=True, verbose="-v" in given, times="-p" in given, backup=read_backup(call, options)
    )
    rules.clobber = "f"
    copier = Copier(call, rules, report)
    if "-D" in given and len(operands) == 2 and "-t" not in given:
        _leading(call, report, posixpath.dirname(operands[1]), verbose="-v" in given)
    elif "-D" in given and "-t" in given:
        _leading(call, report, given["-t"], verbose="-v" in given)
    for source, target in pair_up(call, options, operands):
        if call.files.exists(source) and call.files.stat(source).kind == "directory":
            report.fail(f"omitting directory {shell_quote(source)}")
            continue
        try:
            same = call.files.exists(target) and canonical(call, source) == canonical(call, target)
        except OSError:
            same = False
        if same:
            report.fail(f"{shell_quote(source)} and {shell_quote(target)} are the same file")
            continue
        copier.copy(source, target)
    return report.result()


def _leading(call: Call, report: Report, directory: str, *, verbose: bool) -> None:
    if not directory:
        return
    for made in make_directories(call, directory, 0o755):
        if verbose:
            report.out(f"install: creating directory {shell_quote(made)}\n")


def _install_directories(call: Call, report: Report, paths: list[str], mode: int, *, verbose: bool) -> Result:
    for path in paths:
        try:
            made = make_directories(call, path, mode)
            if not made:
                call.files.chmod(path, mode)
        except OSError as error:
            report.fail(f"cannot create directory {quote(path)}", error)
            continue
        if verbose:
            report.lines(f"install: creating directory {shell_quote(step)}" for step in made)
    return report.result()


COMMANDS: dict[str, Builtin] = {"install": _install}
