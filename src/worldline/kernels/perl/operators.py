"""Calls, operators and files in Perl programs."""

from __future__ import annotations

import re

from worldline.kernels.perl.interpreter import Interpreter, lists, scalars
from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.state import Die, Jump
from worldline.kernels.perl.values import PerlGap, Reference, Value, number, show, truth

__all__: list[str] = []


@lists("call")
def _call(i: Interpreter, node: Node) -> list[Value]:
    from worldline.kernels.perl.functions import utility

    arguments = i.values(node.args[1])
    if node.args[0] not in i.state.subs:
        return utility(i, node.args[0], arguments)
    return i.call(node.args[0], arguments)


@lists("callref")
def _callref(i: Interpreter, node: Node) -> list[Value]:
    value = i.scalar(node.args[0])
    if not isinstance(value, Reference) or value.kind != "CODE":
        raise PerlGap("a call of what is no function")
    body, frame = value.target
    return i.apply(body, frame, i.values(node.args[1]))


@lists("do")
def _do(i: Interpreter, node: Node) -> list[Value]:
    return i.block(node.args[0])


@lists("eval")
def _eval(i: Interpreter, node: Node) -> list[Value]:
    try:
        values = i.block(node.args[0])
    except Die as error:
        i.state.cell("@")[0] = error.value
        return []
    i.state.cell("@")[0] = ""
    return values


@scalars("next")
def _next(i: Interpreter, node: Node) -> Value:
    raise Jump(node.kind, node.args[0])


# --- operators


@scalars("binary")
def _binary(i: Interpreter, node: Node) -> Value:
    operator, left, right = node.args
    return i.arithmetic(operator, i.scalar(left), i.scalar(right), node.line)


@lists("binary")
def _binary_list(i: Interpreter, node: Node) -> list[Value]:
    operator, left, right = node.args
    if operator == "x" and left.kind == "parens":
        return i.values(left) * max(int(number(i.scalar(right))), 0)
    return [_binary(i, node)]


@scalars("assign")
def _assign(i: Interpreter, node: Node) -> Value:
    operator, target, source = node.args
    if operator == "=" and _plural(target):
        values = i.values(source)
        i.assign_list(target, list(values))
        return len(values)
    if operator == "=":
        value = i.scalar(source)
        i.assign(target, value)
        return value
    if operator in ("||=", "&&=", "//="):
        old = i.scalar(target)
        keep = truth(old) if operator == "||=" else old is not None if operator == "//=" else not truth(old)
        if keep:
            return old
        value = i.scalar(source)
        i.assign(target, value)
        return value
    if target.kind == "array" and operator in ("x=", ".="):
        raise PerlGap("an operator on an array")
    old = i.scalar(target)
    if old is None and operator in ("+=", "-=", ".="):
        old = 0 if operator != ".=" else ""
    value = i.arithmetic(operator[:-1], old, i.scalar(source), node.line)
    i.assign(target, value)
    return value


@lists("assign")
def _assign_list(i: Interpreter, node: Node) -> list[Value]:
    operator, target, source = node.args
    if operator == "=" and _plural(target):
        i.assign_list(target, list(i.values(source)))
        return [] if target.kind in ("hash", "my", "mylist") else i.values(target)
    return [_assign(i, node)]


def _plural(target: Node) -> bool:
    if target.kind in ("array", "hash", "mylist", "parens", "slice", "hslice"):
        return True
    return (target.kind == "my" and target.args[0][0][0] in "@%") or (
        target.kind == "deref" and target.args[0] in ("@", "%")
    )


@scalars("and")
def _and(i: Interpreter, node: Node) -> Value:
    left = i.scalar(node.args[0])
    return i.scalar(node.args[1]) if truth(left) else left


@lists("and")
def _and_list(i: Interpreter, node: Node) -> list[Value]:
    left = i.scalar(node.args[0])
    return i.values(node.args[1]) if truth(left) else [left]


@scalars("or")
def _or(i: Interpreter, node: Node) -> Value:
    left = i.scalar(node.args[0])
    return left if truth(left) else i.scalar(node.args[1])


@lists("or")
def _or_list(i: Interpreter, node: Node) -> list[Value]:
    left = i.scalar(node.args[0])
    return [left] if truth(left) else i.values(node.args[1])


@scalars("dor")
def _dor(i: Interpreter, node: Node) -> Value:
    left = i.scalar(node.args[0])
    return left if left is not None else i.scalar(node.args[1])


@scalars("xor")
def _xor(i: Interpreter, node: Node) -> Value:
    return 1 if truth(i.scalar(node.args[0])) != truth(i.scalar(node.args[1])) else ""


@scalars("not")
def _not(i: Interpreter, node: Node) -> Value:
    return "" if truth(i.scalar(node.args[0])) else 1


