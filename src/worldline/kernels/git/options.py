"""Options of git commands, read off the usage texts that the commands print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from worldline.kernels.git.failures import Failure

__all__ = ["Options", "parse", "usage"]

_HIDDEN = {
    "commit": ("--no-verify", "--allow-empty", "--allow-empty-message", "--signoff", "--untracked-files"),
    "checkout": ("--guess",),
    "status": ("--show-stash", "--find-renames=?", "--no-renames"),
    "merge": ("--ff", "--ff-only"),
    "tag": (),
    "branch": (),
}
"""Options that a command knows but does not list in its usage text."""

_LAST_DEFAULT = ("--contains", "--no-contains", "--merged", "--no-merged")
"""Options that mean HEAD where nothing follows."""


@cache
def usage(name: str) -> str:
    """The usage text of a command (`stash-push` for one of several words)."""
    return files("worldline.kernels.git").joinpath(f"usage/{name}.txt").read_text("utf-8")


@dataclass(slots=True)
class Options:
    """What was given: `(name, value)` in order, by the canonical long name if there is one."""

    given: list[tuple[str, str]] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    """Operands."""
    dashes: int | None = None
    """How many operands came before `--`; None if there was none."""

    def __contains__(self, name: object) -> bool:
        return self.flag(str(name))

    def flag(self, name: str) -> bool:
        """Whether an option was given and not taken back."""
        state = False
        for key, _ in self.given:
            if key == name:
                state = True
            elif key == "--no-" + name[2:]:
                state = False
        return state

    def get(self, name: str) -> str | None:
        """Value given last."""
        found = [value for key, value in self.given if key == name]
        return found[-1] if found else None

    def all(self, name: str) -> list[str]:
        """Every value given."""
        return [value for key, value in self.given if key == name]


@dataclass(frozen=True, slots=True)
class _Option:
    name: str
    value: str
    """`` (none), `needed` or `optional`."""


@cache
def _table(name: str) -> dict[str, _Option]:
    """Options by every spelling."""
    found: dict[str, _Option] = {}
    lines = usage(name).split("\n")
    for line in lines:
        match = re.match(r"    (-.*?)(?:  +\S.*)?$", line)
        if match is None or line.startswith("     "):
            continue
        spec = re.sub(r"^(-\w)\[<(.*?)>\]", r"\1 [<\2>]", match[1])
        names = re.findall(r"(?:^|, )(--?[\w-]+)", re.sub(r"\[no-\]", "", spec))
        rest = re.sub(r"(?:^|, )(--?[\w-]+)", "", re.sub(r"\[no-\]", "", spec))
        value = "optional" if rest.strip().startswith("[") else "needed" if rest.strip(" .") else ""
        for spelled in names:
            found[spelled] = _Option(names[-1], value)
    for spelled in _HIDDEN.get(name, ()):
        found.setdefault(spelled.rstrip("=?"), _Option(spelled.rstrip("=?"), "optional" if "=" in spelled else ""))
    return found


def parse(
    name: str, argv: Sequence[str], *, error_usage: str | None = None, quote: str = "", stop: bool = False
) -> Options:
    """Read options as git's own parser does: long ones may be shortened, operands come anywhere.

    Args:
        name: Whose usage text names the options.
        argv: Arguments.
        error_usage: Usage text printed at errors, if another.
        quote: What error messages put before a long option's name.
        stop: Stop at the first operand.

    Raises:
        Failure: An option is not known or lacks its value, or help was asked for.
    """
    return _Reader(name, list(argv), error_usage or name, quote).read(stop)


class _Reader:
    def __init__(self, name: str, words: list[str], error_usage: str, quote: str) -> None:
        self.table, self.words, self.error_usage, self.quote = _table(name), words, error_usage, quote
        self.found = Options()

    def fail(self, message: str, *, with_usage: bool = True) -> Failure:
        text = f"error: {message}\n" + (usage(self.error_usage) if with_usage else "")
        return Failure(text.removesuffix("\n"), 129, "")

    def read(self, stop: bool) -> Options:
        while self.words:
            word = self.words.pop(0)
            if word == "--":
                self.found.dashes = len(self.found.args)
                self.found.args += self.words
                break
            if not word.startswith("-") or word == "-":
                self.found.args.append(word)
                if stop:
                    self.found.args += self.words
                    break
            elif word.startswith("--"):
                self.long(word)
            else:
                self.short(word)
        return self.found

    def long(self, word: str) -> None:
        spelled, equals, value = word.partition("=")
        name, option = self.match(spelled, word)
        if name.startswith("--no-") and option.name == name.replace("--no-", "--", 1) and name not in self.table:
            if equals:
                raise self.fail(f"option `{name[2:]}' takes no value", with_usage=False)
            self.found.given.append((name, ""))
            return
        if equals and not option.value:
            raise self.fail(f"option `{name[2:]}' takes no value", with_usage=False)
        if option.value == "needed" and not equals:
            if not self.words and option.name in _LAST_DEFAULT:
                self.found.given.append((option.name, "HEAD"))
                return
            if not self.words:
                raise self.fail(f"option `{name[2:]}' requires a value", with_usage=False)
            value = self.words.pop(0)
        self.found.given.append((option.name, value))

    def match(self, spelled: str, word: str) -> tuple[str, _Option]:
        names = {**self.table}
        for known in self.table:
            if known.startswith("--no-"):
                names.setdefault("--" + known[5:], _Option("--" + known[5:], ""))
            elif known.startswith("--"):
                names.setdefault("--no-" + known[2:], _Option(known, ""))
        if spelled in names:
            return spelled, names[spelled]
        near = [known for known in names if known.startswith(spelled) and known.startswith("--")]
        direct = [known for known in near if known in self.table]
        pick = near if len(near) == 1 else direct if not spelled.startswith("--no") else near
        if len({names[known].name + known[:5] * known.startswith("--no-") for known in pick}) == 1:
            return pick[0], names[pick[0]]
        if len(pick) > 1:
            first, second = (known[2:] for known in pick[:2])
            raise self.fail(f"ambiguous option: {spelled[2:]} (could be --{first} or --{second})")
        raise self.fail(f"unknown option `{self.quote}{word[2:]}'")

    def short(self, word: str) -> None:
        rest = word[1:]
        while rest:
            option = self.table.get("-" + rest[0])
            if option is None and rest[0] == "h":
                raise Failure(usage(self.error_usage).removesuffix("\n"), 129, "help:")
            if option is None:
                if rest[0].isdigit() and "-<n>" in self.table:
                    self.found.given.append(("-<n>", rest))
                    return
                raise self.fail(f"unknown switch `{rest[0]}'")
            rest = rest[1:]
            value = ""
            if option.value == "needed":
                if not rest and not self.words:
                    raise self.fail(f"switch `{word[1]}' requires a value", with_usage=False)
                value, rest = (rest or self.words.pop(0)), ""
            elif option.value == "optional":
                value, rest = rest, ""
            self.found.given.append((option.name, value))
