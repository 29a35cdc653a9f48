"""Single rows for the browser of a report: what was asked, truth against prediction, and the judge's reasons.

A page holds a bounded number of bytes. Each row gets an equal share of it, what short rows leave over goes to those
after them, and texts are cut from their ends until the row fits; every cut text says how long it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rapidfuzz.distance import LCSseq

from worldline.bench.agentworld.extraction import extract_prediction, observed_text
from worldline.bench.agentworld.official import read_judge_answer
from worldline.bench.agentworld.records import EvalRow, Generation, Judgement
from worldline.bench.agentworld.scoring import RunFacts
from worldline.bench.agentworld.store import RunFolder
from worldline.types import JsonDict

__all__ = ["RowPages", "Run", "diff_lines", "script_json", "visible"]

_TEXT = 12_000
_TURN_TEXT = 2_000
_SYSTEM_TEXT = 4_000
_REASON_TEXT = 6_000
_TURNS = 8
_LEAST = 80
"""Characters that no cut goes below."""
_ATTEMPTS = 6
_MARKED_LINE = 2_000
_ALIKE = 0.4
"""Lines less alike than this are shown as wholly different."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_SCRIPT_UNSAFE = re.compile("[<>&'\u2028\u2029\ud800-\udfff]")


def visible(text: str) -> str:
    """Show control characters, marks of text direction and invisible characters instead of obeying them."""
    return _HIDDEN.sub(lambda found: _shown(found[0]), text)


def _shown(char: str) -> str:
    code = ord(char)
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def script_json(value: object) -> str:
    """Serialise a value so that it can stand inside a `script` element and cannot end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SCRIPT_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that a report is about."""

    folder: RunFolder
    facts: RunFacts
    judge: str | None


@dataclass(slots=True)
class _Cutter:
    """Cuts texts to a share of their limits, and notes that it did."""

    factor: float
    cut: bool = False

    def text(self, text: str, limit: int, length: int | None = None) -> JsonDict:
        """Return `{t: text}`, and `n`, the number of characters, where not all are shown.

        Args:
            text: The text, or its beginning.
            limit: Characters to show at most.
            length: Of the whole text, where only its beginning is given.
        """
        kept = self.head(text, limit)
        length = len(text) if length is None else length
        return {"t": visible(kept)} | ({"n": length} if len(kept) < length else {})

    def head(self, text: str, limit: int) -> str:
        room = max(_LEAST, int(limit * self.factor))
        self.cut = self.cut or len(text) > room
        return text[:room]


@dataclass(slots=True)
class RowPages:
    """What the browser shows of each row, as JSON, within a number of bytes.

    Args:
        runs: The runs.
        max_bytes: Of all rows together.
    """

    runs: Sequence[Run]
    max_bytes: int
    n_cut: int = 0
    """Rows of which something is cut."""
    _pieces: dict[str, list[str]] = field(default_factory=dict)
    _left: int = 0
    _waiting: int = 0

    def build(self) -> dict[str, str]:
        """Return the JSON of each row by its key: `{row: ..., runs: [...]}`.

        Raises:
            FormatError: The data of a run is gone or has changed.
        """
        keys = dict.fromkeys(key for run in self.runs for key in run.facts.refs)
        self._left, self._waiting = self.max_bytes, len(keys) * (1 + len(self.runs))
        self._pieces = {key: ["null"] * (1 + len(self.runs)) for key in keys}
        cut: set[str] = set()
        for place, run in enumerate(self.runs, 1):
            answers = _answers_by_generation(run)
            for generation in _chosen(run):
                row = run.folder.row(generation.row)
                pieces = self._pieces[row.key]
                part = _RunPart(row, generation, answers.pop(generation.key, []))
                if pieces[0] == "null" and self._put(row.key, 0, part.shared):
                    cut.add(row.key)
                if self._put(row.key, place, part.laid_out):
                    cut.add(row.key)
        self.n_cut = len(cut)
        return {key: f'{{"row":{parts[0]},"runs":[{",".join(parts[1:])}]}}' for key, parts in self._pieces.items()}

    def _put(self, key: str, place: int, lay_out: Callable[[_Cutter], JsonDict]) -> bool:
        """Lay a piece out so that it fits, and say whether something of it was cut."""
        allowed = self._left // max(1, self._waiting)
        factor, text, cutter = 1.0, "", _Cutter(1.0)
        for _ in range(_ATTEMPTS):
            cutter = _Cutter(factor)
            text = script_json(lay_out(cutter))
            size = len(text.encode("utf-8", "replace"))
            if size <= allowed:
                break
            factor *= 0.85 * allowed / size
        self._pieces[key][place] = text
        self._left = max(0, self._left - len(text.encode("utf-8", "replace")))
        self._waiting -= 1
        return cutter.cut


def _chosen(run: Run) -> Iterator[Generation]:
    """Yield the generations that count, with their texts."""
    for generation in run.folder.generations():
        call = run.facts.generations.get(generation.row)
        if call is not None and call.record.key == generation.key:
            yield generation


_Answer = tuple[Judgement, int]
"""A judgement with the beginning of the judge's answer, and the length of the whole."""


def _answers_by_generation(run: Run) -> dict[str, list[_Answer]]:
    """Return the judgements that count; their texts cut to what can be shown at most."""
    counted = set()
    for call in run.facts.generations.values():
        counted |= {judged.record.key for judged in run.facts.judged(call.record, run.judge)}
    found: dict[str, list[_Answer]] = {}
    for judgement in run.folder.judgements():
        if judgement.key in counted:
            # Read before the cut: an answer often ends with its scores.
            official = read_judge_answer(judgement.content)
            error = judgement.error if judgement.error or not official.error else {"message": official.error}
            slim = {"content": judgement.content[: _REASON_TEXT + 1], "reasoning": None, "error": error}
            answer = (judgement.model_copy(update=slim), len(judgement.content))
            found.setdefault(judgement.generation, []).append(answer)
    return found


@dataclass(frozen=True, slots=True)
class _RunPart:
    """A row in one run."""

    row: EvalRow
    generation: Generation
    answers: Sequence[_Answer]

    def shared(self, cutter: _Cutter) -> JsonDict:
        """Lay out what is the same in every run."""
        row = self.row
        turns = list(zip(row.prompts[:-1], row.responses, strict=True))
        shown = turns[max(0, len(turns) - max(1, round(_TURNS * min(1.0, 2 * cutter.factor)))) :]
        cutter.cut = cutter.cut or len(shown) < len(turns)
        return {
            "system": cutter.text(row.system, _SYSTEM_TEXT),
            "first": len(turns) - len(shown) + 1,
            "history": [[cutter.text(prompt, _TURN_TEXT), cutter.text(said, _TURN_TEXT)] for prompt, said in shown],
            "action": cutter.text(row.action, _TEXT),
        }

    def laid_out(self, cutter: _Cutter) -> JsonDict:
        """Lay out what this run made of the row."""
        generation = self.generation
        found = extract_prediction(generation)
        truth = observed_text(self.row.truth)
        part: JsonDict = {
            "outcome": generation.outcome,
            "finish": visible(generation.finish_reason[:_LEAST]),
            "dropped": generation.dropped_turns,
            "truth_n": len(truth),
            "judged": [_judged(judgement, length, cutter) for judgement, length in self.answers],
        }
        if generation.usage is not None:
            part["usage"] = generation.usage.model_dump(exclude_defaults=True)
        if generation.error:
            part["error"] = cutter.text(str(generation.error.get("message", "")), _TURN_TEXT)
        if found is None:
            part["truth"] = cutter.text(truth, _TEXT)
            part["raw"] = cutter.text(generation.content, _TURN_TEXT)
            return part
        part |= {"prediction_n": len(found.text), "tagged": found.tagged, "same": found.text == truth}
        part["diff"] = diff_lines(cutter.head(truth, _TEXT), cutter.head(found.text, _TEXT))
        return part


def _judged(judgement: Judgement, length: int, cutter: _Cutter) -> JsonDict:
    part: JsonDict = {"repeat": judgement.repeat, "outcome": judgement.outcome, "scores": judgement.scores}
    part["strengths"] = [cutter.text(text, _TURN_TEXT) for text in judgement.strengths]
    part["weaknesses"] = [cutter.text(text, _TURN_TEXT) for text in judgement.weaknesses]
    part["answer"] = cutter.text(judgement.content, _REASON_TEXT, length)
    if judgement.error and judgement.scores is None:
        part["error"] = cutter.text(str(judgement.error.get("message", "")), _TURN_TEXT)
    return part


def diff_lines(truth: str, prediction: str) -> list[list[object]]:
    r"""Compare two texts line by line.

    Returns:
        Pairs of a mark and a text: `=` lines of both, joined by "\n"; `-` a line that the prediction lacks; `+` one
        that it adds. The text of a changed line is a list of pieces, the odd ones of which are what differs.
    """
    ours, theirs = truth.split("\n"), prediction.split("\n")
    found: list[list[object]] = []
    gone: list[str] = []
    new: list[str] = []
    for code in LCSseq.opcodes(ours, theirs):
        if code.tag == "equal":
            found += _changed(gone, new)
            gone, new = [], []
            found.append(["=", visible("\n".join(ours[code.src_start : code.src_end]))])
        gone += ours[code.src_start : code.src_end] if code.tag == "delete" else []
        new += theirs[code.dest_start : code.dest_end] if code.tag == "insert" else []
    return found + _changed(gone, new)


def _changed(gone: Sequence[str], new: Sequence[str]) -> list[list[object]]:
    found: list[list[object]] = []
    if len(gone) != len(new):
        found += (["-", [visible(line)]] for line in gone)
        found += (["+", [visible(line)]] for line in new)
        return found
    marked = [_marked(old, now) for old, now in zip(gone, new, strict=True)]
    found += (["-", old] for old, _ in marked)
    found += (["+", now] for _, now in marked)
    return found


def _marked(old: str, new: str) -> tuple[list[str], list[str]]:
    """Part two lines into pieces, equal and different ones by turns; equal ones come first."""
    if max(len(old), len(new)) > _MARKED_LINE or LCSseq.normalized_similarity(old, new) < _ALIKE:
        return [visible(old)], [visible(new)]
    sides: tuple[list[str], list[str]] = ([""], [""])
    for code in LCSseq.opcodes(old, new):
        texts = (old[code.src_start : code.src_end], new[code.dest_start : code.dest_end])
        for pieces, text in zip(sides, texts, strict=True):
            if text and (code.tag == "equal") != bool(len(pieces) % 2):
                pieces.append("")
            if text:
                pieces[-1] += visible(text)
    return sides
