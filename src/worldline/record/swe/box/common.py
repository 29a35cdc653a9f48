"""What all tools share: refusals, arguments that do not fit, lines and files."""

import errno
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "MOST_FOUND",
    "MOST_LINES",
    "PICTURES",
    "Refused",
    "digest",
    "environment",
    "failure",
    "first_issue",
    "issues",
    "line_shown",
    "matching",
    "numbered",
    "shortened",
    "split_lines",
    "store",
]

MOST_LINES = 2000
MOST_LINE = 2000
MOST_OUTPUT = 30000
MOST_FOUND = 100
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".zip", ".gz", ".so", ".pyc")

_KINDS: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict}
_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", list: "array", dict: "object"}
_RELATIVE = {("path", "glob"), ("path", "search_file_content")}
"""Arguments that may be relative to the workspace."""


class Refused(Exception):
    """The tool answers with an error."""


def environment() -> dict[str, str]:
    """What commands get as their environment."""
    return {name: value for name, value in os.environ.items() if name != "_"}


def failure(error: OSError) -> str:
    """What the system refused, in the words of Node, as the tools speak."""
    name = errno.errorcode.get(error.errno or 0, "EIO")
    told = (error.strerror or "input/output error").lower()
    return f"{name}: {told}" + (f", '{error.filename}'" if error.filename else "")


# --- arguments


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a kind of JSON schema."""
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def issues(name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What is wrong with the arguments, in the words of the editor family; empty where nothing is."""
    properties = schema["properties"]
    found = [f"The required parameter `{key}` is missing" for key in schema.get("required", ()) if key not in arguments]
    for key, value in arguments.items():
        if key not in properties:
            found.append(f"An unexpected parameter `{key}` was provided")
        elif not fits(value, properties[key]["type"]):
            wanted, told = properties[key]["type"], _NAMES.get(type(value), "null")
            found.append(f"The parameter `{key}` type is expected as `{wanted}` but provided as `{told}`")
        elif "enum" in properties[key] and value not in properties[key]["enum"]:
            found.append(f"The parameter `{key}` must be one of {', '.join(properties[key]['enum'])}")
    if not found:
        return ""
    word = "issue" if len(found) == 1 else "issues"
    return "\n".join([f"{name} failed due to the following {word}:", *found])


def first_issue(name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The first thing that is wrong with the arguments, in the words of the envelope family."""
    for key in schema.get("required", ()):
        if key not in arguments:
            return f"params must have required property '{key}'"
    for key, rule in schema["properties"].items():
        if key in arguments and not fits(arguments[key], rule["type"]):
            return f"params/{key} must be {rule['type']}"
    for key in ("absolute_path", "file_path", "path"):
        if key in arguments and not arguments[key].startswith("/") and (key, name) not in _RELATIVE:
            what = "Path" if key == "path" else "File path"
            return f"{what} must be absolute, but was relative: {arguments[key]}. You must provide an absolute path."
    return ""


# --- texts


def digest(data: bytes) -> str:
    """Hash of a content."""
    return hashlib.sha256(data).hexdigest()


def split_lines(text: str) -> list[str]:
    """Lines as an editor counts them: a final newline ends the last one."""
    return (text[:-1] if text.endswith("\n") else text).split("\n")


def line_shown(line: str) -> str:
    """A line at most as long as it is shown."""
    return line[:MOST_LINE] + "... [truncated]" if len(line) > MOST_LINE else line


def numbered(lines: Sequence[str], first: int) -> str:
    """Lines behind their numbers, as `cat -n` with an arrow."""
    return "\n".join(f"{number:6d}\u2192{line_shown(line)}" for number, line in enumerate(lines, first))


def shortened(text: str) -> str:
    """Leave out the middle of a long output."""
    if len(text) <= MOST_OUTPUT:
        return text
    half = MOST_OUTPUT // 2
    left = text[half:-half].count("\n")
    return f"{text[:half]}\n\n... [{left} lines truncated] ...\n\n{text[-half:]}"


# --- files


def store(path: str, data: bytes) -> None:
    """Write a file, making its folders."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    except PermissionError:
        raise Refused(f"EACCES: permission denied, open '{path}'") from None
    except (NotADirectoryError, FileExistsError):
        raise Refused(f"ENOTDIR: not a directory, open '{path}'") from None
    except OSError as error:
        raise Refused(f"{error.strerror}: '{path}'") from None


def matching(top: str, pattern: str, fold: bool = False) -> list[str]:
    """Files below a folder that match a glob pattern, by path; `**` stands for any folders."""
    if pattern.startswith("/"):
        prefix = top.rstrip("/") + "/"
        pattern = pattern[len(prefix) :] if pattern.startswith(prefix) else "\0"
    wanted = re.compile(_glob_regex(pattern), re.DOTALL | (re.IGNORECASE if fold else re.NOFLAG))
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", "node_modules", "__pycache__")]
        for name in names:
            path = os.path.join(folder, name)
            if wanted.fullmatch(os.path.relpath(path, top)):
                found.append(path)
    return sorted(found)


def _glob_regex(pattern: str) -> str:
    """A glob pattern with `**`, `{a,b}`, `*`, `?` and `[...]` as a regular expression."""
    out, at, depth = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at):
            out, at = out + "(?:[^/]+/)*", at + 3
            continue
        if pattern.startswith("**", at):
            out, at = out + ".*", at + 2
            continue
        end = pattern.find("]", at + 2) if char == "[" else -1
        if end > 0:
            body = pattern[at + 1 : end]
            out += "[" + ("^" + body[1:] if body[0] in "!^" else body).replace("\\", "\\\\") + "]"
            at = end
        elif char in "{}" and (depth or (char == "{" and "}" in pattern[at:])):
            out, depth = out + ("(?:" if char == "{" else ")"), depth + (1 if char == "{" else -1)
        elif char == "," and depth:
            out += "|"
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char))
        at += 1
    return out
