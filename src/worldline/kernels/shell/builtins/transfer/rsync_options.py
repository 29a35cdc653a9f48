"""The command line of rsync: its many options, their abbreviations and refusals."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.sizes import SizeError, parse_size
from worldline.kernels.shell.builtins.transfer.rsync_filters import (
    FilterError,
    Rule,
    cvs_rules,
    parse_filter,
    read_rules,
)

__all__ = ["Refusal", "RsyncOptions", "read_options"]

_ARCHIVE = ("r", "l", "p", "t", "g", "o", "D")
_FLAGS = {
    "archive": "a",
    "backup": "b",
    "checksum": "c",
    "compress": "z",
    "copy-links": "L",
    "cvs-exclude": "C",
    "devices": "D",
    "dirs": "d",
    "dry-run": "n",
    "executability": "E",
    "group": "g",
    "hard-links": "H",
    "human-readable": "h",
    "ignore-times": "I",
    "itemize-changes": "i",
    "links": "l",
    "omit-dir-times": "O",
    "omit-link-times": "J",
    "one-file-system": "x",
    "owner": "o",
    "perms": "p",
    "progress": "progress",
    "prune-empty-dirs": "m",
    "quiet": "q",
    "recursive": "r",
    "relative": "R",
    "sparse": "S",
    "specials": "specials",
    "times": "t",
    "update": "u",
    "verbose": "v",
    "whole-file": "W",
    "acls": "A",
    "xattrs": "X",
    "from0": "0",
}
_PLAIN = frozenset(
    """delete delete-before delete-during delete-delay delete-after delete-excluded del existing ignore-existing
    ignore-non-existing ignore-errors force inplace list-only mkpath numeric-ids partial remove-source-files
    size-only stats append append-verify delay-updates fuzzy safe-links copy-unsafe-links copy-dirlinks
    keep-dirlinks implied-dirs munge-links blocking-io 8-bit-output protect-args secluded-args trust-sender
    inc-recursive i-r ipv4 ipv6 super fake-super ignore-missing-args delete-missing-args preallocate fsync
    atimes crtimes version help no-motd old-args cc msgs2stderr""".split()  # noqa: SIM905
)
_WITH_VALUE = frozenset(
    """exclude include exclude-from include-from filter files-from suffix backup-dir max-size min-size bwlimit timeout
    contimeout chmod chown usermap groupmap info debug out-format log-format log-file log-file-format rsh rsync-path
    compare-dest copy-dest link-dest temp-dir partial-dir modify-window block-size compress-level compress-choice zc zl
    skip-compress checksum-choice checksum-seed max-delete port address password-file protocol iconv stop-after
    stop-at outbuf remote-option stderr write-batch read-batch only-write-batch sockopts max-alloc copy-as
    cc""".split()  # noqa: SIM905
)
_SHORT_VALUES = {
    "e": "rsh",
    "f": "filter",
    "T": "temp-dir",
    "B": "block-size",
    "M": "remote-option",
    "@": "modify-window",
}
_SHORT = frozenset("abcdghilmnopqrtuvxzCDEHIJLORSWAX0PFykKUNsV468")
_HARMLESS = frozenset(
    """bwlimit timeout contimeout rsh rsync-path block-size compress-level compress-choice zc zl skip-compress
    checksum-choice checksum-seed temp-dir outbuf max-alloc port address stderr""".split()  # noqa: SIM905
)
_NUMBERS = frozenset(("timeout", "contimeout", "modify-window", "compress-level", "max-delete"))


class Refusal(Exception):
    """Rsync ends with a message; `str()` is all of it.

    Args:
        text: What it writes to stderr.
        status: Its exit status.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


@dataclass(slots=True)
class RsyncOptions:
    """What is asked for."""

    flags: dict[str, int] = field(default_factory=dict)
    """How often each flag is given, by its letter or its long name."""
    rules: list[Rule] = field(default_factory=list)
    files_from: str | None = None
    suffix: str | None = None
    backup_dir: str | None = None
    max_size: int | None = None
    min_size: int | None = None
    chmod: str | None = None
    doubts: list[str] = field(default_factory=list)
    """Options whose effect is not simulated."""
    noisy: bool = False
    """Whether more than changes is shown, so that sizes of the protocol show."""

    def on(self, name: str) -> bool:
        """Whether a flag is given and not taken back."""
        return self.flags.get(name, 0) > 0

    @property
    def delete(self) -> bool:
        """Whether what the source lacks is deleted."""
        return any(self.on(name) for name in self.flags if name.startswith("del"))


