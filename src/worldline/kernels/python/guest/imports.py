"""The modules that a script may import: library modules through an allow-list, and its own files."""

from __future__ import annotations

import builtins
import importlib
import logging
import posixpath
import random
import signal
import sys
import time
import types
import uuid
from collections.abc import Callable
from typing import Any, cast

from . import access, processes, submodules
from .builtin_names import BUILTINS, FrameCall, Volatile
from .frames import Frame, abstain
from .modules import MODULES
from .terminal import handlers, note_hidden, note_sleep, note_unsure, on_terminal

__all__ = [
    "MODULES",
    "Loader",
    "absolute",
    "everything",
    "forget",
    "load",
    "member",
    "preload",
    "register",
    "set_loader",
]

_ALSO = "_strptime encodings.idna encodings.latin_1 encodings.ascii encodings.utf_16 encodings.utf_8_sig json.tool lzma"
_DENIED: dict[str, set[str]] = {
    "ast": {"PyCF_ONLY_AST"},
    "datetime": set(),
    "inspect": {"stack", "currentframe", "getsource", "getsourcelines", "getsourcefile", "getfile", "trace",
                "getmodule", "getinnerframes", "getouterframes", "getframeinfo", "findsource"},
    "io": {"FileIO", "open_code", "OpenWrapper"},
    "operator": {"attrgetter", "methodcaller"},
    "pickle": {"load", "loads", "Unpickler", "Pickler", "dump", "dumps"},
    "random": {"SystemRandom"},
    "types": {"FunctionType", "CodeType", "LambdaType", "CellType", "FrameType", "TracebackType", "GeneratorType"},
    "typing": {"get_type_hints", "ForwardRef"},
    "uuid": {"uuid1", "getnode"},
    "logging": {"Logger.findCaller"},
    "codecs": {"register"},
    "subprocess": {"Popen"},
    "warnings": {"warn_explicit"},
    "unittest": {"IsolatedAsyncioTestCase"},
    "time": {"perf_counter_ns", "monotonic_ns", "process_time", "process_time_ns",
             "thread_time", "thread_time_ns", "clock_gettime", "clock_settime"},
}  # fmt: skip
MARKER = "5f1d7e84c3a94b6f8e2d9a0b7c6d5e4f"
"""Stands for what differs between runs; a script that shows it makes the result unknown."""
_SYS = {
    "byteorder": "little",
    "maxsize": sys.maxsize,
    "maxunicode": sys.maxunicode,
    "float_info": sys.float_info,
    "int_info": sys.int_info,
    "hexversion": 0x030B02F0,
    "platform": "linux",
    "executable": "/usr/bin/python3",
    "prefix": "/usr",
    "base_prefix": "/usr",
    "exec_prefix": "/usr",
    "flags": sys.flags,
    "dont_write_bytecode": False,
}
_SYS_FUNCTIONS = [
    "intern",
    "getrecursionlimit",
    "getdefaultencoding",
    "getfilesystemencoding",
    "exc_info",
    "is_finalizing",
    "getsizeof_no",
]


class LibraryModule(types.ModuleType):
    """A library module as a script sees it: the public names that it may use."""

    def __init__(self, real: types.ModuleType) -> None:
        super().__init__(real.__name__, real.__doc__)
        denied = _DENIED.get(real.__name__, set())
        names = {k: v for k, v in vars(real).items() if not k.startswith("_") and k not in denied}
        if hasattr(real, "__all__"):
            names = {k: v for k, v in names.items() if not isinstance(v, types.ModuleType) or k in real.__all__}
        else:
            names = {k: v for k, v in names.items() if not isinstance(v, types.ModuleType)}
        self.__dict__.update(names)
        self.__dict__.update(_replacements(real.__name__))
        if real.__name__ == "collections":
            names.pop("abc", None)
        object.__setattr__(self, "_real", real)

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__.get("_real")
        if real is not None and hasattr(real, name) and not name.startswith("__path"):
            abstain(f"{self.__name__}.{name} is not supported")
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)


