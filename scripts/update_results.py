"""Measure everything that docs/benchmarks.md states, and put it between the page's result markers.

    python scripts/update_results.py [--part PART]... [--terminal-tasks FILE] [--tau FILE]... [--model local]...
                                     [--model-sample N] [--ablation-seeds N] [--out runs/results]

Parts: terminal, keystrokes, speed, tools, closed-loop; without `--part`, all of these. Others are measured where
they are asked for: `memory` indexes a million transitions, `data` makes training sets of our recordings (both need a
quiet machine), `--terminal-tasks` names the file of the external check (`terminal_tasks.steps.jsonl`), `--tau` files of
tool trajectories to learn worlds from. `--model` names a model for the rows with one. `--ablation-seeds` trains the
`tiny-scratch` recipe in eight ways with so many seeds (extra `train`; an hour of one core a seed). Every part keeps its
JSON in the output folder and goes on where it was after a kill. A model takes hours on a small machine: its answers are
kept in the output folder as well.
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


def worldline(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "worldline", *arguments], check=True, cwd=ROOT)


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def interval(bounds: list[float] | None) -> str:
    return "-" if bounds is None else f"{100 * bounds[0]:.1f}-{100 * bounds[1]:.1f}"


def points(gap: float | None) -> str:
    return "-" if gap is None else f"{100 * gap:+.1f}".replace("+0.0", "0.0").replace("-0.0", "0.0")


def point_interval(bounds: list[float] | None) -> str:
    return "-" if bounds is None else f"{points(bounds[0])} to {points(bounds[1])}"


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


def compared(rows: dict[str, tuple[dict[str, Any], dict[Any, dict[str, Any]]]], without: dict[Any, Any]) -> str:
    """Compare the grounded engine with and without models, also on the very turns that each model wrote."""
    lines = [
        "| grounded | exact, all turns | 95% interval | ROUGE-L, all turns | turns written | exact there, without it "
        "| exact there | ROUGE-L there, without it | ROUGE-L there |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (row, scores) in rows.items():
        assert without.keys() == scores.keys()
        written = [place for place, score in scores.items() if score["origin"] == "generated"]
        cells = [f"{sum(score['exact'] for score in scores.values())} of {len(scores)}", interval(row["exact_ci"])]
        cells += [f"{row['rouge_l']:.4f}", str(len(written))]
        if written:
            cells += [str(sum(some[place]["exact"] for place in written)) for some in (without, scores)]
            cells += [
                f"{sum(some[place]['rouge_l'] for place in written) / len(written):.3f}" for some in (without, scores)
            ]
        lines.append(f"| {name} | {' | '.join(cells + ['-'] * (8 - len(cells)))} |")
    return "\n".join(lines)


def with_models(models: list[str], sample: int, out: Path) -> str:
    """Measure the rows that need a model; what it answered is kept, so that a second run asks nothing again."""
    rows: dict[str, tuple[dict[str, Any], dict[Any, dict[str, Any]]]] = {}
    alone: list[dict[str, Any]] = []
    for number, model in enumerate([None, *models]):
        asked: list[str] = []
        if model is not None:
            asked = ["--model", model, "--model-cache", str(out / f"model-answers-{number}.db"), "--prompts", "brief"]
            asked += ["--max-tokens", str(MODEL_TOKENS)]
        path = out / f"model-grounded-{number}.json"
        worldline("bench", "real", "--engine", "grounded", *asked, "--json", str(path))
        name = "without a model" if model is None else f"with {model}"
        journal = journalled(path.with_name(f"{path.name}.grounded.journal"))
        rows[name] = (json.loads(path.read_text(encoding="utf-8"))[0], journal)
        if model is not None and sample:
            path = out / f"model-alone-{number}.json"
            engines = ("--sample", str(sample), "--engine", "model", "--engine", "model+memory")
            worldline("bench", "real", *engines, *asked, "--json", str(path))
            alone += json.loads(path.read_text(encoding="utf-8"))
    named = [{**row, "engine": f"{row['engine']} ({row['model']})"} for row in alone]
    table = compared(rows, rows["without a model"][1])
    return f"{table}\n\n{fidelity(named)}" if named else table


def replace(page: str, name: str, body: str) -> str:
    pattern = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no markers for {name}")
    return pattern.sub(lambda match: f"{match[1]}{body}\n{match[2]}", page)


TOOL_DOMAINS = ("mcp", "swe", "database", "code", "search")
_EDITING = "Read Edit Write Glob Grep LS read_file edit write_file list_directory glob search_file_content"
SLICES = {
    "swe": ("reads, edits and searches", "reads", ",".join(_EDITING.split())),
    "search": ("notes", "notes", "dict_memory"),
}
"""Calls of some tools that have a figure of their own, by domain."""
KINDS_OF_WORLDS = {"search": {"closed worlds": "closed=true", "open worlds": "closed=false"}}
"""Worlds for which what is read again is told apart, by domain."""
CLOSED = ("terminal", "mcp", "swe", "database", "code", "search")


def tool_worlds(out: Path) -> str:
    """Measure each domain of tool calls on its test split."""
    parts = []
    for domain in TOOL_DOMAINS:
        path = out / f"{domain}-test.json"
        worldline("bench", "real", "--domain", domain, "--split", "test", "--json", str(path))
        parts.append(f"**{domain}**\n\n{fidelity(load(path))}")
        if domain in SLICES:
            name, short, tools = SLICES[domain]
            path = out / f"{domain}-{short}.json"
            only = ("--engine", "grounded", "--tools", tools)
            worldline("bench", "real", "--domain", domain, "--split", "test", *only, "--json", str(path))
            row = load(path)[0]
            parts.append(
                f"{domain}, {name} only, grounded: exact {percent(row['exact'])} (n {row['n']}), session-determined "
                f"{percent(row['exact_session_determined'])} (n {row['n_session_determined']}, 95% "
                f"{interval(row['exact_session_determined_ci'])})."
            )
        parts += read_again(domain, load(out / f"{domain}-test.json"), out)
    return "\n\n".join(parts)


def read_again(domain: str, rows: list[dict[str, Any]], out: Path) -> list[str]:
    """Tell how far answers agree with what was shown before, in a domain that has a rule for it."""
    if not any(row["n_read_again"] for row in rows):
        return []
    told = [f"{row['engine']} {percent(row['read_again'])}" for row in rows]
    grounded = [("all", next(row for row in rows if row["engine"] == "grounded"))]
    for name, where in KINDS_OF_WORLDS.get(domain, {}).items():
        path = out / f"{domain}-again-{where.replace('=', '-')}.json"
        only = ("--engine", "grounded", "--where", where)
        worldline("bench", "real", "--domain", domain, "--split", "test", *only, "--json", str(path))
        grounded.append((name, load(path)[0]))
    parts = [
        f"{name} {percent(row['read_again'])} (n {row['n_read_again']}, 95% {interval(row['read_again_ci'])})"
        for name, row in grounded
    ]
    every, by_kind = ", ".join(told), "; ".join(parts)
    return [f"{domain}, what is read again agrees with what was shown before: {every}. Grounded: {by_kind}."]


def closed_loops(out: Path) -> str:
    """Act in the simulation, then in reality, in each domain."""
    lines = [
        "| domain | steps of a session | sessions | steps that agree | 95% | verifier agrees (sessions) "
        "| refused: simulated; really | gap, points | 95% | optimism | 95% | abstained |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for domain in CLOSED:
        path = out / f"{domain}-closed-loop.json"
        where = ["--where", "closed=true"] if domain == "search" else []
        if not path.exists():
            worldline("bench", "closed-loop", "--domain", domain, *where, "--sessions", "20", "--json", str(path))
        for row in load(path):
            verified = f"{percent(row['verified'])} ({row['probed']})"
            refused = f"{percent(row['simulated_errors'])}; {percent(row['real_errors'])}"
            cells = [domain, str(row["turns"]), str(row["sessions"]), percent(row["agreement"])]
            cells += [interval(row["agreement_ci"]), verified, refused]
            cells += [points(row["refusal_gap"]), point_interval(row["refusal_gap_ci"])]
            cells += [percent(row["wrongly_allowed"]), interval(row["wrongly_allowed_ci"]), percent(row["abstained"])]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def terminal(page: str, when: str, out: Path) -> str:
    table = out / "terminal-test.json"
    worldline("bench", "real", "--split", "test", "--ceiling", "--json", str(table), "--plot", str(PICTURE))
    return replace(page, "results", when + fidelity(load(table)) + f"\n\n![fidelity]({PICTURE.name})")


def keystrokes(page: str, when: str, out: Path) -> str:
    table, figures = out / "keystrokes-test.json", out / "screens.json"
    engines = [part for name in ("most-frequent", "nearest", "grounded", "real") for part in ("--engine", name)]
    worldline("bench", "real", "--dialect", "keystrokes", "--split", "test", *engines, "--json", str(table))
    worldline("bench", "screens", "--split", "test", "--json", str(figures))
    return replace(page, "keystrokes", f"{when}{fidelity(load(table))}\n\n{screens(load(figures))}")


def speeds(page: str, when: str, out: Path) -> str:
    worldline("bench", "speed", "--split", "test", "--json", str(out / "speed.json"))
    return replace(page, "speed", when + speed(load(out / "speed.json")))


def tools(page: str, when: str, out: Path) -> str:
    return replace(page, "tools", when + tool_worlds(out))


def loops(page: str, when: str, out: Path) -> str:
    return replace(page, "closed-loop", when.replace("seed 0", "seed 7") + closed_loops(out))


def memories(page: str, when: str, out: Path) -> str:
    worldline("bench", "memory", "--json", str(out / "memory.json"))
    return replace(page, "memory", when + memory(load(out / "memory.json")))


def building(record: dict[str, Any]) -> str:
    lines = [
        "| stage | input, turns | turns a minute | turns a minute of one busy core | seconds; processor seconds "
        "| peak memory of all processes | load before |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(record["rows"], key=lambda row: (row["stage"], row["times"])):
        cells = [f"{row['stage']}, {row['jobs']} jobs", f"{row['turns']:,} ({row['times']}x)"]
        cells += [f"{row['turns_per_minute']:,.0f}", f"{row['turns_per_cpu_minute']:,.0f}"]
        cells += [f"{row['seconds']:.0f}; {row['cpu_seconds']:.0f}", f"{row['peak_mib']:.0f} MiB"]
        lines.append("| " + " | ".join([*cells, f"{row['load_before']:.1f}"]) + " |")
    return f"{record['cores']} cores.\n\n" + "\n".join(lines)


def data(page: str, when: str, out: Path) -> str:
    """Make sets of our recordings, once, twice and four times as many; figures that are there are taken."""
    path = out / "data-building.json"
    if not path.exists():
        command = [sys.executable, "scripts/measure_data_building.py", "--json", str(path.resolve())]
        subprocess.run(command, check=True, cwd=ROOT)
    return replace(page, "data", when + building(load(path)))


USUAL = {"terminal": terminal, "keystrokes": keystrokes, "speed": speeds, "tools": tools, "closed-loop": loops}
PARTS = {**USUAL, "memory": memories, "data": data}


def external(page: str, when: str, out: Path, data: Path) -> str:
    table = out / "terminal-tasks.json"
    engines = ("--engine", "bare-shell", "--engine", "grounded", "--ceiling", "--offline-only")
    worldline("bench", "real", "--data", str(data.resolve()), *engines, "--json", str(table))
    return replace(page, "external", when + fidelity(load(table)))


def learned_table(report: dict[str, Any]) -> str:
    n, knowable = report["n"], report["n_recorded"] + report["n_computable"]
    lines = [
        f"{report['tasks']} tasks, {report['trajectories']} trajectories, {n} turns, {report['n_errors']} errors. "
        f"Knowable: {knowable} ({report['n_recorded']} recorded, {report['n_computable']} computable), so "
        f"{knowable / n:.3f} is the most that can be exact without a model, but for lucky guesses.",
        "",
        "| engine | exact | 95% interval | exact of the knowable | errors agree | ROUGE-L | abstained |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        cells = [row["engine"], percent(row["exact"]), interval(row["exact_ci"]), percent(row["exact_knowable"])]
        cells += [percent(row["error_agreement"]), percent(row["rouge_l"]), percent(row["abstained"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def learned(page: str, when: str, out: Path, files: list[Path]) -> str:
    """Learn a world from all tasks but one, measure it on that one, in turn."""
    parts = []
    for file in files:
        path = out / f"learned-{file.name.split('.')[0]}.json"
        worldline("bench", "learn", "--data", str(file.resolve()), "--json", str(path))
        parts.append(f"**{file.name}**\n\n{learned_table(load(path))}")
    return replace(page, "learned", when + "\n\n".join(parts))


def ablation(page: str, when: str, out: Path, seeds: int) -> str:
    """Train every way through the pipeline; folders beside the results keep what is trained already."""
    table = out / "ablation.json"
    folder = out.parent / "ablation"
    worldline(
        "train", "all", "--recipe", "tiny-scratch", "--out", str(folder), "--seeds", str(seeds), "--json", str(table)
    )
    lines = [
        "| stages | turns, all seeds | exact | 95% interval | by seed | errors agree | ROUGE-L |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in load(table):
        cells = [row["cell"], str(row["n"]), percent(row["exact"]), interval(row["exact_ci"])]
        cells += [" ".join(map(percent, row["by_seed"])), percent(row["error_agreement"]), percent(row["rouge_l"])]
        lines.append("| " + " | ".join(cells) + " |")
    return replace(page, "ablation", when + "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=sorted(PARTS), help="measure this part only; repeat")
    parser.add_argument("--terminal-tasks", type=Path)
    parser.add_argument("--tau", action="append", type=Path, default=[])
    parser.add_argument("--model", action="append", default=[], help="measure this model, too: local, URL#NAME, ...")
    parser.add_argument("--model-sample", type=int, default=0, help="turns for rows that are nothing but a model")
    parser.add_argument("--ablation-seeds", type=int, default=0, help="train the ablation with so many seeds")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    when = f"Measured {datetime.now(UTC):%Y-%m-%d} with seed 0.\n\n"
    alone = options.terminal_tasks is not None or options.tau or options.model or options.ablation_seeds
    for part in options.part or ([] if alone else USUAL):
        page = PARTS[part](page, when, options.out)
        PAGE.write_text(page, encoding="utf-8")
    if options.terminal_tasks is not None:
        page = external(page, when, options.out, options.terminal_tasks)
    if options.tau:
        page = learned(page, when, options.out, options.tau)
    if options.ablation_seeds:
        page = ablation(page, when, options.out, options.ablation_seeds)
    if options.model:
        page = replace(page, "model", when + with_models(options.model, options.model_sample, options.out))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