def _usage(text: str) -> Refusal:
    return Refusal(f"rsync: {text}\nrsync error: syntax or usage error (code 1) at main.c(1886) [client=3.5.0]\n", 1)


def read_options(call: Call) -> tuple[RsyncOptions, list[str]]:
    """Read a command line.

    Returns:
        The options and the operands.

    Raises:
        Refusal: It is wrong.
    """
    options = RsyncOptions()
    operands: list[str] = []
    rest = list(call.argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if word.startswith("--"):
            _long(call, options, word, rest)
        elif word.startswith("-") and len(word) > 1:
            _short(call, options, word, rest)
        else:
            operands.append(word)
    if options.on("C"):
        options.rules += cvs_rules(call)
    return options, operands


def _long(call: Call, options: RsyncOptions, word: str, rest: list[str]) -> None:
    name, sign, value = word[2:].partition("=")
    if name in _WITH_VALUE:
        if not sign:
            if not rest:
                raise _usage(f"--{name}: missing argument")
            value = rest.pop(0)
        _valued(call, options, name, value)
        return
    if name in _FLAGS and not sign:
        _set(options, _FLAGS[name])
    elif name in _PLAIN and not sign:
        options.flags[name] = options.flags.get(name, 0) + 1
    elif name.startswith(("no-", "no")) and not sign and _off(options, name[2:].lstrip("-")):
        pass
    else:
        raise _usage(f"{word}: unknown option")


def _off(options: RsyncOptions, name: str) -> bool:
    letter = _FLAGS.get(name, name)
    if name in _FLAGS or name in _SHORT or name in _PLAIN:
        options.flags[letter] = 0
        if letter == "D":
            options.flags["specials"] = 0
        return True
    return False


def _set(options: RsyncOptions, letter: str) -> None:
    if letter == "a":
        for part in _ARCHIVE:
            options.flags[part] = 1
    else:
        options.flags[letter] = options.flags.get(letter, 0) + 1


def _short(call: Call, options: RsyncOptions, word: str, rest: list[str]) -> None:
    index = 1
    while index < len(word):
        letter = word[index]
        index += 1
        if letter in _SHORT_VALUES:
            value = word[index:].removeprefix("=")
            if not value:
                if not rest:
                    raise _usage(f"{word}: missing argument")
                value = rest.pop(0)
            _valued(call, options, _SHORT_VALUES[letter], value)
            return
        if letter not in _SHORT:
            raise _usage(f"{word}: unknown option")
        _set(options, letter)


def _valued(call: Call, options: RsyncOptions, name: str, value: str) -> None:
    if name in ("exclude", "include"):
        options.rules.append(Rule.simple(value, include=name == "include"))
    elif name in ("exclude-from", "include-from"):
        options.rules += read_rules(call, value, include=name == "include-from")
    elif name == "filter":
        try:
            options.rules += parse_filter(call, value)
        except FilterError as error:
            raise Refusal(str(error), 1) from error
    elif name in ("max-size", "min-size"):
        _limit(options, name, value)
    elif name in ("suffix", "chmod"):
        setattr(options, name, value)
    elif name == "backup-dir":
        options.backup_dir = value
    elif name == "files-from":
        options.files_from = value
    elif name in ("out-format", "log-format"):
        if value == "%i %n%L":
            options.flags["i"] = 1
        else:
            options.doubts.append(f"the format {value}")
    elif name in ("info", "debug"):
        options.noisy = True
    elif name in _NUMBERS and not value.isdigit():
        raise _usage(f"--{name}={value}: invalid numeric value")
    elif name == "bwlimit" and not value.rstrip("kKmMgGBb").replace(".", "").isdigit():
        raise _usage(f"--{name}={value} is invalid")
    elif name not in _HARMLESS:
        options.doubts.append(f"the option --{name}")


def _limit(options: RsyncOptions, name: str, value: str) -> None:
    text = value.rstrip("bB") if value[-1:] in "bB" and value[:-1].isdigit() else value
    try:
        size = parse_size(text) if not text.isdigit() else int(text)
    except SizeError as error:
        raise _usage(f"--{name}={value} is invalid") from error
    if name == "max-size":
        options.max_size = size
    else:
        options.min_size = size
