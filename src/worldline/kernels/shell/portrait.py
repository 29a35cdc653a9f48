"""Showing a state: for people and prompts, for comparing what an action would read, and for storage."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

import zstandard

from worldline.domains.terminal.state import TerminalState
from worldline.errors import KernelError
from worldline.kernels.shell.jobs import Job
from worldline.kernels.shell.paths import expand_path
from worldline.kernels.shell.script import Script
from worldline.kernels.shell.session import Settled
from worldline.kernels.shell.table import STANDARD_DIRECTORIES, STANDARD_LINKS, Node, Table
from worldline.types import JsonDict

__all__ = ["VERSION", "describe", "footprint", "pack", "unpack"]

VERSION = 1
"""Of the stored form; another version is refused."""

_MOST_FILES = 60
_LINE = 100
_LOOKS_AROUND_WORDS = "ls find tree du git make tar zip rg grep fd dir vdir stat file"
_LOOKS_AROUND = frozenset(_LOOKS_AROUND_WORDS.split())
"""Commands that read the working directory when no place is named."""

_DEEP = re.compile(r"(?:^|\s)-\w*[rR]\w*(?:\s|$)|--recursive")


def describe(state: TerminalState, settled: Settled, variables: dict[str, str]) -> JsonDict:
    """State as JSON data of bounded size.

    Args:
        state: The declared world.
        settled: The state.
        variables: Variables that differ from the start.
    """
    table = settled.table
    standard = {*STANDARD_DIRECTORIES, *STANDARD_LINKS, state.home}
    paths = [path for path in sorted(table.nodes) if path not in standard and not _unread(table, path)]
    shown = [_entry(path, table) for path in paths[:_MOST_FILES]]
    found: JsonDict = {
        "cwd": settled.cwd,
        "user": state.user,
        "hostname": state.hostname,
        "clock": settled.clock.isoformat(),
        "last_status": settled.status,
        "files": shown,
        "open": sorted(path for path in table.open if path not in standard)[:_MOST_FILES],
        "unknown": sorted(path for path in table.tainted if not path.startswith("/etc/"))[:_MOST_FILES],
        "variables": dict(sorted(variables.items())[:_MOST_FILES]),
    }
    optional = {
        "more_files": len(paths) - len(shown),
        "functions": sorted(settled.functions),
        "traps": [f"{signal}: {body}" for signal, body in settled.traps],
        "jobs": [job.command for job in settled.jobs if not job.signal] + (["others"] if settled.loose else []),
        "unknown_shell_state": list(settled.opaque),
        "ended": settled.ended,
    }
    return found | {key: value for key, value in optional.items() if value}


def _unread(table: Table, path: str) -> bool:
    return path.startswith("/etc/") and path in table.tainted


def _entry(path: str, table: Table) -> JsonDict:
    node = table.nodes[path]
    entry: JsonDict = {"path": path + ("/" if node.kind == "directory" else ""), "mode": f"{node.mode:o}"}
    if node.kind == "symlink":
        entry["target"] = node.target
    if path in table.tainted:
        entry["unknown"] = table.tainted[path]
    elif node.kind == "file" and node.content is not None:
        entry["size"] = len(node.content)
        line = node.content.partition(b"\n")[0][:_LINE].decode("utf-8", "replace")
        if line:
            entry["first_line"] = line
    return entry


def footprint(
    script: Script, settled: Settled, state: TerminalState, variables: dict[str, str]
) -> dict[str, str] | None:
    """What a script would read, each with a hash of its content; None where that cannot be told."""
    analysis = script.analysis
    if analysis.is_opaque and not script.programs & {"bash", "sh"}:
        return None
    table, cwd = settled.table, settled.cwd
    found = {"cwd": cwd}
    deep = _DEEP.search(script.text) is not None or bool(script.programs & {"find", "tree", "du", "tar", "git", "make"})
    for word in _words(script):
        path = expand_path(word, cwd, state.home)
        node = table.nodes.get(path)
        if node is not None:
            found[path] = _hash(path, node, table, deep=deep)
        elif re.search(r"[*?\[]", word):
            place = posixpath.dirname(re.split(r"[*?\[]", path)[0] + "x")
            found[f"{place}/*"] = _inside(place, table, deep=True)
        elif "/" in word or re.search(r"\w\.\w", word):
            known = path in table.absent or posixpath.dirname(path) not in table.open
            found[path] = "absent" if known else "unknown"
    if script.programs & _LOOKS_AROUND or "glob" in script.features:
        found[f"{cwd}/*"] = _inside(cwd, table, deep=deep or "glob" in script.features)
    for name in dict.fromkeys(re.findall(r"\$\{?[#!]?([A-Za-z_]\w*)", script.text)):
        found[f"${name}"] = _digest(variables[name].encode()) if name in variables else "absent"
    if "$?" in script.text:
        found["$?"] = str(settled.status)
    return found


def _words(script: Script) -> Iterator[str]:
    for command in script.analysis.commands:
        for word in command.args:
            if word and not word.startswith("-") and len(word) < 200 and "\n" not in word:
                yield word
    for redirect in script.analysis.redirects:
        if redirect.path is not None and not redirect.is_write:
            yield redirect.path


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _hash(path: str, node: Node, table: Table, *, deep: bool) -> str:
    if path in table.tainted:
        return "unknown"
    if node.kind == "directory":
        return _inside(path, table, deep=deep)
    return _digest(node.content or node.target.encode())


def _inside(place: str, table: Table, *, deep: bool) -> str:
    """Hash of a directory's names, with their contents where a command reads below them."""
    if place in table.open:
        return "unknown"
    parts = []
    for path in sorted(table.children(place)):
        if deep or posixpath.dirname(path) == place:
            node = table.nodes[path]
            parts.append(f"{path}:{node.mode:o}:" + (_digest(node.content or b"") if deep else node.kind))
    return _digest("\n".join(parts).encode())


