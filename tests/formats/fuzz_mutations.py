"""Ways to damage a file: by byte, by line, and by JSON value."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import re
from typing import Any

import zstandard

__all__ = ["mutate"]

_STRANGE_BYTES = [
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"\r\n", b"\n", b"\n\n", b"\\", b'"', b"{",
    b"}", b"[", b"]", b",", b":", b"\x1b[31m", b"\x85", b"\\ud800", b"\\udfff\\ud800", b"\\u0000", b"NaN", b"-Infinity",
    b"1e999", b"9" * 400 + b".5", b"9" * 5_000, b"1e-999", b"-0", b"null", b"[" * 3_000, b'{"a":' * 1_500,
    b"PK\x03\x04", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"BZh91AY&SY", b"</tool_call>", b"<tool_call>", b"$turn",
    b"\xc3\x28",
]  # fmt: skip
_SURROGATES = ["\ud800", "a\udfffb", "\udc00\ud800"]


def mutate(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Damage a file in one random way.

    Args:
        data: The file.
        other: Another file of the format, to take pieces from.
        rng: Where chance comes from.
    """
    if rng.random() < 0.55:
        changed = _in_json(data, other, rng)
        if changed is not None:
            return changed
    return rng.choice(_BLIND)(data, other, rng)


def _flip(data: bytes, other: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 40))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _truncate(data: bytes, other: bytes, rng: random.Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def _cut_out(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.choice((1, 2, 10, 100, 1_000)) :]


def _insert(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + rng.choice(_STRANGE_BYTES) + data[start + rng.choice((0, 0, 1, 5)) :]


def _splice(data: bytes, other: bytes, rng: random.Random) -> bytes:
    start, end = sorted((rng.randint(0, len(other)), rng.randint(0, len(other))))
    place = rng.randint(0, len(data))
    return data[:place] + other[start:end][:20_000] + data[place:]


def _lines(data: bytes, other: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    way = rng.randrange(6)
    place = rng.randrange(len(lines))
    if way == 0:
        lines.insert(rng.randrange(len(lines) + 1), lines[place])
    elif way == 1:
        del lines[place]
    elif way == 2:
        rng.shuffle(lines)
    elif way == 3:
        foreign = other.split(b"\n")
        lines.insert(place, rng.choice(foreign))
    elif way == 4:
        lines[place] = lines[place][: rng.randint(0, len(lines[place]))]
    else:
        lines = lines[:place] + lines * 2
    return b"\n".join(lines)


def _encode(data: bytes, other: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    way = rng.randrange(6)
    if way == 0:
        return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-32", "utf-7")), "replace")
    if way == 1:
        return re.sub("[^\0-\xff]", "é", text).encode("latin-1")
    if way == 2:
        return b"\xef\xbb\xbf" + data
    if way == 3:
        return data.replace(b"\n", b"\r\n")
    if way == 4:
        return data.replace(b" ", "\u2028".encode())
    place = rng.randint(0, len(text))
    return text[:place].encode() + text[place:].encode("latin-1", "replace") + "é".encode("latin-1")


def _pack(data: bytes, other: bytes, rng: random.Random) -> bytes:
    packed = rng.choice((gzip.compress, bz2.compress, zstandard.compress))(data)
    return packed if rng.random() < 0.5 else rng.choice((_flip, _truncate, _splice))(packed, packed, rng)


def _repeat_key(data: bytes, other: bytes, rng: random.Random) -> bytes:
    keys = re.findall(rb'"[A-Za-z_$.]{1,40}"\s*:', data)[:5_000]
    braces = [match.end() for match in re.finditer(rb"\{", data)][:5_000]
    if not keys or not braces:
        return _flip(data, other, rng)
    place = rng.choice(braces)
    value = json.dumps(_strange(rng)).encode()
    return data[:place] + rng.choice(keys) + value + b"," + data[place:]


_BLIND = (
    *(_flip, _flip, _truncate, _truncate, _cut_out, _insert, _insert, _splice),
    *(_lines, _lines, _encode, _pack, _repeat_key),
)


def _in_json(data: bytes, other: bytes, rng: random.Random) -> bytes | None:
    """Change a value of the document, or of one of its lines; None where there is no JSON to change."""
    lines = data.split(b"\n")
    numbers = [None] if rng.random() < 0.4 else [rng.randrange(len(lines)) for _ in range(3)]
    for number in [*numbers, None]:
        part = data if number is None else lines[number]
        if len(part) > 200_000:
            continue
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict | list) or not value:
            continue
        try:
            for _ in range(rng.choice((1, 1, 2, 4))):
                _change(value, rng)
            text = _dumped(value, rng)
        except RecursionError:
            text = b"[" * 400 + b"]" * 400
        if number is None:
            return text
        lines[number] = text
        return b"\n".join(lines)
    return None


def _dumped(value: Any, rng: random.Random) -> bytes:
    plain = rng.random() < 0.5
    try:
        return json.dumps(value, ensure_ascii=plain).encode(
            "utf-8", "surrogatepass" if rng.random() < 0.3 else "strict"
        )
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _places(value: Any, rng: random.Random) -> list[tuple[Any, Any]]:
    """Return all places inside a JSON value as (holder, key), up to some number."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack and len(found) < 1_000:
        holder = stack.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                stack.append(holder[key])
    return found


def _change(value: Any, rng: random.Random) -> None:
    places = _places(value, rng)
    if not places:
        return
    holder, key = rng.choice(places)
    way = rng.randrange(12)
    if way <= 3:
        holder[key] = _strange(rng)
    elif way == 4:
        del holder[key]
    elif way == 5 and isinstance(holder, dict):
        holder[rng.choice([str(other[1]) for other in places[:200]] + ["", "\0", "$turn", "id"])] = holder.pop(key)
    elif way == 6:
        giver, name = rng.choice(places)
        copied = json.loads(json.dumps(giver[name])) if isinstance(giver, dict) or name < len(giver) else None
        if len(json.dumps(copied)) < 20_000:
            holder[key] = copied
    elif way == 7 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
        rng.shuffle(holder)
    elif way == 8:
        _same_ids(places, rng)
    elif way == 9:
        for _ in range(rng.choice((1, 3, 60, 300, 700))):
            holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
    elif way == 10 and isinstance(holder[key], str):
        holder[key] = _strange_text(holder[key], rng)
    else:
        holder[key] = json.dumps(holder[key]) if not isinstance(holder[key], str) else {"text": holder[key]}


def _same_ids(places: list[tuple[Any, Any]], rng: random.Random) -> None:
    """Make ids equal, or links between records point at themselves or each other."""
    named = [
        (holder, key) for holder, key in places if isinstance(key, str) and re.search(r"(?i)id$|parent|cause", key)
    ]
    named = [(holder, key) for holder, key in named if isinstance(holder.get(key), str | int)]
    if not named:
        return
    values = [holder[key] for holder, key in named]
    one = rng.choice(values)
    for holder, key in rng.sample(named, rng.randint(1, len(named))):
        holder[key] = one if rng.random() < 0.7 else rng.choice(values)


def _strange_text(text: str, rng: random.Random) -> str:
    way = rng.randrange(6)
    if way == 0:
        return text[: rng.randint(0, len(text))]
    if way == 1:
        return text * rng.choice((2, 50))
    place = rng.randint(0, len(text))
    extra = rng.choice(
        (*_SURROGATES, "\0", "\u2028", "\x1b[2J", "\ufeff", "}", '"', "\\", "\U0001f600", "</think>", "<tool_call>")
    )
    return text[:place] + extra + text[place:]


def _strange(rng: random.Random) -> Any:
    return rng.choice(
        [
            None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, -(10**30), 0.0, -0.0, 1e308, 5e-324,
            float("nan"), float("inf"), "", " ", "\0", "0", "x", "1e999", "null", "[]", "{}", "\u2028", *_SURROGATES,
            "2026-99-99T99:99", [], {}, [[]], [None], [{}], {"": None}, {"a": {"b": []}}, ["a", 1, None],
            [[1, 2], [3]], "a" * 5_000, {"type": "text", "text": "t"}, [{"type": "text", "text": 5}], {"role": "tool"},
            [0, "o", "x"], {"id": 1, "name": 2},
        ]
    )  # fmt: skip
