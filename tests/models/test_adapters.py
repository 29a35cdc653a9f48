"""Adapters: found, put on their base, converted for llama.cpp; real models: test_real_adapter.py."""

import json
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tiny_adapter import HEADS, KV_HEADS, MODULES, note_on, random_weights, tiny_adapter, tiny_llama

from worldline import World
from worldline.cli import cli, doctor
from worldline.errors import ConfigError, StorageError, WorldlineError
from worldline.models import LocalModel, Message, Sampling, adapters, local, resolve_model, store
from worldline.models.adapters import ADAPTER_LIMIT, describe_adapter, description, shipped_adapters
from worldline.models.adapters.conversion import gguf_adapter, rotary_order
from worldline.models.adapters.description import CARD, CONFIG, WEIGHTS
from worldline.models.adapters.weights import LoraWeights, joined, read_weights, thinned, write_weights
from worldline.models.backend import Written
from worldline.models.catalog import CATALOG
from worldline.models.hashing import sha256_of
from worldline.models.store import add_model, find_model, stored_models

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def base(folder: Path) -> Path:
    path = tiny_llama(folder / "tiny.gguf")
    add_model(path)
    return path


@pytest.fixture
def adapter(folder: Path, base: Path) -> Path:
    path = tiny_adapter(folder / "terminal-small")
    note_on(path, "tiny", sha256_of(base))
    return path


def product(weights: LoraWeights, module: str) -> np.ndarray:
    a, b = weights.pairs[module]
    return b.astype("f8") @ a.astype("f8") * weights.scale


# finding


@pytest.mark.parametrize("spec", ["tiny+terminal-small", "tiny.gguf+terminal-small", "terminal-small"])
def test_base_and_adapter_are_one_model(base: Path, adapter: Path, spec: str):
    model = find_model(spec)
    assert (model.name, model.path, model.context) == ("tiny+terminal-small", base, 64)
    assert model.adapter is not None and model.adapter.path == adapter and model.licence == "apache-2.0"
    resolved = resolve_model(f"local:{spec}")
    assert isinstance(resolved, LocalModel) and resolved.name == "tiny+terminal-small"
    assert resolved.context_length == 48
    assert str(resolved.trained_prompts("terminal")) == "brief" and resolved.trained_prompts("mcp") is None
    plain = LocalModel(find_model("tiny"))
    assert plain.cache_identity != resolved.cache_identity and plain.trained_prompts("terminal") is None


def test_a_path_may_hold_a_plus(base: Path, adapter: Path):
    shutil.copy(base, "a+b.gguf")
    shutil.copytree(adapter, "c+d")
    model = find_model("a+b.gguf+c+d")
    assert model.path.name == "a+b.gguf" and model.adapter is not None and model.adapter.path.name == "c+d"


def test_an_adapter_is_added_under_a_name(base: Path, adapter: Path):
    added = add_model(adapter, "mine")
    assert added in stored_models() and find_model("mine").adapter == added.adapter
    with pytest.raises(ConfigError, match="has an adapter already"):
        find_model(f"mine+{adapter}")
    shutil.rmtree(adapter)
    assert [model.name for model in stored_models()] == ["tiny"]


def test_a_folder_of_peft_alone_needs_its_base_named(base: Path, adapter: Path):
    (adapter / "worldline.json").unlink()
    model = find_model(f"tiny+{adapter}")
    assert (model.name, model.context) == ("tiny+terminal-small", 64)
    with pytest.raises(ConfigError, match="does not say what its base is") as caught:
        find_model(str(adapter))
    assert "local:BASE+" in (caught.value.hint or "")


def test_another_base_is_refused(base: Path, adapter: Path):
    other = tiny_llama(base.with_name("other.gguf"), "qwen2")
    with pytest.raises(ConfigError, match=r"was trained on tiny .* and other is other weights") as caught:
        find_model(f"{other}+{adapter}")
    assert caught.value.hint == "use local:tiny+terminal-small"


def test_a_missing_base_is_named_with_the_way_to_get_it(folder: Path, adapter: Path):
    note_on(adapter, "smollm2", CATALOG["smollm2"].sha256)
    for spec in ("terminal-small", f"smollm2+{adapter}"):
        with pytest.raises(ConfigError, match="the model smollm2 is not here") as caught:
            find_model(spec)
        assert caught.value.hint == "worldline models get smollm2"
    with pytest.raises(ConfigError, match="unknown adapter 'no-such'"):
        find_model("tiny+no-such")
    with pytest.raises(ConfigError, match="unknown local model 'nothing'"):
        find_model("nothing+no-such")


# bad files


