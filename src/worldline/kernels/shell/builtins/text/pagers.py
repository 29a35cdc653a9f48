"""`more` and `less` where their output goes to a pipe or a file: they pass it through."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import Output, read, stdin

__all__ = ["COMMANDS"]

_LINE = b"::::::::::::::\n"


def _more(call: Call) -> Result:
    output = Output(call)
    names = []
    for word in call.argv:
        if not word.startswith(("+", "-")):
            names.append(word)
        elif not re.fullmatch(r"-\d+|-[dflceup]+|\+\d+", word):
            # `+N` has no effect where the output is no terminal.
            call.unknown(f"the option {word}")
    if not names:
        if call.stdin is None:
            call.unknown("more without a file")
        output.write(_plain(output, stdin(call)))
    for name in names:
        try:
            if call.files.stat(name).kind == "directory":
                output.write(f"\n*** {name}: directory ***\n\n".encode())
                continue
            data = read(call, name)
        except OSError as error:
            output.warn(f"cannot open {name}: {strerror(error)}")
            continue
        output.write(_LINE + name.encode() + b"\n" + _LINE + _plain(output, data))
    return output.result()


def _plain(output: Output, data: bytes) -> bytes:
    if set(data) & {0, 8, 27}:
        output.call.unknown("control characters")
    return data


def _less(call: Call) -> Result:
    names = [word for word in call.argv if not word.startswith(("-", "+"))]
    odd = [
        word
        for word in call.argv
        if word.startswith(("-", "+")) and not re.fullmatch(r"-[NSRFXEeiIMmnrs]+|\+\d+", word)
    ]
    if odd:
        call.unknown(f"the option {odd[0]}")
    output = Output(call)
    if not names:
        if call.stdin is None:
            call.unknown("less without a file")
        output.write(stdin(call))
    for name in names:
        try:
            if call.files.stat(name).kind == "directory":
                output.line(f"{name} is a directory".encode())
            else:
                output.write(read(call, name))
        except OSError as error:
            if len(names) > 1:
                call.unknown("several files of which one is missing")
            output.line(f"{name}: {strerror(error)}".encode())
    return output.result()


COMMANDS: dict[str, Builtin] = {"more": _more, "less": _less}
