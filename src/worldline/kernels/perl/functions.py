"""Perl's own functions: control, output, text and numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from worldline.kernels.perl.arrays import ARRAY_FUNCTIONS, ARRAY_LISTS
from worldline.kernels.perl.files import FILE_FUNCTIONS, FILE_LISTS
from worldline.kernels.perl.interpreter import Interpreter, lists, scalars
from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.state import Exit, Jump, Return
from worldline.kernels.perl.values import PerlGap, Reference, Value, number, regex, show, sprintf

__all__ = ["utility"]

_TOPIC = Node("scalar", ("_",))


def _first(node: Node) -> Node:
    return node.args[1][0] if node.args[1] else _TOPIC


@lists("func")
def _function(i: Interpreter, node: Node) -> list[Value]:
    name, operands = node.args
    if name in _PLURAL:
        return _PLURAL[name](i, node)
    if name in _SINGLE:
        return [_SINGLE[name](i, node)]
    if name in ("sum", "sum0", "max", "min", "uniq", "product", "maxstr", "minstr", "shuffle"):
        return utility(i, name, [value for part in operands for value in i.values(part)])
    raise PerlGap(f"the function {name}")


@scalars("func")
def _function_scalar(i: Interpreter, node: Node) -> Value:
    name = node.args[0]
    if name == "reverse" and not node.args[1]:
        return i.text(i.state.cell("_")[0])[::-1]
    if name == "reverse":
        return "".join(i.text(value) for value in _values(i, node))[::-1]
    if name in ("keys", "values"):
        target = node.args[1][0]
        return len(i.array(target)) if target.kind == "array" else len(i.hash(target))
    if name == "split":
        return len(_split(i, node))
    if name in ("localtime", "gmtime"):
        now = i.state.call.now
        if node.args[1]:
            raise PerlGap("a time of one's own")
        return f"{now:%a %b} {now.day:2d} {now:%H:%M:%S %Y}"
    values = _function(i, node)
    return values[-1] if values else None


def _values(i: Interpreter, node: Node) -> list[Value]:
    return [value for part in node.args[1] for value in i.values(part)]


def utility(i: Interpreter, name: str, values: list[Value]) -> list[Value]:
    """Functions of List::Util, where no function of the program has the name."""
    if name in ("sum", "sum0", "product"):
        if not values:
            return [None if name == "sum" else 0 if name == "sum0" else 1]
        total: Value = values[0] if name != "product" else 1
        for value in values[1:] if name != "product" else values:
            total = i.arithmetic("*" if name == "product" else "+", total, value, 0)
        return [number(total)]
    if name in ("max", "min"):
        chosen = max if name == "max" else min
        return [chosen(map(number, values))] if values else [None]
    if name in ("maxstr", "minstr"):
        return [max(map(show, values)) if name == "maxstr" else min(map(show, values))] if values else [None]
    if name in ("uniq", "uniqnum"):
        return list({show(value): value for value in reversed(values)}.values())[::-1]
    raise PerlGap(f"the function {name}")


# --- control


@scalars("last")
def _last(i: Interpreter, node: Node) -> Value:
    if isinstance(node.args[0], str):
        raise Jump("last", node.args[0])
    return len(i.array(node.args[0])) - 1


@scalars("redo")
def _redo(i: Interpreter, node: Node) -> Value:
    raise PerlGap("redo")


def _die(i: Interpreter, node: Node) -> Value:
    values = _values(i, node)
    if len(values) == 1 and isinstance(values[0], Reference):
        raise PerlGap("an exception that is an object")
    i.die("".join(i.text(value) for value in values) or "Died", node.line)
    return None


def _warn(i: Interpreter, node: Node) -> Value:
    text = "".join(i.text(value) for value in _values(i, node)) or "Warning: something's wrong"
    i.state.write(text if text.endswith("\n") else text + i.state.place(node.line), stderr=True)
    return 1


def _exit(i: Interpreter, node: Node) -> Value:
    raise Exit(int(number(i.scalar(node.args[1][0]))) & 255 if node.args[1] else 0)


def _return(i: Interpreter, node: Node) -> Value:
    raise Return(_values(i, node))


# --- output


@scalars("print")
def _print(i: Interpreter, node: Node) -> Value:
    word, handle, items = node.args
    values = i.values(items)
    if items.kind in ("list", "parens") and not items.args[0]:
        values = [i.state.cell("_")[0]]
    if word == "printf":
        text = sprintf(i.text(values[0]), values[1:], i.text)
    else:
        text = show(i.state.cell(",")[0]).join(i.text(value) for value in values)
        text += "\n" if word == "say" else show(i.state.cell("\\")[0])
    if handle is not None and handle.kind == "handle" and handle.args[0] == "STDERR":
        i.state.write(text, stderr=True)
    elif handle is not None and handle.kind == "handle" and handle.args[0] == "STDOUT":
        i.state.out.append(text)
    else:
        i.state.write(text, i.handle(handle) if handle is not None else None)
    return 1


# --- text


def _text(function: Callable[[str], Value]) -> Callable[[Interpreter, Node], Value]:
    return lambda i, node: function(i.text(i.scalar(_first(node))))


def _ascii(text: str, upper: bool) -> str:
    return re.sub("[a-z]+" if upper else "[A-Z]+", lambda m: m[0].upper() if upper else m[0].lower(), text)


def _length(i: Interpreter, node: Node) -> Value:
    value = i.scalar(_first(node))
    return None if value is None else len(show(value))


def _substr(i: Interpreter, node: Node) -> Value:
    operands = node.args[1]
    text, offset = i.text(i.scalar(operands[0])), int(number(i.scalar(operands[1])))
    start = offset + len(text) if offset < 0 else offset
    if start > len(text) or start < 0:
        raise PerlGap("substr outside of the string")
    length = None if len(operands) < 3 else i.scalar(operands[2])
    end = (
        len(text)
        if length is None
        else start + int(number(length))
        if number(length) >= 0
        else len(text) + int(number(length))
    )
    end = min(max(end, start), len(text))
    if len(operands) > 3:
        i.assign(operands[0], text[:start] + i.text(i.scalar(operands[3])) + text[end:])
    return text[start:end]


def _index(i: Interpreter, node: Node) -> Value:
    operands = [i.scalar(part) for part in node.args[1]]
    text, wanted = i.text(operands[0]), i.text(operands[1])
    if node.args[0] == "index":
        return text.find(wanted, max(int(number(operands[2])), 0) if len(operands) > 2 else 0)
    end = int(number(operands[2])) + len(wanted) if len(operands) > 2 else len(text)
    return text.rfind(wanted, 0, max(end, 0))


def _join(i: Interpreter, node: Node) -> Value:
    values = _values(i, node)
    return i.text(values[0]).join(i.text(value) for value in values[1:])


def _sprintf(i: Interpreter, node: Node) -> Value:
    values = _values(i, node)
    return sprintf(i.text(values[0]), values[1:], i.text)


def _chomp(i: Interpreter, node: Node) -> Value:
    target = _first(node)
    if target.kind == "assign":
        i.values(target)
        target = target.args[1]
    if target.kind == "parens" and len(target.args[0]) == 1:
        target = target.args[0][0]
        if target.kind == "assign":
            i.values(target)
            target = target.args[1]
    if target.kind == "my":
        target = Node({"$": "scalar", "@": "array"}[target.args[0][0][0]], (target.args[0][0][1:],), target.line)
    end = 1 if node.args[0] == "chomp" else 0
    if target.kind == "array":
        array = i.array(target)
        before = sum([len(show(value)) for value in array])
        array[:] = [_cut(show(value), end) for value in array]
        return before - sum([len(show(value)) for value in array])
    value = i.scalar(target)
    if value is None:
        return 0
    text = _cut(show(value), end)
    i.assign(target, text)
    return len(show(value)) - len(text) if end else show(value)[-1:]


def _cut(text: str, end: int) -> str:
    return text.removesuffix("\n") if end else text[:-1]


def _split(i: Interpreter, node: Node) -> list[Value]:
    operands = node.args[1]
    text = i.text(i.scalar(operands[1])) if len(operands) > 1 else i.text(i.state.cell("_")[0])
    limit = int(number(i.scalar(operands[2]))) if len(operands) > 2 else 0
    pattern = operands[0] if operands else Node("str", (" ",))
    if pattern.kind == "match":
        source, flags = i.text(i.scalar(pattern.args[0])), pattern.args[1]
        source = source if source != "^" else "(?m)^"
    else:
        source, flags = i.text(i.scalar(pattern)), ""
        if source == " ":
            text, source = text.lstrip(), r"\s+"
    found: list[Value] = []
    position = 0
    if text:
        for match in regex(source, flags).finditer(text):
            if match.end() == match.start() and match.start() in (0, len(text)):
                continue
            if match.end() == 0 or (limit > 0 and len(found) >= limit - 1):
                if match.end() == 0:
                    continue
                break
            found += [text[position : match.start()], *match.groups()]
            position = match.end()
        found.append(text[position:])
    if not limit:
        while found and not found[-1]:
            found.pop()
    return found


def _number(function: Callable[[float], Value]) -> Callable[[Interpreter, Node], Value]:
    def run(i: Interpreter, node: Node) -> Value:
        try:
            return function(number(i.scalar(_first(node))))
        except ValueError as error:
            raise PerlGap("a number outside of a function's range") from error

    return run


def _whole(value: float) -> Value:
    return int(value) if abs(value) < 2**63 else float(math.trunc(value))


_SINGLE: dict[str, Callable[[Interpreter, Node], Value]] = {
    **ARRAY_FUNCTIONS,
    **FILE_FUNCTIONS,
    "length": _length,
    "uc": _text(lambda text: _ascii(text, True)),
    "lc": _text(lambda text: _ascii(text, False)),
    "ucfirst": _text(lambda text: _ascii(text[:1], True) + text[1:]),
    "lcfirst": _text(lambda text: _ascii(text[:1], False) + text[1:]),
    "quotemeta": _text(lambda text: re.sub(r"(\W)", r"\\\1", text, flags=re.ASCII)),
    "ord": _text(lambda text: ord(text[0]) if text else 0),
    "chr": _number(lambda value: chr(int(value)) if 0 <= value < 256 else _gap("a wide character")),
    "hex": _text(lambda text: int(text.removeprefix("0x") or "0", 16)),
    "oct": _text(lambda text: int(text, 0) if text[:2].lower() in ("0x", "0b") else int(text or "0", 8)),
    "abs": _number(abs),
    "int": _number(_whole),
    "sqrt": _number(math.sqrt),
    "sin": _number(math.sin),
    "cos": _number(math.cos),
    "exp": _number(math.exp),
    "log": _number(math.log),
    "chomp": _chomp,
    "chop": _chomp,
    "exit": _exit,
    "die": _die,
    "warn": _warn,
    "return": _return,
    "join": _join,
    "sprintf": _sprintf,
    "substr": _substr,
    "index": _index,
    "rindex": _index,
    "atan2": lambda i, node: math.atan2(*(float(number(value)) for value in _values(i, node))),
}
_PLURAL: dict[str, Callable[[Interpreter, Node], list[Value]]] = {
    **ARRAY_LISTS,
    **FILE_LISTS,
    "reverse": lambda i, node: _values(i, node)[::-1],
    "split": _split,
}


def _gap(what: str) -> Value:
    raise PerlGap(what)
