"""Commands that touch the kernel itself: sleep, umask, test, and those that only an interactive shell has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from worldline.kernels.shell.builtins.base import Call, FileStat, Result
from worldline.kernels.shell.builtins.shared.paths import canonical
from worldline.kernels.shell.programs import presence, program_path

if TYPE_CHECKING:
    from worldline.kernels.shell.step import Step

__all__ = ["CORE", "MARKING", "Core"]

Core = Callable[["Step", Call], Result]

MARKING = "WORLDLINE_MARKS_SLEEPS"
"""A variable in whose presence `sleep` writes how long it sleeps, so that its place in an output can be seen."""

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TRY = "Try 'sleep --help' for more information.\n"


def _sleep(step: Step, call: Call) -> Result:
    """`sleep`: advances the virtual clock and costs nothing."""
    words = call.argv[1:] if call.argv[:1] == ["--"] else call.argv
    if not words:
        return Result("", f"sleep: missing operand\n{_TRY}", 1)
    if words[0] in ("--help", "--version"):
        call.unknown("help texts are not simulated")
    if words[0].startswith("-") and len(words[0]) > 1:
        return Result("", f"sleep: invalid option -- '{words[0][1]}'\n{_TRY}", 1)
    total, bad = 0.0, []
    for word in words:
        match = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", word)
        if match is None:
            if word in ("inf", "infinity"):
                call.unknown("sleeps for ever")
            bad.append(f"sleep: invalid time interval ‘{word}’\n")
        else:
            total += float(match[1]) * _UNITS[match[2]]
    if bad:
        return Result("", "".join(bad) + _TRY, 1)
    step.slept += total
    return Result(f"@@worldline-sleeps-{total:g}@@" if MARKING in call.env else "")


def _umask(step: Step, call: Call) -> Result:
    """`umask`: octal and symbolic."""
    words = call.argv
    symbolic = "-S" in words
    words = [word for word in words if word not in ("-S", "-p", "--")]
    if not words:
        if "-p" in call.argv:
            return Result(f"umask{' -S ' + _symbolic(step.umask) if symbolic else f' {step.umask:04o}'}\n")
        if symbolic:
            return Result(_symbolic(step.umask) + "\n")
        return Result(f"{step.umask:04o}\n")
    if re.fullmatch(r"[0-7]{1,4}", words[0]):
        step.umask = int(words[0], 8) & 0o777
    elif re.fullmatch(r"\d+", words[0]):
        return Result("", f"bash: line 1: umask: {words[0]}: octal number out of range\n", 1)
    else:
        fault = _symbolic_fault(words[0])
        if fault is not None:
            return Result("", f"bash: line {step.place(call.name)}: umask: {fault}\n", 1)
        step.umask = _symbolic_mask(step.umask, words[0], call)
    return Result(_symbolic(step.umask) + "\n" if symbolic else "")


def _symbolic(mask: int) -> str:
    parts = []
    for who, shift in (("u", 6), ("g", 3), ("o", 0)):
        bits = ~(mask >> shift) & 7
        parts.append(f"{who}=" + "".join(letter for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if bits & bit))
    return ",".join(parts)


def _symbolic_fault(text: str) -> str | None:
    """What is wrong with a symbolic mask, in the words of bash."""
    for clause in text.split(","):
        match = re.match(r"[ugoa]*([-+=][rwx]*)?", clause)
        rest = clause[match.end() :] if match is not None else clause
        if match is not None and match[1] is None:
            return f"`{rest[:1]}': invalid symbolic mode operator" if rest else None
        if rest and rest[0] not in "-+=Xst":
            return f"`{rest[0]}': invalid symbolic mode character"
    return None


def _symbolic_mask(mask: int, text: str, call: Call) -> int:
    for clause in text.split(","):
        match = re.fullmatch(r"([ugoa]*)([-+=])([rwx]*)", clause)
        if match is None:
            call.unknown(f"umask {text}")
        bits = sum({"r": 4, "w": 2, "x": 1}[letter] for letter in set(match[3]))
        for who, shift in (("u", 6), ("g", 3), ("o", 0)):
            if match[1] and who not in match[1] and "a" not in match[1]:
                continue
            allowed = ~(mask >> shift) & 7
            allowed = {"-": allowed & ~bits, "+": allowed | bits, "=": bits}[match[2]]
            mask = mask & ~(7 << shift) | (~allowed & 7) << shift
    return mask


# --- test


class _Usage(Exception):
    """`test` was called wrongly; the message is what it says after its name."""


def _test(step: Step, call: Call) -> Result:
    """`test` and `[`, as bash's own: status 2 and a message for wrong use."""
    words = list(call.argv)
    where = _script_places(step, call)
    place = f"{where[0]}: {call.name}: " if where else f"bash: line {step.place(call.name)}: {call.name}: "
    if call.name == "[" and (not words or words.pop() != "]"):
        return Result("", f"{place}missing `]'\n", 2)
    try:
        return Result(status=0 if _evaluate(words, call) else 1)
    except _Usage as error:
        if len(where) != 1 and _RUNS_SCRIPT.search(step.text):
            call.unknown("the line of a script it is on", Result("", f"{place}{error}\n", 2))
        return Result("", f"{place}{error}\n", 2)


