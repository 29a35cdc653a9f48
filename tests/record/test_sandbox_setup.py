"""What a world declares must not reach the box's set-up, which runs with all rights over the box's mounts."""

import pytest
from pydantic import ValidationError
from recorder_plans import world

from worldline.domains.code import CodeState
from worldline.domains.mcp.state import McpState
from worldline.domains.swe import SweState
from worldline.domains.terminal.state import TerminalState
from worldline.errors import SandboxError, WorldFileError
from worldline.record.sandbox import Box, Surroundings
from worldline.record.terminal import RealTerminal
from worldline.worlds import World

pytestmark = pytest.mark.sandbox

BIND = "x\0--bind\0/\0/host"
THIEF = '#!/bin/bash\nid -u >>/tmp/thief\nwhile [ $# -gt 0 ] && [ ! -x /usr/bin/${1##*/} ]; do shift; done\nexec "$@"\n'


@pytest.mark.parametrize("state", [TerminalState, CodeState, SweState, McpState])
@pytest.mark.parametrize("env", [{"A": BIND}, {BIND: "1"}, {"": "1"}, {"A=B": "1"}])
def test_variables_with_nul_or_no_name_are_refused(state, env):
    with pytest.raises(ValidationError):
        state.model_validate({"env": env})


@pytest.mark.parametrize(
    "field", [{"locale": BIND}, {"timezone": BIND}, {"cwd": f"/{BIND}"}, {"hostname": BIND}, {"user": BIND}]
)
def test_other_texts_with_nul_are_refused(field):
    with pytest.raises(ValidationError):
        TerminalState.model_validate(field)


def test_a_world_file_says_where_the_nul_is(tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text('domain: code\ninitial_state:\n  env:\n    A: "x\\0--bind\\0/\\0/host"\n')
    with pytest.raises(WorldFileError, match="NUL"):
        World.load(path)


@pytest.mark.parametrize("field", ["env", "locale", "hostname", "cwd"])
def test_no_option_of_the_box_may_hold_nul(field):
    value = {"A": BIND} if field == "env" else f"/{BIND}" if field == "cwd" else BIND
    state = TerminalState().model_copy(update={field: value})  # past the checks of the state
    box = Box(state, ["bash", "-c", "ls /"], Surroundings())
    try:
        with pytest.raises(SandboxError, match="NUL"):
            box.start()
    finally:
        box.close()


def test_no_option_of_a_terminal_may_hold_nul():
    terminal = RealTerminal(world(screen={}))
    terminal._box.state = terminal._box.state.model_copy(update={"hostname": BIND})
    with pytest.raises(SandboxError, match="NUL"):
        terminal.start()


@pytest.mark.parametrize(
    ("place", "env"),
    [
        ("/home/user/bin/setpriv", {"PATH": "/home/user/bin:/usr/bin"}),
        ("/home/user/bin/tar", {"PATH": "/home/user/bin:/usr/bin"}),
        ("/usr/bin/setpriv", {}),
        ("/usr/local/bin/setpriv", {}),
        ("/bin/setpriv", {}),
    ],
)
def test_declared_programs_do_not_run_in_the_set_up(start, place, env):
    shell = start(files={place: {"content": THIEF, "mode": "755"}}, env=env)
    assert shell.run("cat /tmp/thief").exit_code == 1
    assert shell.run("id -u").stdout == "1000\n"


@pytest.mark.parametrize("name", ["cd", "printf", "eval", "exec", "mkdir", "unset"])
def test_declared_functions_do_not_run_in_the_set_up(start, name):
    function = f'() {{ [ "$UID" = 0 ] && : >/tmp/thief; builtin {name} "$@"; }}'
    shell = start(env={f"BASH_FUNC_{name}%%": function})
    assert "thief" not in shell.run("ls /tmp").stdout


@pytest.mark.parametrize(
    "env", [{"TAR_OPTIONS": "--checkpoint=1 --checkpoint-action=exec=id>/tmp/thief"}, {"BASH_ENV": "/dev/stdin"}]
)
def test_declared_options_do_not_reach_the_set_up(start, env):
    shell = start(env=env)
    assert shell.run("ls /tmp").stdout == ""
    assert shell.run("printenv " + next(iter(env))).stdout == next(iter(env.values())) + "\n"


def test_variables_arrive_whole_and_in_bash_order(start):
    shell = start(env={"ZED": "a\nb", "A": "", "PATH": "/opt/none:/usr/bin", "É": "1"})
    seen = shell.run("python3 -c 'import os; print(dict(os.environ))'").stdout
    values = eval(seen)
    assert (values["ZED"], values["A"], values["PATH"], values["É"]) == ("a\nb", "", "/opt/none:/usr/bin", "1")
    assert values["PWD"] == "/home/user"
    assert "TMPFS_SIZE" not in values


@pytest.mark.parametrize(("user", "bounds"), [("user", "0" * 16), ("root", "00000000000404fb")])
def test_rights_of_the_world_s_user(start, user, bounds):
    seen = start(user=user).run("grep -E '^(Cap|Groups|NoNewPrivs)' /proc/self/status; id").stdout
    told = {line.partition(":")[0]: line.partition(":")[2].split() for line in seen.splitlines() if ":" in line}
    assert (told["CapBnd"], told["CapInh"], told["CapAmb"]) == ([bounds], ["0" * 16], ["0" * 16])
    assert (told["CapEff"], told["NoNewPrivs"]) == ([bounds], ["1"])
    assert f"uid={0 if user == 'root' else 1000}({user})" in seen
