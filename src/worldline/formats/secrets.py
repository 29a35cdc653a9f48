"""Masking of secrets in trajectories: consistent inside one trajectory, in every field.

A secret is told by its shape (the published prefixes of access keys, a private key block, a JWT, a URL with
credentials, a bearer header) or by what stands before it (`password=`). Each becomes `<secret:1a2b>`, where the
digits come from a hash of the secret, so that the same secret is the same word wherever it stands and two secrets
stay apart. A value found once is masked wherever it occurs in the trajectory.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from worldline.types import JsonDict, Observation, TextField, Trajectory, VolatileSpan

__all__ = ["SecretMasker", "find_secrets"]


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re.Pattern[str]
    """Group `s` is the secret."""
    hints: tuple[str, ...]
    """One of these is in any text the pattern matches, in lower case: a fast look before the slow one."""
    reach: tuple[int, int] | None = None
    """How far before and behind a hint's start a match can lie; None: anywhere."""


def _rule(kind: str, pattern: str, *hints: str, reach: tuple[int, int] | None = None) -> _Rule:
    return _Rule(kind, re.compile(pattern), hints, reach)


_KEY_NAME = (
    r"(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret|auth[_-]?token|"
    r"access[_-]?(?:key|token)|refresh[_-]?token|private[_-]?key|api[_-]?key|token)"
)

_RULES = (
    _rule(
        "private_key",
        r"(?P<s>-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]|-(?!----))*(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?)",
        "private key",
    ),
    _rule(
        "aws_access_key",
        r"(?<![A-Za-z0-9])(?P<s>(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})(?![A-Za-z0-9])",
        "akia", "asia", "abia", "acca",
    ),
    _rule(
        "github_token",
        r"(?<!\w)(?P<s>gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})",
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    ),
    _rule(
        "gitlab_token",
        r"(?<!\w)(?P<s>gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w-]{20,64})",
        "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-",
    ),
    _rule("slack_token", r"(?<!\w)(?P<s>xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-[A-Za-z0-9-]{10,250})", "xox", "xapp"),
    _rule(
        "slack_webhook", r"(?P<s>https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_+-]{20,})", "hooks.slack"
    ),
    _rule("api_key", r"(?<![\w-])(?P<s>sk-(?:proj-|ant-|or-|svcacct-|admin-)?[\w-]{20,250})", "sk-"),
    _rule(
        "stripe_key",
        r"(?<!\w)(?P<s>[rs]k_(?:live|test)_[A-Za-z0-9]{16,247}|whsec_[\w+/=]{20,})",
        "k_live", "k_test", "whsec",
    ),
    _rule("google_key", r"(?<![\w-])(?P<s>AIza[\w-]{35}|ya29\.[\w-]{20,})(?![\w-])", "aiza", "ya29"),
    _rule("hugging_face_token", r"(?<!\w)(?P<s>hf_[A-Za-z0-9]{30,40})(?!\w)", "hf_"),
    _rule("registry_token", r"(?<!\w)(?P<s>npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,})", "npm_", "pypi-"),
    _rule("jwt", r"(?<![\w-])(?P<s>eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})", "eyj"),
    _rule("bearer_token", r"(?i:\bauthorization\s{0,3}:\s{0,3}(?:bearer|basic|token)\s+)(?P<s>[\w.~+/=-]{8,})", "auth"),
    _rule("bearer_token", r"(?i:\bbearer\s+)(?P<s>(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,})", "bearer"),
    _rule(
        "url_credentials",
        r"(?i:[a-z0-9+.-])://[^\s/:@'\"<>]{0,128}:(?P<s>[^\s/:@'\"<>$]{3,256})@",
        "://", reach=(1, 400),
    ),
    _rule(
        "assignment",
        rf"(?i:{_KEY_NAME})(?:\\?[\"'])?\s{{0,3}}(?:=|:|=>|:=)\s{{0,3}}\\?[\"'](?P<s>[^\s\"'\\$<>{{}}]{{6,256}})\\?[\"']",
        "pass", "secret", "token", "key", reach=(24, 360),
    ),
    _rule(
        "assignment",
        rf"(?i:{_KEY_NAME})\s{{0,3}}[=:]\s{{0,3}}(?P<s>[^\s\"'\\$<>{{}}()\[\];&|,`]{{6,256}})",
        "pass", "secret", "token", "key", reach=(24, 360),
    ),
)  # fmt: skip

