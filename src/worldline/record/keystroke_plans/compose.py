"""Composing keystroke sessions from families: fixtures, blocks, waits, slips, and several commands in one action."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Literal, cast

from worldline.record.keystroke_plans.script import Block, Family, Piece, families
from worldline.record.keystroke_plans.splits import split_of
from worldline.record.plan import KeystrokePlan, PlannedKeys
from worldline.record.plans.compose import PACKAGES, git_environment
from worldline.record.plans.filling import Scene
from worldline.record.plans.mistakes import spoil
from worldline.record.plans.splits import trivial
from worldline.record.plans.vocabulary import Split
from worldline.types import JsonDict, WorldSpec

__all__ = ["compose", "generate"]

_SLIP = 0.12
"""Share of shell lines that are first typed wrong."""
_JOIN = 0.13
"""Share of shell lines that go into one action with the next."""
_WAITS = {">": (0.1, 0.3, 0.5, 0.5, 1.0), ":": (0.2, 0.3, 0.5), "k": (0.2, 0.3, 0.5)}
_OPENINGS = ("ls", "ls -la", "ls -l", "pwd", "ls -a", "clear", "cat /etc/hostname", "whoami")
_TRIES = 12

_Entry = JsonDict


def generate(seed: int, count: int | None = None) -> Iterator[KeystrokePlan]:
    """Yield the plans of all families, the same for the same seed.

    No shell line stands in two splits, trivial ones apart: a session that would repeat another split's line is composed
    anew, some times at most.

    Args:
        seed: Seed of every choice.
        count: About how many sessions; every family yields at least one. None: what the family files say.
    """
    scale = 1.0 if count is None else count / sum(family.sessions for family in families())
    claimed: dict[str, Split] = {}
    for family in families():
        split = split_of(family.name)
        for number in range(max(1, round(family.sessions * scale))):
            plans = (compose(family, Random(f"{seed}:{family.name}:{number}:{attempt}")) for attempt in range(_TRIES))
            plan = min(plans, key=lambda plan: sum(claimed.get(line, split) != split for line in _lines(plan)))
            for line in _lines(plan):
                claimed.setdefault(line, split)
            yield plan


def _lines(plan: KeystrokePlan) -> list[str]:
    """The shell lines of a plan that only one split may hold."""
    texts = [entry["keystrokes"] for turn in plan.turns if turn.at_shell for entry in turn.keys]
    return [line for text in texts for line in text.split("\n") if line and not trivial(line)]


def compose(family: Family, rng: Random) -> KeystrokePlan:
    """Build one session of a family.

    Args:
        family: What it is about.
        rng: Source of every choice.
    """
    scene = Scene(rng, split_of(family.name))
    choices = {name: rng.choice(values) for name, values in family.choices.items()}

    def fill(text: str, block: int) -> str:
        for name, value in choices.items():
            text = text.replace("{" + name + "}", value)
        return scene.fill(text, block)

    for name, (content, mode) in family.files.items():
        more = {} if mode is None else {"mode": mode}
        scene.files[f"{scene.cwd}/{fill(name, 0)}"] = {"content": fill(content, 0), "mtime": scene._mtime(), **more}
    actions = [[_line(rng, rng.choice(_OPENINGS))]] if rng.random() < 0.25 else []
    shell = [True] * len(actions)
    target = rng.randint(8, 11)
    for number, block in enumerate(_order(family, rng)):
        if family.shuffle and len(actions) >= target and block.place != "last":
            continue
        for action, at_shell in _actions(block, rng, lambda text, n=number: fill(text, n), scene):
            actions.append(action)
            shell.append(at_shell)
    task = fill(family.task, 0)
    state = _state(
        family, scene, rng, "git" in family.name or any("git " in e["keystrokes"] for a in actions for e in a)
    )
    if "cwd" not in state:
        actions.insert(0, [_line(rng, f"cd {scene.project}")])
        shell.insert(0, True)
    if rng.random() < 0.15 and all(action for action in actions):
        actions.append([])
        shell.append(False)
    turns = tuple(PlannedKeys(keys=tuple(keys), at_shell=at) for keys, at in zip(actions, shell, strict=True))
    world = WorldSpec(domain="terminal", name=family.name, task=task, initial_state=state)
    emulation = cast('Literal["pyte", "tmux"]', family.emulation)
    return KeystrokePlan(family=family.name, world=world, turns=turns, emulation=emulation)


def _order(family: Family, rng: Random) -> list[Block]:
    if not family.shuffle:
        return [block for block in family.blocks if block.place != "maybe" or rng.random() < 0.6]
    middle = [block for block in family.blocks if not block.place]
    rng.shuffle(middle)
    first = [block for block in family.blocks if block.place == "first"]
    last = [block for block in family.blocks if block.place == "last"]
    return first + middle + last


def _actions(block: Block, rng: Random, fill: Any, scene: Scene) -> Iterator[tuple[list[_Entry], bool]]:
    """The actions of a block, each with whether it is a shell line alone."""
    pending: list[_Entry] = []
    shell, joined = False, False
    for piece in block.pieces:
        text = fill(piece.text)
        if piece.more:
            pending.append(_entry(rng, piece, text))
            shell = False
            continue
        if pending and not joined:
            yield pending, shell
            pending = []
        plain = piece.kind == ">" and piece.seconds is None and "\n" not in text
        if plain and not joined and rng.random() < _SLIP and (spoilt := spoil(text, rng, " ".join(scene.files))):
            yield [_line(rng, spoilt)], True
        if piece.kind == "[]":
            yield [], False
            continue
        entry = _entry(rng, piece, text)
        if joined and plain and rng.random() < 0.5:
            pending[-1] = {**entry, "keystrokes": pending[-1]["keystrokes"] + entry["keystrokes"]}
        else:
            pending.append(entry)
        shell = piece.kind == ">" and (shell or not joined)
        joined = plain and not joined and rng.random() < _JOIN
    if pending:
        yield pending, shell


def _entry(rng: Random, piece: Piece, text: str) -> _Entry:
    if piece.kind == "w":
        return {"keystrokes": "", "duration": float(text)}
    typed = text + "\n" if piece.kind in ">:" else text
    return {"keystrokes": typed, "duration": piece.seconds or rng.choice(_WAITS[piece.kind])}


def _line(rng: Random, text: str) -> _Entry:
    return {"keystrokes": f"{text}\n", "duration": rng.choice(_WAITS[">"])}


def _state(family: Family, scene: Scene, rng: Random, git: bool) -> dict[str, Any]:
    """The declared initial state: files, place, clock, variables, screen."""
    scene.clutter()
    state: dict[str, Any] = {
        "files": dict(sorted(scene.files.items())),
        "packages": sorted({*PACKAGES, "nano", "vim", "vim-tiny"}),
        "clock": f"{scene.clock:%Y-%m-%dT%H:%M:%SZ}",
        "screen": {"columns": 80, "lines": 24} if rng.random() < 0.12 else {},
    }
    state["files"].setdefault(scene.cwd, {"kind": "directory"})
    if rng.random() < 0.85:
        state["cwd"] = scene.cwd
    env = dict(family.env)
    if git:
        env = {**git_environment(scene.clock), **env}
        if env["GIT_PAGER"] == "less":
            del env["GIT_PAGER"]
    if env:
        state["env"] = env
    return state
