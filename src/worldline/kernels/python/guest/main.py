"""The worker's life: wait for a connection, fork, close the fork off, run one script in it."""

# This is the layer that stands in for the file system, so it speaks `os`; and a script may raise anything.
# ruff: noqa: PTH112, PTH113, PTH123

from __future__ import annotations

import ast
import datetime
import gc
import os
import posixpath
import signal
import socket
import sys
import types
import warnings
from typing import Any

from . import access, builtin_names, cells, expressions, functions, imports, processes, programs, repl, seal, tracebacks
from .channel import Channel, Closed
from .files import World, install, write_cache
from .frames import Abstain, Code, Frame, Noting, Source, abstain, abstained
from .parsing import parse
from .scope import Scope
from .statements import Compiler
from .streams import written
from .terminal import waiter
from .uncaught import attempt
from .warning import show_compiler_warnings

__all__ = ["main"]


def main(control: int) -> None:
    """Serve connections that arrive over the socket with this descriptor, until it closes."""
    imports.preload()
    seal.prepare()
    tracebacks.read_library()
    # What library code learns about its caller (`type()`, `namedtuple`, ...) is the script's module.
    vars(expressions)["__name__"] = "__main__"
    sys.setrecursionlimit(60_000)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    with socket.socket(fileno=control) as connection:
        while True:
            message, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
            if not message:
                return
            if os.fork() == 0:
                connection.close()
                _serve(socket.socket(fileno=descriptors[0]))
                os._exit(0)
            os.close(descriptors[0])


def _serve(sock: socket.socket) -> None:
    channel = Channel(sock)
    sealed = seal.seal()
    _warm()
    try:
        request = channel.receive()
        seal.limit(memory=request["memory"], processor=request.get("processor", request["seconds"]))
        seal.arm(seconds=request["seconds"], wall=request["wall"])
        if request.get("strict") and not sealed:
            channel.send({"unknown": "no system call filter on this machine"})
            return
        channel.send({**_answer(channel, request), "used": seal.used()})
    except Closed:
        return


def _answer(channel: Channel, request: dict[str, Any]) -> dict[str, Any]:
    """What a request gives; a fault of ours makes it unknown."""
    try:
        answer, fault = attempt(lambda: _run(channel, request))
    except Abstain as giving_up:
        answer, fault = None, giving_up
    if isinstance(fault, Closed):
        raise fault
    if answer is None:
        return {"unknown": abstained() or f"{type(fault).__name__} in the kernel: {fault}"}
    return answer


_SAMPLE = """
import json
class Sample:
    def __init__(self, value):
        self.value = value
def function(items, *more, key=None):
    total = 0
    for item in items:
        try:
            total += item.value
        except KeyError as error:
            total -= 1
    return f"{total:>5}", [x for x in items if x], {"a": more}
function([Sample(1), Sample(2)], 3, key=lambda x: -x)
"""


def _warm() -> None:
    """Run a sample while nothing waits: the memory that scripts use is then this process's own."""
    source = Source("<sample>", [])
    top: dict[str, Any] = {"__name__": "sample"}
    tree = ast.parse(_SAMPLE)
    Compiler(source, Scope("module", None), uses_sets=False).body(tree.body)(Frame(Code("", source), top, None, top))
    functions.GUEST_FUNCTIONS.clear()
    imports.forget()


def _run(channel: Channel, request: dict[str, Any]) -> dict[str, Any]:
    def ask(operation: str, *arguments: Any) -> Any:
        channel.send({"ask": operation, "arguments": arguments})
        return channel.receive()

    world = World(ask, request["cwd"], request["uid"])
    stdin = request["stdin"]
    out, err = install(
        world,
        request["env"],
        None if stdin is None else stdin.encode("latin-1"),
        request["output_limit"],
        terminal=request["terminal"],
    )
    if request["terminal"]:
        waiter.append(lambda: channel.send({**(abstention() or _waiting()), "used": seal.used()}))
    builtin_names.BUILTINS["open"] = open
    access.set_clock(datetime.datetime.fromtimestamp(request["now"], datetime.timezone.utc))  # noqa: UP017
    processes.set_world(world)
    sys.argv[:] = request["argv"]
    if "cells" in request:
        return _notebook(channel, request, world)
    try:
        status = _script(request, world)
        _flush_open_files(world)
    except Abstain:
        status = 1
    except (MemoryError, RecursionError) as exc:
        return {"unknown": f"{type(exc).__name__} in the kernel"}
    reason = abstained()
    if reason is not None:
        return {"unknown": reason, **(_shown() if request["terminal"] else {})}
    found = {"stdout": out.text(), "stderr": err.text(), "status": status, "slept": sum(imports.slept)}
    if request["terminal"]:
        return {**_shown(), "status": status, "waiting": False}
    return {**found, "merged": b"".join(written).decode("latin-1") if found["stdout"] and found["stderr"] else None}


