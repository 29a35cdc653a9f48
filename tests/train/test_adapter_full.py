"""An adapter that was really trained: joined, checked against the merged model, and loaded again, also by PEFT."""

import threading

import pytest

from worldline.errors import ConfigError
from worldline.models.adapters.weights import write_weights
from worldline.models.local import LocalModel
from worldline.models.store import find_model
from worldline.train import adapter as making
from worldline.train.adapter import make_adapter
from worldline.train.recipe import parse_recipe
from worldline.train.stage import run_stage
from worldline.train.tuning import tuning_trainer

pytestmark = [
    pytest.mark.full,
    # the libraries' own warnings are not ours to mend
    pytest.mark.filterwarnings("default"),
]

TEXT = """
name: small
model: {model}
context: 2048
threads: 1
data: {{real: [terminal], limit: 4, prompts: brief, pool: all}}
evaluation: {{turns: 3, max_tokens: 16, rows: 2}}
{stages}
"""
STAGE = "{steps: 4, log_every: 1, optimiser: {learning_rate: 0.02, warmup: 0}}"


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """Taken here and not above, so that a run which leaves these tests out does not miss them."""
    global torch, transformers, peft
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    peft = pytest.importorskip("peft")
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, libraries):
    from train_tokens import chat

    folder = tmp_path_factory.mktemp("runs")
    rows = [chat((f"say {n}", f"number {n}\n" * 3), system="echo", weights=[1]) for n in range(8)]
    scratch = "{scratch: {hidden: 32, layers: 2, heads: 4, kv_heads: 2, intermediate: 64}}"
    base = parse_recipe(TEXT.format(model=scratch, stages=f"cpt: {STAGE}"))
    run_stage(base, "cpt", folder / "base", rows, tuning_trainer)
    text = TEXT.format(
        model=f"{{start: {folder / 'base' / 'model'}}}", stages=f"lora: {{rank: 2}}\ncpt: {STAGE}\nsft: {STAGE}"
    )
    recipe = parse_recipe(text)
    run_stage(recipe, "cpt", folder / "cpt", rows, tuning_trainer)
    sft = [row.model_copy(update={"stage": "sft"}) for row in rows]
    run_stage(recipe, "sft", folder / "sft", sft, tuning_trainer, start=folder / "cpt" / "model")
    return folder


def logits(model):
    with torch.inference_mode():
        return model(torch.arange(3, 60)[None]).logits[0]


def load(path):
    return transformers.AutoModelForCausalLM.from_pretrained(path).eval()


async def test_two_stages_joined_answer_as_the_merged_model(runs, tmp_path):
    made = make_adapter(runs / "sft", tmp_path / "joined", licence="apache-2.0", prompts=2)
    assert made.rank == 4 and made.agreement is not None
    assert made.agreement.prompts == 2 and made.agreement.same >= 0.98 * made.agreement.tokens > 0
    assert "of greedy answers to 2 held-out prompts" in (tmp_path / "joined" / "README.md").read_text()
    merged, base = load(runs / "sft" / "model"), load(runs / "base" / "model")
    apart = (logits(merged) - logits(base)).abs().max()
    by_peft = peft.PeftModel.from_pretrained(base, tmp_path / "joined")
    assert (logits(by_peft) - logits(merged)).abs().max() < 0.02 * apart
    model = LocalModel(find_model(f"{runs / 'base' / 'model'}+{tmp_path / 'joined'}"), threads=1)
    plain = LocalModel(find_model(str(runs / "sft" / "model")), threads=1)
    asked = [{"role": "user", "content": "say 3"}]
    written = [one._write(asked, one.effective_sampling(None), threading.Event()).text for one in (model, plain)]
    assert written[0] == written[1] != ""
    await model.aclose()
    await plain.aclose()


def test_an_adapter_that_answers_otherwise_is_refused(runs, tmp_path, monkeypatch):
    def spoilt(weights, folder, base):
        halves = {name: (a, -b) for name, (a, b) in weights.pairs.items()}
        write_weights(type(weights)(halves, weights.scale), folder, base)

    monkeypatch.setattr(making, "write_weights", spoilt)
    with pytest.raises(ConfigError, match="answers otherwise than"):
        make_adapter(runs / "sft", tmp_path / "spoilt", licence="apache-2.0", prompts=2)
    assert not list(tmp_path.iterdir())


def test_training_goes_on_from_an_adapter_on_its_base(runs, tmp_path):
    from worldline.train.pretrained import load_model, load_tokenizer

    make_adapter(runs / "cpt", tmp_path / "first", licence="apache-2.0", prompts=0)
    recipe = parse_recipe(TEXT.format(model=f"{{start: {tmp_path / 'first'}}}", stages=""))
    model = load_model(recipe, load_tokenizer(recipe)).eval()
    merged, base = load(runs / "cpt" / "model"), load(runs / "base" / "model")
    apart = (logits(merged) - logits(base)).abs().max()
    assert (logits(model) - logits(merged)).abs().max() < 0.02 * apart
