"""Run the whole AgentWorldBench pipeline on real small models, and put its report under docs/.

    python scripts/report_small_model.py [--model NAME] [--judge NAME] [--rows N] [--audit N] [--threads N]
                                         [--out runs/small-model] [--docs docs/reports/small-model]

The models are of `worldline models list` and must be there (`worldline models get`); each is served on loopback by
`worldline models serve`. Rows are made of the first turns of the shortest sessions of our dev splits, so that their
prompts fit what a processor can compute. Every part keeps its records in the output folder: a run that was killed goes
on where it was. Needs the extras `cpu` and `bench`.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from worldline.bench.agentworld.records import DOMAINS
from worldline.errors import ConfigError
from worldline.formats import read_trajectories
from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json
from worldline.models.store import find_model
from worldline.recordings import DIALECTS, path
from worldline.types import Trajectory

ROOT = Path(__file__).parents[1]
TURNS = 3
"""Rows of one session: its first turns."""
CONTEXT, JUDGE_CONTEXT = 6144, 6144
"""Tokens of prompt and answer together."""
ANSWER, JUDGEMENT = 96, 192
"""Longest answers, in tokens."""
AUDIT_MODES = ("rubric", "pairwise")


def recordings() -> Iterator[tuple[str, Path]]:
    """Our dev splits of the benchmark's domains, each dialect by itself."""
    for domain in DOMAINS:
        for dialect in DIALECTS:
            try:
                yield domain, path(domain, "dev", dialect=dialect)
            except ConfigError:
                continue


def size(trajectory: Trajectory) -> int:
    """Characters of the prompt of a session's last evaluated turn."""
    rows = list(rows_of(trajectory, range(1, TURNS + 1)))
    return len(rows[-1]["system_str"]) + sum(map(len, rows[-1]["prompt"])) + sum(map(len, rows[-1]["response"]))


