"""`git config` and `git remote`."""

from __future__ import annotations

import re

from worldline.kernels.git.config import Settings
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.options import Options, usage
from worldline.kernels.git.settings_file import remove_section, remove_value, set_value

__all__ = ["config", "remote"]


def config(git: Git, argv: list[str]) -> int:
    """Read and change settings."""
    supported = (
        "--global --local --system --get --get-all --get-regexp --add --unset --unset-all --list "
        "--name-only --show-origin "
        "--show-scope --type --bool --int --default --null --replace-all --remove-section "
        "--rename-section --file --worktree"
    )
    options = git.parse("config", argv, supported)
    given = {name for name, _ in options.given}
    if given & {
        "--system",
        "--file",
        "--worktree",
        "--show-origin",
        "--show-scope",
        "--null",
        "--rename-section",
        "--replace-all",
    }:
        git.call.unknown("these options of config")
    scope = "global" if "--global" in options else "local" if "--local" in options else ""
    if scope == "local" and git.found is None:
        raise Failure("--local can only be used inside a git repository")
    values = [item for item in git.settings.values if not scope or item[2] == scope]
    args = options.args
    if "--list" in options:
        names = "--name-only" in options
        git.say("".join(f"{key}\n" if names else f"{key}={value}\n" for key, value, _ in values))
        return 0
    if not args:
        raise Failure(usage("config").removesuffix("\n"), 129, "")
    if "--get-regexp" in options:
        pattern = re.compile(args[0])
        found = [(key, value) for key, value, _ in values if pattern.search(key)]
        git.say("".join(f"{key}\n" if "--name-only" in options else f"{key} {value}\n" for key, value in found))
        return 0 if found else 1
    if "--remove-section" in options:
        if not remove_section(git, args[0], scope or "local"):
            raise Failure(f"no such section: {args[0]}")
        return 0
    key = _key(args[0])
    if {"--unset", "--unset-all"} & given:
        return _unset(git, key, values, scope, every="--unset-all" in given)
    if len(args) == 1 or {"--get", "--get-all"} & given:
        return _get(git, key, values, options)
    return _set(git, key, args[1], scope, options)


def _key(name: str) -> str:
    section, dot, rest = name.partition(".")
    sub, inner, last = rest.rpartition(".")
    if not dot:
        raise Failure(f"key does not contain a section: {name}", 1, "error: ")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", last):
        if not last:
            raise Failure(f"key does not contain variable name: {name}", 1, "error: ")
        raise Failure(f"invalid key: {name}", 1, "error: ")
    return f"{section}.{sub}{inner}{last}"


def _get(git: Git, key: str, values: list[tuple[str, str, str]], options: Options) -> int:
    found = [value for _, value, _ in values_of(values, key)]
    default = options.get("--default")
    if not found:
        if default is None:
            return 1
        found = [default]
    if "--get-all" not in options:
        found = found[-1:]
    kind = "bool" if "--bool" in options else "int" if "--int" in options else options.get("--type") or ""
    git.say("".join(f"{_typed(git, key, value, kind)}\n" for value in found))
    return 0


def values_of(values: list[tuple[str, str, str]], key: str) -> list[tuple[str, str, str]]:
    """The values of a key, whose section and last part make no difference between capitals and small letters."""
    probe = Settings([], [(key, "")]).values[0][0]
    return [item for item in values if item[0] == probe]


def _typed(git: Git, key: str, value: str, kind: str) -> str:
    if kind == "bool":
        low = value.lower()
        if low in ("true", "yes", "on", "1"):
            return "true"
        if low in ("false", "no", "off", "0", ""):
            return "false"
        git.call.unknown("a bad boolean")
    if kind not in ("", "int"):
        git.call.unknown(f"values of type {kind}")
    if kind == "int":
        found = re.fullmatch(r"(-?\d+)([kmg]?)", value, re.I)
        if found is None:
            raise Failure(f"bad numeric config value '{value}' for '{key}': invalid unit")
        return str(int(found[1]) * 1024 ** " kmg".index(found[2].lower() or " "))
    return value


