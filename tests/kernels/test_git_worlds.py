"""A repository is files of the kernel: it forks, is dumped and loaded, and can be read with other commands."""

from __future__ import annotations

from worldline.kernels.shell import ShellKernel
from worldline.types import Action, WorldSpec

STATE = {
    "cwd": "/home/user/p",
    "files": {
        "/home/user/p/a.txt": "one\n",
        "/home/user/.gitconfig": "[user]\n\tname = user\n\temail = u@example.com\n",
    },
    "packages": ["git"],
}


def world(**more: object) -> WorldSpec:
    return WorldSpec(domain="terminal", initial_state={**STATE, **more})


def run(kernel: ShellKernel, command: str) -> str:
    proposal = kernel.propose(Action(name="bash", arguments={"command": command}))
    assert proposal.known, proposal.why
    kernel.accept()
    return proposal.observation.text


def test_forks_have_histories_of_their_own():
    kernel = ShellKernel(world())
    run(kernel, "git init -q && git add . && git commit -qm base")
    other = kernel.fork()
    run(kernel, "echo two >> a.txt; git commit -qam two")
    run(other, "git rm -q a.txt; git commit -qm gone")
    assert run(kernel, "git log --format=%s") == "two\nbase\n"
    assert run(other, "git log --format=%s; ls") == "gone\nbase\n"


def test_a_repository_survives_dump_and_load():
    kernel = ShellKernel(world())
    run(kernel, "git init -q && git add . && git commit -qm base && echo x >> a.txt && git stash -q")
    data = kernel.dump()
    again = ShellKernel(world())
    again.load(data)
    assert run(again, "git stash pop -q; git diff --stat") == " a.txt | 1 +\n 1 file changed, 1 insertion(+)\n"


def test_the_same_commits_have_the_same_names():
    texts = set()
    for _ in range(2):
        kernel = ShellKernel(world(clock="2026-05-01T12:00:00Z"))
        run(kernel, "git init -q && git add . && git commit -qm base")
        texts.add(run(kernel, "git rev-parse HEAD; cat .git/refs/heads/master; cat .git/HEAD"))
    (text,) = texts
    first, second, head = text.splitlines()
    assert first == second and len(first) == 40
    assert head == "ref: refs/heads/master"


def test_time_moves_on_between_commits():
    kernel = ShellKernel(world(clock="2026-05-01T12:00:00Z", timezone="Europe/Berlin"))
    run(kernel, "git init -q && git add . && git commit -qm base")
    run(kernel, "sleep 90")
    run(kernel, "git commit -q --allow-empty -m later")
    assert run(kernel, "git log --format=%ad") == "Fri May 1 14:01:30 2026 +0200\nFri May 1 14:00:00 2026 +0200\n"


def test_what_is_not_simulated_is_never_known():
    kernel = ShellKernel(world())
    run(kernel, "git init -q && git add . && git commit -qm base")
    for command in ("git gc", "git submodule update", "git log --show-signature", "git commit --amend"):
        proposal = kernel.propose(Action(name="bash", arguments={"command": command}))
        assert not proposal.known or proposal.observation.exit_code != 0
        kernel.reject()


def test_damaged_repositories_are_not_known():
    kernel = ShellKernel(world())
    run(kernel, "git init -q && git add . && git commit -qm base")
    run(kernel, "echo nonsense > .git/index")
    proposal = kernel.propose(Action(name="bash", arguments={"command": "git status"}))
    assert not proposal.known
    kernel.close()
