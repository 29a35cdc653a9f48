"""Programs of moreutils: `sponge combine errno ifne mispipe chronic pee ts`."""

from __future__ import annotations

import errno
import os
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.recipe_shell import run_line
from worldline.kernels.shell.builtins.shared.textio import escape, read, records, stdin, unescape
from worldline.kernels.shell.programs import presence

__all__ = ["COMMANDS"]

_ALIASES = {"EWOULDBLOCK": 40, "EDEADLOCK": 57, "ENOTSUP": 134}
"""Second names of numbers, and after which number the system's header lists them."""


# --- sponge, combine


def _sponge(call: Call) -> Result:
    try:
        options, operands = parse(call, "a", same={})
    except UsageError as error:
        call.unknown("the text of the usage", Result(stderr=f"sponge: {error.message}\n"))
    data = stdin(call)
    if not operands:
        return Result(escape(data))
    name = operands[0]
    try:
        if options:
            call.files.append(name, data)
        else:
            call.files.write(name, data)
    except OSError as error:
        return Result(stderr=f"error opening output file: {strerror(error)}\n", status=1)
    return Result()


def _combine(call: Call) -> Result:
    words = call.argv
    if len(words) != 3:
        return Result(stderr="Usage: combine file1 OP file2\n", status=255)
    first, operation, second = words[0], words[1].lower(), words[2]
    if operation not in ("and", "not", "or", "xor"):
        return Result(stderr=f"unknown operation, {words[1]}\n", status=255)
    if first == second == "-":
        call.unknown("one input read twice")
    order = (first, second) if operation == "or" else (second, first)
    found: dict[str, list[bytes]] = {}
    for name in order:
        try:
            found[name] = records(read(call, name))
        except OSError as error:
            if operation == "or" and name == second:
                call.unknown("what is written before a file is missing")
            return Result(stderr=f"{name}: {strerror(error)}\n", status=error.errno or 2)
    one, two = found[first], found[second]
    have_one, have_two = set(one), set(two)
    if operation == "and":
        lines = [line for line in one if line in have_two]
    elif operation == "not":
        lines = [line for line in one if line not in have_two]
    elif operation == "or":
        lines = one + two
    else:
        lines = [line for line in one if line not in have_two] + [line for line in two if line not in have_one]
    return Result(escape(b"".join(line + b"\n" for line in lines)))


# --- errno


def _names() -> list[tuple[str, int]]:
    """Names and numbers of all errors in the order of the system's headers."""
    named = {number: name for number, name in errno.errorcode.items() if name not in _ALIASES}
    named |= {11: "EAGAIN", 35: "EDEADLK", 95: "EOPNOTSUPP", 133: "EHWPOISON"}
    values = {"EWOULDBLOCK": 11, "EDEADLOCK": 35, "ENOTSUP": 95}
    rows = [(2 * number, name, number) for number, name in named.items()]
    rows += [(2 * place + 1, name, values[name]) for name, place in _ALIASES.items()]
    return [(name, number) for _, name, number in sorted(rows)]


def _errno(call: Call) -> Result:
    try:
        options, operands = parse(call, "lsSh", "list search search-all-locales")
    except UsageError as error:
        call.unknown("the text of the usage", Result(stderr=f"errno: {error.message}\n"))
    given = {name for name, _ in options}
    rows = _names()
    if given & {"-S", "-h", "--search-all-locales"}:
        call.unknown("messages in all locales")
    if given & {"-l", "--list"}:
        return Result("".join(_row(row) for row in rows))
    if given & {"-s", "--search"}:
        words = [word.lower() for word in operands]
        hits = [row for row in rows if all(word in os.strerror(row[1]).lower() for word in words)]
        return Result("".join(_row(row) for row in hits))
    out = err = ""
    status = 0
    for word in operands:
        if word[:1] in ("e", "E"):
            hits = [row for row in rows if row[0] == word.upper()]
        elif re.match(r"\d", word):
            hits = [row for row in rows if row[1] == int(word)] if word.isdigit() else call.unknown("a number")
        else:
            err += f"ERROR: Not understood: {word}\n"
            hits = []
        status |= not hits
        out += "".join(_row(row) for row in hits[:1])
    return Result(out, err, int(status))


def _row(row: tuple[str, int]) -> str:
    return f"{row[0]} {row[1]} {os.strerror(row[1])}\n"


# --- running others


def _ifne(call: Call) -> Result:
    words = list(call.argv)
    negated = words[:1] == ["-n"]
    words = words[1:] if negated else words
    if not words or words[0].startswith("-"):
        if not words:
            return Result(stderr="Usage: ifne [-n] command [args]\n", status=1)
        call.unknown(f"the option {words[0]}")
    data = call.stdin or ""
    if not data and not negated:
        return Result()
    if data and negated:
        return Result(data)
    result = call.run(words, stdin=data)
    if result.status == 127 and not result.stdout and not result.stderr:
        return Result(stderr=f"{words[0]}: No such file or directory\n", status=1)
    return result


def _mispipe(call: Call) -> Result:
    if len(call.argv) != 2:
        return Result(stderr="mispipe: Wrong number of args, aborting\n", status=1)
    first = run_line(call, call.argv[0], shell="sh", stdin=call.stdin)
    second = run_line(call, call.argv[1], shell="sh", stdin=first.stdout)
    return Result(second.stdout, first.stderr + second.stderr, first.status)


def _chronic(call: Call) -> Result:
    words = list(call.argv)
    options = ""
    while words and re.fullmatch(r"-[ve]+", words[0]):
        options += words.pop(0)[1:]
    if not words or words[0].startswith("-"):
        if not words:
            return Result(stderr="usage: chronic COMMAND...\n", status=255)
        call.unknown(f"the option {words[0]}")
    if "/" not in words[0] and presence(call.world, words[0]) == "absent":
        places = ", ".join(call.env.get("PATH", "").split(":"))
        return Result(stderr=f"Command '{words[0]}' not found in {places} at /usr/bin/chronic line 69.\n", status=2)
    result = call.run(words, stdin=call.stdin)
    if not result.status and not ("e" in options and result.stderr):
        return Result()
    if "v" in options:
        text = f"STDOUT:\n{result.stdout}\nSTDERR:\n"
        call.unknown("how -v shows errors", Result(text, result.stderr, result.status))
    return Result(result.stdout, result.stderr, result.status)


def _pee(call: Call) -> Result:
    out = err = ""
    status = 0
    for word in call.argv:
        if word.startswith("-"):
            call.unknown(f"the option {word}")
        result = run_line(call, word, shell="sh", stdin=escape(unescape(call.stdin or "")))
        out, err = out + result.stdout, err + result.stderr
        status |= result.status
    return Result(out, err, status)


def _ts(call: Call) -> Result:
    operands = [word for word in call.argv if not word.startswith("-")]
    if len(operands) != len(call.argv) or len(operands) > 1:
        call.unknown("times that pass")
    form = operands[0] if operands else "%b %d %H:%M:%S"
    if re.search(r"%\.|%N|%[^a-zA-Z%]", form) or call.world.timezone != "UTC":
        call.unknown("fractions of seconds")
    stamp = call.now.strftime(form)
    return Result("".join(f"{stamp} {line}" for line in (call.stdin or "").splitlines(keepends=True)))


COMMANDS: dict[str, Builtin] = {
    "sponge": _sponge,
    "combine": _combine,
    "errno": _errno,
    "ifne": _ifne,
    "mispipe": _mispipe,
    "chronic": _chronic,
    "pee": _pee,
    "ts": _ts,
}
