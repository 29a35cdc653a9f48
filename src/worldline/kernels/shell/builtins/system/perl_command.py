"""`perl` 5.36: one-liners and small scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import worldline.kernels.perl.functions
import worldline.kernels.perl.matching
import worldline.kernels.perl.nodes
import worldline.kernels.perl.operators  # noqa: F401  (registers operators)
from worldline.kernels.perl.interpreter import Interpreter
from worldline.kernels.perl.parser import Node, parse
from worldline.kernels.perl.state import Die, Exit, Jump, State, bytes_of
from worldline.kernels.perl.values import PerlGap, regex, show
from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import escape, restore

__all__ = ["COMMANDS"]


@dataclass(slots=True)
class _Switches:
    code: list[str] = field(default_factory=list)
    given_code: bool = False
    loop: str = ""
    """`n` or `p`."""
    lines: bool = False
    output_end: str | None = None
    split: bool = False
    separator: str | None = None
    record: str | None = "\n"
    in_place: str | None = None
    warnings: bool = False
    check: bool = False
    words: list[str] = field(default_factory=list)


def _perl(call: Call) -> Result:
    switches = _read(call)
    script = "-e"
    if switches.given_code:
        source = "\n".join(switches.code)
    elif switches.words:
        script = switches.words.pop(0)
        try:
            source = escape(restore(call.files.read(script)))
        except OSError as error:
            text = f'Can\'t open perl script "{script}": {strerror(error)}\n'
            return Result(stderr=text, status=error.errno or 2)
        first = source.split("\n")[0]
        if re.match(r"#!.*perl.*\s-\w", first):
            switches.warnings = switches.warnings or first.endswith("-w")
            if not first.endswith("-w"):
                call.unknown("options on a script's first line")
    else:
        if call.stdin is None:
            call.unknown("perl without a program")
        script, source = "-", call.stdin
        call = Call(call.name, [], "", call.env, call.cwd, call.files, call.world, call.now, call.umask, call.runner)
    state = State(call, script, [bytes_of(word) for word in switches.words])
    try:
        return _run(call, state, switches, _program(bytes_of(source), switches))
    except PerlGap as gap:
        call.unknown(str(gap), _result(state, 0))
    except RecursionError:
        call.unknown("deep recursion", _result(state, 0))


def _program(source: str, switches: _Switches) -> list[Node]:
    """Parse a program; with `-n` the trick `BODY }{ AT THE END` closes the loop."""
    try:
        return parse(source)
    except PerlGap:
        body, trick, end = source.partition("}{")
        if not trick or not switches.loop:
            raise
        return [*parse(body), Node("END", (parse(end),))]


def _result(state: State, status: int) -> Result:
    def text(parts: list[str]) -> str:
        return escape("".join(parts).encode("latin-1"))

    return Result(text(state.out), text(state.err), status)


def _read(call: Call) -> _Switches:
    found = _Switches()
    words = list(call.argv)
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        rest = word[1:]
        while rest:
            rest = _switch(call, found, rest, words)
    found.words = words
    return found


def _switch(call: Call, found: _Switches, rest: str, words: list[str]) -> str:
    letter, rest = rest[0], rest[1:]
    if letter in "eE":
        found.given_code = True
        found.code.append(rest if rest else words.pop(0) if words else call.unknown("no code"))
        return ""
    if letter in "np":
        found.loop = "p" if "p" in (letter, found.loop) else "n"
    elif letter == "a":
        found.split = True
        found.loop = found.loop or "n"
    elif letter == "F":
        found.separator = rest
        found.split = True
        found.loop = found.loop or "n"
        return ""
    elif letter == "l":
        match = re.match(r"[0-7]*", rest)
        assert match is not None
        found.lines = True
        found.output_end = chr(int(match[0], 8)) if match[0] else found.record if found.record is not None else "\n"
        return rest[match.end() :]
    elif letter == "0":
        match = re.match(r"x[0-9a-fA-F]+|[0-7]*", rest)
        assert match is not None
        code = int(match[0][1:], 16) if match[0].startswith("x") else int("0" + match[0], 8)
        found.record = None if match[0] and code >= 0o400 else "" if match[0] == "0" else chr(code)
        return rest[match.end() :]
    elif letter == "i":
        found.in_place = rest
        return ""
    elif letter == "w":
        found.warnings = True
    elif letter == "M":
        if rest not in ("strict", "warnings") and not rest.startswith("List::Util"):
            call.unknown(f"the module {rest}")
        found.warnings = found.warnings or rest == "warnings"
        return ""
    elif letter != "X":
        call.unknown(f"the option -{letter}")
    return rest


def _run(call: Call, state: State, switches: _Switches, program: list[Node]) -> Result:
    interpreter = Interpreter(state)
    state.warnings = switches.warnings
    state.cell("/")[0] = switches.record
    if switches.output_end is not None:
        state.cell("\\")[0] = switches.output_end
    if switches.in_place is not None and switches.loop:
        state.in_place = switches.in_place
    status = 0
    try:
        if switches.loop:
            _loop(interpreter, switches, program)
        else:
            interpreter.run(program)
    except Exit as leave:
        status = leave.status
    except Die as error:
        state.err.append(show(error.value))
        status = 255
    except Jump as jump:
        raise PerlGap(f"{jump.kind} outside of a loop") from jump
    state.finish_file()
    try:
        for block in interpreter.ends:
            interpreter.block(block)
    except Exit as leave:
        status = leave.status
    for handle in state.handles.values():
        state.close(handle)
    return _result(state, status)


def _loop(interpreter: Interpreter, switches: _Switches, program: list[Node]) -> None:
    """Run a program for each line (`-n`, `-p`)."""
    state = interpreter.state
    body = []
    interpreter.declare(program)
    for node in program:
        if node.kind in ("BEGIN", "END", "sub"):
            interpreter.statement(node)
        else:
            body.append(node)
    topic = state.cell("_")
    while (line := state.diamond_line()) is not None:
        topic = state.cell("_")
        topic[0] = line.removesuffix("\n") if switches.lines and switches.record == "\n" else line
        if switches.lines and switches.record != "\n" and switches.record is not None:
            topic[0] = line.removesuffix(switches.record)
        state.positions.clear()
        if switches.split:
            state.array("F")[:] = _fields(str(topic[0]), switches.separator)
        going = True
        try:
            interpreter.block(body, fresh=True)
        except Jump as jump:
            going = jump.kind != "last"
        if switches.loop == "p" and going:
            state.write(interpreter.text(topic[0]) + show(state.cell("\\")[0]))
        if not going:
            break


def _fields(text: str, separator: str | None) -> list[str]:
    if separator is None:
        return text.split()
    pattern = separator
    if len(pattern) > 1 and pattern[0] == pattern[-1] and pattern[0] in "/\"'":
        pattern = pattern[1:-1]
    if pattern == " ":
        return text.split()
    parts = regex(pattern, "").split(text)
    while parts and not parts[-1]:
        parts.pop()
    return [part or "" for part in parts]


COMMANDS: dict[str, Builtin] = {"perl": _perl}
