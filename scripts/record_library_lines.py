"""Record where lines of the standard library stand in Debian 12's Python 3.11.2, for tracebacks that go through it.

Usage: record_library_lines.py [ROOT]   ROOT is the library's folder, by default /usr/lib/python3.11

For each function the table holds the CRC of a line and its number, no source. A line that stands more than once in
a function is left out.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from pathlib import Path

from worldline.kernels.python.guest.tracebacks import LIBRARY, line_key

TARGET = Path(__file__).resolve().parent.parent / "src" / "worldline" / "kernels" / "python" / "library_lines.json"


def table(path: Path) -> dict[str, int]:
    """Map the lines of one file that can stand in a traceback to their numbers."""
    text = path.read_text("utf-8")
    lines = text.split("\n")
    found: Counter[str] = Counter()
    places: dict[str, int] = {}
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        numbers = {
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, (ast.Call, ast.Raise, ast.Subscript, ast.Attribute, ast.BinOp, ast.Yield))
        }
        for number in numbers:
            key = line_key(function.name, lines[number - 1])
            found[key] += 1
            places[key] = number
    return {key: places[key] for key in sorted(places, key=places.__getitem__) if found[key] == 1}


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/lib/python3.11")
    tables = {name: table(root / name) for name in LIBRARY}
    TARGET.write_text(json.dumps(tables, separators=(",", ":")) + "\n", "utf-8")
    print(f"{TARGET.name}: {sum(map(len, tables.values()))} lines of {len(tables)} files")


if __name__ == "__main__":
    main()
