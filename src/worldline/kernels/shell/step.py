"""What one run of a script carries along, and how our commands are called in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bashkit import BuiltinContext, BuiltinResult, FileSystem

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.barriers import NO_BARRIERS, Barriers
from worldline.kernels.shell.builtins import commands
from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.core import CORE, Core
from worldline.kernels.shell.disk import Disk
from worldline.kernels.shell.files import KernelFiles, Trace
from worldline.kernels.shell.jobs import Job
from worldline.kernels.shell.messages import absent_message, bare_messages
from worldline.kernels.shell.nested import run_nested
from worldline.kernels.shell.programs import presence, program_path
from worldline.kernels.shell.script import SHELL_BUILTINS
from worldline.kernels.shell.table import Table

__all__ = ["END", "LIBRARY_ONLY", "STATUS", "TYPE", "WHERE", "Slot", "Step", "callbacks"]

END = "__worldline_end"
"""Called at a script's end with the status and what the shell says of itself."""
STATUS = "__worldline_status"
"""Sets `$?`."""
WHERE = "__worldline_where"
"""Stands in for `command -v` and `type -p` of programs."""
TYPE = "__worldline_type"
"""Stands in for `type` of programs that the library does not place."""

LIBRARY_ONLY = frozenset(
    [
        "assert",
        "busybox",
        "bzcat",
        "bunzip2",
        "bzip2",
        "column",
        "csv",
        "curl",
        "dotenv",
        "egrep",
        "envsubst",
        "fgrep",
        "file",
        "flock",
        "free",
        "gawk",
        "glob",
        "hexdump",
        "http",
        "iconv",
        "jq",
        "json",
        "less",
        "log",
        "make",
        "man",
        "more",
        "nano",
        "openssl",
        "parallel",
        "patch",
        "pgrep",
        "pkill",
        "ps",
        "retry",
        "rg",
        "semver",
        "shasum",
        "strings",
        "sudo",
        "template",
        "tomlq",
        "tree",
        "unzip",
        "users",
        "verify",
        "vi",
        "watch",
        "wget",
        "who",
        "xxd",
        "yq",
        "zip",
        "bc",
        "uptime",
        "uuidgen",
        "getconf",
        "locale",
        "gzip",
        "gunzip",
        "tar",
        "awk",
        "nawk",
        "mawk",
        "expr",
        "nproc",
        "hostid",
        "df",
        "du",
        "dd",
    ]
)
"""Commands that the shell library has of its own and a machine need not have."""

_UNSIMULATED = frozenset(
    [
        "busybox",
        "curl",
        "df",
        "free",
        "getconf",
        "hostid",
        "less",
        "locale",
        "make",
        "man",
        "more",
        "nano",
        "nproc",
        "openssl",
        "parallel",
        "pgrep",
        "pkill",
        "ps",
        "sudo",
        "uptime",
        "users",
        "uuidgen",
        "vi",
        "watch",
        "wget",
        "who",
        "iconv",
        "file",
        "gawk",
    ]
)
"""Of those, the ones whose answer rests on the machine, or that the library answers differently."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(slots=True)
class Step:
    """The step that is running; filled in by our commands."""

    state: TerminalState
    table: Table
    stamps: dict[str, float]
    now: datetime
    text: str = ""
    first_line: int = 0
    """Number of the script's first line, less one."""
    umask: int = 0o022
    status_before: int = 0
    barriers: Barriers = NO_BARRIERS
    suspects: frozenset[str] | None = None
    """Paths that the shell library may write by itself in this step; None: any."""
    merging: frozenset[str] = frozenset()
    """Commands whose errors go where their output goes."""
    emptied: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Files that the shell empties before a command runs, since its output goes there; by the command's name."""
    trace: Trace = field(default_factory=Trace)
    ran: list[str] = field(default_factory=list)
    """Names of our commands that ran."""
    programs: int = 0
    """Processes that the shell started for programs."""
    unknown: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """What our commands wrote to their error streams, wherever these went."""
    slept: float = 0.0
    ordered: bool = False
    """Messages and output of a program that writes both are in the order of a terminal."""
    shows: Callable[[str], bool] | None = None
    """Tells whether a command's output goes to the terminal; None: there is no terminal."""
    jobs: tuple[Job, ...] = ()
    """Jobs in the background after the step."""
    ended: bool = True
    """Whether the end of the script was not reached."""
    status: int = 0
    report: list[str] = field(default_factory=list)

    def place(self, name: str) -> int:
        """The line of the script that names a command: its first one, as good a guess as can be had."""
        for number, line in enumerate(self.text.split("\n"), 1):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                return number
        return 1

    def files(self, vfs: FileSystem, cwd: str, name: str = "") -> KernelFiles:
        """The files as a command in `cwd` sees them."""
        disk = Disk(vfs, self.table, self.stamps, self.suspects, self.state, self.now, self.barriers)
        disk.emptied = self.emptied.get(name, frozenset())
        return KernelFiles(disk, self.state, cwd, self.now, self.trace, self.umask)


