"""The session generator: deterministic, splits apart, sources true, commands sane."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.terminal.state import TerminalState
from worldline.record.plan import SessionPlan
from worldline.record.plans import PACKAGES, generate, split_of, trivial
from worldline.record.plans.filling import SLOT, Scene
from worldline.record.plans.mistakes import spoil
from worldline.record.plans.programs import programs_of
from worldline.record.plans.script import families, parse
from worldline.record.plans.sources import agrees


@pytest.fixture(scope="module")
def plans() -> list[SessionPlan]:
    return list(generate(480, 1))


def test_same_arguments_give_the_same_plans() -> None:
    first, second = ([plan.id for plan in generate(60, 7)] for _ in range(2))
    assert first == second
    assert first != [plan.id for plan in generate(60, 8)]


def test_there_are_enough_sessions_and_commands(plans: list[SessionPlan]) -> None:
    assert len(plans) >= 400
    assert sum(len(plan.commands) for plan in plans) >= 4000
    assert len({plan.id for plan in plans}) == len(plans)


def test_every_family_yields_a_session(plans: list[SessionPlan]) -> None:
    assert {plan.family for plan in plans} == {family.name for family in families()}


def test_no_command_line_stands_in_two_splits(plans: list[SessionPlan]) -> None:
    seen: dict[str, str] = {}
    for plan in plans:
        split = split_of(plan.family)
        for entry in plan.commands:
            if not trivial(entry.command):
                assert seen.setdefault(entry.command, split) == split, entry.command


def test_trivial_lines_are_few(plans: list[SessionPlan]) -> None:
    lines = [entry.command for plan in plans for entry in plan.commands]
    assert sum(map(trivial, lines)) / len(lines) < 0.2
    assert not trivial("grep -c x y.txt")
    assert not trivial("cat a.txt b.txt")


def test_split_sizes(plans: list[SessionPlan]) -> None:
    turns = Counter(dict.fromkeys(("train", "dev", "test"), 0))
    for plan in plans:
        turns[split_of(plan.family)] += len(plan.commands)
    total = sum(turns.values())
    assert 0.4 < turns["train"] / total < 0.6
    assert 0.18 < turns["dev"] / total < 0.32
    assert 0.18 < turns["test"] / total < 0.32


def test_half_of_the_lines_are_not_ours(plans: list[SessionPlan]) -> None:
    sources = [entry.source for plan in plans for entry in plan.commands]
    assert sum(source != "own" for source in sources) / len(sources) >= 0.5
    assert all(re.fullmatch(r"own|(cheat|man|completion):[\w.+-]+", source) for source in sources)


def _variants(template: str) -> set[str]:
    """Every alternative of every choice in a template, the other choices at their first."""
    choices = list(re.finditer(r"⟦([^⟧]*)⟧|@pick:([^@]*)@", template))
    options = [match[1].split("¦") if match[1] is not None else match[2].split("|") for match in choices]
    found = set()
    for chosen, alternatives in enumerate(options or [[""]]):
        for alternative in alternatives:
            text, position = "", 0
            for number, match in enumerate(choices):
                text += template[position : match.start()] + (alternative if number == chosen else options[number][0])
                position = match.end()
            found.add(text + template[position:])
    return found


def test_credited_templates_agree_with_their_sources() -> None:
    for family in families():
        for block in family.blocks:
            for line in block.lines:
                for variant in _variants(line.template):
                    assert agrees(variant, line.source), (family.name, variant)


def test_sources_do_not_agree_with_just_anything() -> None:
    assert agrees("sort -u names.txt", "cheat:sort")
    assert not agrees("sort --parallel=4 --batch-size=3 --debug names.txt", "cheat:sort")
    assert not agrees("wc names.txt", "cheat:sort")
    assert agrees("sort --reverse --unique names.txt", "completion:sort")
    assert not agrees("sort --no-such-option names.txt", "completion:sort")
    assert not agrees("ls", "cheat:nosuchsheet")


def test_programs_are_many(plans: list[SessionPlan]) -> None:
    used = {name for plan in plans for entry in plan.commands for name in programs_of(entry.command)}
    assert len(used) >= 120


def test_worlds_are_valid_and_slots_are_filled(plans: list[SessionPlan]) -> None:
    for plan in plans:
        state = TerminalState.model_validate(plan.world.initial_state)
        assert state.packages == PACKAGES
        assert plan.world.task
        assert not re.search(r"@(?:pick:|n:|[a-z]{2,}\d?@)", plan.world.task)
        assert 4 <= len(plan.commands) <= 40
        for entry in plan.commands:
            assert not re.search(r"⟦|@(?:pick:|n:\d|(?:txt|csv|list|dir|log|json|obj)\d?(?:\.\w)?@)", entry.command), (
                entry
            )


def test_shells_and_streams_vary(plans: list[SessionPlan]) -> None:
    shells = [plan.world.initial_state.get("shell", {}) for plan in plans]
    assert 0.02 < sum(shell.get("program") == "sh" for shell in shells) / len(plans) < 0.15
    assert 0.05 < sum(bool(shell.get("merged")) for shell in shells) / len(plans) < 0.16


@given(st.integers(0, 10_000))
def test_slips_change_one_line_into_another(seed: int) -> None:
    command = "sort --reverse data/names.txt | head -n 3"
    spoilt = spoil(command, Random(seed), command)
    assert spoilt is None or (spoilt != command and "\n" not in spoilt)


def test_slips_spare_what_is_written() -> None:
    for seed in range(200):
        spoilt = spoil("sort a/names.txt > result.txt", Random(seed), "a/names.txt result.txt")
        assert spoilt is None or spoilt.endswith("> result.txt")


@given(st.integers(0, 10_000), st.sampled_from(["train", "dev", "test"]))
def test_slots_fill_with_declared_files(seed: int, split: str) -> None:
    scene = Scene(Random(seed), split)  # type: ignore[arg-type]
    for kind in ("txt", "csv", "log", "json", "py", "dir", "conf", "list2", "access", "old", "neu"):
        path = f"{scene.cwd}/{scene.fill(f'@{kind}@')}"
        assert path in scene.files or any(name.startswith(path + "/") for name in scene.files)
        assert scene.fill(f"@{kind}@") == scene.fill(f"@{kind}@")
    assert scene.fill("@pick:a|b@") in ("a", "b")
    assert not SLOT.search(scene.fill("@a@ @n:2-3@ @ccat@ @ip@ @w@ @sub@"))


def test_unknown_slots_are_errors() -> None:
    with pytest.raises(KeyError, match="nosuch"):
        Scene(Random(0), "train").fill("cat @nosuch@")


def test_the_notation_is_read() -> None:
    text = "== a/b\nn 3\ntask do it\n\n[first]\n. cat > x <<'EOF'\nline\n\nEOF\n. echo 'a\n| b'\n"
    text += "\nc:grep grep x y\nf sort -r z\n"
    family = parse(text)[0]
    assert (family.name, family.sessions, family.task) == ("a/b", 3, "do it")
    assert [block.place for block in family.blocks] == ["first", ""]
    assert [line.template for line in family.blocks[0].lines] == ["cat > x <<'EOF'\nline\n\nEOF", "echo 'a\nb'"]
    assert [line.source for line in family.blocks[1].lines] == ["cheat:grep", "completion:sort"]
    with pytest.raises(ValueError, match=r"x\.plan:1"):
        parse("nonsense", "x.plan")


def test_programs_are_counted_where_they_are_called() -> None:
    assert programs_of("cat a | sort -u | head -n 3 > b") == ["cat", "sort", "head"]
    assert programs_of("find . -name x | xargs -n 1 wc -l") == ["find", "xargs", "wc"]
    assert programs_of("for f in *; do echo sort; done") == ["echo"]
    assert programs_of("x=$(date +%s) && ls 'rm -r'") == ["date", "ls"]
    assert programs_of("cat > f <<'EOF'\nrm -rf /\nEOF") == ["cat"]