class SystemModule(LibraryModule):
    """The module `sys`."""

    def __init__(self, real: types.ModuleType) -> None:
        types.ModuleType.__init__(self, "sys")
        self.__dict__.update(_SYS)
        self.__dict__.update({name: getattr(sys, name) for name in _SYS_FUNCTIONS if hasattr(sys, name)})
        self.__dict__["exc_info"] = sys.exc_info
        self.__dict__["exit"] = _exit
        self.__dict__["setrecursionlimit"] = lambda limit: None
        self.__dict__["version_info"] = _version_info()
        object.__setattr__(self, "_real", real)

    def __getattr__(self, name: str) -> Any:
        if name in ("argv", "stdin", "stdout", "stderr", "path", "modules"):
            if name == "modules":
                abstain("sys.modules")
            return _paths if name == "path" else getattr(sys, name)
        return super().__getattr__(name)

    def set_from_script(self, name: str, value: Any) -> None:
        """Take over what a script may replace."""
        if name not in ("argv", "stdin", "stdout", "stderr"):
            abstain(f"setting sys.{name}")
        setattr(sys, name, value)


_paths: list[str] = []


def _version_info() -> Any:
    import collections

    version_info = collections.namedtuple("version_info", "major minor micro releaselevel serial")
    return version_info(3, 11, 2, "final", 0)


def _exit(status: Any = None) -> None:
    raise SystemExit(status)


_exit.__name__ = "exit"

slept: list[float] = []


def _sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    slept.append(seconds)
    note_sleep(seconds)


def _time() -> float:
    return access.clock().timestamp()