@scalars("neg")
def _neg(i: Interpreter, node: Node) -> Value:
    value = i.scalar(node.args[0])
    if isinstance(value, str) and re.match(r"[A-Za-z_]", value):
        return "-" + value
    return -number(value)


@scalars("plus")
def _plus(i: Interpreter, node: Node) -> Value:
    return i.scalar(node.args[0])


@scalars("complement")
def _complement(i: Interpreter, node: Node) -> Value:
    return ~int(number(i.scalar(node.args[0]))) & (2**64 - 1)


@scalars("cond")
def _cond(i: Interpreter, node: Node) -> Value:
    return i.scalar(node.args[1] if truth(i.scalar(node.args[0])) else node.args[2])


@lists("cond")
def _cond_list(i: Interpreter, node: Node) -> list[Value]:
    return i.values(node.args[1] if truth(i.scalar(node.args[0])) else node.args[2])


@lists("range")
def _range(i: Interpreter, node: Node) -> list[Value]:
    first, last = i.scalar(node.args[0]), i.scalar(node.args[1])
    if isinstance(first, str) and not re.fullmatch(r"-?\d+(?:\.\d*)?", first) and first:
        found = [first]
        while found[-1] != show(last) and len(found[-1]) <= len(show(last)) and len(found) < 100_000:
            found.append(_magic(found[-1]))
        return [text for text in found if len(text) <= len(show(last))]
    start, end = int(number(first)), int(number(last))
    if end - start > 1_000_000:
        raise PerlGap("a long range")
    return list(range(start, end + 1))


@scalars("range")
def _flip(i: Interpreter, node: Node) -> Value:
    """The flip-flop: true from where the left side holds to where the right one does."""
    name = f"flip{id(node)}"
    left, right = node.args
    running = i.state.numbers.get(name, 0)
    if not running:
        if not _holds(i, left):
            return ""
        i.state.numbers[name] = 1
        if _holds(i, right):
            i.state.numbers[name] = 0
            return "1E0"
        return 1
    i.state.numbers[name] = running + 1
    if _holds(i, right):
        i.state.numbers[name] = 0
        return f"{running + 1}E0"
    return running + 1


def _holds(i: Interpreter, node: Node) -> bool:
    if node.kind == "num":
        return bool(number(i.state.cell(".")[0]) == node.args[0])
    return truth(i.scalar(node))


@scalars("preinc")
def _preinc(i: Interpreter, node: Node) -> Value:
    operator, target = node.args
    old = i.scalar(target)
    value = _increment(old) if operator == "++" else number(old) - 1
    i.assign(target, value)
    return value


@scalars("postinc")
def _postinc(i: Interpreter, node: Node) -> Value:
    operator, target = node.args
    old = i.scalar(target)
    i.assign(target, _increment(old) if operator == "++" else number(old) - 1)
    return 0 if old is None and operator == "++" else old


def _increment(value: Value) -> Value:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z]*\d*", value) and value and not value.isdigit():
        return _magic(value)
    return number(value) + 1


def _magic(text: str) -> str:
    letters = list(text)
    for place in range(len(letters) - 1, -1, -1):
        letter = letters[place]
        wrapped = {"z": "a", "Z": "A", "9": "0"}.get(letter)
        if wrapped is None:
            letters[place] = chr(ord(letter) + 1)
            return "".join(letters)
        letters[place] = wrapped
    return {"a": "a", "A": "A", "0": "1"}[letters[0]] + "".join(letters)


# --- files


@scalars("read")
def _read(i: Interpreter, node: Node) -> Value:
    state, name = i.state, node.args[0]
    if name == "":
        return state.diamond_line()
    if name == "STDIN":
        return state.read_line(state.standard_input())
    if name.startswith("$"):
        handle = i.handle(Node("scalar", (name[1:],), node.line))
    else:
        handle = i.handle(Node("handle", (name,), node.line))
    if handle is None:
        raise PerlGap("reading standard output")
    return state.read_line(handle)


@lists("read")
def _read_all(i: Interpreter, node: Node) -> list[Value]:
    found: list[Value] = []
    while (line := _read(i, node)) is not None:
        found.append(line)
    return found


@scalars("filetest")
def _filetest(i: Interpreter, node: Node) -> Value:
    from worldline.kernels.perl.state import text_of

    test, operand = node.args
    path, files = text_of(i.text(i.scalar(operand))), i.state.call.files
    try:
        stat = files.stat(path, follow=test != "l")
    except OSError:
        return None if test in "sfdelrwxz" else ""
    if test in "fdl":
        return 1 if stat.kind == {"f": "file", "d": "directory", "l": "symlink"}[test] else ""
    if test in "rwx":
        return 1 if files.allowed(path, {"r": 4, "w": 2, "x": 1}[test]) else ""
    if test in "sz":
        return (stat.size or "") if test == "s" else 1 if not stat.size else ""
    return 1
