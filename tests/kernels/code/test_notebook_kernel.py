"""The notebook kernel: state across cells, tracebacks, files, copies, hostile cells, and what it does not know."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.domains.code import LOST, TIMED_OUT
from worldline.errors import KernelError
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.kernels.base import Kernel
from worldline.kernels.notebook.files import MemoryFiles, declared_nodes
from worldline.recordings import path
from worldline.types import Action, Observation, Turn, WorldSpec

CSV = "name,size\nfern,3\nmoss,1\n"


def cell(code):
    return Action(name="python", arguments={"code": code})


def kernel(**state):
    return build_kernel(WorldSpec(domain="code", initial_state={"files": {"plants.csv": CSV}, **state}))


def run(mine, code):
    """Take a cell for good: its own answer comes true."""
    proposal = mine.propose(cell(code))
    mine.accept()
    return proposal


def absorbed(mine, code, text, failed=False):
    """Take a cell to which reality answered `text`."""
    proposal = mine.propose(cell(code))
    mine.absorb(Turn(action=cell(code), observation=Observation.from_text(text, is_error=failed)))
    return proposal


def test_names_live_from_cell_to_cell():
    mine = kernel()
    assert isinstance(mine, Kernel)
    assert run(mine, "x = [1, 2]").observation.text == ""
    assert run(mine, "x.append(3)\nx").observation.text == "[1, 2, 3]\n"
    assert run(mine, "sum(x), _").observation.text == "(6, [1, 2, 3])\n"
    assert run(mine, "del x").known and run(mine, "x").observation.is_error


def test_a_traceback_names_the_cells_it_goes_through():
    mine = kernel()
    run(mine, "def half(n):\n    return n / 0")
    proposal = run(mine, "print('before')\nhalf(4)")
    assert proposal.known and proposal.observation.is_error
    assert proposal.observation.text == (
        "before\nTraceback (most recent call last):\n"
        '  File "<cell 2>", line 2, in <module>\n    half(4)\n'
        '  File "<cell 1>", line 2, in half\n    return n / 0\n           ~~^~~\n'
        "ZeroDivisionError: division by zero\n"
    )


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("if True\n    pass", "SyntaxError: expected ':'\n"),
        ("def f():\nreturn 1", "IndentationError: expected an indented block after function definition on line 1\n"),
        ("import numpy", "ModuleNotFoundError: No module named 'numpy'\n"),
        ("import json.nothing", "ModuleNotFoundError: No module named 'json.nothing'\n"),
        ("import math.nothing", "ModuleNotFoundError: No module named 'math.nothing'; 'math' is not a package\n"),
        ("plantz", "NameError: name 'plantz' is not defined\n"),
        ("input()", "EOFError: EOF when reading a line\n"),
        ("exit(3)", "SystemExit: 3\n"),
        ("a\0b", "ValueError: source code string cannot contain null bytes\n"),
        ("open('none.txt')", "FileNotFoundError: [Errno 2] No such file or directory: 'none.txt'\n"),
    ],
)
def test_errors_of_all_kinds(code, last):
    proposal = kernel().propose(cell(code))
    assert proposal.known and proposal.observation.is_error and proposal.observation.text.endswith(last)


def test_files_are_written_read_listed_and_imported():
    mine = kernel()
    run(mine, "import os\nwith open('new.py', 'w') as f:\n    f.write('LIMIT = 4\\n')")
    assert run(mine, "import new\nnew.LIMIT").observation.text == "4\n"
    listed = run(mine, "sorted(os.listdir())").observation.text
    assert "'new.py', 'plants.csv'" in listed
    assert run(mine, "import csv\n[r['name'] for r in csv.DictReader(open('plants.csv'))]").known
    written = run(mine, "open('plants.csv', 'a').write('ivy,2\\n')")
    assert "/home/user/plants.csv" in written.writes
    assert run(mine, "len(open('plants.csv').readlines())").observation.text == "4\n"
    assert "ivy,2" in mine.describe()["files"]["/home/user/plants.csv"]


def test_a_rejected_cell_leaves_no_trace():
    mine = kernel()
    run(mine, "x = 1")
    mine.propose(cell("x = 2\nopen('plants.csv', 'w').write('gone')"))
    mine.reject()
    assert run(mine, "x, open('plants.csv').read()[:4]").observation.text == "(1, 'name')\n"


CELLS = st.lists(
    st.sampled_from(
        [
            "n += 1",
            "n *= 3",
            "log.append(n)",
            "open('plants.csv', 'a').write(f'{n}\\n')",
            "n = len(open('plants.csv').read())",
            "log = log[1:]",
            "n / 0",
            "import math\nn = math.isqrt(abs(n))",
        ]
    ),
    max_size=6,
)
LOOK = "n, log, open('plants.csv').read()"


@settings(max_examples=20, deadline=None)
@given(CELLS, CELLS)
def test_a_fork_a_dump_and_a_repetition_are_the_same_session(common, apart):
    mine, again = kernel(), kernel()
    for code in ["n, log = 2, []", *common]:
        run(mine, code)
    twin, loaded = mine.fork(), kernel()
    loaded.load(mine.dump())
    before = run(mine.fork(), LOOK).observation.text
    for code in apart:
        run(twin, code), run(loaded, code)
    for code in ["n, log = 2, []", *common, *apart]:
        run(again, code)
    assert run(twin, LOOK) == run(again, LOOK) == run(loaded, LOOK)
    assert run(mine, LOOK).observation.text == before
    for one in (mine, again, twin, loaded):
        one.close()


def test_a_state_of_another_world_or_none_at_all_is_refused():
    mine = kernel()
    for data in (kernel(timeout=3).dump(), b"", b"{}", b"[1"):
        with pytest.raises(KernelError):
            mine.load(data)


def test_more_sessions_than_interpreters_do_not_mix():
    many = [kernel() for _ in range(24)]
    for number, mine in enumerate(many):
        run(mine, f"x = {number}")
    assert [run(mine, "x").observation.text for mine in many] == [f"{number}\n" for number in range(24)]
    for mine in many:
        mine.close()


def test_time_is_the_declared_one_and_passes_where_a_cell_sleeps():
    mine = kernel(clock="2025-05-06T07:08:09Z")
    assert run(mine, "from datetime import datetime\nprint(datetime.now())").observation.text == "2025-05-06 07:08:09\n"
    begin = time.monotonic()
    assert run(mine, "import time\ntime.sleep(3)\nprint(datetime.now())").observation.text == "2025-05-06 07:08:09\n"
    assert run(mine, "print(datetime.now())").observation.text == "2025-05-06 07:08:12\n"
    assert time.monotonic() - begin < 2.5
    slept = mine.propose(cell("time.sleep(100)"))
    assert slept.observation.text == TIMED_OUT.format(10.0)
    assert not kernel().propose(cell("from datetime import datetime\ndatetime.now()")).known


HOSTILE = {
    "a fork": "import os\nos.fork()",
    "a bomb": "import os\nwhile True:\n    os.fork()",
    "another program": "import subprocess\nsubprocess.run(['touch', '{place}'])",
    "a shell": "import os\nos.system('touch {place}')",
    "a socket": "import socket\nsocket.create_connection(('127.0.0.1', {port}))",
    "a file": "open('{place}', 'w').write('x')",
    "a signal": "import os\nos.kill({pid}, 9)",
    "native code": "import ctypes\nctypes.string_at(0)",
    "builtins": "().__class__.__base__.__subclasses__()",
    "all memory": "x = 'x' * 10 ** 10",
    "all memory slowly": "x = []\nwhile True:\n    x.append('y' * 10 ** 6)",
    "never ends": "while True:\n    pass",
    "a flood": "while True:\n    print('flood ' * 1000)",
    "a deep call": "def f():\n    return f()\nf()",
    "deep code": "(" * 5000 + ")" * 5000,
    "a large power": "len(str(9 ** 9 ** 9))",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_cell_reaches_nothing_and_the_session_goes_on(name, tmp_path):
    place, heard = tmp_path / "touched", []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        thread = threading.Thread(target=_hear, args=(server, heard))
        mine = kernel(timeout=1)
        run(mine, "before = 1")
        code = HOSTILE[name].replace("{place}", str(place)).replace("{port}", str(server.getsockname()[1]))
        begin = time.monotonic()
        thread.start()
        mine.propose(cell(code.replace("{pid}", str(os.getpid()))))
        assert time.monotonic() - begin < 8
        thread.join()
    mine.reject()
    assert run(mine, "before + 1").observation.text == "2\n"
    assert not place.exists() and not heard
    mine.close()


def _hear(server, heard):
    try:
        heard.append(server.accept())
    except TimeoutError:
        return


def test_a_cell_that_is_stopped_is_guessed_to_be_stopped_in_reality():
    mine = kernel(timeout=1)
    run(mine, "x = 1")
    proposal = absorbed(mine, "while True:\n    pass", TIMED_OUT.format(1.0), failed=True)
    assert not proposal.known and proposal.observation.text == TIMED_OUT.format(1.0)
    assert run(mine, "x").observation.text.endswith("NameError: name 'x' is not defined\n")
    assert run(mine, "open('plants.csv').readline()").known


def test_a_lost_process_takes_names_with_it_and_leaves_files():
    mine = kernel()
    run(mine, "x = 1\nopen('kept.txt', 'w').write('k')")
    absorbed(mine, "import os\nos._exit(1)", LOST, failed=True)
    seen = run(mine, "x")
    assert '"<cell 3>"' in seen.observation.text and seen.observation.is_error
    assert not run(mine, "open('kept.txt').read()").known  # the lost cell may have written it


def test_names_of_a_cell_that_went_otherwise_are_unknown_until_bound_again():
    mine = kernel()
    absorbed(mine, "def f(): return 2\nx = f()\nx", "3\n")
    assert not mine.propose(cell("x + 1")).known
    assert run(mine, "f()").observation.text == "2\n"
    assert run(mine, "x = 5").known and run(mine, "x").known


def test_an_unsupported_cell_keeps_its_definitions():
    mine = kernel()
    proposal = absorbed(mine, "import threading, json\ndef g(): return 7\nt = threading.active_count()", "")
    assert not proposal.known
    assert run(mine, "g()").observation.text == "7\n"
    assert not mine.propose(cell("t")).known


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("{'a', 'b', 'c'}", "order of a set"),
        ("import random\nrandom.random()", "without a seed"),
        ("import os\nos.listdir()", "directory"),
    ],
)
def test_what_differs_between_real_runs_is_a_guess(code, why):
    mine = kernel(files={"a": "", "b": ""})
    proposal = mine.propose(cell(code))
    assert not proposal.known and why in proposal.why and proposal.observation.text


def test_a_seed_makes_random_numbers_known_and_a_doubt_follows_its_names():
    mine = kernel()
    run(mine, "import random\nx = random.random()\ny = 1")
    assert not run(mine, "x > 2").known and run(mine, "z = 3\nz").known
    assert run(mine, "random.seed(4)\n[random.randint(1, 9) for _ in range(3)]").known


def test_addresses_have_the_usual_shape_and_differ_between_objects():
    proposal = kernel().propose(cell("a, b = object(), object()\na, b, a"))
    first, second, third = proposal.observation.text.strip("()\n").split(", ")
    assert proposal.known and first == third != second and first.startswith("<object object at 0x7f")


def test_files_of_an_open_world_are_unknown_until_they_are_shown():
    mine = kernel(complete=False)
    assert not absorbed(mine, "open('other.txt').read()", "'hello'\n").known
    assert run(mine, "open('other.txt').read().upper()").observation.text == "'HELLO'\n"
    absorbed(mine, "open('none.txt').read()", "...\nFileNotFoundError: ...\n", failed=True)
    assert run(mine, "import os\nos.path.exists('none.txt')").known
    assert run(mine, "with open('mine.txt', 'w') as f:\n    f.write('x')").known
    assert not mine.propose(cell("sorted(os.listdir())")).known


def test_the_tree_of_files_behaves_as_a_file_system():
    now = kernel()._settled.now
    files = MemoryFiles(declared_nodes({"/home/user/a/b.txt": b"x"}, now), True, now)
    assert files.list("/home/user") == ["a"] and files.stat("/home/user/a").kind == "directory"
    files.symlink("a/b.txt", "/home/user/link")
    assert files.read("/home/user/link") == b"x"
    files.rename("/home/user/a", "/home/user/c")
    assert files.read("/home/user/c/b.txt") == b"x" and "/home/user/c" in files.written
    for wrong in (
        lambda: files.read("/home/user/link"),
        lambda: files.remove("/home/user/c"),
        lambda: files.mkdir("/home/user/c"),
        lambda: files.write("/home/user/none/x", b""),
        lambda: files.read("/home/user/c"),
        lambda: files.list("/home/user/c/b.txt"),
    ):
        with pytest.raises(OSError):
            wrong()


def test_recorded_sessions_are_answered_to_the_byte_where_they_are_known():
    asked = right = 0
    for trajectory in list(read_trajectories(path("code", "train")))[::7]:
        mine = build_kernel(trajectory.world)
        for turn in trajectory.turns:
            proposal = mine.propose(turn.action)
            if proposal.known and not turn.observation.volatile:
                asked += 1
                right += proposal.observation.text == turn.observation.text
            mine.absorb(turn)
        mine.close()
    assert asked > 200 and right / asked > 0.985


def test_nothing_of_the_host_shows():
    shown = kernel().propose(cell("import os, sys\nos.getcwd(), dict(os.environ), sys.path, sys.argv, sys.executable"))
    assert (
        str(Path.home()) not in shown.observation.text and str(Path(__file__).parents[3]) not in shown.observation.text
    )
