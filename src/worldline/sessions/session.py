"""A live session: one world, one engine, and a log of what happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from worldline.control import Verdict, VerifierSpec, verify
from worldline.domains import get_domain
from worldline.engines import Engine, EngineOptions, EngineParts, build_engine
from worldline.engines.grounded import NO_EFFECT
from worldline.errors import SessionError, WorldlineError
from worldline.kernels.base import GUESSED
from worldline.sessions.store import EventStore, SessionRecord, SettledTurn
from worldline.types import Action, Frozen, JsonDict, Observation, Prediction, Source, Span, Trajectory, Turn, WorldSpec

__all__ = ["Session", "StepResult"]

SNAPSHOT_EVERY = 50
"""Turns between two cached engine states."""


class StepResult(Frozen):
    """What a step returns: the turn and the prediction behind it."""

    turn: int
    """1-based number of the turn."""
    action: Action
    prediction: Prediction
    reward: float | None
    done: bool
    elapsed_ms: float

    @property
    def observation(self) -> str:
        """The observation's text."""
        return self.prediction.observation.text

    @property
    def spans(self) -> tuple[Span, ...]:
        """Where each piece of the observation came from."""
        return self.prediction.spans

    @property
    def confidence(self) -> float:
        """How sure the engine is of the observation, 0..1."""
        return self.prediction.confidence

    @property
    def origin(self) -> str:
        """Where the observation came from as a whole."""
        return str(self.prediction.origin)

    @property
    def abstained(self) -> bool:
        """Whether the observation is only a guess."""
        return self.prediction.abstained

    def as_record(self) -> JsonDict:
        """Return the step as one flat JSON object, the line that `play --json` prints."""
        observation, usage = self.prediction.observation, self.prediction.usage
        return {
            "turn": self.turn,
            "action": self.action.model_dump(mode="json", exclude_defaults=True),
            "observation": observation.text,
            "stdout": observation.stdout,
            "stderr": observation.stderr,
            "exit_code": observation.exit_code,
            "raw": observation.raw,
            "origin": self.origin,
            "abstained": self.abstained,
            "spans": [span.model_dump(mode="json") for span in self.spans],
            "confidence": self.confidence,
            "reasoning": self.prediction.reasoning,
            "model_error": self.prediction.extra.get("model_error"),
            "usage": None if usage is None else usage.model_dump(mode="json"),
            "cached": self.prediction.extra.get("cached"),
            "reward": self.reward,
            "done": self.done,
            "elapsed_ms": round(self.elapsed_ms, 3),
        }


