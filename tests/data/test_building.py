"""Making training sets: filters, masks, executed reasoning, pools, decontamination, memory and damaged sets."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.building import BuildReport, DataOptions, build_rows, pool_of
from worldline.data.export import EXPORTERS, export
from worldline.data.filters import drawn_turns, filtered
from worldline.data.overlap import Reference
from worldline.data.sets import read_rows, write_rows
from worldline.domains import get_domain
from worldline.errors import ConfigError, FormatError
from worldline.formats import read_trajectories
from worldline.formats.base import EVALUATION_ONLY
from worldline.recordings import path
from worldline.types import Action, Observation, Source, ToolSpec, Trajectory, Turn, WorldSpec


def turn(command, text, *, error=False, **more):
    return Turn(
        action=Action(name="bash", arguments={"command": command}),
        observation=Observation(text=text, is_error=error),
        **more,
    )


def trajectory(*turns, domain="terminal", **more):
    world = WorldSpec(domain=domain, initial_state={"shell": {"merged": True}} if domain == "terminal" else {}, **more)
    return Trajectory(source=Source.OBSERVED, world=world, turns=turns, family="f")


@pytest.fixture(scope="module")
def recorded():
    return [t for number, t in zip(range(24), read_trajectories(path("terminal", "train")), strict=False)]


def built(trajectories, stage, **options):
    report = BuildReport()
    rows = list(build_rows(trajectories, DataOptions(stage=stage, pool="all", **options), report))
    return rows, report


def test_short_trajectories_and_undeclared_tools_are_left_out():
    assert filtered(trajectory(turn("ls", "a"))).whole == "fewer than two turns"
    declared = trajectory(turn("ls", "a"), turn("ls", "a"), tools=(ToolSpec(name="other"),))
    assert filtered(declared).whole == "undeclared tool bash"


def test_empty_actions_and_retries_are_no_targets():
    mine = trajectory(turn("ls", "a"), turn("x", "no", error=True), turn("x", "yes"), turn(" ", ""))
    outcome = filtered(mine)
    assert outcome.targets == (0, 2) and outcome.dropped == {1: "retried", 3: "empty action"}
    assert drawn_turns(outcome, mine, 0)[0] in (0, 2)
    assert drawn_turns(outcome, mine, 0) == drawn_turns(outcome, mine, 0)


def test_all_failures_of_a_retried_action_are_no_targets():
    tries = [turn("x", "no", error=True), turn("x", "no", error=True), turn("x", "yes")]
    assert filtered(trajectory(*tries)).dropped == {0: "retried", 1: "retried"}
    assert filtered(trajectory(*tries[:2])).dropped == {}, "it never succeeds, so that is how the environment is"
    assert filtered(trajectory(tries[0], turn("ls", "a"), *tries[1:])).dropped == {2: "retried"}
    assert filtered(trajectory(turn("x", "no", error=True, train=0), *tries)).dropped[0] == "not for training"


def test_screens_that_did_not_change_are_no_targets():
    mine = trajectory(turn("a", "page", state_before="page"), turn("b", "other", state_before="page"), domain="web")
    assert filtered(mine).dropped == {0: "no change"}
    assert filtered(trajectory(turn("a", "x"), turn("b", "y"), domain="os")).whole == "a state is missing"


def test_whole_trajectories_become_chats_whose_observations_count(recorded):
    rows, report = built(recorded, "cpt")
    assert len(rows) == report.rows == len(recorded)
    for row, source in zip(rows, recorded, strict=True):
        roles = [message.role for message in row.messages]
        assert roles == ["system", *["user", "assistant"] * len(source.turns)]
        assert all(message.weight == 0 for message in row.messages if message.role != "assistant")
        assert all(message.label for message in row.messages if message.role == "assistant")
    assert sum(report.labels.values()) == report.turns > sum(report.trained.values()) > 0
    unmasked, all_trained = built(recorded, "cpt", mask=False)
    assert sum(all_trained.trained.values()) == report.turns and len(unmasked) == len(rows)


def test_by_the_brief_prompt_every_turn_of_a_chat_is_asked_as_a_model_alone_is_asked(recorded):
    [row, *_], _ = built(recorded, "cpt", prompts=Path("brief"))
    [whole] = [one for one in recorded if one.id == row.trajectory]
    domain = get_domain("terminal", Path("brief"))
    asked = [message.content for message in row.messages if message.role == "user"]
    assert asked == [domain.messages(whole.world, (), turn.action)[-1]["content"] for turn in whole.turns]
    assert row.messages[0].content == domain.messages(whole.world, (), whole.turns[0].action)[0]["content"]
    assert (
        row.messages[-2].content
        == domain.messages(whole.world, whole.turns[:-1], whole.turns[-1].action)[-1]["content"]
    )


def test_executed_reasoning_leads_to_the_true_observation(recorded):
    rows, report = built(recorded, "sft", state_change=True)
    assert len(rows) + sum(report.left_out.values()) == len(recorded) and len(rows) > 15
    sources = {source.id: source for source in recorded}
    for row in rows:
        source = sources[row.trajectory]
        last = row.messages[-1]
        told = get_domain("terminal").parse_answer(last.content, source.world)
        assert told.text == source.turns[row.turn].observation.text
        assert row.teacher == "executed" and last.reasoning and last.weight == 1
        assert [m.weight for m in row.messages[:-1]] == [0] * (len(row.messages) - 1)
        assert ("It leaves the state as it is." in last.reasoning) == (not row.target["state_change"])
        assert last.content.startswith("<state_change>")


def test_the_truth_of_a_prompt_is_kept_from_the_model(recorded):
    rows, _ = built(recorded, "rl")
    sources = {source.id: source for source in recorded}
    for row in rows:
        assert row.messages[-1].role == "user"
        truth = Observation.model_validate(row.truth)
        assert truth.text == sources[row.trajectory].turns[row.turn].observation.text


def test_the_same_options_give_the_same_rows_in_any_company(recorded):
    alone, _ = built(recorded[:1], "rl")
    beside, _ = built(recorded, "rl")
    assert alone[0] == beside[0]
    other, _ = built(recorded, "rl", seed=1)
    assert [row.turn for row in other] != [row.turn for row in beside]


def test_pools_share_no_family(recorded):
    pools = {"cpt": set(), "tuning": set()}
    for source in recorded:
        pools[pool_of(source, 0.6)].add(source.family)
    assert pools["cpt"] and pools["tuning"] and not pools["cpt"] & pools["tuning"]


def test_simulated_trajectories_are_refused_unless_asked_for(recorded):
    simulated = [recorded[0].model_copy(update={"source": Source.SIMULATED})]
    with pytest.raises(ConfigError, match="simulated"):
        built(simulated, "cpt")
    rows, report = built(simulated, "cpt", allow_simulated=True)
    assert rows[0].source is Source.SIMULATED and report.sources == {"simulated": 1}


def test_rows_of_a_benchmark_itself_are_never_learned(recorded):
    row = recorded[0].model_copy(update={"origin": {**recorded[0].origin, EVALUATION_ONLY: True}})
    for stage in ("cpt", "sft", "rl"):
        rows, report = built([row], stage)
        assert rows == [] and report.left_out == {"a benchmark's own row": 1}


def test_what_stands_in_a_benchmark_is_left_out(recorded):
    reference = Reference()
    reference.hold(recorded[3])
    report = BuildReport()
    options = DataOptions(stage="rl", pool="all")
    rows = list(build_rows([*recorded, recorded[0]], options, report, benchmarks=reference))
    assert recorded[3].id not in {row.trajectory for row in rows}
    assert report.left_out["in a benchmark"] >= 1 and report.left_out["a second time"] == 1


def test_long_rows_lose_their_early_turns_whole(recorded):
    rows, report = built(recorded, "cpt", max_characters=4000)
    assert report.shortened > 0
    for row, source in zip(rows, recorded, strict=True):
        if "dropped_turns" in row.extra:
            assert row.messages[0].role == "system" and row.messages[1].role == "user"
            assert len(row.messages) == 1 + 2 * (len(source.turns) - row.extra["dropped_turns"])


def test_sets_are_read_as_they_were_written_and_torn_lines_named(recorded, tmp_path):
    rows, _ = built(recorded, "sft")
    assert write_rows(tmp_path, rows) == len(rows)
    assert list(read_rows(tmp_path)) == rows
    (tmp_path / "torn.jsonl").write_text(rows[0].model_dump_json() + "\n" + '{"stage": "sft"')
    with pytest.raises(FormatError) as caught:
        list(read_rows(tmp_path / "torn.jsonl"))
    assert caught.value.line == 2


@pytest.mark.parametrize("trainer", sorted(EXPORTERS))
@pytest.mark.parametrize("stage", ["cpt", "sft", "rl"])
def test_every_trainer_learns_what_the_weights_say(trainer, stage, recorded, tmp_path):
    if trainer == "verl":
        pytest.importorskip("pyarrow")
    rows, _ = built(recorded, stage)
    learned = sum(message.weight > 0 for row in rows for message in row.messages)
    count = export(trainer, rows, tmp_path)
    whole = trainer in ("ms-swift", "tinker") or stage == "rl"
    assert count == (len(rows) if whole else learned)
    if trainer == "verl":
        return
    found = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().split("\n")[:-1]]
    if trainer == "ms-swift":
        assert sum(bool(m.get("loss")) for value in found for m in value["messages"]) == learned
    elif trainer == "tinker":
        assert sum(m["trainable"] for value in found for m in value["messages"]) == learned
    elif stage != "rl" and trainer == "trl":
        assert all(value["completion"][0]["role"] == "assistant" for value in found)
    if stage == "sft":
        assert "<think>" in json.dumps(found[0])


def test_the_commands_make_a_set_and_export_it(tmp_path, recorded):
    from worldline.formats import write_trajectories

    write_trajectories(tmp_path / "in.jsonl", recorded)
    command = [
        "data",
        "build",
        "sft",
        "--from",
        str(tmp_path / "in.jsonl"),
        "--pool",
        "all",
        "--out",
        str(tmp_path / "set"),
    ]
    done = CliRunner().invoke(cli, [*command, "--json", "-"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    assert report["rows"] > 15 and report["domains"] == {"terminal": report["rows"]}
    assert "Fine-tuning" in (tmp_path / "set" / "README.md").read_text()
    done = CliRunner().invoke(cli, ["data", "export", "trl", str(tmp_path / "set")])
    assert done.exit_code == 0 and (tmp_path / "set" / "trl" / "train.jsonl").is_file()
    nothing = CliRunner().invoke(cli, ["data", "build", "cpt", "--out", str(tmp_path / "x")])
    assert isinstance(nothing.exception, ConfigError)
