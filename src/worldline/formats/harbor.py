"""Harbor trials: a folder with the agent's ATIF trajectory, the verifier's reward and the trial's result (read only).

Where an agent left no ATIF, the logs in its folder are read in whatever format they are. A trial's trajectories are
the main one with its continuations, and those of sub-agents; the reward belongs to the last of the main ones.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Any

from worldline.errors import FormatError
from worldline.formats.catalog import get_format, recognise
from worldline.formats.folder import InputFolder
from worldline.formats.skeleton import mapping_of, number_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import JsonDict, Source, Trajectory

__all__ = ["HARBOR", "Harbor"]

_MAIN = re.compile(r"trajectory(\.cont-(\d+))?\.json")
_DEPTH = 8
"""How deep below the agent's folder its own logs are looked for."""


class Harbor:
    """Trial folders of Harbor; a job is a folder of them."""

    name = "harbor"
    suffixes: tuple[str, ...] = ()

    def sniff(self, value: Any) -> str | None:
        """Recognise nothing: no single file is a trial."""
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Say that a file is no trial."""
        yield file.skipped("a Harbor trial is a folder: name the folder")

    def claims(self, folder: InputFolder) -> str | None:
        """Claim a folder with `config.json`, what the agent left and what the verifier or the trial said."""
        if not folder.has_file("config.json"):
            return None
        agent = next((name for name in ("agent", "steps") if folder.has_folder(name)), None)
        said = next((name for name in ("result.json", "trial.log") if folder.has_file(name)), None)
        if said is None and folder.has_folder("verifier"):
            said = "verifier/"
        return None if agent is None or said is None else f"a trial: config.json, {said} and {agent}/"

    def read_folder(self, folder: InputFolder, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the trajectories of a trial; of one in several steps, those of every step."""
        result = yield from _document(folder, "result.json")
        if "config" not in result and (config := (yield from _document(folder, "config.json"))):
            result = {**result, "config": config}
        stages = folder.folder("steps").folders() if folder.has_folder("steps") else [folder]
        found = False
        for stage in stages:
            for item in _stage(stage, result, source):
                if isinstance(item, SkippedRecord):
                    yield item
                else:
                    found = True
                    yield _described(item, folder, stage if stage is not folder else None, result)
        if not found:
            failure = mapping_of(result.get("exception_info")).get("exception_type")
            why = f", the trial failed with {failure}" if isinstance(failure, str) else ""
            yield folder.skipped(f"the trial left no trajectory{why}")


def _document(folder: InputFolder, name: str) -> Generator[SkippedRecord, None, JsonDict]:
    """Return a JSON object of the folder, an empty one where it is missing or damaged; yield the damage."""
    if not folder.has_file(name):
        return {}
    record = folder.file(name).document()
    if isinstance(record, SkippedRecord):
        yield record
        return {}
    return mapping_of(record.value)


def _stage(stage: InputFolder, result: JsonDict, source: Source) -> Iterator[Trajectory | SkippedRecord]:
    """Yield the trajectories of a trial or of one of its steps, the reward on the last of the main ones."""
    if not stage.has_folder("agent"):
        return
    agent = stage.folder("agent")
    named = [name for name, kind in agent.entries.items() if kind == "file" and name.startswith("trajectory")]
    documents = [name for name in named if name.endswith(".json")]
    main = sorted((name for name in documents if _MAIN.fullmatch(name)), key=_continuation)
    others = [name for name in documents if not _MAIN.fullmatch(name)]
    rewards = _rewards(stage, result)
    last: Trajectory | None = None
    for name in main:
        for item in _atif(agent.file(name), source):
            if isinstance(item, SkippedRecord):
                yield item
                continue
            if last is not None:
                yield last
            last = item
    if last is None and not main:
        for item in _logs(agent, source, _DEPTH):
            if isinstance(item, Trajectory) and last is None:
                last = item
            else:
                yield item
    if last is not None:
        yield _rewarded(last, rewards)
    for name in others:
        yield from _atif(agent.file(name), source)


def _continuation(name: str) -> int:
    match = _MAIN.fullmatch(name)
    number = match.group(2) if match else None
    return int(number[:9]) if number else 0


def _atif(file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
    yield from get_format("atif").read(file, source)


def _logs(folder: InputFolder, source: Source, depth: int) -> Iterator[Trajectory | SkippedRecord]:
    """Yield what the files below an agent's folder hold; those in no known format are passed over."""
    for file in folder.files():
        try:
            layout = get_format(recognise(file).name)
        except FormatError:
            continue
        yield from layout.read(file, source)
    if depth:
        for below in folder.folders():
            yield from _logs(below, source, depth - 1)


def _rewards(stage: InputFolder, result: JsonDict) -> JsonDict:
    """Return the verifier's rewards by name: of the result, or of the files the verifier wrote."""
    rewards = mapping_of(mapping_of(result.get("verifier_result")).get("rewards"))
    if rewards or not stage.has_folder("verifier"):
        return rewards
    verifier = stage.folder("verifier")
    for name in ("reward.json", "reward.txt"):
        if verifier.has_file(name):
            record = verifier.file(name).document()
            if not isinstance(record, SkippedRecord):
                return record.value if isinstance(record.value, dict) else {"reward": record.value}
    return {}


def _rewarded(trajectory: Trajectory, rewards: JsonDict) -> Trajectory:
    """Put the reward called `reward`, or else the only one, on the last turn."""
    value = number_of(rewards.get("reward", next(iter(rewards.values()), None) if len(rewards) == 1 else None))
    if value is None or not trajectory.turns:
        return trajectory
    last = trajectory.turns[-1].model_copy(update={"reward": value, "done": True})
    return trajectory.model_copy(update={"turns": (*trajectory.turns[:-1], last)})


def _described(trajectory: Trajectory, folder: InputFolder, step: InputFolder | None, result: JsonDict) -> Trajectory:
    """Say which task and trial a trajectory belongs to; the id is taken anew, a reward may have come in."""
    task, trial = result.get("task_name"), result.get("trial_name")
    task = str(task) if isinstance(task, str) else ""
    origin = {**trajectory.origin, "harbor": {"trial": trial if isinstance(trial, str) else folder.path.name}}
    if step is not None:
        origin["harbor"]["step"] = step.path.name
    world = trajectory.world
    if task and not world.name:
        world = world.model_copy(update={"name": task})
    return Trajectory(
        source=trajectory.source,
        world=world,
        turns=trajectory.turns,
        family=f"harbor-{task}" if task else trajectory.family,
        origin={**origin, "format": "harbor"},
        extra={**trajectory.extra, "harbor": result} if result else trajectory.extra,
    )


HARBOR = Harbor()
