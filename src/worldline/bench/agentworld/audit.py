"""Trying a judge on observations whose faults are known: what is asked, and of which rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldline.bench.agentworld.damage import Damage, damages
from worldline.bench.agentworld.extraction import extract_prediction, observed_text
from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import Judge, answer_order, judge_generation
from worldline.bench.agentworld.records import EvalRow, Generation, Judgement, JudgeMode
from worldline.bench.agentworld.rows import eval_row, index_rows
from worldline.domains.rouge import rouge_l
from worldline.errors import ConfigError, EndpointError
from worldline.formats import read_trajectories
from worldline.formats.agentworldbench import RowFields, rows_of
from worldline.types import content_id

__all__ = ["TRUTH", "Case", "Judged", "audit_cases", "audit_rows", "run_audit"]

TRUTH = "truth"
"""Name of the case that is the true observation itself."""

_WORTH = 6
"""Kinds of damage that a row should allow to be chosen before others."""
_PAIR_ORDERS = 2


@dataclass(frozen=True, slots=True)
class Case:
    """A text that is judged in place of a prediction."""

    row: EvalRow
    kind: str
    """Of damage, or :data:`TRUTH`."""
    base: str
    """The kind that it builds on, or :data:`TRUTH`."""
    text: str

    @property
    def generation(self) -> Generation:
        """The text as a model would have given it."""
        content = f"<predicted_observation>\n{self.text}\n</predicted_observation>"
        key = content_id([self.row.key, self.kind, self.text], length=32)
        # Reasoning that is there, if empty, keeps a literal tag of it in the text from being taken for one.
        return Generation(key=key, row=self.row.key, model="audit", outcome="ok", content=content, reasoning="")

    @property
    def exact(self) -> bool:
        """Whether the text is the true one, to the character."""
        return self.text == observed_text(self.row.truth)

    @property
    def rouge_l(self) -> float:
        """ROUGE-L F1 against the truth."""
        return rouge_l(self.text, observed_text(self.row.truth))


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and one judgement of it."""

    case: Case
    judgement: Judgement
    chose_first: bool | None = None
    """`turing` and `pairwise`: the choice was answer A."""

    @property
    def total(self) -> float | None:
        """Mean of the five scores, 1..5."""
        scores = self.judgement.scores
        return None if scores is None else sum(scores.values()) / len(scores)


def audit_rows(data: Path, n: int, *, seed: int = 0, domains: Sequence[str] = ()) -> list[EvalRow]:
    """Draw rows whose truth can be damaged in many ways.

    Args:
        data: Rows of AgentWorldBench (`*_test.jsonl`, or a folder of them), or trajectories of any known format.
        n: At most so many.
        seed: Of the draw.
        domains: Only these; all if empty.

    Raises:
        ConfigError: There is no row.
        FormatError: The data cannot be read.
    """
    chosen: list[EvalRow] = []
    poor: list[EvalRow] = []
    for row in _rows(data, seed, domains):
        (chosen if len(damages(row, seed)) >= _WORTH and row.responses else poor).append(row)
        if len(chosen) == n:
            break
    chosen += poor[: n - len(chosen)]
    if not chosen:
        raise ConfigError(f"{data}: no row to audit with", hint="check --domain and the data")
    return chosen


def _rows(data: Path, seed: int, domains: Sequence[str]) -> Iterator[EvalRow]:
    """Yield rows in an order drawn by the seed; no more of them are held than one at a time, or than ours are."""
    if data.name.endswith("_test.jsonl") or (data.is_dir() and any(data.glob("*_test.jsonl"))):
        index = index_rows(data)
        refs = index.select(domains=domains)
        for ref in sorted(refs, key=lambda ref: content_id([seed, ref.key])):
            yield index.read(ref)
        return
    trajectories = [t for t in read_trajectories(data) if not domains or t.world.domain in domains]
    places = [(t, number) for t in trajectories for number in range(1, len(t.turns) + 1)]
    for trajectory, number in sorted(places, key=lambda place: content_id([seed, place[0].id, place[1]])):
        for value in rows_of(trajectory, [number]):
            yield eval_row(RowFields.model_validate(value), trajectory.id)