def pack(settled: Settled, image: bytes, world: str) -> bytes:
    """Serialise a state: compressed JSON, contents in base64.

    Args:
        settled: The state.
        image: The shell's serialised variables and functions.
        world: Content hash of the world it belongs to.
    """
    table = settled.table
    nodes = {path: _node_out(node) for path, node in table.nodes.items()}
    data = {
        "version": VERSION,
        "world": world,
        "nodes": nodes,
        "open": sorted(table.open),
        "tainted": table.tainted,
        "absent": sorted(table.absent),
        "shell": base64.b64encode(image).decode("ascii"),
        "clock": settled.clock.isoformat(),
        "started": settled.started.isoformat(),
        "cwd": settled.cwd,
        "ended": settled.ended,
        "status": settled.status,
        "umask": settled.umask,
        "options": sorted(settled.options),
        "traps": settled.traps,
        "functions": {name: sorted(body) for name, body in settled.functions.items()},
        "lines": settled.lines,
        "opaque": settled.opaque,
        "loose": settled.loose,
        "moved": settled.moved,
        "jobs": [(job.number, job.command, job.signal) for job in settled.jobs],
    }
    return zstandard.compress(json.dumps(data, separators=(",", ":")).encode(), 3)


def _node_out(node: Node) -> JsonDict:
    found = asdict(node)
    found["mtime"] = node.mtime.isoformat()
    found["content"] = None if node.content is None else base64.b64encode(node.content).decode("ascii")
    return found


def unpack(data: bytes, world: str) -> tuple[Settled, bytes]:
    """Undo :func:`pack`.

    Raises:
        KernelError: The data is damaged, of another version or of another world.
    """
    try:
        found: dict[str, Any] = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(data))
        version = found["version"]
    except (zstandard.ZstdError, ValueError, KeyError, TypeError) as exc:
        raise KernelError("the stored kernel state is damaged", hint="it is rebuilt from the event log") from exc
    if version != VERSION:
        raise KernelError(f"the stored kernel state has version {version}, expected {VERSION}")
    if found["world"] != world:
        raise KernelError("the stored kernel state belongs to another world")
    try:
        return _settled_in(found), base64.b64decode(found["shell"])
    except (ValueError, KeyError, TypeError) as exc:
        raise KernelError("the stored kernel state is damaged", hint="it is rebuilt from the event log") from exc


def _settled_in(found: dict[str, Any]) -> Settled:
    table = Table(
        {path: _node_in(node) for path, node in found["nodes"].items()},
        set(found["open"]),
        dict(found["tainted"]),
        set(found["absent"]),
    )
    return Settled(
        table=table,
        clock=datetime.fromisoformat(found["clock"]),
        cwd=found["cwd"],
        started=datetime.fromisoformat(found["started"]),
        ended=found["ended"],
        status=found["status"],
        umask=found["umask"],
        options=frozenset(found["options"]),
        traps=tuple((signal, body) for signal, body in found["traps"]),
        functions={name: frozenset(body) for name, body in found["functions"].items()},
        lines=found["lines"],
        opaque=tuple(found["opaque"]),
        loose=found["loose"],
        moved=found["moved"],
        jobs=tuple(Job(*job) for job in found["jobs"]),
    )


def _node_in(found: JsonDict) -> Node:
    content = found["content"]
    return Node(
        found["kind"],
        found["mode"],
        found["uid"],
        found["gid"],
        datetime.fromisoformat(found["mtime"]),
        None if content is None else base64.b64decode(content),
        found["target"],
        found["nlink"],
        found["inode"],
    )
