"""The program as a user runs it, in a home of its own that holds a real small model."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from real_server import server_python

__all__ = ["PYTHON", "environment", "home_with_model", "worldline"]

SOURCE = Path(__file__).parents[2] / "src"
PYTHON = server_python()


def environment(home: Path) -> dict[str, str]:
    """Nothing of the caller's settings but where models are stored."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WORLDLINE_")}
    more = {"HOME": str(home), "PYTHONPATH": str(SOURCE), "WORLDLINE_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    return {**kept, **more, "WORLDLINE_MODEL_DIR": os.environ.get("WORLDLINE_MODEL_DIR", str(home / "models"))}


def worldline(home: Path, *arguments: str, stdin: str = "", timeout: float = 900) -> subprocess.CompletedProcess[str]:
    """Run the program and return what it said."""
    return subprocess.run(
        [PYTHON, "-m", "worldline", *arguments],
        input=stdin, capture_output=True, text=True, env=environment(home), cwd=home, timeout=timeout, check=False,
    )  # fmt: skip


def home_with_model(factory: pytest.TempPathFactory, *libraries: str) -> Path:
    """Make a home with SmolLM2; the test is skipped where a library or the weights are missing."""
    folder = factory.mktemp("home")
    check = f"import worldline, {', '.join(libraries)}"
    found = subprocess.run([PYTHON, "-c", check], env=environment(folder), capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"{PYTHON} lacks a library: {found.stderr.strip().splitlines()[-1:]}")
    got = worldline(folder, "models", "get", "smollm2")
    if got.returncode:
        pytest.skip(f"the weights cannot be fetched here: {got.stderr}")
    return folder
