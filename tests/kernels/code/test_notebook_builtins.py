"""Builtins of a notebook's cells that need the session: `compile`, what shows itself, constants, tracebacks."""

import pytest

from worldline.kernels import build_kernel
from worldline.types import Action, WorldSpec


@pytest.fixture
def run():
    kernel = build_kernel(WorldSpec(domain="code"))

    def step(code):
        proposal = kernel.propose(Action(name="python", arguments={"code": code}))
        kernel.accept()
        return proposal

    yield step
    kernel.close()


def test_what_was_compiled_is_evaluated(run):
    assert run("c = compile('2 + 3', '<text>', 'eval')\neval(c), eval(c, {})").observation.text == "(5, 5)\n"
    assert run("exec(compile('z = 4', '<text>', 'exec'))\nz").observation.text == "4\n"
    wrong = run("compile('1 +', '<text>', 'eval')").observation.text
    assert wrong.endswith('  File "<text>", line 1\n    1 +\nSyntaxError: invalid syntax\n') and "ast.py" not in wrong
    assert not run("c").known


def test_builtins_show_themselves(run):
    assert run("print").observation.text == "<built-in function print>\n"
    assert run("len, str").observation.text == "(<built-in function len>, <class 'str'>)\n"
    assert run("quit").observation.text == "Use quit() or Ctrl-D (i.e. EOF) to exit\n"


def test_equal_constants_of_a_cell_are_one_object(run):
    assert run("a = 'some text here'\nb = 'some text here'\na is b, 1.5 is 1.5").observation.text.endswith(
        "(True, True)\n"
    )


def test_an_error_while_a_value_shows_itself_is_shown_as_pythons_prompt_does(run):
    shown = run("class A:\n    def __repr__(self):\n        return self.v\nA()").observation.text
    assert '  File "<cell 1>", line 4, in <module>\n    A()\n  File "<cell 1>", line 3, in __repr__\n' in shown


def test_streams_are_written_at_once_and_in_order(run):
    shown = run(
        "import sys\nprint('a', end='')\nprint('b', file=sys.stderr)\nsys.stdout.write('c')\n'd'"
    ).observation.text
    assert shown == "ab\nc'd'\n"


def test_endless_recursion_is_an_error_though_its_text_is_not_known(run):
    proposal = run("def f(n):\n    return f(n + 1)\nf(0)")
    assert not proposal.known and proposal.observation.is_error
    assert run("1 + 1").observation.text == "2\n"


def test_a_context_manager_that_lets_an_error_pass_adds_nothing_to_its_traceback(run):
    body = "    try:\n        yield\n    finally:\n        print('end')"
    run(f"from contextlib import contextmanager\n@contextmanager\ndef job():\n{body}")
    assert run("with job():\n    raise ValueError('inside')").observation.text == (
        'end\nTraceback (most recent call last):\n  File "<cell 2>", line 2, in <module>\n'
        "    raise ValueError('inside')\nValueError: inside\n"
    )


def test_a_logged_error_shows_where_it_came_from(run):
    shown = run(
        "import logging\ntry:\n    1/0\nexcept ZeroDivisionError:\n    logging.exception('failed')"
    ).observation.text
    assert shown == (
        'ERROR:root:failed\nTraceback (most recent call last):\n  File "<cell 1>", line 3, in <module>\n'
        "    1/0\n    ~^~\nZeroDivisionError: division by zero\n"
    )


@pytest.mark.parametrize(
    ("test", "marked"),
    [("x == 2", "x == 2"), ("not x == 1", "x == 1"), ("x and x > 4", "x > 4"), ("isinstance(x, str)", ""), ("[]", "")],
)
def test_a_failed_assertion_marks_its_comparison(run, test, marked):
    carets = [line for line in run(f"x = 1\nassert {test}, 'no'").observation.text.splitlines() if "^" in line]
    assert [line.strip() for line in carets] == (["^" * len(marked)] if marked else [])


def test_a_parameter_is_not_taken_for_an_unknown_name_of_the_session(run):
    assert not run("import threading\np = threading.active_count()").known
    assert run("list(map(lambda p: p + 1, [1, 2])), [p for p in 'ab']").observation.text == "([2, 3], ['a', 'b'])\n"
