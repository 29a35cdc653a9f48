"""What a shell says about itself, in the words of bash and dash: syntax errors, prefixes, missing commands."""

from __future__ import annotations

import re
from collections.abc import Mapping

from worldline.domains.terminal.state import ShellSpec
from worldline.kernels.shell.script import Script, SyntaxFault

__all__ = ["ABSENT", "absent_message", "bare_messages", "reword", "syntax_message"]

ABSENT = "\x01absent:"
"""Marks a message about a missing command until its line is known."""

_HINT = re.compile(
    r"command not found\. (?:Did you mean: [^?\n]*\?"
    r"|(?:Package managers are|Compilers and build tools are|Container and service management is) not available"
    r" in the sandbox\.|Interactive editors are not available\. Use echo/printf/cat to write files\."
    r"|SSH requires the 'ssh' feature\. Enable with: features = \[\"ssh\"\]|[^\n]*)"
)
"""What the library adds for its users."""
_REPORT_TRACE = re.compile(
    r"^(?:\++ (?:__worldline_end .*|trap - EXIT|trap -p)|__worldline_end .*|trap - EXIT)\n", re.MULTILINE
)
_OPERAND = re.compile(r"^bash: line \d+: (?:let: |\(\(: )?(.*): syntax error: operand expected$", re.MULTILINE)
_EMPTY_REDIRECT = re.compile(r"^(\S+: line \d+: ): Is a directory\n\S+: line \d+: (\w+: [^\n]*)$", re.MULTILINE)
"""A redirection from `${NAME:?message}`: the library goes on with the empty word."""
_MISSING = re.compile(r"^(bash: line \d+: )(\S+): command not found$", re.MULTILINE)
_OPEN_CONDITION = re.compile(r"\s*\[\[\s+(?:-\w\s+\S+|\S+\s+(?:==?|!=|=~|-\w\w)\s+\S+)\s*")
"""A condition that lacks nothing but its end."""
_GETOPTS = re.compile(
    r"^(\S+): (?:line )?\d+: (?:getopts: )?(illegal option|option requires an argument) -- '(.)'$", re.MULTILINE
)
_EMPTY_NAME = re.compile(r"^(\S+: line \d+: ): Is a directory$", re.MULTILINE)
_NATIVE = re.compile(r"^(bash|environment): line (\d+): ", re.MULTILINE)
_NESTED = re.compile(r"(?<![\w/-])bash\s+(?:-\w*c|<)")
"""A shell of bash, inside the one that is asked."""
_SH_NATIVE = re.compile(r"^sh: line (\d+): (.*): command not found$", re.MULTILINE)


def absent_message(name: str) -> str:
    """Placeholder for `NAME: command not found`."""
    return f"{ABSENT}{name}\n"


def bare_messages(text: str) -> str:
    """Messages about missing commands as they stand in what another command reads."""
    if "command not found" in text:
        text = _HINT.sub("command not found", text)
    if ABSENT in text:
        text = re.sub(rf"{re.escape(ABSENT)}([^\n]*)", r"bash: line 1: \1: command not found", text)
    return text


def syntax_message(fault: SyntaxFault, text: str, shell: ShellSpec, first_line: int) -> tuple[str, int] | None:
    """Word a syntax error as the shell would.

    Args:
        fault: What the parser of the library says.
        text: The script.
        shell: Program and mode.
        first_line: Number of the script's first line, less one (script mode counts on).

    Returns:
        The message and the exit status, or None where it is not known.
    """
    if shell.program == "sh":
        return _dash_syntax(fault, text, first_line)
    lines = text.split("\n")
    line, message = fault.line, fault.message
    if message.startswith(
        ("syntax error: unterminated command substitution", "unexpected end of input in process substitution")
    ):
        line, message = len(lines) + 1, "unexpected EOF while looking for matching `)'"
    elif message.startswith("unexpected end of input in "):
        if len(lines) > 1 or not _OPEN_CONDITION.fullmatch(text):
            return None
        message = "unexpected EOF while looking for `]]'"
    elif message.startswith("syntax error: unterminated backtick") and len(lines) == 1:
        message = "unexpected EOF while looking for matching ``'"
    message = message.replace("unexpected token `))'", "unexpected token `)'")
    if "`\"'" in message and text.count("$(") > text.count(")"):
        return None  # which of the two bash misses first
    if "unexpected end of file" in message and "((" in text and text.count("(") > text.count(")"):
        return None
    token = _missing_word(fault, lines)
    if token is not None:
        message = f"syntax error near unexpected token `{token}'"
    if "unexpected end of file" in message or message.startswith("unexpected end of input"):
        line, message = len(lines) + 1, "syntax error: unexpected end of file"
    prefix = _prefix(shell, line + first_line)
    if message.startswith("syntax error near unexpected token"):
        source = lines[line - 1] if line <= len(lines) else ""
        if shell.mode == "interactive":
            return f"{prefix}{message}\n", 2
        return f"{prefix}{message}\n{prefix}`{source}'\n", 2
    if message.startswith(("unexpected EOF while looking for ", "syntax error: unexpected end of file")):
        return f"{prefix}{message}\n", 2
    if message.startswith("unexpected argument") and shell.persist and "\n" not in message:
        return f"{prefix}{message}\n", 2
    return None


