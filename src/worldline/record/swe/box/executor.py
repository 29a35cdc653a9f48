"""The tools of a coding assistant, run for real inside the recorder's box: files, bash, git, grep.

It imports nothing but the standard library, reads one JSON request a line from standard input and answers on a
descriptor of its own, so that what commands print cannot be taken for an answer. Two families of tools:

* `editor`: Read, Write, Edit, Glob, Grep, Bash. A file must have been read before it is changed.
* `envelope`: read_file, write_file, edit, list_directory, glob, search_file_content, run_shell_command.
"""

import contextlib
import fnmatch
import hashlib
import json
import os
import re
import signal
import subprocess
import sys

REPLY_FD = 198
OUT_FILE = "/run/tools/output"
CWD_FILE = "/run/tools/directory"
MOST_LINES = 2000
MOST_LINE = 2000
MOST_BYTES = 256 * 1024
MOST_OUTPUT = 30000
MOST_FOUND = 100
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".zip", ".gz", ".so", ".pyc")


class Refused(Exception):
    """The tool answers with an error."""


class Tools:
    """State that outlives a call: where the shell stands, and what was read."""

    def __init__(self, root, family, schemas):
        self.root = root
        self.schemas = schemas
        self.family = family
        self.cwd = root
        self.read = {}

    def call(self, name, arguments):
        """Run a tool; the text and whether it is an error."""
        editor = self.family == "editor"
        schema = self.schemas.get(name)
        method = getattr(self, "do_" + name, None)
        if schema is None or method is None:
            if editor:
                return "<tool_use_error>Error: No such tool available: %s</tool_use_error>" % name, True
            return 'Tool "%s" not found in registry.' % name, True
        said = (issues if editor else first_issue)(name, arguments, schema)
        if said:
            return ("<tool_use_error>InputValidationError: %s</tool_use_error>" % said if editor else said), True
        known = {key: value for key, value in arguments.items() if key in schema["properties"] and value is not None}
        try:
            result = method(**known)
        except Refused as refusal:
            return ("<tool_use_error>%s</tool_use_error>" % refusal if editor else str(refusal)), True
        return result if isinstance(result, tuple) else (result, False)

    # --- paths

    def inside(self, path):
        """Whether a path, links followed, lies in the repository."""
        real = os.path.realpath(path)
        return real == self.root or real.startswith(self.root + "/")

    def shown(self, path):
        """A path as it is told: relative to the repository."""
        return os.path.relpath(path, self.root)

    # --- editor family

    def do_Read(self, file_path, offset=None, limit=None):
        path = self.absolute(file_path)
        data = self.content(path)
        if b"\0" in data[:8192] or path.endswith(PICTURES):
            raise Refused("This tool cannot read binary files. The file appears to be binary: " + path)
        if len(data) > MOST_BYTES and offset is None and limit is None:
            size = "%.1fKB" % (len(data) / 1024)
            raise Refused(
                "File content (%s) exceeds maximum allowed size (256KB). Use offset and limit to read parts of it, "
                "or Grep to search it." % size
            )
        self.read[path] = digest(data)
        text = data.decode("utf-8", "replace")
        if not text:
            return "<system-reminder>The file is there, but it is empty.</system-reminder>"
        lines = split_lines(text)
        first = max(int(offset or 1), 1)
        if first > len(lines):
            return "<system-reminder>The file has %d lines, fewer than the offset %d.</system-reminder>" % (
                len(lines),
                first,
            )
        return numbered(lines[first - 1 : first - 1 + int(limit or MOST_LINES)], first)

    def do_Write(self, file_path, content):
        path = self.absolute(file_path)
        self.may_write(path)
        if os.path.isdir(path):
            raise Refused("EISDIR: illegal operation on a directory, open '%s'" % path)
        fresh = not os.path.lexists(path)
        if not fresh:
            self.unchanged(path)
        data = content.encode("utf-8")
        store(path, data)
        self.read[path] = digest(data)
        if fresh:
            return "File created successfully at: " + path
        lines = split_lines(content)[:MOST_LINES]
        return "The file %s has been updated. Here is the file as `cat -n` shows it:\n%s" % (path, numbered(lines, 1))

    def do_Edit(self, file_path, old_string, new_string, replace_all=False):
        path = self.absolute(file_path)
        if old_string == new_string:
            raise Refused("No changes to make: old_string and new_string are exactly the same.")
        self.may_write(path)
        if not os.path.exists(path):
            if old_string == "":
                store(path, new_string.encode("utf-8"))
                self.read[path] = digest(new_string.encode("utf-8"))
                return "File created successfully at: " + path
            raise Refused(self.missing(path))
        if os.path.isdir(path):
            raise Refused("EISDIR: illegal operation on a directory, read '%s'" % path)
        self.unchanged(path)
        text = self.content(path).decode("utf-8", "replace")
        if old_string == "" and text:
            raise Refused("Cannot create new file - file already exists.")
        count = text.count(old_string) if old_string else 1
        if count == 0:
            raise Refused("String to replace not found in file.\nString: " + old_string)
        if count > 1 and not replace_all:
            raise Refused(
                "Found %d matches of the string to replace, but replace_all is false. To replace all occurrences, set "
                "replace_all to true. To replace only one, give more of the text around it.\nString: %s"
                % (count, old_string)
            )
        at = text.find(old_string)
        after = text.replace(old_string, new_string) if replace_all else text.replace(old_string, new_string, 1)
        data = after.encode("utf-8")
        store(path, data)
        self.read[path] = digest(data)
        if replace_all:
            return "The file %s has been updated. All occurrences of '%s' were successfully replaced with '%s'." % (
                path,
                old_string,
                new_string,
            )
        return "The file %s has been updated. Here's the result of running `cat -n` on a snippet of it:\n%s" % (
            path,
            snippet(after, at, new_string),
        )

    def do_Glob(self, pattern, path=None):
        top = self.absolute(path) if path else self.cwd
        if not os.path.exists(top):
            raise Refused("Directory does not exist: " + top)
        if not os.path.isdir(top):
            raise Refused("Path is not a directory: " + top)
        found = matching(top, pattern)
        if not found:
            return "No files found"
        more = "\n(Results are truncated. Consider using a more specific path or pattern.)"
        return "\n".join(found[:MOST_FOUND]) + (more if len(found) > MOST_FOUND else "")

    def do_Grep(self, pattern, path=None, glob=None, output_mode="files_with_matches", head_limit=None, **options):
        top = self.absolute(path) if path else self.cwd
        if not os.path.exists(top):
            raise Refused("Path does not exist: " + top)
        words = ["grep", "-rPIHZ", "--exclude-dir=.git"]
        if options.get("-i"):
            words.append("-i")
        if glob:
            words.append("--include=" + glob)
        if output_mode == "content":
            words.append("-n")
            words += ["%s%d" % (name, int(options[name])) for name in ("-A", "-B", "-C") if options.get(name)]
        else:
            words.append("-l" if output_mode == "files_with_matches" else "-c")
        done = subprocess.run(
            [*words, "-e", pattern, "--", top], capture_output=True, stdin=subprocess.DEVNULL, env=environment()
        )
        if done.returncode > 1 and done.stderr:
            raise Refused(done.stderr.decode("utf-8", "replace").strip())
        text, limit = done.stdout.decode("utf-8", "replace"), int(head_limit or 250)
        if output_mode == "content":
            lines = content_lines(text, options.get("-n", True))
            return "\n".join(lines[:limit]) if lines else "No matches found"
        if output_mode == "count":
            found = dict(line.split("\0") for line in text.split("\n")[:-1])
            found = {name: count for name, count in sorted(found.items()) if count != "0"}
            total, files = sum(map(int, found.values())), len(found)
            if not found:
                return "No matches found"
            lines = ["%s:%s" % pair for pair in found.items()][:limit]
            what = "occurrence" if total == 1 else "occurrences"
            where = "file" if files == 1 else "files"
            return "%s\n\nFound %d total %s across %d %s." % ("\n".join(lines), total, what, files, where)
        lines = sorted(text.split("\0")[:-1])
        if not lines:
            return "No files found"
        return "Found %d file%s\n%s" % (len(lines), "" if len(lines) == 1 else "s", "\n".join(lines[:limit]))

    def do_Bash(self, command, timeout=None, description=None):
        seconds = min(float(timeout or 120000) / 1000, 120)
        status, text, _, _, cwd = run(command, self.cwd, seconds)
        if status is None:
            return "Command timed out after %ds\n%s" % (seconds, shortened(text)), True
        text = shortened(text.rstrip("\n"))
        if cwd and cwd != self.cwd and os.path.isdir(cwd):
            if self.inside(cwd):
                self.cwd = cwd
            else:
                self.cwd = self.root
                text += "\nShell cwd was reset to " + self.root
        elif not os.path.isdir(self.cwd):
            self.cwd = self.root
        if status:
            return ("Exit code %d\n%s" % (status, text)).rstrip("\n"), True
        return text or "Tool ran without output"

    def absolute(self, path):
        return os.path.normpath(os.path.join(self.cwd if self.family == "editor" else self.root, path))

    def content(self, path):
        if not os.path.exists(path):
            raise Refused(self.missing(path))
        if os.path.isdir(path):
            raise Refused("EISDIR: illegal operation on a directory, read '%s'" % path)
        try:
            with open(path, "rb") as file:
                return file.read()
        except PermissionError:
            raise Refused("EACCES: permission denied, open '%s'" % path) from None

    def missing(self, path):
        """The message for a file that is not there; a file of the same stem beside it is named."""
        said = "File does not exist."
        folder, name = os.path.split(path)
        stem = os.path.splitext(name)[0]
        with contextlib.suppress(OSError):
            for other in sorted(os.listdir(folder)):
                if other != name and os.path.splitext(other)[0] == stem:
                    return said + " Did you mean %s?" % other
        return said

    def may_write(self, path):
        if not self.inside(path):
            raise Refused("%s is outside of the working directory %s: it may not be changed." % (path, self.root))

    def unchanged(self, path):
        """Refuse to change a file that was not read, or that something else has changed since."""
        if path not in self.read:
            raise Refused("File has not been read yet. Read it first before writing to it.")
        if digest(self.content(path)) != self.read[path]:
            raise Refused("File has been modified since it was read. Read it again before writing to it.")

    # --- envelope family

    def place(self, path, what="File path"):
        """A path of the envelope family, which must lie in the workspace."""
        full = self.absolute(path)
        if not self.inside(full):
            raise Refused("%s must be within the workspace directory %s: %s" % (what, self.root, path))
        return full

    def do_read_file(self, absolute_path, offset=None, limit=None):
        path = self.place(absolute_path)
        if not os.path.exists(path):
            raise Refused("File not found: " + path)
        if os.path.isdir(path):
            raise Refused("Path is a directory, not a file: " + path)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except PermissionError:
            raise Refused("Error reading file %s: EACCES: permission denied, open '%s'" % (path, path)) from None
        if b"\0" in data[:8192] or path.endswith(PICTURES):
            return "Cannot display content of binary file: " + self.shown(path)
        text = data.decode("utf-8", "replace")
        lines = text.split("\n")
        first = int(offset or 0)
        last = min(first + int(limit or MOST_LINES), len(lines))
        if first >= len(lines) and first:
            raise Refused("Offset %d is beyond the end of the file, which has %d lines." % (first, len(lines)))
        kept = [line[:MOST_LINE] + "... [truncated]" if len(line) > MOST_LINE else line for line in lines[first:last]]
        if first or last < len(lines):
            head = "[File content truncated: showing lines %d-%d of %d total lines. Use offset and limit for more.]\n"
            return head % (first + 1, last, len(lines)) + "\n".join(kept)
        return "\n".join(kept)

    def do_write_file(self, file_path, content):
        path = self.place(file_path)
        if os.path.isdir(path):
            raise Refused("Path is a directory, not a file: " + path)
        fresh = not os.path.exists(path)
        store(path, content.encode("utf-8"))
        if fresh:
            return "Successfully created and wrote to new file: %s." % path
        return "Successfully overwrote file: %s." % path

    def do_edit(self, file_path, old_string, new_string, expected_replacements=1):
        path = self.place(file_path)
        if os.path.isdir(path):
            raise Refused("Path is a directory, not a file: " + path)
        if not os.path.exists(path):
            if old_string == "":
                store(path, new_string.encode("utf-8"))
                return "Created new file: %s with provided content." % path
            raise Refused("File not found. Cannot apply edit. Use an empty old_string to create a new file: " + path)
        with open(path, "rb") as file:
            text = file.read().decode("utf-8", "replace")
        if old_string == "":
            raise Refused("Failed to edit. Attempted to create a file that already exists: " + path)
        count = text.count(old_string)
        if count == 0:
            raise Refused("Failed to edit, 0 occurrences found for old_string in %s. No edits made." % path)
        expected = int(expected_replacements or 1)
        if count != expected:
            word = "occurrence" if expected == 1 else "occurrences"
            raise Refused("Failed to edit, expected %d %s but found %d in %s." % (expected, word, count, path))
        if old_string == new_string:
            raise Refused("No changes to apply: old_string and new_string are identical in " + path)
        store(path, text.replace(old_string, new_string).encode("utf-8"))
        return "Successfully modified file: %s (%d replacements)." % (path, count)

    def do_list_directory(self, path, ignore=()):
        top = self.place(path, "Path")
        if not os.path.exists(top):
            raise Refused("Directory not found: " + top)
        if not os.path.isdir(top):
            raise Refused("Path is not a directory: " + top)
        kept = [name for name in os.listdir(top) if not any(fnmatch.fnmatchcase(name, one) for one in ignore or ())]
        if not kept:
            return "Directory %s is empty." % top
        folders = {name for name in kept if os.path.isdir(os.path.join(top, name))}
        names = sorted(folders) + sorted(set(kept) - folders)
        lines = ["[DIR] " + name if name in folders else name for name in names]
        return "Directory listing for %s:\n%s" % (top, "\n".join(lines))

    def do_glob(self, pattern, path=None, case_sensitive=False):
        top = self.place(path, "Path") if path else self.root
        if not os.path.isdir(top):
            raise Refused("Search path does not exist or is no directory: " + top)
        found = matching(top, pattern, not case_sensitive)
        if not found:
            return 'No files found matching pattern "%s" within %s' % (pattern, top)
        kept = found[:MOST_FOUND]
        head = 'Found %d file(s) matching "%s" within %s, sorted by path' % (len(found), pattern, top)
        if len(found) > MOST_FOUND:
            head += " (the first %d)" % MOST_FOUND
        return head + ":\n" + "\n".join(kept)

    def do_search_file_content(self, pattern, path=None, include=None):
        top = self.place(path, "Path") if path else self.root
        if not os.path.exists(top):
            raise Refused("Path does not exist: " + top)
        try:
            re.compile(pattern)
        except re.error as error:
            raise Refused("Invalid regular expression pattern provided: %s. Error: %s" % (pattern, error)) from None
        words = ["git", "grep", "--untracked", "-n", "-I", "-z", "-E", "-i", "-e", pattern, "--"]
        place = self.shown(top)
        words.append(":(glob)" + (include_pattern(place, include) if include else place))
        if include is None:
            words[-1] = place
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, cwd=self.root, env=environment())
        if done.returncode > 1:
            raise Refused("Error during search: " + done.stderr.decode("utf-8", "replace").strip())
        where = 'in path "%s"' % (path or ".") + (' (filter: "%s")' % include if include else "")
        groups = {}
        for line in done.stdout.decode("utf-8", "replace").split("\n")[:-1]:
            name, number, text = line.split("\0", 2)
            groups.setdefault(name, []).append("L%s: %s" % (number, text.strip()))
        count = sum(map(len, groups.values()))
        if not count:
            return 'No matches found for pattern "%s" %s.' % (pattern, where)
        word = "match" if count == 1 else "matches"
        out = ['Found %d %s for pattern "%s" %s:' % (count, word, pattern, where), "---"]
        for name in sorted(groups):
            out += ["File: " + name, *groups[name], "---"]
        return shortened("\n".join(out))

    def do_run_shell_command(self, command, directory=None, description=None):
        if not command.strip():
            raise Refused("Command cannot be empty.")
        cwd = self.root
        if directory:
            cwd = self.place(directory, "Directory")
            if not os.path.isdir(cwd):
                raise Refused("Directory does not exist: " + directory)
        status, text, group, background, _ = run(command, cwd, 120)
        code, sign = ("(none)", "SIGKILL") if status is None else (status, "(none)")
        lines = [
            "Command: " + command,
            "Directory: " + (directory or "(root)"),
            "Output: " + (shortened(text.rstrip("\n")) or "(empty)"),
            "Error: " + ("(none)" if status is not None else "Command timed out"),
            "Exit Code: %s" % code,
            "Signal: " + sign,
            "Background PIDs: " + (", ".join(map(str, background)) or "(none)"),
            "Process Group PGID: %d" % group,
        ]
        return "\n".join(lines), status != 0


