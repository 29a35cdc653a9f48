"""Publishing: what a dry run lists, what is refused, and an upload by the hub's own library to a real server."""

import json

import pytest
from click.testing import CliRunner
from hub_server import HubServer

from worldline.cli import cli
from worldline.data.card import data_card
from worldline.data.publishing import plan_publication, publish
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.data.sets import write_rows
from worldline.errors import ConfigError, ModelError, StorageError
from worldline.types import Source

CARD = "---\nlicense: apache-2.0\ntags: [worldline]\n---\n\n# A set\n"
TOKEN = "hf_" + "aB3" * 12


def row(text="ok\n", source=Source.OBSERVED):
    chat = (TrainingMessage(role="user", content="ls"), TrainingMessage(role="assistant", content=text, weight=1))
    return TrainingRow(stage="cpt", domain="terminal", source=source, messages=chat)


def folder_of(path, card=CARD, rows=None):
    write_rows(path, rows or [row()])
    if card is not None:
        (path / "README.md").write_text(card)
    return path


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "run" / "model"
    (folder / "adapter").mkdir(parents=True)
    (folder / "README.md").write_text("---\nlibrary_name: transformers\n---\n\n# Mine\n")
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"w" * 1000)
    (folder / "adapter" / "adapter_model.safetensors").write_bytes(b"a" * 10)
    (folder / "optimizer.pt").write_bytes(b"o" * 500)
    (folder / "training_args.bin").write_bytes(b"t")
    (folder / ".env").write_text(f"HF_TOKEN={TOKEN}\n")
    (folder / "checkpoints" / "checkpoint-2").mkdir(parents=True)
    (folder / "checkpoints" / "checkpoint-2" / "model.safetensors").write_bytes(b"c" * 300)
    (folder / "outside.txt").symlink_to("/etc/hostname")
    return folder


def dry(kind, folder, *more):
    return CliRunner().invoke(cli, [kind, "push", str(folder), "me/mine", "--dry-run", *more])


def test_a_dry_run_lists_what_goes_and_what_stays(model):
    done = dry("models", model.parent, "--licence", "mit", "--private", "--revision", "v1", "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.output)
    assert [file["path"] for file in record["files"]] == [
        "README.md",
        "adapter/adapter_model.safetensors",
        "config.json",
        "model.safetensors",
    ]
    assert record["card"].startswith("---\nlicense: mit\nlibrary_name: transformers\n---\n\n# Mine")
    assert record["size"] == 1012 + len(record["card"]) and record["commit"] is None and record["private"]
    assert {one["path"]: one["reason"] for one in record["left_out"]} == {
        ".env": "credentials",
        "checkpoints/": "checkpoint",
        "optimizer.pt": "optimiser state",
        "outside.txt": "link out of the folder",
        "training_args.bin": "optimiser state",
    }
    assert next(one["size"] for one in record["left_out"] if one["path"] == "checkpoints/") == 300
    assert "license" not in (model / "README.md").read_text()
    shown = dry("models", model, "--licence", "mit").output
    assert "licence mit" in shown and "stays here: optimizer.pt" in shown and "dry run" in shown and TOKEN not in shown


def test_a_dry_run_asks_nothing_of_the_network(tmp_path):
    with HubServer() as server:
        done = CliRunner(env={"HF_ENDPOINT": server.url}).invoke(
            cli, ["data", "push", str(folder_of(tmp_path)), "me/mine", "--dry-run"]
        )
        assert done.exit_code == 0 and not server.calls


@pytest.mark.parametrize(
    ("card", "rows", "said"),
    [
        (None, None, "no card"),
        ("# A set\n", None, "names no licence"),
        ("---\nlicense: [\n---\n", None, "front matter"),
        ("---\n- a\n---\n", None, "no mapping"),
        (CARD, [row(source=Source.SIMULATED)], "does not say so"),
        (CARD, [row(f"token {TOKEN}\n")], "rows.jsonl.zst:1 hugging_face_token"),
        (f"{CARD}{TOKEN}\n", None, "README.md:7 hugging_face_token"),
    ],
)
def test_what_must_not_be_published_is_refused(tmp_path, card, rows, said):
    done = CliRunner().invoke(cli, ["data", "push", str(folder_of(tmp_path, card, rows)), "me/mine", "--dry-run"])
    assert isinstance(done.exception, ConfigError) or done.exit_code != 0
    with pytest.raises(ConfigError, match=said) as caught:
        plan_publication(tmp_path, "me/mine", "dataset")
    assert TOKEN not in str(caught.value)


def test_what_only_looks_like_a_secret_can_be_named(tmp_path):
    folder_of(tmp_path, rows=[row(f"token {TOKEN}\n")])
    with pytest.raises(ConfigError) as caught:
        plan_publication(tmp_path, "me/mine", "dataset")
    mark = str(caught.value).split("hugging_face_token ")[1].split()[0]
    assert plan_publication(tmp_path, "me/mine", "dataset", not_secret=frozenset({mark})).files


def test_secrets_in_parquet_are_found(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    folder_of(tmp_path)
    pq.write_table(pa.table({"text": ["fine", f"token {TOKEN}"]}), tmp_path / "train.parquet")
    with pytest.raises(ConfigError, match=r"train\.parquet:2 hugging_face_token"):
        plan_publication(tmp_path, "me/mine", "dataset")


def test_a_card_may_say_that_rows_are_simulated(tmp_path):
    record = {
        "options": {"stage": "cpt", "seed": 0},
        "rows": 2, "trajectories": 1, "turns": 2, "made_by": "us", "from": ["a"], "against": [], "shortened": 0,
        "domains": {"terminal": 2}, "sources": {"observed": 1, "simulated": 1},
        "left_out": {}, "dropped_turns": {}, "labels": {}, "trained": {},
    }  # fmt: skip
    folder_of(tmp_path, data_card(record), [row(), row(source=Source.SIMULATED)])
    plan = plan_publication(tmp_path, "me/mine", "dataset", licence="cc-by-4.0")
    assert plan.card.startswith("---\nlicense: cc-by-4.0\ntags: [world-model, worldline, cpt, simulated]\n")
    (tmp_path / "README.md").write_text(data_card({**record, "sources": {"observed": 2}}))
    (tmp_path / "report.json").write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"report\.json holds simulated"):
        plan_publication(tmp_path, "me/mine", "dataset", licence="cc-by-4.0")


@pytest.mark.parametrize("name", ["a/b/c", "", "a b", "a--b", "../x"])
def test_names_that_no_repository_has_are_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="repository"):
        plan_publication(folder_of(tmp_path), name, "dataset")


