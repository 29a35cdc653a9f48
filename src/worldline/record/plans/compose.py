"""Composing sessions from families: fixtures, blocks in an order, slips and their repair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from random import Random
from typing import Any

from worldline.record.plan import PlannedCommand, SessionPlan
from worldline.record.plans.filling import Scene
from worldline.record.plans.mistakes import spoil
from worldline.record.plans.script import Block, Family, families
from worldline.record.plans.splits import split_of, trivial
from worldline.record.plans.vocabulary import Split, words
from worldline.types import WorldSpec

__all__ = ["PACKAGES", "compose", "generate", "git_environment"]

PACKAGES = words(
    "bc bsdextrautils bzip2 ed faketime file gawk git jq less make man-db moreutils parallel patch perl procps python3 "
    "rsync sqlite3 tree unzip xxd xz-utils zip zstd"
)
"""Non-essential Debian packages that every world declares as installed."""

_SLIP = 0.155
"""Share of commands that are first typed wrong."""

_BASHISM = re.compile(
    "|".join(
        (
            r"<\(|\[\[|\(\(|<<<|&>|\$'|\w=\(",
            r"\{\w+\.\.|\{\w*,",
            r"\$\{\w+(//?|\^|,|:\d|\[)",
            r"declare|shopt|pipefail|echo -[en]|pushd|popd|source |mapfile|readarray|local |function |PIPESTATUS",
            r"\$RANDOM|printf -v|read -[a-z]*a|disown|compgen|time |\bselect\b|let |enable|builtin|dirs|caller|help ",
            r"bash |BASH|coproc|trap .*(ERR|DEBUG)|set -o|type -[a-z]|history|fc |%q|export -|SECONDS",
        )
    )
)
"""Constructs that dash does not know."""

_TRIES = 12


def generate(
    count: int, seed: int, *, only: Split | None = None, taken: Mapping[str, Split] | None = None
) -> Iterator[SessionPlan]:
    """Yield about `count` plans over all families, the same for the same arguments.

    No command line stands in two splits, trivial ones apart (:func:`~worldline.record.plans.splits.trivial`): a
    session that would repeat another split's line is composed anew, and after some tries loses that line.

    Args:
        count: Sessions in all; every family yields at least one.
        seed: Seed of every choice.
        only: Families of this split alone.
        taken: Command lines that belong to a split already, because something was recorded for it before.
    """
    everything = [family for family in families() if only in (None, split_of(family.name))]
    total = sum(family.sessions for family in everything)
    claimed: dict[str, Split] = dict(taken or {})
    for family in everything:
        split = split_of(family.name)
        for number in range(max(1, round(family.sessions * count / total))):
            plan = _apart(family, split, f"{seed}:{family.name}:{number}", claimed)
            claimed.update({entry.command: split for entry in plan.commands if not trivial(entry.command)})
            yield plan


def _apart(family: Family, split: Split, seed: str, claimed: dict[str, Split]) -> SessionPlan:
    for attempt in range(_TRIES):
        plan = compose(family, split, Random(f"{seed}:{attempt}"))
        kept = tuple(entry for entry in plan.commands if claimed.get(entry.command, split) == split)
        if len(kept) == len(plan.commands):
            return plan
    return plan.model_copy(update={"commands": kept})


def compose(family: Family, split: Split, rng: Random) -> SessionPlan:
    """Build one session of a family.

    Args:
        family: What it is about.
        split: Whose share of the vocabulary to use.
        rng: Source of every choice.
    """
    scene = Scene(rng, split)
    commands = [PlannedCommand(command=text) for text in _opening(rng)]
    target = rng.randint(8, 13)
    known = ""
    for number, block in enumerate(_order(family, rng)):
        if len(commands) >= target and not family.ordered and block.place != "last":
            continue
        for line in block.lines:
            if len(commands) >= target + 4 and not family.ordered and block.place != "last":
                break
            command = scene.fill(line.template, 0 if family.ordered else number)
            known += " ".join(scene.files)
            spoilt = spoil(command, rng, known) if rng.random() < _SLIP else None
            if spoilt is not None:
                commands.append(PlannedCommand(command=spoilt))
                if rng.random() < 0.12:
                    commands.append(PlannedCommand(command="echo $?"))
            commands.append(PlannedCommand(command=command, source=line.source))
            known += "\n" + command
        if not family.ordered and rng.random() < 0.04:
            commands.append(PlannedCommand(command=rng.choice(("ls", "ls -l", "ls -la", "pwd", "echo $?"))))
    task = scene.fill(family.task or "Try out what " + family.name.rsplit("/", 1)[-1] + " does with the files here")
    state = _state(scene, commands, rng)
    if "cwd" not in state:
        commands.insert(0, PlannedCommand(command=f"cd {scene.project}"))
    world = WorldSpec(domain="terminal", name=family.name, task=task, initial_state=state)
    return SessionPlan(family=family.name, world=world, commands=tuple(commands))


def _opening(rng: Random) -> list[str]:
    if rng.random() < 0.62:
        return []
    return list(
        rng.choice((("ls",), ("ls -la",), ("ls -l",), ("pwd", "ls"), ("pwd",), ("find . -type f",), ("ls -a",)))
    )


def _order(family: Family, rng: Random) -> list[Block]:
    if family.ordered:
        return [block for block in family.blocks if block.place != "maybe" or rng.random() < 0.6]
    middle = [block for block in family.blocks if not block.place]
    rng.shuffle(middle)
    first = [block for block in family.blocks if block.place == "first"]
    last = [block for block in family.blocks if block.place == "last"]
    return first + middle + last


def _state(scene: Scene, commands: list[PlannedCommand], rng: Random) -> dict[str, Any]:
    """The declared initial state: files, place, clock, shell."""
    text = "\n".join(entry.command for entry in commands)
    scene.clutter()
    state: dict[str, Any] = {
        "files": dict(sorted(scene.files.items())),
        "packages": list(PACKAGES),
        "clock": f"{scene.clock:%Y-%m-%dT%H:%M:%SZ}",
    }
    state["files"].setdefault(scene.cwd, {"kind": "directory"})
    if rng.random() < 0.8:
        state["cwd"] = scene.cwd
    shell: dict[str, Any] = {}
    if rng.random() < 0.08 and not _BASHISM.search(text):
        shell["program"] = "sh"
    if rng.random() < 0.1:
        shell["merged"] = True
    if shell:
        state["shell"] = shell
    if re.search(r"\bgit\b", text):
        state["env"] = git_environment(scene.clock)
    return state


def git_environment(clock: datetime) -> dict[str, str]:
    """Identity and dates of commits, so that their hashes follow from the session."""
    env = {"GIT_PAGER": "cat"}
    for role in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{role}_NAME"] = "user"
        env[f"GIT_{role}_EMAIL"] = "user@example.com"
        env[f"GIT_{role}_DATE"] = f"{clock:%Y-%m-%dT%H:%M:%S} +0000"
    return env
