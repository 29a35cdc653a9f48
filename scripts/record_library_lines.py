"""Record where lines of the standard library stand in Debian 12's Python 3.11.2, for tracebacks that go through it.

Usage: record_library_lines.py [ROOT]   ROOT is the library's folder, by default /usr/lib/python3.11

For each function the table holds the CRC of a line and the numbers where it stands, no source.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from worldline.kernels.python.guest.tracebacks import LIBRARY, library_lines

TARGET = Path(__file__).resolve().parent.parent / "src" / "worldline" / "kernels" / "python" / "library_lines.json"


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/lib/python3.11")
    tables = {name: library_lines((root / name).read_text("utf-8")) for name in LIBRARY}
    TARGET.write_text(json.dumps(tables, separators=(",", ":")) + "\n", "utf-8")
    print(f"{TARGET.name}: {sum(map(len, tables.values()))} lines of {len(tables)} files")


if __name__ == "__main__":
    main()
