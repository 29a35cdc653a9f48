"""Perl's functions on files, and the time."""

from __future__ import annotations

import re
from collections.abc import Callable

from worldline.kernels.perl.interpreter import Interpreter
from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.state import Handle, text_of
from worldline.kernels.perl.values import PerlGap, Reference, Value
from worldline.kernels.shell.builtins.shared.messages import strerror

__all__ = ["FILE_FUNCTIONS", "FILE_LISTS"]

_TOPIC = Node("scalar", ("_",))


def _first(node: Node) -> Node:
    return node.args[1][0] if node.args[1] else _TOPIC


def _values(i: Interpreter, node: Node) -> list[Value]:
    return [value for part in node.args[1] for value in i.values(part)]


def _open(i: Interpreter, node: Node) -> Value:
    operands = node.args[1]
    if len(operands) == 2:
        match = re.match(r"\s*(>>|>|<|)\s*([^|]+?)\s*$", i.text(i.scalar(operands[1])))
        if match is None:
            raise PerlGap("a pipe")
        mode, path = match[1] or "<", match[2]
    else:
        mode, path = i.text(i.scalar(operands[1])).split(":")[0].strip(), i.text(i.scalar(operands[2]))
    target = operands[0]
    name = target.args[0] if target.kind in ("call", "handle") else "$fh"
    if target.kind in ("my", "scalar"):
        name = target.args[0][0] if target.kind == "my" else "$" + target.args[0]
    files = i.state.call.files
    try:
        if mode == "<":
            handle = i.state.open_read(path, name)
        elif mode in (">", ">>"):
            old = files.read(text_of(path)).decode("latin-1") if mode == ">>" and files.exists(text_of(path)) else ""
            files.write(text_of(path), old.encode("latin-1"))
            handle = Handle(name, path=path, written=[old])
        else:
            raise PerlGap(f"opening with {mode}")
    except OSError as error:
        i.state.cell("!")[0] = strerror(error)
        return 0
    if target.kind in ("call", "handle"):
        i.state.handles[name] = handle
    else:
        i.assign(target, Reference("GLOB", handle))
    return 1


def _close(i: Interpreter, node: Node) -> Value:
    target = node.args[1][0] if node.args[1] else None
    if target is None:
        raise PerlGap("close without a file")
    handle = i.handle(Node("handle", (target.args[0],)) if target.kind == "call" else target)
    if handle is not None:
        i.state.close(handle)
        if handle is i.state.last_read:
            i.state.last_read = None
    return 1


def _eof(i: Interpreter, node: Node) -> Value:
    if not node.args[1]:
        return 1 if i.state.diamond_ends() else ""
    target = node.args[1][0]
    if target.kind == "list":
        raise PerlGap("eof()")
    handle = i.handle(Node("handle", (target.args[0],)) if target.kind == "call" else target)
    return 1 if handle is None or handle.at_end() else ""


def _localtime(i: Interpreter, node: Node) -> list[Value]:
    if node.args[1] or i.state.call.world.timezone != "UTC":
        raise PerlGap("a time of one's own")
    now = i.state.call.now
    fields = [now.second, now.minute, now.hour, now.day, now.month - 1, now.year - 1900]
    return [*fields, (now.weekday() + 1) % 7, now.timetuple().tm_yday - 1, 0]


def _reference_kind(i: Interpreter, node: Node) -> Value:
    value = i.scalar(_first(node))
    return value.kind if isinstance(value, Reference) else ""


def _pos(i: Interpreter, node: Node) -> Value:
    target = _first(node)
    if target.kind != "scalar":
        raise PerlGap("pos of an expression")
    cell = i.state.cell(target.args[0])
    text, place = i.state.positions.get(id(cell), ("", 0))
    return place if place and text == cell[0] else None


def _unlink(i: Interpreter, node: Node) -> Value:
    count = 0
    for value in _values(i, node):
        try:
            i.state.call.files.remove(text_of(i.text(value)))
            count += 1
        except OSError:
            continue
    return count


FILE_FUNCTIONS: dict[str, Callable[[Interpreter, Node], Value]] = {
    "open": _open,
    "close": _close,
    "eof": _eof,
    "unlink": _unlink,
    "pos": _pos,
    "ref": _reference_kind,
    "time": lambda i, node: int(i.state.call.now.timestamp()),
    "binmode": lambda i, node: 1,
}
FILE_LISTS: dict[str, Callable[[Interpreter, Node], list[Value]]] = {"localtime": _localtime, "gmtime": _localtime}
