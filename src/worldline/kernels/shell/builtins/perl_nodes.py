"""How each kind of node of a Perl program is evaluated."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.perl_interpreter import Interpreter, lists, scalars
from worldline.kernels.shell.builtins.perl_parser import Node
from worldline.kernels.shell.builtins.perl_state import Die, Jump
from worldline.kernels.shell.builtins.perl_values import Compiled, PerlGap, Reference, Value, number, show, truth

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


# --- calls


@lists("call")
def _call(i: Interpreter, node: Node) -> list[Value]:
    from worldline.kernels.shell.builtins.perl_functions import utility

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
    from worldline.kernels.shell.builtins.perl_state import text_of

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
