r"""Reading JSON text strictly, and keeping what Unicode text cannot hold: lone surrogates.

`"\ud800"` is valid JSON though no valid Unicode string. Its text becomes U+FFFD and the exact value is kept as
the base64 of its WTF-8 bytes (UTF-8 that also encodes surrogates), the same way as bytes that are not UTF-8
(:func:`worldline.types.decode`).
"""

from __future__ import annotations

import base64
import json
import math
import re
from typing import Any, NoReturn

__all__ = ["JsonTextError", "Scrubbed", "finite", "load_json", "raw_of", "scrub", "verbatim"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MAYBE_INFINITE = re.compile(r"\d[eE]\+?\d{3}|\d{300}")
"""In any text with a number beyond the largest float."""
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonTextError(ValueError):
    """Text is not JSON; `line` counts from 1 within the text."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


class Scrubbed(str):
    """Text whose lone surrogates were replaced by U+FFFD; `raw` is the base64 of the exact WTF-8 bytes."""

    raw: str

    @classmethod
    def of(cls, text: str) -> Scrubbed:
        """Scrub `text`, which holds lone surrogates."""
        clean = cls(_SURROGATE.sub("\ufffd", text))
        clean.raw = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
        return clean


def raw_of(text: str) -> str | None:
    """Return the `raw` entry that belongs beside `text`, or None where the text says it all."""
    return text.raw if isinstance(text, Scrubbed) else None


def verbatim(text: str, raw: str | None) -> str:
    """Undo :class:`Scrubbed` for JSON output: the string with its lone surrogates, where `raw` is WTF-8."""
    if raw is None:
        return text
    try:
        return base64.b64decode(raw, validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        return text


def scrub(value: Any) -> Any:
    """Replace every string with lone surrogates inside a JSON value by its :class:`Scrubbed` form."""
    if isinstance(value, str):
        return Scrubbed.of(value) if _SURROGATE.search(value) else value
    if isinstance(value, list):
        return [scrub(item) for item in value]
    if isinstance(value, dict):
        return {str(scrub(key)): scrub(item) for key, item in value.items()}
    return value


def finite(value: Any) -> Any:
    """Take the NaN and the infinities inside a JSON value for null: a lenient parser lets them through."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [finite(item) for item in value]
    return {key: finite(item) for key, item in value.items()} if isinstance(value, dict) else value


def _refuse_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is not JSON")


def _null(name: str) -> None:
    return None


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JsonTextError(f"the number {text[:20]} is too large")
    return value


def _decoded(text: str, start: int | None, decoder: json.JSONDecoder) -> tuple[Any, int]:
    return (decoder.decode(text), len(text)) if start is None else decoder.raw_decode(text, start)


def load_json(text: str, start: int | None = None, *, constants: bool = False) -> Any:
    """Parse JSON text strictly: no NaN or infinity, also none written as `1e999`; lone surrogates scrubbed.

    Args:
        text: The text.
        start: Where given, parse one value that begins there and return `(value, end)`; otherwise the whole
            text must be one value.
        constants: Take NaN and infinities for null, where a format writes them.

    Raises:
        JsonTextError: The text is not JSON, too deeply nested, or holds a number too long to read.
    """
    constant = _null if constants else _refuse_constant
    try:
        value, end = _decoded(text, start, json.JSONDecoder(parse_constant=constant))
        escaped = text if start is None else text[start:end]
        if _MAYBE_INFINITE.search(escaped):
            checked = json.JSONDecoder(parse_constant=constant, parse_float=_finite)
            value, end = _decoded(text, start, checked)
        if "\\u" in escaped and _SURROGATE_ESCAPE.search(escaped):
            value = scrub(value)
    except json.JSONDecodeError as exc:
        raise JsonTextError(_explain(text, exc), exc.lineno) from exc
    except RecursionError as exc:
        raise JsonTextError("nested too deeply to read") from exc
    except JsonTextError:
        raise
    except ValueError as exc:  # an integer beyond Python's digit limit
        raise JsonTextError(str(exc).split(";")[0]) from exc
    return value if start is None else (value, end)


def _explain(text: str, exc: json.JSONDecodeError) -> str:
    seen = text[exc.pos : exc.pos + 20]
    if "\0" in seen[:1] or (not seen and "\0" in text):
        return f"NUL bytes instead of JSON at column {exc.colno}: the file is damaged"
    if not seen.strip():
        return f"the JSON value breaks off at column {exc.colno}"
    return f"not JSON: {exc.msg} at column {exc.colno}, before {seen!r}"
