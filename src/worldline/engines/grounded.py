"""The cascade: control, then kernel and memory, then a model, then an honest abstention (design section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.control import ControlSpec, fired_rule
from worldline.control.rules import Rule
from worldline.engines.base import Engine, EngineOptions, EngineParts, one_span
from worldline.engines.calibration import shipped_calibration
from worldline.engines.sources import Candidate, KernelSource, ModelSource, RecallSource
from worldline.errors import ModelError, SessionError
from worldline.kernels import Kernel
from worldline.types import Action, JsonDict, Observation, Origin, Prediction, Turn, WorldSpec

__all__ = ["NO_EFFECT", "CascadeEngine"]

NO_EFFECT = "no_effect"
"""Key in a turn's `extra`: the action was refused by a control rule, so state must not follow it."""


class CascadeEngine:
    """Answers from the sources it was given, best first.

    Args:
        name: `grounded`, `kernel`, `recall`, `model` or `model+memory`, by the sources it may answer from.
        world: The world; its `control` part applies.
        options: Thresholds and seed.
        parts: Model, memory and calibration.
        kernel: State, also where it only tells memory what an action reads.
        answers: Which sources may answer.
    """

    def __init__(
        self,
        name: str,
        world: WorldSpec,
        options: EngineOptions,
        parts: EngineParts,
        kernel: Kernel | None,
        answers: frozenset[str],
    ) -> None:
        self.name = name
        self._world = world
        self._options = options
        self._parts = parts
        self._answers = answers
        self._control = ControlSpec.model_validate(world.control)
        self._calibration = parts.calibration or shipped_calibration(world.domain)
        self._kernel = kernel
        self._computed = KernelSource(kernel, self._calibration) if kernel and "kernel" in answers else None
        self._recalled = (
            RecallSource(parts.memory, world, self._calibration)
            if parts.memory is not None and answers & {"memory", "evidence"}
            else None
        )
        self._generated = (
            ModelSource(world, parts, self._calibration) if parts.model is not None and "model" in answers else None
        )

    @property
    def kernel(self) -> Kernel | None:
        """The kernel whose state verifiers may probe."""
        return self._kernel

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Answer `action` after `history`, changing nothing (see :class:`Engine`)."""
        rule = fired_rule(self._control, action, len(history) + 1, self._options.seed)
        if rule is not None:
            return self._injection(rule, action)
        candidates = self._candidates(action)
        threshold = self._options.min_confidence
        good = [c for c in candidates if c.sure and c.confidence >= threshold]
        if not good and self._recalled is not None and "memory" in self._answers:
            near = self._recalled.near(action, self._kernel, history)
            if near is not None:
                better = all(near.confidence > other.confidence for other in candidates)
                candidates.append(near)
                good = [near] if near.sure and near.confidence >= threshold and better else []
        if good:
            return self._prediction(max(good, key=lambda c: c.confidence))
        guess = max(candidates, key=lambda c: c.confidence, default=None)
        failure: JsonDict = {}
        if self._generated is not None and not self._keeps(guess, self._generated):
            try:
                return self._prediction(await self._generate(action, history, guess))
            except ModelError as error:
                if not self._answers & {"kernel", "memory"}:
                    raise
                failure = {"model_error": error.as_record()}
        return await self._abstain(action, history, guess, failure)

    def absorb(self, turn: Turn) -> None:
        """Let the kernel follow a settled turn, unless a control rule kept it from taking effect."""
        if self._kernel is not None and not turn.extra.get(NO_EFFECT):
            self._kernel.absorb(turn)

    def fork(self) -> Engine:
        """Return an independent copy of the present state."""
        kernel = self._kernel.fork() if self._kernel is not None else None
        return CascadeEngine(self.name, self._world, self._options, self._parts, kernel, self._answers)

    def describe(self) -> JsonDict:
        """Return the kernel's state, or nothing where there is no kernel."""
        return self._kernel.describe() if self._kernel is not None else {}

    def dump(self) -> bytes | None:
        """Serialise the kernel's state."""
        return self._kernel.dump() if self._kernel is not None else None

    def load(self, data: bytes) -> None:
        """Replace the kernel's state by a dumped one."""
        if self._kernel is not None:
            self._kernel.load(data)

    def close(self) -> None:
        """Free the kernel."""
        if self._kernel is not None:
            self._kernel.close()

    def _candidates(self, action: Action) -> list[Candidate]:
        candidates = []
        if self._recalled is not None and "memory" in self._answers:
            recalled = self._recalled.candidate(action, self._kernel)
            if recalled is not None:
                candidates.append(recalled)
        if self._computed is not None:
            candidates.append(self._computed.candidate(action)[0])
        return candidates

    def _keeps(self, guess: Candidate | None, model: ModelSource) -> bool:
        """Whether the guess stands because this model was not measured to be right more often.

        A model that was never measured is asked: a guess says nothing about it. A measured one, if it was ever right or
        the options say so, takes the place of mute guesses; of others only if it was right more often than guesses are,
        of this class and as a whole.
        """
        trust = model.measured_trust
        if self._options.on_abstain != "guess" or guess is None or trust is None:
            return False
        if guess.mute and (trust > 0 or self._options.ask == "mute"):
            return False
        return max(guess.confidence, self._calibration.confidence("guess")) >= trust

    async def _generate(self, action: Action, history: Sequence[Turn], guess: Candidate | None) -> Candidate:
        assert self._generated is not None
        evidence = self._recalled.nearest(action, self._options.evidence) if self._recalled is not None else ()
        share = self._options.notes_share
        return await self._generated.candidate(action, history, self._kernel, guess, evidence, share)

    async def _abstain(
        self, action: Action, history: Sequence[Turn], guess: Candidate | None, extra: JsonDict
    ) -> Prediction:
        if self._options.on_abstain == "error":
            why = guess.evidence if guess is not None else "no source has an answer"
            raise SessionError(
                f"the engine abstains: {why}", hint="give a model, lower min_confidence, or set on_abstain to guess"
            )
        if self._options.on_abstain == "real":
            return await self._ask_reality(action, history)
        guess = guess or Candidate(Observation(), Origin.COMPUTED, 0.0, "no source has an answer", sure=False)
        return self._prediction(guess, abstained=True, extra=extra)

    async def _ask_reality(self, action: Action, history: Sequence[Turn]) -> Prediction:
        if self._parts.real is None:
            raise SessionError("on_abstain is `real`, but no real environment was given", hint="pass one as `real=`")
        observation = await self._parts.real.answer(history, action)
        return self._prediction(Candidate(observation, Origin.RECALLED, 1.0, "asked the real environment"))

    def _injection(self, rule: Rule, action: Action) -> Prediction:
        done = False
        if rule.effect and self._computed is not None:
            done = self._computed.candidate(action)[0].done
        candidate = Candidate(rule.answer, Origin.INJECTED, 1.0, f"control rule {rule.name}", done=done)
        return self._prediction(candidate, extra={} if rule.effect else {NO_EFFECT: True})

    def _prediction(self, chosen: Candidate, *, abstained: bool = False, extra: JsonDict | None = None) -> Prediction:
        return Prediction(
            observation=chosen.observation,
            origin=chosen.origin,
            confidence=chosen.confidence,
            spans=one_span(
                chosen.observation.text,
                origin=chosen.origin,
                confidence=chosen.confidence,
                evidence=chosen.evidence,
            ),
            abstained=abstained,
            reasoning=chosen.reasoning,
            usage=chosen.usage,
            done=chosen.done,
            engine=self.name,
            dropped_turns=chosen.dropped_turns,
            extra={"evidence": chosen.evidence, **chosen.extra, **(extra or {})},
        )
