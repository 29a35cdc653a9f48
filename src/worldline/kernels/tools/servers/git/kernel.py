"""The kernel of the git server."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, ValidationError, create_model

from worldline.domains.mcp.state import HOME, GitServer
from worldline.errors import KernelError
from worldline.kernels.git.committing import write_commit
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.repository import Repository
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.git.dates import plain_date
from worldline.kernels.tools.servers.git.declared import make_repository
from worldline.kernels.tools.servers.git.histories import SeenHistory
from worldline.kernels.tools.servers.git.revisions import bad_name, check_ref_name, resolve
from worldline.kernels.tools.servers.git.running import command, context, run_git
from worldline.kernels.tools.servers.git.showing import log_entry, show_object
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.python_server import Crashed, PythonServer, ToolFailed
from worldline.kernels.tools.servers.replies import Unsure
from worldline.types import JsonDict, Observation, content_id

__all__ = ["GitKernel"]

_NOTHING_STAGED = (
    "No changes staged for commit. Use git_add to stage changes first; git_status shows what is currently staged."
)
_NO_FILES = "No files provided to stage. Pass one or more paths, or ['.'] to stage everything."
_NOTHING_NEW = (
    "No changes were staged: the given paths had nothing new to stage. git_status shows what is modified or untracked."
)
_DETACHED = "HEAD is detached, so there is no current branch to branch from; pass base_branch"
_EMPTY_PATH = (
    "Cmd('git') failed due to: exit code(128)\n  cmdline: git ls-files --stage -- {}\n  stderr: 'fatal: empty string "
    "is not a valid pathspec. please use . instead if you meant to match all paths'"
)
_NO_COMMIT = (
    "Cmd('git') failed due to: exit code(128)\n  cmdline: git checkout {0}\n"
    "  stderr: 'fatal: Cannot switch branch to a non-commit '{0}''"
)
_CHANGING = frozenset({"git_add", "git_commit", "git_reset", "git_create_branch", "git_checkout"})
_COMMITTED = re.compile(r"Changes committed successfully with hash ([0-9a-f]{40})")
_VARIABLE = re.compile(r"\$(\w+|\{\w+\})")


def _model(tool: str, **fields: Any) -> type[BaseModel]:
    made: type[BaseModel] = create_model(f"{tool}Arguments", repo_path=(str, ...), **fields)
    return made


class GitKernel(PythonServer):
    """The repositories are files of the host.

    Args:
        host: Whose files they are.
        declared: What the world says.

    Raises:
        KernelError: A declared repository cannot be made.
    """

    kind = "git"
    models: ClassVar[Mapping[str, type[BaseModel]]] = {
        "git_status": _model("status"),
        "git_diff_unstaged": _model("diff_unstaged", context_lines=(int, 3)),
        "git_diff_staged": _model("diff_staged", context_lines=(int, 3)),
        "git_diff": _model("diff", target=(str, ...), context_lines=(int, 3)),
        "git_commit": _model("commit", message=(str, ...)),
        "git_add": _model("add", files=(Annotated[list[str], Field(min_length=1)], ...)),
        "git_reset": _model("reset"),
        "git_log": _model(
            "log", max_count=(int, 10), start_timestamp=(str | None, None), end_timestamp=(str | None, None)
        ),
        "git_create_branch": _model("create_branch", branch_name=(str, ...), base_branch=(str | None, None)),
        "git_checkout": _model("checkout", branch_name=(str, ...)),
        "git_show": _model("show", revision=(str, ...)),
        "git_branch": _model(
            "branch", branch_type=(str, ...), contains=(str | None, None), not_contains=(str | None, None)
        ),
    }

    def __init__(self, host: Host, declared: GitServer | None = None) -> None:
        declared = declared or GitServer(kind="git")
        self.host = host
        self._only = declared.only
        self._whole = declared.complete
        self._tainted: frozenset[str] = frozenset()
        """Repositories of which it is not known what they hold."""
        self._seen: dict[str, tuple[str, bool]] = {}
        """Answers of reads that could not be computed, until the next change."""
        self._history = SeenHistory()
        for path, repository in declared.repositories.items():
            make_repository(host, path, repository)

    # --- calls

    def run(self, tool: str, value: Any) -> str:
        """Run a tool."""
        try:
            place = self._open(value.repo_path)
            if self._doubted(place) and not self._told(tool, place, value):
                raise Unknown(f"the repository {place} may hold more than is known")
            text = self._tool(tool)(place, value)
            if tool in _CHANGING:
                self._seen = {}
        except Unknown as unknown:
            raise self._guess(tool, value, str(unknown)) from unknown
        except Failure as failure:
            raise Unsure(f"git fails: {failure}") from failure
        return text

    def _doubted(self, place: str) -> bool:
        return place in self._tainted or not self._whole

    def _told(self, tool: str, place: str, value: Any) -> bool:
        """Whether a call is answered alike whatever else the repository holds."""
        tree = self.host.tree
        if tool == "git_add":
            nodes = [tree.node(posixpath.normpath(posixpath.join(place, name))) for name in value.files]
            return all(node is not None and node.kind == "file" and node.content is not None for node in nodes)
        if tool == "git_checkout":
            return tree.node(posixpath.join(place, ".git/refs/heads", value.branch_name)) is not None
        if tool == "git_log" and not (value.start_timestamp or value.end_timestamp):
            repo = context(self.host, place).repo
            return self._history.log(self._chain(place, repo), repo, value.max_count)[1]
        if tool == "git_show" and not value.revision.startswith("-"):
            repo = context(self.host, place).repo
            try:
                sha = repo.objects.peel(resolve(repo, self._history.mine(value.revision)))
            except (ToolFailed, Crashed):
                return False
            kind = repo.objects.kind(sha)
            known = sha in self._history.entries and bool(repo.objects.commit(sha).parents)
            return kind == "blob" or (kind == "commit" and known)
        return tool == "git_reset"

    def _chain(self, place: str, repo: Repository) -> list[str]:
        """Commits of the present branch, newest first."""
        return command(self.host, place, "rev-list", repo.head, "--").split() if repo.head is not None else []

    def _guess(self, tool: str, value: Any, why: str) -> Unsure:
        """What was answered before to the same call, or what the server says if nothing more is there."""
        seen = self._seen.get(_key(tool, value))
        if seen is not None:
            return Unsure(why, seen[0], failed=seen[1])
        tree = self.host.tree = self.host.tree.fork()
        tree.lenient = True
        try:
            return Unsure(why, self._tool(tool)(self._open(value.repo_path), value))
        except ToolFailed as failure:
            return Unsure(why, str(failure), failed=True)
        except (Unknown, Failure, Crashed, OSError):
            return Unsure(why)
        finally:
            tree.lenient = False

    def _tool(self, tool: str) -> Callable[[str, Any], str]:
        found: Callable[[str, Any], str] = getattr(self, f"_{tool.removeprefix('git_')}")
        return found

    def _open(self, given: str) -> str:
        """The working directory of the repository at a path.

        Raises:
            ToolFailed: There is none, or it is not allowed.
        """
        plain = _pathlib(given)
        if "\0" in plain:
            raise ToolFailed("embedded null byte" if self._only else posixpath.join(HOME, plain))
        if self._only is not None and not self._allowed(plain):
            raise ToolFailed(f"Repository path '{plain}' is outside the allowed repository '{self._only}'")
        expanded = self.host.home + plain[1:] if plain == "~" or plain.startswith("~/") else plain
        if _VARIABLE.search(expanded):
            expanded = expanded.replace("$HOME", self.host.home)
            if _VARIABLE.search(expanded):
                raise Unknown("a variable in a path")
        place = "/" + posixpath.normpath(posixpath.join(HOME, expanded)).lstrip("/")
        files = self.host.tree
        if not files.exists(place):
            raise ToolFailed(place)
        if self._is_repository(posixpath.join(place, ".git")):
            return place
        if posixpath.basename(place) == ".git" and self._is_repository(place):
            return posixpath.dirname(place)
        if self._is_repository(place):
            raise Unknown("a repository without a working tree")
        raise ToolFailed(place)

    def _allowed(self, plain: str) -> bool:
        only = self._only or "/"
        try:
            place = self.host.tree.resolve(posixpath.join(HOME, plain))
        except OSError:
            place = posixpath.normpath(posixpath.join(HOME, plain))
        return place == only or place.startswith(only.rstrip("/") + "/")

    def _is_repository(self, path: str) -> bool:
        try:
            return all(self.host.tree.exists(f"{path}/{name}") for name in ("HEAD", "objects", "refs"))
        except OSError:
            return False

    def _status(self, place: str, value: Any) -> str:
        return f"Repository status:\n{command(self.host, place, 'status')}"

    def _diff_unstaged(self, place: str, value: Any) -> str:
        return f"Unstaged changes:\n{command(self.host, place, 'diff', _lines(value))}"

    def _diff_staged(self, place: str, value: Any) -> str:
        return f"Staged changes:\n{command(self.host, place, 'diff', _lines(value), '--cached')}"

    def _diff(self, place: str, value: Any) -> str:
        if value.target.startswith("-"):
            raise ToolFailed(f"Invalid target: '{value.target}' - cannot start with '-'")
        resolve(context(self.host, place).repo, value.target)
        return f"Diff with {value.target}:\n{command(self.host, place, 'diff', _lines(value), value.target)}"

    def _commit(self, place: str, value: Any) -> str:
        git = context(self.host, place)
        repo = git.repo
        if repo.operation() is not None or repo.index.conflicts:
            raise Unknown("a commit in the middle of a merge")
        if repo.head is None and not self.host.tree.exists(f"{repo.directory}/index"):
            raise Unknown("a commit without an index")
        head = repo.head
        tree = repo.objects.write_tree(repo.index.entries)
        if tree == repo.head_tree() if head is not None else not repo.index.entries:
            raise ToolFailed(_NOTHING_STAGED)
        who = git.committer()
        sha = write_commit(git, tree, [head] if head else [], git.author(), who, value.message)
        subject = value.message.split("\n", 1)[0]
        repo.update("HEAD", sha, f"commit{'' if head else ' (initial)'}: {subject}", who=who)
        return f"Changes committed successfully with hash {sha}"

    def _add(self, place: str, value: Any) -> str:
        if not value.files:
            raise ToolFailed(_NO_FILES)
        for name in value.files if value.files != ["."] else ():
            self._stays_inside(place, name)
        if "" in value.files:
            raise ToolFailed(_EMPTY_PATH.format(" ".join(value.files)))
        before = dict(context(self.host, place).repo.index.entries)
        words = ["."] if value.files == ["."] else ["--", *value.files]
        command(self.host, place, "add", *words)
        after = context(self.host, place).repo.index.entries
        return _NOTHING_NEW if before == after else "Files staged successfully"

    def _stays_inside(self, place: str, name: str) -> None:
        if "\0" in name:
            raise ToolFailed("embedded null byte")
        path = posixpath.normpath(posixpath.join(place, name))
        with contextlib.suppress(OSError):
            path = self.host.tree.resolve(path)
        if path != place and not path.startswith(place + "/"):
            raise ToolFailed(f"Path '{name}' is outside the repository '{place}'")

    def _reset(self, place: str, value: Any) -> str:
        repo = context(self.host, place).repo
        tree = repo.head_tree()
        if tree is None:
            raise Unknown("a reset before the first commit")
        repo.index.entries = repo.objects.flat(tree)
        repo.index.conflicts = {}
        repo.save_index()
        return "All staged changes reset"

    def _log(self, place: str, value: Any) -> str:
        words = [f"--max-count={value.max_count}"]
        for name, option in (("start_timestamp", "since"), ("end_timestamp", "until")):
            given = getattr(value, name)
            if given and given.startswith("-"):
                raise ToolFailed(f"Invalid {name}: '{given}' - cannot start with '-'")
            words += [f"--{option}={plain_date(given, self.host.clock)}"] if given else []
        repo = context(self.host, place).repo
        if repo.head is None:
            raise ToolFailed(f"Reference at {repo.symbolic()!r} does not exist")
        if len(words) == 1 and self._doubted(place):
            entries, _ = self._history.log(self._chain(place, repo), repo, value.max_count)
            return "Commit history:\n" + "\n".join(entries)
        if value.max_count < 0:
            words[0] = f"--max-count={1 << 30}"
        names = command(self.host, place, "rev-list", *words, repo.head, "--").split()
        return "Commit history:\n" + "\n".join(log_entry(repo.objects.commit(name)) for name in names)

    def _create_branch(self, place: str, value: Any) -> str:
        name, base = value.branch_name, value.base_branch
        for label, text in (("branch name", name), ("base branch", base)):
            if text and text.startswith("-"):
                raise ToolFailed(f"Invalid {label}: '{text}' - cannot start with '-'")
        git = context(self.host, place)
        repo = git.repo
        if base:
            target = _reference(git, base)
        elif repo.branch is None:
            raise ToolFailed(_DETACHED)
        else:
            target, base = repo.head, repo.branch
        heads = repo.refs("refs/heads/")
        if f"refs/heads/{name}" in heads:
            raise ToolFailed(f"Cannot create branch '{name}': refs/heads/{name} already exists")
        check_ref_name(f"refs/heads/{name}")
        if target is None:
            raise bad_name(base)
        self._make_ref(git, name, target)
        return f"Created branch '{name}' from '{base}'"

    def _make_ref(self, git: Git, name: str, target: str) -> None:
        path, files = git.repo.path(f"refs/heads/{name}"), self.host.tree
        place = posixpath.dirname(path)
        if files.exists(place) and files.stat(place).kind != "directory":
            raise ToolFailed(f"[Errno 17] File exists: '{place}'")
        if files.exists(path) and files.stat(path).kind == "directory":
            raise ToolFailed(f"[Errno 21] Is a directory: '{path}.lock' -> '{path}'")
        above = posixpath.dirname(place)
        if files.probe(above) and files.stat(above).kind != "directory":
            raise ToolFailed(f"[Errno 20] Not a directory: '{place}'")
        git.repo.put(f"refs/heads/{name}", f"{target}\n")

    def _checkout(self, place: str, value: Any) -> str:
        name = value.branch_name
        if name.startswith("-"):
            raise ToolFailed(f"Invalid branch name: '{name}' - cannot start with '-'")
        repo = context(self.host, place).repo
        if repo.objects.kind(repo.objects.peel(resolve(repo, name))) != "commit":
            raise ToolFailed(_NO_COMMIT.format(name))
        if name not in ("HEAD", "@"):
            command(self.host, place, "checkout", name)
        repo = context(self.host, place).repo
        if repo.branch is None:
            return f"HEAD is now detached at {(repo.head or '')[:7]}"
        return f"Switched to branch '{repo.branch}'"

    def _show(self, place: str, value: Any) -> str:
        if value.revision.startswith("-"):
            raise ToolFailed(f"Invalid revision: '{value.revision}' - cannot start with '-'")
        git = context(self.host, place)
        sha = resolve(git.repo, self._history.mine(value.revision))
        return self._history.show(sha, show_object(git, sha))

    def _branch(self, place: str, value: Any) -> str:
        words = []
        for name, option in (("contains", "--contains"), ("not_contains", "--no-contains")):
            given = getattr(value, name)
            if given and given.startswith("-"):
                raise ToolFailed(f"Invalid {name} value: '{given}' - cannot start with '-'")
            words += [option, given] if given is not None else []
        kinds = {"local": [], "remote": ["-r"], "all": ["-a"]}
        if value.branch_type not in kinds:
            raise ToolFailed(f"Invalid branch type: {value.branch_type}")
        words = [*kinds[value.branch_type], *words]
        if "" in words:
            text = f"exit code(129)\n  cmdline: git branch {' '.join(words)}\n  stderr: 'error: malformed object name '"
            raise ToolFailed(f"Cmd('git') failed due to: {text}")
        return command(self.host, place, "branch", *words)

    # --- following reality

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take what an answer tells; what a change did beyond it becomes unknown."""
        try:
            value = self.checked(tool, arguments) if tool in self.models else None
        except ValidationError:
            return
        if value is None:
            return
        try:
            place = self._open(value.repo_path)
        except (ToolFailed, Unknown):
            return
        text, failed = observation.text, bool(observation.is_error)
        if tool in _CHANGING:
            self._seen = {}
            if not failed and self._repeated(tool, place, value) != text:
                self._tainted |= {place}
                self._learn_commit(place, text)
            return
        self._learn_log(tool, place, value, text)
        prefix = f"Error executing tool {tool}: "
        self._seen = {**self._seen, _key(tool, value): (text.removeprefix(prefix), failed)}

    def _learn_commit(self, place: str, text: str) -> None:
        found = _COMMITTED.fullmatch(text)
        repo = context(self.host, place).repo
        if found is not None and repo.head is not None:
            self._history = self._history.with_commit(repo, repo.head, found[1])

    def _learn_log(self, tool: str, place: str, value: Any, text: str) -> None:
        plain = tool == "git_log" and not (value.start_timestamp or value.end_timestamp)
        if not plain or not text.startswith("Commit history:\n"):
            return
        with contextlib.suppress(Unknown, Failure, ToolFailed):
            repo = context(self.host, place).repo
            shown = text.removeprefix("Commit history:\n")
            self._history = self._history.with_log(self._chain(place, repo), repo, shown, value.max_count)

    def _repeated(self, tool: str, place: str, value: Any) -> str | None:
        """Make a change that went well in reality; what it says here, None where it cannot be made."""
        self.host.tree.lenient = True
        try:
            return self._tool(tool)(place, value)
        except (ToolFailed, Crashed, Unknown, Failure, OSError):
            return None
        finally:
            self.host.tree.lenient = False

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """What the repository holds, and its working tree."""
        try:
            value = self.checked(tool, arguments) if tool in self.models else None
            if value is None:
                return {}
            place = self._open(value.repo_path)
            if place in self._tainted or not self._whole:
                return {"repository": "unknown"}
            return {"repository": self._state(place)}
        except ValidationError:
            return {}
        except ToolFailed as failure:
            return {"repository": f"refused {failure}"}
        except (Unknown, Failure):
            return {"repository": "unknown"}

    def _state(self, place: str) -> str:
        tree, prefix = self.host.tree, place + "/"
        found = []
        for path in sorted(tree.paths()):
            node = tree.node(path)
            skipped = path.startswith((f"{prefix}.git/objects/", f"{prefix}.git/hooks/", f"{prefix}.git/logs/"))
            if node is not None and path.startswith(prefix) and not skipped:
                found.append([path[len(prefix) :], node.kind, (node.content or b"").hex(), node.target])
        return content_id(found)

    # --- copies

    def fork(self) -> GitKernel:
        """Share everything that is never changed in place."""
        twin = object.__new__(GitKernel)
        twin.host, twin._only, twin._whole = self.host, self._only, self._whole
        twin._tainted, twin._seen, twin._history = self._tainted, self._seen, self._history
        return twin

    def dump(self) -> JsonDict:
        """Return what is not among the host's files."""
        seen = {key: list(value) for key, value in self._seen.items()}
        return {"tainted": sorted(self._tainted), "seen": seen, "history": self._history.dump()}

    def load(self, data: JsonDict) -> None:
        """Take what `dump` returned."""
        try:
            self._tainted = frozenset(data["tainted"])
            self._seen = {str(key): (str(value[0]), bool(value[1])) for key, value in data["seen"].items()}
            self._history = SeenHistory.load(data["history"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
            raise KernelError("damaged state of a git server") from exc

    def describe(self) -> JsonDict:
        """Branch, last commit and status of the repositories."""
        found: JsonDict = {}
        tops = [path.removesuffix("/.git") for path in self.host.tree.paths() if path.endswith("/.git")]
        for place in sorted(tops)[:5]:
            try:
                status = run_git(self.host, place, "status", "--short", "--branch").stdout
                log = run_git(self.host, place, "log", "--oneline", "-10").stdout
            except Unknown as unknown:
                status, log = str(unknown), ""
            found[place] = {"status": status[:2000], "log": log[:2000]}
        return found

    def close(self) -> None:
        """Nothing to free."""


def _lines(value: Any) -> str:
    if value.context_lines < 0:
        raise Unknown("a negative number of lines")
    return f"--unified={value.context_lines}"


def _key(tool: str, value: BaseModel) -> str:
    return f"{tool} {value.model_dump_json()}"


def _pathlib(given: str) -> str:
    """A path as `pathlib` writes it."""
    parts = [part for part in given.split("/") if part not in ("", ".")]
    return ("/" if given.startswith("/") else "") + "/".join(parts) or "."


def _reference(git: Git, name: str) -> str | None:
    """The object of a ref that a short name means."""
    for prefix in ("refs/heads/", "refs/remotes/", "refs/tags/"):
        sha = git.repo.refs(prefix).get(prefix + name)
        if sha is not None:
            return sha
    if hasattr(list, name):
        raise Crashed
    raise ToolFailed(f"No item found with id {name}")
