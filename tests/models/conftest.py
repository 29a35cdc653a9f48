"""What tests of stored models share."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory whose `models` is the model directory, apart from the user's own settings."""
    monkeypatch.setenv("WORLDLINE_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.delenv("WORLDLINE_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path
