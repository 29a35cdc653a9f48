"""Changing files of settings in place, as `git config` does."""

from __future__ import annotations

import re

from worldline.kernels.git.context import Git

__all__ = ["remove_section", "remove_value", "set_value"]


def _path(git: Git, scope: str) -> str:
    if scope == "global":
        home = git.env.get("HOME", git.call.world.home)
        return git.env.get("GIT_CONFIG_GLOBAL") or f"{home}/.gitconfig"
    return f"{git.repo.common}/config"


def _read(git: Git, scope: str) -> list[str]:
    path = _path(git, scope)
    return git.files.read(path).decode().splitlines(keepends=True) if git.files.exists(path) else []


def _write(git: Git, scope: str, lines: list[str]) -> None:
    path = _path(git, scope)
    git.files.write(path, "".join(lines).encode())
    git.__dict__.pop("settings", None)
    if git.found is not None:
        from worldline.kernels.git.config import Settings

        local = git.files.read(f"{git.repo.common}/config")
        git.found.settings = Settings([*git.user_settings(), ("local", local)], git.extra)


def _header(section: str) -> str:
    name, _, sub = section.partition(".")
    escaped = sub.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{escaped}"]' if sub else f"[{name}]"


def _same(line: str, section: str) -> bool:
    text = line.strip()
    name, _, sub = section.partition(".")
    found = re.match(r'\[([\w.-]+)(?: "((?:[^"\\]|\\.)*)")?\]', text)
    return (
        bool(found)
        and found is not None
        and found[1].lower() == name.lower()
        and re.sub(r"\\(.)", r"\1", found[2] or "") == sub
    )


def _span(lines: list[str], section: str) -> tuple[int, int] | None:
    """First and last line of the last section of a name."""
    starts = [number for number, line in enumerate(lines) if _same(line, section)]
    if not starts:
        return None
    start = starts[-1]
    stop = start + 1
    while stop < len(lines) and not lines[stop].lstrip().startswith("["):
        stop += 1
    return start, stop


def _value(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    quotes = text.startswith(" ") or text.endswith(" ") or "#" in text or ";" in text
    return f'"{escaped}"' if quotes else escaped


def set_value(git: Git, key: str, value: str, scope: str = "local", *, add: bool = False) -> None:
    """Set a value, or add one."""
    section, _, name = key.rpartition(".")
    lines = _read(git, scope)
    line = f"\t{name} = {_value(value)}\n"
    span = _span(lines, section)
    if span is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines += [_header(section) + "\n", line]
    else:
        found = [n for n in range(span[0] + 1, span[1]) if re.match(rf"\s*{re.escape(name)}\s*(?:=|$)", lines[n], re.I)]
        if found and not add:
            lines[found[-1]] = line
        else:
            lines.insert(span[1], line)
    _write(git, scope, lines)


def remove_value(git: Git, key: str, scope: str = "local") -> None:
    """Take a value away, and its section if nothing is left in it."""
    section, _, name = key.rpartition(".")
    lines = _read(git, scope)
    span = _span(lines, section)
    if span is None:
        return
    body = [
        line for line in lines[span[0] + 1 : span[1]] if not re.match(rf"\s*{re.escape(name)}\s*(?:=|$)", line, re.I)
    ]
    head = [lines[span[0]]] if body else []
    _write(git, scope, [*lines[: span[0]], *head, *body, *lines[span[1] :]])


def remove_section(git: Git, section: str, scope: str = "local") -> bool:
    """Take a section away; returns whether it was there."""
    lines = _read(git, scope)
    span = _span(lines, section)
    if span is None:
        return False
    _write(git, scope, [*lines[: span[0]], *lines[span[1] :]])
    return True
