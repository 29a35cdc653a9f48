"""Recording a planned session until nothing in it is left to chance.

Each plan runs twice in fresh sandboxes, which shows what is volatile, and, where a second Debian root is given, once
more where everything that the world does not declare differs, which shows what the session determines.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from worldline import __version__
from worldline.agents import ModelAgent
from worldline.domains.terminal.keystrokes import keystroke_action
from worldline.errors import StorageError, boundary
from worldline.formats.secrets import SecretMasker
from worldline.models.base import Sampling
from worldline.models.config import resolve_model
from worldline.record.environment import Explorer, build_environment, build_explorer
from worldline.record.plan import KeystrokePlan, SessionPlan, ToolPlan
from worldline.record.shell import Limits, RealShell, Surroundings
from worldline.record.terminal import RealTerminal
from worldline.record.volatile import agrees, volatile_spans
from worldline.types import Action, JsonDict, Observation, Source, Trajectory, Turn, WorldSpec

__all__ = ["AnyPlan", "RecordingSettings", "program_versions", "record_session"]

_TOOL = "bash"

AnyPlan = SessionPlan | KeystrokePlan | ToolPlan


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """How sessions are recorded; the same for all sessions of a file."""

    root: Path | None = None
    """Debian root to record; None: the host's."""
    variant_root: Path | None = None
    """Another Debian root, for telling what a session determines; None: `determined` stays open."""
    limits: Limits = field(default_factory=Limits)
    agent: str | None = None
    """Model that acts in tool worlds, as `--model` names one; None: the domain's scripted explorer."""

    def as_record(self) -> JsonDict:
        """What of the settings changes recordings, as plain data."""
        told: JsonDict = {"root": _debian(self.root), "variant": self.variant_root and _debian(self.variant_root)}
        return {**told, "agent": self.agent} if self.agent else told


@dataclass(frozen=True, slots=True)
class _Played:
    """One turn of one recording."""

    action: Action
    source: str
    observation: Observation
    moment: str | None
    """Virtual time at which the turn began, ISO 8601, where there is one."""
    status: int = 0
    killed: str | None = None
    ended: bool = False
    extra: JsonDict = field(default_factory=dict)


