"""`sed`: the shell library's editor over files that we read and write, with GNU's messages."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.native import Answer, run_native
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import escape, read, stdin

__all__ = ["COMMANDS"]

_LONG = (
    "quiet", "silent", "debug", "expression=", "file=", "follow-symlinks", "in-place=?", "line-length=", "posix",
    "regexp-extended", "separate", "sandbox", "unbuffered", "null-data", "zero-terminated",
)  # fmt: skip
_SAME = {
    "--quiet": "-n", "--silent": "-n", "--expression": "-e", "--file": "-f", "--in-place": "-i",
    "--line-length": "-l", "--regexp-extended": "-E", "-r": "-E", "--separate": "-s", "--unbuffered": "-u",
    "--null-data": "-z", "--zero-terminated": "-z",
}  # fmt: skip
_KNOWN = re.compile(
    r"sed: (?:can't read .*: No such file or directory|couldn't edit .*: not a regular file"
    r"|-e expression #\d+, char \d+: (?:unterminated `[sy]' command|unterminated address regex|unknown command: `.'"
    r"|missing command|unexpected `\}'|extra characters after command|expected \\ after `a', `c' or `i'"
    r"|invalid reference \\\d on `s' command's RHS|strings for `y' command are different lengths"
    r"|unterminated `y' command|unexpected `,'|comments don't accept any addresses"
    r"|multiple `[pg]' options to `s' command"
    r"|number option to `s' command may not be zero"
    r"|Unmatched [()] or \\[()]|Invalid preceding regular expression|command only uses one address)"
    r"|can't find label for jump to `.*'"
    r"|-e expression #1, char 0: no previous regular expression)"
)


_REGEX_ERRORS = (
    (r"invalid pattern: .*unclosed group$", r"Unmatched ( or \\("),
    (r"invalid pattern: .*unopened group$", r"Unmatched ) or \\)"),
    (r"invalid pattern: .*repetition operator missing expression$", "Invalid preceding regular expression"),
)


def sed(call: Call) -> Result:
    """Edit streams."""
    try:
        options, operands = parse(call, "bsnrzuEe:f:l:i::V:s", _LONG, same=_SAME)
    except UsageError:
        call.unknown("the usage text")
    passed: list[str] = []
    scripts: list[str] = []
    files: dict[str, bytes] = {}
    in_place = extended = False
    for name, value in options:
        if name == "-e":
            scripts.append(value)
            passed += ["-e", _texts(value)]
        elif name == "-f":
            if value == "-":
                call.unknown("a script from standard input")
            try:
                text = read(call, value)
            except OSError as error:
                return Result(stderr=f"sed: couldn't open file {value}: {strerror(error)}\n", status=4)
            files[call.files.absolute(value)] = text
            scripts.append(text.decode("utf-8", "replace"))
            passed += ["-f", value]
        elif name == "-i":
            in_place = True
            passed.append(f"-i{value}")
        elif name == "-E":
            extended = True
            passed.append(name)
        elif name == "-l":
            passed += [name, value]
        elif name in ("-n", "-s", "-z"):
            passed.append(name)
        elif name != "-u":
            call.unknown(f"the option {name}")
    if not scripts:
        if not operands:
            call.unknown("the usage text")
        scripts.append(operands.pop(0))
        passed += ["-e", _texts(scripts[0])]
    script = "\n".join(scripts)
    for number, part in enumerate(scripts, 1):
        if (found := _ADDED.fullmatch(part)) and not found[3].strip() and len(scripts) == 1 and passed[-2] == "-e":
            where = f"-e expression #{number}, char {len(part)}"
            return Result(stderr=f"sed: {where}: expected \\ after `a', `c' or `i'\n", status=1)
        if re.fullmatch(r"[\d$,]*[rw]\s*", part) and len(scripts) == 1 and passed[-2] == "-e":
            where = f"-e expression #{number}, char {len(part)}"
            return Result(stderr=f"sed: {where}: missing filename in r/R/w/W commands\n", status=1)
    stopped = _directory(call, operands, script, in_place=in_place)
    if stopped is not None:
        operands = operands[: operands.index(stopped)]
        if not operands:
            return Result(stderr=f"sed: read error on {stopped}: Is a directory\n", status=4)
    _refuse(call, script, extended=extended)
    _inputs(call, operands, script, files)
    piped = stdin(call) if not operands or "-" in operands else None
    if re.search(r"(?:^|[;{}\n/0-9$ ])l\b", script) and not all(
        data.isascii() for data in (*files.values(), piped or b"")
    ):
        call.unknown("where a long line breaks")
    if re.fullmatch(r"\$\s*a\\", script) and not ({"-n", "-z"} & set(passed)):
        return _ended(call, operands, files, piped, in_place=in_place)
    argv = ["sed", *passed, "--", *operands]
    answer = run_native(argv, stdin=piped, files=files, cwd=call.cwd)
    result = _settled(call, answer, in_place=in_place)
    if stopped is not None:
        message = f"sed: read error on {stopped}: Is a directory\n"
        return Result(result.stdout, result.stderr + message, 4)
    return result


_ADDED = re.compile(r"(\s*(?:[\d$~,+!\s]|/(?:[^/\\\n]|\\.)*/I?)*)([aic])([^\n]*)")
"""One command that adds text and nothing else."""


def _texts(script: str) -> str:
    """Write escapes in a text that is added on one line as what they stand for."""
    found = _ADDED.fullmatch(script)
    if found is None:
        return script
    start = found.start(3) + len(found[3]) - len(found[3].lstrip())
    if script[start : start + 1] == "\\":
        start += 1
    named = {"t": "\t", "n": "\\\n"}
    return script[:start] + re.sub(r"\\(.)", lambda item: named.get(item[1], item[0]), script[start:])


def _directory(call: Call, operands: list[str], script: str, *, in_place: bool) -> str | None:
    """The first operand that is a directory, at which the program stops."""
    for index, name in enumerate(operands):
        if name != "-" and call.files.exists(name) and call.files.stat(name).kind == "directory":
            if in_place or (index and re.search(r"[$qQ]", script)):
                call.unknown("a directory as input")
            return name
    return None


def _refuse(call: Call, script: str, *, extended: bool) -> None:
    """Give up on scripts that the library runs otherwise than GNU sed."""
    if re.search(r"(?:^|[;{}\n/0-9$ ])e(?:\s|$)|/[gpIiMm0-9]*e[gpIiMm0-9]*(?:$|[;}\n])", script):
        call.unknown("running commands from a script")
    if re.search(r"\\x[89a-fA-F][0-9a-fA-F]|\\o[2-3]|\\d[12]\d\d", script):
        call.unknown("bytes by number")
    if re.search(r"[*]\*|\[[.=]", script) or (extended and re.search(r"[*+?}][+?*]|\(\?|[(|/,#][*+?]", script)):
        call.unknown("this regular expression")
    if re.search(r"\\[wWsSbB<>'`].*[^\x00-\x7f]", script):
        call.unknown("classes of characters beyond ASCII")


_FILE_COMMAND = re.compile(r"(?:^|[;{}\n/0-9$!])\s*[rRwW]\s+([^\n;}]+)|/[gpI0-9]*w\s+([^\n;}]+)")


def _inputs(call: Call, operands: list[str], script: str, files: dict[str, bytes]) -> None:
    """Read the operands, and what the script reads or may append to."""
    for name in operands:
        if name == "-":
            continue
        try:
            if call.files.stat(name).kind == "directory":
                call.unknown("a directory as input")
            files[call.files.absolute(name)] = read(call, name)
        except FileNotFoundError:
            continue
        except OSError:
            call.unknown("a file that cannot be read")
    for found in _FILE_COMMAND.finditer(script):
        name = (found[1] or found[2]).strip()
        if name.startswith("/dev/"):
            if name not in ("/dev/stdout", "/dev/stderr"):
                call.unknown(f"reading {name}")
            continue
        if call.files.exists(name) and call.files.stat(name).kind == "file":
            files[call.files.absolute(name)] = read(call, name)
        elif "/" in name:
            call.unknown(f"the file {name}")


def _ended(call: Call, operands: list[str], files: dict[str, bytes], piped: bytes | None, *, in_place: bool) -> Result:
    """Do what the script `$a` with an empty text does: give the last line its newline."""
    parts = []
    for name in operands or ["-"]:
        data = piped if name == "-" else files.get(call.files.absolute(name))
        if data is None:
            call.unknown("a missing file")
        parts.append(data if data.endswith(b"\n") or not data else data + b"\n")
        if in_place and name != "-" and parts[-1] != data:
            call.files.write(name, parts[-1])
    return Result("" if in_place else escape(b"".join(parts)))


def _settled(call: Call, answer: Answer, *, in_place: bool) -> Result:
    if answer.error is not None:
        call.unknown(answer.error)
    stderr = _messages(call, answer.stderr)
    for path, data in answer.written.items():
        if in_place and call.files.exists(path):
            stat = call.files.stat(path)
            call.files.write(path, data)
            call.files.chmod(path, stat.mode)
        else:
            call.files.write(path, data)
    return Result(escape(answer.stdout), stderr, answer.status)


def _messages(call: Call, stderr: str) -> str:
    lines = []
    for line in stderr.splitlines():
        line = re.sub(
            r"char (\d+): unknown option to `s': `.'$",
            lambda found: f"char {int(found[1]) + 1}: unknown option to `s'", line,
        )  # fmt: skip
        line = re.sub(r"char (\d+): unexpected `,'$", lambda found: f"char {int(found[1]) + 1}: unexpected `,'", line)
        for pattern, words in _REGEX_ERRORS:
            line = re.sub(pattern, words, line)
        if not _KNOWN.fullmatch(line) and "unknown option to `s'" not in line:
            call.unknown(f"the wording of {line!r}")
        lines.append(line + "\n")
    return "".join(lines)


COMMANDS: dict[str, Builtin] = {"sed": sed}
