"""`worldline bench agentworld` as a user runs it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from program import worldline

sys.path.insert(0, str(Path(__file__).parents[1] / "bench" / "agentworld"))

from awb_data import Reply, Request, ServerThread, chat, is_judging, row, save, scores_answer


def answer(request: Request) -> Reply:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    text = (
        scores_answer(factuality=2) if is_judging(request) else "<predicted_observation>\nx\n</predicted_observation>"
    )
    return Reply(chat(text, usage=usage))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = save(tmp_path / "data", [row(number, 2) for number in range(6)])
    return save(folder, [row(number, 1, task="swe") for number in range(4)] + [row(turn_idx=...)], "swe_test.jsonl")


def test_a_run_is_asked_judged_and_scored(tmp_path: Path, data: Path) -> None:
    with ServerThread(answer) as thread:
        models = ["--model", f"{thread.url}#model", "--judge", f"{thread.url}#judge"]
        command = ["bench", "agentworld", "run", "--data", data, "--out", tmp_path / "run", *models]
        done = worldline(*command, home=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "1 lines are no rows" in done.stderr and "turn_idx: missing" in done.stderr
        assert "10 of 10 rows answered (10 now), 0 failed, 0 cut off; 10 judgements (10 now), 0 failed" in done.stderr
        summary = json.loads((tmp_path / "run" / "summary.json").read_text())
        assert (summary["n"], summary["n_failed"], summary["protocol"]) == (10, 0, "strict")
        assert summary["macro"] == pytest.approx(100 * (3.6 - 1) / 4)
        settings = json.loads((tmp_path / "run" / "run.json").read_text())
        assert settings["generation"]["model"] == "model" and settings["judging"]["judge"] == "judge"
        assert settings["bad_rows"] == 1 and settings["rows_in_data"] == {"swe": 4, "terminal": 6}
        again = worldline(*command, "--protocol", "official", "--json", "-", home=tmp_path)
        assert again.returncode == 0, again.stderr
        printed = json.loads(again.stdout)
        assert printed["run"] | {"asked": 0, "judge_asked": 0, "judged": 10} == printed["run"]
        assert (printed["protocol"], printed["n"]) == ("official", 10) and printed["macro"] is not None
        assert len(thread.server.requests) == 20
        other = worldline(*command, "--temperature", "0", home=tmp_path)
        assert other.returncode == 2 and "another sampling" in other.stderr


def test_infer_then_judge_as_commands_of_their_own(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "run"
    with ServerThread(answer) as thread:
        start = ["bench", "agentworld", "infer", "--data", data, "--out", out, "--model", f"{thread.url}#model"]
        first = worldline(*start, "--limit", "2", "--domain", "swe", home=tmp_path)
        assert first.returncode == 0, first.stderr
        assert "2 of 2 rows answered (2 now)" in first.stderr
        assert worldline(*start, "--limit", "3", "--domain", "swe", home=tmp_path).returncode == 0
        assert len(thread.server.requests) == 3
        judged = worldline(
            "bench", "agentworld", "judge", "--out", out, "--judge", f"{thread.url}#judge", "--repeats", "2",
            home=tmp_path,
        )  # fmt: skip
        assert judged.returncode == 0, judged.stderr
        assert "6 judgements (6 now)" in judged.stderr
        assert len(thread.server.requests) == 9
    # The same judge at another address has judged them already.
    with ServerThread(answer) as moved:
        judge = ["--judge", f"{moved.url}#judge", "--repeats", "2"]
        again = worldline("bench", "agentworld", "judge", "--out", out, *judge, home=tmp_path)
        assert "6 judgements (0 now)" in again.stderr and not moved.server.requests


def choose_the_longer(request: Request) -> Reply:
    """A judge of pairs that takes the longer answer, and a model whose answers are as long as its name says."""
    asked = request.body["messages"][-1]["content"]
    if not is_judging(request):
        text = {"long": "a long answer", "short": "x"}[request.body["model"]]
        return Reply(chat(f"<predicted_observation>\n{text}\n</predicted_observation>"))
    first, second = (asked.index(f"BEGIN: answer {name}") for name in "AB")
    lengths = [int(re.search(r"; (\d+) characters", asked[place:])[1]) for place in (first, second)]
    return Reply(chat(json.dumps({"analysis": "", "choice": "A" if lengths[0] > lengths[1] else "B"})))


def test_two_runs_are_compared_row_by_row(tmp_path: Path, data: Path) -> None:
    with ServerThread(choose_the_longer) as thread:
        infer = ["bench", "agentworld", "infer", "--data", data]
        for name, limit in (("long", "10"), ("short", "4")):
            model = ["--model", f"{thread.url}#{name}", "--out", tmp_path / name, "--limit", limit]
            assert worldline(*infer, *model, home=tmp_path).returncode == 0
        judge = ["bench", "agentworld", "judge", "--judge", f"{thread.url}#judge", "--repeats", "2"]
        paired = [*judge, "--out", tmp_path / "long", "--pairwise", tmp_path / "short"]
        done = worldline(*paired, home=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "6 rows are left out: not both runs have an answer" in done.stderr
        assert "8 judgements (8 now), 0 failed" in done.stderr
        judged = [json.loads(line) for line in (tmp_path / "long" / "judgements.jsonl").read_text().splitlines()]
        assert {(j["mode"], j["verdict"], j["other_model"]) for j in judged} == {("pairwise", "prediction", "served")}
        assert len({(j["row"], j.get("repeat", 0)) for j in judged}) == 8
        assert "8 judgements (0 now)" in worldline(*paired, home=tmp_path).stderr
        # the truth is another rival
        truth = worldline(*judge, "--out", tmp_path / "long", "--judge-mode", "pairwise", home=tmp_path)
        assert "20 judgements (20 now)" in truth.stderr
        none = worldline(*judge, "--out", tmp_path / "long", "--pairwise", tmp_path / "empty", home=tmp_path)
        assert none.returncode == 2 and "holds no evaluation run" in none.stderr
    told = worldline("bench", "agentworld", "score", tmp_path / "long", "--json", "-", home=tmp_path)
    assert told.returncode == 0, told.stderr
    verdicts = json.loads(told.stdout)["verdicts"]
    assert (verdicts["pairwise, against served"]["chosen"], verdicts["pairwise, against served"]["n"]) == (100, 4)
    assert verdicts["pairwise"]["n"] == 10


def test_a_dry_run_sends_nothing(tmp_path: Path, data: Path) -> None:
    with ServerThread(answer) as thread:
        models = ["--model", f"{thread.url}#model", "--judge", f"{thread.url}#judge"]
        command = ["bench", "agentworld", "run", "--data", data, "--out", tmp_path / "run", *models, "--dry-run"]
        told = worldline(*command, home=tmp_path)
        assert told.returncode == 0, told.stderr
        assert "10 rows to ask, 0 are there already" in told.stdout and "cost: not known" in told.stdout
        priced = worldline(*command, "--model-price", "1", "2", "--judge-price", "3", "4", "--json", "-", home=tmp_path)
        estimate = json.loads(priced.stdout)
        assert not thread.server.requests and not (tmp_path / "run").exists()
    cost = estimate["prompt_tokens"] + 2 * estimate["completion_tokens"]
    cost += 3 * estimate["judge_prompt_tokens"] + 4 * estimate["judge_completion_tokens"]
    assert estimate["cost_usd"] == pytest.approx(cost / 1e6)
    assert estimate["completion_tokens"] > 10 * 2000


def test_a_budget_needs_prices_and_stops(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "run"
    with ServerThread(answer) as thread:
        command = ["bench", "agentworld", "infer", "--data", data, "--out", out, "--model", f"{thread.url}#model"]
        refused = worldline(*command, "--budget-usd", "1", home=tmp_path)
        assert refused.returncode == 2 and "needs the prices of model" in refused.stderr
        priced = [*command, "--model-price", "10", "100", "--concurrency", "2"]
        stopped = worldline(*priced, "--budget-usd", "0.15", home=tmp_path)
        assert stopped.returncode == 2 and "stopped at the budget" in stopped.stderr
        asked = len(thread.server.requests)
        assert 2 <= asked <= 7
        ended = worldline(*priced, "--budget-usd", "5", home=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert len(thread.server.requests) == 10


def test_what_is_wrong_is_one_line(tmp_path: Path, data: Path) -> None:
    wrong = [
        (
            ["run", "--data", tmp_path / "no", "--model", "http://127.0.0.1:1#m", "--judge", "http://127.0.0.1:1#j"],
            "no such file",
        ),
        (["infer", "--data", data, "--model", "http://127.0.0.1:1#m", "--domain", "cooking"], "unknown domain"),
        (["judge", "--judge", "http://127.0.0.1:1#m"], "holds no evaluation run"),
    ]
    for arguments, expected in wrong:
        done = worldline("bench", "agentworld", *arguments, "--out", tmp_path / "run", home=tmp_path)
        assert done.returncode == 2
        assert expected in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
