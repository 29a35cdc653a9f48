"""Exported files are read by the trainers' own code, and what they learn is what we meant: answers, and nothing else.

Each test skips where its trainer is not installed; they do not all fit into one environment.
"""

import dataclasses
import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from train_tokens import chat

import worldline
from worldline.data.export import export

pytestmark = [
    pytest.mark.full,
    # the libraries' own warnings are not ours to mend
    pytest.mark.filterwarnings("default"),
]

END = "<|im_end|>"
ODD = "a <image> tag, <tool_call>, naïve ☃, {'quoted': \"text\"}\n\n  indented\ttab\n"
CPT = chat(
    ("ls", "a.txt\n"), ("cat a.txt", ODD), ("pwd", "/home/user"), system="You are a terminal.", weights=[1, 0, 1]
)
NONE_FIRST = chat(("true", "nothing"), ("ls", "two\nlines"), system="sys", weights=[0, 1])
HALF = chat(("ls", "half"), ("pwd", "whole"), system="sys", weights=[0.5, 1])
SFT = chat(("ls", "skipped"), ("date", "today"), stage="sft", reasoning="It prints the date.", weights=[0, 1])
RL = chat(
    ("ls", "seen"), ("pwd", None), stage="rl", weights=[0], truth={"text": "/home/user"}, checks=({"kind": "contains"},)
)


def answers(row):
    """What a row should teach: its weighted answers, with their reasoning."""
    thought = "" if row.messages[-1].reasoning is None else f"<think>\n{row.messages[-1].reasoning}\n</think>\n\n"
    learned = [message for message in row.messages if message.weight > 0]
    return [f"{thought if message.reasoning else ''}{message.content}" for message in learned]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder: a tokenizer over bytes with ChatML, and a very small Llama."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from worldline.train.pretrained import scratch_tokenizer

    path = tmp_path_factory.mktemp("model")
    tokenizer = scratch_tokenizer()
    tokenizer.save_pretrained(str(path))
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1
    )
    transformers.LlamaForCausalLM(config).save_pretrained(str(path))
    return path


@pytest.fixture(scope="module")
def tokenizer(folder):
    import transformers

    return transformers.AutoTokenizer.from_pretrained(str(folder))


def learned(tokenizer, ids, mask):
    """The stretches of a row that count in the loss, as text."""
    found, open_ = [], False
    for id, counts in zip(ids, mask, strict=True):
        if counts:
            if not open_:
                found.append([])
            found[-1].append(int(id))
        open_ = bool(counts)
    return [tokenizer.decode(stretch) for stretch in found]


def without_end(text):
    assert re.search(r"<\|im_end\|>\n?\Z", text), f"the end of {text!r} is not learned"
    return re.sub(r"<\|im_end\|>\n?\Z", "", text)


