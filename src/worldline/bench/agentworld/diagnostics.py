"""What judge prompts of GUI domains call the world model's output diagnostics: counts over its raw answer."""

from __future__ import annotations

import re

from worldline.bench.agentworld.extraction import extract_prediction
from worldline.bench.agentworld.records import Generation
from worldline.types import JsonDict

__all__ = ["GUI_DOMAINS", "SPECULATIVE_WORDS", "diagnostics"]

GUI_DOMAINS = frozenset({"android", "web", "os"})

SPECULATIVE_WORDS = (
    *("assume", "assuming", "could", "guess", "guessing", "hopefully", "likely", "maybe", "might", "perhaps"),
    *("possible", "possibly", "presumably", "probable", "probably", "seems", "should", "speculate", "suppose"),
    *("unclear", "unsure", "would"),
)
"""Words that weigh possibilities. The public prompts name the count and not the words; these are ours."""

_SPECULATIVE = re.compile(rf"\b(?:{'|'.join(SPECULATIVE_WORDS)})\b", re.IGNORECASE)
_NO_OUTPUT = re.compile(r"\s*(?:no output\.?)?\s*", re.IGNORECASE)


def diagnostics(generation: Generation) -> JsonDict:
    """Count what a raw answer holds beside its observation.

    Words and tags that stand in the extracted observation itself are content and are not counted.

    Args:
        generation: What the world model answered.

    Returns:
        `raw_chars`: characters of the answer, with the reasoning in it; `reasoning_chars`: of reasoning given apart;
        `raw_nonfinal_chars`: of the answer outside the extracted observation; `raw_speculative_word_count`,
        `raw_would_word_count`, `raw_likely_word_count`: words out there; `response_start_tag_count`,
        `response_end_tag_count`: tags out there; `extracted_output_chars`; `extracted_no_output`: nothing could be
        extracted, or only blanks or the words "No output"; `generation_truncated`: cut off at the token limit.
    """
    raw = generation.content
    found = extract_prediction(generation)
    outside, extracted = raw, ""
    if found is not None:
        extracted = found.text
        begin = len(raw) - len(found.answer) + found.start  # the answer is the raw text's end
        outside = f"{raw[:begin]}\n{raw[begin + len(extracted) :]}"
    words = [word.lower() for word in _SPECULATIVE.findall(outside)]
    return {
        "raw_chars": len(raw),
        "reasoning_chars": len(generation.reasoning or ""),
        "raw_nonfinal_chars": len(raw) - len(extracted),
        "raw_speculative_word_count": len(words),
        "raw_would_word_count": words.count("would"),
        "raw_likely_word_count": words.count("likely"),
        "response_start_tag_count": outside.count("<predicted_observation>"),
        "response_end_tag_count": outside.count("</predicted_observation>"),
        "extracted_output_chars": len(extracted),
        "extracted_no_output": found is None or _NO_OUTPUT.fullmatch(extracted) is not None,
        "generation_truncated": generation.outcome == "truncated",
    }
