"""Specialised corpora for continued pre-training: texts of this machine, as rows of a single turn."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from worldline.data.building import BuildReport
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.errors import ConfigError
from worldline.types import Source

__all__ = ["manual_rows"]

_PAGES = Path("/usr/share/man")
_SECTIONS = "16578234"
"""Commands first, then games and files, overviews and administration, then what programmers look up."""
_PAGE = re.compile(r"(?P<name>.+)\.(?P<section>[1-8])[A-Za-z]*(?:\.(?:gz|bz2|xz|zst|Z))?")
"""`python3.11.1.gz` is the page `python3.11` of section 1; `ls.1posix` one of a section's own kind."""
_LONGEST = 20_000
_SHORTEST = 400
_SECONDS = 60.0
_SYSTEM = "You are the environment that an agent works in: a real Linux machine reached through its shell."


def manual_rows(
    count: int, report: BuildReport, pages: Path = _PAGES, seconds: float = _SECONDS
) -> Iterator[TrainingRow]:
    """Give the manual pages of this machine: those of commands first, in the order of their names.

    Args:
        count: Pages at most.
        report: What a build counts.
        pages: Folder with `man1` to `man8`.
        seconds: Time that setting a page may take; one that takes longer is left out.

    Raises:
        ConfigError: `man` is not installed.
    """
    man = shutil.which("man")
    if man is None:
        raise ConfigError("there is no program man", hint="apt-get install man-db, or leave --manual-pages out")
    given = 0
    for section in _SECTIONS:
        for page in sorted((pages / f"man{section}").glob(f"*.{section}*")):
            if given == count:
                return
            read = _PAGE.fullmatch(page.name)
            if read is None or read["section"] != section:
                continue
            text = _rendered(man, page, seconds)
            if text is None:
                report.left_out["a manual page that takes too long"] += 1
            elif not _SHORTEST <= len(text) <= _LONGEST:
                report.left_out["a manual page that is too short or long"] += 1
            else:
                given += 1
                row = _row(f"man {read['name']}" if section == "1" else f"man {section} {read['name']}", text)
                report.count(row)
                yield row


def _row(command: str, text: str) -> TrainingRow:
    return TrainingRow(
        stage="cpt",
        domain="terminal",
        source=Source.OBSERVED,
        family="manual pages",
        messages=(
            TrainingMessage(role="system", content=_SYSTEM),
            TrainingMessage(role="user", content=command),
            TrainingMessage(role="assistant", content=text, weight=1.0, label="corpus"),
        ),
    )


def _rendered(man: str, page: Path, seconds: float) -> str | None:
    """The page as `man` shows it; None where that takes too long."""
    environment = {"PATH": os.environ.get("PATH", ""), "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}
    try:
        done = subprocess.run(
            [man, "-P", "cat", str(page)], capture_output=True, env=environment, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.decode("utf-8", "replace").strip("\n")
