"""Perl's functions on arrays and hashes, and those that take a block: `sort map grep`."""

from __future__ import annotations

import functools
from collections.abc import Callable

from worldline.kernels.perl.interpreter import Interpreter, lists, scalars
from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.values import PerlGap, Value, number, show, truth

__all__ = ["ARRAY_FUNCTIONS", "ARRAY_LISTS"]

_TOPIC = Node("scalar", ("_",))


def _first(node: Node) -> Node:
    return node.args[1][0] if node.args[1] else _TOPIC


def _values(i: Interpreter, node: Node) -> list[Value]:
    return [value for part in node.args[1] for value in i.values(part)]


def _default_array(i: Interpreter) -> Node:
    return Node("array", ("_" if i.state.frame.find("@_") is not None else "ARGV",))


def _push(i: Interpreter, node: Node) -> Value:
    array = i.array(node.args[1][0])
    values = [value for part in node.args[1][1:] for value in i.values(part)]
    if node.args[0] == "push":
        array.extend(values)
    else:
        array[:0] = values
    return len(array)


def _pop(i: Interpreter, node: Node) -> Value:
    array = i.array(node.args[1][0] if node.args[1] else _default_array(i))
    if not array:
        return None
    return array.pop() if node.args[0] == "pop" else array.pop(0)


def _splice(i: Interpreter, node: Node) -> list[Value]:
    array = i.array(node.args[1][0])
    values = [value for part in node.args[1][1:] for value in i.values(part)]
    start = int(number(values[0])) if values else 0
    start = start + len(array) if start < 0 else min(start, len(array))
    count = int(number(values[1])) if len(values) > 1 else len(array) - start
    end = start + count if count >= 0 else len(array) + count
    gone = array[start:end]
    array[start:end] = values[2:]
    return gone


def _keys(i: Interpreter, node: Node) -> list[Value]:
    target = node.args[1][0]
    if target.kind == "array":
        array = i.array(target)
        return list(range(len(array))) if node.args[0] == "keys" else list(array)
    table = i.hash(target)
    if len(table) > 1 and not i.unordered:
        raise PerlGap("the order of a hash")
    return list(table) if node.args[0] == "keys" else list(table.values())


def _exists(i: Interpreter, node: Node) -> Value:
    target = node.args[1][0]
    if target.kind == "helem":
        return 1 if i.key(target.args[1]) in i.hash(target.args[0]) else ""
    if target.kind == "elem":
        array, index = i.array(target.args[0]), int(number(i.scalar(target.args[1])))
        return 1 if -len(array) <= index < len(array) else ""
    raise PerlGap("exists of this")


def _delete(i: Interpreter, node: Node) -> Value:
    target = node.args[1][0]
    if target.kind != "helem":
        raise PerlGap("delete of this")
    return i.hash(target.args[0]).pop(i.key(target.args[1]), None)


def _defined(i: Interpreter, node: Node) -> Value:
    target = _first(node)
    if target.kind in ("array", "hash"):
        raise PerlGap("defined of a list")
    if target.kind == "call":
        return 1 if target.args[0] in i.state.subs else ""
    return 1 if i.scalar(target) is not None else ""


@scalars("defined")
def _defined_node(i: Interpreter, node: Node) -> Value:
    return 1 if i.scalar(node.args[0]) is not None else ""


def _undef(i: Interpreter, node: Node) -> Value:
    if node.args[1]:
        target = node.args[1][0]
        if target.kind == "array":
            i.array(target).clear()
        elif target.kind == "hash":
            i.hash(target).clear()
        else:
            i.assign(target, None)
    return None


def _scalar(i: Interpreter, node: Node) -> Value:
    return i.scalar(node.args[1][0])


@scalars("local")
def _local(i: Interpreter, node: Node) -> Value:
    i.assign(node, None)
    return None


@lists("blockfunc")
def _blockfunc(i: Interpreter, node: Node) -> list[Value]:
    name, body, items = node.args
    if name == "sort":
        return _sort(i, body, items)
    if name == "reduce":
        raise PerlGap("reduce")
    found: list[Value] = []
    frame = i.state.frame
    for cell, put in i.cells(items):
        kept = frame.names.get("$_")
        frame.names["$_"] = cell
        try:
            values = i.values(body) if name == "map" else [i.scalar(body)]
        finally:
            if kept is None:
                del frame.names["$_"]
            else:
                frame.names["$_"] = kept
        if put is not None:
            put(cell[0])
        if name == "map":
            found += values
        elif truth(values[-1] if values else None):
            if name == "first":
                return [cell[0]]
            found.append(cell[0])
    if name in ("any", "all", "none"):
        count = len(i.values(items)) if name == "all" else 0
        return [1 if (len(found) == count if name == "all" else bool(found) == (name == "any")) else ""]
    return found if name != "first" else [None]


@scalars("blockfunc")
def _blockfunc_scalar(i: Interpreter, node: Node) -> Value:
    values = _blockfunc(i, node)
    return len(values) if node.args[0] in ("map", "grep") else values[-1] if values else None


def _sort(i: Interpreter, body: Node | None, items: Node) -> list[Value]:
    i.unordered += 1
    try:
        values = i.values(items)
    finally:
        i.unordered -= 1
    shuffled = _from_hash(items)
    if body is None:
        return sorted(values, key=lambda value: i.text(value))
    cells = i.state.cell("a"), i.state.cell("b")

    def compare(one: Value, two: Value) -> int:
        cells[0][0], cells[1][0] = one, two
        result = int(number(i.scalar(body)))
        if not result and shuffled and show(one) != show(two):
            raise PerlGap("the order of a hash")
        return result

    return sorted(values, key=functools.cmp_to_key(compare))


def _from_hash(node: Node) -> bool:
    if node.kind == "func" and node.args[0] in ("keys", "values"):
        return True
    if node.kind in ("list", "parens"):
        return any(_from_hash(part) for part in node.args[0])
    return node.kind == "hash" or (node.kind == "blockfunc" and _from_hash(node.args[2]))


def _each(i: Interpreter, node: Node) -> list[Value]:
    table = i.hash(node.args[1][0])
    if len(table) > 1:
        raise PerlGap("the order of a hash")
    name = f"each{id(table)}"
    if i.state.numbers.get(name) or not table:
        i.state.numbers[name] = 0
        return []
    i.state.numbers[name] = 1
    return list(next(iter(table.items())))


ARRAY_FUNCTIONS: dict[str, Callable[[Interpreter, Node], Value]] = {
    "defined": _defined,
    "scalar": _scalar,
    "undef": _undef,
    "shift": _pop,
    "pop": _pop,
    "push": _push,
    "unshift": _push,
    "exists": _exists,
    "delete": _delete,
}
ARRAY_LISTS: dict[str, Callable[[Interpreter, Node], list[Value]]] = {
    "splice": _splice,
    "keys": _keys,
    "values": _keys,
    "each": _each,
}
