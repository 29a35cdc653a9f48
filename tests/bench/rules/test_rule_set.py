"""Rule checks made of trajectories, tried, kept, and run on engines and on runs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline import write_trajectories
from worldline.bench.agentworld.records import Generation
from worldline.bench.agentworld.rows import index_rows
from worldline.bench.agentworld.store import RunWriter
from worldline.bench.rules.generating import rules_of
from worldline.bench.rules.records import RuleCheck, varied
from worldline.bench.rules.running import check_engine, check_rows, row_anchor, summed
from worldline.bench.rules.validating import build_rules, read_rules, write_rules, wrong_answers
from worldline.bench.suite import engine_factory, load_suite
from worldline.cli import cli
from worldline.engines import EngineOptions, EngineParts
from worldline.errors import ConfigError, FormatError
from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json
from worldline.memory import Memory
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def done(command: str, out: str = "", err: str = "", code: int = 0) -> Turn:
    answer = Observation.from_streams(out.encode(), err.encode(), code)
    return Turn(action=Action(name="bash", arguments={"command": command}), observation=answer)


def session(*turns: Turn, family: str = "f") -> Trajectory:
    return Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal"), turns=turns, family=family)


SESSION = session(
    done("mkdir -p /home/user/work"),
    done("cd /home/user/work"),
    done("echo 'the harvest begins' > note"),
    done("export STAGE=green-7"),
    done("ls missing", err="ls: cannot access 'missing': No such file or directory\n", code=2),
    done("cat note", "the harvest begins\n"),
    done("true"),
    done("echo $STAGE", "green-7\n"),
    done("pwd", "/home/user/work\n"),
    done("test -f nothing", code=1),
)


def found(kind: str, trajectory: Trajectory = SESSION) -> RuleCheck:
    (rule,) = [rule for rule in rules_of(trajectory) if rule.kind == kind]
    return rule


def engine(name: str):
    memory = Memory()
    return engine_factory(name, memory, EngineOptions(), EngineParts(memory=memory))


@pytest.mark.parametrize(
    ("kind", "axis", "turn", "evidence"),
    [
        ("message", "error_handling", 5, None),
        ("status", "error_handling", 10, None),
        ("write_read", "long_context", 6, 3),
        ("variable", "long_context", 8, 4),
        ("directory", "long_context", 9, 2),
        ("other_value", "controllability", 6, 3),
    ],
)
def test_each_generator_finds_its_turn(kind: str, axis: str, turn: int, evidence: int | None):
    rule = found(kind)
    assert (rule.axis, rule.turn, rule.evidence_turn) == (axis, turn, evidence)


def test_rules_that_change_the_world_change_its_history_and_nothing_else():
    rule = found("other_value")
    (old, new), = rule.replace.items()  # fmt: skip
    _, turns = varied(SESSION, rule)
    assert len(turns) == 6 and old in ("harvest", "begins")
    assert turns[2].action.command == f"echo '{'the harvest begins'.replace(old, new)}' > note"
    assert turns[5].observation.stdout == "the harvest begins\n".replace(old, new)
    assert turns[0] == SESSION.turns[0]


def test_a_word_that_is_also_a_name_or_asked_for_is_not_replaced():
    named = session(done("echo orchard > orchard.txt"), done("true"), done("cat orchard.txt", "orchard\n"))
    asked = session(done("echo orchard > a"), done("true"), done("grep orchard a", "orchard\n"))
    for one in (named, asked):
        assert not [rule for rule in rules_of(one) if rule.kind == "other_value"]


def test_what_stood_in_the_answer_before_needs_no_memory():
    shown = session(done("echo 'some words' > a"), done("cat a", "some words\n"), done("cat a", "some words\n"))
    assert [rule.turn for rule in rules_of(shown) if rule.kind == "write_read"] == [2]


def test_errors_in_json_answers():
    answer = Observation(text='{"error": {"code": "not_found", "message": "no such repo"}}')
    one = Turn(action=Action(name="get_repo", arguments={"name": "x"}), observation=answer)
    world = WorldSpec(domain="mcp")
    (rule,) = rules_of(Trajectory(source=Source.OBSERVED, world=world, turns=(one,)))
    assert rule.kind == "json_error" and rule.check.path == ("error", "code") and rule.check.equals == "not_found"


def test_kept_rules_pass_the_truth_and_fail_something_wrong():
    built, used = build_rules([SESSION], per_axis=20, rollouts={"grounded": engine("grounded")})
    assert used == [SESSION] and {rule.axis for rule in built.rules} == {
        "controllability",
        "error_handling",
        "long_context",
    }
    for rule in built.rules:
        tried = rule.agreement
        assert tried.right_passed == tried.right >= 1 and tried.wrong_failed >= 1
        assert len(tried.missed) == tried.wrong - tried.wrong_failed


def test_a_rule_that_tells_nothing_apart_is_not_kept():
    # The same failure twice in a row: neither the previous answer nor any damage has another status.
    twice = session(done("test -f a", code=1), done("test -f b", code=1))
    built, _ = build_rules([twice])
    assert [(rule.turn, rule.kind) for rule in built.rules] == []
    assert built.left_out["tells nothing apart"] == 2


def test_an_unchanged_world_is_the_wrong_answer_of_a_changed_one():
    rule = found("other_value")
    names = [one.name for one in wrong_answers(SESSION, rule)]
    assert names[0] == "answer of the unchanged world"


def test_engines_are_told_apart():
    built, _ = build_rules([SESSION], per_axis=20)
    trajectories = {SESSION.id: SESSION}
    good = summed("grounded", check_engine(built.rules, trajectories, engine("grounded")))
    bad = summed("most-frequent", check_engine(built.rules, trajectories, engine("most-frequent")))
    assert good.all.value == 1.0 and good.n == len(built.rules) and good.n_failed == 0
    assert bad.axes["long_context"].value == 0.0 and bad.axes["controllability"].value == 0.0
    with pytest.raises(ConfigError, match="not there"):
        check_engine(built.rules, {}, engine("grounded"))


def test_a_failing_model_counts_as_not_passed():
    class Refusing:
        async def predict(self, action: Action, history: object) -> None:
            raise ConfigError("no")

        def absorb(self, turn: Turn) -> None: ...
        def close(self) -> None: ...

    built, _ = build_rules([SESSION])
    table = summed("x", check_engine(built.rules, {SESSION.id: SESSION}, lambda world: Refusing()))  # type: ignore[arg-type, return-value]
    assert table.all.value == 0.0 and table.n_failed == table.n > 0


def test_intervals_are_resampled_by_family():
    sessions = [session(*SESSION.turns[: 6 + n], family=f"f{n}") for n in range(4)]
    built, _ = build_rules(sessions)
    table = summed("e", check_engine(built.rules, {one.id: one for one in sessions}, engine("most-frequent")), seed=3)
    figure = table.axes["error_handling"]
    assert figure.n_trajectories == 4 and figure.interval is not None


def benchmark(folder: Path, *trajectories: Trajectory) -> Path:
    folder.mkdir()
    lines = [plain_json(row) + "\n" for one in trajectories for row in rows_of(one)]
    (folder / "terminal_test.jsonl").write_text("".join(lines))
    return folder


def test_predictions_of_a_run_are_checked_at_their_rows(tmp_path: Path):
    index = index_rows(benchmark(tmp_path / "data", SESSION))
    rows = [index.read(ref) for ref in index.refs]
    built, _ = build_rules([SESSION], per_axis=20)
    plain = [rule for rule in built.rules if not rule.variation]
    assert {row_anchor(row) for row in rows} >= {rule.anchor for rule in plain}

    def generations(text_of):
        for row in rows:
            told = {"key": f"g{row.turn}", "row": row.key, "model": "m"}
            text = text_of(row)
            if text is None:
                yield row, Generation(**told, outcome="error")
            else:
                content = f"<predicted_observation>\n{text}\n</predicted_observation>"
                yield row, Generation(**told, outcome="ok", content=content)

    truth = {n: turn.observation.text for n, turn in enumerate(SESSION.turns, 1)}
    results, absent = check_rows(built.rules, generations(lambda row: truth[row.turn]))
    assert all(result.passed for result in results) and len(results) == len(plain)
    assert absent == len(built.rules) - len(plain)
    shows = [rule for rule in plain if rule.kind in ("write_read", "message")]
    results, _ = check_rows(shows, generations(lambda row: "nothing of it"))
    assert len(results) == len(shows) and not any(result.passed for result in results)
    results, _ = check_rows(shows, generations(lambda row: None))
    assert {result.failure for result in results} == {"error"}


def test_rules_made_of_rows_ask_about_the_same_rows(tmp_path: Path):
    index = index_rows(benchmark(tmp_path / "data", SESSION))
    (read,) = load_suite("terminal", "x", data=tmp_path / "data" / "terminal_test.jsonl").trajectories
    anchors = {row_anchor(index.read(ref)) for ref in index.refs}
    rules = list(rules_of(read))
    assert rules and {rule.anchor for rule in rules} <= anchors


def test_the_commands(tmp_path: Path):
    data, out = tmp_path / "d.jsonl", tmp_path / "rules.jsonl"
    write_trajectories(data, [SESSION])
    run = CliRunner()
    arguments = ["bench", "rules", "build", "--from", str(data), "--out", str(out), "--json", "-"]
    built = json.loads(run.invoke(cli, arguments, catch_exceptions=False).stdout)
    assert built["rules"] == len(read_rules(out)) and built["axes"]["long_context"]
    arguments = ["bench", "rules", "run", "--rules", str(out), "--engine", "most-frequent", "--json", "-"]
    (table,) = json.loads(run.invoke(cli, arguments, catch_exceptions=False).stdout)
    assert table["name"] == "most-frequent" and table["n"] == built["rules"]
    out.write_text(out.read_text() + '{"op": "contains"}\n')
    with pytest.raises(FormatError, match=f"rules.jsonl:{built['rules'] + 1}"):
        read_rules(out)


def test_a_run_folder_is_checked_by_the_command(tmp_path: Path):
    index = index_rows(benchmark(tmp_path / "data", SESSION))
    built, used = build_rules([SESSION], per_axis=20)
    write_rules(tmp_path / "rules.jsonl", built, used)
    with RunWriter(tmp_path / "run") as writer:
        writer.put_settings({"data": str(index.folder)})
        writer.put_rows(index.refs)
        for ref in index.refs:
            # The first call for each row fails; a later one of the same key counts instead.
            told = {"key": f"g{ref.turn}", "row": ref.key, "model": "m"}
            if ref.turn == 6:
                failed = {"type": "EndpointError", "message": "x", "hint": None, "transient": True}
                writer.generations.append(Generation(**told, outcome="error", error=failed))
            writer.generations.append(
                Generation(**told, outcome="ok", content=SESSION.turns[ref.turn - 1].observation.text or " \n.")
            )
    arguments = ["bench", "rules", "run", "--rules", str(tmp_path / "rules.jsonl"), "--run", str(tmp_path / "run")]
    (table,) = json.loads(CliRunner().invoke(cli, [*arguments, "--json", "-"], catch_exceptions=False).stdout)
    plain = [rule for rule in built.rules if not rule.variation]
    assert table["n"] == len(plain) and table["n_without_row"] == len(built.rules) - len(plain)
    assert table["axes"]["long_context"]["value"] == 1.0 and table["n_failed"] == 0