def _unset(git: Git, key: str, values: list[tuple[str, str, str]], scope: str, *, every: bool) -> int:
    found = [item for item in values_of(values, key) if item[2] == (scope or "local")]
    if not found:
        return 5
    if len(found) > 1 and not every:
        git.call.unknown("a setting with several values")
    remove_value(git, key, scope or "local")
    return 0


def _set(git: Git, key: str, value: str, scope: str, options: Options) -> int:
    if not scope and git.found is None:
        raise Failure("not in a git directory")
    where = scope or "local"
    add = "--add" in options
    if not add and len([item for item in values_of(git.settings.values, key) if item[2] == where]) > 1:
        git.warn(f"warning: {key} has multiple values\n")
        raise Failure(
            "cannot overwrite multiple values with a single value\n"
            f"       Use a regexp, --add or --replace-all to change {key}.", 5, "error: ",
        )  # fmt: skip
    if {"--type", "--bool", "--int"} & {name for name, _ in options.given}:
        git.call.unknown("a typed setting")
    set_value(git, key, value, where, add=add)
    return 0


def remote(git: Git, argv: list[str]) -> int:
    """List and change remote repositories."""
    options = git.parse("remote", argv, "--verbose", stop=True)
    repo = git.repo
    names = sorted(repo.settings.subsections("remote"))
    if not options.args:
        for name in names:
            git.say(_verbose(git, name) if "--verbose" in options else f"{name}\n")
        return 0
    word, rest = options.args[0], options.args[1:]
    if word == "add":
        return _add(git, rest, names)
    if word in ("remove", "rm"):
        return _remove(git, rest, names)
    if word == "get-url":
        found = git.parse("remote-get-url", rest, "")
        if len(found.args) != 1:
            raise Failure(usage("remote-get-url").removesuffix("\n"), 129, "")
        if found.args[0] not in names:
            raise Failure(f"No such remote '{found.args[0]}'", 2, "error: ")
        git.say(f"{repo.settings.get(f'remote.{found.args[0]}.url')}\n")
        return 0
    if word == "set-url" and len(rest) == 2 and not rest[0].startswith("-"):
        if rest[0] not in names:
            raise Failure(f"No such remote '{rest[0]}'", 2, "error: ")
        set_value(git, f"remote.{rest[0]}.url", rest[1])
        return 0
    if word in ("rename", "show", "prune", "update", "set-head", "set-branches", "set-url"):
        git.call.unknown(f"remote {word}")
    raise Failure(f"unknown subcommand: `{word}'\n{usage('remote')}".removesuffix("\n"), 129, "error: ")


def _verbose(git: Git, name: str) -> str:
    url = git.settings.get(f"remote.{name}.url") or name
    push = git.settings.get(f"remote.{name}.pushurl") or url
    return f"{name}\t{url} (fetch)\n{name}\t{push} (push)\n"


def _add(git: Git, rest: list[str], names: list[str]) -> int:
    options = git.parse("remote-add", rest, "")
    if len(options.args) != 2:
        raise Failure(usage("remote-add").removesuffix("\n"), 129, "")
    name, url = options.args
    if name in names:
        raise Failure(f"remote {name} already exists.", 3, "error: ")
    if not re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*", name):
        raise Failure(f"'{name}' is not a valid remote name")
    set_value(git, f"remote.{name}.url", url)
    set_value(git, f"remote.{name}.fetch", f"+refs/heads/*:refs/remotes/{name}/*")
    return 0


def _remove(git: Git, rest: list[str], names: list[str]) -> int:
    options = git.parse("remote-remove", rest, "")
    if len(options.args) != 1:
        raise Failure(usage("remote-remove").removesuffix("\n"), 129, "")
    name = options.args[0]
    if name not in names:
        raise Failure(f"No such remote: '{name}'", 2, "error: ")
    for branch in git.settings.subsections("branch"):
        if git.settings.get(f"branch.{branch}.remote") == name:
            remove_value(git, f"branch.{branch}.remote")
            remove_value(git, f"branch.{branch}.merge")
    remove_section(git, f"remote.{name}")
    for ref in git.repo.refs(f"refs/remotes/{name}/"):
        git.repo.delete_ref(ref)
    return 0
