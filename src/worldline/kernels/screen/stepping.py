"""Going through lists, chains, loops and conditions one command at a time."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from worldline.domains.terminal.commands import AndOr, Case, If, List, Loop, Other, Pipe, Simple
from worldline.domains.terminal.syntax import parse
from worldline.kernels.screen.calling import leave_function
from worldline.kernels.screen.menus import Menu
from worldline.kernels.screen.tasks import Frame, Task
from worldline.kernels.screen.writing import written

if TYPE_CHECKING:
    from worldline.kernels.screen.running import Runner

__all__ = ["STEPS"]

_TEST = ("test",)
"""Marks the list of a condition."""


def _list_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, List)
    if frame.index == len(node.items):
        task.frames.pop()
        return
    item = node.items[frame.index]
    frame.index += 1
    if item.background:
        runner.launch(item, hidden=task.script is not None)
        task.status = 0
    else:
        task.frames.append(Frame("chain", item))


def _chain_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, AndOr)
    if frame.index == 0 and not runner.steps_through(AndOr(node.text, node.parts)):
        task.frames.pop()
        runner.whole(task, node.text)
        return
    if frame.index == len(node.parts):
        task.frames.pop()
        last = frame.values == (str(len(node.parts)),)
        if task.status and last and task.script is not None and runner.strict() and not _tested(task, node):
            runner.leave(task, task.status)
        return
    operator, part = node.parts[frame.index]
    frame.index += 1
    if (operator == "&&" and task.status) or (operator == "||" and not task.status):
        return
    frame.values = (str(frame.index),)
    task.frames.append(Frame("node", part))


def _tested(task: Task, node: AndOr) -> bool:
    """Whether a command may fail without ending a script under `set -e`."""
    if node.text.startswith("!"):
        return True
    for frame in reversed(task.frames):
        if frame.kind == "script":
            return False
        if frame.values == _TEST or (frame.kind == "chain" and isinstance(frame.node, AndOr) and _inner(frame)):
            return True
    return False


def _inner(frame: Frame) -> bool:
    """Whether a chain goes on behind the part that runs."""
    assert isinstance(frame.node, AndOr)
    return frame.index < len(frame.node.parts)


def _node_step(runner: Runner, task: Task, frame: Frame) -> None:
    task.frames.pop()
    node = frame.node
    assert not isinstance(node, AndOr)
    if not runner.steps_through(node):
        runner.whole(task, node.text)
    elif isinstance(node, List):
        task.frames.append(Frame("list", node))
    elif isinstance(node, Loop):
        _loop(runner, task, node)
    elif isinstance(node, If):
        task.frames.append(Frame("if", node))
    elif isinstance(node, Simple):
        runner.simple(task, node)
    elif isinstance(node, Pipe):
        runner.pipe(task, node)
    elif isinstance(node, Case):
        _case(runner, task, node)
    elif isinstance(node, Other) and node.kind == "(":
        runner.fork(task)
        runner.enter(task, parse(node.text[1:-1].strip("\n")), text=written(node.text, node))
    elif isinstance(node, Other) and node.kind == "{":
        task.frames.append(Frame("list", parse(node.text[1:-1].strip())))
    else:
        runner.whole(task, node.text)


def _loop(runner: Runner, task: Task, node: Loop) -> None:
    if node.kind in ("for", "select"):
        values = runner.words(node.head)
        if values is None:
            runner.lose("the words of a loop")
            return
        task.frames.append(Frame(node.kind, node, 0, tuple(values)))
    elif node.kind == "cfor":
        parts = [part.strip() for part in node.head.split(";")]
        if len(parts) != 3:
            runner.whole(task, node.text)
            return
        if parts[0]:
            runner.whole(task, f"(({parts[0]}))")
        task.frames.append(Frame("cfor", node, 0, tuple(parts)))
    else:
        task.frames.append(Frame("while", node))


def _for_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, Loop)
    if frame.index == len(frame.values):
        task.frames.pop()
        return
    value = frame.values[frame.index]
    frame.index += 1
    runner.silent(task, f"{node.variable}={shlex.quote(value)}")
    task.frames.append(Frame("list", node.body))


def _select_step(runner: Runner, task: Task, frame: Frame) -> None:
    """Ask, run the body with the answer, and ask again."""
    node = frame.node
    assert isinstance(node, Loop)
    if frame.index % 2:
        frame.index += 1
        if task.status:
            task.frames.pop()
            runner.status(task, 1)
        else:
            task.frames.append(Frame("list", node.body))
        return
    if not frame.values:
        task.frames.pop()
        runner.status(task, 0)
        return
    prompt = runner.shell.variable("PS3")
    again = frame.index > 0 and bool(runner.shell.variable("REPLY"))
    frame.index += 1
    runner.ask(task, Menu(node.variable, frame.values, "#? " if prompt is None else prompt, again), node.text)


def _case(runner: Runner, task: Task, node: Case) -> None:
    """Find the clause whose pattern matches."""
    clauses = "".join(
        f"{'|'.join(patterns)}) printf %s {number};; " for number, (patterns, _, _) in enumerate(node.clauses)
    )
    run = runner.execute(f"case {node.word} in {clauses}esac", keep=False)
    if not run.known:
        runner.doubt(run.why)
    if not re.fullmatch(r"\d+", run.text):
        runner.status(task, 0)
        return
    number, bodies = int(run.text), []
    while number < len(node.clauses):
        _, body, end = node.clauses[number]
        bodies.append(body)
        if end != ";&":
            break
        number += 1
    if end == ";;&":
        runner.doubt("`;;&` in a case")
    runner.status(task, 0)
    task.frames += [Frame("list", body) for body in reversed(bodies)]


def _job_step(runner: Runner, task: Task, frame: Frame) -> None:
    """A job that was brought to the foreground is over."""
    task.frames.pop()
    jobs = runner.state.jobs
    jobs.remove([job for job in jobs.jobs if job.fore and job.number == frame.index])


def _function_step(runner: Runner, task: Task, frame: Frame) -> None:
    """Go through the body of a function; what it changed for itself is taken back at its end."""
    node = frame.node
    assert isinstance(node, List)
    if frame.index:
        task.frames.pop()
        leave_function(runner, task, frame)
        return
    frame.index = 1
    task.frames.append(Frame("list", node))


def _cfor_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, Loop)
    if frame.index and frame.values[2]:
        runner.silent(task, f"(({frame.values[2]}))")
    frame.index = 1
    if frame.values[1] and runner.silent(task, f"(({frame.values[1]}))"):
        task.frames.pop()
        runner.status(task, 0)
        return
    task.frames.append(Frame("list", node.body))


def _while_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, Loop) and node.test is not None
    if frame.index == 0:
        frame.index = 1
        task.frames.append(Frame("list", node.test, values=_TEST))
        return
    frame.index = 0
    if (task.status == 0) == (node.kind == "while"):
        task.frames.append(Frame("list", node.body))
    else:
        task.frames.pop()
        runner.status(task, 0)


def _script_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, List)
    if frame.index:
        runner.leave(task, task.status)
        return
    frame.index = 1
    task.frames.append(Frame("list", node))


def _if_step(runner: Runner, task: Task, frame: Frame) -> None:
    node = frame.node
    assert isinstance(node, If)
    clause, tested = divmod(frame.index, 2)
    frame.index += 1
    if clause == len(node.clauses):
        task.frames.pop()
        runner.status(task, 0)
        if node.otherwise is not None:
            task.frames.append(Frame("list", node.otherwise))
    elif not tested:
        task.frames.append(Frame("list", node.clauses[clause][0], values=_TEST))
    elif task.status == 0:
        task.frames.pop()
        task.frames.append(Frame("list", node.clauses[clause][1]))


STEPS: Mapping[str, Callable[[Runner, Task, Frame], None]] = {
    "list": _list_step, "chain": _chain_step, "node": _node_step, "for": _for_step, "cfor": _cfor_step,
    "while": _while_step, "if": _if_step, "script": _script_step,
    "select": _select_step, "job": _job_step, "function": _function_step,
}  # fmt: skip
"""By the kind of the frame."""
