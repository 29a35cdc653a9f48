"""`sqlite3`: the shell of SQLite over a database held in memory."""

from __future__ import annotations

import posixpath
import re
import shlex
import sqlite3
from datetime import UTC
from typing import NoReturn

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.data.sqlite_dots import dump, indexes, load, schema, tables
from worldline.kernels.shell.builtins.data.sqlite_errors import context, offset_of
from worldline.kernels.shell.builtins.data.sqlite_output import MODES, Style, UnknownStyle, plan_text, rows_text
from worldline.kernels.shell.builtins.shared.textio import Output, read, stdin

__all__ = ["COMMANDS"]

_ERRORS = {
    "SQLITE_ERROR": 1, "SQLITE_SCHEMA": 1, "SQLITE_CONSTRAINT": 19, "SQLITE_MISMATCH": 20, "SQLITE_READONLY": 8,
    "SQLITE_NOTADB": 26,
}  # fmt: skip
_FLAGS = {
    "-csv": "csv", "-column": "column", "-line": "line", "-list": "list", "-json": "json", "-box": "box",
    "-markdown": "markdown", "-table": "table", "-tabs": "tabs", "-html": "html", "-quote": "quote", "-ascii": "ascii",
}  # fmt: skip
_VOLATILE = re.compile(
    r"\bjournal_mode\b|\bdatabase_list\b|\bcompile_options\b|\brandom(?:blob)?\s*\(|sqlite_(?:version|source_id)|\battach\b|\bvacuum\b|load_extension",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"\b(date|time|datetime|julianday|unixepoch)\s*\(\s*\)", re.IGNORECASE)
_OTHER = frozenset(
    ["-A", "-append", "-archive", "-deserialize", "-echo", "-help", "-interactive", "-lookaside", "-maxsize", "-zip",
     "-memtrace", "-mmap", "-newline", "-nofollow", "-nonce", "-pagecache", "-pcachetrace", "-safe", "-separator",
     "-nullvalue", "-cmd", "-init", "-sorterref", "-stats", "-unsafe-testing", "-version", "-vfs", "-heap", "-vfstrace"]
)  # fmt: skip
_STEPS = 2_000_000


_MODES = ("ascii", "box", "column", "csv", "html", "insert", "json", "line", "list", "markdown", "qbox", "quote",
          "table", "tabs", "tcl")  # fmt: skip
_DOTS = (
    "archive", "auth", "backup", "bail", "binary", "cd", "changes", "check", "clone", "connection", "databases",
    "dbconfig", "dbinfo", "dump", "echo", "eqp", "excel", "exit", "expert", "explain", "filectrl", "fullschema",
    "headers", "help", "import", "imposter", "indexes", "limit", "lint", "load", "log", "mode", "nonce", "nullvalue",
    "once", "open", "output", "parameter", "print", "progress", "prompt", "quit", "read", "recover", "restore", "save",
    "scanstats", "schema", "selftest", "separator", "sha3sum", "shell", "show", "stats", "system", "tables", "testcase",
    "testctrl", "timeout", "timer", "trace", "vfsinfo", "vfslist", "vfsname", "width", "iotrace", "unmodule",
    "breakpoint",    "crnl", "crlf", "selecttrace", "wheretrace", "treetrace",
)  # fmt: skip


class _Stop(Exception):
    """The shell ends; the message is already written."""


def sqlite(call: Call) -> Result:
    """Run SQL and dot commands."""
    shell = _Shell(call)
    try:
        shell.main()
    except _Stop:
        pass
    except UnknownStyle:
        call.unknown("this way of printing")
    finally:
        shell.close()
    return shell.out.result()


