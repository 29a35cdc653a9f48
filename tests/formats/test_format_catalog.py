"""The registry of formats, and a format that another package brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from worldline.formats import Format, WritableFormat, format_names, get_format


def test_names_and_protocols() -> None:
    assert {"atif", "harbor", "openai", "otel_genai", "sharegpt", "steps", "tau2", "tau_bench", "worldline"} <= {
        *format_names()
    }
    assert {"atif", "openai", "worldline"} <= {*format_names(writable=True)}
    for name in format_names():
        found = get_format(name)
        assert isinstance(found, Format)
        assert isinstance(found, WritableFormat) == hasattr(found, "line")
        assert found.name == name


def test_another_package_brings_a_format(tmp_path: Path) -> None:
    """A real distribution on the path, with an entry point: detected, read and written like the built-in ones."""
    plugin = """
        from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

        class Pairs:
            name = "pairs"
            suffixes = (".pairs.jsonl",)

            def sniff(self, value):
                return "a pair" if isinstance(value, list) and len(value) == 2 else None

            def read(self, file, source):
                for record in file.json_lines():
                    action, answer = record.value
                    turn = Turn(action=Action(text=action), observation=Observation(text=answer))
                    yield Trajectory(source=source, world=WorldSpec(domain="text_world"), turns=(turn,))

            def line(self, trajectory):
                import json
                return json.dumps([trajectory.turns[0].action.text, trajectory.turns[0].observation.text])

        PAIRS = Pairs()
    """
    (tmp_path / "pairs.py").write_text(textwrap.dedent(plugin), "utf-8")
    info = tmp_path / "pairs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[worldline.formats]\npairs = pairs:PAIRS\n", "utf-8")
    (tmp_path / "t.jsonl").write_text('["look", "A room."]\n', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "worldline", "export", "pairs", "t.jsonl", "--out", "-"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == ["look", "A room."]
    assert "t.jsonl: pairs (a pair)" in done.stderr
