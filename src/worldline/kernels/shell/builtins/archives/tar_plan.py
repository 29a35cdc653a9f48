"""The command line of `tar`, which has three styles of options."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.options import UsageError, parse

__all__ = ["Plan", "read_plan"]

_SHORT = "AcdrtuxC:f:vzjJaZkOpPhT:X:wSmWoUlNb:G:g:i:V:B?sK:L:M"
_LONG = (
    "absolute-names", "append", "atime-preserve=?", "auto-compress", "backup=?", "block-number", "blocking-factor=",
    "bzip2", "catenate", "checkpoint=?", "compare", "compress", "concatenate", "confirmation", "create", "delete",
    "dereference", "diff", "directory=", "exclude=", "exclude-from=", "exclude-vcs", "extract", "file=",
    "files-from=", "format=", "get", "group=", "gunzip", "gzip", "keep-newer-files", "keep-old-files", "list", "lzma",
    "mode=", "mtime=", "no-recursion", "no-same-owner", "no-same-permissions", "null", "numeric-owner",
    "overwrite", "owner=", "posix", "preserve-permissions", "recursion", "remove-files", "same-owner",
    "same-permissions", "skip-old-files", "sort=", "sparse", "strip-components=", "to-stdout", "touch",
    "transform=", "ungzip", "unlink-first", "update", "use-compress-program=", "utc", "verbose", "verify",
    "wildcards", "xform=", "xz", "zstd", "full-time", "show-transformed-names", "one-file-system",
)  # fmt: skip
_SAME = {
    "--append": "-r", "--auto-compress": "-a", "--bzip2": "-j", "--compare": "-d", "--create": "-c", "--diff": "-d",
    "--directory": "-C", "--extract": "-x", "--file": "-f", "--files-from": "-T", "--get": "-x", "--gunzip": "-z",
    "--gzip": "-z", "--keep-old-files": "-k", "--list": "-t", "--to-stdout": "-O", "--ungzip": "-z",
    "--update": "-u", "--verbose": "-v", "--xz": "-J", "--absolute-names": "-P", "--dereference": "-h",
    "--preserve-permissions": "-p", "--same-permissions": "-p", "--touch": "-m", "--exclude-from": "-X",
    "--xform": "--transform",
}  # fmt: skip
_HARMLESS = ("-p", "-o", "--no-same-owner", "--no-same-permissions", "--format", "--posix", "--overwrite", "-S",
             "--recursion", "--same-owner", "--utc", "--one-file-system", "-U", "--unlink-first")  # fmt: skip
_COMPRESSORS = {"-z": "gzip", "-j": "bzip2", "-J": "xz", "--zstd": "zstd"}


@dataclass
class Plan:
    """What one call of tar is to do."""

    operation: str = ""
    file: str | None = None
    verbose: int = 0
    compressor: str | None = None
    auto: bool = False
    directory: str = ""
    excluded: list[str] = field(default_factory=list)
    strip: int = 0
    to_stdout: bool = False
    keep: bool = False
    skip_old: bool = False
    absolute: bool = False
    follow: bool = False
    touch: bool = False
    wildcards: bool = False
    remove: bool = False
    recursion: bool = True
    numeric: bool = False
    full_time: bool = False
    sorted: bool = False
    late: bool = False
    """Patterns come after the operands, where they have no effect on an archive that is made."""
    owner: str | None = None
    group: str | None = None
    names: list[tuple[str, str]] = field(default_factory=list)
    """Operands, each with the directory (`-C`) it is meant in."""
    lists: list[str] = field(default_factory=list)


def _dashed(argv: list[str]) -> list[str]:
    """Turn the old style (`tar xzf NAME`) into the short one, each argument behind its letter."""
    if not argv or argv[0].startswith("-"):
        return argv
    letters, rest = argv[0], list(argv[1:])
    words: list[str] = []
    for letter in letters:
        at = _SHORT.find(letter)
        if at >= 0 and _SHORT[at + 1 : at + 2] == ":":
            if not rest:
                raise UsageError(f"Old option '{letter}' requires an argument.", status=2)
            words += [f"-{letter}", rest.pop(0)]
        else:
            words.append(f"-{letter}")
    return words + rest


def read_plan(call: Call) -> Plan:
    """Read the command line.

    Raises:
        UsageError: In tar's words.
        Unknown: An option that is not simulated.
    """
    words = _dashed(call.argv)
    plan = Plan()
    operations: set[str] = set()
    # Operands and -C take effect in the order given, so each piece up to an operand is read by itself.
    ordered = _ordered(call, words, plan)
    options, operands = parse(call, _SHORT.replace("B?", "B"), _LONG, same=_SAME, argv=ordered)
    if operands and any(word.startswith("--exclude") for word in ordered[ordered.index(operands[0]) :]):
        plan.late = True
    plan.names = [_place(word) for word in operands]
    for name, value in options:
        if name in ("-c", "-x", "-t", "-r", "-u", "-d", "--delete", "-A"):
            operations.add(name.lstrip("-"))
        elif name in _COMPRESSORS:
            plan.compressor = _COMPRESSORS[name]
        else:
            _option(call, plan, name, value)
    if len(operations) > 1:
        raise UsageError("You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option")
    if not operations:
        raise UsageError("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
    plan.operation = operations.pop()
    if plan.late and plan.operation in "cru":
        call.unknown("options after what they are for")
    return plan


_MARK = "\0"


def _ordered(call: Call, words: list[str], plan: Plan) -> list[str]:
    """Tie each operand to the `-C` before it, as `DIRECTORY NUL NAME`."""
    result: list[str] = []
    directory = ""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in ("-C", "--directory"):
            if index == len(words):
                raise UsageError("option requires an argument -- 'C'")
            directory = words[index]
            index += 1
        elif word.startswith("--directory="):
            directory = word.partition("=")[2]
        elif word.startswith("-C") and len(word) > 2:
            directory = word[2:]
        elif word == "--":
            result += [f"{directory}{_MARK}{item}" for item in words[index:]]
            break
        elif word.startswith("-") and word != "-":
            result.append(word)
            letter = word[-1]
            at = _SHORT.find(letter)
            takes = not word.startswith("--") and letter != "?" and at >= 0 and _SHORT[at + 1 : at + 2] == ":"
            cluster = word[1:-1]
            early = any(_SHORT[_SHORT.find(c) + 1 : _SHORT.find(c) + 2] == ":" for c in cluster if c in _SHORT)
            if letter == "C" and takes and not early and not word.startswith("--"):
                # `-xzC DIR`
                result[-1] = word[:-1]
                directory = words[index] if index < len(words) else ""
                index += 1
            elif (takes and not early and index < len(words)) or (word in _SEPARATE and index < len(words)):
                result.append(words[index])
                index += 1
        else:
            result.append(f"{directory}{_MARK}{word}")
    plan.directory = directory
    return result


_SEPARATE = tuple(f"--{name[:-1]}" for name in _LONG if name.endswith("="))


def _place(word: str) -> tuple[str, str]:
    directory, _, name = word.partition(_MARK)
    return directory, name


def _option(call: Call, plan: Plan, name: str, value: str) -> None:
    flags = {
        "-O": "to_stdout", "-k": "keep", "--skip-old-files": "skip_old", "-P": "absolute", "-h": "follow",
        "-m": "touch", "--wildcards": "wildcards", "--remove-files": "remove", "--numeric-owner": "numeric",
        "-a": "auto", "--full-time": "full_time",
    }  # fmt: skip
    if name in flags:
        setattr(plan, flags[name], True)
    elif name == "-v":
        plan.verbose += 1
    elif name == "-f":
        plan.file = value
    elif name == "--exclude":
        plan.excluded.append(value.rstrip("/"))
    elif name == "--strip-components" and value.isdigit():
        plan.strip = int(value)
    elif name == "--no-recursion":
        plan.recursion = False
    elif name == "-T":
        plan.lists.append(value)
    elif name == "--sort" and value in ("name", "none"):
        plan.sorted = value == "name"
    elif name in ("--owner", "--group") and value:
        setattr(plan, name[2:], value.partition(":")[0])
    elif name not in _HARMLESS:
        call.unknown(f"the option {name}")
