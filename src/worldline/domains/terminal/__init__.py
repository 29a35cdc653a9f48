"""The terminal: an agent sends shell commands and reads what they print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldline.domains import comparing
from worldline.domains.answers import tagged
from worldline.domains.base import Comparison
from worldline.domains.terminal import answer, brief, grammar, prompt, rendering
from worldline.domains.terminal.state import FileSpec, ShellSpec, TerminalState
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["TERMINAL", "FileSpec", "ShellSpec", "TerminalDomain", "TerminalState"]


class TerminalDomain:
    """The terminal's grammar, prompts and comparison rules; satisfies :class:`worldline.domains.base.Domain`.

    Args:
        prompts: Folder whose `system.j2`, `notes.j2` or `suffix.j2` replace the built-in templates; or `brief`.
    """

    name = "terminal"

    def __init__(self, prompts: Path | None = None) -> None:
        self.brief = prompts == Path("brief")
        """Whether models get the brief prompt (see :mod:`worldline.domains.terminal.brief`)."""
        self._prompts = None if self.brief else prompts

    def with_prompts(self, prompts: Path) -> TerminalDomain:
        """Return the same domain with the templates of a folder in place of the built-in ones."""
        return TerminalDomain(prompts)

    def validate_state(self, state: JsonDict) -> JsonDict:
        """Check a world's `initial_state` against :class:`TerminalState` and fill in the defaults.

        Raises:
            pydantic.ValidationError: With the location of each wrong key.
        """
        return TerminalState.model_validate(state).model_dump(mode="json")

    def parse_action(self, value: Any) -> Action:
        """Read an action; see :func:`worldline.domains.terminal.grammar.parse_action`.

        Raises:
            ActionError: It does not fit the grammar; the hint says what is expected.
        """
        return grammar.parse_action(value)

    def compare(self, predicted: Observation, truth: Observation) -> Comparison:
        """Compare a prediction with reality; see :func:`worldline.domains.comparing.compare`."""
        return comparing.compare(predicted, truth)

    def messages(
        self,
        world: WorldSpec,
        history: Sequence[Turn],
        action: Action,
        *,
        notes: Mapping[str, str] | None = None,
        first_turn: int = 1,
    ) -> list[dict[str, str]]:
        """Lay out the chat for one prediction; see :func:`worldline.domains.terminal.prompt.messages`.

        By the brief prompt, `history` is told as it is given, examples before the session's last turns.
        """
        if self.brief and world.initial_state.get("screen") is None:
            return brief.messages(world, history, action, notes=notes or {}, prompts=brief.FOLDER)
        return prompt.messages(world, history, action, notes=notes, first_turn=first_turn, prompts=self._prompts)

    def parse_answer(self, text: str, world: WorldSpec) -> Observation:
        """Read a model's answer (without its reasoning) as an observation."""
        shell = world.initial_state.get("shell")
        merged = bool(shell.get("merged", False)) if isinstance(shell, Mapping) else False
        merged = merged or world.initial_state.get("screen") is not None
        return answer.parse_answer(text, merged=merged, screen=world.initial_state.get("screen") is not None)

    def write_answer(self, observation: Observation, world: WorldSpec) -> str:
        """Write an observation as a model's answer, between its tags."""
        screen = world.initial_state.get("screen") is not None
        body = rendering.render_screen(observation.text) if screen else rendering.render_observation(observation)
        return tagged(body)


TERMINAL = TerminalDomain()
"""The terminal domain with its built-in prompts."""
