"""The Python kernel by itself: what it computes, what it refuses, and that nothing gets out."""

from __future__ import annotations

import errno
import os
import posixpath
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.kernels.python import PythonLimits, PythonResult, PythonScript, PythonUnknown, run_module, run_python
from worldline.kernels.shell.builtins.base import FileStat

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)


@dataclass
class Tree:
    """A few files in memory."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: {"/", "/home", "/home/user"})

    def _path(self, path: str) -> str:
        return posixpath.normpath(path)

    def read(self, path: str) -> bytes:
        path = self._path(path)
        if path in self.folders:
            raise OSError(errno.EISDIR, "")
        if path not in self.files:
            raise OSError(errno.ENOENT, "")
        return self.files[path]

    def write(self, path: str, data: bytes) -> None:
        path = self._path(path)
        if posixpath.dirname(path) not in self.folders:
            raise OSError(errno.ENOENT, "")
        self.files[path] = data

    def append(self, path: str, data: bytes) -> None:
        self.write(path, self.files.get(self._path(path), b"") + data)

    def stat(self, path: str, *, follow: bool = True) -> FileStat:
        path = self._path(path)
        if path in self.folders:
            return FileStat("directory", 4096, 0o755, 1000, 1000, "user", "user", NOW)
        return FileStat("file", len(self.read(path)), 0o644, 1000, 1000, "user", "user", NOW)

    def list(self, path: str) -> list[str]:
        path = self._path(path)
        every = [*self.files, *self.folders]
        return sorted(posixpath.basename(p) for p in every if posixpath.dirname(p) == path and p != "/")

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        if self._path(path) in self.folders:
            raise OSError(errno.EEXIST, "")
        self.folders.add(self._path(path))

    def remove(self, path: str) -> None:
        self.files.pop(self._path(path), None)
        self.folders.discard(self._path(path))

    def rename(self, source: str, target: str) -> None:
        self.files[self._path(target)] = self.files.pop(self._path(source))

    def symlink(self, target: str, path: str) -> None:
        raise OSError(errno.EPERM, "")

    def readlink(self, path: str) -> str:
        raise OSError(errno.EINVAL, "")

    def chmod(self, path: str, mode: int) -> None:
        self.stat(path)

    def utime(self, path: str, moment: datetime) -> None:
        self.stat(path)


def run(source: str, tree: Tree | None = None, *, stdin: bytes | None = None, seconds: float = 5.0) -> PythonResult:
    script = PythonScript(source.encode(), "/home/user/x.py", ["x.py"], "/home/user")
    return run_python(
        script,
        tree or Tree(),
        now=NOW,
        cwd="/home/user",
        env={"HOME": "/home/user"},
        stdin=stdin,
        limits=PythonLimits(seconds=seconds),
    )


def refused(source: str, *, seconds: float = 5.0) -> str:
    with pytest.raises(PythonUnknown) as caught:
        run(source, seconds=seconds)
    return str(caught.value)


def test_output_streams_and_status() -> None:
    result = run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nsys.exit(3)")
    assert result == PythonResult(b"a\n", b"b\n", 3, merged=b"b\na\n")


def test_files_are_the_worlds() -> None:
    tree = Tree({"/home/user/in.txt": b"one\ntwo\n"})
    result = run("n = len(open('in.txt').readlines())\nopen('out.txt', 'w').write(str(n))\nprint(n)", tree)
    assert (result.stdout, tree.files["/home/user/out.txt"]) == (b"2\n", b"2")


def test_the_clock_is_virtual_and_sleep_is_free() -> None:
    before = time.monotonic()
    result = run("import time, datetime\ntime.sleep(600)\nprint(datetime.datetime.now(), int(time.time()))")
    assert result.stdout == f"2026-01-01 12:30:00 {int(NOW.timestamp())}\n".encode()
    assert result.slept == 600
    assert time.monotonic() - before < 60


def test_a_traceback_marks_the_operation() -> None:
    result = run("d = {'a': 1}\nprint(d['a'] + d['b'])")
    assert result.status == 1
    assert result.stderr.decode() == (
        "Traceback (most recent call last):\n"
        '  File "/home/user/x.py", line 2, in <module>\n'
        "    print(d['a'] + d['b'])\n"
        "                   ~^^^^^\n"
        "KeyError: 'b'\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        "import random\nprint(random.random())",
        "print(hash('a'))",
        "print(id(1))",
        "print({'a', 'b', 'c'})",
        "for x in {'a', 'b', 'c'}: print(x)",
        "print(list({'a', 'b', 'c'}))",
        "print(object())",
        "import os\nprint(os.getpid())",
        "import os\nprint(os.urandom(4))",
        "import uuid\nprint(uuid.uuid4())",
        "import time\nprint(time.perf_counter())",
        "import socket",
        "import subprocess\nsubprocess.run(['ls'])",
        "import os\nos.system('ls')",
        "import numpy",
        "def f(): f()\nf()",
    ],
)
def test_what_is_not_known_is_unknown(source: str) -> None:
    refused(source)


@pytest.mark.parametrize(
    "source",
    [
        "().__class__.__base__.__subclasses__()",
        "print.__self__.__dict__",
        "(lambda: 0).__globals__",
        "(lambda: 0).__code__",
        "def g():\n    yield\ng().gi_frame.f_back",
        "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame",
        "print('{0.__class__.__mro__}'.format(1))",
        "import json\njson._default_decoder.__init__.__globals__",
        "import json\njson.decoder.scanner",
        "import os\nos.path.os",
        "import typing\ntyping.get_type_hints",
        "import sys\nsys.modules",
        "import sys\nsys._getframe()",
        "import ctypes",
        "import builtins",
        "__import__('os')",
        "__builtins__",
        "import pickle\npickle.loads(b'')",
        "import operator\noperator.attrgetter('__class__.__base__.__subclasses__')(1)()",
        "getattr(object, '__subclasses__')",
        "class A:\n    pass\nA.__init_subclass__.__self__.__subclasses__()",
    ],
)
def test_escapes_are_refused(source: str) -> None:
    refused(source)


def test_no_host_file_can_be_read(tmp_path: object) -> None:
    for path in (__file__, "/etc/passwd", "/proc/self/environ"):
        result = run(f"print(open({path!r}).read())")
        assert b"No such file or directory" in result.stderr


def test_a_worker_cannot_open_files_even_with_the_hosts_own_open() -> None:
    """Behind the interpreter stands the system: a sealed process finds no file and dies on a socket."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from guest import seal\n"
        "import os, socket\n"
        "seal.prepare()\n"
        "ok = seal._filter_calls()\n"
        "if not ok: print('none'); sys.exit()\n"
        "try: os.open('/etc/passwd', 0); print('opened')\n"
        "except OSError as e: print(e.errno)\n"
        "sys.stdout.flush()\n"
        "socket.socket()\n"
        "print('socket')\n"
    )
    import worldline.kernels.python as package

    folder = posixpath.dirname(package.__file__)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, folder], capture_output=True, text=True, check=False)
    if done.stdout == "none\n":
        pytest.skip("no system call filter on this machine")
    assert done.stdout == f"{errno.ENOENT}\n"
    assert done.returncode == -31