KINDS = {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict}
NAMES = {str: "string", int: "number", float: "number", bool: "boolean", list: "array", dict: "object"}


def fits(value, kind):
    """Whether a value is of a kind of JSON schema."""
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def issues(name, arguments, schema):
    """What is wrong with the arguments, in the words of the editor family; empty where nothing is."""
    properties, found = schema["properties"], []
    for key in schema.get("required", ()):
        if key not in arguments:
            found.append("The required parameter `%s` is missing" % key)
    for key, value in arguments.items():
        if key not in properties:
            found.append("An unexpected parameter `%s` was provided" % key)
        elif not fits(value, properties[key]["type"]):
            told = NAMES.get(type(value), "null")
            found.append(
                "The parameter `%s` type is expected as `%s` but provided as `%s`"
                % (key, properties[key]["type"], told)
            )
        elif "enum" in properties[key] and value not in properties[key]["enum"]:
            found.append("The parameter `%s` must be one of %s" % (key, ", ".join(properties[key]["enum"])))
    if not found:
        return ""
    word = "issue" if len(found) == 1 else "issues"
    return "%s failed due to the following %s:\n%s" % (name, word, "\n".join(found))


def first_issue(name, arguments, schema):
    """The first thing that is wrong with the arguments, in the words of the envelope family."""
    for key in schema.get("required", ()):
        if key not in arguments:
            return "params must have required property '%s'" % key
    for key, rule in schema["properties"].items():
        if key in arguments and not fits(arguments[key], rule["type"]):
            return "params/%s must be %s" % (key, rule["type"])
    for key in ("absolute_path", "file_path", "path"):
        if key in arguments and not arguments[key].startswith("/") and (key, name) not in RELATIVE:
            return "%s must be absolute, but was relative: %s. You must provide an absolute path." % (
                "Path" if key == "path" else "File path",
                arguments[key],
            )
    return ""


