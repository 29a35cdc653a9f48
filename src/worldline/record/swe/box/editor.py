"""The editor family: Read, Write, Edit, Glob, Grep, Bash. A file must have been read before it is changed."""

import contextlib
import os
import re
import subprocess
from typing import Any

from worldline.record.swe.box.common import (
    MOST_FOUND,
    MOST_LINES,
    PICTURES,
    Refused,
    digest,
    environment,
    matching,
    numbered,
    shortened,
    split_lines,
    store,
)
from worldline.record.swe.box.running import run

__all__ = ["EditorTools"]

_MOST_BYTES = 256 * 1024


class EditorTools:
    """The tools, what was read, and where the shell stands."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.cwd = root
        self.read: dict[str, str] = {}

    def Read(self, file_path: str, offset: float | None = None, limit: float | None = None) -> str:
        path = self._absolute(file_path)
        data = self._content(path)
        if b"\0" in data[:8192] or path.endswith(PICTURES):
            raise Refused(f"This tool cannot read binary files. The file appears to be binary: {path}")
        if len(data) > _MOST_BYTES and offset is None and limit is None:
            raise Refused(
                f"File content ({len(data) / 1024:.1f}KB) exceeds maximum allowed size (256KB). Use offset and limit "
                "to read parts of it, or Grep to search it."
            )
        self.read[path] = digest(data)
        text = data.decode("utf-8", "replace")
        if not text:
            return "<system-reminder>The file is there, but it is empty.</system-reminder>"
        lines = split_lines(text)
        first = max(int(offset or 1), 1)
        if first > len(lines):
            said = f"The file has {len(lines)} lines, fewer than the offset {first}."
            return f"<system-reminder>{said}</system-reminder>"
        return numbered(lines[first - 1 : first - 1 + int(limit or MOST_LINES)], first)

    def Write(self, file_path: str, content: str) -> str:
        path = self._absolute(file_path)
        self._may_write(path)
        if os.path.isdir(path):
            raise Refused(f"EISDIR: illegal operation on a directory, open '{path}'")
        fresh = not os.path.lexists(path)
        if not fresh:
            self._unchanged(path)
        self._store(path, content)
        if fresh:
            return f"File created successfully at: {path}"
        shown = numbered(split_lines(content)[:MOST_LINES], 1)
        return f"The file {path} has been updated. Here is the file as `cat -n` shows it:\n{shown}"

    def Edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
        path = self._absolute(file_path)
        if old_string == new_string:
            raise Refused("No changes to make: old_string and new_string are exactly the same.")
        self._may_write(path)
        if not os.path.exists(path):
            if old_string != "":
                raise Refused(_missing(path))
            self._store(path, new_string)
            return f"File created successfully at: {path}"
        if os.path.isdir(path):
            raise Refused(f"EISDIR: illegal operation on a directory, read '{path}'")
        self._unchanged(path)
        text = self._content(path).decode("utf-8", "replace")
        _check_edit(text, old_string, replace_all)
        at = text.find(old_string)
        after = text.replace(old_string, new_string, -1 if replace_all else 1)
        self._store(path, after)
        if replace_all:
            done = f"All occurrences of '{old_string}' were successfully replaced with '{new_string}'."
            return f"The file {path} has been updated. {done}"
        head = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of it:"
        return f"{head}\n{_snippet(after, at, new_string)}"

    def Glob(self, pattern: str, path: str | None = None) -> str:
        top = self._absolute(path) if path else self.cwd
        if not os.path.exists(top):
            raise Refused(f"Directory does not exist: {top}")
        if not os.path.isdir(top):
            raise Refused(f"Path is not a directory: {top}")
        found = matching(top, pattern)
        if not found:
            return "No files found"
        more = "\n(Results are truncated. Consider using a more specific path or pattern.)"
        return "\n".join(found[:MOST_FOUND]) + (more if len(found) > MOST_FOUND else "")

    def Grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        output_mode: str = "files_with_matches",
        head_limit: float | None = None,
        **options: Any,
    ) -> str:
        top = self._absolute(path) if path else self.cwd
        if not os.path.exists(top):
            raise Refused(f"Path does not exist: {top}")
        words = ["grep", "-rPIHZ", "--exclude-dir=.git"]
        words += ["-i"] if options.get("-i") else []
        words += [f"--include={glob}"] if glob else []
        if output_mode == "content":
            words.append("-n")
            words += [f"{name}{int(options[name])}" for name in ("-A", "-B", "-C") if options.get(name)]
        else:
            words.append("-l" if output_mode == "files_with_matches" else "-c")
        done = subprocess.run(
            [*words, "-e", pattern, "--", top], capture_output=True, stdin=subprocess.DEVNULL, env=environment()
        )
        if done.returncode > 1 and done.stderr:
            raise Refused(done.stderr.decode("utf-8", "replace").strip())
        text = done.stdout.decode("utf-8", "replace")
        return _found(text, output_mode, int(head_limit or 250), bool(options.get("-n", True)))

    def Bash(self, command: str, timeout: float | None = None, description: str | None = None) -> tuple[str, bool]:
        seconds = min(float(timeout or 120000) / 1000, 120)
        ran = run(command, self.cwd, seconds)
        if ran.status is None:
            return f"Command timed out after {int(seconds)}s\n{shortened(ran.text)}", True
        text = shortened(ran.text.rstrip("\n"))
        if ran.directory and ran.directory != self.cwd and os.path.isdir(ran.directory):
            if self._inside(ran.directory):
                self.cwd = ran.directory
            else:
                self.cwd = self.root
                text += f"\nShell cwd was reset to {self.root}"
        elif not os.path.isdir(self.cwd):
            self.cwd = self.root
        if ran.status:
            return f"Exit code {ran.status}\n{text}".rstrip("\n"), True
        return text or "Tool ran without output", False

    # --- what they share

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, path))

    def _inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return real == self.root or real.startswith(self.root + "/")

    def _content(self, path: str) -> bytes:
        if not os.path.exists(path):
            raise Refused(_missing(path))
        if os.path.isdir(path):
            raise Refused(f"EISDIR: illegal operation on a directory, read '{path}'")
        try:
            with open(path, "rb") as file:
                return file.read()
        except PermissionError:
            raise Refused(f"EACCES: permission denied, open '{path}'") from None

    def _store(self, path: str, text: str) -> None:
        data = text.encode("utf-8")
        store(path, data)
        self.read[path] = digest(data)

    def _may_write(self, path: str) -> None:
        if not self._inside(path):
            raise Refused(f"{path} is outside of the working directory {self.root}: it may not be changed.")

    def _unchanged(self, path: str) -> None:
        """Refuse to change a file that was not read, or that something else has changed since."""
        if path not in self.read:
            raise Refused("File has not been read yet. Read it first before writing to it.")
        if digest(self._content(path)) != self.read[path]:
            raise Refused("File has been modified since it was read. Read it again before writing to it.")


def _missing(path: str) -> str:
    """The message for a file that is not there; a file of the same stem beside it is named."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    with contextlib.suppress(OSError):
        for other in sorted(os.listdir(folder)):
            if other != name and os.path.splitext(other)[0] == stem:
                return f"File does not exist. Did you mean {other}?"
    return "File does not exist."