class _Shell:
    def __init__(self, call: Call) -> None:
        self.call = call
        self.out = Output(call)
        self.style = Style()
        self.bail = False
        self.readonly = False
        self.headers_set = False
        self.target: str | None = None
        """The file that output goes to."""
        self.mark = 0
        self.once = 0
        self.file = ":memory:"
        self.before = b""
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.steps = 0
        self.database.set_progress_handler(self.tick, 1000)

    def close(self) -> None:
        self.database.close()

    # --- the command line

    def main(self) -> None:
        words, commands = list(self.call.argv), []
        operands: list[str] = []
        while words:
            word = words.pop(0)
            if not word.startswith("-") or word == "-":
                operands.append(word)
                continue
            option = word if not word.startswith("--") else word[1:]
            if option in _FLAGS:
                self.mode(_FLAGS[option], quiet=True)
            elif option in ("-header", "-noheader"):
                self.style.headers = option == "-header"
            elif option in ("-separator", "-nullvalue", "-newline", "-cmd", "-init") and words:
                value = words.pop(0)
                if option == "-cmd":
                    commands.append(value)
                elif option == "-init":
                    self.call.unknown("-init")
                else:
                    field = {"-separator": "separator", "-nullvalue": "null", "-newline": "newline"}[option]
                    setattr(self.style, field, _escaped(value))
            elif option == "-bail":
                self.bail = True
            elif option == "-readonly":
                self.readonly = True
            elif option == "-echo" and words[1:]:
                continue
            elif option in _OTHER:
                self.call.unknown(f"the option {word}")
            elif option != "-batch":
                self.out.raw(f"sqlite3: Error: unknown option: {option}\nUse -help for a list of options.\n")
                self.out.status = 1
                raise _Stop
        if operands:
            self.file = operands.pop(0)
        if self.call.env.get("HOME") and self.call.files.exists(f"{self.call.env['HOME']}/.sqliterc"):
            self.call.unknown("a start file")
        self.open()
        if self.readonly:
            self.database.execute("pragma query_only = on")
        for command in commands:
            self.argument(command)
        if operands:
            for command in operands:
                self.argument(command)
        else:
            if self.call.stdin is None:
                self.call.unknown("a terminal or nothing as input")
            self.script(stdin(self.call).decode("utf-8", "replace"))
        self.save()

    def open(self) -> None:
        if self.file in (":memory:", ""):
            return
        try:
            data = read(self.call, self.file) if self.call.files.exists(self.file) else b""
        except IsADirectoryError:
            self.cannot_open()
        except OSError:
            self.call.unknown("a database that cannot be read")
        place = posixpath.dirname(self.call.files.absolute(self.file))
        if not data and not self.call.files.exists(self.file) and (self.readonly or not self.call.files.exists(place)):
            self.cannot_open()
        self.before = data
        if data:
            if not data.startswith(b"SQLite format 3\0"):
                return
            if data[18:20] == b"\2\2":
                self.call.unknown("a write-ahead log")
            self.database.deserialize(data)

    def cannot_open(self) -> NoReturn:
        self.out.raw(f'Error: unable to open database "{self.file}": unable to open database file\n')
        self.out.status = 1
        raise _Stop

    def tick(self) -> int:
        self.steps += 1000
        return int(self.steps > _STEPS)

    def save(self) -> None:
        self.settle()
        if self.file in (":memory:", ""):
            return
        if self.before and not self.before.startswith(b"SQLite format 3\0"):
            return
        if not self.before and not self.database.execute("select count(*) from sqlite_master").fetchone()[0]:
            data = b""
        else:
            data = self.database.serialize()
        if data == self.before and self.call.files.exists(self.file):
            return
        try:
            self.call.files.write(self.file, data)
        except OSError:
            self.call.unknown("a database that cannot be written")

    # --- input

    def argument(self, text: str) -> None:
        if text.startswith("."):
            self.dot(text, None)
            self.count()
        else:
            self.sql(text, None)

    def script(self, text: str) -> None:
        pending, first = "", 1
        for number, line in enumerate(text.split("\n"), 1):
            if not pending.strip() and line.startswith("."):
                self.dot(line, number)
                self.count()
                pending = ""
                continue
            if not pending.strip():
                pending, first = "", number
                if not line.strip() or line.startswith("#"):
                    continue
            pending += line + "\n"
            if sqlite3.complete_statement(pending):
                self.sql(pending[:-1], first)
                self.once = min(self.once, 1)
                self.count()
                pending = ""
        if pending.strip():
            self.sql(pending.removesuffix("\n"), first)

    # --- SQL

    def statements(self, text: str) -> list[str]:
        parts: list[str] = []
        current = ""
        for piece in re.split(r"(;)", text):
            current += piece
            if piece == ";" and sqlite3.complete_statement(current):
                parts.append(current)
                current = ""
        return [*parts, current] if current.strip() else parts

    def sql(self, text: str, line: int | None) -> None:
        if _VOLATILE.search(text):
            self.call.unknown("what this SQL gives")
        if self.before and not self.before.startswith(b"SQLite format 3\0"):
            self.fail("file is not a database (26)", 26, "in prepare, ", line)
            return
        text = self.now(text)
        at = 0
        for statement in self.statements(text):
            at = text.index(statement, at)
            skipped = len(statement) - len(statement.lstrip()) if at else 0
            rest = text[at + skipped :]
            at += len(statement)
            if not self.statement(statement[skipped:], rest, line):
                return

    def now(self, text: str) -> str:
        """Put the virtual time where SQL asks for the present."""
        moment = self.call.now.astimezone(UTC)
        text = re.sub(r"""(['"])now\1""", f"'{moment:%Y-%m-%d %H:%M:%S}'", text, flags=re.I)
        text = _PRESENT.sub(rf"\1('{moment:%Y-%m-%d %H:%M:%S}')", text)
        if re.search(r"\bcurrent_(?:date|time|timestamp)\b", text, re.I):
            if re.search(r"\bcreate\b", text, re.I):
                return text
            text = re.sub(r"\bcurrent_timestamp\b", f"'{moment:%Y-%m-%d %H:%M:%S}'", text, flags=re.I)
            text = re.sub(r"\bcurrent_date\b", f"'{moment:%Y-%m-%d}'", text, flags=re.I)
            text = re.sub(r"\bcurrent_time\b", f"'{moment:%H:%M:%S}'", text, flags=re.I)
        return text

    def statement(self, statement: str, rest: str, line: int | None) -> bool:
        if re.search(r"\binsert\b|\bupdate\b", statement, re.I) and self.default_now():
            self.call.unknown("a column that takes the present time")
        explained = re.match(r"\s*explain\b(\s+query\s+plan\b)?", statement, re.I)
        if explained is not None and not explained[1]:
            self.call.unknown("EXPLAIN")
        try:
            cursor = self.database.execute(statement)
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
                self.call.unknown("a long query")
            self.report(error, statement, rest, line)
            return False
        except (sqlite3.Warning, UnicodeError, ValueError):
            self.call.unknown("this SQL")
        if explained is not None:
            self.out.write(("QUERY PLAN\n" + plan_text(rows, 0, "")).encode())
        elif cursor.description and rows:
            names = [column[0] for column in cursor.description]
            self.out.write(rows_text(self.style, names, rows).encode("utf-8", "surrogateescape"))
        return True

    def default_now(self) -> bool:
        found = self.database.execute(
            "select count(*) from sqlite_master where sql like '%current_time%' or sql like '%current_date%'"
            " or sql like '%''now''%'"
        ).fetchone()
        return bool(found[0])

    def report(self, error: sqlite3.Error, statement: str, rest: str, line: int | None) -> None:
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        if str(error).startswith("cannot store "):
            name = "SQLITE_CONSTRAINT_DATATYPE"
        code = next((number for key, number in _ERRORS.items() if name.startswith(key)), 0)
        if not code:
            self.call.unknown(f"the error {name}")
        message = str(error)
        if code == 1:
            try:
                place = offset_of(self.database, message, statement)
            except LookupError:
                self.call.unknown("where the error is shown")
            message += (" (17)" if name == "SQLITE_SCHEMA" else "") + context(rest, place)
            self.fail(message, 1, "in prepare, ", line)
        else:
            self.fail(f"{message} ({code})", code, "stepping, ", line)

    def fail(self, message: str, code: int, phase: str, line: int | None) -> None:
        if line is None:
            self.out.raw(f"Error: {phase}{message}\n")
            self.out.status = code
            raise _StopSaved(self)
        kind = "Parse error" if phase == "in prepare, " else "Runtime error"
        self.out.raw(f"{kind} near line {line}: {message}\n")
        self.out.status = 1
        if self.bail:
            raise _StopSaved(self)

    # --- dot commands

    def mode(self, name: str, *, quiet: bool = False) -> None:
        """Change the way of printing; `quiet` is the option of the command line, which leaves headers alone."""
        self.style.mode = name
        if name == "ascii":
            self.style.separator, self.style.newline = "\x1f", "\x1e"
        if name == "csv":
            self.style.separator, self.style.newline = ",", "\n" if quiet else "\r\n"
        elif name in ("list", "tabs"):
            self.style.separator, self.style.newline = "|" if name == "list" else "\t", "\n"
        elif name == "column" and not quiet and not self.headers_set:
            self.style.headers = True

    def dot(self, text: str, line: int | None) -> None:
        try:
            words = shlex.split(text[1:])
        except ValueError:
            self.call.unknown("a dot command with odd quotes")
        name, arguments = words[0] if words else "", words[1:]
        looks = {"tables": tables, "schema": schema, "dump": dump, "indexes": indexes, "indices": indexes}
        if name in ("quit", "exit", "q"):
            if arguments and name == "exit":
                self.out.status = int(arguments[0]) if arguments[0].isdigit() else self.out.status
            raise _StopSaved(self)
        if name in ("headers", "header", "head") and arguments:
            self.style.headers = arguments[0].lower() in ("on", "yes", "1", "true")
            if not self.style.headers and arguments[0].lower() not in ("off", "no", "0", "false"):
                self.out.raw(f'ERROR: Not a boolean value: "{arguments[0]}". Assuming "no".\n')
            self.headers_set = True
        elif name == "mode" and arguments and arguments[0] in MODES and len(arguments) <= 2:
            self.mode(arguments[0])
            if len(arguments) == 2:
                self.style.table = arguments[1]
        elif name == "separator" and arguments:
            self.style.separator = _escaped(arguments[0])
        elif name == "nullvalue" and arguments:
            self.style.null = arguments[0]
        elif name == "print":
            self.out.line(" ".join(arguments).encode())
        elif name == "bail" and arguments:
            self.bail = arguments[0] == "on"
        elif name == "read" and len(arguments) == 1 and not arguments[0].startswith("|"):
            if not self.call.files.exists(arguments[0]):
                self.complain(f'cannot open "{arguments[0]}"', line)
                return
            self.script(read(self.call, arguments[0]).decode())
        elif name in looks:
            looks[name](self.call, self.database, self.out, arguments)
        elif name == "import":
            named = len(arguments) == 2 and not arguments[0].startswith(("|", "-"))
            if named and not self.call.files.exists(arguments[0]):
                self.complain(f'cannot open "{arguments[0]}"', line)
                return
            if self.style.mode == "csv" and self.style.newline == "\r\n" and not {"--csv", "-csv"} & set(arguments):
                # Reading takes the ends of lines for its own, and leaves them so.
                self.style.newline = "\n"
            load(self.call, self.database, self.style, arguments)
        elif name == "mode" and len(arguments) == 1 and not arguments[0].startswith("-"):
            if any(word.startswith(arguments[0]) for word in (*_MODES, "tcl", "qbox")):
                self.call.unknown(f"the mode {arguments[0]}")
            self.complain(f"mode should be one of: {' '.join(_MODES)}", line)
        elif name in ("output", "once") and len(arguments) <= 1 and arguments[:1] != ["-e"]:
            self.redirect(arguments[0] if arguments else None, once=name == "once")
        elif name in ("backup", "save") and len(arguments) == 1:
            if not self.database.execute("select count(*) from sqlite_master").fetchone()[0]:
                self.call.unknown("a copy of an empty database")
            self.call.files.write(arguments[0], self.database.serialize())
        elif name == "databases" and not arguments:
            shown = self.call.files.absolute(self.file) if self.file not in ("", ":memory:") else '""'
            self.out.line(f"main: {shown} r/{'o' if self.readonly else 'w'}".encode())
        elif name == "show" and not arguments and self.style.mode not in ("column", "box", "table", "markdown"):
            self.show()
        elif name == "changes" and line is None:
            pass
        elif any(command.startswith(name) for command in _DOTS) or not name:
            self.call.unknown(f"the command .{name}")
        else:
            self.complain(f'unknown command or invalid arguments:  "{name}". Enter ".help" for help', line)

    def complain(self, message: str, line: int | None) -> None:
        """Say what is wrong with a dot command; in arguments it ends the shell."""
        self.out.raw(f"Error: {message}\n")
        self.out.status = 1
        if line is None or self.bail:
            raise _StopSaved(self)

    def redirect(self, name: str | None, *, once: bool) -> None:
        """Send what follows to a file, or back to the output."""
        self.settle()
        if name in (None, "stdout"):
            return
        if name is None or name.startswith("|") or name == "off":
            self.call.unknown("output to a command")
        self.target, self.mark, self.once = name, len(self.out.data), 2 if once else 0

    def settle(self) -> None:
        """Write what was sent to a file."""
        if self.target is None:
            return
        data = b"".join(self.out.data[self.mark :])
        del self.out.data[self.mark :]
        target, self.target = self.target, None
        try:
            self.call.files.write(target, data)
        except OSError:
            self.call.unknown("output to what cannot be written")

    def count(self) -> None:
        """One input is done; `.once` ends with the one after it."""
        if self.once:
            self.once -= 1
            if not self.once:
                self.settle()

    def show(self) -> None:
        style = self.style
        rows = {
            "echo": "off", "eqp": "off", "explain": "auto", "headers": "on" if style.headers else "off",
            "mode": style.mode if style.mode != "insert" else "", "nullvalue": _c_string(style.null),
            "output": "stdout", "colseparator": _c_string(style.separator),
            "rowseparator": _c_string(style.newline), "stats": "off",
            "width": "", "filename": self.file or ":memory:",
        }  # fmt: skip
        if not rows["mode"] or self.target is not None:
            self.call.unknown("the settings")
        for name, value in rows.items():
            self.out.line(f"{name:>12}: {value}".encode())


class _StopSaved(_Stop):
    """Ends the shell after its database is written."""

    def __init__(self, shell: _Shell) -> None:
        super().__init__()
        shell.save()


def _c_string(text: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
    return '"' + "".join(named.get(char) or (char if char >= " " else f"\\{ord(char):03o}") for char in text) + '"'


def _escaped(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n")


COMMANDS: dict[str, Builtin] = {"sqlite3": sqlite}