def test_a_script_that_waits_without_computing_ends() -> None:
    class Slow(Tree):
        def read(self, path: str) -> bytes:
            time.sleep(1.5)
            return super().read(path)

    tree, limits = Slow({"/home/user/a": b"a"}), PythonLimits(wall=0.4)
    script = PythonScript(b"print(open('a').read())", "/home/user/x.py", ["x.py"], "/home/user")
    with pytest.raises(PythonUnknown, match="stopped"):
        run_python(script, tree, now=NOW, cwd="/home/user", limits=limits)
    assert run_python(script, tree, now=NOW, cwd="/home/user").stdout == b"a\n"


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "x = [0]\nwhile True: x = x + x",
        "print(10 ** 10 ** 8)",
        "print('a' * 10 ** 11)",
        "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
        "while True: print('x' * 1000)",
        "for i in range(10 ** 12): pass",
        "x = []\nfor i in range(10 ** 9): x.append('abc' * 100)",
    ],
)
def test_runaways_are_stopped(source: str) -> None:
    before = time.monotonic()
    refused(source, seconds=1.0)
    assert time.monotonic() - before < 30
    assert run("print(1)").stdout == b"1\n"


def test_unittest_finds_and_runs_tests() -> None:
    tree = Tree({
        "/home/user/test_calc.py": b"import unittest\nfrom calc import add\n\nclass T(unittest.TestCase):\n"
        b"    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
        "/home/user/calc.py": b"def add(a, b):\n    return a + b\n",
    })  # fmt: skip
    for arguments in ([], ["test_calc"], ["test_calc.T.test_add"], ["discover", "-s", ".", "-p", "test_*.py"]):
        result = run_module("unittest", arguments, tree, now=NOW, cwd="/home/user")
        assert result.status == 0
        assert result.stderr.endswith(b"Ran 1 test in 0.000s\n\nOK\n")
    assert "/home/user/__pycache__/calc.cpython-311.pyc" in tree.files


