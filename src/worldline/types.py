"""Frozen wire types: what worlds, trajectories and predictions are made of.

All of them are immutable, refuse unknown fields and carry a schema version where they stand at the top of a
file. Text is kept verbatim. Where bytes are not valid UTF-8, the text shows U+FFFD and `raw` holds the exact
bytes, so that every file we write is valid Unicode (see :func:`decode`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "SCHEMA_VERSION",
    "Action",
    "Demonstration",
    "Frozen",
    "JsonDict",
    "Observation",
    "Origin",
    "Prediction",
    "Source",
    "Span",
    "TextField",
    "ToolSpec",
    "Trajectory",
    "Turn",
    "Usage",
    "VolatileSpan",
    "WorldSpec",
    "canonical_json",
    "content_id",
    "cover",
    "decode",
    "drawn",
    "encode",
]

SCHEMA_VERSION = 1
"""Version of the wire types; a reader refuses any other."""

JsonDict = dict[str, Any]

TextField = Literal["text", "stdout", "stderr"]


class Frozen(BaseModel):
    """Base of all wire types: immutable, no unknown fields, no numbers that JSON cannot hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Origin(StrEnum):
    """Where a piece of an observation came from (design section 2)."""

    COMPUTED = "computed"
    RECALLED = "recalled"
    GENERATED = "generated"
    INJECTED = "injected"
    MIXED = "mixed"


class Source(StrEnum):
    """Whether a trajectory happened in reality or in a simulation; the two are never mixed silently."""

    OBSERVED = "observed"
    SIMULATED = "simulated"


def decode(data: bytes) -> tuple[str, str | None]:
    """Split bytes into valid text and, where that loses something, their base64.

    Args:
        data: What a program wrote.

    Returns:
        The text (invalid bytes shown as U+FFFD) and the base64 of `data`, or None where the text says it all.
    """
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), base64.b64encode(data).decode("ascii")


def encode(text: str, raw: str | None) -> bytes:
    """Undo :func:`decode`: the exact bytes behind a text and its `raw` entry."""
    return base64.b64decode(raw) if raw is not None else text.encode("utf-8")


def canonical_json(value: Any) -> str:
    """Serialise to JSON with sorted keys and no blanks, the form that content hashes are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def content_id(value: Any, length: int = 16) -> str:
    """Return the first `length` hex digits of the SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def drawn(key: str) -> float:
    """Uniform number in [0, 1) that depends on nothing but its key, so that forks, resumes and processes agree."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") / 2**64


class Action(Frozen):
    """What the agent did: a call of a tool, or free text for domains whose actions are text."""

    name: str = ""
    """Tool name; empty for a free-text action."""
    arguments: JsonDict = Field(default_factory=dict)
    text: str | None = None
    """The action itself where it is text (keystrokes, code, a sentence)."""
    call_id: str | None = None
    """Id that the trajectory's source gave to the call."""

    @property
    def command(self) -> str | None:
        """The shell command of a `{"command": ...}` call, or None."""
        command = self.arguments.get("command")
        return command if isinstance(command, str) else None

    def render(self) -> str:
        """One line of text for people, prompts and lexical look-up."""
        if self.text is not None:
            return self.text
        return self.command if self.command is not None else f"{self.name} {canonical_json(self.arguments)}"


class VolatileSpan(Frozen):
    """A stretch of an observation that differs between two recordings of the same turn (clock, pid, hash)."""

    field: TextField = "text"
    start: int = Field(ge=0)
    """First code point."""
    end: int = Field(ge=0)
    """One past the last code point."""
    pattern: str
    """Regular expression the stretch must match: its shape."""


class Observation(Frozen):
    """What the environment answered.

    `text` is the whole answer, verbatim. Where streams were recorded apart, `text` is stdout followed by
    stderr, and `stdout`, `stderr` and `exit_code` are set; where they came merged, only `text` is.
    """

    text: str = ""
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    is_error: bool | None = None
    """Whether the source called it an error; for a command, a status other than 0."""
    raw: dict[TextField, str] | None = None
    """Base64 of the exact bytes of each field whose text lost some."""
    volatile: tuple[VolatileSpan, ...] = ()
    truncated: bool = False
    """The recorder cut the output off at its limit."""
    data: Any = None
    """Parsed view of a structured answer."""

    @classmethod
    def from_streams(cls, stdout: bytes, stderr: bytes, exit_code: int, *, truncated: bool = False) -> Observation:
        """Build the observation of a command whose streams were kept apart."""
        out, out_raw = decode(stdout)
        err, err_raw = decode(stderr)
        raw: dict[TextField, str] = {}
        if out_raw is not None:
            raw["stdout"] = out_raw
        if err_raw is not None:
            raw["stderr"] = err_raw
        return cls(
            text=out + err,
            stdout=out,
            stderr=err,
            exit_code=exit_code,
            is_error=exit_code != 0,
            raw=raw or None,
            truncated=truncated,
        )

    @classmethod
    def from_text(cls, data: bytes | str, *, is_error: bool | None = None) -> Observation:
        """Build an observation that is one text, for instance both streams merged."""
        text, raw = decode(data) if isinstance(data, bytes) else (data, None)
        return cls(text=text, raw=None if raw is None else {"text": raw}, is_error=is_error)

    @property
    def merged(self) -> bool:
        """Whether the streams were not kept apart."""
        return self.stdout is None


