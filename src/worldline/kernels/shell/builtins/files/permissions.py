"""The commands `chmod`, `chown` and `chgrp`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote, strerror
from worldline.kernels.shell.builtins.shared.modes import ModeError, apply_mode, permission_string
from worldline.kernels.shell.builtins.shared.options import UsageError, command, missing_operand, parse
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.paths import canonical, join
from worldline.kernels.shell.builtins.shared.people import SYSTEM_GROUPS, SYSTEM_USERS, known_group, known_user

__all__ = ["COMMANDS"]

_MODE_WORD = re.compile(r"^-[rwxXstugoa0-7,+=-]*[rwxXstugo0-7][rwxXstugoa0-7,+=-]*$")


def _walk(call: Call, path: str, stat: FileStat, *, ordered: bool) -> Iterator[tuple[str, FileStat]]:
    """Go through what is below a directory; the caller changes each before it is entered."""
    if stat.kind != "directory":
        return
    names = call.files.list(path)
    if len(names) > 1 and ordered:
        names = directory_order(call, path)
    for name in names:
        child = join(path, name)
        child_stat = call.files.stat(child, follow=False)
        yield child, child_stat


class _Changer:
    """Goes through operands, and below them with -R, and changes each."""

    def __init__(self, call: Call, names: set[str], change: Callable[[_Changer, str, FileStat], None]) -> None:
        self.call = call
        self.report = Report(call.name)
        self.recursive = "-R" in names
        self.verbose = "-v" in names
        self.changes = "-c" in names
        self.silent = "-f" in names
        self.no_follow = "-h" in names
        self._change = change

    def run(self, operands: list[str]) -> Result:
        for operand in operands:
            self._operand(operand)
        return self.report.result()

    def fail(self, message: str, error: OSError | None = None) -> None:
        if not self.silent:
            self.report.fail(message, error)
        self.report.status = 1

    def _operand(self, path: str) -> None:
        files = self.call.files
        try:
            if self.recursive and canonical(self.call, path) == "/":
                self.report.fail(f"it is dangerous to operate recursively on {shell_quote(path)}")
                self.report.fail("use --no-preserve-root to override this failsafe")
                return
            stat = files.stat(path, follow=False)
            if stat.kind == "symlink" and not self.no_follow:
                try:
                    stat = files.stat(path)
                except FileNotFoundError:
                    if self.call.name == "chmod":
                        self.fail(f"cannot operate on dangling symlink {shell_quote(path)}")
                        return
                    raise
        except OSError as error:
            word = "access" if self.call.name == "chmod" or not self._behind(path) else "dereference"
            self.fail(f"cannot {word} {shell_quote(path)}", error)
            if self.verbose and self.call.name == "chmod":
                self.report.out(f"{shell_quote(path)} could not be accessed\n")
            return
        self._tree(path, stat)

    def _behind(self, path: str) -> bool:
        return self.call.files.exists(path, follow=False)

    def _tree(self, path: str, stat: FileStat) -> None:
        if self.call.name == "chmod":
            self._change(self, path, stat)
        if self.recursive:
            try:
                for child, child_stat in _walk(self.call, path, stat, ordered=self.verbose or self.changes):
                    if child_stat.kind == "symlink" and self.call.name == "chmod":
                        if self.verbose:
                            self.report.out(
                                f"neither symbolic link {shell_quote(child)} nor referent has been changed\n"
                            )
                        continue
                    self._tree(child, child_stat)
            except OSError as error:
                self.fail(f"cannot read directory {shell_quote(path)}", error)
        if self.call.name != "chmod":
            self._change(self, path, stat)


@command()
def _chmod(call: Call) -> Result:
    mode_words = [word for word in _before_double_dash(call.argv) if _MODE_WORD.match(word)]
    argv = list(call.argv)
    for word in mode_words:
        argv.remove(word)
    options, operands = parse(
        call,
        "Rcfv",
        "changes recursive no-preserve-root preserve-root quiet reference= silent verbose",
        same={
            "--changes": "-c",
            "--recursive": "-R",
            "--quiet": "-f",
            "--silent": "-f",
            "--verbose": "-v",
        },
        argv=argv,
    )
    given = dict(options)
    mode = ",".join(mode_words)
    if "--reference" in given:
        try:
            mode = f"{call.files.stat(given['--reference']).mode:o}"
        except OSError as error:
            text = f"failed to get attributes of {shell_quote(given['--reference'])}: {strerror(error)}"
            raise UsageError(text, hint=False) from error
    elif not mode:
        if not operands:
            raise missing_operand()
        mode = operands.pop(0)
    if not operands:
        raise missing_operand(mode if "--reference" not in given else None)
    try:
        apply_mode(mode, 0, directory=False, umask=0)
    except ModeError:
        raise UsageError(f"invalid mode: {quote(mode)}") from None

    def change(changer: _Changer, path: str, stat: FileStat) -> None:
        wanted = apply_mode(mode, stat.mode, directory=stat.kind == "directory", umask=call.umask)
        _set_mode(changer, path, stat.mode, wanted)
        if mode_words and "--reference" not in given:
            _surprise(changer, path, stat, mode, wanted)

    return _Changer(call, set(given), change).run(operands)


def _before_double_dash(argv: list[str]) -> list[str]:
    return argv[: argv.index("--")] if "--" in argv else argv


def _set_mode(changer: _Changer, path: str, old: int, new: int) -> None:
    before, after = (f"{bits:04o} ({permission_string(bits)})" for bits in (old, new))
    try:
        changer.call.files.chmod(path, new)
    except OSError as error:
        changer.fail(f"changing permissions of {shell_quote(path)}", error)
        if changer.verbose:
            changer.report.out(f"failed to change mode of {shell_quote(path)} from {before} to {after}\n")
        return
    if old != new and (changer.verbose or changer.changes):
        changer.report.out(f"mode of {shell_quote(path)} changed from {before} to {after}\n")
    elif changer.verbose:
        changer.report.out(f"mode of {shell_quote(path)} retained as {after}\n")


def _surprise(changer: _Changer, path: str, stat: FileStat, mode: str, wanted: int) -> None:
    """Say where a mode that looks like an option (`-w`) did not do what it would without the umask."""
    naively = apply_mode(mode, stat.mode, directory=stat.kind == "directory", umask=0)
    if wanted & ~naively:
        texts = permission_string(wanted), permission_string(naively)
        changer.fail(f"{path}: new permissions are {texts[0]}, not {texts[1]}")


# --- owners

_OWNER_LONG = (
    "recursive changes dereference from= no-dereference no-preserve-root preserve-root quiet silent reference= verbose"
)
_OWNER_SAME = {
    "--recursive": "-R",
    "--changes": "-c",
    "--no-dereference": "-h",
    "--quiet": "-f",
    "--silent": "-f",
    "--verbose": "-v",
}


@command()
def _chown(call: Call) -> Result:
    options, operands = parse(call, "HLPRcfhv", _OWNER_LONG, same=_OWNER_SAME)
    given = dict(options)
    if {"--from", "-L", "-H"} & given.keys():
        call.unknown("--from, -L and -H")
    owner = group = None
    if "--reference" in given:
        try:
            model = call.files.stat(given["--reference"])
        except OSError as error:
            text = f"failed to get attributes of {shell_quote(given['--reference'])}: {strerror(error)}"
            raise UsageError(text, hint=False) from error
        owner, group = (None if call.name == "chgrp" else model.owner), model.group
    else:
        if not operands:
            raise missing_operand()
        word = operands.pop(0)
        if not operands:
            raise missing_operand(word)
        owner, group = _read_owner(call, word)
    if not operands:
        raise missing_operand()

    def change(changer: _Changer, path: str, stat: FileStat) -> None:
        _set_owner(changer, path, stat, owner, group)

    return _Changer(call, set(given), change).run(operands)


def _read_owner(call: Call, word: str) -> tuple[str | None, str | None]:
    """Split `OWNER[:GROUP]` (chown) or take a group (chgrp), as names."""
    if call.name == "chgrp":
        owner_word, sign, group_word = "", ":", word
    else:
        owner_word, sign, group_word = word.partition(":")
        if not sign and "." in word and known_user(call, word) is None:
            call.unknown("the old form OWNER.GROUP")
    if owner_word and re.fullmatch(r"\+\d+", owner_word):
        owner_word = owner_word[1:]
    if group_word and re.fullmatch(r"\+\d+", group_word):
        group_word = group_word[1:]
    uid = known_user(call, owner_word) if owner_word else None
    known = {0, call.world.user_id, *SYSTEM_USERS.values(), *SYSTEM_GROUPS.values()}
    if call.world.user_id and any(text.isdigit() and int(text) not in known for text in (owner_word, group_word)):
        call.unknown("whether the system maps this number")
    if owner_word and uid is None:
        raise UsageError(f"invalid user: {quote(word)}", hint=False)
    gid = known_group(call, group_word) if group_word else None
    if group_word and gid is None:
        raise UsageError(f"invalid group: {quote(word)}", hint=False)
    owner = None if uid is None else _name(call, uid)
    if sign and not group_word and owner_word:
        return owner, owner
    return owner, None if gid is None else _name(call, gid)


def _name(call: Call, number: int) -> str:
    return {0: "root", call.world.user_id: call.world.user}.get(number, str(number))


def _set_owner(changer: _Changer, path: str, stat: FileStat, owner: str | None, group: str | None) -> None:
    what = "ownership" if owner is not None else "group"
    if changer.call.name == "chgrp" or owner is None:
        what = "group"
    before = stat.group if what == "group" else f"{stat.owner}:{stat.group}"
    after = (group or stat.group) if what == "group" else f"{owner}:{group}" if group else str(owner)
    if what == "ownership" and not group:
        before = stat.owner
    same = (owner in (None, stat.owner)) and (group in (None, stat.group))
    try:
        if stat.kind == "symlink" and not same:
            changer.call.unknown("the owner of a link")
        if stat.kind != "symlink":
            changer.call.files.chown(path, owner, group)
    except OSError as error:
        changer.fail(f"changing {what} of {shell_quote(path)}", error)
        if changer.verbose:
            changer.report.out(f"failed to change {what} of {shell_quote(path)} from {before} to {after}\n")
        return
    if not same and (changer.verbose or changer.changes):
        changer.report.out(f"changed {what} of {shell_quote(path)} from {before} to {after}\n")
    elif changer.verbose:
        changer.report.out(f"{what} of {shell_quote(path)} retained as {after}\n")


COMMANDS: dict[str, Builtin] = {"chmod": _chmod, "chown": _chown, "chgrp": _chown}