_SENSITIVE_KEY = re.compile(rf"(?i:[\w.-]{{0,40}}{_KEY_NAME})\Z")
_EVERYWHERE = 8
"""Shortest value told only by what stands before it that is masked elsewhere too."""


def _plausible(kind: str, value: str) -> bool:
    """Leave out what is plainly no secret after `password=`: words, paths, masks, placeholders."""
    if kind != "assignment":
        return True
    if value.startswith(("/", "./", "~", "<", "http://", "https://")) or not re.search(r"[A-Za-z0-9]", value):
        return False
    if len(set(value)) < 4 or re.fullmatch(
        r"(?i)(?:none|null|true|false|undefined|example|your[-_].*|changeme)", value
    ):
        return False
    return bool(re.search(r"\d", value)) and (bool(re.search(r"[A-Za-z]", value)) or len(value) >= 12)


def find_secrets(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the kind, value, start and end of everything in `text` that looks like a secret."""
    lowered = text.lower()
    for rule in _RULES:
        if not any(hint in lowered for hint in rule.hints):
            continue
        # Lower-casing a few letters (İ) makes a text longer; its places then say nothing.
        near = rule.reach is not None and len(lowered) == len(text)
        for start, end in _windows(lowered, rule) if near else [(0, len(text))]:
            for match in rule.pattern.finditer(text, start, end):
                value = match.group("s")
                if _plausible(rule.kind, value):
                    yield rule.kind, value, match.start("s"), match.end("s")


def _windows(lowered: str, rule: _Rule) -> list[tuple[int, int]]:
    """Return the stretches around a rule's hints, those that overlap joined."""
    assert rule.reach is not None
    places: list[int] = []
    for hint in rule.hints:
        place = lowered.find(hint)
        while place >= 0:
            places.append(place)
            place = lowered.find(hint, place + 1)
    windows: list[tuple[int, int]] = []
    for place in sorted(places):
        start, end = max(0, place - rule.reach[0]), place + rule.reach[1]
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((start, end))
    return windows


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


class SecretMasker:
    """Masks secrets, one trajectory after the other.

    `counts` holds how many distinct secrets of each kind were found so far, `masked` in how many trajectories.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.masked = 0

    def mask(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory without its secrets, under a new id if there were any."""
        plain: JsonDict = trajectory.model_dump()
        found = _Found()
        found.collect(plain)
        if not found.kinds:
            return trajectory
        self.counts.update(found.kinds.values())
        self.masked += 1
        masked = found.mask(plain)
        masked["id"] = ""
        return Trajectory.model_validate(masked)


class _Found:
    """The secrets of one trajectory and their placeholders."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def collect(self, value: Any, key: str = "") -> None:
        """Look for secrets in every string inside `value`."""
        if isinstance(value, str):
            self._collect_text(value, key)
        elif isinstance(value, dict):
            observed = value.keys() == Observation.model_fields.keys()
            for name, item in value.items():
                if observed and name == "raw" and isinstance(item, dict):
                    self.collect([_latin(text) for text in item.values()])
                else:
                    self.collect(name)
                    self.collect(item, name)
        elif isinstance(value, list | tuple):
            for item in value:
                self.collect(item, key)

    def _collect_text(self, text: str, key: str) -> None:
        for kind, secret, _, _ in find_secrets(text):
            self._add(kind, secret)
        if key and _SENSITIVE_KEY.match(key) and 6 <= len(text) <= 256 and _plausible("assignment", text):
            self._add("assignment", text)

    def _add(self, kind: str, secret: str) -> None:
        if secret in self.kinds:
            return
        self.kinds[secret] = kind
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        length = 4
        while f"<secret:{digest[:length]}>" in self._words.values():
            length += 4
        self._words[secret] = f"<secret:{digest[:length]}>"
        self._pattern = None

    def _edits(self, text: str) -> list[_Edit]:
        """Return the replacements in `text`, in order and apart from each other."""
        if self._pattern is None:
            wide = [s for s, kind in self.kinds.items() if kind != "assignment" or len(s) >= _EVERYWHERE]
            ordered = sorted(wide, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, ordered)) or r"(?!)")
        places = [(match.start(), match.end(), match.group()) for match in self._pattern.finditer(text)]
        places += [(start, end, value) for _, value, start, end in find_secrets(text) if value in self._words]
        edits: list[_Edit] = []
        for start, end, value in sorted(places, key=lambda place: (place[0], -place[1])):
            if not edits or start >= edits[-1].end:
                edits.append(_Edit(start, end, self._words[value]))
        return edits

    def text(self, text: str) -> str:
        """Return `text` masked."""
        if text in self._words:
            return self._words[text]
        return _apply(text, self._edits(text))

    def mask(self, value: Any, key: str = "") -> Any:
        """Return a JSON value masked."""
        if isinstance(value, str):
            whole = bool(key) and value in self._words and _SENSITIVE_KEY.match(key)
            return self._words[value] if whole else _apply(value, self._edits(value))
        if isinstance(value, list | tuple):
            return [self.mask(item, key) for item in value]
        if isinstance(value, dict):
            if value.keys() == Observation.model_fields.keys():
                return self._observation(value)
            return {_apply(name, self._edits(name)): self.mask(item, name) for name, item in value.items()}
        return value

    def _observation(self, value: JsonDict) -> JsonDict:
        """Mask an observation's fields, move its volatile spans along and keep `text` the sum of the streams."""
        edits = {
            name: self._edits(value[name]) for name in ("text", "stdout", "stderr") if isinstance(value[name], str)
        }
        masked = {key: self.mask(item, key) for key, item in value.items() if key not in (*edits, "raw", "volatile")}
        masked |= {name: _apply(value[name], edits[name]) for name in edits}
        spans = [VolatileSpan.model_validate(span) for span in value["volatile"]]
        masked["volatile"] = [_moved(span, edits.get(span.field, [])).model_dump() for span in spans]
        masked["raw"] = self._raw(value["raw"])
        before = Observation.model_validate(value)
        if before.stdout is not None and before.text == before.stdout + (before.stderr or ""):
            masked["text"] = masked["stdout"] + (masked["stderr"] or "")
        return masked

    def _raw(self, raw: dict[TextField, str] | None) -> dict[TextField, str] | None:
        if raw is None:
            return None
        return {
            name: base64.b64encode(self.text(_latin(data)).encode("latin-1")).decode("ascii")
            for name, data in raw.items()
        }


def _latin(data: str) -> str:
    """Return base64 bytes as text of one character a byte, so that patterns see through damaged UTF-8."""
    try:
        return base64.b64decode(data).decode("latin-1")
    except ValueError:
        return ""


def _apply(text: str, edits: list[_Edit]) -> str:
    parts: list[str] = []
    position = 0
    for edit in edits:
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def _moved(span: VolatileSpan, edits: list[_Edit]) -> VolatileSpan:
    """Move a volatile span along with the edits before it; one that an edit touches covers the placeholder."""
    start = _new_offset(span.start, edits, ends=False)
    end = max(start, _new_offset(span.end, edits, ends=True))
    touched = any(edit.start < span.end and span.start < edit.end for edit in edits)
    return span.model_copy(update={"start": start, "end": end, **({"pattern": r"(?s:.*)"} if touched else {})})


def _new_offset(offset: int, edits: list[_Edit], *, ends: bool) -> int:
    shift = 0
    for edit in edits:
        if edit.end <= offset:
            shift += len(edit.text) - (edit.end - edit.start)
        elif edit.start < offset:
            return edit.start + shift + (len(edit.text) if ends else 0)
        else:
            break
    return offset + shift
