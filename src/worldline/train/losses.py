r"""Losses on tokens: weighted next-token loss, and the auxiliary loss on observations while an agent is trained.

Everything is written for arrays of either NumPy or PyTorch, which is told by the argument; neither is imported before
it is needed. Shapes: B rows, T tokens, V words of the vocabulary. Position t of the logits predicts token t + 1.

Weighted next-token loss (CPT, SFT), with the weight of the message that a token belongs to::

    L = sum_t w_t * CE_t / sum_t w_t

over all tokens of the batch, so that long rows count more, as in plain pre-training; 0 where all weights are 0.

Observation loss for agents: beside the policy loss, the agent also predicts what the environment answers to its own
actions, from the same forward pass::

    L = L_policy(actions) + coefficient * mean_{t in observations} l_t

`cross_entropy`: l_t = -log p_t, the mean over the observation tokens of the batch (ECHO, arXiv 2605.24517, coefficient
0.05; its warnings of the harness are no observations, so give those weight 0). `clipped_mae`: l_t = 1 - max(p_t, clip),
after the noise-tolerant loss that PaW (arXiv 2606.02388) names clipped MAE: its gradient is bounded by p_t, so that
tokens which nothing can foretell (clocks, hashes) do not govern it. Two further parts of PaW are offered as we read
them, since no code of it is public: *selection* keeps the turns whose action had the highest entropy (the agent was
unsure what to do, so there is most to learn of what came of it), and *reward-adaptive* balance scales the coefficient
by one minus the batch's mean success, so that the auxiliary loss fades as the policy succeeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from worldline.errors import ConfigError, require_extra
from worldline.types import Frozen

__all__ = [
    "ObservationLoss",
    "ObservationTerm",
    "Piece",
    "observation_weights",
    "token_log_probabilities",
    "token_weights",
    "weighted_token_loss",
]

Role = Literal["system", "user", "assistant", "tool", "action", "observation"]
_OBSERVING = frozenset({"user", "tool", "observation"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of tokens that belong to one message."""

    role: Role
    tokens: int
    """How many."""
    weight: float = 1.0


def token_weights(pieces: Sequence[Piece], length: int | None = None) -> list[float]:
    """Spread messages' weights over their tokens (CPT, SFT).

    Args:
        pieces: Messages, and what the chat template writes between them with weight 0, in order.
        length: Tokens of the row; longer pieces are cut off at the end, shorter ones filled up with 0.

    Returns:
        One weight for each token.
    """
    weights = [piece.weight for piece in pieces for _ in range(piece.tokens)]
    return weights if length is None else (weights + [0.0] * length)[:length]


def observation_weights(
    pieces: Sequence[Piece], length: int | None = None, *, after_action: bool = True
) -> list[float]:
    """Weights of the tokens that an environment wrote, 0 for all others (observation loss).

    Args:
        pieces: Messages of an agent's rollout, in order. What `tool`, `user` and `observation` say is observed.
        length: As in :func:`token_weights`.
        after_action: Only what follows an action of the agent: the task at the beginning is no observation.
    """
    acted, kept = False, []
    for piece in pieces:
        observed = piece.role in _OBSERVING and (acted or not after_action)
        acted = acted or piece.role in ("assistant", "action")
        kept.append(Piece(piece.role, piece.tokens, piece.weight if observed else 0.0))
    return token_weights(kept, length)


def token_log_probabilities(logits: Any, tokens: Any) -> Any:
    """Log-probability of each token but the first, given those before it.

    Args:
        logits: (B, T, V).
        tokens: (B, T), whole numbers.

    Returns:
        (B, T - 1), of the type of the logits; never below single precision.
    """
    if _is_torch(logits):
        torch: Any = require_extra("torch", "train")
        told, wanted = logits[:, :-1].float(), tokens[:, 1:]
        chosen = torch.gather(told, 2, wanted.unsqueeze(2)).squeeze(2)
        # less memory than a log-softmax of everything
        return chosen - torch.logsumexp(told, 2)
    numpy: Any = require_extra("numpy", "bench")
    told = numpy.asarray(logits, dtype=numpy.float64)[:, :-1]
    highest = told.max(axis=2, keepdims=True)
    total = numpy.log(numpy.exp(told - highest).sum(axis=2)) + highest[..., 0]
    wanted = numpy.asarray(tokens)[:, 1:, None]
    return numpy.take_along_axis(told, wanted, axis=2)[..., 0] - total