def cut(path: Path) -> None:
    (path / WEIGHTS).write_bytes((path / WEIGHTS).read_bytes()[:-40])


@pytest.mark.parametrize("noted", [True, False])
def test_a_torn_file_is_said_to_be_one(base: Path, adapter: Path, noted: bool):
    cut(adapter)
    if not noted:
        (adapter / "worldline.json").unlink()
    with pytest.raises(StorageError, match="has the hash" if noted else "cannot be read") as caught:
        read_weights(find_model(f"tiny+{adapter}").adapter.path)  # type: ignore[union-attr]
    assert "cut off" in (caught.value.hint or "")


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    path = tmp_path_factory.mktemp("bytes")
    (path / CONFIG).write_text('{"peft_type": "LORA", "lora_alpha": 1}')
    (path / WEIGHTS).write_bytes(data)
    with pytest.raises(WorldlineError):
        read_weights(path)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"peft_type": "IA3"}, "of the kind IA3"),
        ({"use_dora": True}, "sets use_dora"),
        ({"bias": "all"}, "sets bias"),
        ({"modules_to_save": ["lm_head"]}, "sets modules_to_save"),
        ({"lora_alpha": "x"}, "lora_alpha is not a number"),
    ],
)
def test_what_is_no_plain_lora_is_refused(adapter: Path, setting: dict, said: str):
    config = json.loads((adapter / CONFIG).read_text())
    (adapter / CONFIG).write_text(json.dumps({**config, **setting}))
    with pytest.raises(ConfigError, match=said):
        read_weights(adapter)


def test_numbers_that_are_not_finite_are_refused(folder: Path):
    weights = random_weights()
    next(iter(weights.pairs.values()))[0][0, 0] = np.inf
    with pytest.raises(ConfigError, match="not finite"):
        read_weights(tiny_adapter(folder / "broken", weights))


@pytest.mark.parametrize("missing", [CONFIG, WEIGHTS])
def test_a_folder_without_its_files_is_no_adapter(adapter: Path, missing: str):
    (adapter / missing).unlink()
    with pytest.raises(ConfigError, match=f"{missing} is missing"):
        describe_adapter(adapter)


# weights


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=2, max_size=20))
def test_bfloat16_is_the_nearest(tmp_path_factory: pytest.TempPathFactory, values: list[float]):
    array = np.array([values], np.float32)
    path = tmp_path_factory.mktemp("rounded")
    write_weights(LoraWeights({"m": (array, np.ones((3, 1), np.float32))}, 1.0), path, "tiny")
    read = read_weights(path)
    a, b = read.pairs["m"]
    assert (b == 1).all() and read.scale == 1.0
    near = np.abs(a.astype("f8") - array.astype("f8")) <= np.maximum(2.0**-8 * np.abs(array.astype("f8")), 1e-40)
    assert near.all()


def test_a_tie_goes_to_the_even_number(folder: Path):
    ties = np.array([[1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20]], np.float32)
    write_weights(LoraWeights({"m": (ties, np.ones((2, 1), np.float32))}, 0.5), folder / "ties", "tiny")
    read = read_weights(folder / "ties")
    assert read.pairs["m"][0].tolist() == [[1.0, 1 + 2**-6, 1 + 2**-7]] and read.scale == 0.5


def test_scales_follow_the_configuration(adapter: Path):
    config = json.loads((adapter / CONFIG).read_text())
    for stabilised, scale in ((False, 8.0), (True, 16 / 2**0.5)):
        (adapter / CONFIG).write_text(json.dumps({**config, "lora_alpha": 16, "use_rslora": stabilised}))
        assert read_weights(adapter).scale == pytest.approx(scale)


def test_stages_are_joined_exactly():
    first, second = random_weights(2, 2.0, 1), random_weights(3, 0.5, 2)
    some = LoraWeights({name: pair for name, pair in second.pairs.items() if "mlp" in name}, second.scale)
    whole = joined([first, some])
    assert whole.rank == 5
    for module in MODULES:
        wanted = product(first, module) + (product(some, module) if module in some.pairs else 0)
        np.testing.assert_allclose(product(whole, module), wanted, rtol=1e-5, atol=1e-5)


def test_thinning_keeps_the_largest_part():
    weights = random_weights(4, 1.5)
    thin = thinned(weights, 2)
    for module in MODULES:
        u, values, v = np.linalg.svd(product(weights, module))
        np.testing.assert_allclose(product(thin, module), u[:, :2] * values[:2] @ v[:2], atol=1e-4)
    with pytest.raises(ValueError, match="below 4"):
        thinned(weights, 4)


# conversion


