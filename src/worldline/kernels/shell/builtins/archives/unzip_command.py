"""`unzip` and `zipinfo`."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import zipfile
import zlib
from datetime import UTC

from worldline.kernels.shell.builtins.archives.zip_archive import Entry, load, percent
from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.textio import Output, read

__all__ = ["COMMANDS"]

_NO_ZIP = """\
  End-of-central-directory signature not found.  Either this file is not
  a zipfile, or it constitutes one disk of a multi-part archive.  In the
  latter case the central directory and zipfile comment will be found on
  the last disk(s) of this archive.
unzip:  cannot find zipfile directory in one of {0} or
        {0}.zip, and cannot find {0}.ZIP, period.
"""


def unzip(call: Call) -> Result:
    """List, test or take out what a zip archive holds."""
    flags, words, target, excluded = _words(call)
    if not words:
        call.unknown("the help text")
    name = words[0]
    out = Output(call)
    source = next(
        (item for item in (name, f"{name}.zip", f"{name}.ZIP")
         if call.files.exists(item) and call.files.stat(item).kind != "directory"), None,
    )  # fmt: skip
    if source is None:
        program = "zipinfo" if "Z" in flags or call.name == "zipinfo" else "unzip"
        text = f"{program}:  cannot find or open {name}, {name}.zip or {name}.ZIP.\n"
        if program == "zipinfo":
            out.write(text.encode())
        else:
            out.raw(text)
        out.status = 9
        return out.result()
    data = read(call, source)
    quiet = "q" in flags
    try:
        entries = load(data)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        if isinstance(error, NotImplementedError) or b"PK" in data[:4] or set(flags) - set("onltq") or not data:
            call.unknown("an archive of another kind")
        if flags >= {"t", "q"}:
            out.write(f"[{source}]\n{_NO_ZIP.format(source)}".encode())
        elif quiet:
            call.unknown("an archive of another kind")
        else:
            out.write(f"Archive:  {source}\n".encode())
            out.raw(_NO_ZIP.format(source))
        out.status = 9
        return out.result()
    chosen = _chosen(entries, words[1:], excluded)
    caution = [word for word in words[1:] if not any(fnmatch.fnmatchcase(entry.name, word) for entry in entries)]
    if "Z" in flags or call.name == "zipinfo":
        _zipinfo(call, out, flags, source, data, entries, words[1:])
    elif "l" in flags or "v" in flags:
        _listing(out, "v" in flags, quiet, source, chosen)
    elif "t" in flags:
        _test(out, quiet, source, chosen, len(words) == 1 and not excluded)
    else:
        _Extraction(call, out, flags, target).run(source, chosen)
    for word in caution:
        out.raw(f"caution: filename not matched:  {word}\n")
        out.status = 11
    if (("l" in flags or "v" in flags or "t" in flags) or not quiet) and "p" not in flags and _mixed(call, chosen):
        call.unknown("the order in which a directory was read", guess=out.result())
    return out.result()


def _mixed(call: Call, entries: list[Entry]) -> bool:
    """Whether the order of the entries rests on that of a directory."""
    if hasattr(call.files, "order"):
        return False
    directories = {entry.name.rstrip("/") for entry in entries if entry.is_directory}
    parents = [posixpath.dirname(entry.name.rstrip("/")) for entry in entries]
    return any(parents.count(name) > 1 for name in directories)


def _words(call: Call) -> tuple[set[str], list[str], str, list[str]]:
    flags: set[str] = set()
    words: list[str] = []
    excluded: list[str] = []
    target, excluding = "", False
    argv = list(call.argv)
    while argv:
        word = argv.pop(0)
        if word.startswith("-") and len(word) > 1:
            excluding = False
            letters = word[1:]
            for index, letter in enumerate(letters):
                if letter == "d":
                    target = letters[index + 1 :] or (argv.pop(0) if argv else "")
                    break
                if letter == "x":
                    excluding = True
                elif letter in "oqnpltvZj1jC":
                    flags.add(letter)
                else:
                    call.unknown(f"the option -{letter}")
        elif excluding:
            excluded.append(word)
        else:
            words.append(word)
    return flags, words, target, excluded


def _chosen(entries: list[Entry], patterns: list[str], excluded: list[str]) -> list[Entry]:
    return [
        entry
        for entry in entries
        if (not patterns or any(fnmatch.fnmatchcase(entry.name, pattern) for pattern in patterns))
        and not any(fnmatch.fnmatchcase(entry.name, pattern) for pattern in excluded)
    ]


def _date(entry: Entry) -> str:
    return f"{entry.mtime.astimezone(UTC):%Y-%m-%d %H:%M}"


def _listing(out: Output, verbose: bool, quiet: bool, source: str, entries: list[Entry]) -> None:
    if not quiet:
        out.line(f"Archive:  {source}".encode())
    size = sum(len(entry.content) for entry in entries)
    packed = sum(len(entry.packed) for entry in entries)
    files = f"{len(entries)} file{'' if len(entries) == 1 else 's'}"
    if verbose:
        out.write(b" Length   Method    Size  Cmpr    Date    Time   CRC-32   Name\n")
        out.write(b"--------  ------  ------- ---- ---------- ----- --------  ----\n")
        for entry in entries:
            rate = percent(len(entry.content), len(entry.packed))
            method = "Stored" if entry.stored else "Defl:N"
            crc = zlib.crc32(entry.content)
            sizes = f"{len(entry.content):8d}  {method} {len(entry.packed):8d} {rate:3d}%"
            out.line(f"{sizes} {_date(entry)} {crc:08x}  {entry.name}".encode())
        out.write(b"--------          -------  ---                            -------\n")
        out.line(
            f"{size:8d}         {packed:8d} {percent(size, packed):3d}%                            {files}".encode()
        )
        return
    out.write(b"  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
    for entry in entries:
        out.line(f"{len(entry.content):9d}  {_date(entry)}   {entry.name}".encode())
    out.write(b"---------                     -------\n")
    out.line(f"{size:9d}                     {files}".encode())


def _test(out: Output, quiet: bool, source: str, entries: list[Entry], whole: bool) -> None:
    if not quiet:
        out.line(f"Archive:  {source}".encode())
        for entry in entries:
            out.line(f"    testing: {entry.name:<23}  OK".encode())
    if whole or quiet:
        out.line(f"No errors detected in compressed data of {source}.".encode())
    else:
        noun = "file" if len(entries) == 1 else "files"
        out.line(f"No errors detected in {source} for the {len(entries)} {noun} tested.".encode())


def _zipinfo(
    call: Call, out: Output, flags: set[str], source: str, data: bytes, entries: list[Entry], words: list[str]
) -> None:
    if "1" in flags:
        for entry in _chosen(entries, words, []):
            out.line(entry.name.encode())
        return
    if words or flags - {"Z"}:
        call.unknown("a choice of entries")
    out.line(f"Archive:  {source}".encode())
    out.line(f"Zip file size: {len(data)} bytes, number of entries: {len(entries)}".encode())
    for entry in entries:
        mode = "".join(letter if entry.mode >> (8 - index) & 1 else "-" for index, letter in enumerate("rwxrwxrwx"))
        kind = "d" if entry.is_directory else "-"
        nature = "t" if entry.is_text else "b"
        method = "stor" if entry.stored else "defN"
        moment = f"{entry.mtime.astimezone(UTC):%y-%b-%d %H:%M}"
        out.line(f"{kind}{mode}  3.0 unx {len(entry.content):8d} {nature}x {method} {moment} {entry.name}".encode())
    size = sum(len(entry.content) for entry in entries)
    packed = sum(len(entry.packed) for entry in entries)
    rate = 100.0 * (size - packed) / size if size else 0.0
    files = f"{len(entries)} file{'' if len(entries) == 1 else 's'}"
    out.line(f"{files}, {size} bytes uncompressed, {packed} bytes compressed:  {rate:.1f}%".encode())


class _Extraction:
    def __init__(self, call: Call, out: Output, flags: set[str], target: str) -> None:
        self.call, self.out, self.flags, self.target = call, out, flags, target

    def run(self, source: str, entries: list[Entry]) -> None:
        if "p" in self.flags:
            self.out.data += [entry.content for entry in entries]
            return
        files = self.call.files
        quiet = "q" in self.flags
        if not quiet:
            self.out.line(f"Archive:  {source}".encode())
        if self.target and not files.exists(self.target):
            files.mkdir(self.target, 0o777 & ~self.call.umask)
        late = []
        for entry in entries:
            if re.match(r"/|\.\./", entry.name) or "/../" in entry.name:
                self.call.unknown("a name outside")
            name = posixpath.basename(entry.name) if "j" in self.flags else entry.name
            place = posixpath.join(self.target, name) if self.target else name
            if entry.is_directory:
                if "j" not in self.flags and not files.exists(place):
                    self.parents(place)
                    if not quiet:
                        self.out.line(f"   creating: {place}".encode())
                    files.mkdir(place.rstrip("/"), 0o777 & ~self.call.umask)
                    late.append((place.rstrip("/"), entry))
                continue
            if files.exists(place) and not self.overwrites(place):
                return
            if files.exists(place) and "n" in self.flags:
                continue
            self.parents(place)
            verb = " extracting" if entry.stored else "  inflating"
            if not quiet:
                self.out.line(f"{verb}: {place:<22}  ".encode())
            files.write(place, entry.content)
            files.chmod(place, entry.mode & ~self.call.umask)
            files.utime(place, entry.mtime)
        for place, entry in reversed(late):
            files.chmod(place, entry.mode & ~self.call.umask)
            files.utime(place, entry.mtime)

    def overwrites(self, place: str) -> bool:
        """Whether to go on; without an answer to its question unzip stops."""
        if self.flags & {"o", "n"}:
            return True
        if self.call.stdin:
            self.call.unknown("an answer to a question")
        self.out.raw(f"replace {place}? [y]es, [n]o, [A]ll, [N]one, [r]ename:  NULL\n")
        self.out.raw('(EOF or read error, treating as "[N]one" ...)\n')
        self.out.status = 1
        return False

    def parents(self, place: str) -> None:
        missing = []
        parent = posixpath.dirname(place.rstrip("/"))
        while parent and not self.call.files.exists(parent):
            missing.append(parent)
            parent = posixpath.dirname(parent)
        for name in reversed(missing):
            self.call.files.mkdir(name, 0o777 & ~self.call.umask)


COMMANDS: dict[str, Builtin] = {"unzip": unzip, "zipinfo": unzip}