class Slot:
    """Where the commands find the running step; keeps shell and commands from holding each other alive."""

    __slots__ = ("step",)

    def __init__(self) -> None:
        self.step: Step | None = None


_CORE_PROGRAMS = frozenset(("sleep", "which"))
"""Of the commands that get the running step, those that are no part of the shell."""

Callback = Callable[[BuiltinContext], BuiltinResult]

_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def callbacks(
    slot: Slot, state: TerminalState, *, absolute: bool, others: frozenset[str] = frozenset()
) -> dict[str, Callback]:
    """All commands that the shell library is to take from us.

    Args:
        slot: Where they find the running step.
        state: The declared world.
        absolute: Also under `/bin/NAME` and `/usr/bin/NAME`; registering these takes a millisecond.
        others: Names of programs that are there though nothing simulates them.
    """
    table: dict[str, Callback] = {}
    ours = commands()
    for name in sorted(ours.keys() | LIBRARY_ONLY):
        there = presence(state, name)
        callback: Callback
        if there == "absent":
            callback = _absent(slot, name)
        elif name in ours:
            callback = _ours(slot, name, ours[name], sure=there == "present")
        elif name in _UNSIMULATED or there == "unknown":
            callback = _unsimulated(slot, name)
        else:
            continue
        for key in (name, f"/bin/{name}", f"/usr/bin/{name}") if absolute else (name,):
            table[key] = callback
    for name in others:
        table[name] = _unsimulated(slot, name)
    for name, core in CORE.items():
        if name not in ours:
            table[name] = _core(slot, name, core)
    if state.shell.program == "sh":
        table["echo"] = _core(slot, "echo", _dash_echo)
    table[END] = _core(slot, END, _end)
    table[STATUS] = _core(slot, STATUS, lambda step, call: Result(status=int(call.argv[0])))
    table[WHERE] = _core(slot, WHERE, _where)
    table[TYPE] = _core(slot, TYPE, _type)
    return table


def _ours(slot: Slot, name: str, function: Builtin, *, sure: bool) -> Callback:
    def callback(context: BuiltinContext) -> BuiltinResult:
        step = slot.step
        if step is None:
            return BuiltinResult("", "", 125)
        if not sure:
            step.unknown.append(f"it is not known whether {name} is installed")
        step.ran.append(name)
        step.programs += name not in SHELL_BUILTINS
        result = _invoke(step, _call(step, context, name), function)
        if result.stderr:
            step.errors.append(result.stderr)
        if result.merged is not None and name in step.merging:
            return BuiltinResult(result.merged, "", result.status)
        if result.stderr and result.stdout and name in step.merging and _columns(step, name) is not None:
            text = _by_operand(name, list(context.argv), result)
            if text is not None:
                step.ordered = True
                return BuiltinResult(text, "", result.status)
        if result.stderr and result.stdout and name in step.merging:
            # A program writes errors at once and its output when it ends, or when 4096 bytes have come together.
            if len(result.stdout) >= 4096:
                step.unknown.append(f"the order in which {name} wrote to both streams")
            return BuiltinResult(result.stderr + result.stdout, "", result.status)
        return _given(result)

    return callback