@given(st.integers(1, 4), st.integers(1, 4))
def test_halves_become_pairs(heads: int, half: int):
    rows = np.arange(heads * 2 * half)[:, None]
    moved = rotary_order(rows, heads)[:, 0]
    for head in range(heads):
        for place in range(half):
            start = head * 2 * half
            assert moved[start + 2 * place] == start + place
            assert moved[start + 2 * place + 1] == start + half + place


def test_llama_cpp_gets_its_own_order_and_shapes(base: Path, adapter: Path, folder: Path):
    stored = describe_adapter(adapter)
    path = gguf_adapter(stored, base, folder / "models")
    assert path.parent == folder / "models" / "adapters"
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    assert (fields["general.type"], fields["adapter.type"]) == ("adapter", "lora")
    assert fields["general.architecture"] == "llama" and fields["adapter.lora.alpha"] == 0.0
    tensors = {tensor.name: np.array(tensor.data) for tensor in reader.tensors}
    weights = read_weights(adapter)
    for module, name in (("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"), ("mlp.down_proj", "ffn_down")):
        made = tensors[f"blk.0.{name}.weight.lora_b"] @ tensors[f"blk.0.{name}.weight.lora_a"]
        wanted = product(weights, f"model.layers.0.{module}")
        heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(name)
        np.testing.assert_allclose(made, rotary_order(wanted, heads) if heads else wanted, rtol=1e-4, atol=1e-5)
    assert len(tensors) == 2 * len(MODULES)


def test_an_adapter_is_converted_once(base: Path, adapter: Path, folder: Path):
    first = gguf_adapter(describe_adapter(adapter), base, folder)
    before = first.stat().st_mtime_ns
    assert gguf_adapter(describe_adapter(adapter), base, folder) == first and first.stat().st_mtime_ns == before
    write_weights(random_weights(seed=9), adapter, "tiny")
    (adapter / "worldline.json").unlink()
    assert gguf_adapter(describe_adapter(adapter), base, folder) != first
    assert [path.suffix for path in (folder / "adapters").iterdir()] == [".gguf", ".gguf"]


def test_an_adapter_of_another_shape_is_refused(base: Path, folder: Path):
    wrong = {**MODULES, "model.layers.0.mlp.up_proj": (16, 8)}
    path = tiny_adapter(folder / "wide", random_weights(modules=wrong))
    with pytest.raises(ConfigError, match=r"wide belongs to another model .*up_proj is 12 x 8, the adapter's 16 x 8"):
        gguf_adapter(describe_adapter(path), base, folder)
    more = {**MODULES, "model.layers.1.mlp.up_proj": (12, 8)}
    path = tiny_adapter(folder / "deep", random_weights(modules=more))
    with pytest.raises(ConfigError, match=r"it has no model\.layers\.1\.mlp\.up_proj"):
        gguf_adapter(describe_adapter(path), base, folder)
    assert not (folder / "adapters").exists()


def test_a_kind_of_model_that_is_not_converted_says_so(adapter: Path, folder: Path):
    other = tiny_llama(folder / "other.gguf", "gemma")
    with pytest.raises(ConfigError, match="adapters of gemma models") as caught:
        gguf_adapter(describe_adapter(adapter), other, folder)
    assert "Transformers" in (caught.value.hint or "")


# asking


class Backend:
    """Answers the same to everything, and tells what it was asked."""

    reasons = False

    def __init__(self) -> None:
        self.asked: list[list[Message]] = []
        self.openings: list[str] = []

    def count(self, messages: Sequence[Message]) -> int:
        return sum(len(message["content"]) for message in messages)

    def write(
        self, messages: Sequence[Message], sampling: Sampling, stop: threading.Event, opening: str = ""
    ) -> Written:
        self.asked.append(list(messages))
        self.openings.append(opening)
        return Written("<predicted_observation>\nfine\n[exit code: 0]\n</predicted_observation>", "stop", 7, 3, 2)

    def close(self) -> None:
        pass


async def test_it_is_asked_as_it_was_trained_unless_told_otherwise(
    base: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
):
    backend = Backend()
    monkeypatch.setattr(local, "open_backend", lambda stored, threads, context: backend)
    note_on(adapter, "tiny", sha256_of(base), context=64)
    for spec, prompts in (("tiny+terminal-small", None), ("tiny+terminal-small", "full"), ("tiny", None)):
        model = LocalModel(find_model(spec), context=4096)
        async with World.terminal().session("model", model=model, prompts=prompts) as session:
            await session.step("ls")
        await model.aclose()
    trained, full, plain = ([message["content"] for message in messages] for messages in backend.asked)
    assert full == plain and len("".join(trained)) < 0.7 * len("".join(full))
    assert "$ ls" in trained[-1]