def record_session(plan: AnyPlan, settings: RecordingSettings | None = None) -> Trajectory:
    """Record one session.

    Args:
        plan: World and commands, or keystrokes.
        settings: Which roots and limits.

    Returns:
        An observed trajectory. It ends early where a command ended the shell. `origin` says what recorded what,
        and each turn's `extra` where its command is from, and `unstable`, `killed` and `ended` where they apply.

    Raises:
        SandboxError: The sandbox cannot be built.
        ActionError: A command cannot be given to a shell.
    """
    how = settings or RecordingSettings()
    seeds = random.Random(plan.id)
    usual = Surroundings(root=how.root, first_pid=seeds.randrange(0, 90))
    again = replace(usual, first_pid=seeds.randrange(100, 900))
    first = _play(plan, usual, how.limits, how.agent)
    same = _replayed(plan, first)
    second = _play(same, again, how.limits)
    variant = None
    if how.variant_root is not None or isinstance(plan, ToolPlan):
        other = replace(how.limits, processes=how.limits.processes + 37, open_files=how.limits.open_files // 2)
        variant = _play(same, _elsewhere(how, seeds), other)
    turns = tuple(
        _turn(
            one,
            _at(second, index),
            None if variant is None else [_at(variant, index)],
            repeats=variant is not None and _repeats(index, (first, second, variant)),
        )
        for index, one in enumerate(first)
    )
    origin = {"recorder": f"worldline {__version__}", "plan": plan.id, **how.as_record()}
    origin["programs"] = _versions(plan, how)
    if how.variant_root is not None:
        origin["variant_programs"] = program_versions(how.variant_root)
    trajectory = Trajectory(
        source=Source.OBSERVED,
        world=plan.world,
        turns=turns,
        family=plan.family,
        origin=origin,
        extra=_left_out(plan, turns),
    )
    return SecretMasker().mask(trajectory)


def _left_out(plan: AnyPlan, turns: tuple[Turn, ...]) -> JsonDict:
    if isinstance(plan, ToolPlan):
        planned = len(plan.actions)
    else:
        planned = len(plan.turns if isinstance(plan, KeystrokePlan) else plan.commands)
    missing = max(0, planned - len(turns))
    return {"commands_after_the_end": missing} if missing else {}


def _elsewhere(how: RecordingSettings, seeds: random.Random) -> Surroundings:
    """Another machine: other programs, processes, creation order, file system, processors and day."""
    return Surroundings(
        root=how.variant_root,
        first_pid=seeds.randrange(1000, 20000),
        order_seed=seeds.randrange(1 << 30),
        on_disk=True,
        processors=1,
        days_later=seeds.randrange(40, 300),
        other_machine=True,
    )


def _play(plan: AnyPlan, around: Surroundings, limits: Limits, agent: str | None = None) -> list[_Played]:
    """Run the session in a fresh sandbox, until the shell ends."""
    if isinstance(plan, ToolPlan):
        return _call(plan, around, agent)
    return _type(plan, around, limits) if isinstance(plan, KeystrokePlan) else _command(plan, around, limits)


def _replayed(plan: AnyPlan, played: list[_Played]) -> AnyPlan:
    """The plan with an explorer's actions written down, so that they can be taken once more."""
    if not isinstance(plan, ToolPlan):
        return plan
    return plan.model_copy(update={"actions": tuple(turn.action for turn in played)})


def _versions(plan: AnyPlan, how: RecordingSettings) -> dict[str, str]:
    if isinstance(plan, ToolPlan):
        return build_environment(plan.world).versions()
    return program_versions(how.root)


def _call(plan: ToolPlan, around: Surroundings, agent: str | None) -> list[_Played]:
    played: list[_Played] = []
    turns: list[Turn] = []
    with ExitStack() as stack:
        explorer = None if plan.actions else _explorer(plan, agent, stack)
        environment = stack.enter_context(build_environment(plan.world, around))
        while not environment.ended and len(turns) < (len(plan.actions) or plan.turns):
            action = plan.actions[len(turns)] if explorer is None else explorer.next(turns)
            if action is None:
                break
            observation = environment.step(action)
            failed = int(bool(observation.is_error))
            played.append(_Played(action, "own", observation, None, failed, ended=environment.ended))
            turns.append(Turn(action=action, observation=observation))
    return played


def _command(plan: SessionPlan, around: Surroundings, limits: Limits) -> list[_Played]:
    played: list[_Played] = []
    with RealShell(plan.world, limits=limits, surroundings=around) as shell:
        for command in plan.commands:
            moment = shell.now.isoformat()
            observation = shell.run(command.command)
            last = shell.last
            assert last is not None
            action = Action(name=_TOOL, arguments={"command": command.command})
            extra: JsonDict = {"exit_code": last.status} if observation.merged else {}
            played.append(
                _Played(action, command.source, observation, moment, last.status, last.killed, last.ended, extra)
            )
            if shell.ended:
                break
    return played


def _type(plan: KeystrokePlan, around: Surroundings, limits: Limits) -> list[_Played]:
    played: list[_Played] = []
    with RealTerminal(plan.world, limits=limits, surroundings=around, emulation=plan.emulation) as terminal:
        for turn in plan.turns:
            moment = terminal.now.isoformat()
            action = keystroke_action(list(turn.keys))
            observation = terminal.act(action)
            last = terminal.last
            assert last is not None
            extra: JsonDict = {"foreground": last.foreground} if last.foreground else {}
            if last.full_screen:
                extra["full_screen"] = True
            played.append(_Played(action, turn.source, observation, moment, 0, last.overrun, terminal.ended, extra))
            if terminal.ended:
                break
    return played


def _explorer(plan: ToolPlan, agent: str | None, stack: ExitStack) -> Explorer:
    if agent is None:
        return build_explorer(plan.world, plan.seed)
    acting = ModelAgent(plan.world, resolve_model(agent), Sampling(seed=plan.seed))
    stack.callback(acting.close)
    return acting


def _at(played: list[_Played], index: int) -> _Played | None:
    return played[index] if index < len(played) else None


def _repeats(index: int, recordings: Sequence[list[_Played]]) -> bool:
    """Whether the same action got the same answer at an earlier turn of each recording: it can be told from that."""
    if any(index >= len(played) for played in recordings):
        return False
    action = recordings[0][index].action
    return any(
        recordings[0][earlier].action == action
        and all(played[earlier].observation == played[index].observation for played in recordings)
        for earlier in range(index)
    )


def _turn(
    first: _Played, second: _Played | None, variant: list[_Played | None] | None, *, repeats: bool = False
) -> Turn:
    """Join the recordings of one turn; `variant` is None without a variant, and holds None where that ended early."""
    truth = first.observation
    extra: JsonDict = {"source": first.source}
    stable = second is not None and second.status == first.status
    if second is not None:
        # where only the second said something there is no stretch to mark
        stable = stable and bool(truth.text) == bool(second.observation.text)
        truth = truth.model_copy(update={"volatile": volatile_spans(truth, second.observation)})
    if not stable:
        extra["unstable"] = True
    if first.killed:
        extra["killed"] = first.killed
    if first.ended:
        extra["ended"] = True
    determined = None
    if variant is not None:
        other = variant[0]
        # a command that ran into a limit of ours says nothing about the environment
        determined = stable and not first.killed and other is not None and (repeats or agrees(other.observation, truth))
    return Turn(
        action=first.action,
        observation=truth,
        timestamp=first.moment,
        determined=determined,
        extra={**extra, **first.extra},
    )


def _debian(root: Path | None) -> str:
    """Name of a root, without its path: `Debian 12.11`."""
    with boundary(StorageError, "reading the Debian root"):
        version = (root or Path("/")) / "etc/debian_version"
        return f"Debian {version.read_text().strip()}" if version.exists() else "unknown"


_VERSION_COMMANDS: Mapping[str, str] = {
    "bash": "bash --version | head -n 1 | grep -o '[0-9][0-9.]*([0-9]*)' | head -n 1",
    "coreutils": "ls --version | head -n 1 | grep -o '[0-9.]*$'",
    "dash": "dpkg-query -W -f '${Version}' dash",
    "grep": "grep --version | head -n 1 | grep -o '[0-9.]*$'",
    "sed": "sed --version | head -n 1 | grep -o '[0-9.]*$'",
    "findutils": "find --version | head -n 1 | grep -o '[0-9.]*$'",
    "python3": "python3 --version | cut -d' ' -f2",
}


@lru_cache(maxsize=8)
def program_versions(root: Path | None) -> dict[str, str]:
    """Versions of the programs that answer most commands, asked in a sandbox of that root."""
    with RealShell(WorldSpec(domain="terminal"), root=root) as shell:
        answers = {name: (shell.run(command).stdout or "").strip() for name, command in _VERSION_COMMANDS.items()}
    return {name: answer for name, answer in answers.items() if answer}
