"""Runs in the sandbox: the database tool on the real engine, one JSON call a line, one JSON answer a line."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from typing import Any

_REPLY = 198


def _say(value: object) -> None:
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    while data:
        data = data[os.write(_REPLY, data) :]


def _engine(tool: Any, config: dict[str, Any]) -> tuple[Any, str]:
    """The engine that the world asks for, and its version."""
    if config["engine"] == "duckdb":
        duckdb: Any = importlib.import_module("duckdb")
        return tool.DuckEngine(duckdb, config["max_rows"], config["timeout"], threading.Timer), duckdb.__version__
    version: str = importlib.import_module("sqlite3").sqlite_version
    return tool.SqliteEngine(config["max_rows"], config["timeout"], time.monotonic), version


def main() -> None:
    """Set the database up, say hello, answer calls until the input ends."""
    sys.path[:0] = ["/mnt/engine", "/run/tool"]
    tool: Any = importlib.import_module("tool")  # the module worldline.domains.database.tool, copied here
    with open("/run/tool/config.json", encoding="utf-8") as file:  # noqa: PTH123
        config = json.load(file)
    engine, version = _engine(tool, config)
    engine.setup([(name, sql, [tuple(row) for row in rows]) for name, sql, rows in config["tables"]], config["script"])
    engine.guard(config["read_only"])
    answers = tool.DatabaseTool(engine, config["output"])
    _say({"version": version, "python": sys.version.split()[0]})
    for line in sys.stdin:
        call = json.loads(line)
        text, is_error = answers.call(call["name"], call["arguments"])
        _say({"text": text, "is_error": is_error})


if __name__ == "__main__":
    main()
