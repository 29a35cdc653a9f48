"""The engines: what predicts. `grounded` is the cascade of all sources; the others are its parts and fakes."""

from __future__ import annotations

from worldline.engines.base import Engine, EngineOptions, EngineParts, RealEnvironment
from worldline.engines.calibration import Calibration
from worldline.engines.grounded import CascadeEngine
from worldline.engines.replay import ReplayEngine
from worldline.engines.scripted import ScriptedEngine
from worldline.errors import ConfigError, unknown_name
from worldline.kernels import build_kernel
from worldline.registry import Registry
from worldline.types import WorldSpec

__all__ = [
    "ENGINE_NAMES",
    "Calibration",
    "Engine",
    "EngineOptions",
    "EngineParts",
    "RealEnvironment",
    "build_engine",
    "engine_names",
]

ENGINE_NAMES = ("grounded", "kernel", "model", "model+memory", "recall", "replay", "scripted")

_PLUGINS = Registry("engine", "worldline.engines", {})
_SOURCES = {
    "grounded": frozenset({"kernel", "memory", "evidence", "model"}),
    "kernel": frozenset({"kernel"}),
    "recall": frozenset({"memory"}),
    "model": frozenset({"model"}),
    "model+memory": frozenset({"model", "evidence"}),
}


def engine_names() -> list[str]:
    """Return the names of all engines, plug-ins included."""
    return [*ENGINE_NAMES, *_PLUGINS.names()]


def build_engine(
    name: str, world: WorldSpec, options: EngineOptions | None = None, parts: EngineParts | None = None
) -> Engine:
    """Build an engine for one session, in the world's initial state.

    Args:
        name: One of `ENGINE_NAMES`, or a plug-in's.
        world: The world.
        options: Thresholds and seed.
        parts: Model, memory and the like; `model` needs a model, `recall` a memory, `model+memory` both,
            `replay` a trajectory.

    Raises:
        ConfigError: The name is unknown, or a part it needs is missing.
        KernelError: The world's initial state cannot be set up.
    """
    options, parts = options or EngineOptions(), parts or EngineParts()
    if name == "scripted":
        return ScriptedEngine(parts.script)
    if name == "replay":
        if parts.trajectory is None:
            raise ConfigError("the replay engine needs a trajectory", hint="give one")
        return ReplayEngine(parts.trajectory, options)
    if name in _SOURCES:
        if name.startswith("model") and parts.model is None:
            raise ConfigError(f"the {name} engine needs a model", hint="name one with --model URL#NAME")
        if name in ("recall", "model+memory") and parts.memory is None:
            raise ConfigError(f"the {name} engine needs a memory", hint="give recorded trajectories")
        kernel = None if name.startswith("model") else build_kernel(world)
        return CascadeEngine(name, world, options, parts, kernel, _SOURCES[name])
    if name in _PLUGINS.names():
        engine: Engine = _PLUGINS.load(name)(world, options, parts)
        return engine
    raise unknown_name("engine", name, engine_names())
