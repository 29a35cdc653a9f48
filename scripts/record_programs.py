"""Record the screens of real interactive programs for tests/kernels/screen/programs, as screens.jsonl.zst there.

Usage: record_programs.py [--all]   only cases that are new or changed are run again; --all runs every one.

`cases.json` lists the cases: `files` of the home directory by name (one that begins with `#!` is executable; `@NAME`
stands for a text that several share), and `keys`, one text per screen. Cursor keys stand in them as the terminal sends
them. Each line of the recording holds the case's name, its content hash and the screens.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import zstandard

from worldline.domains.terminal.keystrokes import NAMED_KEYS, Keystrokes
from worldline.record.terminal import RealTerminal
from worldline.types import WorldSpec, content_id

PLACE = Path(__file__).resolve().parent.parent / "tests" / "kernels" / "screen" / "programs"
WAIT = 0.3
"""Seconds between the last key and the look at the screen."""
NAMES = {keys: name for name, keys in NAMED_KEYS.items() if keys.startswith("\x1b[")}


def entries(keys: str) -> list[Keystrokes]:
    """One turn's keys as entries, those with a name each on its own."""
    parts = [part for part in re.split(r"(\x1b\[(?:[A-D]|\d~))", keys) if part]
    return [
        Keystrokes(NAMES.get(part, part), WAIT if number == len(parts) else 0.0) for number, part in enumerate(parts, 1)
    ]


def read_cases() -> list[dict[str, Any]]:
    """The cases, with the texts that several files share put in."""
    found = json.loads((PLACE / "cases.json").read_text("utf-8"))
    for case in found["cases"]:
        files = case["files"]
        case["files"] = {name: found["texts"].get(text.removeprefix("@"), text) for name, text in files.items()}
    cases: list[dict[str, Any]] = found["cases"]
    return cases


def record(case: dict[str, Any]) -> dict[str, Any]:
    """Run one case in a fresh sandbox."""
    files = {
        f"/home/user/{name}": {"content": text, "mode": "755" if text.startswith("#!") else "644"}
        for name, text in case["files"].items()
    }
    world = WorldSpec(domain="terminal", initial_state={"screen": {}, "files": files})
    with RealTerminal(world) as terminal:
        screens = []
        for keys in case["keys"]:
            screen = terminal.type(entries(keys))
            if keys.endswith("\x1b"):
                # The box's clock moves by whole seconds: only then an editor finds that nothing follows the escape.
                terminal.type([Keystrokes("", 1.1)])
                screen = terminal.type([Keystrokes("", 1.1)])
            screens.append(screen.text)
    return {"name": case["name"], "id": content_id(case), "screens": screens}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="run every case again")
    options = parser.parse_args()
    cases = read_cases()
    target = PLACE / "screens.jsonl.zst"
    known: dict[str, Any] = {}
    if target.exists() and not options.all:
        lines = zstandard.ZstdDecompressor().decompressobj().decompress(target.read_bytes()).decode().split("\n")
        known = {row["id"]: row for row in map(json.loads, lines[:-1])}
    rows = []
    for case in cases:
        rows.append(known.get(content_id(case)) or record(case))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        if len(rows) % 20 == 0 or len(rows) == len(cases):
            print(f"{len(rows)} of {len(cases)}")
    target.write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode()))


if __name__ == "__main__":
    main()