_RUNS_SCRIPT = re.compile(r"(?<![\w-])(?:ba)?sh\s|(?:^|[\s;&|])\.{0,2}/|(?:^|[;&|]\s*)(?:source|\.)\s")
_SCRIPT = re.compile(
    r"(?:^|[;&|(\n]\s*)(?:\w+=\S*\s+)*(?:(?:bash|source|\.)\s+(?=[\w./])|(?=\.{0,2}/))([\w./-]+)", re.MULTILINE
)


def _script_places(step: Step, call: Call) -> list[str]:
    """Where a wrong `test` may stand in the scripts that the command runs: each as `SCRIPT: line N`."""
    if not _RUNS_SCRIPT.search(step.text):
        return []
    found = []
    operators = [word for word in call.argv if re.fullmatch(r"-[a-z]{1,2}|!?=|==|[<>]", word)]
    word = r"\[" if call.name == "[" else "test"
    for path in dict.fromkeys(_SCRIPT.findall(step.text)):
        try:
            text = call.files.read(path).decode("utf-8", "replace")
        except OSError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(rf"(?<![\w\[]){word}(?=\s)", line) and all(operator in line for operator in operators):
                found.append(f"{path}: line {number}")
    own = any(re.search(rf"(?<![\w\[-]){word}\s", line) for line in step.text.split("\n"))
    return [] if own else found


def _evaluate(words: list[str], call: Call) -> bool:
    """POSIX rules by the number of words; `-a`, `-o` and parentheses beyond them."""
    count = len(words)
    if count == 0:
        return False
    if count == 1:
        return words[0] != ""
    if count == 2:
        if words[0] == "!":
            return words[1] == ""
        if re.fullmatch(r"-[a-zA-Z]", words[0]):
            return _unary(words[0], words[1], call)
        raise _Usage(f"{words[0]}: unary operator expected")
    if count == 3:
        if words[1] in _BINARY:
            return _binary(words[0], words[1], words[2], call)
        if words[1] == "-a":
            return words[0] != "" and words[2] != ""
        if words[1] == "-o":
            return words[0] != "" or words[2] != ""
        if words[0] == "!":
            return not _evaluate(words[1:], call)
        if words[0] == "(" and words[2] == ")":
            return words[1] != ""
        raise _Usage(f"{words[1]}: binary operator expected")
    if count == 4 and words[0] == "!":
        return not _evaluate(words[1:], call)
    value, rest = _either(words, call)
    if rest:
        raise _Usage("too many arguments")
    return value


def _either(words: list[str], call: Call) -> tuple[bool, list[str]]:
    value, rest = _both(words, call)
    while rest and rest[0] == "-o":
        other, rest = _both(rest[1:], call)
        value = value or other
    return value, rest


def _both(words: list[str], call: Call) -> tuple[bool, list[str]]:
    value, rest = _term(words, call)
    while rest and rest[0] == "-a":
        other, rest = _term(rest[1:], call)
        value = value and other
    return value, rest


def _term(words: list[str], call: Call) -> tuple[bool, list[str]]:
    if not words:
        raise _Usage("argument expected")
    if words[0] == "!":
        value, rest = _term(words[1:], call)
        return not value, rest
    if words[0] == "(":
        value, rest = _either(words[1:], call)
        if rest[:1] != [")"]:
            raise _Usage("`)' expected")
        return value, rest[1:]
    if len(words) >= 3 and words[1] in _BINARY:
        return _binary(words[0], words[1], words[2], call), words[3:]
    if len(words) >= 2 and re.fullmatch(r"-[a-zA-Z]", words[0]):
        return _unary(words[0], words[1], call), words[2:]
    if len(words) >= 2 and words[1] not in ("-a", "-o", ")"):
        raise _Usage("too many arguments")
    return words[0] != "", words[1:]


_BINARY = frozenset(("=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"))
_KINDS = {"-f": "file", "-d": "directory", "-p": "fifo"}


