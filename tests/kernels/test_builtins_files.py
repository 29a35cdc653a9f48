"""The parts that file commands share: options, modes, sizes, dates, patterns, orders."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.builtins.base import Call, Unknown
from worldline.kernels.shell.builtins.shared.dates import DateError, parse_date
from worldline.kernels.shell.builtins.shared.messages import shell_quote, shell_quote_if_needed
from worldline.kernels.shell.builtins.shared.modes import ModeError, apply_mode, permission_string
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.patterns import glob_regex, path_regex
from worldline.kernels.shell.builtins.shared.sizes import SizeError, human, parse_size
from worldline.kernels.shell.builtins.shared.times import gnu_format
from worldline.kernels.shell.builtins.system.environment import bash_order
from worldline.types import Action, WorldSpec

NOW = datetime(2026, 3, 15, 14, 30, 45, tzinfo=UTC)


@dataclass
class _NoFiles:
    seen: list[str] = field(default_factory=list)


def _call(argv: list[str]) -> Call:
    files: Any = _NoFiles()
    return Call("prog", argv, None, {}, "/home/user", files, TerminalState(), NOW)


def _terminal(*commands: str, world: dict[str, Any] | None = None) -> list[tuple[str, str, int, bool]]:
    kernel = ShellKernel(WorldSpec(domain="terminal", initial_state=world or {}))
    answers = []
    for command in commands:
        proposal = kernel.propose(Action(name="bash", arguments={"command": command}))
        kernel.accept()
        got = proposal.observation
        answers.append((got.stdout or "", got.stderr or "", got.exit_code or 0, proposal.known))
    kernel.close()
    return answers


# --- options


def test_options_permute_and_abbreviate() -> None:
    options, operands = parse(_call(["a", "-lh", "--so=size", "b", "--", "-x"]), "lh", ["sort=", "all"])
    assert options == [("-l", ""), ("-h", ""), ("--sort", "size")]
    assert operands == ["a", "b", "-x"]


def test_options_take_arguments_attached_apart_and_optional() -> None:
    options, operands = parse(
        _call(["-w5", "-w", "6", "-i.bak", "-i", "x", "--color", "--color=no"]), "w:i::", "color=?"
    )
    assert options == [("-w", "5"), ("-w", "6"), ("-i", ".bak"), ("-i", ""), ("--color", ""), ("--color", "no")]
    assert operands == ["x"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-z"], "invalid option -- 'z'"),
        (["--nope"], "unrecognized option '--nope'"),
        (["-w"], "option requires an argument -- 'w'"),
        (["--sort"], "option '--sort' requires an argument"),
        (["--all=1"], "option '--all' doesn't allow an argument"),
        (["--s"], "option '--s' is ambiguous; possibilities: '--sort' '--size'"),
    ],
)
def test_options_complain_as_getopt_does(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(_call(argv), "w:", ["all", "sort=", "size"])
    assert caught.value.message == message
    assert caught.value.result("prog", 2).stderr == f"prog: {message}\nTry 'prog --help' for more information.\n"


def test_help_is_not_made_up() -> None:
    with pytest.raises(Unknown):
        parse(_call(["--help"]))


@settings(deadline=None)
@given(st.lists(st.text(max_size=6), max_size=6))
def test_options_never_lose_an_operand(words: list[str]) -> None:
    plain = [word for word in words if not word.startswith("-") or word == "-"]
    assert parse(_call([*plain, "--", *words]))[1] == [*plain, *words]


# --- modes and sizes


@settings(deadline=None)
@given(st.integers(0, 0o7777))
def test_octal_modes_round_trip(mode: int) -> None:
    assert apply_mode(f"{mode:o}", 0, directory=False, umask=0o022) == mode
    assert len(permission_string(mode)) == 9


@settings(deadline=None)
@given(st.integers(0, 0o777), st.sampled_from(["u+x", "go-w", "a=r", "u=rwx,go=", "+x", "-w", "g=u", "o+X"]))
def test_symbolic_modes_are_idempotent(mode: int, text: str) -> None:
    once = apply_mode(text, mode, directory=False, umask=0o022)
    assert apply_mode(text, once, directory=False, umask=0o022) == once


@pytest.mark.parametrize("text", ["zzz", "999", "77777", "u+", "u+q", "", "8", "u=rw,", "+-x "])
def test_what_is_no_mode_is_refused(text: str) -> None:
    if text == "u+":
        assert apply_mode(text, 0o644, directory=False, umask=0) == 0o644
        return
    with pytest.raises(ModeError):
        apply_mode(text, 0, directory=False, umask=0)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0"), (1023, "1023"), (1024, "1.0K"), (1025, "1.1K"), (10240, "10K"), (10241, "11K"), (1048575, "1.0M"),
     (2002944, "2.0M"), (5000000000, "4.7G")],
)  # fmt: skip
def test_human_sizes_round_up(size: int, text: str) -> None:
    assert human(size) == text


@settings(deadline=None)
@given(st.integers(0, 2**50))
def test_human_sizes_stay_short(size: int) -> None:
    assert len(human(size)) <= 5
    assert len(human(size, si=True)) <= 5


def test_sizes_are_read_with_their_units() -> None:
    assert [parse_size(text) for text in ("5", "1K", "1KB", "2MiB", "b", "M")] == [5, 1024, 1000, 2 << 20, 512, 1 << 20]
    with pytest.raises(SizeError):
        parse_size("zz")


# --- dates

# What `date -d TEXT '+%F %T'` of coreutils 9.1 says at 2026-03-15 14:30:45 UTC (a Sunday).
REAL_DATES = {
    "10:00 +2 days": "2026-03-16 08:00:00",
    "2024-01-01 10:00:00 +1 day": "2024-01-02 09:00:00",
    "2024-01-01 - 2 days": "2023-12-30 00:00:00",
    "next monday": "2026-03-16 00:00:00",
    "last friday": "2026-03-13 00:00:00",
    "third monday": "2026-03-30 00:00:00",
    "monday next week": "2026-03-23 00:00:00",
    "2024-01-31 +1 month": "2024-03-02 00:00:00",
    "2024-02-29 +1 year": "2025-03-01 00:00:00",
    "20240105": "2024-01-05 00:00:00",
    "2024": "2026-03-15 20:24:00",
    "10pm": "2026-03-15 22:00:00",
    "Jan 5 2023": "2023-01-05 00:00:00",
    "05-Jan-2023": "2023-01-05 00:00:00",
    "1/2/23": "2023-01-02 00:00:00",
    "2023-01-02T03:04:05+02:00": "2023-01-02 01:04:05",
    "2023-01-02 03:04:05 EST": "2023-01-02 08:04:05",
    "Mon, 02 Jan 2023 03:04:05 +0000": "2023-01-02 03:04:05",
    "Thu Jan  1 00:00:00 UTC 2026": "2026-01-01 00:00:00",
    "@1700000000.5": "2023-11-14 22:13:20",
    "": "2026-03-15 00:00:00",
    "1 year 2 months 3 days ago": "2027-05-12 14:30:45",
    "second monday": "2026-03-16 00:00:01",
    "a week ago": "2026-03-08 13:30:45",
    "yesterday 14:00": "2026-03-14 14:00:00",
    "12:00+05:30": "2026-03-15 06:30:00",
    'TZ="America/New_York" 2023-01-02 03:04': "2023-01-02 08:04:00",
}


@pytest.mark.parametrize(("text", "real"), REAL_DATES.items())
def test_dates_are_read_as_gnu_reads_them(text: str, real: str) -> None:
    assert gnu_format("%F %T", parse_date(text, NOW, UTC)) == real


@pytest.mark.parametrize("text", ["garbage", "noon", "2023-02-30", "25:00", "2023-01", "+2", "one week ago", "@1e3"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(DateError):
        parse_date(text, NOW, UTC)


@settings(deadline=None)
@given(st.integers(365 * 86400, 120 * 365 * 86400))
def test_printed_dates_are_read_back(seconds: int) -> None:
    aware = datetime.fromtimestamp(seconds, UTC)
    for template in ("%F %T", "%Y-%m-%dT%H:%M:%S%:z", "@%s", "%a, %d %b %Y %T %z", "%a %b %e %H:%M:%S %Z %Y"):
        assert parse_date(gnu_format(template, aware), NOW, UTC) == aware


@settings(deadline=None)
@given(st.text(max_size=20))
def test_reading_dates_never_breaks(text: str) -> None:
    try:
        parse_date(text, NOW, UTC)
    except DateError:
        return


@settings(deadline=None)
@given(st.integers(-3000, 3000))
def test_relative_days_add_up(days: int) -> None:
    assert parse_date(f"2020-01-01 {days:+d} days", NOW, UTC) == datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=days)


# --- names


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12))
def test_quoted_names_are_one_shell_word(name: str) -> None:
    import shlex

    assert shlex.split(shell_quote(name)) == [name]
    if not {"=", "#"} & set(name) and not name.startswith("~"):
        assert shlex.split(shell_quote_if_needed(name), comments=True) == [name]


@settings(deadline=None)
@given(st.text("ab*?.[]!-", max_size=8), st.text("ab.-", max_size=8))
def test_globs_compile_and_stars_match_all(pattern: str, name: str) -> None:
    glob_regex(pattern)
    assert glob_regex("*").match(name)
    assert glob_regex(name).match(name)


def test_find_regexes_follow_their_syntax() -> None:
    assert path_regex(r".*\.\(py\|md\)", "emacs").match("./a.py")
    assert path_regex(r".*\.(py|md)", "posix-extended").match("./a.md")
    assert not path_regex(r".*\.(py|md)", "emacs").match("./a.md")
    assert path_regex("a+b", "emacs").match("aab")
    assert not path_regex("a+b", "posix-basic").match("aab")


def test_environment_comes_in_the_order_of_bash() -> None:
    real = ["SHELL", "PWD", "LOGNAME", "TZ", "HOME", "USER", "SHLVL", "LC_ALL", "PATH", "_"]
    assert bash_order(dict.fromkeys(sorted(real), "")) == real


# --- in a terminal


def test_a_long_listing_adds_up() -> None:
    answers = _terminal("mkdir d; printf %5000s x > d/big; touch d/none; ls -l d", "du -a d", "stat -c %s d/big")
    assert answers[0][0].startswith("total 8\n")
    assert answers[1][0] == "0\td/none\n8\td/big\n12\td\n"
    assert answers[2][0] == "5000\n"


def test_directories_list_the_newest_entry_first() -> None:
    world = {"files": {"/home/user/b": "", "/home/user/a": "", "/home/user/z": {"kind": "symlink", "target": "a"}}}
    answers = _terminal("ls -U", "touch m; ls -U", "mv a q; ls -U", "rm b; touch b; find .", world=world)
    assert [answer[0].split() for answer in answers] == [
        ["z", "b", "a"],
        ["m", "z", "b", "a"],
        ["q", "m", "z", "b"],
        [".", "./b", "./q", "./m", "./z"],
    ]
    assert all(answer[3] for answer in answers)


def test_what_lies_outside_the_world_stays_unknown() -> None:
    answers = _terminal("ls /opt", "stat .", "df -h", "uname -r", "nproc")
    assert not any(answer[3] for answer in answers)


def test_runners_do_not_hide_what_commands_do() -> None:
    answers = _terminal(
        "touch a b; find . -type f -exec rm {} +; ls",
        "timeout 60 sleep 90; echo $?; date +%T",
        "date +%T",
        "printf '1\\n2\\n' | xargs -I{} sh -c 'echo {} > f{}'; cat f1 f2",
    )
    assert answers[0][:3] == ("", "", 0)
    assert answers[1][0].startswith("124\n")
    assert answers[2][0] == "00:01:00\n"
    assert answers[3][0] == "1\n2\n"
