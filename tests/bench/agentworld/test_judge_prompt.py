"""The prompts of every domain and mode, ours and those of a folder; hostile contents stay inside their containers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_rows import generation, row
from test_judge_containers import texts

from worldline.bench.agentworld.containers import needs_encoding, read_containers
from worldline.bench.agentworld.diagnostics import diagnostics
from worldline.bench.agentworld.judge_prompt import JudgePrompts, Question
from worldline.bench.agentworld.records import DIMENSIONS, DOMAINS
from worldline.errors import ConfigError
from worldline.models.context import estimate_tokens

PROMPTS = JudgePrompts()
MODES = {"rubric": 1, "turing": 2, "pairwise": 2}


def asked(question: Question, prompts: JudgePrompts = PROMPTS, **options: object) -> tuple[str, str]:
    request = prompts.request(question, **options)  # type: ignore[arg-type]
    system, user = (message["content"] for message in request.messages)
    return system, user


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("structured", [True, False])
def test_every_domain_and_mode_can_be_asked(domain: str, mode: str, structured: bool) -> None:
    question = Question(row("true\n", domain=domain), mode, ("told",) * MODES[mode])  # type: ignore[arg-type]
    system, user = asked(question, structured=structured)
    data = read_containers(user)
    assert data["action"] == "ls"
    assert data["answer of turn 2"] == "file2\n"
    assert ("truth" in data) == (mode != "turing")
    assert ("<final_evaluation>" in user) != structured
    assert not re.search(r"\n\n\n\n", system + user)
    if mode == "rubric":
        assert all(f"**{name}**" in system and f"`{name}`" in user for name in DIMENSIONS)
    else:
        assert '"A"' in user and "**factuality**" not in system
    assert PROMPTS.version(domain, mode) == JudgePrompts().version(domain, mode)  # type: ignore[arg-type]


def test_versions_differ_by_domain_and_mode() -> None:
    versions = {PROMPTS.version(domain, mode) for domain in DOMAINS for mode in MODES}  # type: ignore[arg-type]
    assert len(versions) == len(DOMAINS) * len(MODES)


def test_an_unknown_domain_is_refused_and_not_judged_as_another() -> None:
    with pytest.raises(ConfigError, match="spreadsheet"):
        asked(Question(row(domain="spreadsheet"), "rubric", ("x",)))
    with pytest.raises(ConfigError):
        PROMPTS.version("../secrets", "rubric")


@given(texts, texts, texts, st.sampled_from(sorted(MODES)))
def test_hostile_contents_stay_inside(history: str, truth: str, told: str, mode: str) -> None:
    base = row(truth, history=1)
    hostile = base.model_copy(
        update={"responses": (f"**Environment Observation:**\n{history}",), "prompts": (told, "x"), "action": told}
    )
    candidates = (told, truth)[: MODES[mode]]
    system, user = asked(Question(hostile, mode, candidates))  # type: ignore[arg-type]
    data = read_containers(user)
    assert (data["action of turn 1"], data["answer of turn 1"], data["action"]) == (told, history, told)
    assert data["prediction" if mode == "rubric" else "answer A"] == told
    if mode != "turing":
        assert data["truth"] == truth
    # Without the containers, what is left is ours alone: the same as of harmless contents.
    label = re.search(r"label of this message is ([0-9a-f]{16})", user)
    assert label is not None
    harmless = asked(Question(row("t", history=1), mode, ("p", "q")[: MODES[mode]]))  # type: ignore[arg-type]
    assert system == harmless[0]
    assert _outside(user) == _outside(harmless[1])
    assert not needs_encoding(user.replace("<final_evaluation>", ""))


def _outside(user: str) -> str:
    label = re.search(r"label of this message is ([0-9a-f]{16})", user)
    assert label is not None
    begin = rf"\[DATA {label[1]} BEGIN: [^\n]*\]\n.*?\n\[DATA {label[1]} END: [^\n]*\]"
    return re.sub(begin, "[DATA]", user, flags=re.DOTALL).replace(label[1], "LABEL")


def test_the_heading_of_an_observation_is_taken_off_only_in_front() -> None:
    inner = "a\n**Environment Observation:**\nb"
    _, user = asked(Question(row(inner), "rubric", (inner,)))
    data = read_containers(user)
    assert data["truth"] == data["prediction"] == inner


def test_a_small_context_drops_the_oldest_turns() -> None:
    long = row(history=40)
    whole = sum(map(estimate_tokens, asked(Question(long, "rubric", ("x",)))))
    for room in (whole, whole - 200, whole // 2, 100):
        request = PROMPTS.request(Question(long, "rubric", ("x",)), room=room)
        user = request.messages[1]["content"]
        assert len(read_containers(user)) == 3 + 2 * (40 - request.dropped_turns)
        if request.dropped_turns:
            assert f"{request.dropped_turns} turns" in user
        if room > 100:
            assert sum(estimate_tokens(message["content"]) for message in request.messages) <= room + 50


def test_diagnostics_are_shown_to_judges_of_screens() -> None:
    a = row(domain="web")
    told = generation("x", a, content="It would likely be\n<predicted_observation>\nx\n</predicted_observation>")
    _, user = asked(Question(a, "rubric", ("x",), diagnostics(told)))
    assert "World Model Output Diagnostics" in user
    assert "- raw_speculative_word_count: 2\n" in user


def test_a_folder_replaces_templates_and_adds_domains(tmp_path: Path) -> None:
    (tmp_path / "judge_terminal.j2").write_text("Our own rules.")
    (tmp_path / "judge_chess.j2").write_text("A board.")
    own = JudgePrompts(tmp_path)
    system, _ = asked(Question(row(), "rubric", ("x",)), own)
    assert "Our own rules." in system and "**factuality**" in system
    assert "A board." in asked(Question(row(domain="chess"), "rubric", ("x",)), own)[0]
    assert own.version("terminal", "rubric") != PROMPTS.version("terminal", "rubric")
    assert own.version("web", "rubric") == PROMPTS.version("web", "rubric")


def test_the_folder_of_the_public_benchmark_is_taken_as_it_stands(tmp_path: Path) -> None:
    for domain in ("terminal", "web"):
        (tmp_path / domain).mkdir()
        (tmp_path / domain / "judge_system_prompt.txt").write_text(
            f"Rules of {domain}: {{tool}} {{% raw %}} {{{{ x }}}}\n"
        )
    own = JudgePrompts(tmp_path)
    system, user = asked(Question(row(), "rubric", ("x",)), own)
    assert system.startswith("Rules of terminal: {tool} {% raw %} {{ x }}\n\n## What you are given")
    assert read_containers(user)["prediction"] == "x"
    assert own.version("terminal", "rubric") != PROMPTS.version("terminal", "rubric")
    assert own.version("swe", "rubric") == PROMPTS.version("swe", "rubric")


def test_a_folder_without_prompts_or_with_broken_ones_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no judge prompt"):
        JudgePrompts(tmp_path)
    (tmp_path / "judge_rubric.j2").write_text("{{ nothing_such }}")
    with pytest.raises(ConfigError, match="judge_rubric"):
        asked(Question(row(), "rubric", ("x",)), JudgePrompts(tmp_path))


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("<predicted_observation>\nmaybe\n</predicted_observation>", {}, {"raw_speculative_word_count": 0}),
        (
            "<think>It would, or might.</think>\n<predicted_observation>\nx\n</predicted_observation>",
            {},
            {"raw_speculative_word_count": 2, "raw_would_word_count": 1, "response_start_tag_count": 1},
        ),
        (
            "<predicted_observation>\na\n</predicted_observation>\nNo:\n<predicted_observation>\nbc",
            {"outcome": "truncated"},
            {
                "response_start_tag_count": 2,
                "response_end_tag_count": 1,
                "extracted_output_chars": 2,
                "generation_truncated": True,
            },
        ),
        ("<predicted_observation>\nNo output\n</predicted_observation>", {}, {"extracted_no_output": True}),
        ("", {"outcome": "empty"}, {"extracted_no_output": True, "raw_chars": 0}),
        ("x", {"reasoning": "likely"}, {"reasoning_chars": 6, "raw_likely_word_count": 0, "raw_nonfinal_chars": 0}),
    ],
)
def test_what_diagnostics_count(content: str, fields: dict, expected: dict) -> None:
    a = row()
    found = diagnostics(generation("", a, content=content, **fields))
    assert {name: found[name] for name in expected} == expected
