"""The tools of both families, as their schemas."""

from __future__ import annotations

from typing import Any

from worldline.types import ToolSpec

__all__ = ["EDITOR_TOOLS", "ENVELOPE_TOOLS", "PLAIN_COMMAND", "family_tools"]

PLAIN_COMMAND = "bash"
"""A tool that no agent has: a plain command in the root, answered by its output and status. Verifiers ask by it, and
people who play."""

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_TRUTH = {"type": "boolean"}


def _tool(name: str, about: str, required: str, /, **properties: dict[str, Any]) -> ToolSpec:
    named = {key.replace("opt_", "-"): value for key, value in properties.items()}
    schema = {"type": "object", "properties": named, "required": required.split()}
    return ToolSpec(name=name, description=about, parameters=schema)


def _of(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


_PATH = _of(_TEXT, "Absolute path of the file")

EDITOR_TOOLS = (
    _tool(
        "Read",
        "Read a file; lines come behind their numbers, 2000 at most.",
        "file_path",
        file_path=_PATH,
        offset=_of(_NUMBER, "First line, counted from 1"),
        limit=_of(_NUMBER, "How many lines"),
    ),
    _tool(
        "Write",
        "Write a whole file. A file that is there must have been read first.",
        "file_path content",
        file_path=_PATH,
        content=_of(_TEXT, "The new content"),
    ),
    _tool(
        "Edit",
        "Replace one text in a file that was read before. The text must stand there once, or replace_all be set.",
        "file_path old_string new_string",
        file_path=_PATH,
        old_string=_of(_TEXT, "What is replaced, to the blank"),
        new_string=_of(_TEXT, "What stands there instead"),
        replace_all=_of(_TRUTH, "Replace every occurrence"),
    ),
    _tool(
        "Glob",
        "Find files by a pattern such as `**/*.py`.",
        "pattern",
        pattern=_of(_TEXT, "The pattern"),
        path=_of(_TEXT, "Folder to look in; default the working directory"),
    ),
    _tool(
        "Grep",
        "Search the contents of files by a Perl regular expression.",
        "pattern",
        pattern=_of(_TEXT, "The regular expression"),
        path=_of(_TEXT, "File or folder to search; default the working directory"),
        glob=_of(_TEXT, "Only files whose name fits, such as `*.py`"),
        output_mode={
            "type": "string",
            "enum": ["content", "files_with_matches", "count"],
            "description": "Lines, names (default) or counts",
        },
        opt_i=_of(_TRUTH, "Ignore case"),
        opt_n=_of(_TRUTH, "Show line numbers (default)"),
        opt_A=_of(_NUMBER, "Lines shown after a match"),
        opt_B=_of(_NUMBER, "Lines shown before a match"),
        opt_C=_of(_NUMBER, "Lines shown around a match"),
        head_limit=_of(_NUMBER, "At most so many lines or names"),
    ),
    _tool(
        "Bash",
        "Run a bash command. The working directory stays for the next one, variables do not.",
        "command",
        command=_of(_TEXT, "The command"),
        timeout=_of(_NUMBER, "Milliseconds, 120000 at most"),
        description=_of(_TEXT, "What it does, in a few words"),
    ),
)
"""Tools of the family `editor`."""

ENVELOPE_TOOLS = (
    _tool(
        "read_file",
        "Read a file of the workspace as it is.",
        "absolute_path",
        absolute_path=_PATH,
        offset=_of(_NUMBER, "Lines to leave out at the start"),
        limit=_of(_NUMBER, "How many lines"),
    ),
    _tool(
        "write_file",
        "Write a whole file of the workspace.",
        "file_path content",
        file_path=_PATH,
        content=_of(_TEXT, "The new content"),
    ),
    _tool(
        "edit",
        "Replace a text in a file; an empty old_string creates the file.",
        "file_path old_string new_string",
        file_path=_PATH,
        old_string=_of(_TEXT, "What is replaced, to the blank"),
        new_string=_of(_TEXT, "What stands there instead"),
        expected_replacements=_of(_NUMBER, "How often it stands there; default 1"),
    ),
    _tool(
        "list_directory",
        "List a folder of the workspace, folders first.",
        "path",
        path=_of(_TEXT, "Absolute path of the folder"),
        ignore={"type": "array", "items": _TEXT, "description": "Patterns of names to leave out"},
    ),
    _tool(
        "glob",
        "Find files by a pattern such as `src/**/*.py`, letter case aside.",
        "pattern",
        pattern=_of(_TEXT, "The pattern"),
        path=_of(_TEXT, "Folder to look in; default the workspace"),
        case_sensitive=_of(_TRUTH, "Mind the letter case"),
    ),
    _tool(
        "search_file_content",
        "Search the contents of files by an extended regular expression, letter case aside.",
        "pattern",
        pattern=_of(_TEXT, "The regular expression"),
        path=_of(_TEXT, "Folder to search; default the workspace"),
        include=_of(_TEXT, "Only files that fit a pattern, such as `*.py`"),
    ),
    _tool(
        "run_shell_command",
        "Run a command as `bash -c` does, in the workspace.",
        "command",
        command=_of(_TEXT, "The command"),
        directory=_of(_TEXT, "Folder to run it in, relative to the workspace"),
        description=_of(_TEXT, "What it does, in a few words"),
    ),
)
"""Tools of the family `envelope`."""


def family_tools(family: str) -> tuple[ToolSpec, ...]:
    """The tools of a family."""
    return ENVELOPE_TOOLS if family == "envelope" else EDITOR_TOOLS
