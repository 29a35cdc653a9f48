"""Training for real, a few steps of a very small model: loss, resuming, what goes wrong, all stages, and measuring."""

import errno
import json
import threading
from functools import partial

import pytest
from click.testing import CliRunner
from train_tokens import chat

from worldline.errors import ConfigError, ModelError, StorageError
from worldline.models.local import LocalModel
from worldline.models.store import describe
from worldline.train.guarding import read_curve
from worldline.train.recipe import parse_recipe
from worldline.train.rl import rl_trainer
from worldline.train.stage import run_stage
from worldline.train.tokens import Encoder
from worldline.train.tuning import tuning_trainer

pytestmark = [
    pytest.mark.full,
    # the libraries' own warnings are not ours to mend
    pytest.mark.filterwarnings("default"),
]


SMALL = """
name: small
model: {scratch: {hidden: 32, layers: 2, heads: 2, kv_heads: 2, intermediate: 64}}
context: 256
threads: 1
data: {real: [terminal], limit: 30, prompts: brief, pool: all}
evaluation: {turns: 3, max_tokens: 16, rows: 4}
"""
ROWS = [chat((f"say {n}", f"number {n}\n" * 3), ("again", "no"), system="echo", weights=[1, 0.5]) for n in range(12)]


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """Taken here and not above, so that a run which leaves these tests out does not miss them."""
    global torch, transformers
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")


@pytest.fixture(autouse=True)
def one_thread(libraries):
    torch.set_num_threads(1)


def recipe(**stage):
    text = {"steps": 6, "batch": 2, "accumulation": 1, "log_every": 1, "save_every": 2, **stage}
    more = text.pop("more", "")
    return parse_recipe(f"{SMALL}{more}\ncpt: {json.dumps(text)}\n")


def run(how, out, **more):
    return run_stage(how, "cpt", out, ROWS, tuning_trainer, **more)


def losses(out):
    return {record["step"]: record["loss"] for record in read_curve(out) if "loss" in record}


def test_the_loss_falls_and_the_model_is_one_that_can_be_asked(tmp_path):
    how = recipe(steps=30, optimiser={"learning_rate": 0.01})
    told = []
    result = run(how, tmp_path / "run", watch=told.append, held_out=ROWS[:2])
    found = losses(tmp_path / "run")
    assert result.steps == 30 and found[30] < found[1] - 1.0 and [r for r in told if "loss" in r]
    assert result.learned == sum(len(f"number {n}\n" * 3) + 1 + 3 for n in range(12)) and result.rows == 12
    stored = describe(tmp_path / "run" / "model")
    assert stored.format == "huggingface" and stored.context == 256
    again = run(how, tmp_path / "run", resume=True)
    assert again == result


async def test_a_trained_model_answers(tmp_path):
    run(recipe(steps=2), tmp_path / "run")
    model = LocalModel(describe(tmp_path / "run" / "model"), threads=1)
    written = model._write([{"role": "user", "content": "x"}], model.effective_sampling(None), threading.Event())
    assert written.prompt_tokens > 3 and written.completion_tokens > 0
    await model.aclose()


def test_an_interrupted_run_goes_on_to_the_same_loss(tmp_path):
    how = recipe(more="seed: 5")
    run(how, tmp_path / "whole")

    class Stop(Exception):
        pass

    def stop(record):
        if record["step"] == 5:
            raise Stop

    with pytest.raises(Stop):
        run(how, tmp_path / "parts", watch=stop)
    assert max(losses(tmp_path / "parts")) == 5
    result = run(how, tmp_path / "parts", resume=True)
    assert result.steps == 6
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), abs=1e-4)
    whole, parts = (
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path / name / "model").state_dict()
        for name in ("whole", "parts")
    )
    assert all(torch.allclose(whole[name], parts[name], atol=1e-5) for name in whole)


def test_accumulated_batches_count_tokens_as_one_batch_does(tmp_path):
    for name, batch, accumulation in (("one", 4, 1), ("four", 1, 4)):
        run(recipe(steps=2, batch=batch, accumulation=accumulation, save_every=50), tmp_path / name)
    assert losses(tmp_path / "one") == pytest.approx(losses(tmp_path / "four"), rel=1e-4)


def test_the_loss_of_chosen_places_is_that_of_the_whole_row(tmp_path):
    from worldline.train.batches import Collator, EncodedRows, selected_logits, weighted_loss
    from worldline.train.losses import token_log_probabilities, weighted_token_loss
    from worldline.train.pretrained import HuggingFaceTokens, load_model, scratch_tokenizer

    tokenizer = scratch_tokenizer()
    model = load_model(recipe(), tokenizer)
    rows = EncodedRows(list(Encoder(HuggingFaceTokens(tokenizer), 256).encode(ROWS[:3])))
    inputs = Collator(tokenizer.pad_token_id)([rows[n] for n in range(3)])
    whole = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
    mine = weighted_loss(*selected_logits(model, inputs))
    theirs = weighted_token_loss(token_log_probabilities(whole, inputs["input_ids"]), inputs["weights"])
    assert mine.item() == pytest.approx(theirs.item(), rel=1e-5)