def test_trl_learns_completions(folder, tokenizer, tmp_path):
    trl = pytest.importorskip("trl", minversion="1.16")
    datasets = pytest.importorskip("datasets")
    rows = [CPT, NONE_FIRST, SFT]
    export("trl", rows, tmp_path)
    read = datasets.load_dataset("json", data_files=str(tmp_path / "train.jsonl"), cache_dir=str(tmp_path))["train"]
    args = trl.SFTConfig(
        output_dir=str(tmp_path / "out"), report_to="none", use_cpu=True, bf16=False, max_length=None,
        per_device_train_batch_size=1, completion_only_loss=True, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = trl.SFTTrainer(model=str(folder), args=args, train_dataset=read, processing_class=tokenizer)
    texts = []
    for row in trainer.train_dataset:
        batch = trainer.data_collator([row])
        texts += learned(tokenizer, batch["input_ids"][0], batch["labels"][0] != -100)
    assert [without_end(text) for text in texts] == [text for row in rows for text in answers(row)]


def test_trl_reads_prompts_for_rl(tmp_path):
    datasets = pytest.importorskip("datasets")
    export("trl", [RL], tmp_path)
    [row] = datasets.load_dataset("json", data_files=str(tmp_path / "train.jsonl"), cache_dir=str(tmp_path))["train"]
    assert [message["role"] for message in row["prompt"]][-1] == "user" and row["id"] == RL.id
    assert "/home/user" in row["truth"] and "/home/user" not in str(row["prompt"])


def llama_factory_set(loader, folder, out, rows, stage):
    from llamafactory.data.template import get_template_and_fix_tokenizer
    from llamafactory.hparams import DataArguments, ModelArguments
    from transformers import AutoTokenizer, Seq2SeqTrainingArguments

    export("llama-factory", rows, out)
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    data = DataArguments(
        template="chatml", dataset="worldline", dataset_dir=str(out), mask_history=True, cutoff_len=4096
    )
    return loader.get_dataset(
        get_template_and_fix_tokenizer(tokenizer, data),
        ModelArguments(model_name_or_path=str(folder), cache_dir=str(out / "cache")),
        data,
        Seq2SeqTrainingArguments(output_dir=str(out / "out"), use_cpu=True),
        stage=stage,
        tokenizer=tokenizer,
    )["train_dataset"]


def test_llama_factory_learns_the_last_answer(folder, tokenizer, tmp_path):
    loader = pytest.importorskip("llamafactory.data.loader")
    rows = [CPT, NONE_FIRST, SFT]
    made = llama_factory_set(loader, folder, tmp_path, rows, "sft")
    texts = [learned(tokenizer, row["input_ids"], [label != -100 for label in row["labels"]]) for row in made]
    assert [[without_end(text) for text in one] for one in texts] == [[text] for row in rows for text in answers(row)]


def test_llama_factory_weighs_messages(folder, tokenizer, tmp_path):
    rendering = pytest.importorskip("llamafactory.v1.core.utils.rendering")
    export("llama-factory", [HALF, NONE_FIRST], tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "train_v1.jsonl").read_text().splitlines()]
    for row, read in zip([HALF, NONE_FIRST], rows, strict=True):
        made = rendering.Renderer("chatml", tokenizer).render_messages(read["messages"])
        weights = made["loss_weights"]
        # this renderer has one weight for a whole message, the line that opens it included
        texts = learned(tokenizer, made["input_ids"], weights)
        parts = "".join(texts).split("<|im_start|>assistant\n")
        assert [without_end(part) for part in parts[1:]] == answers(row) and parts[0] == ""
        expected = {message.weight for message in row.messages if message.weight > 0}
        assert {weight for weight in weights if weight} == expected


def test_llama_factory_reads_prompts_for_rl(folder, tmp_path):
    loader = pytest.importorskip("llamafactory.data.loader")
    made = llama_factory_set(loader, folder, tmp_path, [RL], "ppo")
    assert len(made) == 1
    from transformers import AutoTokenizer

    text = AutoTokenizer.from_pretrained(str(folder)).decode(made[0]["input_ids"])
    assert text.endswith("pwd<|im_end|>\n<|im_start|>assistant\n") and "/home/user" not in text


def swift_template(folder, name="chatml", **more):
    pytest.importorskip("swift.template")
    from swift.model import get_processor
    from swift.template import get_template

    template = get_template(get_processor(str(folder), model_type="llama"), template_type=name, **more)
    template.set_mode("train")
    return template


def swift_row(row, out):
    from swift.dataset import load_dataset

    export("ms-swift", [row], out)
    read, _ = load_dataset(str(out / "train.jsonl"), remove_unused_columns=False, load_from_cache_file=False)
    return read[0]


@pytest.mark.parametrize("row", [CPT, NONE_FIRST, SFT], ids=["cpt", "none first", "sft"])
def test_ms_swift_learns_messages_with_loss(folder, tokenizer, tmp_path, row):
    template = swift_template(folder, loss_scale="default")
    encoded = template.encode(swift_row(row, tmp_path))
    mask = [label != -100 for label in encoded["labels"]]
    assert [without_end(text) for text in learned(tokenizer, encoded["input_ids"], mask)] == answers(row)


def test_ms_swift_weighs_messages(folder, tokenizer, tmp_path):
    template = swift_template(folder, loss_scale="default", is_binary_loss_scale=False)
    encoded = template.encode(swift_row(HALF, tmp_path))
    weights = {}
    for id, weight in zip(encoded["input_ids"], encoded["loss_scale"], strict=True):
        weights.setdefault(weight, []).append(id)
    texts = {weight: tokenizer.decode(ids) for weight, ids in weights.items()}
    # ms-swift weighs the end of each learned message by 1
    assert texts.pop(0.5) == "half" and texts.pop(1.0) == f"{END}\nwhole{END}\n"
    assert list(texts) == [0.0]


@pytest.mark.parametrize("template", ["qwen3", "qwen3_5"])
def test_ms_swift_learns_no_empty_thought(folder, tokenizer, tmp_path, template):
    """Of thinking models; their templates also take the last newline of a message away."""
    template = swift_template(folder, template, loss_scale="default+ignore_empty_think")
    rows = [CPT, SFT]
    texts = []
    for row in rows:
        encoded = template.encode(swift_row(row, tmp_path))
        texts += learned(tokenizer, encoded["input_ids"], [label != -100 for label in encoded["labels"]])
    assert [without_end(text).strip() for text in texts] == [text.strip() for row in rows for text in answers(row)]