def _check_edit(text: str, old: str, everywhere: bool) -> None:
    if old == "" and text:
        raise Refused("Cannot create new file - file already exists.")
    count = text.count(old) if old else 1
    if count == 0:
        raise Refused(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not everywhere:
        raise Refused(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, "
            "set replace_all to true. To replace only one, give more of the text around it.\n"
            f"String: {old}"
        )


def _snippet(text: str, at: int, new: str) -> str:
    """The lines of an edit with four more on each side."""
    first = text.count("\n", 0, at)
    last = first + new.count("\n")
    start = max(0, first - 4)
    return numbered(split_lines(text)[start : last + 5], start + 1)


def _found(text: str, mode: str, limit: int, numbers: bool) -> str:
    """What grep found, as the tool tells it; grep's own order is that of the file system."""
    if mode == "content":
        lines = _content_lines(text, numbers)
        return "\n".join(lines[:limit]) if lines else "No matches found"
    if mode == "count":
        pairs = [line.split("\0") for line in text.split("\n")[:-1]]
        counts = sorted((name, int(count)) for name, count in pairs if count != "0")
        if not counts:
            return "No matches found"
        total, files = sum(count for _, count in counts), len(counts)
        shown = "\n".join([f"{name}:{count}" for name, count in counts][:limit])
        what = "occurrence" if total == 1 else "occurrences"
        return f"{shown}\n\nFound {total} total {what} across {files} {'file' if files == 1 else 'files'}."
    names = sorted(text.split("\0")[:-1])
    if not names:
        return "No files found"
    return "\n".join([f"Found {len(names)} file{'' if len(names) == 1 else 's'}", *names[:limit]])


def _content_lines(text: str, numbers: bool) -> list[str]:
    files: dict[str, list[list[str]]] = {}
    name = ""
    for line in text.split("\n")[:-1]:
        if line == "--":
            name = ""
            continue
        file, rest = line.split("\0", 1)
        groups = files.setdefault(file, [])
        if name != file:
            groups.append([])
        name = file
        number, mark, content = re.match(r"(\d+)([:-])(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
        groups[-1].append(file + mark + (number + mark if numbers else "") + content)
    out: list[str] = []
    apart = "\n--\n" in text
    for file in sorted(files):
        for group in files[file]:
            out += [*(["--"] if out and apart else []), *group]
    return out
