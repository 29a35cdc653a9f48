"""`jq` 1.6: the shell library's jq, with the input checks, numbers and messages of that version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.data.json_text import JsonProblem, canonical, scan
from worldline.kernels.shell.builtins.shared.native import run_native
from worldline.kernels.shell.builtins.shared.textio import read, stdin

__all__ = ["COMMANDS"]

_FLAGS = {
    "n": "--null-input", "r": "--raw-output", "j": "--join-output", "a": "--ascii-output", "s": "--slurp",
    "c": "--compact-output", "e": "--exit-status", "S": "--sort-keys", "R": "--raw-input", "M": "--monochrome-output",
}  # fmt: skip
_CHANGED = frozenset(
    ["abs", "toarray", "pick", "trim", "ltrim", "rtrim", "have_literal_numbers", "have_decnum", "trimstr", "now",
     "localtime", "strflocaltime", "get_search_list", "modulemeta", "import", "include", "input_line_number", "halt",
     "halt_error", "skip", "debug", "significand", "gamma"]
)  # fmt: skip
"""Names that came after 1.6, or mean something else since, or rest on the machine."""
_DEFINED = {
    "INDEX": "def INDEX(f): reduce .[] as $r ({}; .[$r|f|tostring] |= $r); "
    "def INDEX(s; f): reduce s as $r ({}; .[$r|f|tostring] |= $r); ",
    "IN": "def IN(s): any(s == .; .); def IN(src; s): any(src == s; .); ",
}
_HELP = (
    "Use jq --help for help with command-line options,\n"
    "or see the jq manpage, or online docs  at https://stedolan.github.io/jq\n"
)


@dataclass
class _Job:
    flags: set[str] = field(default_factory=set)
    passed: list[str] = field(default_factory=list)
    """Options as the library understands them."""
    program: str | None = None
    file: str | None = None
    names: list[str] = field(default_factory=list)
    wrong: str | None = None
    fault: str | None = None
    bindings: str = ""
    """Definitions of variables that go before the program."""


def jq(call: Call) -> Result:
    """Filter JSON."""
    job = _arguments(call)
    if job.fault is not None:
        if job.fault.startswith("Bad JSON in"):
            return Result(stderr=f"jq: {job.fault}\n", status=2)
        return Result(stderr=f"jq: {job.fault}\n{_HELP}", status=2)
    if job.wrong is not None:
        if re.match(r"-[^-\w]", job.wrong):
            call.unknown("an option that may be a program")
        return Result(stderr=f"jq: Unknown option {job.wrong}\n{_HELP}", status=2)
    if "version" in job.flags:
        return Result("jq-1.6\n")
    if job.file is not None:
        if job.program is not None:
            job.names.insert(0, job.program)
        job.program = read(call, job.file).decode()
    if job.program is None:
        call.unknown("the help text")
    program = _program(call, job.program)
    files: dict[str, bytes] = {}
    problem: JsonProblem | None = None
    for name in job.names:
        if problem is None and call.files.exists(name) and call.files.stat(name).kind == "file":
            try:
                text = read(call, name)
            except OSError:
                call.unknown("a file that cannot be read")
            files[call.files.absolute(name)], problem = _checked(call, job, text)
        elif call.files.exists(name):
            call.unknown("a directory, or more files after a bad one")
    piped = None
    if not job.names:
        if call.stdin is None and "n" not in job.flags:
            call.unknown("a terminal or nothing as input")
        piped, problem = _checked(call, job, stdin(call))
    if problem is not None and "n" in job.flags:
        call.unknown("bad input that may not be read")
    if problem is not None and "s" in job.flags:
        return Result("", f"parse error: {problem}\n", 4)
    argv = ["jq", *job.passed, program, *job.names]
    answer = run_native(argv, stdin=piped, files=files, cwd=call.cwd, env=_environment(call, job.program))
    if answer.error is not None:
        call.unknown(answer.error)
    stderr = _messages(call, job, program, answer.stderr)
    if answer.stdout and re.search(r"\(while parsing '\d+(?:\.\d+){2,}", stderr):
        call.unknown("numbers with two points")
    output = answer.stdout.decode()
    if not {"r", "j"} & job.flags:
        output = canonical(output)
    if problem is not None:
        return Result(output, f"{stderr}parse error: {problem}\n", 4)
    return Result(output, stderr, answer.status)


def _environment(call: Call, program: str | None) -> dict[str, str]:
    if re.search(r"\benv\b|\$ENV\b", program or ""):
        if re.search(r"\benv\s*(?:$|\|)|\$ENV\s*(?:$|\|)", program or ""):
            call.unknown("the whole environment")
        return dict(call.env)
    return {}


def _arguments(call: Call) -> _Job:
    job = _Job()
    words = list(call.argv)
    rest_are = ""
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            if job.program is None and job.file is None:
                job.program = word
            else:
                job.names.append(word)
            continue
        if word.startswith("--"):
            rest_are = _long(call, job, word, words) or rest_are
        else:
            _short(call, job, word, words)
    if rest_are:
        call.unknown("positional arguments")
    return job


def _short(call: Call, job: _Job, word: str, words: list[str]) -> None:
    for letter in word[1:]:
        if letter in _FLAGS:
            job.flags.add(letter)
            job.passed.append(f"-{letter}")
        elif letter == "f":
            if not words and job.program is None:
                call.unknown("-f without a file")
            # The program's place among the operands holds the file's name.
            if job.program is not None:
                job.file, job.program = job.program, None
            else:
                job.file = words.pop(0)
        elif letter == "V":
            job.flags.add("version")
        elif letter == "h":
            call.unknown("the help text")
        elif letter == "C":
            call.unknown("colours")
        else:
            job.wrong = word


def _long(call: Call, job: _Job, word: str, words: list[str]) -> str:
    short = next((letter for letter, long in _FLAGS.items() if long == word), None)
    if short is not None:
        job.flags.add(short)
        job.passed.append(f"-{short}")
    elif word == "--tab":
        job.passed.append(word)
    elif word == "--indent" and words:
        width = words.pop(0)
        if width == "0":
            job.passed.append("-c")
        elif width in ("1", "2", "3", "4", "5", "6", "7"):
            job.passed += [word, width]
        elif width.isdigit():
            job.fault = job.fault or "--indent takes a number between -1 and 7"
        else:
            call.unknown("this indent")
    elif word in ("--arg", "--argjson"):
        if len(words) < 2:
            kind = "value" if word == "--arg" else "text"
            job.fault = job.fault or f"{word} takes two parameters (e.g. {word} varname {kind})"
            if word == "--argjson":
                call.unknown("--argjson without its arguments")
            words.clear()
            return ""
        _binding(call, job, word, words)
    elif word in ("--slurpfile", "--rawfile") and len(words) >= 2:
        name, path = words.pop(0), words.pop(0)
        _file_binding(call, job, word, name, path)
    elif word == "--version":
        job.flags.add("version")
    elif word == "--from-file":
        _short(call, job, "-f", words)
    elif word in ("--args", "--jsonargs"):
        return word
    elif word in ("--argfile", "--stream", "--seq", "--help", "--color-output",
                  "--unbuffered", "--ascii", "--nul-output"):  # fmt: skip
        call.unknown(f"the option {word}")
    else:
        job.wrong = job.wrong or word
    return ""


def _binding(call: Call, job: _Job, word: str, words: list[str]) -> None:
    name, value = words.pop(0), words.pop(0)
    if word == "--argjson":
        try:
            if scan(value) != 1:
                call.unknown("--argjson with other than one value")
        except JsonProblem:
            job.fault = job.fault or "invalid JSON text passed to --argjson"
            return
        value = canonical(value)
    job.passed += [word, name, value]


def _file_binding(call: Call, job: _Job, word: str, name: str, path: str) -> None:
    """Give what a file holds to a variable."""
    try:
        text = read(call, path).decode()
    except FileNotFoundError:
        reason = f"Could not open {path}: No such file or directory"
        job.fault = job.fault or f"Bad JSON in {word} {name} {path}: {reason}"
        return
    except (OSError, UnicodeDecodeError):
        call.unknown(f"{word} of such a file")
    try:
        count = scan(text) if word == "--slurpfile" else 0
    except JsonProblem:
        call.unknown(f"{word} of such a file")
    if word == "--rawfile":
        job.passed += ["--arg", name, text]
        return
    if count == 1:
        value = f"[{canonical(text)}]"
    else:
        answer = run_native(["jq", "-cs", "."], stdin=canonical(text).encode(), files={}, cwd=call.cwd)
        if answer.status or answer.error:
            call.unknown(f"{word} of such a file")
        value = answer.stdout.decode()
    job.passed += ["--argjson", name, value.strip()]


def _checked(call: Call, job: _Job, data: bytes) -> tuple[bytes, JsonProblem | None]:
    """Bring input into the form the library reads as jq 1.6 would; bad input is cut off where it starts."""
    if "R" in job.flags:
        return data, None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        call.unknown("input that is not UTF-8")
    if re.search(r"(?i)\bnan\b", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)):
        call.unknown("a number that is none")
    try:
        scan(text)
    except JsonProblem as problem:
        if "s" in job.flags:
            return b"", problem
        return canonical(text[: problem.end]).encode(), problem
    return canonical(text).encode(), None


def _program(call: Call, program: str) -> str:
    plain = re.sub(r'"(?:[^"\\]|\\[^(])*"', '""', program)
    words = set(re.findall(r"(?<![.$@\w])[a-z_][a-z0-9_]*", plain))
    if re.search(r"\.\[|\w\.\[", re.sub(r"(?:^|[^\w\])}?\"])\.\[", "", plain)):
        call.unknown("a dot before a bracket")
    if words & _CHANGED:
        call.unknown(f"what jq 1.6 does with {min(words & _CHANGED)}")
    if plain.count("if") and len(re.findall(r"\bif\b", plain)) != len(re.findall(r"\belse\b", plain)):
        call.unknown("an if without else")
    if re.search(
        r"\bdel\([^)]*,|@(?!(?:text|json|html|uri|csv|tsv|sh|base64d?|base32)\b)\w"
        r"|limit\(0|\$__prog|\bltrimstr\(\d|@base32d|\?//|\bgetpath\b.*\binput|reduce.*\blimit",
        plain,
    ):
        call.unknown("what jq 1.6 does with this program")
    prefix = "".join(text for name, text in _DEFINED.items() if re.search(rf"\b{name}\(", plain))
    return prefix + canonical(program)


_RUNTIME = re.compile(
    r"jq: error \(at [^)]*\): (?:Cannot (?:index|iterate over|check whether) [^\n]*"
    r"|break|Cannot use [^\n]* as object key"
    r"|\w+ \([^\n]*\) (?:has no (?:keys|length)|is not valid in a csv row|cannot be \w+ formatted[^\n]*)"
    r"|split input and separator must be strings|[^\n]* \(while parsing '[^\n]*'\)"
    r"|[^\n]* cannot be (?:added|subtracted|multiplied"
    r"|divided|parsed as a number)[^\n]*|[^\n]*cannot be divided because the divisor is zero)"
)


def _messages(call: Call, job: _Job, program: str, stderr: str) -> str:
    """Word errors as jq 1.6 does, or give up on those whose wording is not known."""
    if not stderr:
        return ""
    undefined = re.fullmatch(r"jq: error: (\S+?)/(\d+) is not defined\n", stderr)
    if undefined is not None:
        source = job.program or ""
        places = [found.start() for found in re.finditer(rf"(?<![.$@\w]){re.escape(undefined[1])}(?!\w)", source)]
        if len(places) != 1 or "\n" in source:
            call.unknown("where an error is shown")
        return (
            f"jq: error: {undefined[1]}/{undefined[2]} is not defined at <top-level>, line 1:\n"
            f"{source}{' ' * places[0]}\njq: 1 compile error\n"
        )
    unclosed = re.fullmatch(r"jq: error: expected closing (?:parenthesis|bracket|brace)\n", stderr)
    if unclosed is not None:
        return _unclosed(call, job.program or "")
    source = job.program or ""
    if re.search(r"(?<![\w.)])\d+\s*/\s*0(?![\w.])", source) and "divisor is zero" in stderr:
        call.unknown("a division that is found out when the program is read")
    if "No more inputs" in stderr and "<unknown>" in stderr:
        call.unknown("where the input ended")
    stderr = _reworded(stderr)
    if re.search(r"(?m)^jq: error: @", stderr) or re.search(r"\berror\(null\)", program):
        call.unknown("what jq 1.6 says here")
    if re.search(r"\b(?:keys|keys_unsorted|to_entries|with_entries)\b", program):
        stderr = re.sub(
            r"(jq: error \(at [^)]*\): )Cannot iterate over (\w+ \([^\n]*\))\n", r"\1\2 has no keys\n", stderr
        )
    if re.search(r"\bhas\(", program):
        stderr = re.sub(
            r"Cannot index (\w+) with (\w+)(?: \"[^\"\n]*\")?\n", r"Cannot check whether \1 has a \2 key\n", stderr
        )
    stderr = re.sub(r'cannot parse "([^"\\]*)" as JSON: [^\n]*', _parsing, stderr)
    for line in stderr.splitlines():
        known = line.startswith("jq: error: Could not open ") or (line.startswith("jq: error (at") and (
            _RUNTIME.fullmatch(line) or re.search(r"\berror\b", program)
        ))  # fmt: skip
        if not known:
            call.unknown(f"the wording of {line!r}")
    return stderr


def _reworded(stderr: str) -> str:
    """Change messages into those of jq 1.6."""
    stderr = re.sub(r": No more inputs\n", ": break\n", stderr)
    return re.sub(r": (true|false) has no length\n", r": boolean (\1) has no length\n", stderr)


def _parsing(found: re.Match[str]) -> str:
    """What `tonumber` and `fromjson` say about a text."""
    try:
        scan(found[1])
    except JsonProblem as problem:
        return f"{problem} (while parsing '{found[1]}')"
    return found[0]


_LAST = re.compile(r"\$(?P<variable>\w+)$|(?P<field>\.\w+)$|(?P<open>[\[({])$|(?P<name>\w+)$|(?P<string>\")$")


def _unclosed(call: Call, program: str) -> str:
    """The error for a program that stops early, which points at its last token."""
    last = _LAST.search(program)
    if last is None or "\n" in program or program.endswith(" "):
        call.unknown("where an error is shown")
    kind = last.lastgroup
    opened = max(program.rfind("("), program.rfind("{"), program.rfind("["))
    inside = program[opened : opened + 1]
    expecting = ""
    if kind in ("field", "string") and inside == "(" and re.search(r"\w\($", program[: opened + 1]):
        expecting = ", expecting ';' or ')'"
    elif kind == "name" and inside == "{":
        expecting = ", expecting '}'"
    elif kind not in ("variable", "open"):
        call.unknown("where an error is shown")
    text = f"jq: error: syntax error, unexpected $end{expecting} (Unix shell quoting issues?) at <top-level>, line 1:\n"
    return f"{text}{program}{' ' * last.start(kind or 0)}\njq: 1 compile error\n"


COMMANDS: dict[str, Builtin] = {"jq": jq}
