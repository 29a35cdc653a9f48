"""Matching, substitution and transliteration in Perl programs."""

from __future__ import annotations

from typing import Any

from worldline.kernels.perl.interpreter import Interpreter, lists, scalars
from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.values import Compiled, PerlGap, Value, regex, truth

__all__: list[str] = []


@scalars("qr")
def _qr(i: Interpreter, node: Node) -> Value:
    source, flags = i.text(i.scalar(node.args[0])), node.args[1]
    kept = "".join(flag for flag in "imsx" if flag in flags)
    value = Compiled(f"(?^{kept}:{source})")
    value.source = f"(?{kept}:{source})" if kept else f"(?:{source})"
    return value


@scalars("match")
def _match(i: Interpreter, node: Node) -> Value:
    return _match_on(i, node, Node("scalar", ("_",), node.line), wants_list=False)


@lists("match")
def _match_list(i: Interpreter, node: Node) -> list[Value]:
    return _match_on(i, node, Node("scalar", ("_",), node.line), wants_list=True)  # type: ignore[no-any-return]


def _match_on(i: Interpreter, node: Node, subject: Node, *, wants_list: bool) -> Any:
    pattern, flags = node.args
    if set(flags) & set("co"):
        flags = flags.replace("o", "")
        if "c" in flags:
            raise PerlGap("the flag c")
    text = i.text(i.scalar(subject))
    if "g" not in flags:
        found = i.match(pattern, flags, text)
        if not wants_list:
            return 1 if found is not None else ""
        if found is None:
            return []
        return list(found.groups()) if found.re.groups else [1]
    if wants_list:
        values: list[Value] = []
        for found in regex(i.pattern(pattern), flags).finditer(text):
            i.state.match = found
            values += list(found.groups()) if found.re.groups else [found[0]]
        return values
    cell = i.state.cell(subject.args[0]) if subject.kind == "scalar" else None
    if cell is None:
        raise PerlGap("a repeated match on an expression")
    known, start = i.state.positions.get(id(cell), ("", 0))
    if known != text:
        start = 0
    found = i.match(pattern, flags, text, start) if start <= len(text) else None
    if found is None:
        i.state.positions.pop(id(cell), None)
        return ""
    i.state.positions[id(cell)] = (text, found.end() + (1 if found.end() == found.start() else 0))
    return 1


@scalars("bind")
def _bind(i: Interpreter, node: Node) -> Value:
    left, right = node.args
    if right.kind == "match":
        return _match_on(i, right, left, wants_list=False)
    if right.kind == "subst":
        return _substitute(i, right, left)
    if right.kind == "trans":
        return _translate(i, right, left)
    return _match_on(i, Node("match", (right, ""), node.line), left, wants_list=False)


@lists("bind")
def _bind_list(i: Interpreter, node: Node) -> list[Value]:
    left, right = node.args
    if right.kind == "match":
        return _match_on(i, right, left, wants_list=True)  # type: ignore[no-any-return]
    if right.kind in ("subst", "trans"):
        return [_bind(i, node)]
    return _match_on(i, Node("match", (right, ""), node.line), left, wants_list=True)  # type: ignore[no-any-return]


@scalars("nobind")
def _nobind(i: Interpreter, node: Node) -> Value:
    return "" if truth(_bind(i, node)) else 1


@scalars("subst")
def _subst(i: Interpreter, node: Node) -> Value:
    return _substitute(i, node, Node("scalar", ("_",), node.line))


def _substitute(i: Interpreter, node: Node, target: Node) -> Value:
    pattern, replacement, flags = node.args
    if "ee" in flags:
        raise PerlGap("the flag ee")
    target = _place(i, target) if "r" not in flags else target
    text = i.text(i.scalar(target))
    compiled = regex(i.pattern(pattern), flags)
    out: list[str] = []
    position = changes = 0
    for found in compiled.finditer(text):
        i.state.match = found
        out += [text[position : found.start()], i.text(i.scalar(replacement))]
        position = found.end()
        changes += 1
        if "g" not in flags:
            break
    result = "".join(out) + text[position:]
    if "r" in flags:
        return result
    if changes:
        i.assign(target, result)
    return changes or ""


def _place(i: Interpreter, target: Node) -> Node:
    """The variable that is changed: `(my $x = $y) =~ ...` assigns first."""
    while target.kind in ("assign", "parens", "my"):
        if target.kind == "parens":
            if len(target.args[0]) != 1:
                raise PerlGap("changing a list")
            target = target.args[0][0]
        elif target.kind == "assign":
            i.scalar(target)
            target = target.args[1]
        else:
            target = Node("scalar", (target.args[0][0][1:],), target.line)
    return target


@scalars("trans")
def _trans(i: Interpreter, node: Node) -> Value:
    return _translate(i, node, Node("scalar", ("_",), node.line))


def _translate(i: Interpreter, node: Node, target: Node) -> Value:
    first, second, flags = node.args
    source, goal = _spelled(first), _spelled(second)
    if "c" in flags:
        source = [chr(code) for code in range(256) if chr(code) not in set(source)]
    deleting = "d" in flags
    if not goal and not deleting:
        goal = source
    table: dict[str, str | None] = {}
    for place, letter in enumerate(source):
        if letter not in table:
            table[letter] = goal[place] if place < len(goal) else None if deleting else goal[-1]
    target = _place(i, target) if "r" not in flags else target
    text = i.text(i.scalar(target))
    out: list[str] = []
    count, previous = 0, None
    for letter in text:
        if letter not in table:
            out.append(letter)
            previous = None
            continue
        count += 1
        new = table[letter]
        if new is None or ("s" in flags and new == previous):
            continue
        out.append(new)
        previous = new
    result = "".join(out)
    if "r" in flags:
        return result
    if result != text:
        i.assign(target, result)
    return count


def _spelled(text: str) -> list[str]:
    escapes = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0", "f": "\f"}
    letters: list[tuple[str, bool]] = []
    index = 0
    while index < len(text):
        if text[index] == "\\" and index + 1 < len(text):
            index += 1
            letters.append((escapes.get(text[index], text[index]), False))
        else:
            letters.append((text[index], text[index] == "-"))
        index += 1
    out: list[str] = []
    place = 0
    while place < len(letters):
        if place + 2 < len(letters) and letters[place + 1][1]:
            out += [chr(code) for code in range(ord(letters[place][0]), ord(letters[place + 2][0]) + 1)]
            place += 3
        else:
            out.append(letters[place][0])
            place += 1
    return out
