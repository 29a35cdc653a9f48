"""`json_pp`: JSON made readable, as Perl's JSON::PP does it."""

from __future__ import annotations

import json
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result

__all__ = ["COMMANDS"]

_DECODER = json.JSONDecoder()
_KNOWN = frozenset(("pretty", "canonical", "utf8", "indent", "space_before", "space_after", "ascii", "allow_nonref"))


def _json_pp(call: Call) -> Result:
    words, wanted = list(call.argv), {"pretty"}
    while words:
        word = words.pop(0)
        if word in ("-json_opt", "--json_opt") and words:
            wanted = set(words.pop(0).split(","))
        elif word in ("-f", "-t") and words and words[0] == "json":
            words.pop(0)
        else:
            call.unknown(f"the option {word}")
    if not wanted <= _KNOWN or call.stdin is None:
        call.unknown("rarer options")
    pretty = "pretty" in wanted
    text = call.stdin
    fault = _fault(text)
    if fault is not None:
        return Result(stderr=f"{fault} at /usr/bin/json_pp line 59.\n", status=255)
    try:
        value = json.loads(text, parse_float=lambda number: _Number(_float(call, number)), parse_int=_Number)
    except ValueError:
        call.unknown("how a fault in the text is described")
    if not isinstance(value, list | dict):
        call.unknown("a lone value")
    if not pretty and not wanted & {"canonical"} and _has_members(value):
        call.unknown("the order of a hash")
    if not pretty and wanted & {"indent", "space_before", "space_after"}:
        call.unknown("parts of the style")
    shown = _write(value, 0, pretty=pretty, ascii_only="ascii" in wanted)
    return Result(shown + ("\n" if pretty else ""))


class _Number(str):
    """A number as it is written out."""

    __slots__ = ()


def _float(call: Call, text: str) -> str:
    value = float(text)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    shown = f"{value:.15g}"
    if "e" in shown or float(shown) != value:
        call.unknown(f"how {text} is written")
    return shown


def _fault(text: str) -> str | None:
    """What JSON::PP says of the two commonest faults: an empty text, and an object that does not end."""
    if not text.strip():
        near = "malformed JSON string, neither array, object, number, string or atom"
        return f'{near}, at character offset {len(text)} (before "(end of string)")'
    stripped = text.strip()
    try:
        _DECODER.raw_decode(stripped)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(stripped) and (stripped.endswith(":") or error.msg.startswith("Expecting ','"))
        if cut and _open(stripped) == "{":
            kind = ", or } expected while parsing object/hash"
            return f'{kind}, at character offset {len(text)} (before "(end of string)")'
    return None


def _open(text: str) -> str:
    """The innermost bracket that is not closed."""
    stack: list[str] = []
    for letter in re.sub(r'"(?:\\.|[^"\\])*"', "", text):
        if letter in "{[":
            stack.append(letter)
        elif letter in "}]" and stack:
            stack.pop()
    return stack[-1] if stack else ""


def _has_members(value: object) -> bool:
    if isinstance(value, dict):
        return len(value) > 1 or any(map(_has_members, value.values()))
    return isinstance(value, list) and any(map(_has_members, value))


def _write(value: object, depth: int, *, pretty: bool, ascii_only: bool) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=ascii_only)
        return text.replace("\x7f", "\\u007f")
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    assert isinstance(value, list | dict)
    pad, end = ("\n" + "   " * (depth + 1), "\n" + "   " * depth) if pretty else ("", "")
    colon = " : " if pretty else ":"
    if isinstance(value, dict):
        items = [
            f"{json.dumps(name, ensure_ascii=ascii_only)}{colon}"
            + _write(value[name], depth + 1, pretty=pretty, ascii_only=ascii_only)
            for name in sorted(value)
        ]
        opening, closing = "{", "}"
    else:
        items = [_write(item, depth + 1, pretty=pretty, ascii_only=ascii_only) for item in value]
        opening, closing = "[", "]"
    if not items:
        return opening + closing
    return opening + ",".join(pad + item for item in items) + end + closing


COMMANDS: dict[str, Builtin] = {"json_pp": _json_pp}
