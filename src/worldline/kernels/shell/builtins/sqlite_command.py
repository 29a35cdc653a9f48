"""`sqlite3`: the shell of SQLite over a database held in memory."""

from __future__ import annotations

import re
import shlex
import sqlite3
from datetime import UTC

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.sqlite_dots import dump, load, schema, tables
from worldline.kernels.shell.builtins.sqlite_output import MODES, Style, UnknownStyle, rows_text
from worldline.kernels.shell.builtins.textio import Output, read, stdin

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
    r"\brandom(?:blob)?\s*\(|sqlite_(?:version|source_id)|\battach\b|\bvacuum\b|load_extension", re.IGNORECASE
)
_PRESENT = re.compile(r"\b(date|time|datetime|julianday|unixepoch)\s*\(\s*\)", re.IGNORECASE)
_STEPS = 2_000_000


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
                self.mode(_FLAGS[option])
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
            elif option not in ("-batch",):
                self.call.unknown(f"the option {word}")
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
        except OSError:
            self.call.unknown("a database that cannot be read")
        self.before = data
        if data:
            if not data.startswith(b"SQLite format 3\0"):
                return
            if data[18:20] == b"\2\2":
                self.call.unknown("a write-ahead log")
            self.database.deserialize(data)

    def tick(self) -> int:
        self.steps += 1000
        return int(self.steps > _STEPS)

    def save(self) -> None:
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
        else:
            self.sql(text, None)

    def script(self, text: str) -> None:
        pending, first = "", 1
        for number, line in enumerate(text.split("\n"), 1):
            if not pending.strip() and line.startswith("."):
                self.dot(line, number)
                pending = ""
                continue
            if not pending.strip():
                pending, first = "", number
                if not line.strip() or line.startswith("#"):
                    continue
            pending += line + "\n"
            if sqlite3.complete_statement(pending):
                self.sql(pending, first)
                pending = ""
        if pending.strip():
            self.sql(pending, first)

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
            self.fail("file is not a database", 26, "in prepare, ", line)
            return
        for statement in self.statements(self.now(text)):
            if not self.statement(statement, text, line):
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

    def statement(self, statement: str, text: str, line: int | None) -> bool:
        if re.search(r"\binsert\b|\bupdate\b", statement, re.I) and self.default_now():
            self.call.unknown("a column that takes the present time")
        if re.match(r"\s*explain\b", statement, re.I):
            self.call.unknown("EXPLAIN")
        try:
            cursor = self.database.execute(statement)
            rows = cursor.fetchall()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
                self.call.unknown("a long query")
            self.report(error, statement, text, line)
            return False
        except (sqlite3.Warning, UnicodeError, ValueError):
            self.call.unknown("this SQL")
        if cursor.description and rows:
            names = [column[0] for column in cursor.description]
            self.out.write(rows_text(self.style, names, rows).encode("utf-8", "surrogateescape"))
        return True

    def default_now(self) -> bool:
        found = self.database.execute(
            "select count(*) from sqlite_master where sql like '%current_time%' or sql like '%current_date%'"
            " or sql like '%''now''%'"
        ).fetchone()
        return bool(found[0])

    def report(self, error: sqlite3.Error, statement: str, text: str, line: int | None) -> None:
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        code = next((number for key, number in _ERRORS.items() if name.startswith(key)), 0)
        if not code:
            self.call.unknown(f"the error {name}")
        message = str(error)
        if code == 1:
            message += (" (17)" if name == "SQLITE_SCHEMA" else "") + self.context(message, statement)
            self.fail(message, 1, "in prepare, ", line)
        else:
            self.fail(f"{message} ({code})", code, "stepping, ", line)

    def context(self, message: str, statement: str) -> str:
        """The excerpt that points at a syntax error."""
        found = re.match(r'near "(.*)": syntax error', message, re.S)
        if message == "incomplete input":
            if "\n" in statement.strip() or len(statement) > 70:
                self.call.unknown("where the error is shown")
            at = len(statement.rstrip("\n"))
            return f"\n  {statement.rstrip(chr(10))}\n  {self.arrow(at)}"
        if found is None:
            column = re.match(r"no such column: (.*)", message)
            token = column[1] if column else None
            if token is None:
                return ""
        else:
            token = found[1]
        clean = statement.rstrip("\n")
        places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(token)}(?!\w)", clean)]
        if len(places) != 1 or "\n" in clean or len(clean) > 75:
            self.call.unknown("where the error is shown")
        return f"\n  {clean}\n  {self.arrow(places[0])}"

    def arrow(self, at: int) -> str:
        return f"{' ' * at}^--- error here" if at < 25 else f"{' ' * (at - 14)}error here ---^"

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

    def mode(self, name: str) -> None:
        self.style.mode = name
        if name == "csv":
            self.style.separator, self.style.newline = ",", "\n"
        elif name in ("list", "tabs"):
            self.style.separator, self.style.newline = "|" if name == "list" else "\t", "\n"
        elif name in ("column", "box", "table", "markdown"):
            self.style.headers = True

    def dot(self, text: str, line: int | None) -> None:
        try:
            words = shlex.split(text[1:])
        except ValueError:
            self.call.unknown("a dot command with odd quotes")
        name, arguments = words[0] if words else "", words[1:]
        looks = {"tables": tables, "schema": schema, "dump": dump}
        if name in ("quit", "exit", "q") and not arguments:
            raise _StopSaved(self)
        if name in ("headers", "header", "head") and arguments:
            self.style.headers = arguments[0].lower() in ("on", "yes", "1", "true")
        elif name == "mode" and arguments and arguments[0] in MODES and len(arguments) <= 2:
            self.mode(arguments[0])
            if arguments[0] == "csv" and line is not None:
                self.style.newline = "\n"
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
                self.call.unknown("a script that is not there")
            self.script(read(self.call, arguments[0]).decode())
        elif name in looks:
            looks[name](self.call, self.database, self.out, arguments)
        elif name == "import":
            load(self.call, self.database, self.style, arguments)
        else:
            self.call.unknown(f"the command .{name}")


class _StopSaved(_Stop):
    """Ends the shell after its database is written."""

    def __init__(self, shell: _Shell) -> None:
        super().__init__()
        shell.save()


def _escaped(text: str) -> str:
    return text.replace("\\t", "\t").replace("\\n", "\n")


COMMANDS: dict[str, Builtin] = {"sqlite3": sqlite}