def test_bytes_are_tokens_and_the_mask_is_exact():
    from worldline.train.pretrained import HuggingFaceTokens, scratch_tokenizer

    tokenizer = scratch_tokenizer()
    assert len(tokenizer) == 259
    told = "é €\n<|im_end|> x"
    [encoded] = Encoder(HuggingFaceTokens(tokenizer), 500).encode([chat(("a", told), ("b", "no"), weights=[1, 0])])
    learned = [id for id, weight in zip(encoded.ids, encoded.weights, strict=True) if weight]
    assert len(learned) == len(told.encode()) + 1 and learned[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(learned[:-1]) == told
    text = tokenizer.decode(list(encoded.ids))
    assert text.endswith("<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\nno<|im_end|>\n")


def test_pieces_of_text_are_learned_from_what_is_trained_on_and_lose_nothing(tmp_path):
    from worldline.train.pretrained import HuggingFaceTokens, load_model, load_tokenizer, save_model

    how = parse_recipe(SMALL.replace("scratch: {", "scratch: {vocabulary: 700, ") + "cpt: {steps: 1}\n")
    tokenizer = load_tokenizer(how)
    assert len(tokenizer) == 700 == load_model(how, tokenizer).config.vocab_size
    again = load_tokenizer(how)
    told = "total 12\n-rw-r--r-- 1 user user 2048 é €\t\n<|im_end|> x  "
    pieces = HuggingFaceTokens(tokenizer).content(told)
    assert pieces == HuggingFaceTokens(again).content(told)
    assert tokenizer.decode(pieces) == told and len(pieces) < len(told.encode()) * 0.8
    assert not set(pieces) & set(tokenizer.all_special_ids)
    assert [tokenizer.decode([id]) for id in pieces].count("4") == 1, "digits are pieces of their own"
    save_model(load_model(how, tokenizer), tokenizer, tmp_path / "model")
    assert HuggingFaceTokens(load_tokenizer(how, tmp_path / "model")).content(told) == pieces


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_state(tmp_path, monkeypatch):
    import worldline.train.tuning as tuning

    true, calls = tuning.weighted_loss, []

    def broken(*args):
        calls.append(1)
        return true(*args) * (float("nan") if len(calls) == 4 else 1.0)

    monkeypatch.setattr(tuning, "weighted_loss", broken)
    with pytest.raises(ModelError, match="loss of step 4 is nan") as caught:
        run(recipe(), tmp_path / "run")
    assert "last-good" in caught.value.hint
    kept = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "last-good")
    assert all(torch.isfinite(weight).all() for weight in kept.parameters())
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["checkpoint-2"]
    assert not (tmp_path / "run" / "model").exists()
    assert run(recipe(), tmp_path / "run", resume=True).steps == 6


def test_a_gradient_that_is_no_number_changes_no_weight(tmp_path, monkeypatch):
    import worldline.train.tuning as tuning

    true = tuning.weighted_loss

    def broken(*args):
        loss = true(*args)
        loss.register_hook(lambda gradient: gradient * float("inf"))
        return loss

    monkeypatch.setattr(tuning, "weighted_loss", broken)
    with pytest.raises(ModelError, match="not finite"):
        run(recipe(), tmp_path / "run")
    kept = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "last-good")
    assert all(torch.isfinite(weight).all() for weight in kept.parameters())


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("write failed")])
def test_a_full_disk_at_a_checkpoint_keeps_the_one_before(tmp_path, monkeypatch, error):
    true = transformers.Trainer._save_rng_state

    def full(self, folder):
        if self.state.global_step == 4:
            raise error
        true(self, folder)

    with monkeypatch.context() as patch, pytest.raises(StorageError, match="checkpoint-4") as caught:
        patch.setattr(transformers.Trainer, "_save_rng_state", full)
        run(recipe(), tmp_path / "run")
    assert caught.value.hint
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["checkpoint-2"]
    assert run(recipe(), tmp_path / "run", resume=True).steps == 6


def test_a_tokenizer_without_a_template_is_refused_or_given_one(tmp_path):
    run(recipe(steps=1), tmp_path / "run")
    folder = tmp_path / "run" / "model"
    (folder / "chat_template.jinja").unlink()
    text = SMALL.replace("{scratch: {hidden: 32, layers: 2, heads: 2, kv_heads: 2, intermediate: 64}}", "{}")
    own = text.replace("model: {}", f"model: {{start: {folder}}}")
    with pytest.raises(ConfigError, match="no chat template"):
        run(parse_recipe(f"{own}cpt: {{steps: 1}}"), tmp_path / "own")
    given = text.replace("model: {}", f"model: {{start: {folder}, chat_template: chatml}}")
    assert run(parse_recipe(f"{given}cpt: {{steps: 1}}"), tmp_path / "given").steps == 1


