"""The real shell: streams and status apart, state, messages of each mode, the clock."""

import subprocess

import pytest

from worldline.errors import ActionError, SandboxError, SessionError
from worldline.record.shell import RealShell
from worldline.types import WorldSpec

pytestmark = pytest.mark.sandbox


def told(shell: RealShell, command: str) -> tuple[str | None, str | None, int | None]:
    seen = shell.run(command)
    return seen.stdout, seen.stderr, seen.exit_code


def test_streams_and_status_are_kept_apart(start):
    shell = start()
    assert told(shell, "echo out; echo err >&2; (exit 7)") == ("out\n", "err\n", 7)
    assert told(shell, "printf 'no newline'") == ("no newline", "", 0)


def test_output_is_kept_to_the_byte(start):
    seen = start().run(r"printf '\xff\x00a\r\n'")
    assert seen.raw is not None
    assert seen.stdout == "\ufffd\x00a\r\n"


def test_merged_streams_arrive_in_the_order_written(start):
    seen = start(shell={"merged": True}).run("echo a; nosuch; echo b")
    assert seen.text == "a\nbash: line 1: nosuch: command not found\nb\n"
    assert (seen.stdout, seen.exit_code, seen.is_error) == (None, None, False)


@pytest.mark.parametrize(
    ("before", "command", "stdout"),
    [
        ("x=5; export y=6", 'echo $x; sh -c "echo $y"', "5\n6\n"),
        ("mkdir d; cd d", "pwd", "/home/user/d\n"),
        ("f() { echo f$1; }", "f 1", "f1\n"),
        ("false", "echo $?", "1\n"),
        ("set -u; shopt -s nullglob", "echo *.none; echo $-", "\nhuBc\n"),
        ("alias ll='echo alias'; shopt -s expand_aliases", "ll", "alias\n"),
        ("sleep 30 &", "jobs", "[1]+  Running                 sleep 30 &\n"),
        ("exec 5>kept; echo a >&5", "echo b >&5; cat kept", "a\nb\n"),
        ("trap 'echo usr' USR1", "kill -USR1 $$; true", "usr\n"),
        ("cat", "read line || echo end", "end\n"),
    ],
)
def test_state_lasts_between_commands(start, before, command, stdout):
    shell = start()
    shell.run(before)
    assert shell.run(command).stdout == stdout


def test_every_command_is_a_fresh_shell_where_the_world_says_so(start):
    shell = start(shell={"persist": False}, files={"/home/user/a": "a"}, cwd="/home/user", env={"KEPT": "yes"})
    shell.run("cd /tmp; x=1; echo b > ~/b")
    assert told(shell, "pwd; echo [$x] $KEPT; ls") == ("/home/user\n[] yes\na\nb\n", "", 0)
    assert told(shell, "kill -9 $$") == ("", "", 137)
    assert told(shell, "exit 3") == ("", "", 3)
    assert not shell.ended


@pytest.mark.parametrize("command", ["exit 3", "exec sh -c 'exit 3'", "set -e; (exit 3)", "trap 'exit 3' EXIT; exit"])
def test_a_shell_can_end(start, command):
    shell = start()
    assert shell.run(command).exit_code == 3
    assert shell.ended
    with pytest.raises(SessionError):
        shell.run("ls")


def test_an_exit_trap_is_heard(start):
    shell = start()
    shell.run("trap 'echo bye' EXIT")
    assert told(shell, "exit") == ("bye\n", "", 0)


SAME_AS_BASH = [
    "nosuch",
    "echo a\nnosuch\necho b",
    "cd /nosuch",
    ")(",
    'echo "a',
    "if true",
    "echo $(ls",
    "cat <<E\nx",
    "break",
    "return 3",
    "f() {\n nosuch\n}\nf",
    'set -x; echo a\necho $(echo b); : "two\nlines"',
    "eval 'eval nosuch'",
    "eval ')'",
    "${x?not set}",
    "readonly r=1; r=2; echo after",
    "ls nosuch | wc -l; echo ${PIPESTATUS[@]}",
    "local x",
    "declare -i n=1+",
    "printf '%d\\n' x",
    "test a b c",
    "x=(1 2; echo",
    "echo $BASH_EXECUTION_STRING $0 $# $- $SHLVL $BASH_SUBSHELL",
    "set -- a b; echo $# $*",
    "declare -F; declare -p BASH_SOURCE LINENO; ls /proc/self/fd",
    "while read x; do echo $x; done; echo $?",
    "kill -s NOSUCH 1",
]