def make_rows(folder: Path, wanted: int) -> None:
    """Write `DOMAIN_test.jsonl` files; the same number of rows of every recording, as far as there are."""
    sources = list(recordings())
    each = -(-wanted // (TURNS * len(sources)))
    by_domain: dict[str, list[str]] = {}
    for domain, file in sources:
        sessions = [t for t in read_trajectories(file) if len(t.turns) >= TURNS]
        chosen: dict[str, Trajectory] = {}
        for trajectory in sorted(sessions, key=size):
            chosen.setdefault(str(trajectory.world.name or trajectory.world.task or trajectory.id), trajectory)
        for trajectory in list(chosen.values())[:each]:
            by_domain.setdefault(domain, []).extend(map(plain_json, rows_of(trajectory, range(1, TURNS + 1))))
    folder.mkdir(parents=True, exist_ok=True)
    for domain, lines in by_domain.items():
        (folder / f"{domain}_test.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def make_tokenizer(name: str, folder: Path) -> Path:
    """Write the `tokenizer.json` of a stored GGUF file, from what stands in it."""
    file = folder / name / "tokenizer.json"
    if not file.exists():
        from transformers import AutoTokenizer

        weights = find_model(name).path
        AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name).save_pretrained(file.parent)
    return file


@contextmanager
def served(name: str, context: int, threads: int) -> Iterator[str]:
    """Serve a model on a free port of this machine; the block gets its `URL#NAME`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "worldline", "models", "serve", name, "--port", str(port)]
    command += ["--threads", str(threads), "--context", str(context)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                if process.poll() is not None:
                    raise SystemExit(f"{name} cannot be served: worldline models serve {name}")
                try:
                    httpx.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False, timeout=60)
                    break
                except httpx.TransportError:
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}#{name}"
        finally:
            process.terminate()


def worldline(*arguments: object, fails: tuple[int, ...] = ()) -> None:
    done = subprocess.run([sys.executable, "-m", "worldline", *map(str, arguments)], check=False, cwd=ROOT)
    if done.returncode and done.returncode not in fails:
        raise SystemExit(done.returncode)


def publish(out: Path, page: Path) -> None:
    """Score the run, write its page and its figures, those of the audit too where there are any."""
    worldline("bench", "agentworld", "score", out / "run")
    page.mkdir(parents=True, exist_ok=True)
    worldline("bench", "report", out / "run", "--out", page / "report.html", "--max-mib", 1)
    summary = json.loads((out / "run" / "summary.json").read_text(encoding="utf-8"))
    (page / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    text = HEADING.format(**summary, answer=ANSWER, judgement=JUDGEMENT, context=CONTEXT) + scores(summary)
    if (out / "judge-audit.json").exists():
        shutil.copy(out / "judge-audit.json", page / "judge-audit.json")
        text += audit(json.loads((out / "judge-audit.json").read_text(encoding="utf-8")))
    (page / "README.md").write_text(text, encoding="utf-8")


HEADING = """# A run on real small models

{model} answers, {judge} judges, both served on this machine by `worldline models serve`:
`python scripts/report_small_model.py`. The rows are the first three turns of the shortest sessions of our dev splits
(both dialects of the terminal, and the other recorded domains of the benchmark). Answers are cut off after {answer}
tokens, judgements held to the judge's schema and {judgement} tokens, contexts to {context}; sampling and seeds stand in
[summary.json](summary.json), every row in [report.html](report.html).

This shows that the pipeline works, and nothing about language world models: neither model is fit for its part, and the
scores mean nothing.

"""


def scores(summary: dict[str, Any]) -> str:
    names = list(summary["per_dimension"])
    lines = [f"| | score | without failures | n | failed | {' | '.join(names)} |", "|---" * (5 + len(names)) + "|"]
    for domain, one in summary["per_domain"].items():
        figures = [one["score"], one["score_excluding_failures"], one["n"], one["n_failed"]]
        figures += [one["per_dimension"][name] for name in names]
        lines.append(f"| {domain} | {' | '.join(map(shown, figures))} |")
    for label in ("macro", "micro"):
        figures = [summary[label], summary[f"{label}_excluding_failures"], summary["n"], summary["n_failed"]]
        figures += [summary["per_dimension"][name][label] for name in names]
        lines.append(f"| {label} | {' | '.join(map(shown, figures))} |")
    pending = f"Not judged yet: {summary['n_pending']} rows, in no figure. " if summary["n_pending"] else ""
    failures = ", ".join(f"{count} x {reason}" for reason, count in summary["failures"].items()) or "none"
    generation, judging = summary["generation"], summary["judging"]
    return "\n".join(
        [
            f"Protocol `{summary['protocol']}`, scores from 0 to 100; a failed row counts as worst.\n",
            *lines,
            f"\n{pending}Failures: {failures}. "
            f"Cut off at the token limit: {generation['truncated']} of {generation['calls']} "
            f"answers, {judging['truncated']} of {judging['calls']} judgements. Median seconds: "
            f"{shown(generation['median_latency_s'])} an answer, {shown(judging['median_latency_s'])} a judgement, on "
            "processors that other work kept busy.\n",
        ]
    )


def audit(report: dict[str, Any]) -> str:
    faults = "".join(f"- **{verdict['name']}**: {verdict['why']}\n" for verdict in report["verdicts"]) or "- none\n"
    return (
        f"\n## The judge, audited\n\n`worldline bench judge-audit` on {report['n_rows']} true observations "
        f"({report['n_judgements']} judgements, {report['n_failed']} of them failed; "
        f"[judge-audit.json](judge-audit.json)) finds:\n\n{faults}"
    )


def shown(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--judge", default="smollm2")
    parser.add_argument("--rows", type=int, default=18)
    parser.add_argument("--audit", type=int, default=3, help="true observations to damage")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "small-model")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs" / "reports" / "small-model")
    options = parser.parse_args()
    out, page = options.out.resolve(), options.docs.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "data").exists():
        make_rows(out / "data.tmp", options.rows)
        (out / "data.tmp").rename(out / "data")
    tokenizers = {name: make_tokenizer(name, out / "tokenizers") for name in {options.model, options.judge}}
    os.environ["NO_PROXY"] = "127.0.0.1"
    with served(options.model, CONTEXT, options.threads) as model:
        run = ["--data", out / "data", "--out", out / "run", "--model", model, "--temperature", 0]
        run += ["--context", CONTEXT, "--tokenizer", tokenizers[options.model], "--max-tokens", ANSWER]
        worldline("bench", "agentworld", "infer", *run, "--concurrency", 1, "--timeout", 3600)
    with served(options.judge, JUDGE_CONTEXT, options.threads) as judge:
        how = ["--judge", judge, "--judge-context", JUDGE_CONTEXT, "--judge-tokenizer", tokenizers[options.judge]]
        how += ["--judge-max-tokens", JUDGEMENT, "--concurrency", 1, "--timeout", 3600]
        worldline("bench", "agentworld", "judge", "--out", out / "run", *how)
        publish(out, page)
        how = ["--judge", judge, "--data", out / "data", "--n", options.audit, "--repeats", 1, "--concurrency", 1]
        how += ["--context", JUDGE_CONTEXT, "--max-tokens", JUDGEMENT, "--model-cache", out / "audit.db"]
        how += [part for mode in AUDIT_MODES for part in ("--mode", mode)]
        worldline("bench", "judge-audit", *how, "--json", out / "judge-audit.json", fails=(1,))
    publish(out, page)


if __name__ == "__main__":
    main()
