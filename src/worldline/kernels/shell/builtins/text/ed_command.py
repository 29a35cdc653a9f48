"""`ed` fed by a script on standard input, or by what was typed at a terminal so far."""

from __future__ import annotations

import re
from collections.abc import Callable

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.recipe_shell import run_line
from worldline.kernels.shell.builtins.shared.textio import escape, unescape
from worldline.kernels.shell.builtins.text.ed_buffer import Buffer, EdError, Scanner

__all__ = ["AT_TERMINAL", "COMMANDS", "READS_ON"]

AT_TERMINAL = "WORLDLINE_ED_AT_TERMINAL"
"""A variable in whose presence the input is what was typed so far: errors end nothing, and more may follow."""
READS_ON = 75
"""Status at a terminal while it waits for more."""
_STEPS = 100_000


class _Quit(Exception):
    """The editor ends."""


class _Editor:
    """One run of ed.

    Args:
        call: The invocation.
        silent: Whether counts of bytes are left out (`-s`).
        prompt: What is shown before each command.
    """

    def __init__(self, call: Call, *, silent: bool, prompt: str) -> None:
        self.call = call
        self.buffer = Buffer()
        self.name = ""
        self.out: list[str] = []
        self.err: list[str] = []
        self.status = 0
        self._silent = silent
        self._prompt = prompt
        self._verbose = False
        self._typed = AT_TERMINAL in call.env
        self._last = ""
        self._warned = False
        self._input: list[str] = []
        self._steps = 0
        self._substitution: tuple[str, str, str] | None = None

    # --- the loop

    def run(self, script: str) -> None:
        """Carry out a script."""
        self._input = script.split("\n")
        if self._input and not self._input[-1]:
            self._input.pop()
        try:
            while self._input:
                self.out.append(self._prompt)
                line = self._input.pop(0)
                try:
                    self._command(line)
                    self._warned = self._warned and line in ("q", "h")
                except EdError as error:
                    self._fail(str(error))
                    # A script that is no terminal ends with its first error.
                    if not self._typed:
                        self.status = 1
            if self._typed:
                self.out.append(self._prompt)
                self.status = READS_ON
            elif self.buffer.modified and not self._warned:
                self._fail("Warning: buffer modified")
                self.status = 2
        except _Quit:
            return

    def _fail(self, message: str) -> None:
        self._last = message
        self.out.append(f"?\n{message}\n" if self._verbose else "?\n")

    def _command(self, line: str, *, inside: bool = False) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            self.call.unknown("a very long script")
        scanner = Scanner(line, self.buffer)
        given = scanner.addresses()
        rest = scanner.rest.lstrip(" \t")
        letter, argument = rest[:1], rest[1:]
        if letter in ("g", "v", "G", "V"):
            if inside:
                raise EdError("Cannot nest global commands")
            if letter in "GV":
                self.call.unknown("an interactive command")
            self._global(given, argument, keep=letter == "g")
            return
        if letter and letter in "efr" and argument[:1] not in ("", " "):
            raise EdError("Unexpected command suffix")
        if letter and letter in "zkexyEPWX":
            self.call.unknown(f"the command {letter}")
        action = _ACTIONS.get(letter)
        if action is None:
            raise EdError("Unknown command")
        action(self, given, argument)

    # --- addresses

    def _range(self, given: list[int], first: int | None = None, last: int | None = None) -> tuple[int, int]:
        current = self.buffer.current
        start = given[0] if given else (first if first is not None else current)
        end = given[-1] if given else (last if last is not None else current)
        if start < 1 or end > len(self.buffer.lines):
            raise EdError("Invalid address")
        return start, end

    def _suffix(self, argument: str) -> str:
        """Check that nothing but print suffixes follows a command."""
        suffix = argument.strip()
        if not re.fullmatch(r"[pnl]*", suffix):
            raise EdError("Invalid command suffix")
        return suffix

    def _show_current(self, suffix: str) -> None:
        if suffix:
            self._show(self.buffer.current, self.buffer.current, suffix)

    def _show(self, start: int, end: int, how: str) -> None:
        for number in range(start, end + 1):
            text = self.buffer.lines[number - 1]
            if "l" in how:
                text = _visible(text) + "$"
            self.out.append(f"{number}\t{text}\n" if "n" in how else f"{text}\n")
        self.buffer.current = end

    # --- commands

    def print(self, given: list[int], argument: str, how: str = "p") -> None:
        """`p`, `n`, `l`."""
        start, end = self._range(given)
        self._show(start, end, how + self._suffix(argument))

    def go(self, given: list[int], argument: str) -> None:
        """A bare address prints that line; a bare newline the next one."""
        line = given[-1] if given else self.buffer.current + 1
        if not 1 <= line <= len(self.buffer.lines):
            raise EdError("Invalid address")
        self._show(line, line, "p")

    def _text(self) -> list[str]:
        lines: list[str] = []
        while self._input:
            line = self._input.pop(0)
            if line == ".":
                break
            lines.append(line)
        return lines

    def _insert(self, after: int, lines: list[str]) -> None:
        self.buffer.lines[after:after] = lines
        self.buffer.current = after + len(lines)
        if lines:
            self.buffer.modified = True

    def append(self, given: list[int], argument: str) -> None:
        """`a`: put lines behind one."""
        suffix = self._suffix(argument)
        self.buffer.save()
        self._insert(given[-1] if given else self.buffer.current, self._text())
        self._show_current(suffix)

    def insert(self, given: list[int], argument: str) -> None:
        """`i`: put lines before one."""
        suffix = self._suffix(argument)
        self.buffer.save()
        place = given[-1] if given else self.buffer.current
        self._insert(max(place - 1, 0), self._text())
        self._show_current(suffix)

    def change(self, given: list[int], argument: str) -> None:
        """`c`: put lines in the place of others."""
        suffix = self._suffix(argument)
        start, end = self._range(given)
        self.buffer.save()
        lines = self._text()
        self._drop(start, end)
        self._insert(start - 1, lines)
        if not lines:
            self.buffer.current = min(start, len(self.buffer.lines))
        self._show_current(suffix)

    def _drop(self, start: int, end: int) -> None:
        del self.buffer.lines[start - 1 : end]
        self.buffer.current = min(start, len(self.buffer.lines))
        self.buffer.modified = True

    def delete(self, given: list[int], argument: str) -> None:
        """`d`."""
        start, end = self._range(given)
        suffix = self._suffix(argument)
        self.buffer.save()
        self._drop(start, end)
        self._show_current(suffix)

    def join(self, given: list[int], argument: str) -> None:
        """`j`."""
        current = self.buffer.current
        start, end = self._range(given, current, current + 1)
        suffix = self._suffix(argument)
        if start != end:
            self.buffer.save()
            self.buffer.lines[start - 1 : end] = ["".join(self.buffer.lines[start - 1 : end])]
            self.buffer.current = start
            self.buffer.modified = True
        self._show_current(suffix)

    def _target(self, argument: str) -> tuple[int, str]:
        scanner = Scanner(argument, self.buffer)
        found = scanner.addresses()
        return (found[-1] if found else self.buffer.current), self._suffix(scanner.rest)

    def move(self, given: list[int], argument: str) -> None:
        """`m`."""
        start, end = self._range(given)
        place, suffix = self._target(argument)
        if start <= place < end:
            raise EdError("Invalid destination")
        self.buffer.save()
        lines = self.buffer.lines[start - 1 : end]
        del self.buffer.lines[start - 1 : end]
        self._insert(place - len(lines) if place >= end else place, lines)
        self._show_current(suffix)

    def transfer(self, given: list[int], argument: str) -> None:
        """`t`: copy lines."""
        start, end = self._range(given)
        place, suffix = self._target(argument)
        self.buffer.save()
        self._insert(place, self.buffer.lines[start - 1 : end])
        self._show_current(suffix)

    def number(self, given: list[int], argument: str) -> None:
        """`=`: print an address."""
        self._suffix(argument)
        self.out.append(f"{given[-1] if given else len(self.buffer.lines)}\n")

    def undo(self, given: list[int], argument: str) -> None:
        """`u`."""
        self._suffix(argument)
        if self.buffer.undo is None:
            raise EdError("Nothing to undo")
        before = self.buffer.undo
        self.buffer.save()
        self.buffer.lines, self.buffer.current = list(before[0]), before[1]
        self.buffer.modified = True

    def substitute(self, given: list[int], argument: str) -> None:
        """`s/RE/REPLACEMENT/FLAGS`."""
        start, end = self._range(given)
        if not argument or argument[0] in " \n" or argument[0].isalnum():
            self.call.unknown("a repeated substitution")
        scanner = Scanner(argument, self.buffer)
        scanner.index = 1
        mark = argument[0]
        pattern = self.buffer.regex(scanner.delimited(mark))
        closed = scanner.index
        replacement = scanner.delimited(mark)
        if argument[closed:].count("\\\n") or argument.endswith("\\"):
            self.call.unknown("a replacement of several lines")
        flags = scanner.rest
        if not flags and not argument.endswith(mark):
            flags = "p"
        if not re.fullmatch(r"[gpnlI\d]*", flags):
            raise EdError("Invalid command suffix")
        count = int(re.sub(r"\D", "", flags) or 1)
        if "I" in flags:
            pattern = re.compile(pattern.pattern, re.IGNORECASE)
        self.buffer.save()
        changed = 0
        for number in range(start, end + 1):
            text = _substituted(pattern, replacement, self.buffer.lines[number - 1], count, every="g" in flags)
            if text is not None:
                self.buffer.lines[number - 1] = text
                changed = number
        if not changed:
            raise EdError("No match")
        self.buffer.current = changed
        self.buffer.modified = True
        self._show_current("".join(set(flags) & set("pnl")))

    def _global(self, given: list[int], argument: str, *, keep: bool) -> None:
        start, end = self._range(given, 1, len(self.buffer.lines))
        if not argument:
            raise EdError("Invalid pattern delimiter")
        scanner = Scanner(argument, self.buffer)
        scanner.index = 1
        pattern = self.buffer.regex(scanner.delimited(argument[0]))
        command = scanner.rest or "p"
        if command.endswith("\\") or command[:1] in ("a", "i", "c", "u", "m", "t", "r"):
            self.call.unknown("a list of commands for several lines")
        before = (list(self.buffer.lines), self.buffer.current)
        chosen = [bool(pattern.search(self.buffer.lines[number])) == keep for number in range(start - 1, end)]
        shift = 0
        for offset, wanted in enumerate(chosen):
            if not wanted:
                continue
            self.buffer.current = start + offset + shift
            count = len(self.buffer.lines)
            self._command(command, inside=True)
            shift += len(self.buffer.lines) - count
        self.buffer.undo = before

    # --- files

    def read_file(self, name: str) -> list[str]:
        """Read a file's lines and tell how many bytes it has."""
        data = self.call.files.read(name)
        text = escape(data)
        if not self._silent:
            self.out.append(f"{len(data)}\n")
        if text and not text.endswith("\n"):
            self.out.append("Newline appended\n" if not self._silent else "")
            self.call.unknown("a file without a last newline")
        return text.split("\n")[:-1] if text else []

    def open(self, name: str) -> None:
        """Load the file of the command line."""
        self.name = name
        try:
            self.buffer.lines = self.read_file(name)
        except OSError as error:
            self.err.append(f"{name}: {strerror(error)}\n")
            self._last = "Cannot open input file"
            if not isinstance(error, FileNotFoundError):
                self.call.unknown("a file that cannot be opened")
        self.buffer.current = len(self.buffer.lines)

    def read(self, given: list[int], argument: str) -> None:
        """`r FILE`."""
        name = argument.strip() or self.name
        if name.startswith("!"):
            self.call.unknown("reading from a command")
        try:
            lines = self.read_file(name)
        except OSError as error:
            self.err.append(f"{name}: {strerror(error)}\n")
            raise EdError("Cannot open input file") from error
        self.buffer.save()
        self._insert(given[-1] if given else len(self.buffer.lines), lines)

    def write(self, given: list[int], argument: str) -> None:
        """`w FILE`, `wq`, `W FILE`."""
        leaving = argument.startswith("q")
        name = (argument[1:] if leaving else argument).strip() or self.name
        if name.startswith("!") or not name:
            self.call.unknown("writing to no file")
        start, end = (given[0], given[-1]) if given else (1, len(self.buffer.lines))
        text = "".join(f"{line}\n" for line in self.buffer.lines[max(start, 1) - 1 : end])
        data = unescape(text)
        try:
            self.call.files.write(name, data)
        except OSError as error:
            self.err.append(f"{name}: {strerror(error)}\n")
            raise EdError("Cannot open output file") from error
        self.name = self.name or name
        if not self._silent:
            self.out.append(f"{len(data)}\n")
        if end - start + 1 >= len(self.buffer.lines):
            self.buffer.modified = False
        if leaving:
            raise _Quit

    def file(self, given: list[int], argument: str) -> None:
        """`f NAME`."""
        self.name = argument.strip() or self.name
        if not self.name:
            raise EdError("No current filename")
        self.out.append(f"{self.name}\n")

    def quit(self, given: list[int], argument: str) -> None:
        """`q`, which warns once of changes that are not written."""
        if self.buffer.modified and not self._warned:
            self._warned = True
            self._fail("Warning: buffer modified")
            self.status = 1
            return
        self.status = 0 if self._typed else self.status
        raise _Quit

    def leave(self, given: list[int], argument: str) -> None:
        """`Q`."""
        raise _Quit

    def help(self, given: list[int], argument: str) -> None:
        """`h`: tell the last error."""
        if self._last:
            self.out.append(f"{self._last}\n")

    def verbose(self, given: list[int], argument: str) -> None:
        """`H`: tell errors from now on, and the last one."""
        self._verbose = not self._verbose
        if self._verbose and self._last:
            self.out.append(f"{self._last}\n")

    def shell(self, given: list[int], argument: str) -> None:
        """`!COMMAND`."""
        if "%" in argument or argument.startswith("!"):
            self.call.unknown("a command that names the file")
        result = run_line(self.call, argument, shell="sh")
        self.out.append(result.stdout)
        self.err.append(result.stderr)
        if not self._silent:
            self.out.append("!\n")


