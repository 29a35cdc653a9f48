"""The sources of an observation: kernel, memory and model, each giving a candidate with its confidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from worldline.domains import get_domain
from worldline.engines.base import EngineParts
from worldline.engines.calibration import Calibration, Kind
from worldline.engines.notes import notes_budget, notes_on, notes_tokens
from worldline.kernels.base import Kernel, Proposal
from worldline.memory import Memory, Transition
from worldline.memory.evidence import session_text, told_here
from worldline.memory.index import environment_key, footprint_key
from worldline.memory.transition import UNTOLD, footing, session_values
from worldline.models.base import ChatModel, Message
from worldline.models.context import estimate_tokens, turns_to_drop
from worldline.types import Action, JsonDict, Observation, Origin, Turn, Usage, WorldSpec

__all__ = ["Candidate", "KernelSource", "ModelSource", "RecallSource"]

_PRINTS = 0.85
"""Share of recorded answers that say something, as a lower bound, from which on silence is not to be believed."""
_SESSION_CHARACTERS = 200_000
_LAST_TOKENS = 1000
"""Room for the action to answer and the instruction behind it, notes left out."""
_ANSWER_TOKENS = 4096
"""Room for an answer where sampling sets no limit, at most a quarter of the context."""
_BRIEF_TURNS = 3
"""Turns of the session that a brief prompt shows, unless a model by itself was trained with all that fit."""
_TURN_TOKENS = 40
"""Headings and fences around one turn."""

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible observation."""

    observation: Observation
    origin: Origin
    confidence: float
    evidence: str
    sure: bool = True
    """False: only a guess, whatever its confidence."""
    mute: bool = False
    """A guess that says nothing, about an action of a kind that hardly ever says nothing: it tells only that the answer
    could not be computed."""
    done: bool = False
    reasoning: str | None = None
    usage: Usage | None = None
    dropped_turns: int = 0
    extra: JsonDict = field(default_factory=dict)


class KernelSource:
    """Answers computed by executable state."""

    def __init__(self, kernel: Kernel, calibration: Calibration) -> None:
        self.kernel = kernel
        self._calibration = calibration

    def candidate(self, action: Action) -> tuple[Candidate, Proposal]:
        """Run the action on a trial state and weigh the answer by the measured trust of its classes."""
        proposal = self.kernel.propose(action)
        kind: Kind = "kernel" if proposal.known else "guess"
        silent = not (proposal.known or proposal.observation.text)
        mute = silent and self._calibration.prints(proposal.classes) >= _PRINTS
        candidate = Candidate(
            observation=proposal.observation,
            origin=Origin.COMPUTED,
            confidence=self._calibration.confidence(kind, proposal.classes),
            evidence=proposal.why,
            sure=proposal.known,
            mute=mute,
            done=proposal.ended,
            extra={"classes": list(proposal.classes), **({"mute": True} if mute else {})},
        )
        return candidate, proposal


class RecallSource:
    """Answers recorded in reality."""

    def __init__(self, memory: Memory, world: WorldSpec, calibration: Calibration) -> None:
        self._memory = memory
        self._world = world
        self._environment = environment_key(world)
        self._values = session_values(world)
        # Where the session has gone to since, only a kernel can tell.
        self._unmoved = {key: value for key, value in self._values.items() if key != "cwd"}
        self._calibration = calibration

    def candidate(self, action: Action, kernel: Kernel | None) -> Candidate | None:
        """Look the action up; `kernel` tells what it would read now."""
        if not self._memory.knows(self._world.domain, action):
            return None  # spares telling what the action reads
        key = footprint_key(kernel.footprint(action)) if kernel is not None else None
        hit = self._memory.recall(self._world, action, key, self._environment)
        if hit is None:
            return None
        return Candidate(
            observation=hit.transition.observation,
            origin=Origin.RECALLED,
            confidence=self._calibration.confidence(hit.kind) * hit.agreement,
            evidence=f"recorded transition {hit.transition.id} ({hit.kind}, {hit.votes} matching)",
            sure=hit.kind != "action",
        )

    def near(self, action: Action, kernel: Kernel | None, history: Sequence[Turn]) -> Candidate | None:
        """Re-ground answers to recorded actions of the same shape; sure only where such answers were measured."""
        stands = footing(kernel, action, self._values) if kernel is not None else UNTOLD
        values = {**self._unmoved, "cwd": stands.cwd} if stands.cwd else self._unmoved
        hit = self._memory.near(self._world.domain, action, values, stands, session_text(history))
        if hit is None:
            return None
        return Candidate(
            observation=hit.observation,
            origin=Origin.RECALLED,
            confidence=self._calibration.confidence("near", (hit.trust_class,)) * hit.agreement,
            evidence=f"re-grounded from recorded transition {hit.transition.id} ({hit.trust_class}, {hit.votes} alike)",
            sure=self._calibration.measured("near"),
        )

    def nearest(self, action: Action, k: int) -> list[Transition]:
        """Return the `k` lexically nearest recorded transitions, told with the session's own values where they can."""
        found = self._memory.nearest(self._world.domain, action, k)
        return [told_here(transition, action, self._unmoved) for transition in found]