def _by_operand(name: str, words: list[str], result: Result) -> str | None:
    """Both streams of a `grep` that writes to a terminal: file by file; None where that cannot be told."""
    if name not in ("grep", "egrep", "fgrep"):
        return None
    out, err = result.stdout.splitlines(keepends=True), result.stderr.splitlines(keepends=True)
    text = ""
    for word in words:
        for lines, start in ((err, f"{name}: {word}: "), (out, f"{word}:")):
            mine = [line for line in lines if line.startswith(start)]
            text += "".join(mine)
            lines[:] = [line for line in lines if line not in mine]
    return text if not out and not err else None


def _core(slot: Slot, name: str, function: Core) -> Callback:
    def callback(context: BuiltinContext) -> BuiltinResult:
        step = slot.step
        if step is None:
            return BuiltinResult("", "", 125)
        step.programs += name in _CORE_PROGRAMS
        return _given(_invoke(step, _call(step, context, name), lambda call: function(step, call)))

    return callback


def _absent(slot: Slot, name: str) -> Callback:
    def callback(context: BuiltinContext) -> BuiltinResult:
        if slot.step is not None:
            slot.step.programs += 1
        return BuiltinResult("", absent_message(name), 127)

    return callback


def _unsimulated(slot: Slot, name: str) -> Callback:
    def callback(context: BuiltinContext) -> BuiltinResult:
        if slot.step is not None:
            slot.step.unknown.append(f"{name} is not simulated")
            slot.step.programs += 1
        return BuiltinResult("", "", 0)

    return callback


def _given(result: Result) -> BuiltinResult:
    return BuiltinResult(result.stdout, result.stderr, result.status)


def _call(step: Step, context: BuiltinContext, name: str) -> Call:
    # A program names itself as it was called: `/bin/cat: nofile: ...`.
    shown = context.name if context.name.startswith("/") else name
    return Call(
        shown,
        context.argv,
        bare_messages(context.stdin) if context.stdin is not None else None,
        {**context.env, "_": f"/usr/bin/{name}"},
        context.cwd,
        step.files(context.fs, context.cwd, name),
        step.state,
        step.now,
        step.umask,
        _runner(step, context),
        script=step.text,
        columns=_columns(step, name),
    )


def _columns(step: Step, name: str) -> int | None:
    screen = step.state.screen
    return screen.columns if screen is not None and step.shows is not None and step.shows(name) else None


def _invoke(step: Step, call: Call, function: Builtin) -> Result:
    """Run one command of ours; what it does not know is noted, and the likeliest guess is that it goes well."""
    bare = call.name == "tr" or (call.name == "cat" and all(word.startswith("-") for word in call.argv))
    if bare and call.stdin is None and "|" in step.text:
        # The library may have joined it with its neighbour in a pipe, past us; or there is nothing to read.
        step.unknown.append(f"{call.name}: what it reads")
    if call.stdin is not None and _REPLACEMENT in call.stdin:
        step.unknown.append(f"{call.name}: its input may be binary")
    try:
        return function(call)
    except Unknown as error:
        step.unknown.append(str(error))
        if error.guess is not None:
            return error.guess
    except OSError as error:
        return Result("", f"{call.name}: {error.filename}: {error.strerror}\n", 1)
    except RecursionError:
        step.unknown.append(f"{call.name}: too deeply nested")
    except _FAULTS as error:
        # A fault in one of our commands must neither end the session nor pass for what the real program says.
        step.unknown.append(f"{call.name}: {type(error).__name__} in the kernel: {error}")
    return Result()


_SHELL_WORDS = (
    "alias bg break builtin caller cd command compgen complete continue declare dirs disown eval exec exit export fc fg"
    " hash history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt source"
    " times trap type typeset ulimit umask unalias unset wait"
)
_SHELL_ONLY = frozenset(_SHELL_WORDS.split())
"""Commands that only a shell has: no program of that name can be run by another one."""


