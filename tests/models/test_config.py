from pathlib import Path

import pytest

from worldline.errors import ConfigError
from worldline.models import CachedModel, EndpointModel, ModelSettings, ScriptedModel, load_models, resolve_model
from worldline.models.settings import base_url

FILE = """
models:
  {name}:
    base_url: http://127.0.0.1:8000
    model: served
"""


@pytest.fixture(autouse=True)
def _away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("WORLDLINE_MODELS", "WORLDLINE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("https://h.example/api/v3/", "https://h.example/api/v3"),
        ("https://h.example/v1beta/openai", "https://h.example/v1beta/openai"),
        ("https://h.example/compatible", "https://h.example/compatible/v1"),
    ],
)
def test_addresses_with_or_without_a_version(given: str, used: str) -> None:
    assert base_url(given) == used


@pytest.mark.parametrize(
    "wrong", ["ftp://h", "h:8000", "http://", "http://u:secret@h", "http://h/?key=secret", "http://h:x"]
)
def test_wrong_addresses(wrong: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model(f"{wrong}#m" if "://" in wrong else f"http://{wrong}:y#m")
    assert "secret" not in str(caught.value)


def test_url_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    model = resolve_model("http://127.0.0.1:8000#Qwen/Qwen-AgentWorld-35B-A3B")
    assert isinstance(model, EndpointModel)
    assert model.name == model.settings.model == "Qwen/Qwen-AgentWorld-35B-A3B"
    assert model.settings.base_url == "http://127.0.0.1:8000/v1"
    assert model.settings.key_env is None
    monkeypatch.setenv("WORLDLINE_API_KEY", "k-secret")
    keyed = resolve_model("http://127.0.0.1:8000#m")
    assert isinstance(keyed, EndpointModel)
    assert keyed.settings.key_env == "WORLDLINE_API_KEY"
    with pytest.raises(ConfigError, match="which model"):
        resolve_model("http://127.0.0.1:8000/v1")


def test_names_are_looked_up_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"no models\.yaml"):
        resolve_model("here")
    write(
        tmp_path / "config/worldline/models.yaml",
        FILE.format(name="user") + FILE.format(name="here").split("models:\n")[1].replace("served", "shadowed"),
    )
    write(tmp_path / "models.yaml", FILE.format(name="here"))
    here, user = resolve_model("here"), resolve_model("user")
    assert isinstance(here, EndpointModel)
    assert here.settings.model == "served"
    assert user.name == "user"
    with pytest.raises(ConfigError, match=r"unknown model 'other'.*here, user"):
        resolve_model("other")
    named = write(tmp_path / "named.yaml", FILE.format(name="named"))
    monkeypatch.setenv("WORLDLINE_MODELS", str(named))
    assert resolve_model("named").name == "named"
    with pytest.raises(ConfigError, match="known: named"):
        resolve_model("here")
    explicit = write(tmp_path / "explicit.yaml", FILE.format(name="explicit"))
    assert resolve_model("explicit", models=explicit).name == "explicit"
    with pytest.raises(ConfigError, match="no models file"):
        resolve_model("explicit", models=tmp_path / "gone.yaml")


def test_scripted_and_cached(tmp_path: Path) -> None:
    write(tmp_path / "s.yaml", "- hello\n")
    assert isinstance(resolve_model("scripted:s.yaml"), ScriptedModel)
    cached = resolve_model("scripted:s.yaml", cache=tmp_path / "cache.db")
    assert isinstance(cached, CachedModel)
    cached.cache.close()
    with pytest.raises(ConfigError, match="gone"):
        resolve_model("scripted:gone.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: [", "line 1: this is not YAML"),
        ("models: 5", "expected one key 'models'"),
        ("- a", "expected one key 'models'"),
        ("", "expected one key 'models'"),
        ("models: {a: {}, b: 1}\nother: 2", "expected one key 'models'"),
        ("models: {a: {base_url: 'http://h'}}", r"models\.a: model: Field required"),
        ("models: {a: {base_url: 'h', model: m}}", r"models\.a: base_url: must be an http"),
        ("models: {a: {base_url: 'http://h', model: m, api_key: sk-secret}}", "key_env"),
        ("models: {a: {base_url: 'http://h', model: m, apikey: sk-secret}}", r"apikey: Extra inputs"),
        ("models: {a: {base_url: 'http://h', model: m, headers: {k: 'sk-secret\u00e9'}}}", "value of k"),
        ("models: {a: {base_url: 'http://h', model: m, concurrency: 0}}", "concurrency: Input should be"),
        ("models: {a: {base_url: 'http://h', model: m, key_env: NOT_SET_ANYWHERE}}", "NOT_SET_ANYWHERE is not set"),
        ("models:\n a:\n  api_key: sk-secret: x", "line 3: this is not YAML"),
    ],
)
def test_wrong_model_files(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path / "models.yaml", text)
    with pytest.raises(ConfigError, match=said) as caught:
        resolve_model("a")
    assert "sk-secret" not in str(caught.value)


def test_the_example_file_is_valid() -> None:
    entries = load_models(Path(__file__).parents[2] / "examples" / "models.yaml")
    assert len(entries) >= 3
    assert all(isinstance(entry, ModelSettings) for entry in entries.values())
    assert entries["agentworld"].sampling.top_k == 20
