"""A small real HTTP server with the endpoints of the hub that publishing needs; it keeps what is committed."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class HubServer:
    """Repositories, branches and commits in memory. `refuse` answers every call with that status, token and all."""

    def __init__(self, refuse: int | None = None) -> None:
        self.refuse = refuse
        self.calls: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.created: list[dict[str, Any]] = []
        self.branches: list[str] = []
        self.files: dict[str, bytes] = {}

    def __enter__(self) -> HubServer:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                hub.calls.append(("POST", self.path))
                token = self.headers.get("Authorization")
                hub.tokens.add(token)
                status, answer = (
                    (hub.refuse, {"error": f"no: {token}"}) if hub.refuse else (200, hub.answer(self.path, body))
                )
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        if path == "/api/repos/create":
            asked = json.loads(body)
            self.created.append(asked)
            kind = "datasets/" if asked.get("type") == "dataset" else ""
            return {"url": f"{self.url}/{kind}{asked['organization']}/{asked['name']}"}
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}
        if "/branch/" in path:
            self.branches.append(path.rpartition("/")[2])
            return {}
        if "/preupload/" in path:
            asked = json.loads(body)["files"]
            return {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked]}
        if "/commit/" in path:
            for line in body.splitlines():
                item = json.loads(line)
                if item["key"] == "file":
                    self.files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            where = path.removeprefix("/api/").removeprefix("models/").partition("/commit/")[0]
            return {"success": True, "commitOid": "c0ffee", "commitUrl": f"{self.url}/{where}/commit/c0ffee"}
        raise AssertionError(path)
