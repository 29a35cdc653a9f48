"""Constants, variables and references in Perl programs."""

from __future__ import annotations

import re

from worldline.kernels.perl.interpreter import Interpreter, lists, scalars
from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.values import Compiled, PerlGap, Reference, Value, number, show

__all__: list[str] = []


# --- constants and variables


@scalars("num")
@scalars("str")
@scalars("value")
def _constant(i: Interpreter, node: Node) -> Value:
    return node.args[0]


@scalars("interp")
def _interp(i: Interpreter, node: Node) -> Value:
    out: list[str] = []
    mode, once = "", ""
    for part in node.args[0]:
        if part.kind == "case":
            if part.args[0] in ("first", "firstlow"):
                once = part.args[0]
            else:
                mode = "" if part.args[0] == "end" else part.args[0]
            continue
        value = i.scalar(part)
        text = value.source if isinstance(value, Compiled) else i.text(value)
        if mode:
            text = _quotemeta(text) if mode == "quote" else text.upper() if mode == "upper" else text.lower()
        if once and text:
            text = (text[0].upper() if once == "first" else text[0].lower()) + text[1:]
            once = ""
        out.append(text)
    return "".join(out)


def _quotemeta(text: str) -> str:
    return re.sub(r"([^\w])", r"\\\1", text, flags=re.ASCII)


@scalars("joined")
def _joined(i: Interpreter, node: Node) -> Value:
    return show(i.state.cell('"')[0]).join(i.text(value) for value in i.values(node.args[0]))


@scalars("scalar")
def _scalar(i: Interpreter, node: Node) -> Value:
    name = node.args[0]
    match = i.state.match
    if name.isdigit() and name != "0":
        group = int(name)
        return match[group] if match is not None and group <= match.re.groups else None
    if name == "&":
        return match[0] if match is not None else None
    if name == "+":
        return match[match.lastindex] if match is not None and match.lastindex else None
    if name == "^V":
        return "v5.36.0"
    if name == "]":
        return "5.036000"
    if name in ("$", "^T", "<", "(", ")", ">", "^O", "`", "'") or name.startswith("^"):
        if name == "^O":
            return "linux"
        raise PerlGap(f"the variable ${name}")
    return i.state.cell(name)[0]


@lists("array")
def _array(i: Interpreter, node: Node) -> list[Value]:
    return list(i.array(node))


@scalars("array")
def _array_count(i: Interpreter, node: Node) -> Value:
    return len(i.array(node))


@lists("hash")
def _hash(i: Interpreter, node: Node) -> list[Value]:
    table = i.hash(node)
    _ordered(i, table)
    return [part for pair in table.items() for part in pair]


@scalars("hash")
def _hash_count(i: Interpreter, node: Node) -> Value:
    return len(i.hash(node))


def _ordered(i: Interpreter, table: dict[str, Value]) -> None:
    if len(table) > 1 and not i.unordered:
        raise PerlGap("the order of a hash")


@lists("deref")
def _deref(i: Interpreter, node: Node) -> list[Value]:
    if node.args[0] == "@":
        return list(i.array(node))
    if node.args[0] == "%":
        return _hash(i, node)
    return [_deref_scalar(i, node)]


@scalars("deref")
def _deref_scalar(i: Interpreter, node: Node) -> Value:
    if node.args[0] == "@":
        return len(i.array(node))
    if node.args[0] == "%":
        return len(i.hash(node))
    value = i.scalar(node.args[1])
    if not isinstance(value, Reference) or value.kind != "SCALAR":
        raise PerlGap("a reference of another kind")
    return value.target[0]


@scalars("elem")
def _elem(i: Interpreter, node: Node) -> Value:
    if node.args[0].kind == "array" and node.args[0].args[0] in ("-", "+"):
        raise PerlGap("the offsets of a match")
    array = i.array(node.args[0])
    index = int(number(i.scalar(node.args[1])))
    return array[index] if -len(array) <= index < len(array) else None


@scalars("helem")
def _helem(i: Interpreter, node: Node) -> Value:
    if node.args[0].kind == "hash" and node.args[0].args[0] == "+":
        match = i.state.match
        return match.groupdict().get(i.key(node.args[1])) if match is not None else None
    return i.hash(node.args[0]).get(i.key(node.args[1]))


@lists("slice")
def _slice(i: Interpreter, node: Node) -> list[Value]:
    array = i.array(node.args[0])
    return _pick(array, i.values(node.args[1]))


def _pick(array: list[Value], indices: list[Value]) -> list[Value]:
    places = [int(number(index)) for index in indices]
    return [array[place] if -len(array) <= place < len(array) else None for place in places]


@lists("hslice")
def _hslice(i: Interpreter, node: Node) -> list[Value]:
    table = i.hash(node.args[0])
    return [table.get(i.text(key)) for key in i.values(node.args[1])]


@lists("lslice")
def _lslice(i: Interpreter, node: Node) -> list[Value]:
    values = i.values(node.args[0])
    return _pick(values, i.values(node.args[1])) if values else []


@lists("list")
@lists("parens")
def _list(i: Interpreter, node: Node) -> list[Value]:
    return [value for part in node.args[0] for value in i.values(part)]


@scalars("list")
@scalars("parens")
def _list_last(i: Interpreter, node: Node) -> Value:
    value = None
    for part in node.args[0]:
        value = i.scalar(part)
    return value


@scalars("my")
def _my(i: Interpreter, node: Node) -> Value:
    for name in node.args[0]:
        i.state.frame.names[name] = [None] if name[0] == "$" else [] if name[0] == "@" else {}
    return None


@lists("mylist")
def _mylist(i: Interpreter, node: Node) -> list[Value]:
    _my(i, node)
    return []


@scalars("newarray")
def _newarray(i: Interpreter, node: Node) -> Value:
    return Reference("ARRAY", i.values(node.args[0]))


@scalars("newhash")
def _newhash(i: Interpreter, node: Node) -> Value:
    values = i.values(node.args[0])
    return Reference("HASH", {i.text(values[n]): values[n + 1] for n in range(0, len(values) - 1, 2)})


@scalars("ref")
def _ref(i: Interpreter, node: Node) -> Value:
    inner = node.args[0]
    if inner.kind == "array" or (inner.kind == "my" and inner.args[0][0][0] == "@"):
        return Reference("ARRAY", i.array(inner))
    if inner.kind == "hash" or (inner.kind == "my" and inner.args[0][0][0] == "%"):
        return Reference("HASH", i.hash(inner))
    if inner.kind == "scalar":
        return Reference("SCALAR", i.state.cell(inner.args[0]))
    if inner.kind in ("coderef", "call"):
        name = inner.args[0]
        if name not in i.state.subs:
            raise PerlGap(f"the function {name}")
        return Reference("CODE", i.state.subs[name])
    if inner.kind in ("parens", "num", "str", "interp", "binary"):
        return Reference("SCALAR", [i.scalar(inner)])
    raise PerlGap("a reference to this")


@scalars("anon")
def _anon(i: Interpreter, node: Node) -> Value:
    return Reference("CODE", (node.args[0], i.state.frame))