def _unary(operator: str, word: str, call: Call) -> bool:
    if operator == "-z":
        return word == ""
    if operator == "-n":
        return word != ""
    if operator in ("-t", "-S", "-b", "-c") and not word.startswith("/dev"):
        return False
    if operator in ("-L", "-h"):
        found = _stat(word, call, follow=False)
        return found is not None and found.kind == "symlink"
    if operator in ("-e", "-a"):
        return call.files.exists(word)
    if operator in _KINDS:
        found = _stat(word, call)
        return found is not None and found.kind == _KINDS[operator]
    if operator == "-s":
        found = _stat(word, call)
        return found is not None and found.size > 0
    if operator in ("-r", "-w", "-x"):
        return _may(word, {"-r": 4, "-w": 2, "-x": 1}[operator], call)
    if operator in ("-O", "-G"):
        found = _stat(word, call)
        return found is not None and (found.uid if operator == "-O" else found.gid) == call.world.user_id
    if operator in ("-u", "-g", "-k"):
        found = _stat(word, call)
        return found is not None and bool(found.mode & {"-u": 0o4000, "-g": 0o2000, "-k": 0o1000}[operator])
    if operator in ("-v", "-o", "-R", "-N", "-t", "-S", "-b", "-c"):
        call.unknown(f"test {operator}")
    raise _Usage(f"{operator}: unary operator expected")


def _stat(word: str, call: Call, *, follow: bool = True) -> FileStat | None:
    try:
        return call.files.stat(word, follow=follow)
    except OSError:
        return None


def _may(word: str, want: int, call: Call) -> bool:
    try:
        return call.files.allowed(word, want)
    except OSError:
        return False


def _binary(left: str, operator: str, right: str, call: Call) -> bool:
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    if operator in ("<", ">"):
        return left < right if operator == "<" else left > right
    if operator in ("-nt", "-ot", "-ef"):
        return _compare_files(left, operator, right, call)
    first, second = _number(left), _number(right)
    return {
        "-eq": first == second, "-ne": first != second, "-lt": first < second,
        "-le": first <= second, "-gt": first > second, "-ge": first >= second,
    }[operator]  # fmt: skip


def _number(word: str) -> int:
    if not re.fullmatch(r"[-+]?\d+", word.strip()):
        raise _Usage(f"{word}: integer expression expected")
    return int(word)


def _compare_files(left: str, operator: str, right: str, call: Call) -> bool:
    first, second = _stat(left, call), _stat(right, call)
    if operator == "-ef":
        if first is None or second is None:
            return False
        return canonical(call, left) == canonical(call, right) or bool(first.inode and first.inode == second.inode)
    if operator == "-ot":
        first, second = second, first
    if first is None or second is None:
        return first is not None
    if first.mtime == second.mtime and first.mtime == call.now:
        # Written in the same moment of the virtual clock; which came first is only known to the real one.
        call.unknown("the order of two files of the same time")
    return first.mtime > second.mtime


def _no_job_control(step: Step, call: Call) -> Result:
    if step.state.shell.mode == "interactive":
        call.unknown("job control")
    return Result("", f"bash: line {step.place(call.name)}: {call.name}: no job control\n", 1)


def _which(step: Step, call: Call) -> Result:
    """`which` of debianutils: looks in PATH for programs of the packages and of the user."""
    every = call.argv[:1] == ["-a"]
    names = call.argv[1:] if every else call.argv
    lines, missing = [], not names
    for name in names:
        found = _places(name, step, call)
        missing = missing or not found
        lines.extend(found if every else found[:1])
    return Result("".join(f"{line}\n" for line in lines), status=int(missing))


def _places(name: str, step: Step, call: Call) -> list[str]:
    if "/" in name:
        return [name] if call.files.exists(name) and _may(name, 1, call) else []
    found = []
    for folder in call.env.get("PATH", "").split(":"):
        if folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/games", "/usr/local/bin", "/usr/local/games", ""):
            continue
        path = f"{folder}/{name}"
        if call.files.exists(path) and _may(path, 1, call):
            found.append(path)
    there = presence(step.state, name)
    if there == "unknown":
        call.unknown(f"whether {name} is installed", Result(status=1))
    system = program_path(step.state, name)
    if system is not None:
        found.append(system)
        if system.startswith("/usr/bin/"):
            found.append(system[4:])
    return found


def _suspend(step: Step, call: Call) -> Result:
    return Result("", f"bash: line {step.place(call.name)}: suspend: cannot suspend: no job control\n", 1)


def _logout(step: Step, call: Call) -> Result:
    return Result("", f"bash: line {step.place(call.name)}: logout: not login shell: use `exit'\n", 1)


def _history(step: Step, call: Call) -> Result:
    if call.argv or step.state.shell.mode == "interactive":
        call.unknown("history")
    return Result()


CORE: dict[str, Core] = {
    "[": _test,
    "bg": _no_job_control,
    "fg": _no_job_control,
    "history": _history,
    "logout": _logout,
    "sleep": _sleep,
    "suspend": _suspend,
    "test": _test,
    "umask": _umask,
    "which": _which,
}
"""By name; they get the running step beside the call."""
