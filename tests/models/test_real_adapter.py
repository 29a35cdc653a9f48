"""An adapter on SmolLM2: llama.cpp with the converted file computes what Transformers does with the merged weights."""

import json
import subprocess
from pathlib import Path

import pytest
from real_home import PYTHON, environment, home_with_model, worldline

from worldline.models.adapters import AdapterNote, shipped_adapters
from worldline.models.adapters.description import NOTE, WEIGHTS
from worldline.models.catalog import CATALOG
from worldline.models.hashing import sha256_of

pytestmark = pytest.mark.full

_COMPARE = """
import json, sys
from pathlib import Path
import llama_cpp, numpy as np, torch
from worldline.models.adapters import conversion, describe_adapter
from worldline.models.adapters.weights import LoraWeights, write_weights
from worldline.models.llama import LlamaBackend
from worldline.models.store import find_model, with_adapter
from worldline.models.templates import chat_tokens
from worldline.models.transformer import TransformersBackend

base, work = find_model("smollm2"), Path(sys.argv[1])
plain = TransformersBackend(base, threads=1, context=512)
if sys.argv[2] == "random":
    random, pairs = np.random.default_rng(0), {}
    for name, module in plain._model.named_modules():
        if ".layers." in name and hasattr(module, "weight") and module.weight.ndim == 2:
            out, width = module.weight.shape
            a = random.normal(size=(4, width)).astype("f4")
            b = random.normal(size=(out, 4)).astype("f4")
            pairs[name] = (a, b * (0.1 * float(module.weight.norm()) / float(np.linalg.norm(b @ a))))
    adapter = work / "random"
    write_weights(LoraWeights(pairs, 1.0), adapter, "smollm2")
else:
    adapter = Path(sys.argv[2])
stored = with_adapter(base, describe_adapter(adapter))
merged = TransformersBackend(stored, threads=1, context=512)
right = conversion.gguf_adapter(stored.adapter, base.path, work)
conversion._ROTARY["llama"] = False
wrong = conversion.gguf_adapter(stored.adapter, base.path, work / "wrong")
llamas = {
    name: llama_cpp.Llama(
        str(base.path), n_ctx=512, n_threads=1, n_threads_batch=1, logits_all=True, verbose=False,
        lora_path=str(path) if path else None,
    )
    for name, path in (("right", right), ("wrong", wrong), ("none", None))
}

def logs(logits):
    logits = np.asarray(logits, "f8")
    logits = logits - logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

def divergence(truth, other):
    return float((np.exp(truth) * (truth - other)).sum(-1).mean())

def by_transformers(backend, ids):
    with torch.inference_mode():
        return logs(backend._model(torch.tensor([ids])).logits[0].numpy())

def by_llama(name, ids):
    llamas[name].reset()
    llamas[name].eval(ids)
    return logs(llamas[name].scores[: len(ids)])

system = {"role": "system", "content": "You are a Linux terminal. Answer with what it prints."}
for command in ("ls -l", "cat /etc/hostname", "seq 1 4 | tac", "mkdir /tmp/a && cd /tmp/a && pwd"):
    said = [system, {"role": "user", "content": "$ " + command}]
    ids = chat_tokens(said, merged._render, merged._special, merged._plain)
    truth, untouched = by_transformers(merged, ids), by_transformers(plain, ids)
    found = {name: divergence(truth, by_llama(name, ids)) for name in llamas}
    found["noise"] = divergence(untouched, by_llama("none", ids))
    found["agree"] = float((by_llama("right", ids).argmax(-1) == truth.argmax(-1)).mean())
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return home_with_model(tmp_path_factory, "llama_cpp", "torch", "transformers", "gguf", "safetensors")


def compared(home: Path, adapter: str) -> list[dict[str, float]]:
    done = subprocess.run(
        [PYTHON, "-c", _COMPARE, str(home / "converted"), adapter],
        env=environment(home), capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("adapter", ["random", *shipped_adapters()])
def test_both_libraries_compute_the_same(home: Path, adapter: str):
    rows = compared(home, str(shipped_adapters().get(adapter, adapter)))
    assert len(rows) == 4
    for row in rows:
        # llama.cpp rounds activations to eight bits: what remains is of the size of that noise, far below what is added
        assert row["right"] < max(6 * row["noise"], 0.03), row
        assert row["none"] > 10 * row["right"], row
        assert row["agree"] > 0.75, row
    if adapter == "random":  # its queries and keys matter, so rows in the wrong order show
        assert all(row["wrong"] > 3 * row["right"] for row in rows), rows


def test_it_is_found_asked_and_told_of(home: Path):
    adapter = home / "converted" / "random"
    if not adapter.is_dir():
        compared(home, "random")
    note = AdapterNote(
        name="random",
        base="smollm2",
        base_sha256=CATALOG["smollm2"].sha256,
        weights_sha256=sha256_of(adapter / WEIGHTS),
        domains=("terminal",),
        context=1024,
        prompts="brief",
        licence="apache-2.0",
        recipe="none",
        stages=(),
        made_by="a test",
    )
    (adapter / NOTE).write_text(note.model_dump_json())
    entry = {"local": f"smollm2+{adapter}", "threads": 1, "sampling": {"max_tokens": 12}}
    (home / "models.yaml").write_text(json.dumps({"models": {"adapted": entry}}))
    lines = json.dumps({"command": "ls"}) + "\n"
    options = ("--engine", "model", "--model", "adapted", "--actions", "-", "--json")
    done = worldline(home, "play", "terminal", *options, stdin=lines)
    assert done.returncode == 0, done.stderr
    turn = json.loads(done.stdout)
    assert turn["origin"] == "generated" and 0 < turn["usage"]["completion_tokens"] <= 12
    assert 0 < turn["usage"]["prompt_tokens"] < 1000  # the brief prompt, unasked
