"""Exploring the git server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from worldline.domains.mcp.state import GitServer, Repository
from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted
from worldline.types import Action

__all__ = ["GitPlayer", "tree_of"]


def tree_of(repository: Repository) -> dict[str, str]:
    """Return the files of a repository's working tree where all commits lie on one line."""
    files: dict[str, str | None] = {}
    for commit in repository.commits:
        files |= commit.files
    files |= repository.staged
    files |= repository.working
    return {path: text for path, text in files.items() if text is not None}


class GitPlayer(Player):
    """Looks at history and differences, stages, commits, branches and switches."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        server = cast(GitServer, scene.state.servers[scene.server])
        self._paths = list(server.repositories)
        self._repositories = server.repositories
        self._branches = {
            path: sorted({repository.branch, *(commit.branch for commit in repository.commits if commit.branch)})
            for path, repository in server.repositories.items()
        }
        self._hashes: list[str] = []

    def moves(self) -> Sequence[Weighted]:
        """All kinds."""
        return [
            (1.5, self._status),
            (2.0, self._history),
            (2.0, self._stage_and_commit),
            (1.2, self._differences),
            (1.2, self._compare),
            (1.5, self._branch),
            (1.2, self._switch),
            (1.0, self._show),
            (0.8, self._unstage),
            (0.8, self._list_branches),
            (2.2, self._wrong),
        ]

    def _repo(self) -> str:
        return cast(str, self.scene.pick(self._paths))

    def _call(self, tool: str, path: str, **arguments: object) -> Action:
        return self.scene.call(tool, repo_path=path, **arguments)

    def _changed(self, path: str) -> list[str]:
        repository = self._repositories[path]
        return sorted({*repository.working, *repository.staged}) or sorted(tree_of(repository))

    def _message(self) -> str:
        scene = self.scene
        verb = scene.pick(("Add", "Update", "Rename", "Fix", "Remove", "Describe"))
        subject = f"{verb} {scene.pick(scene.theme.things)} {scene.pick(scene.theme.traits)}"
        return f"{subject}\n\nSee {scene.pick(scene.theme.places)}." if scene.chance(0.2) else subject

    def _status(self) -> Move:
        path = self._repo()
        yield self._call("git_status", path)
        if self.scene.chance(0.4):
            yield self._call("git_diff_unstaged", path)

    def _history(self) -> Move:
        scene, path = self.scene, self._repo()
        more = {"max_count": scene.random.randint(1, 4)} if scene.chance(0.6) else {}
        turn = yield self._call("git_log", path, **more)
        self._hashes += re.findall(r"\b[0-9a-f]{40}\b", turn.observation.text)
        if self._hashes and scene.chance(0.6):
            revision = scene.pick(self._hashes)
            yield self._call("git_show", path, revision=revision if scene.chance(0.5) else revision[:8])

    def _stage_and_commit(self) -> Move:
        scene, path = self.scene, self._repo()
        files = ["."] if scene.chance(0.2) else scene.some(self._changed(path), 2)
        turn = yield self._call("git_add", path, files=files)
        if turn.observation.is_error:
            return
        if scene.chance(0.6):
            yield self._call(scene.pick(("git_diff_staged", "git_status")), path)
        turn = yield self._call("git_commit", path, message=self._message())
        self._hashes += re.findall(r"\b[0-9a-f]{40}\b", turn.observation.text)
        if scene.chance(0.7):
            yield self._call("git_log", path, max_count=scene.random.randint(1, 2))
        else:
            yield self._call("git_status", path)

    def _differences(self) -> Move:
        scene, path = self.scene, self._repo()
        more = {"context_lines": scene.random.randint(0, 5)} if scene.chance(0.4) else {}
        yield self._call(scene.pick(("git_diff_unstaged", "git_diff_staged")), path, **more)

    def _compare(self) -> Move:
        scene, path = self.scene, self._repo()
        target = scene.pick(("HEAD", "HEAD~1", *self._branches[path], *self._hashes[-2:]))
        yield self._call("git_diff", path, target=target)

    def _branch(self) -> Move:
        scene, path = self.scene, self._repo()
        name = f"{scene.pick(('topic', 'fix', 'try'))}/{scene.pick(scene.theme.things)}"
        base = {"base_branch": scene.pick(self._branches[path])} if scene.chance(0.4) else {}
        turn = yield self._call("git_create_branch", path, branch_name=name, **base)
        if turn.observation.is_error:
            return
        self._branches[path].append(name)
        yield scene.pick(
            (
                self._call("git_branch", path, branch_type="local"),
                self._call("git_checkout", path, branch_name=name),
            )
        )

    def _switch(self) -> Move:
        scene, path = self.scene, self._repo()
        yield self._call("git_checkout", path, branch_name=scene.pick(self._branches[path]))
        yield self._call(scene.pick(("git_status", "git_log")), path)

    def _show(self) -> Move:
        scene, path = self.scene, self._repo()
        yield self._call("git_show", path, revision=scene.pick(("HEAD", "HEAD~1", *self._branches[path])))

    def _unstage(self) -> Move:
        path = self._repo()
        yield self._call("git_reset", path)
        yield self._call(self.scene.pick(("git_status", "git_diff_staged")), path)

    def _list_branches(self) -> Move:
        scene, path = self.scene, self._repo()
        more = {}
        if self._hashes and scene.chance(0.3):
            more = {scene.pick(("contains", "not_contains")): scene.pick(self._hashes)}
        yield self._call(
            "git_branch", path, branch_type=scene.pick(("local", "local", "remote", "all", "mine")), **more
        )

    def _wrong(self) -> Move:
        scene, path = self.scene, self._repo()
        word = scene.pick(scene.theme.things)
        wrong = (
            self._call("git_checkout", path, branch_name=f"no-{word}"),
            self._call("git_show", path, revision=f"v{scene.random.randint(1, 9)}.{scene.random.randint(0, 9)}"),
            self._call("git_diff", path, target=f"--output=/tmp/{word}"),
            self._call("git_add", path, files=[f"{word}/missing.txt"]),
            self._call("git_create_branch", path, branch_name=scene.pick(self._branches[path])),
            self._call("git_create_branch", path, branch_name=f"topic/{word}", base_branch=f"no-{word}"),
            self._call("git_status", f"/home/user/{word}"),
            self._call("git_log", path, max_count=0),
        )
        yield scene.pick(wrong)
