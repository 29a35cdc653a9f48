"""`tr`: sets of bytes, as GNU reads them (it is not aware of characters beyond one byte)."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly, stdin

__all__ = ["COMMANDS"]

_UPPER, _LOWER, _DIGITS = string.ascii_uppercase.encode(), string.ascii_lowercase.encode(), string.digits.encode()
_CLASSES: dict[str, bytes] = {
    "alnum": _DIGITS + _UPPER + _LOWER,
    "alpha": _UPPER + _LOWER,
    "blank": b"\t ",
    "cntrl": bytes([*range(32), 127]),
    "digit": _DIGITS,
    "graph": bytes(range(33, 127)),
    "lower": _LOWER,
    "print": bytes(range(32, 127)),
    "punct": bytes(sorted(string.punctuation.encode())),
    "space": b"\t\n\v\f\r ",
    "upper": _UPPER,
    "xdigit": b"0123456789ABCDEFabcdef",
}
_ESCAPES = {"\\": 92, "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


@dataclass
class _Set:
    """A set as it was written: bytes, with classes for case and a repeat that fills up."""

    parts: list[tuple[str, bytes]]
    """`("", bytes)`, `("upper", ...)`, `("lower", ...)`, `("class", ...)`, or `("fill", byte)`."""

    def flat(self) -> bytes:
        return b"".join(data for kind, data in self.parts if kind != "fill")


def _parse(call: Call, text: str) -> _Set:
    tokens = _tokens(call, text.encode().decode("latin-1"))
    parts: list[tuple[str, bytes]] = []
    index = 0
    while index < len(tokens):
        rest = "".join("\0" if escaped else char for char, escaped in tokens[index:])
        if (found := re.match(r"\[:([a-z]*):\]", rest)) and found[1]:
            if found[1] not in _CLASSES:
                raise UsageError(f"invalid character class {curly(call, found[1])}", hint=False)
            parts.append((found[1] if found[1] in ("upper", "lower") else "class", _CLASSES[found[1]]))
            index += found.end()
        elif re.match(r"\[=.=\]", rest, re.S):
            parts.append(("class", tokens[index + 2][0].encode("latin-1")))
            index += 5
        elif found := re.match(r"\[(.)\*(\d*)\]", rest, re.S):
            byte = tokens[index + 1][0].encode("latin-1")
            count = int(found[2] or "0", 8 if found[2].startswith("0") else 10)
            parts.append(("fill", byte) if count == 0 else ("", byte * count))
            index += found.end()
        elif index + 2 < len(tokens) and tokens[index + 1] == ("-", False):
            low, high = tokens[index][0], tokens[index + 2][0]
            if low > high:
                shown = f"{_show(low)}-{_show(high)}"
                raise UsageError(f"range-endpoints of '{shown}' are in reverse collating sequence order", hint=False)
            parts.append(("", bytes(range(ord(low), ord(high) + 1))))
            index += 3
        else:
            parts.append(("", tokens[index][0].encode("latin-1")))
            index += 1
    return _Set(parts)


def _show(char: str) -> str:
    return char if " " <= char <= "~" else f"\\{ord(char):03o}"


def _tokens(call: Call, text: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    index = 0
    while index < len(text):
        if text[index] != "\\":
            found.append((text[index], False))
            index += 1
            continue
        if octal := re.match(r"[0-7]{1,3}", text[index + 1 :]):
            if int(octal[0], 8) > 255:
                call.unknown("an octal escape beyond one byte")
            found.append((chr(int(octal[0], 8)), True))
            index += 1 + octal.end()
        elif index + 1 == len(text):
            call.unknown("a backslash at the end")
        else:
            char = text[index + 1]
            found.append((chr(_ESCAPES.get(char, ord(char))), True))
            index += 2
    return found


@command()
def tr(call: Call) -> Result:
    """Translate, squeeze or delete characters."""
    options, operands = parse(
        call, "+cCdst", ("complement", "delete", "squeeze-repeats", "truncate-set1"), permute=False,
        same={"--complement": "-c", "--delete": "-d", "--squeeze-repeats": "-s", "--truncate-set1": "-t", "-C": "-c"},
    )  # fmt: skip
    flags = {name for name, _ in options}
    _operands(call, flags, operands)
    first = _parse(call, operands[0])
    second = _parse(call, operands[1]) if len(operands) > 1 else None
    if any(kind == "fill" for kind, _ in first.parts):
        raise UsageError("the [c*] repeat construct may not appear in string1", hint=False)
    chosen = first.flat()
    if "-c" in flags:
        chosen = bytes(byte for byte in range(256) if byte not in chosen)
    data = stdin(call)
    squeezed: bytes | None = None
    if "-d" in flags:
        data = data.translate(None, chosen)
        squeezed = second.flat() if second is not None and "-s" in flags else None
    elif second is not None:
        target = _target(call, first, second, chosen, flags)
        table = bytearray(range(256))
        for source, byte in zip(chosen, target, strict=False):
            table[source] = byte
        data = data.translate(bytes(table))
        squeezed = target if "-s" in flags else None
    else:
        squeezed = chosen
    if squeezed:
        pattern = b"([" + b"".join(re.escape(bytes([byte])) for byte in sorted(set(squeezed))) + rb"])\1+"
        data = re.sub(pattern, rb"\1", data, flags=re.S)
    out = Output(call)
    out.write(data)
    return out.result()


def _operands(call: Call, flags: set[str], operands: list[str]) -> None:
    delete, squeeze = "-d" in flags, "-s" in flags
    least = 2 if delete == squeeze else 1
    most = 1 if delete and not squeeze else 2
    if len(operands) < least:
        if not operands:
            raise UsageError("missing operand")
        why = (
            "Two strings must be given when both deleting and squeezing repeats."
            if squeeze
            else "Two strings must be given when translating."
        )
        raise UsageError(f"missing operand after {curly(call, operands[-1])}\n{why}")
    if len(operands) > most:
        why = (
            "\nOnly one string may be given when deleting without squeezing repeats."
            if most == 1 and len(operands) == 2
            else ""
        )
        raise UsageError(f"extra operand {curly(call, operands[most])}{why}")


def _target(call: Call, first: _Set, second: _Set, chosen: bytes, flags: set[str]) -> bytes:
    """Bring the second set to the first one's length."""
    if not second.parts and "-t" not in flags:
        raise UsageError("when not truncating set1, string2 must be non-empty", hint=False)
    if any(kind == "class" and len(data) > 1 for kind, data in second.parts):
        raise UsageError(
            "when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'",
            hint=False,
        )
    fills = sum(kind == "fill" for kind, _ in second.parts)
    if fills > 1:
        raise UsageError("only one [c*] repeat construct may appear in string2", hint=False)
    missing = max(0, len(chosen) - len(second.flat()))
    target = b"".join(data * missing if kind == "fill" else data for kind, data in second.parts)
    cased = {kind for kind, _ in second.parts} & {"upper", "lower"}
    if cased and "-c" not in flags:
        _same_case(call, first, second)
    if len(target) < len(chosen) and "-t" not in flags and target:
        if "-c" not in flags and second.parts[-1][0] in ("upper", "lower"):
            raise UsageError(
                "when translating with string1 longer than string2,\n"
                "the latter string must not end with a character class",
                hint=False,
            )
        target += target[-1:] * (len(chosen) - len(target))
    return target


def _same_case(call: Call, first: _Set, second: _Set) -> None:
    """Classes of case must stand at the same place in both sets; anything else is an error of its own wording."""
    places = [
        {sum(len(d) for _, d in part.parts[:i]) for i, (kind, _) in enumerate(part.parts) if kind in ("upper", "lower")}
        for part in (first, second)
    ]
    if not places[1] <= places[0]:
        raise UsageError("misaligned [:upper:] and/or [:lower:] construct", hint=False)


COMMANDS: dict[str, Builtin] = {"tr": tr}
