import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_gguf import gguf

from worldline.errors import ConfigError
from worldline.models import LocalModel, resolve_model
from worldline.models.catalog import CATALOG, DEFAULT_MODEL
from worldline.models.gguf import is_gguf, read_head
from worldline.models.store import add_model, describe, find_model, stored_models

pytestmark = pytest.mark.usefixtures("folder")


def hugging_face(path: Path, config: str = '{"max_position_embeddings": 2048}') -> Path:
    path.mkdir()
    (path / "config.json").write_text(config)
    (path / "model.safetensors").write_bytes(b"1234")
    (path / "README.md").write_text("---\nlicense: mit\n---\n")
    return path


@pytest.mark.parametrize(("trained", "context"), [("1024", 1024), ("1000000000000000019884624838656", 2048)])
def test_a_folder_says_how_long_a_context_it_was_trained_for(folder: Path, trained: str, context: int):
    path = hugging_face(folder / "hf")
    (path / "tokenizer_config.json").write_text(f'{{"model_max_length": {trained}}}')
    assert describe(path).context == context


def test_a_gguf_file_says_what_it_is(folder: Path):
    file = folder / "small.gguf"
    file.write_bytes(gguf("Tiny 1B", 4096))
    head = read_head(file)
    assert head["general.name"] == "Tiny 1B" and head["tokenizer.ggml.tokens"] == 2
    model = describe(file)
    assert (model.name, model.format, model.context, model.licence) == ("small", "gguf", 4096, "apache-2.0")


def test_models_are_added_listed_and_found(folder: Path):
    assert stored_models() == []
    file = folder / "small.gguf"
    file.write_bytes(gguf())
    added = add_model(file)
    model = add_model(hugging_face(folder / "hf"), "mine")
    assert [found.name for found in stored_models()] == ["mine", "small"]
    assert find_model("small") == added and len(added.sha256 or "") == 64
    assert (find_model("mine").context, find_model("mine").licence) == (2048, "mit")
    assert find_model(str(folder / "hf")).path == model.path
    file.unlink()
    assert [found.name for found in stored_models()] == ["mine"]


@pytest.mark.parametrize(
    ("spec", "said", "hint"),
    [
        ("", f"the model {DEFAULT_MODEL} is not here", f"worldline models get {DEFAULT_MODEL}"),
        ("no-such", "unknown local model 'no-such'", "smollm2"),
        ("README.md", "is no GGUF file", "config.json"),
        ("empty", "holds no Hugging Face model", "safetensors"),
        ("broken", "reading", None),
    ],
)
def test_what_is_missing_is_named(folder: Path, spec: str, said: str, hint: str | None):
    (folder / "README.md").write_text("no model")
    (folder / "empty").mkdir()
    hugging_face(folder / "broken", "{")
    with pytest.raises(ConfigError, match=said) as caught:
        find_model(spec)
    assert hint is None or hint in (caught.value.hint or "")


def test_names_that_cannot_be_used(folder: Path):
    file = folder / "small.gguf"
    file.write_bytes(gguf())
    for name in ("../x", "", "a/b", next(iter(CATALOG))):
        with pytest.raises(ConfigError):
            add_model(file, name) if name else add_model(file, "-")


def test_a_damaged_record_is_named(folder: Path):
    (folder / "models").mkdir()
    (folder / "models" / "x.json").write_text("{")
    with pytest.raises(ConfigError, match=r"x\.json"):
        stored_models()


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_head_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, tail: bytes, cut: int):
    file = tmp_path_factory.mktemp("gguf") / "x.gguf"
    for data in (b"GGUF\x03\0\0\0" + tail, gguf()[: cut + 4] + tail):
        file.write_bytes(data)
        assert is_gguf(file)
        try:
            assert isinstance(read_head(file), dict)
        except ConfigError as error:
            assert str(file) in error.message


def test_models_of_this_machine_are_named_like_any_other(folder: Path):
    file = folder / "small.gguf"
    file.write_bytes(gguf(context=1_000_000))
    add_model(file)
    for spec in ("local:small", f"local:{file}"):
        model = resolve_model(spec)
        assert isinstance(model, LocalModel)
        assert (model.name, model.context_length) == ("small", 16_384)
    entry = {"local": "small", "threads": 1, "context_length": 300, "sampling": {"max_tokens": 9}}
    (folder / "models.yaml").write_text(json.dumps({"models": {"local": entry, "bad": {"local": "small", "url": "x"}}}))
    with pytest.raises(ConfigError, match=r"models\.bad: url"):
        resolve_model("local")
    (folder / "models.yaml").write_text(json.dumps({"models": {"local": entry}}))
    model = resolve_model("local")
    assert isinstance(model, LocalModel)
    assert (model.name, model.threads, model.context_length) == ("local", 1, 300)
    assert model.effective_sampling(None).max_tokens == 9
    with pytest.raises(ConfigError, match="is not here"):
        resolve_model("local:smollm2")