@pytest.mark.parametrize("command", SAME_AS_BASH)
def test_a_first_command_answers_as_under_bash_c(start, command):
    """What the persistent shell says is what `bash -c` itself says in the same box."""
    alone = start(shell={"persist": False}).run(command)
    kept = start().run(command)
    assert (kept.stdout, kept.stderr, kept.exit_code) == (alone.stdout, alone.stderr, alone.exit_code)


def test_process_substitutions_are_heard(start):
    shell = start()
    assert told(shell, "printf 'b\\na\\n' | tee >(sort >&2) > /dev/null") == ("", "a\nb\n", 0)


def test_messages_of_a_script_count_lines_on(start):
    shell = start(shell={"mode": "script"})
    assert shell.run("nosuch").stderr == "bash: line 1: nosuch: command not found\n"
    assert shell.run("true\nnosuch").stderr == "bash: line 3: nosuch: command not found\n"
    assert shell.run(")").stderr == "bash: line 4: syntax error near unexpected token `)'\nbash: line 4: `)'\n"
    assert shell.ended


def test_messages_of_an_interactive_shell_have_no_line(start):
    shell = start(shell={"mode": "interactive"})
    assert shell.run("nosuch").stderr == "bash: nosuch: command not found\n"
    assert shell.run(")").stderr == "bash: syntax error near unexpected token `)'\n"
    assert shell.run("echo $-").stdout == "hiBc\n"


def test_dash_speaks_for_itself(start):
    shell = start(shell={"program": "sh"})
    assert shell.run("nosuch").stderr == "sh: 1: nosuch: not found\n"
    assert told(shell, "x=1\nnosuch") == ("", "sh: 2: nosuch: not found\n", 127)
    assert told(shell, "echo $x $?") == ("1 127\n", "", 0)
    assert told(shell, ")") == ("", 'sh: 1: Syntax error: ")" unexpected\n', 2)
    assert told(shell, "echo still") == ("still\n", "", 0)


def test_a_traced_shell_shows_nothing_of_the_driver(start):
    shell = start()
    shell.run("set -x")
    assert told(shell, "echo a") == ("a\n", "+ echo a\n", 0)
    assert told(shell, "false") == ("", "+ false\n", 1)
    assert told(shell, "echo $?") == ("1\n", "+ echo 1\n", 0)


@pytest.mark.parametrize("command", ["echo a\0b", "echo \udc80"])
def test_what_no_shell_can_be_given_is_refused(start, command):
    shell = start()
    with pytest.raises(ActionError):
        shell.run(command)
    assert shell.run("echo fine").stdout == "fine\n"


def test_declared_files_are_laid_out(start):
    files = {
        "/home/user/a.txt": {"content": "hi\n", "mode": "640", "mtime": "2025-03-01T10:00:00Z"},
        "/home/user/bin/tool": {"content": "#!/bin/sh\necho tool\n", "mode": "755"},
        "/home/user/data": {"base64": "AP8="},
        "/home/user/link": {"kind": "symlink", "target": "a.txt"},
        "/srv/site": {"kind": "directory", "mode": "700", "owner": "www-data"},
        "/etc/app.conf": "port=1\n",
        "/data/deep/er.csv": "1\n",
    }
    shell = start(files=files, cwd="/home/user/bin", hostname="web1", user="ann", uid=1234, env={"EDITOR": "vi"})
    assert shell.run("hostname; id -un; id -u; pwd; echo $HOME $EDITOR").stdout == (
        "web1\nann\n1234\n/home/user/bin\n/home/ann vi\n"
    )
    assert shell.run("cat /etc/app.conf /data/deep/er.csv; od -An -tx1 /home/user/data").stdout == "port=1\n1\n 00 ff\n"


def test_owners_modes_and_times_are_the_declared_ones(start):
    shell = start(
        files={
            "/home/user/a.txt": {"content": "hi\n", "mode": "640", "mtime": "2025-03-01T10:00:00Z"},
            "/home/user/link": {"kind": "symlink", "target": "a.txt"},
            "/srv/site": {"kind": "directory", "mode": "700", "owner": "www-data"},
            "/var/log/app.log": {"content": "x\n", "owner": "user"},
        }
    )
    if shell.rootless:
        pytest.skip("owners other than the user need root")
    listing = shell.run("stat -c '%A %U %G %y %N' ~/a.txt ~/link /srv/site /var/log/app.log /usr/bin/env").stdout
    assert listing is not None
    lines = listing.splitlines()
    assert lines[0] == "-rw-r----- user user 2025-03-01 10:00:00.000000000 +0000 '/home/user/a.txt'"
    assert lines[1].endswith("'/home/user/link' -> 'a.txt'")
    assert lines[2].startswith("drwx------ www-data www-data 2026-01-01 00:00:00.000000000")
    assert lines[3].startswith("-rw-r--r-- user user 2026-01-01")
    assert lines[4].startswith("-rwxr-xr-x root root")
    assert shell.run("ls /srv/site").stderr == "ls: cannot open directory '/srv/site': Permission denied\n"
    assert shell.run("touch /etc/x").stderr == "touch: cannot touch '/etc/x': Permission denied\n"