class Turn(Frozen):
    """One action and what the environment answered; in GUI domains also the state shown before."""

    action: Action
    observation: Observation
    state_before: str | None = None
    """The screen or tree shown before the action (GUI domains)."""
    thought: str | None = None
    """What the agent said before acting; never shown to a world model."""
    train: Annotated[float, Field(ge=0)] = 1.0
    """Weight of the observation in a training loss."""
    reward: float | None = None
    done: bool | None = None
    timestamp: str | None = None
    """ISO 8601."""
    determined: bool | None = None
    """Session-determined: the answer follows from the world and the session's own turns (design
    section 8)."""
    extra: JsonDict = Field(default_factory=dict)
    """Fields of the source format that have no place of their own."""


class ToolSpec(Frozen):
    """A tool the agent may call; `parameters` is a JSON Schema object."""

    name: str
    description: str = ""
    parameters: JsonDict = Field(default_factory=lambda: {"type": "object", "properties": {}})


class Demonstration(Frozen):
    """Turns that show how the environment answers, given to a model before the session starts."""

    turns: tuple[Turn, ...]
    note: str = ""


class WorldSpec(Frozen):
    """One concrete environment (paper section 3: the context *c* of a trajectory)."""

    schema_version: Literal[1] = 1
    domain: str
    name: str = ""
    task: str = ""
    tools: tuple[ToolSpec, ...] = ()
    initial_state: JsonDict = Field(default_factory=dict)
    """What is declared at the start; its schema is the domain's."""
    hidden_state: str | JsonDict | None = None
    """What is true in the environment though the agent was not told."""
    demonstrations: tuple[Demonstration, ...] = ()
    control: JsonDict = Field(default_factory=dict)
    """Perturbation rules and the simulation instruction."""
    verifier: JsonDict | None = None
    """How to tell that the task's end state is reached."""
    extra: JsonDict = Field(default_factory=dict)


class Trajectory(Frozen):
    """A world and the turns that happened in it."""

    schema_version: Literal[1] = 1
    id: str = ""
    """Content hash of world and turns; filled in where left empty."""
    source: Source
    world: WorldSpec
    turns: tuple[Turn, ...]
    family: str = ""
    """Task family: the unit of splitting and of resampling."""
    origin: JsonDict = Field(default_factory=dict)
    """Where it comes from: format, file, recorder and program versions, licence."""
    extra: JsonDict = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fill_id(self) -> Trajectory:
        if not self.id:
            # Taken of the validated parts, so that defaults written out or left out make no difference.
            plain = {"world": _plain(self.world), "turns": [_plain(turn) for turn in self.turns]}
            object.__setattr__(self, "id", content_id(plain))
            self.__pydantic_fields_set__.add("id")
        return self


class Span(Frozen):
    """A piece of an observation's text and what stands behind it. Offsets count code points."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    origin: Origin
    confidence: float = Field(ge=0, le=1)
    evidence: str = ""
    """What it rests on: the kernel's steps, the recalled transition's id, the model's name, the rule."""


class Usage(Frozen):
    """What a model call cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    latency_s: float = 0.0
    cost_usd: float | None = None


class Prediction(Frozen):
    """What an engine says the environment answers; `spans` cover `observation.text` exactly once."""

    observation: Observation
    origin: Origin
    confidence: float = Field(ge=0, le=1)
    spans: tuple[Span, ...] = ()
    abstained: bool = False
    """No source reached the session's `min_confidence`; the observation is only a guess."""
    reasoning: str | None = None
    usage: Usage | None = None
    reward: float | None = None
    done: bool = False
    engine: str = ""
    dropped_turns: int = 0
    """History turns left out of a model's prompt for want of context."""
    extra: JsonDict = Field(default_factory=dict)

    @model_validator(mode="after")
    def _spans_cover(self) -> Prediction:
        cover(self.spans, len(self.observation.text))
        return self


def cover(spans: Sequence[Span], length: int) -> None:
    """Check that `spans` cover a text of `length` code points exactly once, in order.

    Raises:
        ValueError: There is a gap, an overlap or a span outside the text.
    """
    position = 0
    for span in spans:
        if span.start != position or span.end < span.start:
            raise ValueError(f"span {span.start}..{span.end} should start at {position}")
        position = span.end
    if spans and position != length:
        raise ValueError(f"spans end at {position}, the text at {length}")


def _plain(value: BaseModel) -> JsonDict:
    return value.model_dump(mode="json", exclude_defaults=True)
