"""The published results of AgentWorldBench, for context beside one's own."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.bench.agentworld.records import DOMAINS

__all__ = ["CAVEATS", "PUBLISHED", "SOURCE", "PublishedRow"]

SOURCE = "arXiv 2606.24597 v1, table 5 (rubric scores)"

CAVEATS = (
    "Judged by gpt-5.2-2025-12-11: scores of another judge cannot be set against these. The same predictions were "
    "reported to get 51.7 from one judge and 76.7 from another.",
    "Published without intervals: whether two models differ is not known.",
    "The average is the plain mean of the seven domains (macro); the released code prints the mean of all rows.",
    "The released code leaves failed rows out of its means; how many failed is not published.",
    "The mean of the seven figures of AgentWorld-397B-A17B is 58.76; the paper says 58.71.",
    "The released prompts of the GUI judges ask for diagnostics that the released code does not supply, so the scores "
    "of android, web and os cannot be reproduced from it.",
)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A model's published scores, 0 to 100."""

    model: str
    per_domain: dict[str, float]
    average: float
    """As published."""


def _row(model: str, *figures: float) -> PublishedRow:
    return PublishedRow(model, dict(zip(DOMAINS, figures[:-1], strict=True)), figures[-1])


PUBLISHED = (
    # mcp, search, terminal, swe, android, web, os, average
    _row("AgentWorld-397B-A17B", 68.24, 37.82, 57.73, 68.49, 60.20, 50.98, 67.89, 58.71),
    _row("GPT-5.4", 70.10, 37.26, 53.69, 66.29, 60.00, 51.80, 68.58, 58.25),
    _row("Claude Opus 4.6", 69.90, 29.30, 57.51, 64.55, 61.74, 51.42, 70.20, 57.80),
    _row("Claude Opus 4.8", 54.93, 35.14, 59.18, 64.10, 61.50, 54.66, 66.62, 56.59),
    _row("AgentWorld-35B-A3B", 64.79, 36.69, 53.96, 65.63, 58.17, 49.55, 65.92, 56.39),
    _row("Claude Sonnet 4.6", 70.00, 28.79, 56.98, 64.52, 58.03, 50.78, 63.17, 56.04),
    _row("Qwen3.5-397B-A17B", 68.31, 30.81, 55.30, 64.44, 54.90, 48.55, 60.85, 54.74),
    _row("Gemini 3.1 Pro", 59.07, 30.21, 52.47, 59.07, 61.40, 52.83, 66.92, 54.57),
    _row("Kimi K2.6", 65.23, 27.48, 52.54, 58.77, 58.93, 50.20, 60.80, 53.42),
    _row("DeepSeek-V4-Pro", 63.27, 27.61, 51.26, 59.44, 55.17, 50.32, 63.70, 52.97),
    _row("Qwen3.6-Max-Preview", 67.01, 24.71, 50.86, 57.11, 57.74, 48.58, 60.95, 52.42),
    _row("GLM-5.1", 67.60, 22.46, 47.32, 52.07, 59.10, 51.50, 59.13, 51.31),
    _row("Qwen3.6-Plus", 55.28, 21.94, 50.58, 59.08, 57.65, 50.78, 60.33, 50.81),
    _row("Qwen3.5-35B-A3B", 57.87, 25.98, 46.13, 47.58, 53.18, 47.10, 56.27, 47.73),
    _row("MiniMax-M2.7", 55.82, 27.30, 41.62, 37.44, 52.40, 50.52, 57.73, 46.12),
    _row("Qwen3.6-35B-A3B", 42.96, 18.78, 43.81, 40.71, 51.88, 46.53, 55.48, 42.88),
)
"""Best average first."""