def test_an_owner_that_nobody_knows_is_an_error(start):
    with pytest.raises(SandboxError, match="nosuch"):
        start(files={"/home/user/a": {"content": "", "owner": "nosuch"}})


def test_root_is_root_inside_only(start):
    shell = start(user="root", files={"/etc/app.conf": {"content": "a\n", "mode": "600"}})
    assert shell.run("id -u; pwd; cat /etc/app.conf; touch /etc/x && echo done").stdout == "0\n/root\na\ndone\n"
    assert shell.run("mount -t tmpfs none /mnt").exit_code != 0
    assert shell.run("echo x > /proc/sys/kernel/hostname").exit_code != 0
    assert shell.run("touch /usr/bin/x").exit_code != 0


def test_the_clock_stands_still_and_sleeping_moves_it(start):
    shell = start(clock="2026-03-04T05:06:07Z")
    shell.run(":")
    assert shell.run("date +%FT%T.%N; echo $EPOCHSECONDS").stdout == "2026-03-04T05:06:07.000000000\n1772600767\n"
    assert shell.run("python3 -c 'import time; print(time.time())'").stdout == "1772600767.0\n"
    assert shell.run("date > a; sleep 1.2; date >> a; cat a; stat -c %y a").stdout == (
        "Wed Mar  4 05:06:07 UTC 2026\n" * 2 + "2026-03-04 05:06:07.000000000 +0000\n"
    )
    assert shell.run("date +%T").stdout == "05:06:08\n"
    assert shell.run("touch b; [ b -nt a ] && echo newer; ls -t; find . -newer a -name b").stdout == (
        "newer\nb\na\n./b\n"
    )
    shell.run("sleep 1 &")
    assert shell.run("wait; date +%T").stdout == "05:06:08\n"
    assert shell.run("date +%T; python3 -c 'import time; time.sleep(1)'").stdout == "05:06:09\n"
    assert shell.now.isoformat() == "2026-03-04T05:06:10+00:00"


def test_file_times_follow_the_virtual_clock_in_every_way(start):
    shell = start()
    shell.run("echo x > f; mkdir d; touch -d '2020-02-02 02:02' old; cp -p old copy")
    assert shell.run("stat -c '%x %y %z %w' f | tr ' ' '\\n' | sort -u").stdout == (
        "+0000\n00:00:00.000000000\n2026-01-01\n"
    )
    assert shell.run("ls -dl --time-style=+%F copy d f | tr -s ' ' | cut -d' ' -f6-").stdout == (
        "2020-02-02 copy\n2026-01-01 d\n2026-01-01 f\n"
    )
    assert shell.run("find . -newermt 2026-01-02; find . -mmin -1 -type f").stdout == "./f\n"
    assert shell.run("python3 -c \"import os; print(os.stat('f').st_mtime_ns, os.path.getmtime('copy'))\"").stdout == (
        "1767225600000000000 1580608920.0\n"
    )
    assert shell.run("tar cf t.tar f; tar tvf t.tar").stdout == "-rw-r--r-- user/user         2 2026-01-01 00:00 f\n"
    assert shell.run("stat -c '%s %b' d").stdout == "4096 8\n"


def test_the_environment_holds_nothing_of_the_recorder(start):
    names = start(env={"A": "1"}).run("env | cut -d= -f1 | sort | tr '\\n' ' '").stdout
    assert names == "A HOME LC_ALL LOGNAME PATH PWD SHELL SHLVL TZ USER _ "


def test_a_missing_bubblewrap_says_what_to_install(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SandboxError) as caught:
        RealShell(WorldSpec(domain="terminal")).start()
    assert caught.value.hint == "apt-get install bubblewrap"


def test_a_folder_that_is_no_root_is_refused(tmp_path):
    with pytest.raises(SandboxError, match="not a Debian root"):
        RealShell(WorldSpec(domain="terminal"), root=tmp_path).start()


def test_nothing_is_left_behind(start, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with RealShell(WorldSpec(domain="terminal")) as shell:
        shell.run("sleep 1234 & mkdir -p a/b; chmod 0 a")
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    running = subprocess.run(["pgrep", "-f", "sleep 1234"], capture_output=True, text=True, check=False)
    assert running.stdout == ""
