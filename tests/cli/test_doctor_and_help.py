"""What a new user reads first: `--help` of every command, and what the doctor says."""

import json
from pathlib import Path

import pytest
from program import worldline

COMMANDS = [
    [], ["bench"], ["bench", "real"], ["bench", "speed"], ["calibrate"], ["doctor"], ["export"], ["import"],
    ["inspect"], ["play"], ["record"], ["record", "terminal"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_explains_every_option(tmp_path: Path, command: list[str]):
    done = worldline(*command, "--help", home=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    usage, _, rest = done.stdout.partition("\n\n")
    assert usage.startswith(" ".join(["Usage: worldline", *command]))
    assert rest.strip() and not rest.startswith("Options")
    assert worldline(*command, "-h", home=tmp_path).stdout == done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_option_has_a_help_text(command: list[str]):
    import click

    from worldline.cli import cli

    found: click.Command = cli
    for name in command:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name)
    for parameter in found.params:
        if isinstance(parameter, click.Option) and parameter.name != "version":
            assert parameter.help, f"{' '.join(command)} {parameter.opts}"


def test_version(tmp_path: Path):
    import worldline as package

    assert package.__version__ in worldline("--version", home=tmp_path).stdout


def test_doctor_says_what_works_and_what_to_install(tmp_path: Path):
    done = worldline("doctor", home=tmp_path)
    for name in (
        "worldline",
        "python",
        "shell kernel",
        "python kernel",
        "bwrap",
        "tmux",
        "sandbox",
        "recorded screen",
        "recordings",
        "calibration",
    ):
        assert name in done.stdout
    for line in done.stdout.splitlines():
        assert line.split()[0] in ("works", "broken", "missing")
        if "not installed" in line:
            assert any(way in line for way in ("pip install 'worldline[", "apt-get install", "install_mcp_servers.py"))
    found = json.loads(worldline("doctor", "--json", home=tmp_path).stdout)
    assert {"name", "works", "detail", "advice", "needed"} == set(found[0])
    assert done.returncode == int(any(f["needed"] and not f["works"] for f in found))
    for finding in found:
        assert finding["works"] or finding["advice"], finding


def test_doctor_sees_what_is_missing(tmp_path: Path):
    found = json.loads(worldline("doctor", "--json", home=tmp_path, env={"PATH": "/nowhere"}).stdout)
    by_name = {finding["name"]: finding for finding in found}
    assert not by_name["bwrap"]["works"] and by_name["bwrap"]["advice"] == "apt-get install bubblewrap"
    assert by_name["shell kernel"]["works"]


def test_doctor_says_which_mcp_servers_are_installed(tmp_path: Path):
    from worldline.record.mcp.settings import PACKAGES

    servers = tmp_path / "servers"
    (servers / "python/bin").mkdir(parents=True)
    (servers / "python/bin/python").touch()
    (servers / "python/lib/python3.11/site-packages/mcp_server_time-2.7.dist-info").mkdir(parents=True)
    (servers / "python1/lib/python3.11/site-packages/mcp_server_sqlite-1.3.dist-info").mkdir(parents=True)
    done = worldline("doctor", "--json", home=tmp_path, env={"WORLDLINE_MCP_HOME": str(servers)})
    found = {f["name"].removeprefix("mcp server: "): f for f in json.loads(done.stdout) if "mcp server" in f["name"]}
    assert set(found) == set(PACKAGES) and not any(f["needed"] for f in found.values())
    assert [name for name, finding in found.items() if finding["works"]] == ["time"]
    assert found["time"]["detail"] == f"2.7 in {servers}"
    assert "python1/bin/python is missing" in found["sqlite"]["detail"]
    for name in set(found) - {"time"}:
        assert "python3 scripts/install_mcp_servers.py" in found[name]["advice"], name
    assert "WORLDLINE_MCP_HOME" in found["git"]["advice"] and str(servers) in found["git"]["detail"]


def test_doctor_says_that_a_setting_of_the_servers_is_wrong(tmp_path: Path):
    done = worldline("doctor", "--json", home=tmp_path, env={"WORLDLINE_MCP_TIMEOUT": "soon"})
    (finding,) = [f for f in json.loads(done.stdout) if "mcp server" in f["name"]]
    assert not finding["works"] and "WORLDLINE_MCP_TIMEOUT" in finding["detail"]
