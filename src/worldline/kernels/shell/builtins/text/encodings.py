"""`base64 base32 basenc`: bytes as text and back."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly

__all__ = ["COMMANDS"]

_SCHEMES = ("base64", "base64url", "base32", "base32hex", "base16", "base2msbf", "base2lsbf", "z85")
_ALPHABETS = {
    "base64": b"A-Za-z0-9+/", "base64url": b"A-Za-z0-9_\\-", "base32": b"A-Z2-7", "base32hex": b"0-9A-V",
    "base16": b"0-9A-F",
}  # fmt: skip


_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@command()
def encode(call: Call) -> Result:
    """Encode or decode."""
    long = ("decode", "ignore-garbage", "wrap=", *(_SCHEMES if call.name == "basenc" else ()))
    options, names = parse(
        call, "diw:", long, same={"--decode": "-d", "--ignore-garbage": "-i", "--wrap": "-w"}
    )  # fmt: skip
    given = dict(options)
    scheme = call.name
    if scheme == "basenc":
        chosen = [name[2:] for name, _ in options if name.startswith("--")]
        if not chosen:
            raise UsageError("missing encoding type")
        scheme = chosen[-1]
    if scheme not in _ALPHABETS and "-d" in given:
        call.unknown(scheme)
    if len(names) > 1:
        raise UsageError(f"extra operand {curly(call, names[1])}")
    width = given.get("-w", "76")
    if not width.isdigit():
        raise UsageError(f"invalid wrap size: {curly(call, width)}", hint=False)
    out = Output(call)
    data = out.open(names[0] if names else "-", directory="read error")
    if data is None:
        return out.result()
    if "-d" in given:
        _decode(call, out, scheme, data, "-i" in given)
    else:
        _encode(out, scheme, data, int(width))
    return out.result()


def _bits(data: bytes, *, last_first: bool) -> bytes:
    """Each byte as eight digits."""
    return b"".join((f"{byte:08b}"[::-1] if last_first else f"{byte:08b}").encode() for byte in data)


def _z85(data: bytes) -> bytes:
    """Each four bytes as five characters of ZeroMQ's alphabet (RFC 32 of that project)."""
    text = bytearray()
    for at in range(0, len(data), 4):
        number = int.from_bytes(data[at : at + 4], "big")
        text += bytes(_Z85[number // 85**place % 85] for place in (4, 3, 2, 1, 0))
    return bytes(text)


def _library(scheme: str, data: bytes) -> bytes:
    return {
        "base64": base64.b64encode, "base64url": base64.urlsafe_b64encode, "base32": base64.b32encode,
        "base32hex": base64.b32hexencode, "base16": base64.b16encode,
    }[scheme](data)  # fmt: skip


def _encode(out: Output, scheme: str, data: bytes, width: int) -> None:
    if scheme == "z85" and len(data) % 4:
        out.fail("invalid input (length must be multiple of 4 characters)")
        return
    own: dict[str, Callable[[bytes], bytes]] = {
        "base2msbf": lambda raw: _bits(raw, last_first=False),
        "base2lsbf": lambda raw: _bits(raw, last_first=True),
        "z85": _z85,
    }
    text = own[scheme](data) if scheme in own else _library(scheme, data)
    if width == 0:
        out.write(text)
    else:
        for start in range(0, len(text), width):
            out.line(text[start : start + width])


def _decode(call: Call, out: Output, scheme: str, data: bytes, ignore: bool) -> None:
    alphabet = _ALPHABETS[scheme]
    data = re.sub(rb"[^" + alphabet + rb"=]", b"", data) if ignore else data.replace(b"\n", b"")
    group = {"base64": 4, "base64url": 4, "base32": 8, "base32hex": 8, "base16": 2}[scheme]
    valid = re.match(rb"[" + alphabet + rb"]*", data)
    body = data[: valid.end() if valid else 0]
    rest = data[len(body) :]
    whole = len(body) // group * group
    done = _plain(scheme, body[:whole])
    tail = body[whole:]
    if scheme.startswith("base64"):
        if not tail and not rest:
            out.write(done)
            return
        partial = _plain(scheme, tail + b"=" * (4 - len(tail))) if len(tail) > 1 else b""
        out.write(done + partial)
        if len(tail) + len(rest) == 4 and rest == b"=" * len(rest) and len(rest) <= 2:
            return
        if tail and not rest and len(tail) < 2:
            partial = b""
        if rest and rest.strip(b"=") and rest.startswith(b"="):
            call.unknown("data after padding")
        out.fail("invalid input")
        return
    try:
        out.write(done + (_plain(scheme, tail + rest) if tail or rest else b""))
    except (binascii.Error, ValueError):
        out.write(done)
        out.fail("invalid input")


def _plain(scheme: str, text: bytes) -> bytes:
    return {
        "base64": base64.b64decode, "base64url": base64.urlsafe_b64decode, "base32": base64.b32decode,
        "base32hex": base64.b32hexdecode, "base16": base64.b16decode,
    }[scheme](text)  # fmt: skip


COMMANDS: dict[str, Builtin] = {"base64": encode, "base32": encode, "basenc": encode}