class ModelSource:
    """Answers written by a language model."""

    def __init__(self, world: WorldSpec, parts: EngineParts, calibration: Calibration) -> None:
        assert parts.model is not None
        self._world = world
        self._model = parts.model
        self._sampling = parts.sampling
        trained = _trained_prompts(parts.model, world.domain)
        self._domain = get_domain(world.domain, parts.prompts or trained)
        self._all_turns = trained is not None and parts.prompts in (None, trained)
        self._calibration = calibration

    @property
    def measured_trust(self) -> float | None:
        """How often this model was exact where no other source was sure, as a lower bound; None if never measured."""
        measured = self._calibration.trust.get("generated", {}).get(self._model.name)
        return measured.lower if measured is not None else None

    async def candidate(
        self,
        action: Action,
        history: Sequence[Turn],
        kernel: Kernel | None = None,
        partial: Candidate | None = None,
        evidence: Sequence[Transition] = (),
        share: float = 0.02,
    ) -> Candidate:
        """Ask the model.

        Args:
            action: The action to answer.
            history: The turns before it.
            kernel: Whose state is told.
            partial: What the other sources would answer.
            evidence: The nearest recorded transitions.
            share: Room for all three, as a share of the prompt.

        Raises:
            ModelError: It gave no usable answer.
        """
        domain = self._domain
        if getattr(domain, "brief", False):
            return await self._briefly(action, history, kernel, partial, evidence)
        system = domain.messages(self._world, (), action)[0]["content"]
        dropped = self._turns_to_drop(system, history, share)
        shown = len(system) + sum(len(t.action.render()) + len(t.observation.text) for t in history[dropped:])
        notes = notes_on(
            action,
            budget=notes_budget(shown, share),
            kernel=kernel,
            guess=partial.observation.text if partial is not None else "",
            evidence=evidence,
            session=_session_text(history),
        )
        laid_out = domain.messages(self._world, history[dropped:], action, notes=notes, first_turn=dropped + 1)
        return await self._asked(laid_out, dropped)

    async def _briefly(
        self,
        action: Action,
        history: Sequence[Turn],
        kernel: Kernel | None,
        partial: Candidate | None,
        evidence: Sequence[Transition],
    ) -> Candidate:
        """Ask by the brief prompt: recorded transitions as earlier turns, the nearest one last, then the last turns."""
        examples = [Turn(action=found.action, observation=found.observation) for found in reversed(evidence)]
        alone = kernel is None and not evidence
        last = list(history if alone and self._all_turns else history[-_BRIEF_TURNS:])
        notes = {"state": json.dumps(kernel.describe(), ensure_ascii=False)} if kernel is not None else {}
        if partial is not None and partial.observation.text:
            notes["guess"] = partial.observation.text
        laid_out = self._domain.messages(self._world, [*examples, *last], action, notes=notes)
        return await self._asked(laid_out, len(history) - len(last))

    async def _asked(self, laid_out: Sequence[Mapping[str, str]], dropped: int) -> Candidate:
        messages = [Message(role=cast(Role, m["role"]), content=m["content"]) for m in laid_out]
        answer = await self._model.complete(messages, self._sampling)
        # A cut-off answer may end anywhere, so nothing vouches for it.
        cut_off = answer.finish_reason == "length"
        return Candidate(
            observation=self._domain.parse_answer(answer.content, self._world),
            origin=Origin.GENERATED,
            confidence=0.0 if cut_off else self._calibration.confidence("generated", (self._model.name,)),
            evidence=f"written by {answer.model or self._model.name}" + (", cut off" if cut_off else ""),
            reasoning=answer.reasoning,
            usage=answer.usage,
            dropped_turns=dropped,
            extra={"finish_reason": answer.finish_reason, "cached": answer.cached},
        )

    def _turns_to_drop(self, system: str, history: Sequence[Turn], share: float) -> int:
        """How many early turns do not fit into the model's context, cut in jumps."""
        budget = getattr(self._model, "context_length", None)
        if not budget:
            return 0
        effective = getattr(self._model, "effective_sampling", None)
        sampling = effective(self._sampling) if effective is not None else self._sampling
        reserve = (sampling.max_tokens if sampling else None) or min(_ANSWER_TOKENS, budget // 4)
        notes = notes_tokens(budget, share)
        fixed = estimate_tokens(system) + notes + _LAST_TOKENS + reserve
        tokens = [
            estimate_tokens(t.action.render()) + estimate_tokens(t.observation.text) + _TURN_TOKENS for t in history
        ]
        return turns_to_drop(tokens, fixed=fixed, budget=budget)


def _session_text(history: Sequence[Turn]) -> str:
    return "".join(turn.action.render() + turn.observation.text for turn in history)[-_SESSION_CHARACTERS:]


def _trained_prompts(model: ChatModel, domain: str) -> Path | None:
    """The prompts that a model was trained with, where it says so and the user names none."""
    told = getattr(getattr(model, "inner", model), "trained_prompts", None)
    return told(domain) if told is not None else None
