"""Answers that no machine would give: following them must neither raise nor break what comes after."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.kernels.shell import ShellKernel
from worldline.types import Action, Observation, Turn, WorldSpec

WORLD = WorldSpec(domain="terminal", initial_state={"files": {"/home/user/a.txt": "x\n", "/home/user/d/b.txt": "y\n"}})
COMMANDS = ("ls", "ls -a", "ls -la d", "pwd", "cat a.txt", "cat new/c", "cd d", "cd /no/where")
LISTED = st.lists(
    st.one_of(
        st.text(max_size=20), st.sampled_from(["/", "..", "d/b.txt", "//x", "a.txt", "n" * 300, "a\tb", "\x1b[0m"])
    )
)


def turn(command: str, text: str, status: int = 0) -> Turn:
    action = Action(name="bash", arguments={"command": command})
    return Turn(action=action, observation=Observation.from_streams(text.encode("utf-8", "replace"), b"", status))


def follow(kernel: ShellKernel, told: Turn) -> None:
    kernel.propose(told.action)
    kernel.absorb(told)


@pytest.mark.parametrize(
    "text", ["      4 /bin/sh\n", "/\n", "a\0b\n", "a\tb\n", "\u202ea\n", "/etc\n", "n" * 300 + "\n", "d/b.txt/c\n"]
)
def test_a_listing_of_impossible_names_is_no_listing(text: str) -> None:
    kernel = ShellKernel(WORLD)
    follow(kernel, turn("ls", text))
    answer = kernel.propose(Action(name="bash", arguments={"command": "cat a.txt"}))
    assert (answer.observation.text, answer.known) == ("x\n", True)
    kernel.close()


@given(st.sampled_from(COMMANDS), LISTED, st.sampled_from([0, 1]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_is_answered_the_kernel_goes_on(command: str, lines: list[str], status: int, ended: bool) -> None:
    kernel = ShellKernel(WORLD)
    fork = kernel.fork()
    follow(fork, turn(command, "\n".join(lines) + "\n" * ended, status))
    for after in ("ls", "pwd", "echo hi > f", "cat f"):
        proposal = fork.propose(Action(name="bash", arguments={"command": after}))
        fork.accept()
    assert proposal.observation.text == "hi\n" or not proposal.known
    fork.close()
    assert kernel.propose(Action(name="bash", arguments={"command": "cat a.txt"})).observation.text == "x\n"
    kernel.close()
