"""Scoring a run of recorded turns with every kind of trouble in it, by both protocols."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from scored_run import JUDGE, SPECIAL, make_data, make_run

from worldline.bench.agentworld.records import DIMENSIONS, Judgement
from worldline.bench.agentworld.report import write_report
from worldline.bench.agentworld.scoring import RunFacts, chosen_judge, differences, read_run, score_rows
from worldline.bench.agentworld.statistics import Value, macro, micro, paired
from worldline.bench.agentworld.store import RunFolder, RunWriter
from worldline.bench.agentworld.strict import strict_row, valid_scores
from worldline.bench.agentworld.summary import Summary, compare, summarize
from worldline.cli import cli
from worldline.errors import ConfigError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scored")
    return make_run(folder / "run", make_data(folder / "data"))


@pytest.fixture(scope="module")
def facts(run: Path) -> RunFacts:
    return read_run(RunFolder(run))


def test_failed_rows_count_as_worst_and_are_shown_apart(run: Path, facts: RunFacts) -> None:
    rows = {row.row: row for row in score_rows(facts, "strict", JUDGE)}
    kinds = dict(zip(SPECIAL, list(facts.refs), strict=False))
    failures = {kind: rows[key].failure for kind, key in kinds.items()}
    assert failures == {
        "error": "generation error",
        "empty": "empty generation",
        "truncated": "truncated without an answer",
        "judge error": "judge failure",
        "missing": "judge failure",
        "decimal": "judge failure",
        "ninety": "judge failure",
        "negative": "judge failure",
        "no scores": "judge failure",
        "broken by the repair": None,
    }
    assert all(row.score == 0 and set(row.dimensions.values()) == {0} for row in rows.values() if row.failure)
    summary = summarize(run)
    assert (summary.n, summary.n_failed, summary.n_pending) == (60, 9, 0)
    assert sum(summary.failures.values()) == 9
    assert summary.macro is not None and summary.macro_excluding_failures is not None
    assert summary.macro < summary.macro_excluding_failures


def test_macro_is_the_mean_of_domains_and_micro_of_rows(facts: RunFacts) -> None:
    rows = score_rows(facts, "strict", JUDGE)[:33]  # mcp 20 and swe 13 rows
    values = [Value(row.row, row.domain, row.trajectory, row.score or 0.0) for row in rows]
    by_domain = [[v.value for v in values if v.domain == domain] for domain in ("mcp", "swe")]
    assert [len(one) for one in by_domain] == [20, 13]
    means = [sum(one) / len(one) for one in by_domain]
    assert macro(values).value == pytest.approx(sum(means) / 2)
    assert micro(values).value == pytest.approx(sum(v.value for v in values) / 33)


def test_both_protocols_come_from_the_same_records(run: Path, facts: RunFacts) -> None:
    official = summarize(run, "official")
    assert (official.n, official.n_failed) == (60, 4)
    assert official.macro == official.protocols["official"].macro
    assert official.protocols == summarize(run).protocols
    rows = {row.row: row for row in score_rows(facts, "official", JUDGE)}
    kinds = dict(zip(SPECIAL, list(facts.refs), strict=False))
    assert rows[kinds["missing"]].score == 100  # one 5, the rest missing
    assert rows[kinds["no scores"]].score is None and rows[kinds["no scores"]].failure is None
    assert rows[kinds["negative"]].dimensions["realism"] == -50


def test_differences_say_which_rows_and_why(facts: RunFacts) -> None:
    found = {difference.row: difference for difference in differences(facts, JUDGE)}
    kinds = dict(zip(SPECIAL, list(facts.refs), strict=False))
    for kind, key in kinds.items():
        reasons = " / ".join(found[key].reasons) if key in found else ""
        expected = {
            "error": "strict counts it as worst, official leaves it out",
            "missing": "missing or unreadable dimensions out of the mean: factuality",
            "ninety": "rounds or clamps",
            "negative": "below 0",
            "broken by the repair": "",
        }.get(kind, "failed")
        assert expected in reasons, kind
    repeated = [one for one in found.values() if "mean of the repeats" in " ".join(one.reasons)]
    assert len(repeated) == 5
    same = set(facts.refs) - set(found)
    strict = {row.row: row.score for row in score_rows(facts, "strict", JUDGE)}
    official = {row.row: row.score for row in score_rows(facts, "official", JUDGE)}
    assert same and all(strict[key] == pytest.approx(official[key]) for key in same)


def test_a_row_needs_five_integers_from_1_to_5() -> None:
    good = dict.fromkeys(DIMENSIONS, 3)
    assert valid_scores(good)
    for bad in (None, {}, {**good, "format": 0}, {**good, "format": 6}, {**good, "format": True}, {**good, "x": 3}):
        assert not valid_scores(bad)
    assert strict_row(None, [good]).score == 50
    assert strict_row(None, [None, dict.fromkeys(DIMENSIONS, 5), good]).score == 75
    assert strict_row(None, [None]).failure == "judge failure"


def test_rows_without_an_answer_or_a_judgement_are_pending_and_in_no_figure(tmp_path: Path) -> None:
    index = make_data(tmp_path / "data", trajectories=6)
    run = make_run(tmp_path / "run", index, special=False)
    lines = (run / "judgements.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "judgements.jsonl").write_text("".join(lines[:-5]), encoding="utf-8")
    summary = summarize(run)
    assert summary.n + summary.n_pending == len(index.refs) and summary.n_pending >= 4
    (run / "judgements.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="no row that is judged"):
        summarize(run)


def test_the_judge_that_answered_last_counts_unless_another_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", make_data(tmp_path / "data", trajectories=3), special=False)
    first = next(iter(read_run(RunFolder(run)).generations.values())).record
    scores = dict.fromkeys(DIMENSIONS, 1)
    with RunWriter(run) as writer:
        writer.judgements.append(
            Judgement(key="x", generation=first.key, row=first.row, model="second", outcome="ok", scores=scores)
        )
    facts = read_run(RunFolder(run))
    assert (chosen_judge(facts), chosen_judge(facts, JUDGE)) == ("second", JUDGE)
    assert summarize(run).n == 1
    named = summarize(run, judge=JUDGE)
    assert (named.n, named.other_judges) == (12, ("second",))
    with pytest.raises(ConfigError, match="unknown judge"):
        chosen_judge(facts, "third")


def test_intervals_follow_the_trajectory_not_the_row() -> None:
    rng = random.Random(5)
    whole = [Value(f"{t}-{i}", "mcp", str(t), rng.gauss(50, 1)) for t in range(40) for i in range(5)]
    shared = [Value(v.row, "mcp", v.trajectory, 50 + 20 * (hash(int(v.trajectory)) % 5 - 2)) for v in whole]
    apart = [Value(v.row, "mcp", v.row, v.value) for v in shared]
    wide, narrow = micro(shared).interval, micro(apart).interval
    assert wide is not None and narrow is not None
    assert (wide[1] - wide[0]) > 1.7 * (narrow[1] - narrow[0])  # sqrt(5) in the limit
    assert micro(whole[:5]).interval is None  # one trajectory says nothing about another
    assert macro([]).value is None


def test_paired_differences_are_taken_on_the_rows_that_both_scored(tmp_path: Path) -> None:
    index = make_data(tmp_path / "data", trajectories=9)
    better = make_run(tmp_path / "a", index, special=False, spoil=1)
    worse = make_run(tmp_path / "b", index, special=False, spoil=60, model="worse")
    found = compare(read_run(RunFolder(better)), read_run(RunFolder(worse)), "strict", [JUDGE, JUDGE])
    assert (found.n, found.only_first, found.only_second) == (36, 0, 0)
    assert found.macro.value is not None and found.macro.value > 0
    assert found.p_macro is not None and found.p_macro < 0.05
    values = [Value(str(i), "mcp", str(i), float(i)) for i in range(8)]
    same = paired(values, values[2:])
    assert (same.n, same.only_first, same.macro.value, same.p_macro) == (6, 2, 0.0, 1.0)


def test_the_command_writes_the_summary_and_prints_it(run: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["bench", "agentworld", "score", str(run), "--differences", "--json", "-"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.output)
    needed = "macro micro macro_excluding_failures per_domain per_dimension n n_failed protocol judge model"
    assert set(needed.split()) <= set(printed)
    assert Summary.model_validate_json((run / "summary.json").read_text(encoding="utf-8")).macro == printed["macro"]
    shown = CliRunner().invoke(cli, ["bench", "agentworld", "score", str(run), "--protocol", "official"])
    assert "macro (mean of domains)" in shown.output and "micro (mean of rows)" in shown.output
    none = CliRunner().invoke(cli, ["bench", "agentworld", "score", str(tmp_path)])
    assert isinstance(none.exception, ConfigError)


def test_a_row_that_the_data_holds_twice_counts_twice_as_in_the_released_code(tmp_path: Path) -> None:
    index = make_data(tmp_path / "data", trajectories=3)
    run = make_run(tmp_path / "run", index, special=False)
    before = summarize(run)
    rows = {row.row: row for row in score_rows(read_run(RunFolder(run)), "official", JUDGE)}
    best = max(rows.values(), key=lambda row: row.score or 0.0)
    with RunWriter(run) as writer:
        writer.put_rows(ref.model_copy(update={"copies": 13 if ref.key == best.row else 1}) for ref in index.refs)
    after = summarize(run, "official")
    expected = (sum(row.score or 0.0 for row in rows.values()) + 12 * (best.score or 0.0)) / 24
    assert after.micro == pytest.approx(expected)
    assert summarize(run).micro == before.micro


def test_blind_comparisons_are_summed_up_by_row(tmp_path: Path) -> None:
    index = make_data(tmp_path / "data", trajectories=3)
    run = make_run(tmp_path / "run", index, special=False)
    (run / "judgements.jsonl").write_text("", encoding="utf-8")
    chosen = ["prediction", "truth", "truth", "truth", "prediction", None]
    with RunWriter(run) as writer:
        for number, verdict in enumerate(chosen):
            row = index.refs[number // 2 * 4].key  # two judgements of one row in each trajectory
            known = {"generation": "g", "row": row, "model": "j", "mode": "turing", "outcome": "ok"}
            writer.judgements.append(Judgement(key=str(number), verdict=verdict, repeat=number % 2, **known))
    summary = summarize(run)
    assert summary.macro is None and summary.n == 0
    turing = summary.verdicts["turing"]
    assert (turing.n, turing.failures, turing.counts) == (3, 1, {"prediction": 2, "truth": 3})
    assert turing.chosen == pytest.approx((50 + 0 + 100) / 3)
    page = write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Blind comparisons" in page