def _visible(text: str) -> str:
    names = {"\\": "\\\\", "\t": "\\t", "\b": "\\b", "\a": "\\a", "\r": "\\r", "\f": "\\f", "\v": "\\v", "$": "\\$"}
    return "".join(
        names.get(char, char if " " <= char <= "~" else "".join(f"\\{byte:03o}" for byte in char.encode()))
        for char in text
    )


def _substituted(pattern: re.Pattern[str], replacement: str, text: str, count: int, *, every: bool) -> str | None:
    """Return a line with matches replaced, or None where there is no such match."""
    seen = 0
    done = False

    def replace(match: re.Match[str]) -> str:
        nonlocal seen, done
        seen += 1
        if seen < count or (seen > count and not every):
            return match[0]
        done = True
        return re.sub(
            r"\\(.)|&",
            lambda part: match[0] if part[0] == "&" else match[int(part[1])] or "" if part[1].isdigit() else part[1],
            replacement,
        )

    changed = pattern.sub(replace, text)
    return changed if done else None


_Action = Callable[[_Editor, list[int], str], None]
_ACTIONS: dict[str, _Action] = {
    "": _Editor.go,
    "a": _Editor.append,
    "c": _Editor.change,
    "d": _Editor.delete,
    "f": _Editor.file,
    "h": _Editor.help,
    "H": _Editor.verbose,
    "i": _Editor.insert,
    "j": _Editor.join,
    "l": lambda editor, given, argument: editor.print(given, argument, "l"),
    "m": _Editor.move,
    "n": lambda editor, given, argument: editor.print(given, argument, "n"),
    "p": _Editor.print,
    "q": _Editor.quit,
    "Q": _Editor.leave,
    "r": _Editor.read,
    "s": _Editor.substitute,
    "t": _Editor.transfer,
    "u": _Editor.undo,
    "w": _Editor.write,
    "=": _Editor.number,
    "!": _Editor.shell,
    "#": lambda editor, given, argument: None,
}


def _ed(call: Call) -> Result:
    silent, prompt, names = False, "", []
    words = list(call.argv)
    while words:
        word = words.pop(0)
        if word in ("-s", "--quiet", "--silent", "-"):
            silent = True
        elif word == "-p" and words:
            prompt = words.pop(0)
        elif word.startswith("-"):
            call.unknown(f"the option {word}")
        else:
            names.append(word)
    if len(names) > 1 or call.stdin is None:
        call.unknown("ed without a script")
    editor = _Editor(call, silent=silent, prompt=prompt)
    if names:
        editor.open(names[0])
    editor.run(call.stdin)
    return Result("".join(editor.out), "".join(editor.err), editor.status)


COMMANDS: dict[str, Builtin] = {"ed": _ed}
