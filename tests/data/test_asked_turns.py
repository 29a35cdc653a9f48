"""Rows that hold the questions of a grounded engine: the very messages, no leak, counted apart."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.asking import asked_turns
from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.filters import drawn_turns, filtered
from worldline.data.layout import answer_message
from worldline.data.sets import read_rows
from worldline.data.teaching import Teaching, TeachingOptions, taught_rows
from worldline.domains import get_domain
from worldline.engines import EngineOptions, EngineParts, build_engine
from worldline.errors import ConfigError
from worldline.formats import read_trajectories, write_trajectories
from worldline.memory import Memory
from worldline.memory.shipped import shipped_footings, shipped_memory, shipped_memory_without
from worldline.models.scripted import ScriptedModel
from worldline.models.watching import WatchedModel
from worldline.recordings import path
from worldline.train.material import stage_rows
from worldline.train.recipe import parse_recipe
from worldline.train.rewards.grading import RubricGrader
from worldline.types import Observation

ANSWER = "<predicted_observation>\nmade up\n</predicted_observation>"


@pytest.fixture(scope="module")
def recorded():
    """Two families whose questions are many, and one more."""
    return [t for t in read_trajectories(path("mcp", "train")) if t.family.startswith("memory/graph-")][:12]


@pytest.fixture(scope="module")
def shell():
    return list(read_trajectories(path("terminal", "train")))[:40]


def built(trajectories, stage="sft", **options):
    report = BuildReport()
    return list(build_rows(trajectories, DataOptions(stage=stage, pool="all", **options), report)), report


async def heard(trajectory, memory, prompts=None):
    """What a model that stands inside a grounded engine is asked over a trajectory, by turn."""
    model = ScriptedModel({"*": ANSWER})
    parts = EngineParts(model=model, memory=memory, prompts=prompts)
    engine = build_engine("grounded", trajectory.world, EngineOptions(), parts)
    found = {}
    for number, turn in enumerate(trajectory.turns):
        before = len(model.calls)
        prediction = await engine.predict(turn.action, trajectory.turns[:number])
        if len(model.calls) > before:
            assert prediction.origin == "generated"
            found[number] = model.calls[-1]
        engine.absorb(turn)
    engine.close()
    return found


def others(trajectory, domain):
    """A memory of all that was recorded in other families, put together here."""
    kept = [t for t in read_trajectories(path(domain, "train")) if t.family != trajectory.family]
    if domain == "terminal":
        kept += read_trajectories(path(domain, "train", dialect="keystrokes"))
    return Memory.from_trajectories(kept, known_footprints=shipped_footings(domain))


@pytest.mark.parametrize(("domain", "prompts"), [("mcp", None), ("terminal", None), ("terminal", "brief")])
async def test_rows_begin_with_what_a_model_inside_the_engine_is_asked(domain, prompts, recorded, shell):
    prompts = Path(prompts) if prompts else None
    source = next(t for t in (recorded if domain == "mcp" else shell) if asked_now(t))
    expected = await heard(source, others(source, domain), prompts)
    rows, report = built([source], asked="grounded", turns_per_trajectory=99, prompts=prompts)
    assert rows and report.unsure == {domain: len(expected)}
    for row in rows:
        asked = json.dumps([{"role": m.role, "content": m.content} for m in row.messages[:-1]]).encode()
        assert asked == json.dumps(expected[row.turn]).encode()
        told = get_domain(domain).parse_answer(row.messages[-1].content, source.world)
        assert told.text == source.turns[row.turn].observation.text
        assert [m.weight for m in row.messages] == [0] * (len(row.messages) - 1) + [1]
    prompts_of_rl, _ = built([source], "rl", asked="grounded", turns_per_trajectory=99, prompts=prompts)
    assert [row.messages for row in prompts_of_rl] == [row.messages[:-1] for row in rows]
    for row in prompts_of_rl:
        assert Observation.model_validate(row.truth).text == source.turns[row.turn].observation.text
        assert row.extra["asked"] == "grounded" and len(row.extra["history"]) == row.turn


def asked_now(trajectory):
    return set(drawn_turns(filtered(trajectory), trajectory, 0, 99)) & {one.turn for one in asked_turns(trajectory)}


def test_nothing_of_the_own_family_is_remembered(shell):
    source = shell[0]
    memory, whole = shipped_memory_without(source), shipped_memory("terminal")
    own = sum(len(t.turns) for t in read_trajectories(path("terminal", "train")) if t.family == source.family)
    assert own and len(memory) == len(whole) - own
    for turn in source.turns:
        assert source.family not in {t.family for t in memory.nearest("terminal", turn.action, 20)}
    renamed = source.model_copy(update={"family": "mine"})
    assert len(shipped_memory_without(renamed)) == len(memory)
    foreign = renamed.model_copy(update={"id": "mine"})
    assert shipped_memory_without(foreign) is whole


def test_rows_say_and_reports_count_how_they_were_asked(recorded):
    rows, report = built(recorded, asked="both", turns_per_trajectory=4)
    grounded = [row for row in rows if row.extra.get("asked") == "grounded"]
    assert 0 < len(grounded) < len(rows) == sum(report.asked.values())
    assert report.asked == {"grounded": len(grounded), "model": len(rows) - len(grounded)}
    sources = {source.id: source for source in recorded}
    for row in grounded:
        asked = {one.turn: one for one in asked_turns(sources[row.trajectory])}
        assert row.extra["guess_exact"] is asked[row.turn].guess_exact
        assert row.teacher is None and row.messages[-1].reasoning is None
    assert 0 < report.guessed["mcp"] < report.unsure["mcp"]
    alone, _ = built(recorded, turns_per_trajectory=4)
    assert alone == [row for row in rows if row not in grounded]
    most = max(sum(row.trajectory == source.id for row in grounded) for source in recorded)
    assert 1 < most <= 4
    one_each, _ = built(recorded, asked="grounded")
    assert {row.id for row in one_each} <= {row.id for row in grounded}
    assert len(one_each) == len({row.trajectory for row in grounded})


def test_where_the_engine_asks_nothing_there_is_no_row(recorded):
    quiet = next(t for t in recorded if not asked_now(t))
    rows, report = built([quiet], asked="grounded")
    assert not rows and report.left_out == {"the grounded engine asks nothing": 1}
    foreign = quiet.model_copy(update={"world": quiet.world.model_copy(update={"domain": "elsewhere"})})
    rows, report = built([foreign], "rl", asked="grounded")
    assert not rows and report.left_out == {"no kernel to be grounded in": 1}


def test_the_command_makes_such_a_set(tmp_path, recorded):
    write_trajectories(tmp_path / "in.jsonl", recorded)
    command = ["data", "build", "sft", "--from", str(tmp_path / "in.jsonl"), "--pool", "all", "--json", "-"]
    options = ["--asked", "grounded", "--turns-per-trajectory", "4"]
    written = []
    for jobs in ("1", "2"):
        out = tmp_path / jobs
        done = CliRunner().invoke(cli, [*command, *options, "--jobs", jobs, "--out", str(out)])
        assert done.exit_code == 0, done.output
        report = json.loads(done.output)
        rows = list(read_rows(out))
        assert report["asked"] == {"grounded": len(rows)} and report["unsure"]["mcp"] >= len(rows) > 4
        assert report["options"]["asked"] == "grounded"
        assert "Asked by (rows)" in (out / "README.md").read_text()
        written.append(rows)
    assert written[0] == written[1]
    refused = CliRunner().invoke(cli, ["data", "build", "cpt", *command[3:], *options, "--out", str(tmp_path / "x")])
    assert isinstance(refused.exception, ConfigError)


@pytest.mark.parametrize("stage", ["sft", "rl"])
def test_a_recipe_learns_from_such_rows(stage, tmp_path, recorded):
    write_trajectories(tmp_path / "in.jsonl", recorded)
    data = f"{{real: [], sources: [{tmp_path}/in.jsonl], pool: all, asked: grounded, turns_per_trajectory: 4}}"
    recipe = parse_recipe(f"name: small\nmodel:\n  scratch: {{}}\ndata: {data}\n{stage}: {{}}\n")
    expected, _ = built(recorded, stage, asked="grounded", turns_per_trajectory=4)
    assert [row.messages for row in stage_rows(recipe, stage)] == [row.messages for row in expected]


def test_a_teacher_answers_such_questions(recorded):
    asked, _ = built(recorded, "rl", asked="grounded")
    prompts = {row.messages[-1].content: row for row in asked}
    worlds = {source.id: source.world for source in recorded}

    def answer(messages):
        row = prompts[messages[-1]["content"]]
        truth = Observation.model_validate(row.truth)
        return f"<think>\nI think so.\n</think>\n{answer_message(truth, worlds[row.trajectory]).content}"

    teaching = Teaching(WatchedModel(ScriptedModel(answer)), RubricGrader(), TeachingOptions(rollouts=1))
    options, report = DataOptions(stage="sft", pool="all", asked="grounded"), BuildReport()
    rows = list(taught_rows(recorded, options, report, teaching))
    assert len(rows) == len(asked) > 1 and report.asked == {"grounded": len(rows)} and report.unsure["mcp"]
    for row, question in zip(rows, asked, strict=True):
        assert row.messages[:-1] == question.messages and row.messages[-1].reasoning == "I think so."
        assert row.extra["teaching"] and row.extra["guess_exact"] is question.extra["guess_exact"]