def audit_cases(row: EvalRow, seed: int = 0) -> list[Case]:
    """Return the truth of a row and its damages as cases."""
    truth = Damage(TRUTH, observed_text(row.truth), TRUTH)
    cases = [Case(row, d.kind, d.base, d.text) for d in (truth, *damages(row, seed))]
    return [case for case in cases if (found := extract_prediction(case.generation)) and found.text == case.text]


@dataclass(frozen=True, slots=True)
class _Order:
    """One judgement to ask for."""

    case: Case
    mode: JudgeMode
    repeat: int


async def run_audit(
    judge: Judge,
    rows: Iterable[EvalRow],
    *,
    prompts: JudgePrompts,
    repeats: int = 2,
    seed: int = 0,
    modes: Sequence[JudgeMode] = ("rubric", "turing", "pairwise"),
    concurrency: int = 16,
    on_judged: Callable[[int, int], None] = lambda done, total: None,
) -> list[Judged]:
    """Ask for all judgements of an audit.

    In `rubric` every case is judged `repeats` times. In the other modes one damage of each row, drawn by the seed, is
    set against the truth, in both orders.

    Args:
        judge: Who is tried.
        rows: Rows to damage.
        prompts: What the judge is told.
        repeats: Judgements of each case in `rubric`.
        seed: Of damage, sampling and order.
        modes: Which protocols to try.
        concurrency: Calls at once.
        on_judged: Called with the number of judgements done, and of all.

    Raises:
        ConfigError: There is no prompt for a row's domain, or it cannot be used.
        EndpointError: The very first call fails.
    """
    orders = [order for row in rows for order in _orders(row, modes, repeats, seed)]
    slots = asyncio.Semaphore(concurrency)
    judged: list[Judged] = []

    async def ask(order: _Order) -> None:
        async with slots:
            judged.append(await _judged(judge, order, prompts, seed))
        on_judged(len(judged), len(orders))

    for row in {order.case.row.domain: order.case.row for order in orders}.values():
        prompts.check_domain(row.domain)
    if orders:
        await ask(orders[0])
        error = judged[0].judgement.error
        if judged[0].judgement.outcome == "error" and error is not None:
            raise EndpointError(f"the judge does not answer: {error['message']}", hint=error.get("hint"))
    async with asyncio.TaskGroup() as group:
        for order in orders[1:]:
            group.create_task(ask(order))
    return judged


def _orders(row: EvalRow, modes: Sequence[JudgeMode], repeats: int, seed: int) -> Iterator[_Order]:
    cases = audit_cases(row, seed)
    if "rubric" in modes:
        for case in cases:
            for repeat in range(repeats):
                yield _Order(case, "rubric", repeat)
    damaged = [case for case in cases if case.kind != TRUTH]
    if not damaged:
        return
    case = damaged[int(content_id([seed, row.key, "pair"]), 16) % len(damaged)]
    for mode in modes:
        if mode != "rubric":
            for repeat in range(_PAIR_ORDERS):
                yield _Order(case, mode, repeat)


async def _judged(judge: Judge, order: _Order, prompts: JudgePrompts, seed: int) -> Judged:
    case, mode, repeat = order.case, order.mode, order.repeat
    generation = case.generation
    judgement = await judge_generation(
        judge, case.row, generation, mode=mode, prompts=prompts, seed=seed, repeat=repeat
    )
    if mode == "rubric" or judgement.verdict is None:
        return Judged(case, judgement)
    first, _ = answer_order(case.row, generation, mode=mode, seed=seed, repeat=repeat)
    return Judged(case, judgement, chose_first=judgement.verdict == first)
