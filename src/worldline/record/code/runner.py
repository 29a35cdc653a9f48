"""Runs in the sandbox: cells of Python code in one session; requests and answers are lines of JSON."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import json
import linecache
import os
import select
import signal
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

_REPLY = 198


def _say(value: object) -> None:
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(_REPLY, data) :]


def _hider() -> Callable[[bool], None]:
    """Return what keeps the box's other processes from this one's descriptors and memory, or lets them again."""
    before = set(sys.modules)
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    for name in set(sys.modules) - before:  # cells shall not see that it was used
        del sys.modules[name]
    return lambda hidden: prctl(4, int(not hidden), 0, 0, 0)  # PR_SET_DUMPABLE


def _run(code: str, number: int, names: dict[str, Any]) -> bool:
    """Run a cell; give whether it failed."""
    name = f"<cell {number}>"
    linecache.cache[name] = (len(code), None, f"{code}\n".splitlines(keepends=True), name)
    try:
        tree = ast.parse(code, name)
        shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        body = compile(tree, name, "exec", dont_inherit=True)
        last = None if shown is None else compile(ast.Interactive([shown]), name, "single", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        sys.stderr.write("".join(traceback.format_exception_only(error)))
        return True
    try:
        exec(body, names)
        if last is not None:
            sys.displayhook = _show
            exec(last, names)
    except SystemExit as leaving:
        sys.stderr.write(f"SystemExit: {leaving.code}\n" if leaving.code is not None else "SystemExit\n")
        return leaving.code not in (None, 0)
    except BaseException as error:  # noqa: BLE001 - a cell may raise anything
        error.__traceback__ = _without_ours(error.__traceback__)
        sys.stderr.write("".join(traceback.format_exception(error)))
        return True
    return False


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames of this file."""
    frames = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            frames.append(trace)
        trace = trace.tb_next
    for frame, following in zip(frames, [*frames[1:], None], strict=True):
        frame.tb_next = following
    return frames[0] if frames else None


def _show(value: object) -> None:
    if value is not None:
        vars(builtins).pop("_", None)
        sys.stdout.write(repr(value) + "\n")
        vars(builtins)["_"] = value


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (ValueError, OSError, AttributeError):  # the cell closed or replaced it
            continue


def _session(requests: int, replies: int) -> None:
    """Run cells until no more are asked for."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[:] = ["", *(entry for entry in sys.path[1:] if "dist-packages" not in entry)]
    sys.argv[:] = [""]
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    mine = os.getpid()
    with os.fdopen(requests, encoding="utf-8") as lines:
        for line in lines:
            asked = json.loads(line)
            importlib.invalidate_caches()  # the clock stands still, so that new files would not be noticed
            failed = _run(asked["code"], asked["number"], vars(module))
            _flush()
            if os.getpid() != mine:
                os._exit(0)  # a cell forked, and this is the other one
            os.write(replies, b"1" if failed else b"0")
    os._exit(0)


class _Child:
    """The process that runs the cells."""

    def __init__(self, hide: Callable[[bool], None]) -> None:
        requests, self.requests = os.pipe()
        self.replies, replies = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.requests)
            os.close(self.replies)
            os.close(_REPLY)
            hide(False)
            _session(requests, replies)
        os.close(requests)
        os.close(replies)

    def ask(self, line: bytes, timeout: float) -> str:
        """Run a cell: `0`, or `1` where it failed, or `lost` or `late`."""
        try:
            while line:
                line = line[os.write(self.requests, line) :]
        except BrokenPipeError:
            return "lost"
        if not select.select([self.replies], [], [], timeout)[0]:
            return "late"
        return os.read(self.replies, 1).decode() or "lost"

    def end(self) -> None:
        """Kill it and whatever it started."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.requests)
        os.close(self.replies)


def main() -> None:
    """Say hello, hand cells to a session until the input ends; a session that is lost or late is started anew."""
    hide = _hider()
    hide(True)
    child = _Child(hide)
    _say({"version": sys.version.split()[0]})
    for number, line in enumerate(sys.stdin, 1):
        asked = json.loads(line)
        data = json.dumps({"code": asked["code"], "number": number}).encode() + b"\n"
        came = child.ask(data, asked["timeout"])
        if came in ("lost", "late"):
            child.end()
            child = _Child(hide)
        _say({"came": came})


if __name__ == "__main__":
    main()
