"""Awk programs as text: their strings, and commands in them that are run beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

__all__ = ["strings", "warnings_of", "with_commands"]

_READING = frozenset(
    ["date", "pwd", "ls", "wc", "cat", "echo", "head", "tail", "sort", "grep", "whoami", "hostname", "uname", "id",
     "seq", "basename", "dirname", "printf", "stat", "cut", "tr", "uniq", "find", "nproc", "rev", "tac", "nl", "md5sum",
     "expr"]
)  # fmt: skip
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|\s+|\w+|.', re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])+/")


def strings(program: str) -> Iterator[tuple[int, int]]:
    """Yield where each string literal starts and ends."""
    at, last = 0, ""
    while at < len(program):
        if program[at] == "/" and (last in "(,{;!~&|=}:?\n" or last == ""):
            found = _REGEX.match(program, at)
            if found is not None:
                at, last = found.end(), "/"
                continue
        found = _TOKEN.match(program, at)
        assert found is not None
        text = found[0]
        if text.startswith('"') and len(text) > 1:
            yield found.span()
        if not text.isspace() and not text.startswith("#"):
            last = text[-1]
        elif "\n" in text:
            last = "\n"
        at = found.end()


def warnings_of(program: str, name: str) -> str | None:
    """What gawk says of escapes in strings that mean nothing; None where it is not known.

    Args:
        program: The program on the command line.
        name: The name awk was called by.
    """
    seen: list[str] = []
    text = ""
    for start, end in strings(program):
        for found in re.finditer(r"\\(.)", program[start + 1 : end - 1], re.DOTALL):
            char = found[1]
            if char in '\\"abfnrtvx01234567\n' or char in seen:
                continue
            if char == "&" or not char.isascii():
                return None
            seen.append(char)
            line = program.count("\n", 0, start) + 1
            text += f"{name}: cmd. line:{line}: warning: escape sequence `\\{char}' treated as plain `{char}'\n"
    return text


def with_commands(program: str, run: Callable[[str], bytes | None], files: dict[str, bytes]) -> str:
    """Put files in place of commands whose output a program reads.

    Args:
        program: The program.
        run: Runs a command; None where its output is not to be known.
        files: Gets the outputs, by path.

    Returns:
        The program with `"COMMAND" | getline VARIABLE` as `getline VARIABLE < "FILE"`, and `system("COMMAND")` as a
        statement that prints the file.
    """
    if re.search(r"\bNR\b", program) or re.search(r"print[^|\n;}]*>", program):
        return program
    for found in list(re.finditer(r'\b([A-Za-z_]\w*)\s*=\s*"((?:[^"\\\n]|\\.)*)"\s*[;\n]', program)):
        name, value = found[1], found[2]
        piped = re.search(rf"\b{name}\s*\|\s*getline", program)
        if piped and len(re.findall(rf"\b{name}\b\s*[-+*/%^]?=(?!=)", program)) == 1:
            used = rf"\b{name}\b(?=\s*\|\s*getline)|(?<=close\(){name}(?=\))"
            quoted = f'"{value}"'
            program = re.sub(used, quoted.replace("\\", "\\\\"), program)
    known: dict[str, str] = {}

    def place(text: str) -> str | None:
        command = re.sub(r"\\(.)", r"\1", text)
        words = [part.split()[:1] for part in re.split(r"[|;&]+", command)]
        if any(not word or word[0] not in _READING for word in words) or re.search(r"[>`]|\$\(", command):
            return None
        if text not in known:
            data = run(command)
            if data is None:
                return None
            known[text] = f"/.worldline-command-{len(known)}"
            files[known[text]] = data
        return known[text]

    def reading(found: re.Match[str]) -> str:
        path = place(found[1])
        return found[0] if path is None else f'(getline {found[2] or ""} < "{path}")'

    def system(found: re.Match[str]) -> str:
        path = place(found[2])
        if path is None:
            return found[0]
        return f'{found[1]}{{while ((getline _w_ < "{path}") > 0) printf "%s\\n", _w_; close("{path}")}}{found[3]}'

    text = r'"((?:[^"\\\n]|\\.)*)"'
    program = re.sub(rf"{text}\s*\|\s*getline(?:\s+([A-Za-z_]\w*(?:\[[^\]]*\])?))?", reading, program)
    program = re.sub(rf"([;{{}}\n]\s*)system\s*\(\s*{text}\s*\)(\s*[;}}\n])", system, program)
    for command, path in known.items():
        program = program.replace(f'close("{command}")', f'close("{path}")')
    return program
