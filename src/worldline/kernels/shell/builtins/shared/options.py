"""Command line options as GNU `getopt_long` reads them, with its messages, and the usage errors of programs.

Python's `getopt` knows neither optional arguments (`--color[=WHEN]`, `-i[SUFFIX]`) nor GNU's wording, and both
are needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps

from worldline.kernels.shell.builtins.base import Builtin, Call, Result

__all__ = ["Options", "UsageError", "choice", "command", "extra_operand", "missing_operand", "parse", "quote"]

Options = list[tuple[str, str]]


class UsageError(Exception):
    """The command line is wrong; `str()` is what the program says about it.

    Args:
        message: What is wrong, without the program's name.
        hint: Whether the line `Try 'NAME --help' for more information.` follows.
        status: Exit status; None takes the program's own usage status.
    """

    def __init__(self, message: str, *, hint: bool = True, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status

    def result(self, name: str, usage_status: int = 1) -> Result:
        """Return what the program `name` writes to stderr, and its status."""
        text = f"{name}: {self.message}\n"
        if self.hint:
            text += f"Try '{name} --help' for more information.\n"
        return Result(stderr=text, status=usage_status if self.status is None else self.status)


def command(*, usage_status: int = 1) -> Callable[[Builtin], Builtin]:
    """Decorate a builtin so that a :class:`UsageError` becomes its GNU message.

    Args:
        usage_status: What the program exits with after a wrong command line (2 for ls, sort, grep, ...).
    """

    def decorate(function: Builtin) -> Builtin:
        @wraps(function)
        def run(call: Call) -> Result:
            try:
                return function(call)
            except UsageError as error:
                return error.result(call.name, usage_status)

        return run

    return decorate


def quote(text: str) -> str:
    """Quote as GNU programs do in messages under a UTF-8 locale."""
    return f"\u2018{text}\u2019"


def missing_operand(after: str | None = None) -> UsageError:
    """Build the error of coreutils for too few operands; `after` is the last one given."""
    return UsageError("missing operand" + (f" after {quote(after)}" if after is not None else ""))


def choice(value: str, option: str, words: Sequence[str]) -> str:
    """Return the word that an option's argument stands for; it may be abbreviated.

    Args:
        value: The argument.
        option: The option as the message names it.
        words: What it may be, in the program's own order.

    Raises:
        UsageError: It is none of them, or several.
    """
    if value in words:
        return value
    matches = [word for word in words if word.startswith(value)]
    if len(matches) == 1:
        return matches[0]
    what = "ambiguous" if matches else "invalid"
    valid = "".join(f"\n  - {quote(word)}" for word in words)
    raise UsageError(f"{what} argument {quote(value)} for {quote(option)}\nValid arguments are:{valid}", status=1)


def extra_operand(operand: str) -> UsageError:
    """Build the error of coreutils for one operand too many."""
    return UsageError(f"extra operand {quote(operand)}")


def parse(
    call: Call,
    short: str = "",
    long: Sequence[str] | str = (),
    *,
    same: Mapping[str, str] | None = None,
    permute: bool = True,
    argv: Sequence[str] | None = None,
) -> tuple[Options, list[str]]:
    """Split the arguments of a call into options and operands, as GNU getopt_long does.

    Args:
        call: The invocation.
        short: Option letters; `x:` takes an argument, `x::` an optional one (attached only).
        long: Long options in the program's own order (it shows when one is ambiguous): `all`, `sort=` with an
            argument, `color=?` with an optional one. Abbreviations are understood. A string is split at blanks.
        same: Long options that mean a short one, `{"--all": "-a"}`; they are returned as that one.
        permute: Whether options may follow operands; False stops at the first operand.
        argv: The arguments; default `call.argv`.

    Returns:
        The options as `(name, argument)` with the dashes in the name (`-a`, `--sort`) and "" where there is no
        argument, and the operands.

    Raises:
        UsageError: With the message of getopt_long.
        Unknown: `--help` or `--version`, unless the program lists them as its own options.
    """
    rest = list(call.argv if argv is None else argv)
    table = _long_table(long.split() if isinstance(long, str) else long)
    options: Options = []
    operands: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if word.startswith("--"):
            options.append(_long_option(call, word, rest, table))
        elif word.startswith("-") and word != "-":
            options += _short_options(word, rest, short)
        else:
            operands.append(word)
            if not permute:
                operands += rest
                break
    renames = same or {}
    return [(renames.get(name, name), value) for name, value in options], operands


def _long_table(long: Sequence[str]) -> dict[str, str]:
    """Return each long option's name with its kind of argument: "", "=" or "=?"."""
    table: dict[str, str] = {}
    for entry in long:
        name, sign, rest = entry.partition("=")
        table[name] = sign + rest
    for name in ("help", "version"):
        table.setdefault(name, "!")
    return table


def _long_option(call: Call, word: str, rest: list[str], table: Mapping[str, str]) -> tuple[str, str]:
    given, sign, value = word[2:].partition("=")
    if given in table:
        name = given
    else:
        matches = [name for name in table if name.startswith(given)]
        if not matches:
            raise UsageError(f"unrecognized option '{word}'")
        if len(matches) > 1:
            options = " ".join(f"'--{match}'" for match in matches)
            raise UsageError(f"option '{word}' is ambiguous; possibilities: {options}")
        name = matches[0]
    kind = table[name]
    if sign and kind in ("", "!"):
        raise UsageError(f"option '--{name}' doesn't allow an argument")
    if kind == "!":
        call.unknown(f"the text of --{name}")
    if kind == "=" and not sign:
        if not rest:
            raise UsageError(f"option '--{name}' requires an argument")
        value = rest.pop(0)
    return f"--{name}", value


def _short_options(word: str, rest: list[str], short: str) -> Options:
    options: Options = []
    position = 1
    while position < len(word):
        letter = word[position]
        position += 1
        index = short.find(letter) if letter != ":" else -1
        if index < 0:
            raise UsageError(f"invalid option -- '{letter}'")
        colons = len(short[index + 1 : index + 3]) - len(short[index + 1 : index + 3].lstrip(":"))
        value = ""
        if colons:
            value = word[position:]
            if not value and colons == 1:
                if not rest:
                    raise UsageError(f"option requires an argument -- '{letter}'")
                value = rest.pop(0)
            position = len(word)
        options.append((f"-{letter}", value))
    return options
