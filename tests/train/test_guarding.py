"""Guards around trainers and what a run frees, with stand-ins for PyTorch and the trainers."""

from contextlib import ExitStack, nullcontext
from types import SimpleNamespace

from reward_rows import recorded_rows
from train_tokens import FakeTokens

from worldline.train import guarding, rl
from worldline.train.curves import read_curves
from worldline.train.guarding import CURVE, guarded
from worldline.train.recipe import parse_recipe
from worldline.train.rewards import RewardFunction
from worldline.train.runs import RECIPE
from worldline.writing import write_json, write_text


def libraries(module, _):
    """What a trainer's guards use of the libraries."""
    random = SimpleNamespace(fork_rng=lambda _: nullcontext())
    cuda = SimpleNamespace(is_available=lambda: False)
    return SimpleNamespace(random=random, cuda=cuda, manual_seed=lambda _: None, SafetensorError=OSError)


class Trainer:
    """Logs a loss and measurements as trainers do."""

    args = SimpleNamespace(seed=0, process_index=0)
    model = "the model"

    def __init__(self, zero=True):
        self.told, self._zero = [], zero

    def is_world_process_zero(self):
        return self._zero

    def evaluate(self):
        self.log({"eval_loss": 1.0})

    def log(self, logs, start_time=None):
        self.told.append(logs)


def test_answers_stand_in_the_record_of_each_measurement_and_in_no_other(monkeypatch):
    monkeypatch.setattr(guarding, "require_extra", libraries)
    asked = []
    for zero in (True, False):
        trainer = guarded(Trainer, lambda model: asked.append(model) or {"eval_greedy_exact": 0.5})(zero)
        for step in (trainer.evaluate, lambda: trainer.log({"loss": 2.0}), trainer.evaluate):  # noqa: B023
            step()
        both = {"eval_loss": 1.0, "eval_greedy_exact": 0.5} if zero else {"eval_loss": 1.0}
        assert trainer.told == [both, {"loss": 2.0}, both]
    assert asked == ["the model"] * 2
    plain = guarded(Trainer)()
    plain.evaluate()
    assert plain.told == [{"eval_loss": 1.0}]


def test_answers_of_a_curve_are_drawn(tmp_path):
    write_json(tmp_path / RECIPE, {"stage": "sft", "name": "small", "seed": 0})
    write_text(tmp_path / CURVE, '{"step": 0, "eval_loss": 2.0, "eval_greedy_exact": 0.25, "eval_greedy_n": 4}\n')
    found = {series.name: (series.panel, series.points[0].value) for series in read_curves([tmp_path]).series}
    assert found == {"loss": ("loss", 2.0), "greedy_exact": ("shares", 0.25)}


def test_a_run_frees_the_reward_that_it_made(monkeypatch, tmp_path):
    closed = []
    monkeypatch.setattr(RewardFunction, "close", lambda self: closed.append(self))
    trl = SimpleNamespace(GRPOConfig=lambda **_: None, GRPOTrainer=object)
    trl.Dataset = SimpleNamespace(from_list=list)
    monkeypatch.setattr(rl, "require_extra", lambda *_: trl)
    monkeypatch.setattr(rl, "guarded", lambda *_: lambda **made: made["reward_funcs"][0])
    monkeypatch.setattr(rl, "measuring", lambda *_: None)
    monkeypatch.setattr(rl, "callbacks", lambda *_: [])
    text = "name: small\nmodel: {scratch: {hidden: 32}}\ncontext: 100000\nrl: {}\n"
    rows = list(recorded_rows("mcp"))[:2]
    run = SimpleNamespace(
        recipe=parse_recipe(text), token_source=FakeTokens(), rows=rows, held_out=[], arguments={}, answers=None,
        closing=ExitStack(), out=tmp_path, watch=None, start=0, model=None, tokenizer=None,
    )  # fmt: skip
    with run.closing:
        own = rl.rl_trainer(run)
        assert isinstance(own, RewardFunction) and not closed
    assert closed == [own]
    with run.closing:
        assert rl.rl_trainer(run, len) is len
    assert closed == [own], "one that was given is not ours to close"


def test_figures_that_nobody_asks_for_take_no_room():
    row = next(iter(recorded_rows("mcp")))
    reward = rl.reward_function([row])
    for _ in range(3):
        reward.score([(row.id, "no block")] * 4)
    reward.close()
    assert all(len(kept) == 2 for kept in reward._sums.values())
    assert reward.metrics()["unreadable"] == 1.0 and reward.metrics() == {}
