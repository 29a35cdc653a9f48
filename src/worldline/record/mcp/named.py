"""A world for a server that a user names by its command line."""

from __future__ import annotations

import base64
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from worldline.domains.mcp.state import CommandServer, McpState, as_plain
from worldline.domains.terminal.state import FileSpec
from worldline.errors import ConfigError, StorageError, boundary
from worldline.record.mcp.environment import McpEnvironment
from worldline.record.mcp.settings import ServerSettings
from worldline.types import WorldSpec

__all__ = ["named_command", "named_world"]

_MOST_BYTES = 8 << 20
_SYSTEM = tuple(Path(place) for place in ("/usr", "/bin", "/lib", "/lib64", "/sbin"))


def named_command(line: str, base: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Read a server's command line; return its words and what of the host it needs to be seen in the box.

    Relative paths become absolute ones. A program of a virtual environment or below `node_modules` brings that folder,
    another file or directory itself. What lies in `/usr` is there anyway, and of two programs the one there counts.

    Args:
        line: As typed.
        base: What relative paths are relative to.

    Raises:
        ConfigError: It holds no command, or the program is not there.
    """
    try:
        words = shlex.split(line)
    except ValueError as exc:
        raise ConfigError(f"the server's command cannot be read: {exc}") from exc
    if not words:
        raise ConfigError("the server's command is empty")
    program = str(base / words[0]) if "/" in words[0] else shutil.which(words[0], path="/usr/bin")
    program = program or shutil.which(words[0])
    if program is None or not Path(program).exists():
        raise ConfigError(f"there is no program {words[0]}")
    places = [Path(program)]
    command = [program]
    for word in words[1:]:
        place = base / word
        if ("/" in word or "." in word) and not word.startswith("-") and place.exists():
            places.append(place)
            word = str(place)
        command.append(word)
    return tuple(command), tuple(dict.fromkeys(mount for place in places for mount in _needed(place)))


def _needed(place: Path) -> Iterable[Path]:
    for path in (place, place.resolve()):
        if any(path.is_relative_to(system) for system in _SYSTEM):
            continue
        root = path.parent.parent
        if (root / "pyvenv.cfg").exists() or (path.parent.name == "bin" and (root / "lib").is_dir()):
            yield root
        elif "node_modules" in path.parts:
            yield Path(*path.parts[: path.parts.index("node_modules")])
        else:
            yield path


def named_world(
    command: tuple[str, ...],
    settings: ServerSettings,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> WorldSpec:
    """Start the server once, ask it for its tools, and return its world.

    The files of `cwd` become the world's, so that each recording begins with them; a directory that is among the
    settings' mounts is only looked at.

    Raises:
        ConfigError: The directory holds too much.
        SandboxError: The server does not start, or does not speak the protocol.
    """
    server = CommandServer(
        kind="command", command=command, cwd=None if cwd is None else str(cwd.resolve()), env=dict(env or {})
    )
    files: dict[str, FileSpec] = {}
    if cwd is not None and not any(cwd.resolve().is_relative_to(mount) for mount in settings.mounts):
        files = _copied(cwd.resolve())
    name = _name(command)
    state = McpState(servers={name: server}, files=files)
    world = WorldSpec(domain="mcp", name=name, initial_state=as_plain(state))
    with McpEnvironment(world, settings=settings) as environment:
        tools, about = environment.tools(), environment.about[name]
    version = " ".join(str(about[key]) for key in ("name", "version") if isinstance(about.get(key), str))
    told = state.model_copy(update={"servers": {name: server.model_copy(update={"version": version or None})}})
    return world.model_copy(update={"tools": tools, "initial_state": as_plain(told)})


def _name(command: tuple[str, ...]) -> str:
    """A name for the server: its program's, or that of the file that an interpreter is given."""
    files = [word for word in command[1:] if "/" in word and Path(word).suffix in (".py", ".js", ".mjs", ".ts")]
    stem = Path(files[0] if files else command[0]).stem
    name = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "-", stem)).strip("_-")[:32]
    return name.rstrip("_-") or "server"


def _copied(folder: Path) -> dict[str, FileSpec]:
    files, total = {str(folder): FileSpec(kind="directory")}, 0
    with boundary(StorageError, f"reading {folder}"):
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                files[str(path)] = FileSpec(kind="symlink", target=str(path.readlink()))
            elif path.is_dir():
                files[str(path)] = FileSpec(kind="directory")
            elif path.is_file():
                with path.open("rb") as file:
                    data = file.read(_MOST_BYTES - total + 1)
                total += len(data)
                if total > _MOST_BYTES:
                    hint = "name a smaller one, or add it with --mount to show it read-only"
                    raise ConfigError(f"{folder} holds more than {_MOST_BYTES >> 20} MiB", hint=hint)
                files[str(path)] = _file(data, path)
    return files


def _file(data: bytes, path: Path) -> FileSpec:
    mode = f"{path.stat().st_mode & 0o777:o}"
    try:
        return FileSpec(content=data.decode("utf-8"), mode=mode)
    except UnicodeDecodeError:
        return FileSpec(base64=base64.b64encode(data).decode("ascii"), mode=mode)
