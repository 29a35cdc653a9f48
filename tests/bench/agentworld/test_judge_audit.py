"""An honest judge passes the audit, bad ones are named as what they are; all of them answer over real HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from judge_rows import (
    ChatServer,
    Reply,
    Request,
    chat,
    chosen,
    data_of,
    endpoint,
    honest,
    row,
    rows,
    scored,
    write_rows,
)

from worldline.bench.agentworld.audit import TRUTH, audit_cases, audit_rows, run_audit
from worldline.bench.agentworld.audit_records import AuditReport
from worldline.bench.agentworld.audit_report import audit_report
from worldline.bench.agentworld.damage import KINDS, damages
from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import Judge
from worldline.bench.agentworld.records import DIMENSIONS
from worldline.cli import cli
from worldline.errors import ConfigError, EndpointError

PROMPTS = JudgePrompts()
N = 8


def _all(score: float) -> dict[str, int]:
    return dict.fromkeys(DIMENSIONS, max(1, min(5, round(score))))


def _choice(request: Request, value: Callable[[str], float]) -> Reply:
    """Choose the answer that is worth more; the text itself breaks ties, whatever the order."""
    data = data_of(request)
    a, b = data["answer A"], data["answer B"]
    return Reply(chosen("A" if (value(a), a) >= (value(b), b) else "B"))


def constant(request: Request) -> Reply:
    if "prediction" not in data_of(request):
        return _choice(request, lambda text: 0)
    return Reply(scored(_all(4)))


def length_loving(request: Request) -> Reply:
    data = data_of(request)
    if "prediction" not in data:
        return _choice(request, len)
    told, real = data["prediction"], data["truth"]
    return Reply(scored(_all(3 + 2 * (len(told) - len(real)) / max(1, len(real)))))


def praise_loving(request: Request) -> Reply:
    data = data_of(request)
    if "prediction" not in data:
        return _choice(request, lambda text: text.count("omplete"))
    told, real = data["prediction"], data["truth"]
    return Reply(scored(_all((5 if told == real else 3) + (2 if "complete, correct" in told else 0))))


def order_biased(request: Request) -> Reply:
    return Reply(chosen("A")) if "prediction" not in data_of(request) else honest(request)


def random_scores(request: Request) -> Reply:
    rng = random.Random(hashlib.sha256(json.dumps(request.body).encode()).hexdigest())
    if "prediction" not in data_of(request):
        return Reply(chosen(rng.choice("AB")))
    return Reply(scored({name: rng.randint(1, 5) for name in DIMENSIONS}))


def speechless(request: Request) -> Reply:
    return Reply(chat("I would rather not say."))


async def audit(judge: Callable[[Request], Reply], folder: Path, *, n: int = N, repeats: int = 1) -> AuditReport:
    chosen_rows = audit_rows(write_rows(folder, sessions=3), n, seed=1)
    assert len(chosen_rows) == n
    async with ChatServer(responder=judge) as server:
        asked = Judge(endpoint(server))
        judged = await run_audit(asked, chosen_rows, prompts=PROMPTS, repeats=repeats, seed=1, concurrency=32)
        await asked.model.aclose()
        assert server.most_active > 4
    return audit_report(judged, judge="scripted", repeats=repeats, seed=1)


def names(report: AuditReport) -> set[str]:
    return {verdict.name for verdict in report.verdicts}


async def test_an_honest_judge_passes(tmp_path: Path) -> None:
    report = await audit(honest, tmp_path, repeats=2)
    assert report.passed, report.verdicts
    assert report.n_failed == 0
    assert report.ranked.value is not None and report.ranked.value > 0.95
    assert report.self_agreement.pairs and set(report.self_agreement.exact.values()) == {1.0}
    assert report.correlation.rouge_l is not None and report.correlation.rouge_l > 0.3
    assert report.correlation.exact is not None and report.correlation.exact > 0.3
    for kind in ("wrong_value", "broken_format", "paraphrase"):
        figures = report.kinds[kind]
        assert figures.right_dimension is not None and figures.right_dimension > 0.7, (kind, figures)
    assert report.pairs["pairwise"].truth_chosen == 1.0
    assert report.pairs["pairwise"].same_in_both_orders == 1.0
    assert report.pairs["pairwise"].first_chosen == 0.5
    assert set(report.kinds) == set(KINDS)


@pytest.mark.parametrize(
    ("judge", "name", "not_named"),
    [
        (constant, "constant", {"length-loving", "praise-loving", "order-biased", "inconsistent"}),
        (length_loving, "length-loving", {"constant", "praise-loving", "order-biased", "inconsistent"}),
        (praise_loving, "praise-loving", {"constant", "length-loving", "order-biased", "inconsistent"}),
        (order_biased, "order-biased", {"constant", "length-loving", "praise-loving", "inconsistent"}),
        (random_scores, "inconsistent", {"constant", "length-loving", "praise-loving"}),
        (speechless, "unreadable", {"constant", "length-loving", "praise-loving", "inconsistent"}),
    ],
)
async def test_a_bad_judge_is_named(judge: Callable, name: str, not_named: set[str], tmp_path: Path) -> None:
    report = await audit(judge, tmp_path, repeats=2 if judge is random_scores else 1)
    assert not report.passed
    assert name in names(report), report.verdicts
    assert not names(report) & not_named, report.verdicts


async def test_too_few_rows_name_nobody_by_chance(tmp_path: Path) -> None:
    report = await audit(length_loving, tmp_path, n=3)
    assert "length-loving" not in names(report)


async def test_a_judge_that_cannot_be_reached_ends_the_audit_at_once(tmp_path: Path) -> None:
    async with ChatServer(Reply({"error": "down"}, status=500)) as server:
        with pytest.raises(EndpointError, match="does not answer"):
            await run_audit(Judge(endpoint(server)), rows(tmp_path, 1), prompts=PROMPTS)
    assert len(server.requests) == 1


async def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data", sessions=2)
    async with ChatServer(responder=honest) as server:
        named = ["--judge", f"{server.url}#judge", "--data", str(data), "--n", "6", "--repeats", "1"]
        shown = await asyncio.to_thread(CliRunner().invoke, cli, ["bench", "judge-audit", *named])
        printed = await asyncio.to_thread(CliRunner().invoke, cli, ["bench", "judge-audit", *named, "--json", "-"])
    assert shown.exit_code == printed.exit_code == 0, shown.output
    assert "wrong_value" in shown.output and "no fault found" in shown.output
    report = AuditReport.model_validate_json(printed.stdout)
    assert (report.n_rows, report.repeats, report.passed) == (6, 1, True)


async def test_the_command_fails_for_a_bad_judge_and_asks_our_recordings_by_default(tmp_path: Path) -> None:
    async with ChatServer(responder=constant) as server:
        named = ["--judge", f"{server.url}#judge", "--n", "2", "--mode", "rubric", "--repeats", "1"]
        shown = await asyncio.to_thread(
            CliRunner().invoke, cli, ["bench", "judge-audit", *named, "--model-cache", str(tmp_path / "cache.db")]
        )
        asked = len(server.requests)
        again = await asyncio.to_thread(
            CliRunner().invoke, cli, ["bench", "judge-audit", *named, "--model-cache", str(tmp_path / "cache.db")]
        )
    assert shown.exit_code == again.exit_code == 1
    assert "constant:" in shown.output
    assert len(server.requests) == asked


def test_rows_are_drawn_by_the_seed_from_any_data(tmp_path: Path) -> None:
    data = write_rows(tmp_path)
    one, other = audit_rows(data, 5, seed=1), audit_rows(data, 5, seed=2)
    assert [r.key for r in one] == [r.key for r in audit_rows(data / "terminal_test.jsonl", 5, seed=1)]
    assert [r.key for r in one] != [r.key for r in other]
    with pytest.raises(ConfigError):
        audit_rows(data, 5, domains=["web"])


def test_damages_differ_from_the_truth_and_are_reproducible(tmp_path: Path) -> None:
    seen = set()
    for found in rows(tmp_path, 3):
        cases = audit_cases(found)
        truth, *damaged = cases
        assert truth.kind == TRUTH and truth.exact
        assert all(not case.exact and case.kind in KINDS for case in damaged)
        assert [case.text for case in cases] == [case.text for case in audit_cases(found)]
        seen |= {case.kind for case in damaged}
    assert seen == set(KINDS)


@pytest.mark.parametrize(
    ("truth", "kind", "expected"),
    [
        ("Exit Code: 0\n", "wrong_exit_code", "Exit Code: 1\n"),
        ('{"isError": false}', "wrong_exit_code", '{"isError": true}'),
        ("[exit code: 2]\n", "wrong_exit_code", "[exit code: 0]\n"),
        ("bash: x: command not found\n", "wrong_exit_code", ""),
        ("0123456789", "truncation", "01234"),
        ("", "paraphrase", "The action finished, and nothing was shown.\n"),
        ("a\n", "broken_format", '{"output": "a\\n"}'),
        ("new\n", "stale_state", "file2\n"),
    ],
)
def test_what_damages_do(truth: str, kind: str, expected: str) -> None:
    found = {damage.kind: damage.text for damage in damages(row(truth))}
    assert found[kind] == expected


def test_praise_and_its_control_are_as_long() -> None:
    found = {damage.kind: damage for damage in damages(row("total 4\nb\n"))}
    assert len(found["self_praise"].text) == len(found["remark"].text) < len(found["padding"].text) + 80
    assert found["self_praise"].base == found["remark"].base == found["padding"].base == "wrong_value"
    assert found["self_praise"].text.startswith(found["wrong_value"].text)
    assert sum(a != b for a, b in zip(found["wrong_value"].text, "total 4\nb\n", strict=True)) == 1
