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


def data_card(record: JsonDict) -> str:
    """Write the card of a set from what its build reported."""
    options = record["options"]
    parts = [f"# Training set: {options['stage']}", _STAGES[options["stage"]]]
    parts.append(
        f"{record['rows']:,} rows of {record['trajectories']:,} trajectories ({record['turns']:,} turns), made by "
        f"{record['made_by']} with seed {options['seed']} from {', '.join(record['from'])}. "
        + (f"Decontaminated against {', '.join(record['against'])}." if record["against"] else "Not decontaminated.")
    )
    sections = {
        "Domains (rows)": record["domains"],
        "Source (rows)": record["sources"],
        "Teacher (rows)": record.get("teachers"),
        "Answers of the teacher": record.get("rollouts"),
        "Left out (trajectories)": record["left_out"],
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