def test_adapters_are_trained_alone_and_merged(tmp_path):
    pytest.importorskip("peft")
    run(recipe(steps=1), tmp_path / "base")
    text = SMALL.replace("{scratch: {hidden: 32, layers: 2, heads: 2, kv_heads: 2, intermediate: 64}}", "{}")
    text = text.replace("model: {}", f"model: {{start: {tmp_path / 'base' / 'model'}}}")
    how = parse_recipe(f"{text}lora: {{rank: 2}}\ncpt: {{steps: 3, optimiser: {{learning_rate: 0.05, warmup: 0}}}}\n")
    result = run(how, tmp_path / "run")
    assert 0 < result.trained_parameters < result.parameters / 2
    folder = tmp_path / "run" / "model"
    assert (folder / "adapter" / "adapter_model.safetensors").is_file()
    before, after = (
        transformers.AutoModelForCausalLM.from_pretrained(path).state_dict()
        for path in (tmp_path / "base" / "model", folder)
    )
    assert set(before) == set(after)
    assert not torch.equal(before["model.layers.0.mlp.up_proj.weight"], after["model.layers.0.mlp.up_proj.weight"])
    assert torch.equal(before["model.norm.weight"], after["model.norm.weight"])


def test_reinforcement_raises_what_is_rewarded(tmp_path):
    pytest.importorskip("trl")
    pytest.importorskip("datasets")
    rl = "rl: {steps: 30, group: 8, prompts: 1, answer: 8, log_every: 1, optimiser: {learning_rate: 0.02, warmup: 0}}"
    how = parse_recipe(f"{SMALL.replace('rows: 4', 'rows: 2, every: 30')}{rl}\n")
    rows = [chat((f"say {n}", None), stage="rl") for n in range(6)]
    known = {row.id for row in rows}

    def share_of_letters(prompts, completions, row, **_):
        texts = [chat[-1]["content"] for chat in completions]
        assert len(row) == len(texts) and set(row) <= known
        return [sum(char.isascii() and char.isalpha() for char in text) / 8 for text in texts]

    trainer = partial(rl_trainer, reward=share_of_letters)
    result = run_stage(how, "rl", tmp_path / "run", rows, trainer, held_out=rows[:2])
    rewards = [record["reward"] for record in read_curve(tmp_path / "run") if "reward" in record]
    assert result.steps == 30 and len(rewards) == 30
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.1
    assert result.held_out["eval_reward"] > sum(rewards[:5]) / 5


def test_all_stages_by_the_command_and_again_from_where_it_stopped(tmp_path):
    pytest.importorskip("trl")
    from worldline.cli import cli

    stages = "cpt: {steps: 2, windows: true}\nsft: {steps: 2}\nrl: {steps: 1, group: 2, answer: 8}\n"
    text = SMALL.replace("context: 256", "context: 1024")
    (tmp_path / "r.yaml").write_text(text + stages)
    wanted = [option for name in ("base", "CPT", "CPT+SFT+RL") for option in ("--cell", name)]
    command = ["train", "all", "--recipe", str(tmp_path / "r.yaml"), "--out", str(tmp_path / "out"), *wanted]
    done = CliRunner().invoke(cli, [*command, "--json", str(tmp_path / "rows.json")], catch_exceptions=False)
    assert done.exit_code == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["cell"] for row in rows] == ["base", "CPT", "CPT+SFT+RL"]
    assert all(row["n"] >= 3 and 0 <= row["exact"] <= 1 for row in rows)
    curve = tmp_path / "out" / "seed-0" / "cpt+sft+rl" / "curve.jsonl"
    before = curve.stat().st_mtime_ns
    again = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert again.exit_code == 0 and "CPT+SFT+RL" in again.output and curve.stat().st_mtime_ns == before


def test_a_stage_by_the_command_writes_a_card_of_what_it_measured(tmp_path):
    from worldline.cli import cli

    (tmp_path / "r.yaml").write_text(SMALL.replace("context: 256", "context: 1024") + "cpt: {steps: 2}\n")
    command = ["train", "cpt", "--recipe", str(tmp_path / "r.yaml"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert done.exit_code == 0 and "held-out turns: exact" in done.output
    card = (tmp_path / "out" / "model" / "README.md").read_text()
    assert "| small cpt |" in card and "continued pre-training" in card
    refused = CliRunner().invoke(cli, command)
    assert isinstance(refused.exception, ConfigError) and "holds a run already" in refused.exception.message