RELATIVE = {("path", "glob"), ("path", "search_file_content")}
"""Arguments that may be relative to the workspace."""


def digest(data):
    return hashlib.sha256(data).hexdigest()


def split_lines(text):
    """Lines as an editor counts them: a final newline ends the last one."""
    return (text[:-1] if text.endswith("\n") else text).split("\n")


def numbered(lines, first):
    """Lines behind their numbers, as `cat -n` with an arrow."""
    out = []
    for number, line in enumerate(lines, first):
        if len(line) > MOST_LINE:
            line = line[:MOST_LINE] + "... [truncated]"
        out.append("%6d\u2192%s" % (number, line))
    return "\n".join(out)


def snippet(text, at, new):
    """The lines of an edit with four more on each side."""
    lines = split_lines(text)
    first = text.count("\n", 0, at)
    last = first + new.count("\n")
    start = max(0, first - 4)
    return numbered(lines[start : last + 5], start + 1)


def store(path, data):
    """Write a file, making its folders."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    except PermissionError:
        raise Refused("EACCES: permission denied, open '%s'" % path) from None
    except NotADirectoryError:
        raise Refused("ENOTDIR: not a directory, open '%s'" % path) from None
    except FileExistsError:
        raise Refused("ENOTDIR: not a directory, open '%s'" % path) from None
    except OSError as error:
        raise Refused("%s: '%s'" % (error.strerror, path)) from None


def matching(top, pattern, fold=False):
    """Files below a folder that match a glob pattern, by path; `**` stands for any folders."""
    if pattern.startswith("/"):
        prefix = top.rstrip("/") + "/"
        pattern = pattern[len(prefix) :] if pattern.startswith(prefix) else "\0"
    wanted = re.compile(glob_regex(pattern), re.DOTALL | (re.IGNORECASE if fold else 0))
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", "node_modules", "__pycache__")]
        for name in names:
            path = os.path.join(folder, name)
            if wanted.fullmatch(os.path.relpath(path, top)):
                found.append(path)
    return sorted(found)


def glob_regex(pattern):
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
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "[" and end > 0:
            body = pattern[at + 1 : end]
            out += "[" + ("^" + body[1:] if body[0] in "!^" else body).replace("\\", "\\\\") + "]"
            at = end
        elif char == "{" and "}" in pattern[at:]:
            out, depth = out + "(?:", depth + 1
        elif char == "}" and depth:
            out, depth = out + ")", depth - 1
        elif char == "," and depth:
            out += "|"
        else:
            out += re.escape(char)
        at += 1
    return out


def include_pattern(place, include):
    """Where to look for files by a glob pattern, as git's pathspec; a bare name counts in all folders."""
    if "/" not in include:
        include = "**/" + include
    return include if place == "." else place + "/" + include