def _notebook(channel: Channel, request: dict[str, Any], world: World) -> dict[str, Any]:
    """Run cells of a notebook, and those of the requests that follow, until one is not supported."""
    loader = _loader(world, request["directory"], request["caches"])
    imports.set_loader(loader, request["path"], closed=request["closed"])
    notebook = cells.Notebook(world, _evaluator(True), _mentions)
    while True:
        seal.arm(seconds=request["seconds"], wall=request["wall"])
        found: dict[str, Any] = {}
        try:
            found = notebook.run(request["cells"])
        except Abstain:
            pass
        except (MemoryError, RecursionError) as exc:
            return {"unknown": f"{type(exc).__name__} in the kernel"}
        seal.disarm()
        unknown = abstention()
        if unknown is not None:
            return unknown
        channel.send({**found, "used": seal.used()})
        request = channel.receive()


def _waiting() -> dict[str, Any]:
    """What stands on the terminal while the script waits for more."""
    return {**_shown(), "status": 0, "waiting": True}


def _shown() -> dict[str, Any]:
    """What stands on the terminal."""
    text = b"".join(written).decode("latin-1")
    return {"stdout": text, "stderr": "", "merged": None, "slept": sum(imports.slept)}


def abstention() -> dict[str, Any] | None:
    """The answer where the script has gone past what is known."""
    reason = abstained()
    return None if reason is None else {"unknown": reason}


def _flush_open_files(world: World) -> None:
    """Write out what the end of the interpreter would."""
    for file in list(world.open_files):
        if not file.closed:
            file.flush()


def _script(request: dict[str, Any], world: World) -> int:
    """Run the script; give the exit status."""
    filename, text = request["filename"], request["source"]
    shown = request["shown"]
    if request["module"] in programs.PROGRAMS:
        imports.set_loader(
            _loader(world, request["directory"], request["caches"]), request["path"], closed=request["closed"]
        )
        world.sorts = True
        return programs.run(request["module"], _parse)
    if request["interactive"]:
        world.sorts = True
        return _interactive(request, world)
    try:
        source, tree = _parse(text, filename, shown)
    except SyntaxError as error:
        return _syntax_error(error, shown)
    module = types.ModuleType("__main__")
    top = vars(module)
    top |= {"__name__": "__main__", "__doc__": ast.get_docstring(tree, clean=False), "__annotations__": {}}
    if shown:
        top["__file__"] = filename
    sys.modules["__main__"] = module
    world.sorts = _mentions(tree, {"sorted", "sort"})
    uses_sets = _uses_sets(tree)
    directory = request["directory"]
    imports.set_loader(_loader(world, directory, request["caches"]), request["path"], closed=request["closed"])
    builtin_names.set_evaluator(_evaluator(uses_sets))
    for action in request["warnings"]:
        warnings.simplefilter(action)
    if request["optimised"]:
        builtin_names.BUILTINS["__debug__"] = False
        tree = _WithoutAsserts().visit(tree)
    compiler = Compiler(source, Scope("module", None), uses_sets=uses_sets)
    frame = Frame(Code("<module>", source), top, None, top)
    status = _outcome(compiler, tree, frame, by_name=request["module"] is not None, shows_exit=request["inspect"])
    return repl.interact(top) if request["inspect"] else status


def _interactive(request: dict[str, Any], world: World) -> int:
    """Python's prompt."""
    module = types.ModuleType("__main__")
    top = vars(module)
    top |= {"__name__": "__main__", "__doc__": None, "__annotations__": {}}
    sys.modules["__main__"] = module
    loader = _loader(world, request["directory"], request["caches"])
    imports.set_loader(loader, request["path"], closed=request["closed"])
    builtin_names.set_evaluator(_evaluator(True))
    return repl.interact(top)


class _WithoutAsserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)


def _parse(text: str, filename: str, shown: bool) -> tuple[Source, ast.Module]:
    source = Source(filename, text.splitlines() if shown else [])
    try:
        tree, found = parse(text, filename)
    except SyntaxError as error:
        _complete(error, text, shown)
        raise error.with_traceback(None) from None
    show_compiler_warnings(found, source)
    source.deferred = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    return source, tree