def _missing_word(fault: SyntaxFault, lines: list[str]) -> str | None:
    """The token that stands where a word was expected; bash names it, the library does not."""
    if not fault.message.startswith(("expected ", "coproc: missing command")) or fault.line > len(lines):
        return None
    source = lines[fault.line - 1]
    if not fault.column:
        return "newline" if len(lines) == 1 and re.search(r"(?:^|[\s;&|])(?:for|select)\s*$", source) else None
    rest = source[fault.column - 1 :].strip()
    operator = re.match(r";;|&&|\|\||\|&|[;&|()]", rest)
    if operator is not None:
        return operator[0]
    again = re.match(r"([<>]+)\s*[^\s<>&|]", rest)
    if again is not None and re.search(r"[<>]\s*$", source[: fault.column - 1]):
        return again[1]
    if fault.message.startswith("expected delimiter") and source.rstrip().endswith("<<"):
        return "newline"
    return "newline" if re.fullmatch(r"(?:\d*(?:<<<|<>|>>|>\||[<>]&?|&>>?))?|case|coproc|function", rest) else None


def _prefix(shell: ShellSpec, line: int) -> str:
    if shell.mode == "interactive":
        return "bash: "
    return f"bash: -c: line {line}: " if shell.mode == "command" else f"bash: line {line}: "


def _dash_syntax(fault: SyntaxFault, text: str, first_line: int) -> tuple[str, int] | None:
    lines = text.split("\n")
    token = re.match(r"syntax error near unexpected token `(.*)'", fault.message)
    line = fault.line + first_line
    last = len(lines) + first_line
    if token is not None:
        return f'sh: {line}: Syntax error: "{token[1]}" unexpected\n', 2
    quote = re.match(r"unexpected EOF while looking for matching `(.)'", fault.message)
    if quote is not None and quote[1] in "'\"":
        return f"sh: {last}: Syntax error: Unterminated quoted string\n", 2
    return None


def reword(
    stderr: str, text: str, shell: ShellSpec, first_line: int, script: Script, functions: Mapping[str, frozenset[str]]
) -> str:
    """Turn the library's messages into those of the shell that the world has.

    Args:
        stderr: What was written.
        text: The script, to find the lines of missing commands.
        shell: Program and mode.
        first_line: Number of the script's first line, less one.
        script: What was read off the text.
        functions: The commands in the body of each function that is defined by the end of the script.
    """
    if not stderr:
        return stderr
    stderr = _REPORT_TRACE.sub("", stderr)
    stderr = _HINT.sub("command not found", stderr)
    stderr = _place_absent(stderr, text)
    stderr = _EMPTY_REDIRECT.sub(r"\1\2", stderr)
    stderr = _EMPTY_NAME.sub(r"\1: No such file or directory", stderr)
    stderr = _OPERAND.sub(_operand, stderr)
    stderr = _GETOPTS.sub(lambda match: f"{match[1]}: {match[2]} -- {match[3]}", stderr)
    stderr = re.sub(
        r"(: printf: )%[^\n]*?([^\n]): invalid conversion specification$",
        r"\1`\2': invalid format character",
        stderr,
        flags=re.MULTILINE,
    )
    stderr = re.sub(r"(: printf: 0[xX]\S*: invalid )number$", r"\1hex number", stderr, flags=re.MULTILINE)
    stderr = re.sub(r"(: printf: 0\d+: invalid )number$", r"\1octal number", stderr, flags=re.MULTILINE)
    stderr = _one_menu(stderr, text)
    stderr = stderr.replace("\tunavailable", "\t0m0.000s").replace(" unavailable\n", " 0.00\n")
    if "exec" in text:
        executed = {command.args[0] for command in script.analysis.commands if command.name == "exec" and command.args}
        stderr = _MISSING.sub(
            lambda match: f"{match[1]}exec: {match[2]}: not found" if match[2] in executed else match[0], stderr
        )
    if "?" in text and re.search(r"\$\{\w+\?\}", text) and ":?" not in text:
        stderr = stderr.replace(": parameter null or not set\n", ": parameter not set\n")
    stderr = _in_functions(stderr, script, functions, shell)
    if shell.program == "sh":
        return _dash(stderr, first_line, script)
    stderr = _SH_NATIVE.sub(r"sh: \1: \2: not found", stderr)
    if _NESTED.search(text) and len(script.analysis.commands) == 1:
        return stderr  # all that is said comes from the shell that it starts
    if shell.mode == "interactive":
        if script.programs & {"source", "."}:
            stderr = _sourced(stderr, script)
        return _NATIVE.sub("bash: ", stderr)
    if first_line:
        # A greater number stands in a text that was written before.
        last = text.count("\n") + 1
        return _NATIVE.sub(
            lambda match: f"{match[1]}: line {int(match[2]) + first_line * (int(match[2]) <= last)}: ", stderr
        )
    return stderr


