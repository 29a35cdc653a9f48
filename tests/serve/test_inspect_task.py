"""The benchmark as a task of Inspect AI, on models that answer by script."""

import json
from pathlib import Path

import pytest

from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]  # foreign code warns as it likes


def session(name: str, domain: str = "terminal") -> Trajectory:
    turns = tuple(
        Turn(
            action=Action(name="bash", arguments={"command": f"echo {name} {n}"}),
            observation=Observation.from_text(f"{name} {n}\n"),
        )
        for n in range(3)
    )
    return Trajectory(source=Source.OBSERVED, world=WorldSpec(domain=domain, task=name), turns=turns)


def benchmark(folder: Path) -> Path:
    folder.mkdir()
    for domain, names in {"terminal": ("ant", "bee"), "swe": ("cat",)}.items():
        rows = [row for name in names for row in rows_of(session(name, domain))]
        (folder / f"{domain}_test.jsonl").write_text("".join(plain_json(row) + "\n" for row in rows))
    return folder


def scores(mark: int) -> str:
    told = dict.fromkeys(("format", "factuality", "consistency", "realism", "quality"), mark)
    record = {"strengths": ["s"], "weaknesses": ["w"], "scores": told}
    return f"<final_evaluation>\n{json.dumps(record)}\n</final_evaluation>"


def output(model: str, text: str):
    """An answer that says its usage: otherwise Inspect fetches a tokenizer to count it."""
    from inspect_ai.model import ModelOutput, ModelUsage

    made = ModelOutput.from_content(model, text)
    made.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return made


def predicting(messages, tools, tool_choice, config):
    last = messages[-1]
    assert last.role == "user" and "<predicted_observation>" in last.text
    earlier = [message for message in messages if message.role == "assistant"]
    number = len(earlier)
    assert all(message.text.startswith("**Environment Observation:**") for message in earlier)
    name = next(name for name in ("ant", "bee", "cat") if f"echo {name} {number}" in last.text)
    text = "" if name == "bee" and number == 2 else f"<predicted_observation>{name} {number}</predicted_observation>"
    return output("mockllm/model", text)


def grading(messages, tools, tool_choice, config):
    assert [message.role for message in messages] == ["system", "user"]
    content = "cannot say" if "echo ant 1" in messages[-1].text else scores(3 if "cat" in messages[-1].text else 5)
    return output("mockllm/grader", content)


def evaluated(tmp_path: Path, **arguments: object):
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
    from inspect_ai.model import get_model

    grader = get_model("mockllm/grader", custom_outputs=grading, memoize=False)
    (log,) = inspect_ai.eval(
        "worldline/agentworldbench",
        model=get_model("mockllm/model", custom_outputs=predicting, memoize=False),
        model_roles={"grader": grader},
        task_args={"data": str(benchmark(tmp_path / "data")), **arguments},
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    return log


def test_rows_are_asked_judged_and_summed_up(tmp_path: Path):
    log = evaluated(tmp_path)
    assert len(log.samples) == 9
    figures = {
        score.name: {name.rpartition("/")[2]: one.value for name, one in score.metrics.items()}
        for score in log.results.scores
    }
    # terminal: 6 rows, of which "bee 2" has no prediction and the judge cannot tell "ant 1" and what quotes it.
    values = {
        (s.metadata["domain"], s.input): s.scores["judged"].value for s in log.samples if isinstance(s.input, str)
    }
    assert len(values) == 9
    terminal = [value["overall"] for (domain, _), value in values.items() if domain == "terminal"]
    swe = [value["overall"] for (domain, _), value in values.items() if domain == "swe"]
    assert swe == [50.0] * 3 and set(terminal) == {0.0, 100.0}
    assert figures["overall"]["macro"] == pytest.approx((sum(terminal) / 6 + 50) / 2)
    assert figures["overall"]["mean"] == pytest.approx((sum(terminal) + 150) / 9)
    failed = [value for value in values.values() if value["failed"]]
    assert failed and all(value["factuality"] == 0.0 for value in failed)
    assert figures["failed"]["mean"] == pytest.approx(len(failed) / 9)


def test_history_target_and_answer_are_verbatim(tmp_path: Path):
    log = evaluated(tmp_path, domain="swe")
    last = max(log.samples, key=lambda sample: sample.metadata["turn"])
    assert last.target == "cat 2\n" and last.scores["judged"].answer == "cat 2"
    assert [message.role for message in last.messages][:3] == ["system", "user", "assistant"]
    assert last.messages[2].text == "**Environment Observation:**\ncat 0\n"
    assert last.scores["judged"].metadata["strengths"] == ["s"]


def test_a_choice_of_rows(tmp_path: Path):
    log = evaluated(tmp_path, rows=4)
    assert sorted(sample.metadata["domain"] for sample in log.samples) == ["swe", "swe", "terminal", "terminal"]
