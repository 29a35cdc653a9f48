"""A real Python session in the sandbox, and what is planned for it."""

import itertools

import pytest

from worldline.domains.code import LOST, TIMED_OUT
from worldline.domains.terminal.state import TerminalState
from worldline.kernels import build_kernel
from worldline.record.boxed import BoxedProgram
from worldline.record.code import explorer, plans
from worldline.record.code.cells import TOPICS, blanks, chains, fill
from worldline.record.environment import build_environment
from worldline.record.plan import ToolPlan
from worldline.record.recording import record_session
from worldline.record.sandbox import Surroundings
from worldline.types import Action, Turn, WorldSpec

CELLS = (
    "import csv, os\nrows = list(csv.DictReader(open('plants.csv')))\nrows[0]",
    "def total(key):\n    return sum(int(row[key]) for row in rows)\ntotal('size')",
    "total('weight')",
    "print('one', end=' ')\nimport sys\nprint('two', file=sys.stderr)\n'three'",
    "with open('out.txt', 'w') as f:\n    f.write('x\\n' * 3)\nsorted(os.listdir())",
    "for n, line in enumerate(open('out.txt')):\n    print(n, line.strip())",
    "from datetime import datetime\ndatetime.now()",
    "x = = 2",
    "class A:\n    def __repr__(self):\n        return f'A({self.v})'\na = A()\na",
    "a.v = 4\na",
    "exit()",
    "a",
    "import numpy",
    "1 / 0",
)


def world(**state):
    start = {"files": {"plants.csv": "name,size\nfern,3\nmoss,1\n"}, "clock": "2025-05-06T07:08:09Z", **state}
    return WorldSpec(domain="code", initial_state=start)


def cell(code):
    return Action(name="python", arguments={"code": code})


def test_the_kernel_answers_as_real_python_does():
    mine = build_kernel(world())
    with build_environment(world()) as real:
        for action in [*map(cell, CELLS), Action(name="python"), Action(name="bash", arguments={"command": "ls"})]:
            seen = real.step(action)
            told = mine.propose(action).observation
            assert (told.text, told.is_error) == (seen.text, seen.is_error), action
            mine.absorb(Turn(action=action, observation=seen))
        assert real.versions()["python3"].startswith("3.")
    mine.close()


def test_a_cell_that_never_ends_or_ends_its_process_has_the_session_started_anew():
    with build_environment(world(timeout=0.5)) as real:
        real.step(cell("x = 1\nopen('kept.txt', 'w').write('k')"))
        assert real.step(cell("while True: pass")).text == TIMED_OUT.format(0.5)
        assert "NameError" in real.step(cell("x")).text
        assert real.step(cell("import os; os._exit(3)")).text == LOST
        assert real.step(cell("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")).text == LOST
        assert real.step(cell("open('kept.txt').read()")).text == "'k'\n"
        assert not real.ended


def test_hostile_cells_stay_in_the_sandbox():
    with build_environment(world(timeout=3)) as real:
        assert real.step(cell("import socket\nsocket.create_connection(('192.0.2.1', 80), 1)")).is_error
        assert "MemoryError" in real.step(cell("x = bytearray(4 * 10 ** 9)")).text
        assert real.step(cell("import os\nfor _ in range(200): os.fork()")).is_error
        assert real.step(cell("print('flood ' * 10 ** 6)")).truncated


def test_what_an_open_world_does_not_declare_follows_the_surroundings():
    listed = []
    look = cell("import os\nsorted(os.listdir()), open('plants.csv').readline()")
    for around in (Surroundings(), Surroundings(first_pid=7), Surroundings(days_later=50, other_machine=True)):
        with build_environment(world(complete=False), around) as real:
            listed.append(real.step(look).text)
    assert listed[0] == listed[1] != listed[2] and "plants.csv" in listed[2]


def test_a_recorded_session_says_what_it_determines():
    start = WorldSpec(domain="code", initial_state={})
    actions = tuple(map(cell, ("1 + 1", "from datetime import date\ndate.today()", "object()")))
    recorded = record_session(ToolPlan(family="x/y", world=start, actions=actions))
    assert [turn.determined for turn in recorded.turns] == [True, False, True]
    assert recorded.turns[2].observation.volatile


def test_an_explorer_goes_by_the_files_it_finds():
    looker, turns = explorer(world(), 5), []
    with build_environment(world()) as real:
        for _ in range(14):
            action = looker.next(turns)
            turns.append(Turn(action=action, observation=real.step(action)))
    assert "os.walk" in turns[0].action.arguments["code"]
    assert any("plants.csv" in turn.action.arguments["code"] for turn in turns[1:])


def test_plans_are_many_different_and_always_the_same():
    planned = list(plans(1))
    assert len(planned) >= 220 and sum(plan.turns for plan in planned) >= 2400
    assert len({plan.family for plan in planned}) >= 40 and len({plan.id for plan in planned}) == len(planned)
    assert [plan.id for plan in itertools.islice(plans(1), 5)] == [plan.id for plan in planned[:5]]


def test_no_cell_keeps_a_blank():
    import random

    for topic in TOPICS:
        for chain in chains(topic):
            values = blanks("garden", random.Random(1))
            assert all(
                "@" not in fill(text, values).replace("@dataclass", "").replace("@property", "") or "@" in text
                for text in chain
            )
            for name in ("word", "n", "rows", "Class", "text"):
                assert all(f"@{name}@" not in fill(text, values) for text in chain)


FORGED = ("}{", "[]", "null", '{"came": 3}', "[" * 100_000, '{"came": "0"}')


@pytest.mark.parametrize("text", FORGED)
def test_a_cell_cannot_answer_in_the_tools_place(text):
    forge = f"import os\nopen(f'/proc/{{os.getppid()}}/fd/198', 'w').write({text!r} + chr(10))"
    with build_environment(world()) as real:
        assert "PermissionError" in real.step(cell(forge)).text
        real.step(cell("import os; os._exit(3)"))  # the session that follows is no less kept out, and no more
        assert "PermissionError" in real.step(cell(forge)).text
        look = cell("import os, sys\nprint(open('/proc/self/comm').read(), 'ctypes' in sys.modules)")
        assert real.step(look).text == "python3\n False\n"


_LIAR = """
import os, sys
def say(text): os.write(198, text.encode() + b"\\n")
say('{"ready": true}')
for line in sys.stdin:
    LIE
"""


TWICE = "\n".join(FORGED[-1:] * 2)


@pytest.mark.parametrize(("lie", "first"), [*((text, "forged") for text in FORGED[:-1]), (TWICE, None)])
def test_a_forged_answer_ends_the_box_and_not_the_run(lie, first):
    command = ["/usr/bin/python3", "-c", _LIAR.replace("LIE", f"say({lie!r})")]
    with BoxedProgram(TerminalState(), command) as program:
        assert program.ask({}, {"came": str}).killed == first
        last = program.ask({}, {"came": str})
        assert (last.data, last.killed) == (None, "gone" if first else "forged")
        assert program.ended