async def test_early_turns_are_left_out_by_the_models_own_tokens(
    base: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
):
    backend, rooms = Backend(), []
    monkeypatch.setattr(local, "open_backend", lambda stored, threads, context: (rooms.append(context), backend)[1])
    model = LocalModel(find_model("tiny+terminal-small"))
    turns = [Message(role=role, content=f"{n:05}") for n in range(8) for role in ("user", "assistant")]
    asked = [Message(role="system", content="0" * 8), *turns, Message(role="user", content="1" * 9)]
    for _ in range(2):
        await model.complete(asked, Sampling(max_tokens=100))
    # 48 tokens, an eighth of them for the answer: 42 hold the system's 8, the question's 9 and two turns of 10
    assert backend.asked == [[asked[0], *turns[-4:], asked[-1]]] * 2
    await model.complete(asked, Sampling(max_tokens=1))
    assert backend.asked[-1] == [asked[0], *turns[-6:], asked[-1]]
    long = [Message(role="user", content="x" * 50)]
    await model.complete(long)
    assert backend.asked[-1] == long and rooms == [64]
    await model.aclose()
    plain = LocalModel(find_model("tiny"))
    await plain.complete(asked)
    assert backend.asked[-1] == asked
    await plain.aclose()


async def test_one_that_reasons_begins_its_answer_itself(base: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch):
    backend = Backend()
    monkeypatch.setattr(local, "open_backend", lambda stored, threads, context: backend)
    for reasons in (False, True):
        note_on(adapter, "tiny", sha256_of(base), reasons=reasons)
        model = LocalModel(find_model("tiny+terminal-small"))
        await model.complete([Message(role="user", content="in <predicted_observation> tags")])
        await model.aclose()
    assert [bool(opening) for opening in backend.openings] == [True, False]


# what ships


def faults(path: Path) -> list[str]:
    """What is wrong with an adapter that is to ship."""
    found = []
    stored = describe_adapter(path)
    note = stored.note
    if stored.size > ADAPTER_LIMIT:
        found.append("too large")
    if note is None:
        return [*found, "no note"]
    known = CATALOG.get(note.base)
    if known is None or known.sha256 != note.base_sha256:
        found.append("no base of the list")
    elif json.loads((path / CONFIG).read_text())["base_model_name_or_path"] != note.base:
        found.append("another base in the configuration")
    card = (path / CARD).read_text() if (path / CARD).is_file() else ""
    if "license:" not in card or note.base_sha256 not in card:
        found.append("no card that names licence and base")
    if note.name != path.name or not note.domains or not note.stages:
        found.append("an incomplete note")
    read_weights(path)
    return found


def test_what_ships_is_small_and_says_where_it_belongs():
    found = {name: faults(path) for name, path in shipped_adapters().items()}
    assert not any(found.values()), found


def test_what_ships_is_listed_with_what_it_needs(adapter: Path, monkeypatch: pytest.MonkeyPatch):
    for module in (adapters, description, store):
        monkeypatch.setattr(module, "shipped_adapters", lambda: {"terminal-small": adapter})
    monkeypatch.chdir("/")

    def listed() -> dict:
        rows = json.loads(CliRunner().invoke(cli, ["models", "list", "--json"], catch_exceptions=False).stdout)
        [row] = [row for row in rows if row["format"] == "adapter"]
        return row

    row = listed()
    assert (row["name"], row["state"], row["context"]) == ("tiny+terminal-small", "here", 48)
    assert find_model("terminal-small").name == find_model("tiny+terminal-small").name == row["name"]
    [found] = doctor._adapters()
    assert found.works and found.detail == "--model local:tiny+terminal-small"
    note_on(adapter, "smollm2", CATALOG["smollm2"].sha256)
    assert listed()["state"] == "base not fetched: models get smollm2"
    [found] = doctor._adapters()
    assert not found.works and found.advice == "worldline models get smollm2"
    cut(adapter)
    assert listed()["state"] == "damaged"
    [found] = doctor._adapters()
    assert not found.works and "has the hash" in found.detail


def test_what_may_not_ship_is_found(folder: Path, base: Path, adapter: Path):
    assert faults(adapter) == ["no base of the list"]
    note_on(adapter, "smollm2", CATALOG["smollm2"].sha256, name="another")
    (adapter / CARD).unlink()
    assert faults(adapter) == [
        "another base in the configuration",
        "no card that names licence and base",
        "an incomplete note",
    ]
    large = tiny_adapter(folder / "large", random_weights(modules={"m": (1_300_000, 2)}))
    assert faults(large) == ["too large", "no note"]