def _runner(step: Step, context: BuiltinContext) -> Callable[[Sequence[str], str | None, Mapping[str, str]], Result]:
    """How a command of ours runs another one."""

    def run(argv: Sequence[str], stdin: str | None, env: Mapping[str, str]) -> Result:
        name = argv[0].rpartition("/")[2]
        script = argv[0].rpartition("/")[0] not in ("", "/bin", "/usr/bin")
        there = "present" if script else presence(step.state, name)
        if there == "absent" or (not script and name in _SHELL_ONLY):
            return Result(status=127)
        if script:
            files = step.files(context.fs, context.cwd)
            if not files.exists(argv[0]):
                return Result(status=127)
            if files.stat(argv[0]).kind == "directory" or not files.allowed(argv[0], 1):
                return Result(status=126)
        if name in ("true", "false") and not script:
            return Result(status=int(name == "false"))
        function = None if script else commands().get(name)
        core = CORE.get(name) if name in ("sleep", "test", "[") and not script else None
        if function is None and core is None:
            slot = Slot()
            slot.step, step.suspects = step, None
            table = callbacks(slot, step.state, absolute="/" in argv[0])
            return run_nested(argv, vfs=context.fs, cwd=context.cwd, env=env, stdin=stdin, callbacks=table)
        call = Call(
            argv[0],
            list(argv[1:]),
            stdin,
            env,
            context.cwd,
            step.files(context.fs, context.cwd),
            step.state,
            step.now,
            step.umask,
            _runner(step, context),
        )
        step.ran.append(name)
        if function is not None:
            return function(call)
        assert core is not None
        return core(step, call)

    return run


def _end(step: Step, call: Call) -> Result:
    step.ended = False
    step.status = int(call.argv[0])
    step.report = call.argv[1:]
    return Result()


def _where(step: Step, call: Call) -> Result:
    """`command -v NAME ...` for programs; the names of functions and builtins never get here."""
    found = [program_path(step.state, name) for name in call.argv]
    for name, path in zip(call.argv, found, strict=True):
        if path is None and presence(step.state, name) == "unknown":
            call.unknown(f"whether {name} is installed")
    lines = [path for path in found if path is not None]
    return Result("".join(f"{line}\n" for line in lines), status=0 if lines else 1)


def _type(step: Step, call: Call) -> Result:
    """`type NAME ...` for programs that the library does not place."""
    if any(presence(step.state, name) == "unknown" for name in call.argv):
        call.unknown("whether the program is installed")
    found = {name: program_path(step.state, name) for name in call.argv}
    shown = "".join(f"{name} is {path}\n" for name, path in found.items() if path is not None)
    missing = [name for name, path in found.items() if path is None]
    if step.state.shell.program == "sh":
        return Result(shown + "".join(f"{name}: not found\n" for name in missing), status=127 if missing else 0)
    place = f"bash: line {step.place(call.argv[0])}: type: "
    return Result(shown, "".join(f"{place}{name}: not found\n" for name in missing), 1 if missing else 0)


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def _dash_echo(step: Step, call: Call) -> Result:
    """The `echo` of dash: no options but -n, and escapes are always read."""
    words = call.argv
    newline = words[:1] != ["-n"]
    text = " ".join(words if newline else words[1:])
    out, stop = [], False
    for match in re.finditer(r"\\(0[0-7]{0,3}|.)|[^\\]+|\\$", text, re.DOTALL):
        code = match[1]
        if code is None:
            out.append(match[0])
        elif code == "c":
            stop = True
            break
        elif code[0] == "0":
            value = int(code[1:] or "0", 8) & 255
            if value > 127 or value == 0:
                call.unknown("echo of a byte that is not text")
            out.append(chr(value))
        else:
            out.append(_ESCAPES.get(code, match[0]))
    return Result("".join(out) + ("\n" if newline and not stop else ""))
