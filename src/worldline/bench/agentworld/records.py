"""What an evaluation run writes down: rows, generations and judgements, each under the hash of what it depends on.

A run's folder holds `run.json` (what was asked for), `generations.jsonl` and `judgements.jsonl`, both append-only, and
what was made of them: `summary.json` and `report.html`. Scores are never stored: every protocol computes them from the
same records.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from worldline.types import Frozen, JsonDict, Usage

__all__ = ["DIMENSIONS", "DOMAINS", "EvalRow", "Generation", "JudgeMode", "Judgement", "Outcome"]

DIMENSIONS = ("format", "factuality", "consistency", "realism", "quality")
"""The five dimensions, each an integer 1..5 (paper section 4.2)."""

DOMAINS = ("mcp", "search", "terminal", "swe", "android", "web", "os")

JudgeMode = Literal["rubric", "turing", "pairwise"]
"""`rubric`: five scores against the truth; `turing`: which of two is real; `pairwise`: which is nearer to the truth."""

Outcome = Literal["ok", "truncated", "empty", "error"]
"""How a call ended: an answer; one cut off at the token limit; none; a failure of the endpoint after all tries."""


class EvalRow(Frozen):
    """One evaluated turn with its history, ready to be asked and judged."""

    key: str
    """Content hash of everything below."""
    domain: str
    id: str
    """The trajectory's id in the data."""
    trajectory: str
    """Unit of resampling: the trajectory's own key, which also tells apart trajectories that share an id."""
    turn: Annotated[int, Field(ge=1)]
    total_turns: int | None = None
    system: str
    prompts: tuple[str, ...]
    """User turns 1..turn as the data has them; the last one with its instruction suffix."""
    responses: tuple[str, ...]
    """Assistant turns 1..turn-1, verbatim."""
    action: str
    """The evaluated turn's prompt without the suffix: what a judge is shown as the current action."""
    truth: str
    """The true answer, verbatim, with its heading if it has one."""


class _Call(Frozen):
    """What every record of a model call holds."""

    model: str
    """Name as the endpoint reports it."""
    prompt_version: str = ""
    """Hash of the templates that laid the prompt out."""
    sampling: JsonDict = Field(default_factory=dict)
    seed: int | None = None
    outcome: Outcome
    content: str = ""
    """The answer as the endpoint gave it, reasoning that stands in it included."""
    reasoning: str | None = None
    """Reasoning that the endpoint gave in a field of its own."""
    finish_reason: str = ""
    error: JsonDict | None = None
    """What failed, where `outcome` is `error`."""
    usage: Usage | None = None
    """Tokens, latency in seconds, price in US dollars."""
    dropped_turns: int = 0
    """History turns left out for want of context."""
    tries: int = 1


class Generation(_Call):
    """A model's prediction of one row."""

    key: str
    """Content hash of row, model, prompt version, sampling and seed: what is asked only once."""
    row: str
    """Key of the row."""


class Judgement(_Call):
    """A judge's answer about one generation, one try of it."""

    key: str
    """Content hash of generation, judge, mode, prompt version, sampling, seed and repeat."""
    generation: str
    """Key of the generation."""
    row: str
    mode: JudgeMode = "rubric"
    repeat: int = 0
    """0-based number among several judgements of the same generation."""
    scores: dict[str, int] | None = None
    """The five dimensions, all of them 1..5, read strictly; None: a judge failure."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    verdict: str | None = None
    """`turing` and `pairwise`: which candidate was chosen, in terms of what it is (`prediction`, `truth`, `other`)."""
    other: str | None = None
    """`pairwise`: key of the generation of another run that this one was compared with; None: with the truth."""
    other_model: str | None = None
    """Who wrote that one."""