def weighted_token_loss(log_probabilities: Any, weights: Any, *, total: float | None = None) -> Any:
    """Weighted mean of the tokens' cross-entropy, in nats.

    Args:
        log_probabilities: (B, T - 1), of :func:`token_log_probabilities`.
        weights: (B, T), at least 0; the first token of a row is predicted from nothing and never counts.
        total: What to divide by in place of the batch's weights: their sum over all batches that are accumulated into
            one step, without which short batches count too much.

    Returns:
        A scalar; 0 where nothing counts.
    """
    counted = weights[:, 1:]
    return _mean(-log_probabilities, counted, total)


def _mean(values: Any, weights: Any, total: float | None = None) -> Any:
    # where nothing counts, a value that is not finite must not come through: 0 times infinity is no number
    chosen = _where(weights > 0, values, 0.0)
    summed = (chosen * weights).sum()
    by = weights.sum() if total is None else total
    return summed / by if float(by) > 0 else summed * 0.0


class ObservationLoss(Frozen):
    """Settings of the auxiliary loss on what the environment answered."""

    coefficient: Annotated[float, Field(ge=0)] = 0.05
    kind: Literal["cross_entropy", "clipped_mae"] = "cross_entropy"
    clip: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """`clipped_mae`: tokens less probable than this have no gradient."""
    keep: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the turns, those of the highest action entropy, that are learned from."""
    reward_adaptive: bool = False
    """Whether the coefficient fades with the batch's mean success."""

    def term(
        self,
        log_probabilities: Any,
        weights: Any,
        *,
        turns: Any = None,
        entropies: Sequence[float] | None = None,
        success: float | None = None,
        total: float | None = None,
    ) -> ObservationTerm:
        """Compute what is added to the policy's loss.

        Args:
            log_probabilities: (B, T - 1), of the same forward pass as the policy loss.
            weights: (B, T): of observation tokens, 0 for all others (:func:`observation_weights`).
            turns: (B, T): number of the turn that a token belongs to, counted through the batch; for `keep` below 1.
            entropies: Mean entropy of each turn's action tokens, by that number.
            success: Mean success of the batch, 0..1; for `reward_adaptive`.
            total: As in :func:`weighted_token_loss`.

        Raises:
            ConfigError: What a setting needs is not given.
        """
        chosen = weights[:, 1:]
        if self.keep < 1:
            chosen = chosen * self._selected(turns, entropies, chosen)
        losses = -log_probabilities
        if self.kind == "clipped_mae":
            probable = _exp(log_probabilities)
            losses = 1.0 - _where(probable > self.clip, probable, self.clip)
        mean = _mean(losses, chosen, total)
        return ObservationTerm(mean, self._scale(success) * mean, int((chosen > 0).sum()))

    def _scale(self, success: float | None) -> float:
        if not self.reward_adaptive:
            return self.coefficient
        if success is None or not 0 <= success <= 1:
            raise ConfigError("the reward-adaptive observation loss needs the batch's mean success, 0 to 1")
        return self.coefficient * (1.0 - success)

    def _selected(self, turns: Any, entropies: Sequence[float] | None, like: Any) -> Any:
        if turns is None or not entropies:
            raise ConfigError("to keep a share of the turns, the observation loss needs turns and action entropies")
        count = max(1, round(self.keep * len(entropies)))
        best = sorted(range(len(entropies)), key=lambda turn: (-entropies[turn], turn))[:count]
        selected = like * 0.0
        for turn in best:
            selected = selected + _where(turns[:, 1:] == turn, 1.0, 0.0)
        return selected


@dataclass(frozen=True, slots=True)
class ObservationTerm:
    """The auxiliary loss of a batch."""

    mean: Any
    """Mean loss of the observation tokens, for curves."""
    added: Any
    """What goes into the loss: the mean, scaled."""
    tokens: int
    """Observation tokens that counted."""


def _is_torch(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def _library(array: Any) -> Any:
    return require_extra("torch", "train") if _is_torch(array) else require_extra("numpy", "bench")


def _exp(array: Any) -> Any:
    return _library(array).exp(array)


def _where(condition: Any, left: Any, right: Any) -> Any:
    return _library(condition).where(condition, left, right)
