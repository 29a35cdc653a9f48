"""Asking a model for the observation of a row: messages, context budget, and the record of what came back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from worldline.bench.agentworld.records import EvalRow, Generation
from worldline.errors import EmptyAnswerError, ModelError, TruncatedError
from worldline.formats.agentworld_text import INSTRUCTION
from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling
from worldline.models.context import turns_to_drop
from worldline.models.endpoint import merge_sampling
from worldline.models.tokens import MESSAGE_TOKENS, EstimateCounter, TokenCounter
from worldline.types import JsonDict, content_id

__all__ = ["DEFAULT_SAMPLING", "Generator", "Request", "error_record", "lay_out", "sampling_record"]

DEFAULT_SAMPLING = Sampling(temperature=0.6, max_tokens=32_768)
"""Settings of the benchmark's own code, where neither the call nor the model's settings say otherwise."""

_LAYOUT = 1
"""Raise it with every change of how rows become messages."""
_TAG = "<predicted_observation>"


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent for a row."""

    messages: list[Message]
    tokens: int
    """Of the messages, as counted."""
    dropped_turns: int = 0


def lay_out(row: EvalRow, *, context: int | None = None, reserve: int = 0, counter: TokenCounter) -> Request:
    """Turn a row into a conversation: its own system prompt, the true history as chat turns, the last prompt.

    The texts are verbatim. Where neither the system prompt nor what follows the action asks for the answer's tag (a
    bare template), our instruction is added to the last prompt. Where the context is too short, the oldest turns go,
    in jumps (see :func:`turns_to_drop`); the last prompt and the system prompt always stay.

    Args:
        row: The row.
        context: Tokens that the model can take, prompt and answer together; None for any number.
        reserve: Tokens of them to keep for the answer.
        counter: Counts tokens.
    """
    last = _asking(row)
    turns = list(zip(row.prompts[:-1], row.responses, strict=True))
    fixed = sum(counter.count(text) + MESSAGE_TOKENS for text in (row.system, last) if text)
    sizes = [counter.count(prompt) + counter.count(answer) + 2 * MESSAGE_TOKENS for prompt, answer in turns]
    dropped = 0 if context is None else turns_to_drop(sizes, fixed=fixed + reserve, budget=context)
    messages: list[Message] = [{"role": "system", "content": row.system}] if row.system else []
    for prompt, answer in turns[dropped:]:
        messages += [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    messages.append({"role": "user", "content": last})
    return Request(messages, fixed + sum(sizes[dropped:]), dropped)


def _asking(row: EvalRow) -> str:
    last = row.prompts[-1]
    suffix = last[len(row.action) :] if last.startswith(row.action) else last
    return last if _TAG in suffix or _TAG in row.system else last + INSTRUCTION


@dataclass(frozen=True)
class Generator:
    """A model, and how it is asked.

    Args:
        model: The model.
        sampling: Goes before the model's own settings, which go before :data:`DEFAULT_SAMPLING`.
        context: Tokens the model can take; None where neither it nor the caller knows.
        counter: Counts tokens.
    """

    model: ChatModel
    sampling: Sampling | None = None
    context: int | None = None
    counter: TokenCounter = field(default_factory=EstimateCounter)
    settings: JsonDict = field(init=False)
    """What every answer depends on beside the row."""
    _wanted: Sampling = field(init=False)

    def __post_init__(self) -> None:
        effective = getattr(self.model, "effective_sampling", None)
        own = effective(None) if effective is not None else None
        wanted = merge_sampling(merge_sampling(DEFAULT_SAMPLING, own), self.sampling)
        context = self.context or getattr(self.model, "context_length", None)
        laid_out = {"layout": _LAYOUT, "instruction": INSTRUCTION, "context": context, "tokenizer": self.counter.name}
        settings = {
            "model": self.model.name,
            "prompt_version": content_id(laid_out),
            "sampling": sampling_record(wanted),
            "seed": wanted.seed,
            "context": context,
            "tokenizer": self.counter.name,
        }
        object.__setattr__(self, "_wanted", wanted)
        object.__setattr__(self, "context", context)
        object.__setattr__(self, "settings", settings)

    @property
    def max_tokens(self) -> int:
        """Longest answer, where the context has room for it."""
        return self._wanted.max_tokens or 0

    def key(self, row: str) -> str:
        """Key of the generation for a row's key."""
        names = ("model", "prompt_version", "sampling", "seed")
        return content_id({"row": row, **{name: self.settings[name] for name in names}}, length=32)

    def request(self, row: EvalRow) -> Request:
        """The conversation that is sent for a row; at most half of the context is kept for the answer."""
        reserve = 0 if self.context is None else min(self.max_tokens, self.context // 2)
        return lay_out(row, context=self.context, reserve=reserve, counter=self.counter)

    async def generate(self, row: EvalRow, request: Request | None = None) -> Generation:
        """Ask for a row; a failure of the model is a record too.

        Args:
            row: The row.
            request: What to send, where it is laid out already.

        Raises:
            ConfigError: The model's settings are wrong.
        """
        request = request or self.request(row)
        sampling = self._fitting(request)
        common: JsonDict = {
            "key": self.key(row.key),
            "row": row.key,
            "prompt_version": self.settings["prompt_version"],
            "sampling": sampling_record(sampling),
            "seed": sampling.seed,
            "dropped_turns": request.dropped_turns,
        }
        try:
            answer = await self.model.complete(request.messages, sampling)
        except ModelError as error:
            return Generation(model=self.model.name, **common, **error_record(error))
        return Generation(**common, **_answer_record(answer))

    def _fitting(self, request: Request) -> Sampling:
        """Some servers refuse a longer answer than the context has room for."""
        wanted = self._wanted
        if self.context is None or wanted.max_tokens is None:
            return wanted
        room = self.context - request.tokens
        return replace(wanted, max_tokens=min(wanted.max_tokens, room)) if room > 0 else wanted


def _answer_record(answer: ModelAnswer) -> JsonDict:
    return {
        "model": answer.model,
        "outcome": "truncated" if answer.finish_reason == "length" else "ok",
        "content": answer.as_sent,
        # What was split off stands in the content already.
        "reasoning": answer.reasoning if answer.as_sent == answer.content else None,
        "finish_reason": answer.finish_reason,
        "usage": answer.usage,
        "tries": answer.tries,
    }


def error_record(error: ModelError) -> JsonDict:
    """Say what a record of a call holds where the model gave no usable answer.

    Returns:
        Fields `outcome`, `error`, `tries`, and what came nevertheless.
    """
    record: JsonDict = {"error": error.as_record(), "tries": error.tries}
    if not isinstance(error, TruncatedError | EmptyAnswerError):
        return {**record, "outcome": "error"}
    return {
        **record,
        "outcome": "truncated" if isinstance(error, TruncatedError) else "empty",
        "content": error.raw,
        "reasoning": None if error.raw.strip() else error.reasoning or None,
        "finish_reason": error.finish_reason,
        "usage": error.usage,
    }


def sampling_record(sampling: Sampling) -> JsonDict:
    """The settings that are set, but for the seed, which records hold apart."""
    return {name: value for name, value in asdict(sampling).items() if name != "seed" and value not in (None, (), {})}
