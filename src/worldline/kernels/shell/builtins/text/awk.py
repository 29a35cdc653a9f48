"""`awk`: the shell library's awk, which speaks like gawk, over files that we read and write."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.native import run_native
from worldline.kernels.shell.builtins.shared.textio import escape, read, stdin, unescape
from worldline.kernels.shell.builtins.text.awk_text import strings, warnings_of, with_commands

__all__ = ["COMMANDS"]

_SAFE_COMMANDS = frozenset(["sort", "uniq", "tr", "wc", "head", "tail", "cut", "cat", "echo", "printf", "rev", "nl"])
_UNSAFE = re.compile(
    r"\brand\s*\(|\bsrand\b|\bsystime\b|\bstrftime\s*\(\s*(?:\)|\"[^\"]*\"\s*\))|\bPROCINFO\b(?!\s*\[\s*\"sorted_in)"
    r"|\bmktime\b|@include|@load|@namespace|\bfflush\b|\bRT\b.*\bRT\b|\bSYMTAB\b|\|&|\bgetline\s*<\s*\"-\""
)
_GAWK_ONLY = re.compile(
    r"\bgensub\b|\bstrftime\b|\basorti?\b|\bPROCINFO\b|\bIGNORECASE\b|\bFPAT\b|\bFIELDWIDTHS\b|\bBEGINFILE\b|\bENDFILE\b"
    r"|\btolower\b|\btoupper\b|\bstrtonum\b|\band\(|\bor\(|\bxor\(|\blshift\(|\brshift\(|\bswitch\b|\bRT\b|\bpatsplit\b"
)
_ORDERED = re.compile(r"\bfor\s*\(\s*\w+\s+in\b")
_SPECIAL = re.compile(r"\\[yBw<>sSW`']|\{\d")


_LONG_LETTERS = {"field-separator": "-F", "assign": "-v", "file": "-f", "source": "-e"}
_LONG_OPTION = re.compile(r"--(field-separator|assign|file|source)=(.*)", re.DOTALL)


def awk(call: Call) -> Result:
    """Run an awk program."""
    words = list(call.argv)
    passed: list[str] = []
    sources: list[str] = []
    files: dict[str, bytes] = {}
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        word = _LONG_OPTION.sub(lambda found: _LONG_LETTERS[found[1]] + found[2], word)
        letter, value = word[1], word[2:]
        if letter not in "Fvfe" or word.startswith("--"):
            call.unknown(f"the option {word}")
        if not value:
            if not words:
                call.unknown("the usage text")
            value = words.pop(0)
        if letter == "F" and value == "t":
            call.unknown("-Ft")
        if letter == "f":
            if value in ("-", "/dev/stdin"):
                call.unknown("a program from standard input")
            try:
                text = read(call, value)
            except OSError as error:
                return Result(stderr=f"awk: fatal: cannot open source file `{value}' for reading: {strerror(error)}\n",
                              status=2)  # fmt: skip
            files[call.files.absolute(value)] = text
            sources.append(text.decode("utf-8", "replace"))
        elif letter == "e":
            sources.append(value)
        passed += [f"-{letter}", value]
    if not sources:
        if not words:
            call.unknown("the usage text")
        sources.append(words.pop(0))
        passed += ["--", sources[0]]
    else:
        passed.append("--")
    program = "\n".join(sources)
    warned = warnings_of(program, call.name) if len(sources) == 1 and passed[-1:] != ["--"] else None
    if warned is None and (warnings_of(program, call.name) != "" or not sources):
        call.unknown("a warning about the program")
    if re.search(r"\bBEGIN\b", program) and "nextfile" in program:
        call.unknown("a warning about the program")
    if warned and not _is_gawk(call):
        call.unknown("whether awk warns")
    if not re.search(r"\bENVIRON\b", program):
        original, program = program, with_commands(program, lambda text: _output(call, text), files)
        passed = [program if word == original else word for word in passed]
    if re.search(r"\blog\(\s*-|\bsqrt\(\s*-|\$\(\s*-", program):
        call.unknown("a warning about a number")
    doubt = _refuse(call, program)
    skipped: list[str] = []
    piped = _inputs(call, program, words, files, skipped)
    env = dict(call.env) if "ENVIRON" in program else {}
    # A directory is passed over, as an empty file is.
    words = ["/dev/null" if word in skipped else word for word in words]
    answer = run_native(["awk", *passed, *words], stdin=piped, files=files, cwd=call.cwd, env=env)
    if answer.error is not None:
        call.unknown(answer.error)
    stderr = answer.stderr
    if not ('"/dev/stderr"' in program and answer.status == 0):
        _check(call, stderr)
    stderr = (warned or "") + stderr + "".join(f"{call.name}: {_skipped(name)}\n" for name in skipped)
    for path, data in answer.written.items():
        call.files.write(path, data)
    result = Result(escape(answer.stdout), stderr, answer.status)
    if doubt is None and not _is_gawk(call) and (answer.stderr or not answer.stdout.isascii()):
        doubt = "how this version of awk answers"
    if doubt is not None:
        call.unknown(doubt, guess=result)
    return result


def _is_gawk(call: Call) -> bool:
    if call.name.endswith("mawk"):
        return False
    return call.name.endswith("gawk") or "gawk" in (call.world.packages or ())


def _commands(program: str) -> list[str]:
    """The commands that a program pipes to, reads from or runs."""
    found = []
    for start, end in strings(program):
        before, after = program[:start].rstrip(), program[end:].lstrip()
        piped = before.endswith("|") and not before.endswith("||")
        if piped or re.match(r"\|\s*getline", after):
            found.append(program[start + 1 : end - 1].strip())
    for run in re.finditer(r"\bsystem\s*\(([^)]*)\)", program):
        found.append(run[1].strip('"').strip())
    return found


def _refuse(call: Call, program: str) -> str | None:
    """Give up on what the library runs otherwise; a reason where the answer is only likely."""
    if _UNSAFE.search(program):
        call.unknown("chance, time or the system")
    for text in _commands(program):
        for part in re.split(r"[|;&]+", text):
            command = part.split()[:1]
            if not command or command[0] not in _SAFE_COMMANDS or re.search(r"[<>$`/]", part):
                call.unknown(f"running {text!r}")
    if re.search(
        r"\|\s*(?!getline\b)[a-z]\w*\b|\w+\s*\|\s*getline",
        re.sub(r'"(?:[^"\\]|\\.)*"', '""', program).replace("||", ""),
    ):
        call.unknown("running a command held in a variable")
    if not _is_gawk(call):
        if call.world.packages is None and _GAWK_ONLY.search(program) and not re.search(r"to(?:low|upp)er", program):
            call.unknown("whether awk is gawk")
        if _ORDERED.search(program):
            return "the order in which this version of awk goes through an array"
        if _SPECIAL.search(program) or re.search(r"\bgensub|\bstrftime|\basort|\blength\s*\(\s*\w+\s*\)", program):
            return "what this version of awk does with this program"
    return None


def _output(call: Call, text: str) -> bytes | None:
    """What a command writes that an awk program runs; None where it complains."""
    if call.runner is None:
        return None
    try:
        result = call.run(["sh", "-c", text])
    except Unknown:
        return None
    return None if result.stderr or result.status not in (0, 1) else unescape(result.stdout)


def _skipped(name: str) -> str:
    return f"warning: command line argument `{name}' is a directory: skipped"


def _inputs(call: Call, program: str, words: list[str], files: dict[str, bytes], skipped: list[str]) -> bytes | None:
    """Read operands, and files that the program names; returns what comes from standard input."""
    operands = [word for word in words if not re.match(r"[A-Za-z_]\w*=", word)]
    named = re.findall(r'"((?:[^"\\\n]|\\.)+)"', program)
    for name in [*operands, *named]:
        if name.startswith("/.worldline-command-"):
            continue
        if name == "-" or name.startswith("/dev/") or name in ("/inet", "/"):
            if name.startswith("/dev/") and name not in ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null"):
                call.unknown(f"reading {name}")
            continue
        path = call.files.absolute(name)
        try:
            if name in named and name not in operands:
                if "\\" in name or len(name) > 200 or not re.search(r"[.\w]", name) or not call.files.exists(name):
                    continue
                if call.files.stat(name).kind != "file":
                    continue
            elif call.files.stat(name).kind == "directory":
                if "FILE" in program or not _is_gawk(call):
                    call.unknown("a directory as input")
                skipped.append(name)
                continue
            files[path] = read(call, name)
        except FileNotFoundError:
            continue
        except OSError:
            call.unknown("a file that cannot be read")
    if re.search(r'>\s*"(?!/dev/std)[^"]*/', program) or re.search(r">>?\s*\(?\s*[$\w]+\s*\"[^;}\n]*/", program):
        call.unknown("writing in another directory")
    if call.stdin is None and not operands and not re.match(r"\s*BEGIN\s*\{[^{}]*\}\s*$", program):
        return b""
    return stdin(call)


_MESSAGES = re.compile(
    r"g?awk: warning: command line argument `.*': .*"
    r"|g?awk: (?:cmd\. line:\d+: )?(?:\(FILENAME=\S+ FNR=\d+\) )?(?:fatal: division by zero attempted.*"
    r"|fatal: cannot open file `.*' for reading: No such file or directory"
    r"|warning: cannot open file `.*' for reading: No such file or directory|fatal: function `\w+' not defined"
    r"|fatal: not enough arguments to satisfy format string)|\t.*"
    r"|g?awk: cmd\. line:\d+:\s.*"
)


_RAN_OUT = re.compile(r"\t`[^`]*'\n\t +\^ ran out for this one\n?")


def _check(call: Call, stderr: str) -> None:
    """Only messages whose wording is gawk's pass."""
    for line in _RAN_OUT.sub("", stderr).splitlines():
        if not _MESSAGES.fullmatch(line) or "attempt to access field" in line:
            call.unknown(f"the wording of {line!r}")


COMMANDS: dict[str, Builtin] = {"awk": awk, "gawk": awk, "mawk": awk}
