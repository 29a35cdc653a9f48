import pytest
from screen_typing import PROMPT, Typist, keys, screen_world

from worldline.errors import ConfigError, KernelError
from worldline.kernels import Kernel, build_kernel
from worldline.kernels.screen import ScreenKernel, terminal_kernel
from worldline.kernels.shell import ShellKernel
from worldline.types import Action, Observation, Turn, WorldSpec


def test_world_decides_kernel():
    assert isinstance(build_kernel(screen_world()), ScreenKernel)
    plain = build_kernel(WorldSpec(domain="terminal", initial_state={}))
    assert isinstance(plain, ShellKernel)
    assert isinstance(terminal_kernel(screen_world()), Kernel)
    with pytest.raises(ConfigError, match="no screen"):
        ScreenKernel(WorldSpec(domain="terminal", initial_state={}))


def test_first_screen_is_the_prompt():
    assert Typist().type(("", 0.5)) == PROMPT


def test_command_and_completion():
    typist = Typist(files={"/home/user/a.txt": "one\n"})
    assert typist.type("cat a.txt\n") == f"{PROMPT} cat a.txt\none\n{PROMPT}"
    asked = typist.kernel.propose(keys())
    assert asked.known
    assert asked.observation.text.split("\n")[-1].startswith("The task is about to be marked as complete")
    assert asked.observation.text.startswith(f"{PROMPT} cat a.txt")


def test_command_action_is_typed_with_enter():
    kernel = ScreenKernel(screen_world())
    seen = kernel.propose(Action(name="bash", arguments={"command": "echo hi"}))
    assert seen.known and seen.observation.text == f"{PROMPT} echo hi\nhi\n{PROMPT}"
    assert {"echo", "screen:line"} <= set(seen.classes)
    odd = kernel.propose(Action(name="look", arguments={}))
    assert not odd.known


def test_reject_takes_everything_back():
    kernel = ScreenKernel(screen_world())
    before = kernel.describe()
    kernel.propose(keys("echo x > new; cd /tmp; y=5\n"))
    kernel.reject()
    assert kernel.describe() == before
    seen = kernel.propose(keys("ls; echo $y; pwd\n"))
    assert seen.observation.text == f"{PROMPT} ls; echo $y; pwd\n\n/home/user\n{PROMPT}"


def test_forks_go_their_own_ways():
    typist = Typist()
    typist.type("cd /tmp\n")
    twin = typist.kernel.fork()
    typist.type("echo mine > f\n")
    there = twin.propose(keys("cat f\n"))
    assert there.known
    assert "cat: f: No such file or directory" in there.observation.text
    twin.close()
    assert typist.type("cat f\n").endswith("mine\nuser@box:/tmp$")


@pytest.mark.parametrize(
    "before", ["echo a\n", "sleep 50 &\n", "sleep 30\n", "read x\n", "for i in 1 2; do\n", "echo unfin", "cat\n"]
)
def test_dump_and_load(before: str):
    typist = Typist()
    typist.type(before)
    data = typist.kernel.dump()
    again = ScreenKernel(screen_world())
    again.load(data)
    assert again.describe() == typist.kernel.describe()
    more = keys("echo b\n", "done\n")
    assert again.propose(more).observation == typist.kernel.propose(more).observation


@pytest.mark.parametrize("data", [b"", b"junk", b"\x28\xb5\x2f\xfd\x00"])
def test_damaged_dump(data: bytes):
    with pytest.raises(KernelError, match="damaged"):
        ScreenKernel(screen_world()).load(data)


def test_describe_shows_the_screen():
    typist = Typist()
    typist.type("sleep 30\n")
    found = typist.kernel.describe()
    assert found["screen"] == f"{PROMPT} sleep 30"
    assert found["foreground"] == "sleep 30"
    assert found["cwd"] == "/home/user"
    typist.type("typed ahead")
    typist.type("\n")
    assert typist.kernel.describe()["pending"] == "typed ahead\n"


def test_shell_ends():
    typist = Typist()
    assert typist.type("exit\n") == f"{PROMPT} exit\nexit"
    assert typist.last is not None and typist.last.ended


class TestAbsorb:
    def test_unforeseen_output_is_adopted(self):
        kernel = ScreenKernel(screen_world())
        action = keys("cat /opt/readme\n")
        guess = kernel.propose(action)
        assert not guess.known
        screen = f"{PROMPT} cat /opt/readme\nread me first\n{PROMPT}"
        kernel.absorb(Turn(action=action, observation=Observation.from_text(screen)))
        seen = kernel.propose(keys("wc -w /opt/readme\n"))
        assert seen.known, seen.why
        assert seen.observation.text == f"{screen} wc -w /opt/readme\n3 /opt/readme\n{PROMPT}"

    def test_directory_is_read_off_the_prompt(self):
        kernel = ScreenKernel(screen_world())
        action = keys("cd /srv/data\n")
        kernel.absorb(
            Turn(action=action, observation=Observation.from_text(f"{PROMPT} cd /srv/data\nuser@box:/srv/data$"))
        )
        seen = kernel.propose(keys("pwd\n"))
        assert seen.known and seen.observation.text.endswith("/srv/data\nuser@box:/srv/data$")

    def test_unknown_program_keeps_the_terminal_until_a_prompt_is_seen(self):
        kernel = ScreenKernel(screen_world(packages=None))
        start = keys("mystery\n")
        kernel.absorb(Turn(action=start, observation=Observation.from_text(f"{PROMPT} mystery\nmystery> ")))
        lost = kernel.propose(keys("help\n"))
        assert not lost.known
        screen = f"{PROMPT} mystery\nmystery> quit\nbye\n{PROMPT}"
        kernel.absorb(Turn(action=keys("quit\n"), observation=Observation.from_text(screen)))
        found = kernel.propose(keys("echo back\n"))
        assert found.known, found.why
        assert found.observation.text == f"{screen} echo back\nback\n{PROMPT}"

    def test_running_command_is_told_from_a_typed_one(self):
        kernel = ScreenKernel(screen_world(packages=None))
        start = keys("mystery --wait\n")
        kernel.absorb(Turn(action=start, observation=Observation.from_text(f"{PROMPT} mystery --wait")))
        assert not kernel.propose(keys("ls\n")).known

    def test_missing_command_changed_nothing(self):
        typist = Typist(packages=None, files={"/home/user/a.txt": "one\n"})
        action = keys("grpe one a.txt\n")
        typist.kernel.propose(action)
        screen = f"{PROMPT} grpe one a.txt\nbash: grpe: command not found\n{PROMPT}"
        typist.kernel.absorb(Turn(action=action, observation=Observation.from_text(screen)))
        assert typist.type("grep one a.txt\n").endswith(f"one\n{PROMPT}")

    def test_unknown_text_stays_a_doubt_until_it_is_cleared(self):
        typist = Typist()
        typist.guess("cat /opt/readme\n")
        typist.guess("echo a\n")
        assert typist.type("clear\n") == PROMPT

    def test_unknown_text_stays_a_doubt_until_it_has_scrolled_away(self):
        typist = Typist()
        typist.guess("cat /opt/readme\n")
        typist.guess("seq 1 30\n")
        assert typist.type("seq 1 40\n").split("\n")[0] == "2"
