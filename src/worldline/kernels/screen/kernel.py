"""The screen kernel: what a terminal shows after keys were pressed, computed from the shell kernel's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from worldline.domains.comparing import compare
from worldline.domains.terminal.keystrokes import DEFAULT_DURATION, Keystrokes, typed
from worldline.domains.terminal.state import ScreenSpec, TerminalState
from worldline.errors import ConfigError
from worldline.kernels.base import Kernel, Proposal
from worldline.kernels.screen.adopting import adopt
from worldline.kernels.screen.console import Console
from worldline.kernels.screen.display import Display
from worldline.kernels.screen.state import State
from worldline.kernels.screen.storing import pack, unpack
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.limits import Limits
from worldline.kernels.shell.script import Script, read_script
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["ScreenKernel", "shell_world", "terminal_kernel"]


def terminal_kernel(world: WorldSpec) -> Kernel:
    """Build the kernel of a terminal world: a screen kernel where it declares a screen, otherwise a shell kernel.

    Raises:
        pydantic.ValidationError: The initial state is not that of a terminal.
    """
    has_screen = TerminalState.model_validate(world.initial_state).screen is not None
    return ScreenKernel(world) if has_screen else ShellKernel(world)


def shell_world(world: WorldSpec) -> WorldSpec:
    """The world that the shell behind the screen lives in."""
    state = TerminalState.model_validate(world.initial_state)
    screen = state.screen or ScreenSpec()
    given = {
        **world.initial_state,
        "shell": {"mode": "interactive", "merged": True, "persist": True},
        "screen": screen.model_dump(mode="json"),
        "env": {**state.env, "TERM": screen.term},
    }
    return world.model_copy(update={"initial_state": given})


_SECONDS = 6.0
"""Processor time that one command may use: a program in the foreground runs again with all that was typed."""
_OURS = "@@worldline-"
"""Begins the marks in commands that a program on the screen has the shell run."""


@dataclass(slots=True)
class Trial:
    """A proposal that stands."""

    action: Action
    proposal: Proposal
    before: State
    mark: object
    console: Console | None


class ScreenKernel:
    """A terminal used by keystrokes; satisfies :class:`worldline.kernels.base.Kernel`.

    Args:
        world: Its `initial_state` is a :class:`TerminalState` with a screen.
        limits: What one command may use.

    Raises:
        pydantic.ValidationError: The initial state is not that of a terminal.
        ConfigError: It declares no screen.
    """

    domain = "terminal"

    def __init__(self, world: WorldSpec, limits: Limits | None = None) -> None:
        self.world = world
        spec = TerminalState.model_validate(world.initial_state).screen
        if spec is None:
            raise ConfigError("the world declares no screen", hint="put `screen: {}` into its initial_state")
        self.spec: ScreenSpec = spec
        self.shell = ShellKernel(shell_world(world), limits or Limits(seconds=_SECONDS))
        self._started = False
        self._state = State(Display(spec.columns, spec.lines))
        self._trial: Trial | None = None

    def _start(self) -> None:
        """Show the first prompt."""
        if self._started:
            return
        self._started = True
        quoted = "'" + self.spec.prompt.replace("'", "'\\''") + "'"
        console = Console(self.shell, self._state, self.spec)
        console.runner.execute(
            f"PS1={quoted}; PS2='> '; COLUMNS={self.spec.columns}; LINES={self.spec.lines}", keep=True
        )
        console.prompt()

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Press the keys of `action` on a trial state and show the screen."""
        self.reject()
        self._start()
        keys = _keys(action)
        if keys is None:
            return Proposal(Observation(), known=False, why="neither keystrokes nor a command")
        mark, before = self.shell.mark(), self._state
        self._state = before.copy()
        console = Console(self.shell, self._state, self.spec)
        for entry in keys:
            if self._state.lost or self._state.shaky:
                self._state.suspects.append(entry.keys)
            console.type(entry.keys)
            console.wait(entry.duration)
        proposal = self._proposal(console, empty=not keys)
        self._trial = Trial(action, proposal, before, mark, console)
        return proposal

    def _proposal(self, console: Console, *, empty: bool) -> Proposal:
        state, runner = self._state, console.runner
        text = state.display.text()
        if empty:
            text = f"{text}\n{self.spec.completion}"
        reasons = [*runner.doubts, *(ran.why for ran in runner.ran if not ran.known)]
        unknown = state.lost or state.shaky or state.display.doubt
        if state.task is not None and state.task.timing:
            unknown = unknown or state.task.timing
        if console.soon():
            unknown = unknown or "whether something that is about to happen has happened"
        classes = [name for ran in runner.ran for name in _classes(ran.command)]
        classes += [f"screen:{name}" for name in sorted(runner.features or {"wait"})]
        shown = dict.fromkeys(ran.command.split("\n")[0][:40] for ran in runner.ran if _OURS not in ran.command)
        told = f"ran {', '.join(shown)}" if shown else f"followed the {', '.join(sorted(runner.features)) or 'wait'}"
        return Proposal(
            Observation.from_text(text),
            known=not unknown,
            classes=tuple(dict.fromkeys(classes)),
            why=(unknown and "; ".join(dict.fromkeys([*reasons[:4], unknown]))) or told,
            ended=state.ended,
        )

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""
        self._trial = None

    def reject(self) -> None:
        """Forget the trial state of the last proposal."""
        trial, self._trial = self._trial, None
        if trial is not None:
            self.shell.go_back(trial.mark)  # type: ignore[arg-type]
            self._state = trial.before

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        trial = self._trial
        if trial is None:
            return
        agrees = compare(trial.proposal.observation, turn.observation).exact
        if agrees and trial.proposal.known:
            self.accept()
            return
        assert trial.console is not None
        text = turn.observation.text.removesuffix(f"\n{self.spec.completion}")
        self._trial = None
        typed_last = next((entry.keys for entry in reversed(_keys(turn.action) or ()) if entry.keys), "\r")
        entered = typed_last.endswith(("\r", "\n"))
        ran, known = trial.console.runner.ran, trial.proposal.known
        self._state = adopt(self.shell, self.spec, trial.before, self._state, trial.mark, ran, text, entered, known)

    # --- copies

    def fork(self) -> ScreenKernel:
        """Return an independent copy; it shares what neither side has changed."""
        self._start()
        twin = object.__new__(ScreenKernel)
        twin.world, twin.spec = self.world, self.spec
        twin.shell = self.shell.fork()
        twin._started = True
        twin._state = (self._trial.before if self._trial is not None else self._state).copy()
        twin._trial = None
        return twin

    def dump(self) -> bytes:
        """Serialise the whole state."""
        self.reject()
        self._start()
        return pack(self._state, self.shell.dump())

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged, or from another version or world.
        """
        self.reject()
        state, shell = unpack(data, Display(self.spec.columns, self.spec.lines))
        self.shell.load(shell)
        self._state, self._started = state, True

    # --- views

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """None: what a screen shows rests on everything before."""
        return None

    def describe(self) -> JsonDict:
        """Return the state for people and prompts: JSON data, of bounded size."""
        self.reject()
        self._start()
        state = self._state
        found = self.shell.describe()
        found["screen"] = state.display.text()
        found["foreground"] = _foreground(state)
        found["pending"] = "\n".join(state.pending) or state.queue
        found["waited"] = state.now
        if state.jobs.jobs:
            found["jobs"] = [f"[{job.number}] {job.state} {job.text}" for job in state.jobs.jobs]
        if state.display.doubt or state.lost or state.shaky:
            found["unknown_screen"] = state.lost or state.shaky or state.display.doubt
        return found

    def close(self) -> None:
        """Free what the kernel holds. Forks live on."""
        self.reject()
        self.shell.close()


def _foreground(state: State) -> str:
    if state.ended:
        return "nothing: the shell has ended"
    if state.lost:
        return f"unknown: {state.lost}"
    if state.task is None:
        return "the shell's prompt"
    return state.task.program.name if state.task.program is not None else state.task.text


def _keys(action: Action) -> tuple[Keystrokes, ...] | None:
    found = typed(action)
    if found is not None:
        return found
    command = action.command
    if command is None or any("\ud800" <= letter <= "\udfff" for letter in command) or "\0" in command:
        return None
    return (Keystrokes(f"{command}\n", DEFAULT_DURATION),)


def _classes(command: str) -> tuple[str, ...]:
    script = read_script(command)
    return script.classes if isinstance(script, Script) else ("(syntax error)",)
