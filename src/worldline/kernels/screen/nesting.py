"""A bash that is started at the prompt of another one, and what goes on when it ends."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.kernels.screen.history import History
from worldline.kernels.screen.host import Executor
from worldline.kernels.screen.jobs import JobTable
from worldline.kernels.screen.state import Level
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["begin", "end", "replace", "starts_shell"]

_HISTORY = "~/.bash_history"
_SYSTEM_PROMPT = r"${debian_chroot:+($debian_chroot)}\u@\h:\w\$ "
_BARE_PROMPT = r"\s-\v\$ "


def starts_shell(words: Sequence[str]) -> bool:
    """Whether a command starts a bash to be typed at, in a way that is gone into."""
    return words[0] == "bash" and set(words[1:]) <= {"-i", "--norc", "--noprofile"}


def begin(executor: Executor, words: Sequence[str]) -> None:
    """Start the inner shell: it gets exported variables only."""
    state, shell = executor.state, executor.shell
    state.levels.append(Level(shell.portray(), state.history, state.jobs))
    _renew(executor, words, 1)


def replace(executor: Executor, words: Sequence[str]) -> None:
    """Let another shell take the place of the one that is typed at (`exec bash`)."""
    _renew(executor, words, 0)


def _renew(executor: Executor, words: Sequence[str], deeper: int) -> None:
    state, shell = executor.state, executor.shell
    shell.refresh()
    private = shell.unexported()
    prompt = _BARE_PROMPT if "--norc" in words else _SYSTEM_PROMPT
    setting = f"PS1='{prompt}'; PS2='> '; COLUMNS={state.display.columns}; LINES={state.display.lines}"
    unset = f"unset {' '.join(private)}; " if private else ""
    executor.execute(f"{unset}export SHLVL=$((SHLVL+{deeper})); {setting}")
    state.history, state.jobs = History(_read(executor)), JobTable(next_pid=state.jobs.next_pid + deeper)
    executor.place()


def _place(executor: Executor) -> str:
    return executor.shell.state.home + _HISTORY[1:]


def _read(executor: Executor) -> list[str]:
    try:
        return executor.shell.read_file(_place(executor)).decode("utf-8", "replace").split("\n")[:-1]
    except (OSError, Unknown):
        return []


def end(executor: Executor, status: int) -> str:
    """End the inner shell; return why its history file is not known, or an empty text."""
    state, shell = executor.state, executor.shell
    doubt = ""
    lines = [line for entry in state.history.lines for line in entry.split("\n")]
    try:
        shell.write_file(_place(executor), "".join(f"{line}\n" for line in lines).encode())
    except (OSError, Unknown) as error:
        doubt = str(error)
    level = state.levels.pop()
    shell.become(level.outer)
    level.jobs.next_pid = state.jobs.next_pid
    state.history, state.jobs = level.history, level.jobs
    executor.place()
    shell.adjust(status=status)
    return doubt
