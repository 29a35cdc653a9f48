"""Real sandboxes for the recorder's tests. In CI a machine without them is an error, elsewhere a visible skip."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recorder_plans import world

from worldline.record.shell import Limits, RealShell, Surroundings

VARIANT_ENV = "WORLDLINE_VARIANT_ROOT"


@pytest.fixture(scope="session", autouse=True)
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        reason = "bubblewrap is not installed: apt-get install bubblewrap"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def start() -> Iterator[Callable[..., RealShell]]:
    """Start shells that end with the test."""
    open_shells: list[RealShell] = []

    def build(limits: Limits | None = None, surroundings: Surroundings | None = None, **state: Any) -> RealShell:
        shell = RealShell(world(**state), limits=limits, surroundings=surroundings)
        shell.start()
        open_shells.append(shell)
        return shell

    yield build
    for shell in open_shells:
        shell.close()


@pytest.fixture
def variant_root() -> Path:
    """Another Debian root, where the environment names one (`debootstrap trixie DIR`)."""
    root = os.environ.get(VARIANT_ENV)
    if not root:
        pytest.skip(f"{VARIANT_ENV} names no second Debian root")
    return Path(root)
