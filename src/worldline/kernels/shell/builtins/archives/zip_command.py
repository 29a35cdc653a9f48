"""`zip`."""

from __future__ import annotations

import fnmatch
import posixpath
import zipfile

from worldline.kernels.shell.builtins.archives.zip_archive import Entry, build, load, percent
from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.textio import Output, read

__all__ = ["COMMANDS"]


def zip_command(call: Call) -> Result:
    """Store files in a zip archive."""
    argv, patterns = _patterns(call.argv)
    try:
        options, names = parse(
            call, "0123456789rqjmdufvyDXFToe@", ("recurse-paths", "quiet", "junk-paths", "move", "delete", "update",
            "freshen", "verbose", "symlinks", "no-dir-entries", "no-extra"),
            same={"--recurse-paths": "-r", "--quiet": "-q", "--junk-paths": "-j", "--move": "-m", "--delete": "-d",
                  "--verbose": "-v", "--symlinks": "-y", "--no-dir-entries": "-D", "--no-extra": "-X"},
            argv=argv,
        )  # fmt: skip
    except UsageError as error:
        call.unknown(error.message)
    flags = {name[1:] for name, _ in options}
    if not names or flags & set("ufvyXFToe@"):
        call.unknown("the help text" if not names else "these options")
    target = names[0] if "." in posixpath.basename(names[0]) else f"{names[0]}.zip"
    out = Output(call)
    entries: list[Entry] = []
    if target != "-" and call.files.exists(target):
        try:
            entries = load(read(call, target))
        except (zipfile.BadZipFile, NotImplementedError):
            call.unknown("an archive of another kind")
        for entry in entries:
            entry.pack(6)
    if names[0] == "-" or not names[1:]:
        call.unknown("input or output by pipe")
    job = _Zip(call, out, flags, patterns, target, entries)
    if "d" in flags:
        job.delete(names[1:])
    else:
        job.add_all(names[1:])
    if job.order_matters:
        call.unknown("the order in which a directory is read", guess=out.result())
    return out.result()


def _patterns(argv: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Take `-x` and `-i` with their lists out of the arguments."""
    rest: list[str] = []
    found: dict[str, list[str]] = {}
    mode = ""
    for word in argv:
        if word in ("-x", "-i", "--exclude", "--include"):
            mode = "x" if word in ("-x", "--exclude") else "i"
            found.setdefault(mode, [])
        elif mode and word == "@":
            mode = ""
        elif mode and not word.startswith("-"):
            found[mode].append(word)
        else:
            mode = ""
            rest.append(word)
    return rest, found


class _Zip:
    def __init__(
        self, call: Call, out: Output, flags: set[str], patterns: dict[str, list[str]], target: str,
        entries: list[Entry],
    ) -> None:  # fmt: skip
        self.call, self.out, self.flags, self.patterns, self.target = call, out, flags, patterns, target
        self.entries = entries
        self.level = max((int(flag) for flag in flags if flag.isdigit()), default=6)
        self.order_matters = False
        self.found: list[tuple[str, str]] = []
        self.warnings: list[str] = []

    def say(self, text: str) -> None:
        if "q" not in self.flags:
            self.out.line(text.encode())

    def add_all(self, names: list[str]) -> None:
        for name in names:
            if name == "-":
                self.call.unknown("standard input")
            if not self.call.files.exists(name):
                self.warnings.append(name)
                continue
            self.collect(name)
        for name in self.warnings:
            self.out.write(f"\tzip warning: name not matched: {name}\n".encode())
        if not self.found:
            self.out.write(f"\nzip error: Nothing to do! ({self.target})\n".encode())
            self.out.status = 12
            return
        if self.warnings and len(names) > 1:
            self.out.status = 0
        old = {entry.name: entry for entry in self.entries}
        if len({shown for _, shown in self.found}) != len(self.found):
            self.call.unknown("a name that comes twice")
        # Entries that are there already are updated first, in the archive's order.
        self.found.sort(key=lambda pair: pair[1] not in old)
        for place, shown in self.found:
            entry = self.entry(place, shown)
            verb = "updating" if shown in old else "  adding"
            rate = percent(len(entry.content), len(entry.packed))
            self.say(f"{verb}: {shown} ({'stored' if entry.stored else 'deflated'} {rate}%)")
            if shown in old:
                self.entries[self.entries.index(old[shown])] = entry
            else:
                self.entries.append(entry)
        self.call.files.write(self.target, build(self.entries))
        if "m" in self.flags:
            for place, _ in reversed(self.found):
                self.call.files.remove(place)

    def entry(self, place: str, shown: str) -> Entry:
        stat = self.call.files.stat(place)
        content = b"" if stat.kind == "directory" else read(self.call, place)
        entry = Entry(shown, content, stat.mode, stat.mtime, stat.uid, stat.gid)
        entry.pack(self.level)
        return entry

    def collect(self, name: str) -> None:
        stat = self.call.files.stat(name)
        shown = name
        while shown.startswith("./"):
            shown = shown[2:].lstrip("/")
        shown = shown.lstrip("/")
        if shown == ".":
            shown = ""
        if shown.startswith(".."):
            self.call.unknown("a name outside")
        if "j" in self.flags:
            shown = posixpath.basename(shown)
        if self.call.files.absolute(name) == self.call.files.absolute(self.target):
            return
        if stat.kind == "directory":
            shown = shown.rstrip("/")
            if shown and not {"j", "D"} & self.flags and self.wanted(shown + "/"):
                self.found.append((name, shown + "/"))
            if "r" in self.flags:
                self.walk(name)
        elif stat.kind != "file":
            self.call.unknown("a special file")
        elif self.wanted(shown):
            self.found.append((name, shown))

    def walk(self, name: str) -> None:
        names = self.call.files.list(name)
        if len(names) > 1:
            try:
                names = directory_order(self.call, name)
            except Unknown:
                self.order_matters = self.order_matters or "q" not in self.flags
        for entry in names:
            self.collect(posixpath.join(name, entry))

    def wanted(self, shown: str) -> bool:
        if any(fnmatch.fnmatchcase(shown, pattern) for pattern in self.patterns.get("x", [])):
            return False
        included = self.patterns.get("i")
        return included is None or any(fnmatch.fnmatchcase(shown, pattern) for pattern in included)

    def delete(self, names: list[str]) -> None:
        kept = []
        hit: set[str] = set()
        for entry in self.entries:
            matches = [name for name in names if fnmatch.fnmatchcase(entry.name, name)]
            hit.update(matches)
            if matches:
                self.say(f"deleting: {entry.name}")
            else:
                kept.append(entry)
        for name in names:
            if name not in hit:
                self.out.write(f"\tzip warning: name not matched: {name}\n".encode())
        if not hit:
            self.out.write(f"\nzip error: Nothing to do! ({self.target})\n".encode())
            self.out.status = 12
            return
        if kept:
            self.call.files.write(self.target, build(kept))
        else:
            self.out.write(b"\tzip warning: zip file empty\n")
            self.call.files.remove(self.target)


COMMANDS: dict[str, Builtin] = {"zip": zip_command}
