"""How bash writes a command down: in its list of jobs."""

from __future__ import annotations

import re

from worldline.domains.terminal.commands import AndOr, Case, If, List, Loop, Node, Other, Pipe, Simple
from worldline.domains.terminal.syntax import Fault, Incomplete, parse

__all__ = ["written"]

_DEEP = 4
"""Blanks that a body stands further right."""
_TAIL = re.compile(r"(?<=[\w)}])(?:\s*(?:\d?[<>]{1,3}&?|&>>?)\s*[^\s;&|<>()]+)+$")
_COPIED = re.compile(r"[<>]&")


def written(text: str, node: Node | AndOr | None = None) -> str:
    """A command as bash writes it down for a list of jobs.

    Args:
        text: As it was typed.
        node: What it is, where that is known.
    """
    if node is None:
        try:
            tree = parse(text)
        except (Fault, Incomplete):
            return text
        if not tree.items or "<<" in text:
            return text
        return _list(tree, 0)
    return text if "<<" in text else _node(node, 0)


def _list(tree: List, indent: int) -> str:
    out = ""
    for number, item in enumerate(tree.items):
        last = number == len(tree.items) - 1
        out += _and_or(item, indent) + (" &" if item.background else "" if last else ";") + ("" if last else " ")
    return out


def _and_or(item: AndOr, indent: int) -> str:
    return "".join((f" {operator} " if operator else "") + _node(part, indent) for operator, part in item.parts)


def _body(tree: List, indent: int) -> str:
    """Statements inside a loop or condition, on a line of their own."""
    shown = _list(tree, indent + _DEEP)
    return " " * (indent + _DEEP) + shown + ("" if shown.endswith("&") else ";")


def _node(node: Node | AndOr, indent: int) -> str:
    if isinstance(node, AndOr):
        return _and_or(node, indent)
    if isinstance(node, List):
        return _list(node, indent)
    if isinstance(node, Simple):
        return _simple(node)
    if isinstance(node, Pipe):
        before = re.match(r"(?:(?:!|time)\s+)*", node.text)
        head = " ".join(before[0].split()) if before else ""
        return (f"{head} " if head else "") + " | ".join(_node(part, indent) for part in node.parts)
    margin = " " * indent
    if isinstance(node, Loop):
        body = _body(node.body, indent)
        if node.kind in ("for", "select"):
            return f"{node.kind} {node.variable} in {node.head};\n{margin}do\n{body}\n{margin}done"
        if node.kind == "cfor":
            parts = "; ".join(part.strip() for part in node.head.split(";"))
            return f"for (({parts}))\n{margin}do\n{body}\n{margin}done"
        test = _list(node.test, indent) if node.test is not None else ""
        return f"{node.kind} {test}; do\n{body}\n{margin}done"
    if isinstance(node, If):
        return _condition(node, indent)
    if isinstance(node, Case):
        return _case(node, indent)
    return _other(node, indent)


def _condition(node: If, indent: int) -> str:
    margin, out = " " * indent, ""
    for number, (test, body) in enumerate(node.clauses):
        inner = indent + _DEEP * number
        place = " " * inner
        out += f"{'if' if not number else f'else{chr(10)}{place}if'} {_list(test, inner)}; then\n{_body(body, inner)}\n"
        out += place if number < len(node.clauses) - 1 and number else margin if not number else place
    inner = indent + _DEEP * (len(node.clauses) - 1)
    if node.otherwise is not None:
        out += f"else\n{_body(node.otherwise, inner)}\n{' ' * inner}"
    out += "fi"
    for number in range(len(node.clauses) - 2, -1, -1):
        out += f";\n{' ' * (indent + _DEEP * number)}fi"
    return out


def _case(node: Case, indent: int) -> str:
    margin = " " * indent
    out = f"case {node.word} in \n"
    for patterns, body, end in node.clauses:
        shown = _list(body, indent + 2 * _DEEP) if body.items else ""
        place = margin + " " * _DEEP
        out += f"{place}{' | '.join(patterns)})\n{place}{' ' * _DEEP}{shown}\n{place}{end}\n"
    return f"{out}{margin}esac"


def _simple(node: Simple) -> str:
    words, redirects = [], []
    tokens = list(node.tokens)
    while tokens:
        token, operator = tokens.pop(0)
        if not operator:
            words.append(token)
        elif _COPIED.search(token) or not tokens:
            redirects.append(token)
        else:
            redirects.append(f"{token} {tokens.pop(0)[0]}")
    return " ".join([*words, *redirects])


def _redirected(text: str, indent: int) -> str:
    """A compound command with redirections behind it."""
    found = _TAIL.search(text)
    if found is None:
        return text
    try:
        tree = parse(text[: found.start()])
        rest = parse(f":{found[0]}").items[0].parts[0][1]
    except (Fault, Incomplete):
        return text
    return _list(tree, indent) + (_simple(rest)[1:] if isinstance(rest, Simple) else found[0])


def _other(node: Other, indent: int) -> str:
    if node.kind in ("loop", "if", "case") or (node.kind in ("(", "{") and node.text[-1] not in ")}"):
        return _redirected(node.text, indent)
    inner = node.text[1:-1].strip().rstrip(";").rstrip()
    if node.kind in ("(", "{") and node.text[-1] in ")}":
        try:
            shown = _list(parse(inner), indent)
        except (Fault, Incomplete):
            return node.text
        return f"( {shown} )" if node.kind == "(" else f"{{ {shown}{'' if shown.endswith('&') else ';'} }}"
    return node.text
