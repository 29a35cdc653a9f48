"""The card of a training set, as Markdown."""

from __future__ import annotations

from worldline.types import JsonDict

__all__ = ["data_card"]

_STAGES = {
    "cpt": "Continued pre-training: whole trajectories as chats; the loss counts on observations, by their weights.",
    "sft": "Fine-tuning: one turn of each trajectory, with reasoning that a kernel carried out and reality confirmed, "
    "or that a model wrote whose answer was graded; each row says which.",
    "rl": "Reinforcement learning: the prompt of one turn of each trajectory; the truth is for the reward alone.",
}

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Size classes of the hub."""


def data_card(record: JsonDict) -> str:
    """Write the card of a set from what its build reported."""
    options = record["options"]
    parts = [f"{_front(record)}\n\n# Training set: {options['stage']}", _STAGES[options["stage"]]]
    parts.append(
        f"{record['rows']:,} rows of {record['trajectories']:,} trajectories ({record['turns']:,} turns), made by "
        f"{record['made_by']} with seed {options['seed']} from {', '.join(record['from'])}. "
        + (f"Decontaminated against {', '.join(record['against'])}." if record["against"] else "Not decontaminated.")
        + (f" Prompts: `{record['prompts']}`." if record.get("prompts") else "")
    )
    sections = {
        "Domains (rows)": record["domains"],
        "Source (rows)": record["sources"],
        "Asked by (rows)": record.get("asked"),
        "Turns at which the grounded engine asks": record.get("unsure"),
        "Of these guessed right without a model": record.get("guessed"),
        "Teacher (rows)": record.get("teachers"),
        "Answers of the teacher": record.get("rollouts"),
        "Left out (trajectories)": record["left_out"],
        "Of these unusable": record.get("unusable"),
        "Turns that are no target": record["dropped_turns"],
        "Turns by class": record["labels"],
        "Of these in the loss": record["trained"],
    }
    for title, counts in sections.items():
        if counts:
            lines = [f"## {title}", "", "| | |", "|---|---|"]
            lines += [f"| {name} | {count:,} |" for name, count in sorted(counts.items(), key=lambda item: -item[1])]
            parts.append("\n".join(lines))
    if record["shortened"]:
        parts.append(f"Early turns were dropped from {record['shortened']:,} rows for want of room.")
    return "\n\n".join(parts) + "\n"


def _front(record: JsonDict) -> str:
    """Front matter as the hub reads it. The licence is not ours to say: it is that of the trajectories."""
    tags = ["world-model", "worldline", record["options"]["stage"]]
    tags += ["simulated"] if record["sources"].get("simulated") else []
    size = next((name for limit, name in _SIZES if record["rows"] < limit), "n>1M")
    return f"---\ntags: [{', '.join(tags)}]\nsize_categories: ['{size}']\n---"