def content_lines(text, numbers):
    """The lines of grep's output, which come in the order of the file system, by file name."""
    files, name = {}, ""
    for line in text.split("\n")[:-1]:
        if line == "--":
            name = ""
            continue
        file, rest = line.split("\0", 1)
        groups = files.setdefault(file, [])
        if name != file:
            groups.append([])
        name = file
        found = re.match(r"(\d+)([:-])(.*)", rest, re.DOTALL)
        mark = found[2]
        groups[-1].append(file + mark + (found[1] + mark if numbers else "") + found[3])
    out, apart = [], "\n--\n" in text
    for file in sorted(files):
        for group in files[file]:
            out += (["--"] if out and apart else []) + group
    return out


def shortened(text):
    """Leave out the middle of a long output."""
    if len(text) <= MOST_OUTPUT:
        return text
    half = MOST_OUTPUT // 2
    left = text[half:-half].count("\n")
    return "%s\n\n... [%d lines truncated] ...\n\n%s" % (text[:half], left, text[-half:])


def environment():
    return {name: value for name, value in os.environ.items() if name != "_"}


def run(command, cwd, seconds):
    """Run a command in a fresh bash.

    Returns its status (None where it took too long), output, process group, processes left behind, last directory.
    """
    with contextlib.suppress(OSError):
        os.unlink(CWD_FILE)
    with open(OUT_FILE, "wb", buffering=0) as out:
        os.set_inheritable(out.fileno(), True)
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={**environment(), "BASH_ENV": "/run/tools/start"},
        )
        late = []

        def stop(*_):
            late.append(True)
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)

        # Waiting with a timeout would sleep in steps, and what sleeps in the box moves its clock.
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        status = process.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        status = None if late else status
    background = left_behind(process.pid) if re.search(r"&\s*(?:\w|$)|\bnohup\b", command) else []
    with open(OUT_FILE, "rb") as file:
        text = file.read(1 << 20).decode("utf-8", "replace")
    cwd = None
    with contextlib.suppress(OSError), open(CWD_FILE) as file:
        cwd = file.read().rstrip("\n")
    if status is not None and status < 0:
        status = 128 - status
    return status, text, process.pid, background, cwd


def left_behind(group):
    """Processes of a group that still run."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open("/proc/%s/stat" % name) as file:
                fields = file.read().rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] != "Z":
                    found.append(int(name))
    return sorted(found)


def main():
    """Answer requests until there are no more."""
    root, family, schemas = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    with open("/run/tools/start", "w") as file:
        file.write("trap 'pwd -P >|%s' EXIT; unset BASH_ENV\n" % CWD_FILE)
    tools = Tools(os.path.realpath(root), family, schemas)
    replies = os.fdopen(REPLY_FD, "w", encoding="utf-8")
    os.set_inheritable(REPLY_FD, False)

    def answer(value):
        replies.write(json.dumps(value) + "\n")
        replies.flush()

    answer({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        if "setup" in request:
            done = subprocess.run(
                ["bash", "-c", request["setup"]],
                cwd=tools.root,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=environment(),
            )
            answer({"status": done.returncode, "text": (done.stdout + done.stderr).decode("utf-8", "replace")})
            continue
        text, error = tools.call(request["name"], request["arguments"])
        answer({"text": text, "error": error})


if __name__ == "__main__":
    main()