def _operand(match: re.Match[str]) -> str:
    """Name the token at which an expression lacks an operand: bash shows its last one."""
    token = re.search(r"(?:[-+*/%&|^<>=!~?:,(]|<<|>>|\*\*|[-+*/%&|^]=)$", match[1].rstrip())
    return f'{match[0]} (error token is "{token[0]}")' if token is not None else match[0]


def _sourced(stderr: str, script: Script) -> str:
    """An interactive shell does not name the file that it reads from."""
    for command in script.analysis.commands:
        if command.name in ("source", ".") and command.args and command.args[0]:
            stderr = re.sub(rf"^{re.escape(command.args[0])}: line \d+: ", "bash: ", stderr, flags=re.MULTILINE)
    return stderr


def _in_functions(stderr: str, script: Script, functions: Mapping[str, frozenset[str]], shell: ShellSpec) -> str:
    """Inside a function bash calls itself `environment`, when it was given its command as a string."""
    if shell.mode == "interactive" or not functions or "bash: line" not in stderr:
        return stderr
    own = "environment" if shell.mode == "command" else "main"
    direct: set[str | None] = {
        command.name for command in script.analysis.commands if command.context != "function_body"
    }
    direct |= {redirect.path for redirect in script.analysis.redirects}
    captured = {name for name in functions if re.search(rf"\$\(\s*{re.escape(name)}(?![\w-])", script.text)}
    called, todo = set(), [name for name in functions if name in direct | captured]
    while todo:
        name = todo.pop()
        called.add(name)
        todo.extend(other for other in functions[name] if other in functions and other not in called)
    marks = [mark for name in called for mark in functions[name] if mark.startswith("@")]
    offset = int(marks[0][1:]) if marks and shell.mode == "script" else 0
    inside = frozenset().union(*(functions[name] for name in called)) - direct

    def rename(match: re.Match[str]) -> str:
        subject = match[2].partition(":")[0]
        refused = "<" in inside and subject not in direct and re.search(r": (?:No such file|Permission)", match[2])
        return f"{own}: line {int(match[1]) + offset}: {match[2]}" if subject in inside or refused else match[0]

    return re.sub(r"^bash: line (\d+): (.*)$", rename, stderr, flags=re.MULTILINE)


def _one_menu(stderr: str, text: str) -> str:
    """`select` shows its menu once, and again only after an empty answer."""
    menu = re.search(r"(?:^ *\d+\) [^\n]*\n)+", stderr, re.MULTILINE) if "select" in text else None
    if menu is None:
        return stderr
    return stderr[: menu.end()] + stderr[menu.end() :].replace(menu[0], "")


def _place_absent(stderr: str, text: str) -> str:
    """Fill in the line numbers of missing commands: the lines that name them, in turn."""
    seen: dict[str, int] = {}

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        lines = [
            number
            for number, line in enumerate(text.split("\n"), 1)
            if re.search(rf"(?<![\w-]){re.escape(name)}\b", line)
        ] or [1]
        index = seen.get(name, 0)
        seen[name] = index + 1
        return f"bash: line {lines[min(index, len(lines) - 1)]}: {name}: command not found\n"

    return re.sub(rf"{re.escape(ABSENT)}([^\n]*)\n", fill, stderr)


def _dash(stderr: str, first_line: int, script: Script) -> str:
    reads = {redirect.path for redirect in script.analysis.redirects if not redirect.is_write}
    writes = {redirect.path for redirect in script.analysis.redirects if redirect.is_write}

    def convert(match: re.Match[str]) -> str:
        line, rest = int(match[1]) + first_line, match[2]
        rest = re.sub(r"^(.*): command not found$", r"\1: not found", rest)
        rest = re.sub(r"^\[: (.*): integer expression expected$", r"[: Illegal number: \1", rest)
        rest = rest.replace("[: missing `]'", "[: missing ]")
        rest = re.sub(r"^cd: (.*): [A-Z][\w ]+$", r"cd: can't cd to \1", rest)
        failed = re.match(r"^([^:]*): (No such file or directory|Is a directory|Permission denied)$", rest)
        if failed is not None and failed[1] in writes:
            why = "Directory nonexistent" if failed[2].startswith("No such") else failed[2]
            rest = f"cannot create {failed[1]}: {why}"
        elif failed is not None and failed[1] in reads:
            why = "No such file" if failed[2].startswith("No such") else failed[2]
            rest = f"cannot open {failed[1]}: {why}"
        elif failed is not None and failed[2].startswith("No such"):
            rest = f"{failed[1]}: not found"
        return f"sh: {line}: {rest}"

    return re.sub(r"^(?:bash|sh): line (\d+): (.*)$", convert, stderr, flags=re.MULTILINE)
