"""The command `getopt` of util-linux: options of a script, put in order and quoted."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import Options, UsageError, parse

__all__ = ["COMMANDS"]

_SAME = {
    "--alternative": "-a",
    "--longoptions": "-l",
    "--name": "-n",
    "--options": "-o",
    "--quiet": "-q",
    "--quiet-output": "-Q",
    "--shell": "-s",
    "--test": "-T",
    "--unquoted": "-u",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''").replace("!", "'\\!'") + "'"


def _long_names(options: Options) -> str:
    """Return the declared long options in the notation of our own parser."""
    names = [name for option, value in options if option == "-l" for name in value.replace(",", " ").split()]
    kinds = ((name.rstrip(":"), name.count(":")) for name in names)
    return " ".join(name + ("", "=", "=?")[min(colons, 2)] for name, colons in kinds)


def _order(call: Call, short: str, long: str, words: list[str]) -> tuple[Options, list[str], str]:
    """Sort words into options and operands; stop with a message at the first that is wrong.

    getopt goes on after an error; what it would still find is not known here.
    """
    permute = short[:1] != "+"
    try:
        options, operands = parse(call, short.lstrip("+-"), f"{long} help version", permute=permute, argv=words)
    except UsageError as error:
        return [], [], error.message
    declared = {name.partition("=")[0] for name in long.split()}
    stray = [name for name, _ in options if name in ("--help", "--version") and name[2:] not in declared]
    return options, operands, f"unrecognized option '{stray[0]}'" if stray else ""


def _getopt(call: Call) -> Result:
    compatible = "GETOPT_COMPATIBLE" in call.env
    if not call.argv:
        message = "getopt: missing optstring argument\nTry 'getopt --help' for more information.\n"
        return Result(stderr=message, status=2)
    if not call.argv[0].startswith("-") or compatible:
        own: Options = []
        short, words, plain = call.argv[0].lstrip("+-"), list(call.argv[1:]), True
    else:
        try:
            own, rest = parse(
                call,
                "al:n:o:qQs:Tu",
                "options= longoptions= quiet quiet-output shell= test unquoted alternative name=",
                same=_SAME,
                permute=False,
            )
        except UsageError as error:
            return Result(stderr=f"getopt: {error.message}\nTry 'getopt --help' for more information.\n", status=2)
        given = dict(own)
        if "-T" in given:
            return Result(status=4)
        if {"-a", "-q", "-Q", "-s"} & given.keys():
            call.unknown("-a, -q, -Q and -s")
        plain = "-u" in given
        if "-o" in given:
            short, words = given["-o"], rest
        elif rest:
            short, words = rest[0], rest[1:]
        else:
            message = "getopt: missing optstring argument\nTry 'getopt --help' for more information.\n"
            return Result(stderr=message, status=2)
    if short.startswith("-"):
        call.unknown("a mode of its own")
    options, operands, wrong = _order(call, short, _long_names(own), words)
    if wrong:
        name = dict(own).get("-n", "getopt")
        if len(words) > 1:
            call.unknown("what comes after a wrong option")
        return Result(" --\n", f"{name}: {wrong}\n", 1)
    return Result(_line(short, _long_names(own), options, operands, plain=plain))


def _line(short: str, long: str, options: Options, operands: list[str], *, plain: bool) -> str:
    kinds = {f"--{name.partition('=')[0]}": "=" in name for name in long.split()}
    kinds |= {f"-{letter}": short[place + 1 : place + 2] == ":" for place, letter in enumerate(short)}
    show = str if plain else _quoted
    text = ""
    for name, value in options:
        text += f" {name}" + (f" {show(value)}" if kinds.get(name) else "")
    return f"{text} --" + "".join(f" {show(operand)}" for operand in operands) + "\n"


COMMANDS: dict[str, Builtin] = {"getopt": _getopt}
