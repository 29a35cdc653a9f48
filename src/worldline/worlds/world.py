"""A world: the front door of the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from worldline.control import ControlSpec, VerifierSpec
from worldline.domains import get_domain
from worldline.engines import Calibration, EngineOptions, EngineParts, RealEnvironment
from worldline.errors import ConfigError, InputError
from worldline.memory import Memory
from worldline.memory.shipped import shipped_memory
from worldline.models.base import ChatModel, Sampling
from worldline.models.config import resolve_model
from worldline.sessions import EventStore, Session, SyncSession
from worldline.types import Observation, Trajectory, WorldSpec
from worldline.worlds.file import load_world_file

__all__ = ["World"]


class World:
    """One concrete environment, ready to run sessions.

    Args:
        spec: The world's description; `World.load` reads one from a YAML file.

    Raises:
        InputError: The initial state, control rules or verifier do not fit the domain.
    """

    def __init__(self, spec: WorldSpec) -> None:
        try:
            get_domain(spec.domain).validate_state(spec.initial_state)
            ControlSpec.model_validate(spec.control)
            if spec.verifier is not None:
                VerifierSpec.model_validate(spec.verifier)
        except ValueError as exc:
            raise InputError(f"world {spec.name or spec.domain}: {exc}") from exc
        self.spec = spec

    @classmethod
    def load(cls, path: str | Path) -> World:
        """Read a world file.

        Raises:
            WorldFileError: It is wrong; the message names the line.
        """
        return cls(load_world_file(Path(path)))

    @classmethod
    def terminal(cls, files: Mapping[str, str] | None = None, **state: Any) -> World:
        """Make a terminal world from files by absolute path and other keys of the initial state."""
        declared = {"files": dict(files)} if files else {}
        return cls(WorldSpec(domain="terminal", initial_state={**declared, **state}))

    def session(self, engine: str = "grounded", *, session_id: str | None = None, **settings: Any) -> Session:
        """Start a session; use it in an `async with` block.

        Args:
            engine: `grounded`, `kernel`, `recall`, `model`, `replay` or `scripted`.
            session_id: Name of the session in its store; by default a new one is made up.
            **settings: See :meth:`prepare`.

        Raises:
            ConfigError: A name is unknown, or something the engine needs is missing.
        """
        options, parts, store = self.prepare(engine, **settings)
        return Session.start(self.spec, engine, options, parts, store, session_id)

    def open(self, engine: str = "grounded", **settings: Any) -> SyncSession:
        """Start a blocking session; use it in a `with` block. Settings are those of :meth:`session`."""
        return SyncSession(lambda: self.session(engine, **settings))

    @classmethod
    def resume(cls, session: str, store: EventStore | str | Path, **settings: Any) -> Session:
        """Rebuild a session from its event log.

        Raises:
            SessionError: There is no such session.
        """
        log = store if isinstance(store, EventStore) else EventStore(store)
        record = log.get(session)
        _, parts, _ = cls(record.world).prepare(record.engine, **settings)
        return Session.resume(session, parts, log)

    def prepare(
        self,
        engine: str = "grounded",
        *,
        model: ChatModel | str | None = None,
        sampling: Sampling | None = None,
        memory: Memory | Path | Literal["shipped"] | None = "shipped",
        calibration: Calibration | None = None,
        script: tuple[str | Observation, ...] | list[str | Observation] = (),
        trajectory: Trajectory | None = None,
        real: RealEnvironment | None = None,
        prompts: str | Path | None = None,
        store: EventStore | str | Path | None = None,
        **options: Any,
    ) -> tuple[EngineOptions, EngineParts, EventStore]:
        """Gather what a session of this world is built from.

        Args:
            engine: The engine's name; decides which parts are loaded.
            model: A chat model, `URL#NAME`, or a name from models.yaml.
            sampling: Sampling settings of the model.
            memory: Recorded transitions, or a directory of them (`worldline memory build`); by default those that
                ship with the package.
            calibration: Measured trust; by default the one that ships with the package.
            script: Answers of the scripted engine.
            trajectory: What the replay engine repeats.
            real: The real environment behind `on_abstain="real"`.
            prompts: Folder whose prompt templates replace the domain's own.
            store: Event log, or its file; by default in memory.
            **options: Fields of :class:`EngineOptions`.

        Raises:
            ConfigError: An option is unknown or has a wrong value.
            StorageError: The memory directory is none, damaged, or of another version.
        """
        try:
            checked = EngineOptions.model_validate(options)
        except ValueError as exc:
            raise ConfigError(f"session options: {exc}") from exc
        if memory == "shipped":
            memory = shipped_memory(self.spec.domain) if engine in ("grounded", "recall") else None
        elif isinstance(memory, Path):
            memory = Memory.open(memory)
        parts = EngineParts(
            model=resolve_model(model) if isinstance(model, str) else model,
            sampling=sampling,
            memory=memory,
            calibration=calibration,
            script=tuple(script),
            trajectory=trajectory,
            real=real,
            prompts=Path(prompts) if prompts is not None else None,
        )
        return checked, parts, store if isinstance(store, EventStore) else EventStore(store)