def _seeded(name: str) -> Callable[..., Any]:
    real = getattr(random, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if not _seeds:
            _guess_seed()
        return real(*args, **kwargs)

    function.__name__ = name
    return function


_seeds: list[bool] = []


def _guess_seed() -> None:
    """Go on with some numbers where a terminal shows a guess, too."""
    if not on_terminal():
        abstain("random numbers without a seed")
    note_unsure()
    _seeds.append(True)
    random.seed(0)


def _seed(a: Any = None, version: int = 2) -> None:
    if a is None:
        _guess_seed()
        return
    _seeds.append(True)
    random.seed(a, version)


class _Random(random.Random):
    def __init__(self, x: Any = None) -> None:
        if x is None:
            _guess_seed()
            x = 0
        super().__init__(x)


def _replacements(name: str) -> dict[str, Any]:
    if name == "random":
        shared: Any = random
        bound = [k for k, v in vars(random).items() if getattr(v, "__self__", None) is shared._inst]
        found: dict[str, Any] = {k: _seeded(k) for k in bound}
        found |= {"seed": _seed, "Random": _Random}
        return found
    if name == "time":
        found = {"sleep": _sleep, "time": _time, "time_ns": lambda: int(_time() * 1e9)}
        for key in ("localtime", "gmtime", "ctime"):
            found[key] = _with_now(getattr(time, key))
        found["strftime"] = lambda form, when=None: time.strftime(form, when or time.gmtime(_time()))
        found["asctime"] = lambda when=None: time.asctime(when or time.gmtime(_time()))
        found |= dict.fromkeys(("perf_counter", "monotonic", "process_time", "thread_time"), _counter)
        found["timezone"], found["tzname"], found["daylight"], found["altzone"] = 0, ("UTC", "UTC"), 0, 0
        return found
    if name == "getpass":
        return {"getpass": _getpass, "getuser": _getuser}
    if name == "signal":
        refused = (
            "alarm",
            "pause",
            "setitimer",
            "getitimer",
            "sigwait",
            "raise_signal",
            "set_wakeup_fd",
            "siginterrupt",
        )
        return {"signal": _signal, "getsignal": handlers.get} | {key: _refuser(f"signal.{key}") for key in refused}
    if name == "uuid":
        return {"uuid4": lambda: uuid.UUID(hex=MARKER)}
    if name == "subprocess":
        return processes.functions()
    if name == "operator":
        return {"attrgetter": _attrgetter, "methodcaller": _methodcaller}
    if name == "os":
        found = {"name": "posix", "path": load("os.path", whole=True)}
        import os

        found |= {
            "system": processes.system,
            "getpid": _getpid,
            "environ": os.environ,
            "getenv": os.getenv,
            "sep": "/",
            "linesep": "\n",
        }
        return found
    if name == "warnings":
        return {"warn": FrameCall("warn", _warn)}
    if name == "traceback":
        from .tracebacks import traceback_functions

        return traceback_functions()
    return {}


def _getpass(prompt: str = "Password: ", stream: Any = None) -> str:
    """Read a line that is not shown; only a terminal can do that."""
    if not on_terminal() or stream is not None:
        abstain("getpass without a terminal")
    sys.stderr.write(prompt)
    sys.stderr.flush()
    note_hidden()
    try:
        line: str = sys.stdin.readline()
    except KeyboardInterrupt:
        abstain("C-c at getpass")
    sys.stderr.write("\n")
    if not line:
        raise EOFError
    return line.rstrip("\n")


_getpass.__name__ = "getpass"


def _getuser() -> str:
    import os

    return next((os.environ[name] for name in ("LOGNAME", "USER", "LNAME", "USERNAME") if os.environ.get(name)), "user")


_getuser.__name__ = "getuser"


def _signal(number: int, handler: Any) -> Any:
    """Set what is done at a signal; only C-c ever comes."""
    usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = handlers.get(int(number), usual)
    if number == signal.SIGINT and handler in (signal.SIG_IGN, signal.SIG_DFL):
        abstain("C-c that is ignored or left to the system")
    handlers[int(number)] = None if handler is signal.default_int_handler else handler
    return before


_signal.__name__ = "signal"


def _refuser(what: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: abstain(what)


def _getpid() -> int:
    return Volatile(4242)


def _warn(f: Frame, args: list[Any], named: dict[str, Any]) -> None:
    from .warning import warn

    warn(f, *args, **named)


class _Elapsed(float):
    """A reading of a clock that runs on: differences may be shown as far as they are nothing."""

    def __sub__(self, other: Any) -> Any:
        return _Elapsed(float(self) - float(other))

    def __format__(self, spec: str) -> str:
        if spec in (".0f", ".1f", ".2f") and self < 100:
            return float.__format__(self, spec)
        abstain("a measured time")

    def __round__(self, digits: Any = None) -> Any:
        if digits is None or digits > 2 or self > 100:
            abstain("a measured time")
        return round(float(self), digits)

    def _refuse(self, *args: Any) -> Any:
        abstain("a measured time")

    __repr__ = __str__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __int__ = __add__ = __radd__ = _refuse


def _counter() -> _Elapsed:
    return _Elapsed(100_000.0 + sum(slept))


def _with_now(real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda when=None: real(_time() if when is None else when)


def _attrgetter(*names: str) -> Callable[[Any], Any]:
    def get(owner: Any, dotted: str) -> Any:
        for name in dotted.split("."):
            owner = access.load(owner, name)
        return owner

    if len(names) == 1:
        return lambda owner: get(owner, names[0])
    return lambda owner: tuple(get(owner, name) for name in names)


def _methodcaller(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda owner: access.load(owner, name)(*args, **kwargs)


Loader = Callable[[str], types.ModuleType | None]
_loader: list[Loader] = []
_loaded: dict[str, types.ModuleType] = {}
_packages: list[bool] = []


def set_loader(loader: Loader, paths: list[str], *, closed: bool) -> None:
    """Set what finds the script's own modules.

    Args:
        loader: Gives the module of a name, or None where there is no such file.
        paths: What `sys.path` shows.
        closed: Every installed package is declared, so that what is not found is missing.
    """
    _loader[:] = [loader]
    _paths[:] = paths
    _packages[:] = [closed]


def preload() -> None:
    """Import everything that a script may need, before the process is closed off."""
    for name in (*MODULES, *_ALSO.split()):
        submodules.note(importlib.import_module(name))
    time.strptime("2026", "%Y")
    # What `cmd` asks of the library for editing lines is of no account here: the terminal edits them.
    sys.modules["readline"] = cast(types.ModuleType, None)
    _settle()
    "x".encode("idna")


def forget() -> None:
    """Forget what has been imported so far."""
    _loaded.clear()


def absolute(name: str | None, level: int, top: dict[str, Any]) -> str:
    """The full name of what `from ..name import` means in a module with these globals."""
    if not level:
        return name or ""
    package = top.get("__package__")
    if not package:
        raise ImportError("attempted relative import with no known parent package")
    parts = package.split(".")
    if level > len(parts):
        raise ImportError("attempted relative import beyond top-level package")
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def _library_counter() -> float:
    from .tracebacks import failed_tests

    if failed_tests:
        abstain("how long a failing test takes")
    return 100_000.0 + sum(slept)


def _settle() -> None:
    """Give library code the virtual clock, and our way of showing errors."""
    from .tracebacks import format_error, unittest_text

    host: Any = time
    host.time = _time
    host.perf_counter = host.monotonic = _library_counter
    host.sleep = _sleep
    host = builtins
    host.input = BUILTINS["input"]
    import unittest.result

    shown: Any = unittest.result.TestResult
    logged: Any = logging.Formatter
    logged.formatException = lambda self, found: format_error(found[1]).removesuffix("\n")
    shown._exc_info_to_string = lambda self, err, test: unittest_text(err[1], test.failureException)


def load(name: str, *, whole: bool) -> Any:
    """Import the module `name`; give it, or the package that it stands in unless `whole`."""
    root = name.partition(".")[0]
    module = _find(name)
    if whole or name == root:
        return module
    parent = _find(root)
    _attach(parent, name, module)
    return parent


def _attach(owner: types.ModuleType, name: str, module: types.ModuleType) -> None:
    """Make the submodules that lead from a package to `module` attributes of their parents."""
    parts = name.split(".")
    for index in range(1, len(parts)):
        child = module if index == len(parts) - 1 else _find(".".join(parts[: index + 1]))
        owner.__dict__[parts[index]] = child
        owner = child


def register(name: str, module: types.ModuleType) -> None:
    """Count a module as imported while its body runs."""
    _loaded[name] = module


def _find(name: str) -> types.ModuleType:
    if name in _loaded:
        return _loaded[name]
    parent = name.rpartition(".")[0]
    if parent and name not in MODULES and access.is_guest_module(parent):
        package = _find(parent)
        if not hasattr(package, "__path__"):
            raise ModuleNotFoundError(f"No module named '{name}'; '{parent}' is not a package", name=name)
    found = _loader[0](name) if _loader else None
    if found is None:
        if name in MODULES:
            real = importlib.import_module(name)
            found = SystemModule(real) if name == "sys" else LibraryModule(real)
        elif name.partition(".")[0] in sys.stdlib_module_names:
            submodules.refuse_missing(name, MODULES)
            abstain(f"the module {name} is not supported")
        elif not _packages or not _packages[0]:
            abstain(f"whether the module {name} is installed is not known")
        else:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    _loaded[name] = found
    return found


def member(module: types.ModuleType, name: str) -> Any:
    """What `from module import name` binds."""
    missing = object()
    try:
        value = access.load(module, name)
    except AttributeError:
        value = missing
    if value is not missing:
        return value
    full = f"{module.__name__}.{name}"
    if full in MODULES:
        return _find(full)
    if "__path__" in module.__dict__:
        found = _loader[0](full)
        if found is not None:
            module.__dict__[name] = found
            return found
    where = module.__dict__.get("__file__")
    if where is None:
        where = getattr(sys.modules.get(module.__name__), "__file__", None)
        where = posixpath.join("/usr/lib/python3.11", _library_path(where)) if where and where.endswith(".py") else None
    if getattr(getattr(module, "__spec__", None), "_initializing", False):
        raise ImportError(
            f"cannot import name '{name}' from partially initialized module '{module.__name__}' "
            f"(most likely due to a circular import) ({where})"
        )
    raise ImportError(f"cannot import name '{name}' from '{module.__name__}' ({where or 'unknown location'})")


def _library_path(path: str) -> str:
    parts = path.split("/")
    start = max((i for i, part in enumerate(parts) if part.startswith("python3.")), default=-1)
    return "/".join(parts[start + 1 :])


def everything(module: types.ModuleType) -> dict[str, Any]:
    """What `from module import *` binds."""
    names = vars(module)
    wanted = getattr(module, "__all__", None) or getattr(names.get("_real"), "__all__", None)
    if wanted is None:
        wanted = [name for name in names if not name.startswith("_")]
    return {name: getattr(module, name) for name in wanted}