def test_other_commands_run_through_the_runner() -> None:
    ran: list[list[str]] = []

    def runner(words: list[str], data: bytes | None, env: dict[str, str]) -> tuple[bytes, bytes, int]:
        ran.append(words)
        return b"out\n", b"", 3

    script = PythonScript(
        b"import subprocess\nprint('a')\nprint(subprocess.run(['x', 'y']).returncode)", "<string>", ["-c"], None
    )
    result = run_python(script, Tree(), now=NOW, cwd="/home/user", runner=runner)
    assert (ran, result.stdout) == ([["x", "y"]], b"out\na\n3\n")


def test_no_library_code_swallows_an_abstention() -> None:
    refused("try:\n    print(hash('a'))\nexcept BaseException:\n    print('caught')")
    refused("import contextlib\nwith contextlib.suppress(BaseException):\n    print(id(3))\nprint('on')")


def test_runs_are_independent() -> None:
    run("import sys\nsys.argv = ['changed']\nprint(sys.argv)")
    assert run("import sys\nprint(sys.argv)").stdout == b"['x.py']\n"


def test_many_threads_share_the_workers() -> None:
    found: dict[int, bytes] = {}

    def one(number: int) -> None:
        found[number] = run(f"print({number} * 2)", seconds=20).stdout

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number * 2}\n".encode() for number in range(8)}


def test_a_forked_process_gets_its_own_worker() -> None:
    run("print(1)")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, run("print(7)", seconds=20).stdout)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"7\n"
    os.waitpid(child, 0)


expressions = st.recursive(
    st.sampled_from(["1", "2", "0", "-3", "2.5", "'ab'", "[1, 2]", "(3,)", "{'k': 1}", "None", "True"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "and", "or", "in"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        inner.map(lambda e: f"[x for x in [{e}]]"),
        inner.map(lambda e: f"(lambda y={e}: y)()"),
        st.tuples(inner, inner).map(lambda t: f"{{'a': {t[0]}, 'b': {t[1]}}}"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        inner.map(lambda e: f"f'{{ {e} !r}}'" if "'" not in e else e),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(expressions, min_size=1, max_size=6))
def test_expressions_agree_with_python(parts: list[str]) -> None:
    """Expressions over literals only, so that the host's own `eval` may say what is right."""
    lines, wanted = [], []
    for part in parts:
        lines.append(f"try:\n    print(repr({part}))\nexcept Exception as e:\n    print(type(e).__name__, e)")
        try:
            wanted.append(repr(eval(part, {"__builtins__": {}})))
        except Exception as error:  # noqa: BLE001
            wanted.append(f"{type(error).__name__} {error}")
    assert run("\n".join(lines), seconds=30).stdout.decode().splitlines() == wanted