class Session:
    """A running world. Made by `World.session()`; use it as an async context manager.

    Args:
        record: The session's row in the store.
        store: The event log.
        engine: An engine whose state is that after `turns`.
        parts: What engines of this session are built from, for rewinding.
        turns: The turns that stand.
        events: Number of the session's last event.
    """

    def __init__(
        self,
        record: SessionRecord,
        store: EventStore,
        engine: Engine,
        parts: EngineParts,
        turns: Sequence[SettledTurn] = (),
        events: int = 0,
    ) -> None:
        self._record = record
        self._store = store
        self._engine: Engine | None = engine
        self._parts = parts
        self._settled = list(turns)
        self._history = [settled.turn for settled in turns]
        self._events = events
        self._lock = asyncio.Lock()
        self._domain = get_domain(record.world.domain)
        verifier = record.world.verifier
        self._verifier = None if verifier is None else VerifierSpec.model_validate(verifier)
        self._closed = False

    @classmethod
    def start(
        cls,
        world: WorldSpec,
        engine: str,
        options: EngineOptions,
        parts: EngineParts,
        store: EventStore,
        session_id: str | None = None,
    ) -> Session:
        """Start a new session in the world's initial state, under a name of its own or a given one."""
        built = build_engine(engine, world, options, parts)
        record = store.create(world, engine, options.model_dump(mode="json"), session_id=session_id)
        return cls(record, store, built, parts)

    @classmethod
    def resume(cls, session: str, parts: EngineParts, store: EventStore) -> Session:
        """Rebuild a session from its log alone; logged observations are absorbed, never made again.

        Raises:
            SessionError: There is no such session.
        """
        record = store.get(session)
        turns, events = store.turns(session), store.events(session)
        return cls(record, store, _rebuild(record, parts, store, turns), parts, turns, events)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the engine; the log stays and the session can be resumed."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._closed = True

    @property
    def id(self) -> str:
        """Id of the session in its store."""
        return self._record.id

    @property
    def world(self) -> WorldSpec:
        """The world it runs."""
        return self._record.world

    @property
    def turns(self) -> list[Turn]:
        """The turns that stand."""
        return list(self._history)

    @property
    def last_prediction(self) -> Prediction | None:
        """The prediction behind the last turn."""
        return self._settled[-1].prediction if self._settled else None

    @property
    def state(self) -> JsonDict:
        """The engine's state, readable."""
        return self._live().describe()

    @property
    def done(self) -> bool:
        """Whether the last turn ended the session."""
        return bool(self._history and self._history[-1].done)

    def check(self, action: Any) -> Action:
        """Read an action by the domain's grammar without doing it.

        Raises:
            ActionError: It does not fit the grammar.
        """
        return self._domain.parse_action(action)

    async def step(self, action: Any) -> StepResult:
        """Do `action` and return what the environment answers, once it is committed to the log.

        Args:
            action: What the domain's grammar accepts, for a terminal `{"command": "ls"}` or `"ls"`.

        Raises:
            ActionError: The action does not fit the grammar; nothing has changed.
            SessionError: The session is over or closed, or the engine abstains and was told to refuse.
            ModelError: The engine is a model without a fallback, and gave no usable answer.
            StorageError: The turn could not be committed; it did not happen.
        """
        parsed = self._domain.parse_action(action)
        async with self._lock:
            began = time.perf_counter()
            settled, verdict = await self._advance(self._live(), self._history, parsed)
            self._commit(settled)
            return _result(len(self._history), settled, verdict, began)

    async def observe(self, action: Any, observation: Observation) -> None:
        """Add a turn that happened in reality, so that state follows it.

        Raises:
            ActionError: The action does not fit the grammar.
            StorageError: The turn could not be committed; it did not happen.
        """
        parsed = self._domain.parse_action(action)
        async with self._lock:
            turn = Turn(action=parsed, observation=observation)
            self._live().absorb(turn)
            self._commit(SettledTurn(turn, None))

    async def fork(self) -> Session:
        """Start another worldline from here; both go on independently."""
        async with self._lock:
            record = self._store.create(
                self.world,
                self._record.engine,
                self._record.options,
                parent=(self.id, self._events, len(self._history)),
            )
            return Session(record, self._store, self._live().fork(), self._parts, self._settled, 0)

    async def rewind(self, turns: int) -> None:
        """Go back by `turns` turns; the log keeps what was undone.

        Raises:
            SessionError: There are fewer turns than that.
        """
        async with self._lock:
            if not 0 <= turns <= len(self._history):
                raise SessionError(f"cannot rewind {turns} turns", hint=f"the session has {len(self._history)} turns")
            kept = len(self._history) - turns
            self._store.append_rewind(self.id, self._events + 1, kept)
            self._events += 1
            del self._history[kept:], self._settled[kept:]
            self._drop_engine()

    async def imagine(self, actions: Sequence[Any]) -> list[StepResult]:
        """Predict several steps ahead on a copy, up to the one that ends the session; nothing is committed.

        Raises:
            ActionError: An action does not fit the grammar.
        """
        parsed = [self._domain.parse_action(action) for action in actions]
        async with self._lock:
            engine, history = self._live().fork(), list(self._history)
        try:
            results: list[StepResult] = []
            for action in parsed:
                if history and history[-1].done:
                    break
                began = time.perf_counter()
                settled, verdict = await self._advance(engine, history, action)
                history.append(settled.turn)
                results.append(_result(len(history), settled, verdict, began))
            return results
        finally:
            engine.close()

    def trajectory(self) -> Trajectory:
        """Return the session as a simulated trajectory."""
        return Trajectory(
            source=Source.SIMULATED,
            world=self.world,
            turns=tuple(self._history),
            origin={
                "engine": self._record.engine,
                "session": self.id,
                "origins": [str(s.prediction.origin) if s.prediction else "observed" for s in self._settled],
            },
        )

    def _live(self) -> Engine:
        if self._closed:
            raise SessionError("the session is closed", hint="resume it by its id")
        if self._engine is None:
            self._engine = _rebuild(self._record, self._parts, self._store, self._settled)
        return self._engine

    async def _advance(
        self, engine: Engine, history: Sequence[Turn], action: Action
    ) -> tuple[SettledTurn, Verdict | None]:
        """Predict one turn, let the engine's state follow it, and judge it; nothing is logged."""
        if history and history[-1].done:
            raise SessionError("the session has ended", hint="rewind it, fork it, or start another")
        prediction = await engine.predict(action, history)
        extra = {NO_EFFECT: True} if prediction.extra.get(NO_EFFECT) else {}
        extra |= {GUESSED: True} if prediction.abstained else {}
        turn = Turn(action=action, observation=prediction.observation, done=prediction.done or None, extra=extra)
        engine.absorb(turn)
        if self._verifier is None:
            return SettledTurn(turn, prediction), None
        verdict = verify(self._verifier, engine.kernel, prediction.observation)
        done = prediction.done or verdict.done
        return SettledTurn(
            turn.model_copy(update={"reward": verdict.reward, "done": done or None}), prediction
        ), verdict

    def _commit(self, settled: SettledTurn) -> None:
        try:
            self._store.append(self.id, self._events + 1, len(self._history) + 1, settled)
        except WorldlineError:
            self._drop_engine()  # its state has already followed a turn that is not in the log
            raise
        self._events += 1
        self._history.append(settled.turn)
        self._settled.append(settled)
        if len(self._history) % SNAPSHOT_EVERY == 0 and self._engine is not None:
            state = self._engine.dump()
            if state is not None:
                self._store.save_snapshot(self.id, self._events, len(self._history), state)

    def _drop_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _result(number: int, settled: SettledTurn, verdict: Verdict | None, began: float) -> StepResult:
    assert settled.prediction is not None
    return StepResult(
        turn=number,
        action=settled.turn.action,
        prediction=settled.prediction,
        reward=None if verdict is None else verdict.reward,
        done=bool(settled.turn.done),
        elapsed_ms=(time.perf_counter() - began) * 1000,
    )


def _rebuild(record: SessionRecord, parts: EngineParts, store: EventStore, turns: Sequence[SettledTurn]) -> Engine:
    """Build an engine whose state is that after `turns`, from a cached state where one still applies."""
    engine = build_engine(record.engine, record.world, EngineOptions.model_validate(record.options), parts)
    done = 0
    cached = store.snapshot(record.id)
    if cached is not None:
        events, count, state = cached
        standing = store.turns(record.id, events)
        if standing == list(turns[:count]):
            engine.load(state)
            done = count
    for settled in turns[done:]:
        engine.absorb(settled.turn)
    return engine
