"""`strings` and `shasum`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read, stdin
from worldline.kernels.shell.builtins.text.digests import COMMANDS as DIGESTS

__all__ = ["COMMANDS"]


def strings(call: Call) -> Result:
    """Print runs of printable characters."""
    argv = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.argv]
    try:
        options, names = parse(
            call, "adfn:t:oe:", ("all", "data", "print-file-name", "bytes=", "radix=", "encoding="),
            same={"--all": "-a", "--data": "-d", "--print-file-name": "-f", "--bytes": "-n", "--radix": "-t",
                  "--encoding": "-e"},
            argv=argv,
        )  # fmt: skip
    except UsageError:
        call.unknown("the usage text")
    given = dict(options)
    least, radix = given.get("-n", "4"), given.get("-t", "o" if "-o" in given else "")
    if "-e" in given or not least.isdigit() or int(least) < 1 or radix not in ("", "o", "d", "x") or "-" in names:
        call.unknown("these options")
    out = Output(call)
    for name in names or [""]:
        try:
            data = read(call, name) if name else stdin(call)
        except FileNotFoundError:
            out.raw(f"strings: '{name}': No such file\n")
            out.status = 1
            continue
        except IsADirectoryError:
            out.raw(f"strings: Warning: '{name}' is a directory\n")
            out.status = 1
            continue
        except OSError as error:
            out.raw(f"strings: {name}: {strerror(error)}\n")
            out.status = 1
            continue
        for found in re.finditer(rb"[\t\x20-\x7e]{%d,}" % int(least), data):
            prefix = f"{name}: ".encode() if "-f" in given else b""
            if radix:
                prefix += f"{found.start():7{radix}} ".encode()
            out.line(prefix + found[0])
    return out.result()


def shasum(call: Call) -> Result:
    """Print or check SHA digests, as Perl's shasum does."""
    words, kind = [], "1"
    rest = list(call.argv)
    while rest:
        word = rest.pop(0)
        if word in ("-a", "--algorithm") and rest:
            kind = rest.pop(0)
        elif found := re.fullmatch(r"(?:-a|--algorithm=)(\d+)", word):
            kind = found[1]
        elif word.startswith("-") and word not in ("-", "-c", "--check", "-b", "-t"):
            call.unknown(f"the option {word}")
        else:
            words.append(word)
    tool = DIGESTS.get(f"sha{kind}sum")
    if tool is None:
        call.unknown(f"the algorithm {kind}")
    result = tool(Call(call.name, words, call.stdin, call.env, call.cwd, call.files, call.world, call.now, call.umask))
    if result.stderr or ("-b" in words):
        call.unknown("the wording of shasum")
    return result


COMMANDS: dict[str, Builtin] = {"strings": strings, "shasum": shasum}
