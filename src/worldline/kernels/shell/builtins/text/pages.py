"""`pr`: the shell library's, with its clock corrected and its doubtful answers marked."""

from __future__ import annotations

import re
from datetime import UTC

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.native import run_native
from worldline.kernels.shell.builtins.shared.textio import escape, read, stdin

__all__ = ["COMMANDS"]


def _run(call: Call, words: list[str], valued: str) -> tuple[Result, list[str], bytes]:
    """Run the library's command over files that we read; returns its answer, the operands and all input."""
    names, files, data = [], {}, b""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-") and word != "-":
            if len(word) == 2 and word[1] in valued and rest:
                rest.pop(0)
            continue
        names.append(word)
    for name in names or ["-"]:
        try:
            content = stdin(call) if name == "-" else read(call, name)
        except FileNotFoundError:
            if shell_quote_if_needed(name, colon=True) != name:
                call.unknown("how this name is quoted")
            continue
        except IsADirectoryError:
            call.unknown("pages of a directory", Result(stderr=f"{call.name}: {name}: Is a directory\n", status=1))
        except OSError as error:
            call.unknown(f"what is said of {name}: {strerror(error)}")
        data += content
        if name != "-":
            files[call.files.absolute(name)] = content
    answer = run_native([call.name, *words], stdin=stdin(call), files=files, cwd=call.cwd)
    if answer.error is not None:
        call.unknown(answer.error)
    for line in answer.stderr.splitlines():
        if not line.endswith(": No such file or directory") or call.cwd in line:
            call.unknown(f"the wording of {line!r}")
    return Result(escape(answer.stdout), answer.stderr, answer.status), names, data


def pr(call: Call) -> Result:
    """Paginate."""
    result, names, _ = _run(call, call.argv, "hlwWoND")
    if any(re.match(r"-[a-zA-Z0-9]*[tT]", word) or word.startswith("--omit") for word in call.argv):
        return result
    if any(word.startswith("-D") or word.startswith("--date") for word in call.argv) or len(names) > 1:
        call.unknown("the date in this header")
    if call.env.get("TZ", call.world.timezone) not in ("UTC", "UTC0", ""):
        call.unknown("another time zone")
    moment = call.files.stat(names[0]).mtime if names and call.files.exists(names[0]) else call.now
    shown = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
    text = re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d(?= )", shown, result.stdout, flags=re.MULTILINE)
    return Result(text, result.stderr, result.status)


COMMANDS: dict[str, Builtin] = {"pr": pr}
