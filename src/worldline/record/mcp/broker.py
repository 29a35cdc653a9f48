"""What runs inside the box: starts the servers, passes lines between them and the recorder, serves declared pages.

This file is handed to the box's own Python as text, so it uses the standard library only. It reads JSON lines from
its standard input, the first of which says what to start, and writes JSON lines that say what happened:

    in   {"steps": [...], "servers": [{"name", "argv", "cwd", "env"}], "pages": {...}, "limits": {...}}
    in   {"to": NAME, "line": TEXT}
    out  {"event": "ready"} or {"event": "failed", "why": TEXT}
    out  {"event": "line", "from": NAME, "line": TEXT}
    out  {"event": "long", "from": NAME, "size": BYTES, "head": TEXT, "tail": TEXT}     a line above the limit
    out  {"event": "flood", "from": NAME}                                    it wrote too much and was ended
    out  {"event": "exit", "from": NAME, "status": N, "said": TEXT}          with the end of its standard error

What a server may write is counted anew with every line that it is sent.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.server
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

__all__ = ["main"]

_CHUNK = 1 << 16
_ENDS = 2048
"""Characters kept of both ends of a line above the limit."""

_lock = threading.Lock()


def _tell(**event: Any) -> None:
    line = json.dumps(event) + "\n"
    with _lock:
        sys.stdout.write(line)
        sys.stdout.flush()


class _Lines:
    """Cuts a stream of bytes into lines, keeping no more than the limit of each."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = bytearray()
        self.tail = b""
        self.size = 0

    def feed(self, data: bytes) -> Any:
        """Yield each finished line as `(size, kept bytes, last bytes)`."""
        *finished, rest = data.split(b"\n")
        for piece in finished:
            self._add(piece)
            yield self.size, bytes(self.kept), self.tail
            self.kept, self.tail, self.size = bytearray(), b"", 0
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self.size += len(piece)
        self.kept += piece[: max(0, self.limit - len(self.kept))]
        if self.size > self.limit:
            self.tail = (self.tail + piece)[-_ENDS:]


class _Server:
    """A server process, with a thread for each of its streams."""

    def __init__(self, spec: dict[str, Any], limits: dict[str, int]) -> None:
        self.name, self.limits = spec["name"], limits
        self.lines = 0
        self.said = b""
        self.flooded = False
        self.todo: queue.Queue[str] = queue.Queue()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        env = {**os.environ, **spec["env"]}
        self.process = subprocess.Popen(spec["argv"], cwd=spec["cwd"], env=env, **pipes)  # type: ignore[call-overload]
        for work in (self._write, self._read, self._listen):
            threading.Thread(target=work, daemon=True).start()

    def send(self, line: str) -> None:
        self.lines = 0
        self.todo.put(line)

    def _write(self) -> None:
        pipe: IO[bytes] = self.process.stdin
        with contextlib.suppress(OSError, ValueError):
            while True:
                pipe.write(self.todo.get().encode("utf-8") + b"\n")
                pipe.flush()

    def _listen(self) -> None:
        pipe: IO[bytes] = self.process.stderr
        while data := os.read(pipe.fileno(), _CHUNK):
            self.said = (self.said + data)[-_ENDS:]

    def _read(self) -> None:
        lines, pipe = _Lines(self.limits["line"]), self.process.stdout
        while data := os.read(pipe.fileno(), _CHUNK):
            for line in lines.feed(data):
                self._pass(*line)
            if self.flooded or lines.size > self.limits["flood"]:
                self.flooded = True
                self.process.kill()
                break
        if lines.size and not self.flooded:
            self._pass(*next(lines.feed(b"\n")))
        if self.flooded:
            _tell(event="flood", **{"from": self.name})
        status = self.process.wait()
        _tell(event="exit", status=status, said=self.said.decode("utf-8", "replace"), **{"from": self.name})

    def _pass(self, size: int, kept: bytes, tail: bytes) -> None:
        if size > self.limits["line"]:
            ends = {"head": kept[:_ENDS].decode("utf-8", "replace"), "tail": tail.decode("utf-8", "replace")}
            _tell(event="long", size=size, **ends, **{"from": self.name})
            return
        self.lines += 1
        self.flooded = self.flooded or self.lines > self.limits["lines"]
        if kept.strip() and not self.flooded:
            _tell(event="line", line=kept.decode("utf-8", "replace"), **{"from": self.name})


def _serve(port: int, pages: dict[str, Any]) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            missing = {"status": 404, "body": "Not Found", "content_type": "text/plain; charset=utf-8"}
            page = pages.get(self.path, missing)
            body = page["body"].encode("utf-8")
            self.send_response(page["status"])
            self.send_header("Content-Type", page["content_type"])
            self.send_header("Content-Length", str(len(body)))
            if page.get("location"):
                self.send_header("Location", page["location"])
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def _take(step: dict[str, Any]) -> str | None:
    """Take one step of the preparation; return why it failed."""
    if "write" in step:
        for path, text in step["write"].items():
            if text is None:
                Path(path).unlink(missing_ok=True)
                continue
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(text.encode("utf-8"))
        return None
    done = subprocess.run(
        step["run"],
        cwd=step.get("cwd"),
        env={**os.environ, **step.get("env", {})},
        input=step.get("stdin", "").encode("utf-8"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return None if done.returncode == 0 else done.stdout.decode("utf-8", "replace")[-_ENDS:] or str(done.returncode)


def _prepare(config: dict[str, Any]) -> None:
    for step in config["steps"]:
        why = _take(step)
        if why is not None:
            raise OSError(f"{' '.join(step['run'][:3])}: {why}")
    for port, pages in config["pages"].items():
        _serve(int(port), pages)


def _start(config: dict[str, Any]) -> dict[str, _Server]:
    servers: dict[str, _Server] = {}
    for spec in config["servers"]:
        try:
            servers[spec["name"]] = _Server(spec, config["limits"])
        except (OSError, ValueError) as exc:
            _tell(event="exit", status=127, said=str(exc), **{"from": spec["name"]})
    return servers


def main() -> None:
    """Serve the recorder until its end of the pipe is closed."""
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: no server may open this process's descriptors
    config = json.loads(sys.stdin.readline())
    try:
        _prepare(config)
    except (OSError, ValueError) as exc:  # the latter where a name or a word holds NUL
        _tell(event="failed", why=str(exc))
        return
    _tell(event="ready")
    servers = _start(config)
    for line in sys.stdin:
        message = json.loads(line)
        if message["to"] in servers:
            servers[message["to"]].send(message["line"])


if __name__ == "__main__":
    main()
