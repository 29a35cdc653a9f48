"""How `cp` copies: its options as rules."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.backups import Backup, read_backup
from worldline.kernels.shell.builtins.shared.options import choice, parse

__all__ = ["Rules", "read_rules"]

_LONG = (
    "archive attributes-only backup=? copy-contents dereference force interactive link no-clobber"
    " no-dereference no-preserve= no-target-directory one-file-system parents path preserve=? recursive"
    " remove-destination sparse= reflink=? strip-trailing-slashes suffix= symbolic-link target-directory= update"
    " verbose context=?"
)
_SAME = {
    "--archive": "-a",
    "--dereference": "-L",
    "--force": "-f",
    "--interactive": "-i",
    "--link": "-l",
    "--no-clobber": "-n",
    "--no-dereference": "-P",
    "--no-target-directory": "-T",
    "--recursive": "-r",
    "-R": "-r",
    "--symbolic-link": "-s",
    "--suffix": "-S",
    "--target-directory": "-t",
    "--update": "-u",
    "--verbose": "-v",
    "--path": "--parents",
    "-b": "--backup",
    "--one-file-system": "-x",
}


@dataclass
class Rules:
    """How a copy is made."""

    recursive: bool = False
    follow: bool = True
    follow_operands: bool = True
    clobber: str = ""
    """`i`: ask, `n`: never overwrite, `f`: remove what cannot be written."""
    update: bool = False
    verbose: bool = False
    mode: bool = False
    times: bool = False
    owner: bool = False
    symbolic: bool = False
    hard: bool = False
    links: bool = False
    """Files that are hard links to each other stay so."""
    remove: bool = False
    attributes_only: bool = False
    clone: bool = False
    """Only copies that share their blocks will do."""
    plain_mode: bool = False
    """New files get the permissions of any new file."""
    backup: Backup | None = None
    new_mode: int | None = None
    """Permissions of every new file (`install`)."""


def read_rules(call: Call) -> tuple[Rules, list[tuple[str, str]], list[str]]:
    """Read the command line of `cp`; returns its rules, all options and the operands."""
    options, operands = parse(call, "abdfHilLnprst:uvxPRS:TZ", _LONG, same=_SAME)
    return _rules(call, options), options, operands


def _rules(call: Call, options: list[tuple[str, str]]) -> Rules:
    rules = Rules(backup=read_backup(call, options))
    follow = ""
    for name, value in options:
        if name in ("-r", "-a", "-d", "-p", "--preserve", "--no-preserve"):
            if name in ("-a", "-r"):
                rules.recursive = True
            if name in ("-a", "-d"):
                follow, rules.links = "P", True
            _preserve(call, rules, name, value)
        elif name in ("-L", "-P", "-H"):
            follow = name[1]
        elif name in ("-i", "-n", "-f"):
            if not (name == "-f" and rules.clobber == "i"):
                rules.clobber = name[1]
        elif name in ("-u", "-v", "-s", "-l", "--remove-destination", "--attributes-only"):
            rules.update |= name == "-u"
            rules.hard |= name == "-l"
            rules.verbose |= name == "-v"
            rules.symbolic |= name == "-s"
            rules.remove |= name == "--remove-destination"
            rules.attributes_only |= name == "--attributes-only"
        elif name in ("--sparse", "--reflink"):
            words = ("never", "auto", "always")
            chosen = choice(value, name, words if name == "--sparse" else words[::-1][:2] + words[:1])
            rules.clone |= name == "--reflink" and (not value or chosen == "always")
        elif name not in _ELSEWHERE:
            call.unknown(f"the option {name}")
    follow = follow or ("P" if rules.recursive else "L")
    rules.follow, rules.follow_operands = follow == "L", follow != "P"
    return rules


_ELSEWHERE = ("--backup", "-S", "-t", "-T", "-x", "--parents", "--strip-trailing-slashes")


def _preserve(call: Call, rules: Rules, name: str, value: str) -> None:
    if name in ("-r", "-d"):
        return
    words = set((value or "mode,ownership,timestamps").split(",")) if name != "-a" else {"all"}
    known = {"mode", "ownership", "timestamps", "all", "links", "context", "xattr"}
    if not words <= known:
        wrong = next(word for word in value.split(",") if word not in known)
        near = [word for word in known if wrong and word.startswith(wrong)]
        if near:
            call.unknown(f"{name}={value}")
        choice(wrong, name, ("mode", "timestamps", "ownership", "links", "context", "xattr", "all"))
    keep = name != "--no-preserve"
    if words & {"mode", "all"}:
        rules.mode = keep
        rules.plain_mode = not keep
    if words & {"ownership", "all"}:
        rules.owner = keep
    if words & {"links", "all"}:
        rules.links = keep
    if words & {"timestamps", "all"}:
        rules.times = keep
