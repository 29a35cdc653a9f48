"""Measure everything that docs/benchmarks.md states, and put it between the page's result markers.

    python scripts/update_results.py [--terminal-tasks FILE] [--memory] [--model local [--model-sample N]]
                                     [--out runs/results]

Every part keeps its JSON in the output folder and goes on where it was after a kill. `--terminal-tasks` names the
external check's file (`terminal_tasks.steps.jsonl`), `--memory` indexes a million transitions (needs a quiet machine),
`--model` names a model for the rows with one; without them these parts are left as they stand. A model takes hours on a
small machine: its answers are kept in the output folder as well.
"""

import argparse
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "terminal-test.svg"
MODEL_TOKENS = 128
"""Longest answer of a model, in tokens."""
NOTES_SHARE = 0.15
"""Room for recorded transitions and state in a model's prompt: small models need them more than a stable prefix."""


def worldline(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "worldline", *arguments], check=True, cwd=ROOT)


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def interval(bounds: list[float] | None) -> str:
    return "-" if bounds is None else f"{100 * bounds[0]:.1f}-{100 * bounds[1]:.1f}"


def fidelity(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| engine | n | exact | 95% interval | determined (n) | its interval | errors agree | ROUGE-L | abstained "
        "| exact at 0.5 / 0.7 / 0.9 | AUROC | s per 1,000 |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        at = " / ".join(percent(value) for value in row["exact_at_coverage"].values())
        determined = f"{percent(row['exact_session_determined'])} ({row['n_session_determined']})"
        auroc = "-" if row["auroc"] is None else f"{row['auroc']:.3f}"
        cells = [
            row["engine"],
            str(row["n"]),
            percent(row["exact"]),
            interval(row["exact_ci"]),
            determined,
            interval(row["exact_session_determined_ci"]),
            percent(row["error_agreement"]),
            percent(row["rouge_l"]),
            percent(row["abstained"]),
            at,
            auroc,
            f"{row['seconds_per_1000']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed(record: dict[str, Any]) -> str:
    steps, forks, live = record["steps"], record["forks"], record["live"]
    return "\n".join(
        [
            "| figure | measured |",
            "|---|---|",
            f"| grounded steps per second, persisted ({steps['n']} steps) | {steps['simulated']:.0f} |",
            f"| real bash in its sandbox, same commands, same run | {steps['real']:.0f} |",
            f"| ratio; with setting up worlds and sandboxes | {steps['ratio']:.2f}; {steps['ratio_with_setup']:.2f} |",
            f"| fork of a session with {forks['files']} files; first step; with all open (n {forks['n']}) "
            f"| {forks['fork_ms']:.3f} ms; {forks['first_step_ms']:.2f} ms; {forks['first_step_open_ms']:.2f} ms |",
            f"| {live['n']:.0f} live sessions in one process, peak memory | {live['peak_mib']:.0f} MiB |",
        ]
    )


def screens(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| at least 5 turns inside | screens | exact | 95% interval |",
        "|---|---|---|---|",
    ]
    for row in rows:
        lines.append(f"| {row['program']} | {row['n']} | {percent(row['exact'])} | {interval(row['interval'])} |")
    return "\n".join(lines)


def memory(record: dict[str, Any]) -> str:
    build = record["build"]
    lines = [
        "| figure | measured |",
        "|---|---|",
        f"| building a directory of {build['n']:,} transitions ({build['trajectories']:,} sessions), footprints given "
        f"| {build['seconds']:.0f} s |",
        f"| peak memory of building; of asking | {build['peak_mib']:.0f} MiB; {record['peak_mib']:.0f} MiB |",
        f"| on disk; adding 1,000 more | {build['disk_mib']:.0f} MiB; {build['added_seconds']:.1f} s |",
    ]
    for query in record["queries"]:
        lines.append(
            f"| query `{query['kind']}`, median; 99th percentile (n {query['n']}) "
            f"| {query['p50_ms']:.2f} ms; {query['p99_ms']:.2f} ms |"
        )
    return "\n".join(lines)


def journalled(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Scored turns in the journal of a run, by trajectory and turn."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {(score["trajectory"], score["turn"]): score for line in lines for score in line["scores"]}


def paired(without: dict[tuple[str, int], dict[str, Any]], beside: dict[tuple[str, int], dict[str, Any]]) -> str:
    """Compare the grounded engine with and without a model, also on the very turns that the model wrote."""
    assert without.keys() == beside.keys()
    written = [place for place, score in beside.items() if score["origin"] == "generated"]
    lines = [
        "| grounded | exact, all turns | ROUGE-L, all turns | exact where the model wrote | ROUGE-L there |",
        "|---|---|---|---|---|",
    ]
    for name, scores in (("without the model", without), ("with the model", beside)):
        cells = [f"{sum(score['exact'] for score in scores.values())} of {len(scores)}"]
        cells.append(f"{sum(score['rouge_l'] for score in scores.values()) / len(scores):.4f}")
        cells.append(f"{sum(scores[place]['exact'] for place in written)} of {len(written)}")
        mean = sum(scores[place]["rouge_l"] for place in written) / len(written) if written else None
        cells.append("-" if mean is None else f"{mean:.3f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_model(model: str, sample: int, out: Path) -> str:
    """Measure the rows that need a model; what it answered is kept, so that a second run asks nothing again."""
    asked = ("--model", model, "--model-cache", str(out / "model-answers.db"))
    limits = ("--max-tokens", str(MODEL_TOKENS), "--notes-share", str(NOTES_SHARE))
    plain, grounded, alone = (out / f"{name}.json" for name in ("model-without", "model-grounded", "model-alone"))
    worldline("bench", "real", "--engine", "grounded", "--json", str(plain))
    worldline("bench", "real", "--engine", "grounded", *asked, *limits, "--json", str(grounded))
    sampled = ("--sample", str(sample), "--engine", "model", "--engine", "model+memory")
    worldline("bench", "real", *sampled, *asked, *limits, "--json", str(alone))
    rows = [row for path in (alone, plain, grounded) for row in json.loads(path.read_text(encoding="utf-8"))]
    journals = [journalled(path.with_name(f"{path.name}.grounded.journal")) for path in (plain, grounded)]
    return model_part(rows, *journals)


def model_part(rows: list[dict[str, Any]], without: dict[Any, Any], beside: dict[Any, Any]) -> str:
    named = [{**row, "engine": row["engine"] + (f" ({row['model']})" if row["model"] else "")} for row in rows]
    return f"{fidelity(named)}\n\n{paired(without, beside)}"


def replace(page: str, name: str, body: str) -> str:
    pattern = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no markers for {name}")
    return pattern.sub(lambda match: f"{match[1]}{body}\n{match[2]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terminal-tasks", type=Path)
    parser.add_argument("--memory", action="store_true", help="index a million transitions and ask them")
    parser.add_argument("--model", help="measure this model, too: local, URL#NAME, ...")
    parser.add_argument("--model-sample", type=int, default=300, help="turns for the rows that are nothing but a model")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    when = f"Measured {datetime.now(UTC):%Y-%m-%d} with seed 0.\n\n"

    table = options.out / "terminal-test.json"
    worldline("bench", "real", "--split", "test", "--ceiling", "--json", str(table), "--plot", str(PICTURE))
    rows = json.loads(table.read_text(encoding="utf-8"))
    page = replace(page, "results", when + fidelity(rows) + f"\n\n![fidelity]({PICTURE.name})")

    table = options.out / "keystrokes-test.json"
    engines = [part for name in ("most-frequent", "nearest", "grounded", "real") for part in ("--engine", name)]
    worldline("bench", "real", "--dialect", "keystrokes", "--split", "test", *engines, "--json", str(table))
    rows = json.loads(table.read_text(encoding="utf-8"))
    figures = options.out / "screens.json"
    worldline("bench", "screens", "--split", "test", "--json", str(figures))
    deep = screens(json.loads(figures.read_text(encoding="utf-8")))
    page = replace(page, "keystrokes", f"{when}{fidelity(rows)}\n\n{deep}")

    figures = options.out / "speed.json"
    worldline("bench", "speed", "--split", "test", "--json", str(figures))
    page = replace(page, "speed", when + speed(json.loads(figures.read_text(encoding="utf-8"))))

    if options.terminal_tasks is not None:
        table = options.out / "terminal-tasks.json"
        data = str(options.terminal_tasks.resolve())
        engines = ("--engine", "bare-shell", "--engine", "grounded", "--ceiling", "--offline-only")
        worldline("bench", "real", "--data", data, *engines, "--json", str(table))
        page = replace(page, "external", when + fidelity(json.loads(table.read_text(encoding="utf-8"))))
    if options.memory:
        figures = options.out / "memory.json"
        worldline("bench", "memory", "--json", str(figures))
        page = replace(page, "memory", when + memory(json.loads(figures.read_text(encoding="utf-8"))))
    if options.model is not None:
        page = replace(page, "model", when + with_model(options.model, options.model_sample, options.out))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