def test_verl_learns_the_last_answer(folder, tokenizer, tmp_path):
    module = pytest.importorskip("verl.utils.dataset.multiturn_sft_dataset")
    rows = [CPT, NONE_FIRST, SFT]
    export("verl", rows, tmp_path)
    made = module.MultiTurnSFTDataset(
        str(tmp_path / "train.parquet"), tokenizer, {"pad_mode": "no_padding", "max_length": 4096}
    )
    texts = [learned(tokenizer, row["input_ids"], row["loss_mask"]) for row in map(made.__getitem__, range(len(made)))]
    assert [[without_end(text) for text in one] for one in texts] == [[text] for row in rows for text in answers(row)]


def test_verl_reads_prompts_for_rl(folder, tokenizer, tmp_path):
    module = pytest.importorskip("verl.utils.dataset.rl_dataset")
    from omegaconf import OmegaConf

    export("verl", [RL], tmp_path)
    config = {"max_prompt_length": 4096, "cache_dir": str(tmp_path / "cache"), "filter_overlong_prompts_workers": 1}
    made = module.RLHFDataset(str(tmp_path / "train.parquet"), tokenizer, OmegaConf.create(config))
    assert len(made) == 1
    row = made[0]
    assert [message["role"] for message in row["raw_prompt"]] == [message.role for message in RL.messages]
    assert row["extra_info"]["id"] == RL.id and "/home/user" in row["reward_model"]["ground_truth"]
    assert "/home/user" not in str(row["raw_prompt"])


def test_tinker_learns_trainable_messages(folder, tokenizer, tmp_path):
    renderers = pytest.importorskip("tinker_cookbook.renderers")
    rows = [CPT, NONE_FIRST]
    export("tinker", rows, tmp_path)
    renderer = renderers.get_renderer("role_colon", tokenizer)
    read = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    for row, told in zip(rows, read, strict=True):
        made, weights = renderer.build_supervised_example(
            told["messages"], train_on_what=renderers.TrainOnWhat.CUSTOMIZED
        )
        texts = learned(tokenizer, made.to_ints(), weights)
        # how this renderer ends a message is learned at the end of the last one
        ends = [text.removesuffix("\n\nUser:").strip() for text in texts]
        assert ends == [text.strip() for text in answers(row)]


LAUNCH = Path(worldline.__file__).parent / "train" / "recipes" / "launch"


@pytest.mark.parametrize(
    ("script", "config"),
    [
        ("qwen3.5-35b-a3b-verl-sft.sh", "sft_trainer_engine"),
        ("qwen3.5-35b-a3b-verl-gspo.sh", "ppo_trainer"),
    ],
)
def test_verl_knows_what_its_launch_scripts_set(script, config):
    pytest.importorskip("verl")
    hydra = pytest.importorskip("hydra")
    command = next(
        line for line in (LAUNCH / script).read_text().replace("\\\n", " ").splitlines() if line.startswith("exec")
    )
    words = [word for word in shlex.split(command) if re.match(r"[a-z_.]+=", word) and "dirname" not in word]
    set_ = [re.sub(r"\$\{?\w+(:-[^}]*)?\}?", "1", word) for word in words]
    assert len(set_) > 20
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        assert hydra.compose(config, overrides=set_)


def test_llama_factory_knows_the_keys_of_its_recipe():
    hparams = pytest.importorskip("llamafactory.hparams")
    from llamafactory.data.template import TEMPLATES

    recipe = yaml.safe_load((LAUNCH / "qwen3.5-35b-a3b-llama-factory.yaml").read_text())
    parts = (hparams.ModelArguments, hparams.DataArguments, hparams.TrainingArguments, hparams.FinetuningArguments)
    known = {field.name for part in parts for field in dataclasses.fields(part)}
    assert set(recipe) <= known, set(recipe) - known
    assert recipe["template"] in TEMPLATES


def test_tinker_takes_its_launch_script(tmp_path, monkeypatch):
    pytest.importorskip("tinker_cookbook.supervised.train")
    export("tinker", [CPT], tmp_path)
    monkeypatch.setenv("SET", str(tmp_path / "train.jsonl"))
    spec = importlib.util.spec_from_file_location("tinker_sft", LAUNCH / "tinker_sft.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.blueprint().make_from_argv(["learning_rate=2e-4"])
    assert config.learning_rate == 2e-4 and config.dataset_builder.file_path.endswith("train.jsonl")
