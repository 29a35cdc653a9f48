"""Perl's own functions: text, lists, hashes, output, files."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable

from worldline.kernels.shell.builtins.messages import strerror
from worldline.kernels.shell.builtins.perl_interpreter import Interpreter, lists, scalars
from worldline.kernels.shell.builtins.perl_parser import Node
from worldline.kernels.shell.builtins.perl_state import Exit, Handle, Jump, Return, text_of
from worldline.kernels.shell.builtins.perl_values import PerlGap, Reference, Value, number, regex, show, sprintf, truth

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


# --- lists and hashes


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


# --- files and time


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
    "defined": _defined,
    "ref": _reference_kind,
    "scalar": _scalar,
    "undef": _undef,
    "chomp": _chomp,
    "chop": _chomp,
    "shift": _pop,
    "pop": _pop,
    "push": _push,
    "unshift": _push,
    "exists": _exists,
    "delete": _delete,
    "exit": _exit,
    "die": _die,
    "warn": _warn,
    "return": _return,
    "join": _join,
    "sprintf": _sprintf,
    "substr": _substr,
    "index": _index,
    "rindex": _index,
    "open": _open,
    "close": _close,
    "eof": _eof,
    "unlink": _unlink,
    "pos": _pos,
    "time": lambda i, node: int(i.state.call.now.timestamp()),
    "binmode": lambda i, node: 1,
    "atan2": lambda i, node: math.atan2(*(float(number(value)) for value in _values(i, node))),
}
_PLURAL: dict[str, Callable[[Interpreter, Node], list[Value]]] = {
    "reverse": lambda i, node: _values(i, node)[::-1],
    "split": _split,
    "splice": _splice,
    "keys": _keys,
    "values": _keys,
    "each": _each,
    "localtime": _localtime,
    "gmtime": _localtime,
}


def _gap(what: str) -> Value:
    raise PerlGap(what)
