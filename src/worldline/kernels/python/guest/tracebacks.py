"""Tracebacks as CPython 3.11 prints them."""

# This is the layer that stands in for the file system, so it speaks `os`; and a script may raise anything.
# ruff: noqa: PTH120

from __future__ import annotations

import ast
import io
import itertools
import json
import linecache
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .frames import Entry, abstain, entries
from .processes import HIDDEN
from .suggestions import suggestion
from .uncaught import attempt

__all__ = [
    "LIBRARY",
    "format_error",
    "format_syntax_error",
    "library_lines",
    "line_key",
    "read_library",
    "started_by_name",
    "traceback_functions",
    "unittest_text",
]

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"
_REPEATS = 3
LIBRARY = [
    "json/__init__.py",
    "json/decoder.py",
    "json/encoder.py",
    "enum.py",
    "_strptime.py",
    "statistics.py",
    "pathlib.py",
    "random.py",
    "configparser.py",
    "os.py",
    "shutil.py",
    "contextlib.py",
    "copy.py",
    "functools.py",
    "collections/__init__.py",
    "csv.py",
    "string.py",
    "fractions.py",
    "base64.py",
    "calendar.py",
    "ast.py",
    "re/__init__.py",
    "re/_compiler.py",
    "re/_parser.py",
    "urllib/parse.py",
    "textwrap.py",
    "dataclasses.py",
    "typing.py",
    "argparse.py",
    "tomllib/_parser.py",
    "unittest/case.py",
    "codecs.py",
    "uuid.py",
    "_collections_abc.py",
    "types.py",
    "html/parser.py",
    "xml/etree/ElementTree.py",
    "shlex.py",
    "zipfile.py",
    "gzip.py",
    "glob.py",
    "cmd.py",
    "genericpath.py",
    "posixpath.py",
    "bisect.py",
    "heapq.py",
    "queue.py",
    "graphlib.py",
    "difflib.py",
    "pprint.py",
    "operator.py",
    "numbers.py",
    "hmac.py",
]
"""Library files whose frames can be shown."""


def format_error(error: BaseException) -> str:
    """The whole text for an exception and what led to it."""
    if isinstance(error, BaseExceptionGroup):
        abstain("a group of exceptions")
    if hasattr(error, HIDDEN):
        abstain("a traceback through the library module subprocess")
    return "".join(_chain(error, set()))


def _chain(error: BaseException, seen: set[int]) -> list[str]:
    seen.add(id(error))
    parts: list[str] = []
    cause, context = error.__cause__, error.__context__
    if cause is not None and id(cause) not in seen:
        parts += [*_chain(cause, seen), _CAUSE]
    elif cause is None and context is not None and not error.__suppress_context__ and id(context) not in seen:
        parts += [*_chain(context, seen), _CONTEXT]
    found = entries(error)
    if found:
        parts.append("Traceback (most recent call last):\n")
        parts += format_entries(found)
    parts += format_only(error)
    return parts


def format_entries(found: list[Entry]) -> list[str]:
    """The lines for frames, repeated ones collapsed."""
    lines: list[str] = []
    for _, group in itertools.groupby(found, key=lambda entry: (entry.filename, entry.line, entry.name)):
        same = list(group)
        lines += [_format_entry(entry) for entry in same[:_REPEATS]]
        more = len(same) - _REPEATS
        if more > 0:
            lines.append(f"  [Previous line repeated {more} more time{'s' if more != 1 else ''}]\n")
    return lines


def _format_entry(entry: Entry) -> str:
    entry = library_entry(entry)
    text = f'  File "{entry.filename}", line {entry.line}, in {entry.name}\n'
    if not entry.text or not entry.text.strip():
        return text
    stripped = entry.text.strip()
    return f"{text}    {stripped}\n{_carets(entry, stripped)}"


def _carets(entry: Entry, stripped: str) -> str:
    if entry.column is None or entry.end_column is None or entry.text is None:
        return ""
    line = entry.text
    start = _characters(line, entry.column)
    indent = len(line) - len(line.lstrip())
    anchors = None
    if entry.end_line == entry.line:
        end = _characters(line, entry.end_column)
        anchors = _anchors(line[start:end])
    else:
        end = len(line.rstrip())
    if end - start >= len(stripped) and anchors is None:
        return ""
    lead = "    " + " " * (start - indent)
    if anchors is None:
        return f"{lead}{'^' * (end - start)}\n"
    left, right = anchors
    return f"{lead}{'~' * left}{'^' * (right - left)}{'~' * (end - start - right)}\n"


