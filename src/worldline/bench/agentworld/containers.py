r"""Containers for text that a judge reads but must not obey: nothing inside can close one or pass for the outside.

A container is a head line, the content, and a foot line that repeats a label. The label is drawn until it occurs in no
content of the call, so that no content can write a foot or a head of it. Content stands as it is, unless a content of
the call holds what a screen or a chat template would act upon (control characters, marks of text
direction, special tokens such as `<|im_end|>`). Then all contents of the call are written as one JSON string a line,
with those characters escaped, so that texts that differ look different and equal ones equal.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from worldline.errors import FormatError

__all__ = ["Container", "boundary_label", "needs_encoding", "read_containers", "write_containers"]

_LABEL_DIGITS = 16

_ACTIVE = re.compile(
    # Controls but for tab and newline, line separators, lone surrogates; marks of direction, invisible and tag
    # characters.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SPECIAL = re.compile(
    # Each branch begins with its one character, which lets the search skip over everything else.
    r"<(?=[|｜]|(?i:/?(?:s|bos|eos|pad|unk|mask|start_of_turn|end_of_turn|think|tool_call|tool_response|image|audio)>)"
    r"|(?i:</?SYS>>))"
    r"|\[(?=(?i:/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|THINK)\]))"
    r"|>(?<=[|｜]>)"
)
_HEAD = re.compile(
    r"\[DATA ([0-9a-f]{16}) BEGIN: ([^\n\]]*); (\d+) characters; (as it is|one JSON string a line)(?:[^\n\]]*)\]"
)


@dataclass(frozen=True, slots=True)
class Container:
    """A named text."""

    name: str
    """What it is, in words; no `;`, `]` or newline."""
    text: str


def boundary_label(texts: Sequence[str], seed: str) -> str:
    """Draw a label of hex digits that occurs in none of the texts, in either case; the same for the same input."""
    joined = "\0".join(texts).casefold()
    number = 0
    while True:
        label = hashlib.sha256(f"{seed}:{number}".encode()).hexdigest()[:_LABEL_DIGITS]
        if label not in joined:
            return label
        number += 1


def needs_encoding(text: str) -> bool:
    """Whether a text holds what a screen or a chat template would act upon."""
    # What is printable holds nothing active, and is told much faster.
    printable = text.replace("\n", "").replace("\t", "").isprintable()
    return (not printable and _ACTIVE.search(text) is not None) or _SPECIAL.search(text) is not None


def write_containers(containers: Sequence[Container], seed: str) -> tuple[str, list[str]]:
    """Write the contents of one call.

    Args:
        containers: All of them: the label must occur in none.
        seed: What the label is drawn by.

    Returns:
        The label, and each container as text without a final newline.
    """
    label = boundary_label([container.text for container in containers], seed)
    encoded = any(needs_encoding(container.text) for container in containers)
    return label, [_written(container, label, encoded) for container in containers]


def _written(container: Container, label: str, encoded: bool) -> str:
    text = container.text
    ends = "empty" if not text else "ends with a newline" if text.endswith("\n") else "no newline at the end"
    form = "one JSON string a line" if encoded else "as it is"
    head = f"[DATA {label} BEGIN: {container.name}; {len(text)} characters; {form}; {ends}]"
    body = "\n".join(_json_line(line) for line in text.split("\n")) if encoded else text
    return f"{head}\n{body}\n[DATA {label} END: {container.name}]"


def _json_line(line: str) -> str:
    text = json.dumps(line, ensure_ascii=False)
    return _SPECIAL.sub(_escape, _ACTIVE.sub(_escape, text))


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if not found[0].isascii() else f"\\u{ord(found[0]):04x}"


def read_containers(message: str) -> dict[str, str]:
    """Read the containers of a message back: name to text, exactly.

    The first head names the label; only heads and feet with that label count.

    Raises:
        FormatError: There is none, one is not closed, or a name comes twice.
    """
    first = re.search(rf"^{_HEAD.pattern}$", message, re.MULTILINE)
    if first is None:
        raise FormatError("the message holds no container")
    label, found, position = first[1], dict[str, str](), first.start()
    while (start := message.find(f"[DATA {label} BEGIN: ", position)) >= 0:
        head = _HEAD.match(message, start)
        foot = message.find(f"\n[DATA {label} END: ", start)
        if head is None or foot < head.end() or head[2] in found:
            raise FormatError(f"a container {label} is not whole")
        body = message[head.end() + 1 : foot]
        if head[4] != "as it is":
            body = "\n".join(json.loads(line) for line in body.split("\n"))
        found[head[2]] = body
        position = foot + 1
    return found