def test_a_folder_without_weights_is_no_model(tmp_path):
    with pytest.raises(ConfigError, match="no weights"):
        plan_publication(folder_of(tmp_path), "me/mine", "model")
    (tmp_path / "bare").mkdir()
    with pytest.raises(ConfigError, match="nothing to publish"):
        plan_publication(tmp_path / "bare", "me/mine", "dataset")


@pytest.fixture
def hub(monkeypatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", TOKEN)


def test_the_hub_gets_what_the_dry_run_listed(model, hub):
    plan = plan_publication(model, "me/mine", "model", licence="mit", private=True, revision="v1")
    with HubServer() as server:
        assert publish(plan, endpoint=server.url).endswith("/commit/c0ffee")
    assert server.created == [{"name": "mine", "organization": "me", "visibility": "private", "type": "model"}]
    assert server.branches == ["v1"] and server.calls[-1][1] == "/api/models/me/mine/commit/v1"
    assert {path: len(content) for path, content in server.files.items()} == {f.path: f.size for f in plan.files}
    assert server.files["README.md"].decode() == plan.card
    assert server.tokens == {f"Bearer {TOKEN}"}


def test_sets_become_data_sets(tmp_path, hub):
    plan = plan_publication(folder_of(tmp_path), "me/mine", "dataset")
    with HubServer() as server:
        publish(plan, endpoint=server.url)
    assert server.files["rows.jsonl.zst"] == (tmp_path / "rows.jsonl.zst").read_bytes()
    assert server.calls[-1][1] == "/api/datasets/me/mine/commit/main" and server.created[0].get("visibility") is None


def test_the_token_is_in_no_message(tmp_path, hub):
    plan = plan_publication(folder_of(tmp_path), "me/mine", "dataset")
    with HubServer(refuse=403) as server, pytest.raises(ModelError, match="publishing me/mine") as caught:
        publish(plan, endpoint=server.url)
    assert TOKEN not in str(caught.value) and TOKEN not in repr(caught.value.__cause__)


def test_a_hub_that_is_not_there_is_told(tmp_path, hub):
    with HubServer() as server:
        gone = server.url
    with pytest.raises(ModelError, match="publishing"):
        publish(plan_publication(folder_of(tmp_path), "me/mine", "dataset"), endpoint=gone)


def test_what_changed_since_the_plan_is_not_sent(tmp_path, hub):
    plan = plan_publication(folder_of(tmp_path), "me/mine", "dataset")
    (tmp_path / "rows.jsonl.zst").write_bytes(b"other")
    with HubServer() as server, pytest.raises(StorageError, match="changed"):
        publish(plan, endpoint=server.url)
    assert not server.calls