def _characters(line: str, offset: int) -> int:
    return len(line.encode("utf-8")[:offset].decode("utf-8", "replace"))


def _anchors(segment: str) -> tuple[int, int] | None:
    """Where the operator of a binary operation, or the brackets of a subscript, stand in a segment."""
    try:
        tree = ast.parse(segment)
    except SyntaxError:
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    value = tree.body[0].value
    if isinstance(value, ast.BinOp):
        return _operator_anchors(segment, value)
    if isinstance(value, ast.Subscript):
        left = _characters(segment, value.value.end_col_offset or 0)
        return left, _characters(segment, (value.slice.end_col_offset or 0) + 1)
    return None


def _operator_anchors(segment: str, value: ast.BinOp) -> tuple[int, int]:
    left = _characters(segment, value.left.end_col_offset or 0)
    right = _characters(segment, value.right.col_offset)
    while left < right and segment[left].isspace():
        left += 1
    end = left + 1
    if end < right and not segment[end].isspace():
        end += 1
    return left, end


def format_only(error: BaseException) -> list[str]:
    """The last lines: the kind of the exception and what it says."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("__main__", "builtins"):
        name = f"{kind.__module__}.{name}"
    if isinstance(error, SyntaxError) and error.filename is not None:
        return [_syntax_lines(error), f"{name}: {error.msg}\n"]
    told, _ = attempt(lambda: str(error))
    text = "<exception str() failed>" if told is None else told
    if text.startswith("dict contains fields not in fieldnames: ") and ", " in text:
        abstain("a message that lists a set")
    frame = next((entry.frame for entry in reversed(entries(error)) if entry.frame is not None), None)
    text += suggestion(error, frame)
    lines = [f"{name}: {text}\n" if text else f"{name}\n"]
    lines += [f"{note}\n" for note in getattr(error, "__notes__", ())]
    return lines


def format_syntax_error(error: SyntaxError) -> str:
    """The text for a syntax error of the script itself."""
    return f"{_syntax_lines(error)}{type(error).__qualname__}: {error.msg}\n"


def _syntax_lines(error: SyntaxError) -> str:
    lines = [f'  File "{error.filename or "<string>"}", line {error.lineno}\n']
    if error.text is None:
        return lines[0]
    text = error.text.rstrip("\n")
    shown = text.lstrip(" \n\f")
    lines.append(f"    {shown}\n")
    if error.offset is not None:
        offset, end = error.offset, error.end_offset
        if type(error) is IndentationError:
            end = offset
        end = offset if end in (None, 0) or (error.end_lineno or error.lineno) != error.lineno else end
        if (error.end_lineno or error.lineno) != error.lineno:
            end = len(text) + 1
        if end is None or end <= offset or end == -1:
            end = offset + 1
        spaces = len(text) - len(shown)
        column = offset - 1 - spaces
        if column >= 0:
            lead = "".join(c if c.isspace() else " " for c in shown[:column])
            lines.append(f"    {lead}{'^' * max(1, end - 1 - spaces - column)}\n")
    return "".join(lines)


_LIBRARY: dict[str, dict[str, list[int]]] = {}
"""Where lines of library code stand in Debian's Python 3.11.2, by file and `line_key`; the host's may be another."""


def library_entry(entry: Entry) -> Entry:
    """The entry as the real library would show it; entries of the script are given back unchanged."""
    if entry.frame is not None:
        return entry
    if entry.filename in ("<string>", "<frozen runpy>"):
        return entry
    frozen = entry.filename.startswith("<frozen ")
    name = f"{entry.filename[8:-1].replace('.', '/')}.py" if frozen else _library_name(entry.filename)
    table = _LIBRARY.get(name)
    if table is None:
        abstain(f"a traceback through the library module {name}")
    text = linecache.getlines(f"{os.path.dirname(os.__file__)}/{name}")
    source = text[entry.line - 1].rstrip("\n") if 0 < entry.line <= len(text) else ""
    key = line_key(entry.name, source)
    here, there = library_lines("".join(text)).get(key, []), table.get(key, [])
    if entry.line not in here or len(here) != len(there):
        abstain(f"a traceback through the library module {name}")
    line = there[here.index(entry.line)]
    if frozen:
        return Entry(entry.filename, entry.name, line)
    end_line = line if entry.end_line == entry.line else (entry.end_line or 0) + line - entry.line
    return Entry(f"/usr/lib/python3.11/{name}", entry.name, line, end_line, entry.column, entry.end_column, source)


def line_key(function: str, line: str) -> str:
    """The key of a line of library code in the recorded table."""
    return f"{function}:{zlib.crc32(line.strip().encode()):08x}"


_NAMES = {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>", ast.Lambda: "<lambda>",
          ast.GeneratorExp: "<genexpr>"}  # fmt: skip
_RAISING = (ast.Call, ast.Raise, ast.Subscript, ast.Attribute, ast.BinOp, ast.Yield, ast.For, ast.With, ast.Tuple)


def library_lines(text: str) -> dict[str, list[int]]:
    """Where the lines that can stand in a traceback are, by `line_key`, in a source text."""
    lines = text.split("\n")
    found: dict[str, set[int]] = {}
    for block in ast.walk(ast.parse(text)):
        name = getattr(block, "name", None) if isinstance(block, ast.FunctionDef) else _NAMES.get(type(block))
        if name is None:
            continue
        for node in ast.walk(block):
            if isinstance(node, _RAISING):
                found.setdefault(line_key(name, lines[node.lineno - 1]), set()).add(node.lineno)
    return {key: sorted(places) for key, places in found.items()}


def read_library() -> None:
    """Read the sources of library code that tracebacks go through, before the process is closed off."""
    root = os.path.dirname(os.__file__)
    _LIBRARY.update(json.loads(Path(__file__).parent.with_name("library_lines.json").read_text("utf-8")))
    for name in LIBRARY:
        linecache.getlines(f"{root}/{name}")


def _library_name(path: str) -> str:
    root = os.path.dirname(os.__file__)
    return os.path.relpath(path, root)


def started_by_name(error: BaseException) -> None:
    """Put the frames of `python3 -m` in front of a traceback."""
    entries(error)[:0] = [
        Entry("<frozen runpy>", "_run_module_as_main", 198),
        Entry("<frozen runpy>", "_run_code", 88),
    ]


failed_tests: list[bool] = []
"""Not empty once a test failed: then its run takes longer than what rounds to nothing."""


def unittest_text(error: BaseException, failure: type[BaseException]) -> str:
    """What `unittest` shows for a test that did not pass: the frames of the test, not its own."""
    kept = [entry for entry in entries(error) if entry.frame is not None or "/unittest/" not in entry.filename]
    if error.__cause__ is not None or error.__context__ is not None or isinstance(error, BaseExceptionGroup):
        abstain("a test that failed while it handled another exception")
    head = ["Traceback (most recent call last):\n", *format_entries(kept)] if kept else []
    del failure
    failed_tests.append(True)
    return "".join([*head, *format_only(error)])


def traceback_functions() -> dict[str, Callable[..., Any]]:
    """What a script finds in the module `traceback`."""

    def current() -> BaseException | None:
        return sys.exc_info()[1]

    def format_exc(limit: Any = None, chain: bool = True) -> str:
        error = current()
        return format_error(error) if error is not None else "NoneType: None\n"

    def print_exc(limit: Any = None, file: Any = None, chain: bool = True) -> None:
        print(format_exc(), file=file or sys.stderr, end="")

    def format_exception(exc: Any, value: Any = None, tb: Any = None, **kwargs: Any) -> list[str]:
        error = value if value is not None else exc
        return io.StringIO(format_error(error)).readlines()

    def print_exception(exc: Any, value: Any = None, tb: Any = None, **kwargs: Any) -> None:
        error = value if value is not None else exc
        print(format_error(error), file=kwargs.get("file") or sys.stderr, end="")

    def format_exception_only(exc: Any, value: Any = None) -> list[str]:
        return format_only(value if value is not None else exc)

    def refuse(name: str) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            abstain(f"traceback.{name}")

        return function

    names = [
        "print_tb",
        "extract_tb",
        "format_tb",
        "walk_tb",
        "print_stack",
        "extract_stack",
        "format_stack",
        "TracebackException",
        "StackSummary",
        "FrameSummary",
        "format_list",
        "print_last",
        "clear_frames",
    ]
    made: dict[str, Callable[..., Any]] = {name: refuse(name) for name in names}
    ours = (format_exc, print_exc, format_exception, print_exception, format_exception_only)
    made |= {f.__name__: f for f in ours}
    return made
