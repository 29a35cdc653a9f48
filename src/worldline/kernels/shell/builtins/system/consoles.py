"""What programs that need a terminal say without one: `clear reset stty mesg watch dircolors`."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, parse

__all__ = ["COMMANDS"]

_CLEAR = {"xterm": "\x1b[H\x1b[2J\x1b[3J", "xterm-256color": "\x1b[H\x1b[2J\x1b[3J", "linux": "\x1b[H\x1b[J\x1b[3J"}


def _clear(call: Call) -> Result:
    if call.argv:
        call.unknown("the options of clear")
    terminal = call.env.get("TERM")
    if not terminal:
        return Result(stderr="TERM environment variable not set.\n", status=1)
    if terminal not in _CLEAR:
        call.unknown(f"how a {terminal} is cleared")
    return Result(_CLEAR[terminal])


def _stty(call: Call) -> Result:
    if any(word.startswith(("-F", "--")) for word in call.argv):
        call.unknown("the settings of another terminal")
    return Result(stderr="stty: 'standard input': Inappropriate ioctl for device\n", status=1)


def _watch(call: Call) -> Result:
    try:
        _, words = parse(
            call,
            "bcd::eghn:pqtwx",
            "beep color differences=? errexit chgexit equexit= interval= precise no-title no-wrap exec",
            permute=False,
        )
    except UsageError:
        call.unknown("the usage")
    if not words:
        call.unknown("the usage")
    if call.env.get("TERM"):
        call.unknown("what watch shows until it is stopped")
    return Result(stderr="Error opening terminal: unknown.\n", status=1)


def _dircolors(call: Call) -> Result:
    try:
        options, operands = parse(
            call,
            "bcp",
            "bourne-shell sh csh c-shell print-database print-ls-colors",
            same={"--sh": "-b", "--bourne-shell": "-b", "--csh": "-c", "--c-shell": "-c"},
        )
    except UsageError as error:
        return error.result("dircolors")
    names = {name for name, _ in options}
    if operands or names - {"-b", "-c"} or call.env.get("TERM") or call.env.get("COLORTERM"):
        call.unknown("the database of colours")
    if options and options[-1][0] == "-c":
        return Result("setenv LS_COLORS ''\n")
    return Result("LS_COLORS='';\nexport LS_COLORS\n")


COMMANDS: dict[str, Builtin] = {"clear": _clear, "stty": _stty, "watch": _watch, "dircolors": _dircolors}
