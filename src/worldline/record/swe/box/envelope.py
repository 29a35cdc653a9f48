"""The envelope family: read_file, write_file, edit, list_directory, glob, search_file_content, run_shell_command."""

import fnmatch
import os
import re
import subprocess
from collections.abc import Sequence

from worldline.record.swe.box.common import (
    MOST_FOUND,
    MOST_LINES,
    PICTURES,
    Refused,
    environment,
    line_shown,
    matching,
    shortened,
    store,
)
from worldline.record.swe.box.running import run

__all__ = ["EnvelopeTools"]

_SECONDS = 120


class EnvelopeTools:
    """The tools; nothing outside of the workspace is theirs."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read_file(self, absolute_path: str, offset: float | None = None, limit: float | None = None) -> str:
        path = self._place(absolute_path)
        if not os.path.exists(path):
            raise Refused(f"File not found: {path}")
        if os.path.isdir(path):
            raise Refused(f"Path is a directory, not a file: {path}")
        try:
            with open(path, "rb") as file:
                data = file.read()
        except PermissionError:
            raise Refused(f"Error reading file {path}: EACCES: permission denied, open '{path}'") from None
        if b"\0" in data[:8192] or path.endswith(PICTURES):
            return f"Cannot display content of binary file: {os.path.relpath(path, self.root)}"
        lines = data.decode("utf-8", "replace").split("\n")
        first = int(offset or 0)
        last = min(first + int(limit or MOST_LINES), len(lines))
        if first >= len(lines) and first:
            raise Refused(f"Offset {first} is beyond the end of the file, which has {len(lines)} lines.")
        text = "\n".join(line_shown(line) for line in lines[first:last])
        if first or last < len(lines):
            shown = f"showing lines {first + 1}-{last} of {len(lines)} total lines"
            return f"[File content truncated: {shown}. Use offset and limit for more.]\n{text}"
        return text

    def write_file(self, file_path: str, content: str) -> str:
        path = self._place(file_path)
        if os.path.isdir(path):
            raise Refused(f"Path is a directory, not a file: {path}")
        fresh = not os.path.exists(path)
        store(path, content.encode("utf-8"))
        return f"Successfully {'created and wrote to new file' if fresh else 'overwrote file'}: {path}."

    def edit(self, file_path: str, old_string: str, new_string: str, expected_replacements: float = 1) -> str:
        path = self._place(file_path)
        if os.path.isdir(path):
            raise Refused(f"Path is a directory, not a file: {path}")
        if not os.path.exists(path):
            if old_string != "":
                told = "File not found. Cannot apply edit. Use an empty old_string to create a new file"
                raise Refused(f"{told}: {path}")
            store(path, new_string.encode("utf-8"))
            return f"Created new file: {path} with provided content."
        try:
            with open(path, "rb") as file:
                text = file.read().decode("utf-8", "replace")
        except PermissionError:
            raise Refused(f"EACCES: permission denied, open '{path}'") from None
        if old_string == "":
            raise Refused(f"Failed to edit. Attempted to create a file that already exists: {path}")
        count, expected = text.count(old_string), int(expected_replacements or 1)
        if count == 0:
            raise Refused(f"Failed to edit, 0 occurrences found for old_string in {path}. No edits made.")
        if count != expected:
            word = "occurrence" if expected == 1 else "occurrences"
            raise Refused(f"Failed to edit, expected {expected} {word} but found {count} in {path}.")
        if old_string == new_string:
            raise Refused(f"No changes to apply: old_string and new_string are identical in {path}")
        store(path, text.replace(old_string, new_string).encode("utf-8"))
        return f"Successfully modified file: {path} ({count} replacements)."

    def list_directory(self, path: str, ignore: Sequence[str] = ()) -> str:
        top = self._place(path, "Path")
        if not os.path.exists(top):
            raise Refused(f"Directory not found: {top}")
        if not os.path.isdir(top):
            raise Refused(f"Path is not a directory: {top}")
        try:
            names = os.listdir(top)
        except PermissionError:
            raise Refused(f"EACCES: permission denied, scandir '{top}'") from None
        kept = [name for name in names if not any(fnmatch.fnmatchcase(name, str(one)) for one in ignore)]
        if not kept:
            return f"Directory {top} is empty."
        folders = {name for name in kept if os.path.isdir(os.path.join(top, name))}
        lines = [f"[DIR] {name}" for name in sorted(folders)] + sorted(set(kept) - folders)
        return "\n".join([f"Directory listing for {top}:", *lines])

    def glob(self, pattern: str, path: str | None = None, case_sensitive: bool = False) -> str:
        top = self._place(path, "Path") if path else self.root
        if not os.path.isdir(top):
            raise Refused(f"Search path does not exist or is no directory: {top}")
        found = matching(top, pattern, not case_sensitive)
        if not found:
            return f'No files found matching pattern "{pattern}" within {top}'
        head = f'Found {len(found)} file(s) matching "{pattern}" within {top}, sorted by path'
        if len(found) > MOST_FOUND:
            head += f" (the first {MOST_FOUND})"
        return "\n".join([f"{head}:", *found[:MOST_FOUND]])

    def search_file_content(self, pattern: str, path: str | None = None, include: str | None = None) -> str:
        top = self._place(path, "Path") if path else self.root
        if not os.path.exists(top):
            raise Refused(f"Path does not exist: {top}")
        try:
            re.compile(pattern)
        except re.error as error:
            raise Refused(f"Invalid regular expression pattern provided: {pattern}. Error: {error}") from None
        place = os.path.relpath(top, self.root)
        words = ["git", "grep", "--untracked", "-n", "-I", "-z", "-E", "-i", "-e", pattern, "--"]
        words.append(f":(glob){_included(place, include)}" if include else place)
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, cwd=self.root, env=environment())
        if done.returncode > 1:
            raise Refused(f"Error during search: {done.stderr.decode('utf-8', 'replace').strip()}")
        where = f'in path "{path or "."}"' + (f' (filter: "{include}")' if include else "")
        return _found(done.stdout.decode("utf-8", "replace"), pattern, where)

    def run_shell_command(
        self, command: str, directory: str | None = None, description: str | None = None
    ) -> tuple[str, bool]:
        if not command.strip():
            raise Refused("Command cannot be empty.")
        cwd = self._place(directory, "Directory") if directory else self.root
        if not os.path.isdir(cwd):
            raise Refused(f"Directory does not exist: {directory}")
        ran = run(command, cwd, _SECONDS)
        late = ran.status is None
        lines = [
            f"Command: {command}",
            f"Directory: {directory or '(root)'}",
            f"Output: {shortened(ran.text.rstrip(chr(10))) or '(empty)'}",
            f"Error: {'Command timed out' if late else '(none)'}",
            f"Exit Code: {'(none)' if late else ran.status}",
            f"Signal: {'SIGKILL' if late else '(none)'}",
            f"Background PIDs: {', '.join(map(str, ran.left)) or '(none)'}",
            f"Process Group PGID: {ran.group}",
        ]
        return "\n".join(lines), ran.status != 0

    def _place(self, path: str, what: str = "File path") -> str:
        full = os.path.normpath(os.path.join(self.root, path))
        real = os.path.realpath(full)
        if real != self.root and not real.startswith(self.root + "/"):
            raise Refused(f"{what} must be within the workspace directory {self.root}: {path}")
        return full


def _included(place: str, include: str) -> str:
    """Where to look for files by a glob pattern, as git's pathspec; a bare name counts in all folders."""
    pattern = include if "/" in include else f"**/{include}"
    return pattern if place == "." else f"{place}/{pattern}"


def _found(text: str, pattern: str, where: str) -> str:
    groups: dict[str, list[str]] = {}
    for found in text.split("\n")[:-1]:
        name, number, line = found.split("\0", 2)
        groups.setdefault(name, []).append(f"L{number}: {line.strip()}")
    count = sum(map(len, groups.values()))
    if not count:
        return f'No matches found for pattern "{pattern}" {where}.'
    out = [f'Found {count} {"match" if count == 1 else "matches"} for pattern "{pattern}" {where}:', "---"]
    for name in sorted(groups):
        out += [f"File: {name}", *groups[name], "---"]
    return shortened("\n".join(out))
