"""Comparing a predicted observation with the real one, without a judge (design section 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from worldline.domains.base import Comparison
from worldline.domains.rouge import rouge_l
from worldline.types import Observation, TextField, VolatileSpan, encode

__all__ = ["as_json", "compare", "is_error"]


def compare(predicted: Observation, truth: Observation) -> Comparison:
    """Compare a prediction with what the real environment answered.

    *Exact* means: stdout, stderr and exit status equal, bytes where the observation has them. Where the truth is
    one merged text, the texts are compared, and the status too if the truth has one. Stretches the truth marks as
    volatile need only match their pattern. Of a truncated truth, the field that was cut off is compared up to the cut.
    """
    exact = _exact(predicted, truth)
    return Comparison(
        exact=exact,
        error_agrees=_errors_agree(predicted, truth),
        rouge_l=1.0 if exact else rouge_l(predicted.text, truth.text),
        structured=exact or _same_data(predicted, truth),
    )


def _errors_agree(predicted: Observation, truth: Observation) -> bool | None:
    if truth.exit_code is None and truth.is_error is None:
        return None
    return is_error(predicted) == is_error(truth)


def is_error(observation: Observation) -> bool:
    """Whether the command failed: a status other than 0, or, where there is none, what the source said."""
    if observation.exit_code is not None:
        return observation.exit_code != 0
    return bool(observation.is_error)


def _exact(predicted: Observation, truth: Observation) -> bool:
    if truth.exit_code is not None and predicted.exit_code != truth.exit_code:
        return False
    if truth.merged:
        return _field_equal(predicted, truth, "text", prefix=truth.truncated)
    if predicted.merged:
        return False
    cut = _cut_field(truth)
    return all(_field_equal(predicted, truth, field, prefix=field == cut) for field in ("stdout", "stderr"))


def _cut_field(truth: Observation) -> TextField | None:
    """The stream a truncated recording was cut in: the longer one."""
    if not truth.truncated:
        return None
    return "stdout" if len(truth.stdout or "") >= len(truth.stderr or "") else "stderr"


def _field_equal(predicted: Observation, truth: Observation, field: TextField, *, prefix: bool) -> bool:
    spans = tuple(span for span in truth.volatile if span.field == field and span.end > span.start)
    if spans:
        return _matches(_text(predicted, field), _text(truth, field), spans, prefix=prefix)
    if not prefix and predicted.raw is None and truth.raw is None:
        return _text(predicted, field) == _text(truth, field)
    told, real = _bytes(predicted, field), _bytes(truth, field)
    return told.startswith(real) if prefix else told == real


def _text(observation: Observation, field: TextField) -> str:
    return cast("str | None", getattr(observation, field)) or ""


def _bytes(observation: Observation, field: TextField) -> bytes:
    raw = observation.raw or {}
    if field == "text" and field not in raw and not observation.merged:
        return _bytes(observation, "stdout") + _bytes(observation, "stderr")
    return encode(_text(observation, field), raw.get(field))


def _matches(text: str, truth: str, spans: Sequence[VolatileSpan], *, prefix: bool) -> bool:
    """Whether `text` is `truth` up to the volatile stretches, each of which must match its own pattern."""
    if text == truth:
        return True
    ordered = sorted(spans, key=lambda span: (span.start, span.end))
    # Only the part between the first and the last stretch needs the regular expression.
    head = truth[: ordered[0].start]
    if not text.startswith(head):
        return False
    last = max(span.end for span in ordered)
    tail = truth[last:]
    if not prefix:
        if len(text) < len(head) + len(tail) or not text.endswith(tail):
            return False
        text, tail = text[: len(text) - len(tail)], ""
    pieces, position = [], len(head)
    for span in ordered:
        if span.start < position:
            continue
        pieces += [re.escape(truth[position : span.start]), f"(?:{span.pattern})"]
        position = span.end
    pieces.append(re.escape(truth[position:last] + tail))
    pattern = _compiled("".join(pieces))
    middle = text[len(head) :]
    return (pattern.match(middle) if prefix else pattern.fullmatch(middle)) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _same_data(predicted: Observation, truth: Observation) -> bool:
    """Whether both outputs are the same JSON value, and everything else agrees too."""
    if truth.exit_code is not None and predicted.exit_code != truth.exit_code:
        return False
    if truth.merged:
        told, real = predicted.text, truth.text
    elif predicted.merged or predicted.stderr != truth.stderr:
        return False
    else:
        told, real = predicted.stdout or "", truth.stdout or ""
    value = as_json(real)
    return value is not None and value == as_json(told)


def as_json(text: str) -> Any:
    """Return the object or list that a text is; None where it is none."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
