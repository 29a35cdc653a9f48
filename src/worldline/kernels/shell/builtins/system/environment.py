"""The commands `env` and `printenv`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import quote, shell_quote, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.system.running import refusal

__all__ = ["COMMANDS", "bash_order"]


def bash_order(env: Mapping[str, str]) -> list[str]:
    """Return the names of exported variables in the order in which bash hands them to a program.

    bash keeps variables in a table of 1024 buckets by their FNV-1 hash and walks it; `_` comes last.
    """
    return sorted(env, key=lambda name: (name == "_", _bucket(name)))


def _bucket(name: str) -> int:
    value = 2166136261
    for byte in name.encode("utf-8", "surrogateescape"):
        value = value * 16777619 & 0xFFFFFFFF ^ byte
    return value & 1023


@command(usage_status=125)
def _env(call: Call) -> Result:
    options, words = parse(
        call,
        "+C:iS:u:v0",
        "argv0= ignore-environment null unset= chdir= default-signal=? ignore-signal=? block-signal=?"
        " list-signal-handling debug split-string=",
        same={"--ignore-environment": "-i", "--null": "-0", "--unset": "-u", "--chdir": "-C", "--split-string": "-S"},
        permute=False,
    )
    env = dict(call.env)
    order = bash_order(env)
    end = "\n"
    for name, value in options:
        if name == "-i":
            env, order = {}, []
        elif name == "-u":
            if not value or "=" in value:
                raise UsageError(f"cannot unset {quote(value)}: Invalid argument", hint=False)
            if env.pop(value, None) is not None:
                order.remove(value)
        elif name == "-0":
            end = "\0"
        elif name == "-C":
            _check_directory(call, value, words)
            words = ["bash", "-c", 'cd "$0" && "$@"', value, *words]
        elif name == "-S":
            if re.search(r"[$\\#]", value):
                call.unknown(f"the string {value}")
            words = [*shlex.split(value), *words]
        else:
            call.unknown(f"the option {name}")
    if words and words[0] == "-":
        env, order, words = {}, [], words[1:]
    while words and "=" in words[0]:
        name, _, value = words[0].partition("=")
        if name not in env:
            order.append(name)
        env[name] = value
        words = words[1:]
    if not words:
        return Result("".join(f"{name}={env[name]}{end}" for name in order))
    if words in (["env"], ["printenv"]):
        return Result("".join(f"{name}={env[name]}\n" for name in order))
    if end == "\0":
        raise UsageError("cannot specify --null (-0) with command")
    result = call.run(words, stdin=call.stdin, env=env)
    reason = refusal(result)
    if reason is not None:
        hint = ""
        if result.status == 127 and re.search(r"\s", words[0]):
            hint = "env: use -[v]S to pass options in shebang lines\n"
        return Result(stderr=f"env: {quote(words[0])}: {reason}\n{hint}", status=result.status)
    return result


def _check_directory(call: Call, path: str, words: list[str]) -> None:
    if not words:
        raise UsageError("must specify command with --chdir (-C)")
    try:
        call.files.stat(path)
    except OSError as error:
        text = f"cannot change directory to {shell_quote(path)}: {strerror(error)}"
        raise UsageError(text, hint=False) from error


@command(usage_status=2)
def _printenv(call: Call) -> Result:
    options, names = parse(call, "0", "null", same={"--null": "-0"}, permute=False)
    end = "\0" if options else "\n"
    if not names:
        return Result("".join(f"{name}={call.env[name]}{end}" for name in bash_order(call.env)))
    found = [call.env[name] + end for name in names if "=" not in name and name in call.env]
    return Result("".join(found), status=0 if len(found) == len(names) else 1)


COMMANDS: dict[str, Builtin] = {"env": _env, "printenv": _printenv}
