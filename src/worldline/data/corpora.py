"""Specialised corpora for continued pre-training: texts of this machine, as rows of a single turn."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from worldline.data.building import BuildReport
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.errors import ConfigError
from worldline.types import Source

__all__ = ["manual_rows"]

_PAGES = Path("/usr/share/man/man1")
_LONGEST = 20_000
_SHORTEST = 400
_SYSTEM = "You are the environment that an agent works in: a real Linux machine reached through its shell."


def manual_rows(count: int, report: BuildReport) -> Iterator[TrainingRow]:
    """Give the manual pages of this machine's programs, in the order of their names.

    Args:
        count: Pages at most.
        report: What a build counts.

    Raises:
        ConfigError: `man` is not installed.
    """
    man = shutil.which("man")
    if man is None:
        raise ConfigError("there is no program man", hint="apt-get install man-db, or leave --manual-pages out")
    given = 0
    for page in sorted(_PAGES.glob("*.1*")):
        if given == count:
            return
        name = page.name.split(".1")[0]
        text = _rendered(man, page)
        if not _SHORTEST <= len(text) <= _LONGEST:
            report.left_out["a manual page that is too short or long"] += 1
            continue
        given += 1
        report.rows += 1
        report.domains["terminal"] += 1
        report.sources[Source.OBSERVED.value] += 1
        report.characters += len(text)
        yield TrainingRow(
            stage="cpt",
            domain="terminal",
            source=Source.OBSERVED,
            family="manual pages",
            messages=(
                TrainingMessage(role="system", content=_SYSTEM),
                TrainingMessage(role="user", content=f"man {name}"),
                TrainingMessage(role="assistant", content=text, weight=1.0, label="corpus"),
            ),
        )


def _rendered(man: str, page: Path) -> str:
    environment = {"PATH": os.environ.get("PATH", ""), "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run([man, "-P", "cat", str(page)], capture_output=True, env=environment, timeout=60, check=False)
    return done.stdout.decode("utf-8", "replace").strip("\n")
