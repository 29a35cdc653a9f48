"""Plans of keystroke sessions: reading family files, composing, splitting."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from worldline.domains.terminal.keystrokes import keystroke_action
from worldline.domains.terminal.state import TerminalState
from worldline.record.keystroke_plans import generate, split_of
from worldline.record.keystroke_plans.card import fresh_rows
from worldline.record.keystroke_plans.script import families, parse
from worldline.record.plan import KeystrokePlan


@pytest.fixture(scope="module")
def plans() -> list[KeystrokePlan]:
    return list(generate(1))


def test_a_family_file_is_read() -> None:
    text = (
        "== a/b\nn 2\ntask T {w}\nlet w x|y\ntmux\nfile f.sh 755\n| #!/bin/sh\n|\n| echo\n\n> ls\n| -l\n+k C-c\nw 2.5\n"
    )
    text += "\n[maybe]\n>0.5 cat\n: typed\nk \\t\\s\\n\n:\n[]\n"
    (family,) = parse(text)
    assert (family.name, family.sessions, family.emulation, family.choices) == ("a/b", 2, "tmux", {"w": ("x", "y")})
    assert family.files == {"f.sh": ("#!/bin/sh\n\necho\n", "755")}
    first, maybe = family.blocks
    assert [(p.kind, p.text, p.seconds, p.more) for p in first.pieces] == [
        (">", "ls\n-l", None, False),
        ("k", "C-c", None, True),
        ("w", "2.5", None, False),
    ]
    assert maybe.place == "maybe" and [p.text for p in maybe.pieces] == ["cat", "typed", "\t \n", "", ""]
    with pytest.raises(ValueError, match=r"x\.keys:2: what is 'nonsense'"):
        parse("== a/b\nnonsense\n", "x.keys")


def test_the_same_seed_gives_the_same_plans(plans: list[KeystrokePlan]) -> None:
    assert [plan.id for plan in generate(1)] == [plan.id for plan in plans]
    assert len({plan.id for plan in plans}) == len(plans)
    assert {plan.family for plan in generate(2, 10)} == {family.name for family in families()}


def test_there_are_enough_of_every_kind(plans: list[KeystrokePlan]) -> None:
    assert len(plans) >= 170 and sum(len(plan.turns) for plan in plans) >= 1700
    assert len({plan.family for plan in plans}) >= 40
    areas = Counter((plan.family.split("/")[0], split_of(plan.family)) for plan in plans)
    for area in ("shell", "jobs", "repl", "input", "games", "screen", "git"):
        for split in ("train", "dev", "test"):
            assert areas[area, split], (area, split)


def test_every_action_and_world_is_valid(plans: list[KeystrokePlan]) -> None:
    for plan in plans:
        assert TerminalState.model_validate(plan.world.initial_state).screen is not None
        for turn in plan.turns:
            assert len(keystroke_action(list(turn.keys)).arguments["keystrokes"]) == len(turn.keys)
            for entry in turn.keys:
                assert not re.search(r"\{(?:word|secret|thing|item|port|step|cmd)\}|@[a-z]+\d?@", entry["keystrokes"])


def test_hardly_a_shell_line_stands_in_two_splits(plans: list[KeystrokePlan]) -> None:
    from worldline.record.keystroke_plans.compose import _lines

    seen: dict[str, set[str]] = {}
    for plan in plans:
        for line in _lines(plan):
            seen.setdefault(line, set()).add(split_of(plan.family))
    assert sum(len(splits) > 1 for splits in seen.values()) / len(seen) < 0.05


def test_fresh_rows_are_those_that_were_not_shown_before() -> None:
    assert fresh_rows("a\nb\n$", "b\n$ x\nb\n$") == "$ x\nb"
