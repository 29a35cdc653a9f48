"""Runs the program as a user does: `.venv/bin/worldline ...` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PROGRAM = str(Path(sys.executable).with_name("worldline"))


def environment(home: Path, **more: str) -> dict[str, str]:
    """Surroundings of a new user: nothing of the developer's own settings, state in `home`."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        **more,
    }


def worldline(
    *arguments: str | Path,
    home: Path,
    stdin: str | bytes = b"",
    timeout: float = 60,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run the program; a traceback on standard error fails the test that called it."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=timeout,
        cwd=home,
        env=environment(home, **(env or {})),
        **options,
    )
    result = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in result.stderr, result.stderr
    return result


def records(text: str) -> list[dict[str, Any]]:
    """Read JSON lines, split as any reader would (also one that splits at U+2028)."""
    return [json.loads(line) for line in text.splitlines()]


def actions(*commands: Any) -> str:
    """Lay out actions one a line; a text is a command."""
    return "".join(json.dumps({"command": c} if isinstance(c, str) else c) + "\n" for c in commands)


def write_actions(path: Path, commands: Iterable[Any]) -> Path:
    """Write a file of actions."""
    path.write_text(actions(*commands), encoding="utf-8")
    return path