def _complete(error: SyntaxError, text: str, shown: bool) -> None:
    """Give the error the line of source that CPython reads from the file."""
    lines = text.splitlines()
    if error.text is None and shown and error.lineno and 0 < error.lineno <= len(lines):
        error.text = lines[error.lineno - 1] + "\n"


def _syntax_error(error: SyntaxError, shown: bool) -> int:
    if sys.version_info[:2] != (3, 11) or "non-printable" in str(error.msg):
        abstain("a syntax error, worded by another Python version")
    sys.stderr.write(tracebacks.format_syntax_error(error))
    return 1


def _outcome(compiler: Compiler, tree: ast.Module, frame: Frame, *, by_name: bool, shows_exit: bool = False) -> int:
    def run() -> None:
        with Noting(frame):
            compiler.body(tree.body)(frame)

    _, error = attempt(run)
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        sys.stdout.flush()
        if shows_exit:
            sys.stderr.write(tracebacks.format_error(error))
            return 1
        return programs.status_of(error.code)
    if sys.version_info[:2] != (3, 11):
        abstain("a traceback, worded by another Python version")
    sys.stdout.flush()
    if by_name:
        tracebacks.started_by_name(error)
    sys.stderr.write(tracebacks.format_error(error))
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _mentions(tree: ast.AST, names: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)
        for node in ast.walk(tree)
    )


def _uses_sets(tree: ast.AST) -> bool:
    """Whether a set may come up, so that its order has to be watched."""
    if _mentions(tree, {"set", "frozenset"}):
        return True
    operators = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
    views = _mentions(tree, {"keys", "items"})
    return any(
        isinstance(node, (ast.Set, ast.SetComp))
        or (views and isinstance(node, ast.BinOp) and isinstance(node.op, operators))
        for node in ast.walk(tree)
    )


def _loader(world: World, directory: str | None, caches: bool) -> imports.Loader:
    def load(name: str) -> types.ModuleType | None:
        if directory is None:
            return None
        parent = name.rpartition(".")[0]
        library = name.partition(".")[0] in sys.stdlib_module_names
        if parent:
            folder = posixpath.join(directory, *parent.split("."))
            if (world.ask("probe", folder) if library else True) and os.path.isdir(folder):
                imports.load(parent, whole=True)
        base = posixpath.join(directory, *name.split("."))
        for path in (f"{base}/__init__.py", f"{base}.py"):
            # A file that hides a library module counts where it is known to be there.
            if world.ask("probe", path) if library else os.path.isfile(path):
                return _load_file(world, name, path, caches)
        if not library and os.path.isdir(base):
            abstain("a namespace package")
        return None

    return load


def _load_file(world: World, name: str, path: str, caches: bool) -> types.ModuleType:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    source, tree = _parse(text, path, True)
    module = types.ModuleType(name, ast.get_docstring(tree, clean=False))
    module.__file__ = path
    module.__package__ = name.rpartition(".")[0]
    if path.endswith("/__init__.py"):
        module.__path__ = [posixpath.dirname(path)]
        module.__package__ = name
    access.add_guest_module(name)
    sys.modules[name] = module
    world.sorts = world.sorts or _mentions(tree, {"sorted", "sort"})
    frame = Frame(Code("<module>", source), vars(module), None, vars(module))
    imports.register(name, module)
    state: Any = types.SimpleNamespace(_initializing=True)
    module.__spec__ = state
    with Noting(frame):
        Compiler(source, Scope("module", None), uses_sets=True).body(tree.body)(frame)
    state._initializing = False
    if caches:
        write_cache(path, text)
    return module


def _evaluator(uses_sets: bool) -> Any:
    def evaluate(text: Any, f: Frame, top: Any, local: Any, mode: str) -> Any:
        if not isinstance(text, str):
            abstain(f"{mode} of something other than text")
        if local is not None and top is not local:
            abstain(f"{mode} with separate local names")
        names = f.top if top is None else top
        variables = f.vars if top is None else top
        source = Source("<string>", [])
        try:
            tree: ast.AST = ast.parse(text.strip(" \t") if mode == "eval" else text, "<string>", mode)
        except SyntaxError as error:
            error.__traceback__ = None
            raise
        scope = Scope("module", None) if variables is names else Scope("class", None)
        compiler = Compiler(source, scope, uses_sets=uses_sets)
        frame = Frame(Code("<module>", source), variables, None, names)
        if scope.kind == "class":
            scope.names = dict.fromkeys(variables)
        with Noting(frame):
            if isinstance(tree, ast.Expression):
                return compiler.expression(tree.body)(frame)
            assert isinstance(tree, ast.Module)
            compiler.body(tree.body)(frame)
        return None

    return evaluate
