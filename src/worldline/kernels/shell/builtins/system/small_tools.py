"""Small programs: `fallocate prlimit run-parts tput parsort`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.sizes import SizeError, parse_size

__all__ = ["COMMANDS"]

_LIMITS = (
    "core= cpu= data= fsize= locks= memlock= msgqueue= nice= nofile= nproc= rss= rtprio= rttime= sigpending= stack= as="
)
_LSCPU = "lscpu: failed to determine number of CPUs: /sys/devices/system/cpu/possible: No such file or directory\n"


# --- fallocate


@command()
def _fallocate(call: Call) -> Result:
    options, operands = parse(
        call,
        "cdil:no:pxvz",
        "collapse-range dig-holes insert-range length= keep-size offset= punch-hole zero-range posix verbose",
        same={"--length": "-l", "--offset": "-o", "--posix": "-x", "--keep-size": "-n"},
    )
    given = dict(options)
    if set(given) - {"-l", "-o", "-x", "-n"}:
        call.unknown("holes in files")
    if not operands:
        return Result(stderr="fallocate: no filename specified\n", status=1)
    if "-l" not in given:
        return Result(stderr="fallocate: no length argument specified\n", status=1)
    length, offset = _size(given["-l"]), _size(given.get("-o", "0"))
    if not length:
        return Result(stderr="fallocate: invalid length value specified\n", status=1)
    if offset is None or len(operands) > 1:
        call.unknown("an offset that is none, or several files")
    name = operands[0]
    try:
        there = call.files.exists(name)
        if there and call.files.stat(name).kind == "directory":
            return Result(stderr=f"fallocate: cannot open {name}: Is a directory\n", status=1)
        if "-n" in given:
            if not there:
                return Result(stderr=f"fallocate: cannot open {name}: No such file or directory\n", status=1)
            return Result()
        data = call.files.read(name) if there else b""
        call.files.write(name, data.ljust(length + offset, b"\0"))
    except OSError as error:
        return Result(stderr=f"fallocate: cannot open {name}: {strerror(error)}\n", status=1)
    return Result()


def _size(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    match = re.fullmatch(r"(\d+)([kKMGT])(i?B)?", text)
    if match is None:
        return None
    try:
        return parse_size(f"{match[1]}{match[2]}{'B' if match[3] == 'B' else ''}")
    except SizeError:
        return None


# --- prlimit


@command()
def _prlimit(call: Call) -> Result:
    limits = [f"{name[:-1]}=?" for name in _LIMITS.split()]
    options, words = parse(
        call, "o:p:c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::", [*limits, "pid=", "output="], permute=False
    )
    if not words or any(name in ("-p", "-o", "--pid", "--output") for name, _ in options):
        call.unknown("the limits of a process")
    if words[0] in ("sh", "bash", "dash"):
        call.unknown("a shell with other limits")
    result = call.run(words, stdin=call.stdin)
    if result.status == 127 and not result.stdout and not result.stderr:
        return Result(stderr=f"prlimit: failed to execute {words[0]}: No such file or directory\n", status=127)
    return result


# --- run-parts


def _run_parts(call: Call) -> Result:
    try:
        options, operands = parse(
            call,
            "a:u:v",
            "list test regex= arg= report reverse exit-on-error verbose umask= lsbsysinit new-session stdin debug",
            same={"--arg": "-a", "--umask": "-u", "--verbose": "-v"},
        )
    except UsageError as error:
        call.unknown("the text of the usage", Result(stderr=f"run-parts: {error.message}\n", status=1))
    given = dict(options)
    if set(given) & {"--lsbsysinit", "--debug", "-u", "--report", "--stdin"}:
        call.unknown("rarer options")
    if len(operands) != 1:
        if operands:
            call.unknown("several directories")
        hint = "run-parts: missing operand\nTry `run-parts --help' for more information.\n"
        return Result(stderr=hint, status=1)
    folder = operands[0]
    try:
        names = call.files.list(folder)
    except OSError as error:
        return Result(stderr=f"run-parts: failed to open directory {folder}: {strerror(error)}\n", status=1)
    chosen = [name for name in names if _chosen(call, name, given.get("--regex"))]
    paths = [f"{folder}/{name}" for name in chosen if call.files.stat(f"{folder}/{name}").kind == "file"]
    if "--reverse" in given:
        paths.reverse()
    if "--list" in given:
        return Result("".join(f"{path}\n" for path in paths))
    paths = [path for path in paths if call.files.allowed(path, 1)]
    if "--test" in given:
        return Result("".join(f"{path}\n" for path in paths))
    arguments = [value for name, value in options if name == "-a"]
    out = err = ""
    status = 0
    for path in paths:
        if "-v" in given:
            err += f"run-parts: executing {path}\n"
        result = call.run([path, *arguments])
        out, err = out + result.stdout, err + result.stderr
        if result.status:
            err += f"run-parts: {path} exited with return code {result.status}\n"
            status = 1
            if "--exit-on-error" in given:
                break
    return Result(out, err, status)


def _chosen(call: Call, name: str, pattern: str | None) -> bool:
    if pattern is None:
        return re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None
    try:
        return re.search(pattern, name) is not None
    except re.error:
        call.unknown("this regular expression")


# --- tput, parsort


def _tput(call: Call) -> Result:
    if any(word.startswith("-") for word in call.argv) or not call.argv:
        call.unknown("the options of tput")
    if not call.env.get("TERM"):
        return Result(stderr="tput: No value for $TERM and no -T specified\n", status=2)
    if call.argv == ["cols"] and call.env["TERM"] in ("xterm", "dumb", "xterm-256color"):
        return Result("80\n")
    call.unknown("what a terminal can do")


def _parsort(call: Call) -> Result:
    names = [word for word in call.argv if not word.startswith("-")]
    if any(word.startswith("--") or re.match(r"-\w*[okStTm]", word) for word in call.argv):
        call.unknown("rarer options")
    for name in names:
        if not call.files.exists(name):
            return Result(stderr=f"parallel: Error: File not found: {name}\n")
    result = call.run(["sort", *call.argv], stdin=call.stdin)
    return Result(result.stdout, _LSCPU + result.stderr, result.status)


COMMANDS: dict[str, Builtin] = {
    "fallocate": _fallocate,
    "prlimit": _prlimit,
    "run-parts": _run_parts,
    "tput": _tput,
    "parsort": _parsort,
}
