"""The repository kernel: proposes what a coding assistant's tools answer, and keeps the repository in step."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from worldline.domains.comparing import compare
from worldline.domains.swe import SweState
from worldline.domains.swe.tools import PLAIN_COMMAND, family_tools
from worldline.errors import KernelError
from worldline.kernels.base import GUESSED, Proposal
from worldline.kernels.repository import envelope, outcomes
from worldline.kernels.repository.answer import Answer, Refused
from worldline.kernels.repository.arguments import checked_schema, editor_fault, envelope_fault
from worldline.kernels.repository.dispatch import editor_tool, envelope_tool
from worldline.kernels.repository.following import READING, absolute_of, is_absence, written_by
from worldline.kernels.repository.patterns import Unclear
from worldline.kernels.repository.shell import (
    Envelope,
    RepositoryShell,
    editor_text,
    envelope_text,
    read_editor,
    read_envelope,
    said,
    within,
)
from worldline.kernels.repository.starting import machine_of, setup_command
from worldline.kernels.repository.testing import TestRun, foreseen, test_run
from worldline.kernels.repository.tree import Tree, digest
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.shell.files import KernelFiles
from worldline.kernels.shell.kernel import ShellKernel
from worldline.kernels.shell.limits import Limits
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec, canonical_json, content_id

__all__ = ["RepositoryKernel"]

_MAGIC = b"worldline-repository-1\n"
_LIMITS = Limits(seconds=20.0, wall=120.0)
"""What a command may take: committing a large repository for the first time takes a while."""
_MOST_FILES = 80
_GROUP = re.compile(r"(?<=^Process Group PGID: )\d+\Z", re.MULTILINE)
_SHELL_TOOLS = frozenset({"Bash", "run_shell_command"})


@dataclass(frozen=True, slots=True)
class _Trial:
    """A proposal that stands."""

    action: Action
    proposal: Proposal
    answer: Answer | None = None
    """Of a file tool."""
    command: str | None = None
    """Of a shell tool that was run on the shell kernel."""
    tests: TestRun | None = None
    directory: str = ""
    """Working directory afterwards."""


@lru_cache(maxsize=24)
def _started(state_json: str) -> ShellKernel:
    """The shell of a world at its start, the repository made. To be forked only."""
    state = SweState.model_validate_json(state_json)
    machine = machine_of(state)
    declared = WorldSpec(domain="terminal", initial_state=machine.model_dump(mode="json", exclude_none=True))
    kernel = ShellKernel(declared, _LIMITS)
    setup = setup_command(state)
    if setup:
        proposal = kernel.propose(Action(name="bash", arguments={"command": setup}))
        if not proposal.known or proposal.observation.is_error:
            raise KernelError(f"the repository cannot be made: {proposal.why} {proposal.observation.text[:200]}")
        kernel.accept()
    return kernel


@lru_cache(maxsize=256)
def _start_print(state_json: str) -> str:
    """Hash of all files of a world at its start."""
    state = SweState.model_validate_json(state_json)
    return Tree(_started(state_json), state.cwd).fingerprint()


def _goals(world: WorldSpec) -> frozenset[str]:
    """Commands that succeed once a world's task is done, by its verifier."""
    checks = (world.verifier or {}).get("checks", ())
    commands = [(check.get("action") or {}).get("command") for check in checks if check.get("exit_code") == 0]
    return frozenset(command for command in commands if isinstance(command, str))


class RepositoryKernel:
    """A repository: files, git, a shell, and what the tools remember of them.

    Args:
        world: A world of the domain `swe`.

    Raises:
        ConfigError: The world's package does not ship.
        KernelError: The repository cannot be made as the world declares it.
    """

    domain = "swe"

    def __init__(self, world: WorldSpec) -> None:
        self.state = state = SweState.model_validate(world.initial_state)
        own = {tool.name: tool for tool in family_tools(state.family)}
        self._schemas = {tool.name: checked_schema(tool, own.get(tool.name)) for tool in world.tools or own.values()}
        """Of the tools there are; None for one that is not the family's in spite of its name."""
        self._world_id = content_id(state.model_dump(mode="json"))
        self._start = canonical_json(state.model_dump(mode="json"))
        self._goals = _goals(world)
        self._shell = RepositoryShell(_started(self._start).fork())
        self._cwd = state.cwd
        self._seen: Mapping[str, str] = {}
        """Files that were read, with the hash of what was seen."""
        self._outcomes: Mapping[str, outcomes.Outcome] = {}
        self._trial: _Trial | None = None

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Answer a call on a trial state."""
        self.reject()
        self._trial = self._try(action)
        return self._trial.proposal

    def _try(self, action: Action) -> _Trial:
        name, editing = action.name, self.state.family == "editor"
        schema = self._schemas.get(name)
        if schema is None and name in self._schemas:
            return self._unknown(action, f"the tool {name} takes other arguments than the one that is simulated")
        if schema is None and name == PLAIN_COMMAND and action.command is not None:
            return self._probe(action, action.command)
        if schema is None:
            said = f"Error: No such tool available: {name}" if editing else f'Tool "{name}" not found in registry.'
            return self._refused(action, said, f"{name if len(name) < 20 else ''} unknown")
        fault = (editor_fault if editing else envelope_fault)(name, action.arguments, schema)
        if fault is not None:
            return self._refused(action, fault, f"{name} invalid")
        known = schema["properties"]
        arguments = {key: value for key, value in action.arguments.items() if key in known and value is not None}
        if name in _SHELL_TOOLS:
            return self._run(action, arguments)
        return self._use(action, name, arguments)

    def _refused(self, action: Action, said: str, cls: str) -> _Trial:
        text = f"<tool_use_error>{said}</tool_use_error>" if self.state.family == "editor" else said
        observation = Observation.from_text(text, is_error=True)
        answer = Answer(text, error=True)
        return _Trial(action, Proposal(observation, known=True, classes=(cls,), why=cls), answer, directory=self._cwd)

    def _unknown(self, action: Action, why: str) -> _Trial:
        guess = Observation.from_text("", is_error=False)
        return _Trial(action, Proposal(guess, known=False, classes=(action.name,), why=why), directory=self._cwd)

    def _use(self, action: Action, name: str, arguments: JsonDict) -> _Trial:
        """Run a file tool."""
        self._shell.kernel.reject()
        tree = Tree(self._shell.kernel, self.state.cwd)
        try:
            answer = self._tool(tree, name, arguments)
        except Refused as refusal:
            if not tree.doubts:
                return self._refused(action, str(refusal), f"{name} error")
            answer = Answer(str(refusal), error=True)
        except (Unknown, Unclear, OSError, ValueError, ArithmeticError) as reason:  # a NUL, an endless number
            return self._unknown(action, str(reason))
        proposal = Proposal(
            observation=Observation.from_text(answer.text, is_error=answer.error),
            known=not tree.doubts,
            classes=(f"{name} {answer.cls}".rstrip(),),
            why="; ".join(tree.doubts[:3]) or f"ran {name}",
            writes=tuple(answer.writes),
        )
        return _Trial(action, proposal, answer, directory=self._cwd)

    def _tool(self, tree: Tree, name: str, arguments: JsonDict) -> Answer:
        if self.state.family == "envelope":
            return envelope_tool(tree, lambda: self._listed(tree), name, arguments)
        return editor_tool(tree, self._cwd, self._seen, name, arguments)

    def _place(self, path: str | None) -> str:
        return posixpath.normpath(posixpath.join(self._cwd, path)) if path else self._cwd

    def _listed(self, tree: Tree) -> list[str] | None:
        """Files that git knows or does not ignore; None where there is no repository."""
        if f"{self.state.cwd}/.git" not in tree.table.nodes:
            return None
        proposal = self._shell.propose("git ls-files -z --cached --others --exclude-standard", self.state.cwd)
        self._shell.kernel.reject()
        tree.files, doubts = self._shell.kernel.look()
        if not proposal.known:
            doubts.append(proposal.why)
        tree.doubts = doubts
        return sorted(set(proposal.observation.text.split("\0")) - {""})

    # --- commands

    def _run(self, action: Action, arguments: JsonDict) -> _Trial:
        """Run a shell tool."""
        command = arguments["command"]
        editing = self.state.family == "editor"
        directory, start = arguments.get("directory"), self._cwd
        if not editing:
            if not command.strip():
                return self._refused(action, "Command cannot be empty.", "run_shell_command error")
            tree = Tree(self._shell.kernel, self.state.cwd)
            try:
                start = envelope.place(tree, directory, "Directory") if directory else self.state.cwd
            except Refused as refusal:
                return self._refused(action, str(refusal), "run_shell_command error")
            if tree.kind(start) != "directory":
                return self._refused(action, f"Directory does not exist: {directory}", "run_shell_command error")
        tests = self._tests(command, start)
        if tests is not None and not (tests.kind in ("python", "program") and self._computes(command, start)):
            return self._test(action, command, start, tests)
        if "\0" in command:
            observation = Observation.from_text("", is_error=True)
            return _Trial(action, Proposal(observation, known=False, why="a NUL character"), directory=self._cwd)
        found = self._shell.propose(command, start)
        status = int(found.details.get("status", 0))
        note, after = "", self._cwd
        if editing:
            after = str(found.details.get("cwd", start))
            if not within(self.state.cwd, after):
                note, after = f"\nShell cwd was reset to {self.state.cwd}", self.state.cwd
        return _Trial(action, self._shell_proposal(found, command, directory, status, note), None, command, None, after)

    def _computes(self, command: str, directory: str) -> bool:
        """Whether the shell kernel knows what a command answers."""
        known = self._shell.propose(command, directory).known
        self._shell.kernel.reject()
        return known

    def _shell_proposal(self, found: Proposal, command: str, directory: str | None, status: int, note: str) -> Proposal:
        text, error = self._told(command, directory, said(command, found.observation.text), status, note)
        return Proposal(
            observation=Observation.from_text(text, is_error=error),
            known=found.known,
            classes=found.classes,
            why=found.why,
            writes=found.writes,
            details=found.details,
        )

    def _told(self, command: str, directory: str | None, output: str, status: int, note: str = "") -> tuple[str, bool]:
        if self.state.family == "editor":
            return editor_text(output, status, note)
        return envelope_text(command, directory, output, status)

    def _probe(self, action: Action, command: str) -> _Trial:
        """A verifier's question: a plain command in the root, with its status."""
        tests = self._tests(command, self.state.cwd)
        if tests is not None:
            outcome = self._outcomes.get(self._outcome_key(command, self.state.cwd))
            status = outcome.status if outcome is not None else None
            observation = Observation(text=outcome.output if outcome else "", exit_code=status, is_error=bool(status))
            proposal = Proposal(observation, known=status is not None, classes=(tests.kind,), why="tests")
            return _Trial(action, proposal, tests=tests, directory=self._cwd)
        found = self._shell.propose(command, self.state.cwd)
        status = int(found.details.get("status", 0))
        observation = found.observation.model_copy(update={"exit_code": status})
        proposal = Proposal(observation, known=found.known, classes=found.classes, why=found.why)
        return _Trial(action, proposal, None, command, None, self._cwd)

    # --- tests

    def _tests(self, command: str, directory: str) -> TestRun | None:
        """The test run that a command is; None where it is something else."""
        self._shell.kernel.reject()
        tree = Tree(self._shell.kernel, self.state.cwd)

        def read(name: str) -> str | None:
            try:
                text = tree.read(posixpath.join(directory, name)).decode("utf-8", "replace")
            except (OSError, Unknown):
                return None
            return None if tree.doubts else text

        return test_run(command, read)

    def _outcome_key(self, command: str, directory: str) -> str:
        tree = Tree(self._shell.kernel, self.state.cwd)
        return outcomes.key(command, posixpath.relpath(directory, self.state.cwd), tree.fingerprint())

    def _test(self, action: Action, command: str, directory: str, tests: TestRun) -> _Trial:
        """Run tests: known is what was seen before with the same files, and what follows where there are none."""
        self._shell.kernel.reject()
        tree = Tree(self._shell.kernel, self.state.cwd)
        output, status, known, cls = "", 0, False, tests.kind
        seen = self._outcomes.get(self._outcome_key(command, directory))
        plain = foreseen(command, tree, directory) if seen is None else None
        if seen is not None:
            output, status, known, cls = seen.output, seen.status, True, f"{tests.kind} again"
        elif plain is not None and not tree.doubts:
            (output, status), known, cls = plain, True, f"{tests.kind} none"
        elif command in self._goals and tree.fingerprint() == _start_print(self._start):
            status = 1  # at the start the task is not done
        text, error = self._told(command, action.arguments.get("directory"), output, status)
        why = f"ran {tests.kind}" if known else "what tests do is known to reality only"
        proposal = Proposal(Observation.from_text(text, is_error=error), known=known, classes=(cls,), why=why)
        after = self._moved(command, directory) if self.state.family == "editor" else self._cwd
        return _Trial(action, proposal, None, None, tests, after)

    def _moved(self, command: str, directory: str) -> str:
        """The directory after a command that begins with `cd PLACE &&`."""
        found = re.match(r"\s*(cd\s+[^;&|<>]+)(?:&&|;|\n)", command)
        if found is None:
            return directory
        proposal = self._shell.propose(found[1], directory)
        self._shell.kernel.reject()
        place = str(proposal.details.get("cwd", directory))
        return place if within(self.state.cwd, place) else self.state.cwd

    # --- settling

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""
        trial, self._trial = self._trial, None
        if trial is None:
            return
        if trial.answer is not None:
            self._write(trial.answer.writes)
            self._seen = {**self._seen, **trial.answer.read}
        elif trial.command is not None:
            self._shell.accept(trial.command)
        self._cwd = trial.directory or self._cwd
        self._stay_inside()

    def _write(self, writes: Mapping[str, bytes]) -> None:
        if writes:
            self._shell.kernel.change_files(_writer(writes))

    def _stay_inside(self) -> None:
        """Go back to the root where the working directory is gone."""
        node = self._shell.kernel.settled.table.nodes.get(self._cwd)
        if node is None or node.kind != "directory":
            self._cwd = self.state.cwd

    def reject(self) -> None:
        """Forget the trial state of the last proposal."""
        self._trial = None
        self._shell.kernel.reject()

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        trial = self._trial
        assert trial is not None
        if trial.tests is not None:
            # a guess that is taken for the answer says nothing of what the tests do
            if trial.proposal.known or not (
                turn.extra.get(GUESSED) or _agree(trial.proposal.observation, turn.observation)
            ):
                self._remember(turn)
            self.accept()
        elif _agree(trial.proposal.observation, turn.observation) and (
            trial.proposal.known or _telling(trial.proposal)
        ):
            self.accept()
        else:
            self.reject()
            self._follow(turn, trial)

    def _remember(self, turn: Turn) -> None:
        """Keep what a test run said of the present files."""
        command = str(turn.action.arguments.get("command"))
        seen = self._read(turn)
        key = self._outcome_key(command, self._directory_of(turn.action))
        if seen.status is not None and key:
            self._outcomes = {**self._outcomes, key: outcomes.Outcome(command, seen.output, seen.status)}

    def _directory_of(self, action: Action) -> str:
        """Where a command runs."""
        if action.name == "Bash":
            return self._cwd
        given = action.arguments.get("directory")
        return posixpath.normpath(posixpath.join(self.state.cwd, given)) if given else self.state.cwd

    def _read(self, turn: Turn) -> Envelope:
        """Output and status of a command."""
        if turn.action.name == PLAIN_COMMAND:
            return Envelope(turn.observation.text.rstrip("\n"), turn.observation.exit_code)
        return (read_editor if self.state.family == "editor" else read_envelope)(turn.observation)

    def _follow(self, turn: Turn, trial: _Trial) -> None:
        """Settle a turn that went otherwise than the trial."""
        action, seen = turn.action, turn.observation
        if trial.command is not None:
            self._shell.follow(trial.command, self._read(turn), self._directory_of(action))
            if action.name == "Bash":
                place = self._shell.kernel.settled.cwd
                reset = re.search(r"^Shell cwd was reset to ", seen.text, re.MULTILINE)
                self._cwd = self.state.cwd if reset or not within(self.state.cwd, place) else place
            self._stay_inside()
            return
        self._shell.kernel.reject()
        tree = Tree(self._shell.kernel, self.state.cwd)
        if is_absence(action, seen):
            self._shell.show(absolute_of(self._cwd, action), None)
        if seen.is_error:
            return
        try:
            found = written_by(tree, self._cwd, action, seen.text)
            if action.name in READING:
                for path, data in found.items():
                    self._shell.show(path, data)
            else:
                self._write(found)
        except (OSError, Unknown):
            return
        self._seen = {**self._seen, **{path: digest(data) for path, data in found.items()}}

    # --- copies

    def fork(self) -> RepositoryKernel:
        """Return an independent copy; it shares what neither side has changed."""
        self.reject()
        twin = object.__new__(RepositoryKernel)
        twin.state, twin._schemas, twin._world_id = self.state, self._schemas, self._world_id
        twin._start, twin._goals = self._start, self._goals
        twin._shell = self._shell.fork()
        twin._cwd, twin._seen, twin._outcomes = self._cwd, self._seen, self._outcomes
        twin._trial = None
        return twin

    def dump(self) -> bytes:
        """Serialise the whole state."""
        self.reject()
        told = {key: [one.command, one.output, one.status] for key, one in self._outcomes.items()}
        head = {"world": self._world_id, "cwd": self._cwd, "seen": dict(self._seen), "outcomes": told}
        return _MAGIC + json.dumps(head).encode() + b"\n" + self._shell.kernel.dump()

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged, or from another version or world.
        """
        if not data.startswith(_MAGIC):
            raise KernelError("not the state of a repository kernel")
        line, _, rest = data[len(_MAGIC) :].partition(b"\n")
        try:
            head = json.loads(line)
            world, cwd, seen = head["world"], str(head["cwd"]), dict(head["seen"])
            told = {key: outcomes.Outcome(*value) for key, value in head["outcomes"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            raise KernelError("damaged state of a repository kernel") from exc
        if world != self._world_id:
            raise KernelError("the state is that of another world")
        self._shell.kernel.load(rest)
        self._cwd, self._seen, self._outcomes, self._trial = cwd, seen, told, None
        self._shell.used = True

    # --- views

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """What the action would read, with a hash of its content; None where it cannot be told."""
        self.reject()
        arguments, name = action.arguments, action.name
        tree = Tree(self._shell.kernel, self.state.cwd)
        if name in _SHELL_TOOLS:
            command = arguments.get("command")
            if not isinstance(command, str):
                return {}
            tests = self._tests(command, self._cwd)
            if tests is not None:
                place = posixpath.relpath(self._cwd, self.state.cwd)
                return {"tree": tree.fingerprint(), "place": place}
            found = self._shell.kernel.footprint(Action(name="bash", arguments={"command": command}))
            return None if found is None else {**found, "cwd": self._cwd}
        path = next((arguments[key] for key in ("file_path", "absolute_path", "path") if key in arguments), None)
        place = self._place(path if isinstance(path, str) else None)
        kind = tree.kind(place)
        if kind == "file":
            try:
                content = digest(tree.read(place))[:16]
            except (OSError, Unknown):
                content = "unknown"
            seen = {f"read:{place}": str(self._seen.get(place) is not None)} if name in ("Edit", "Write") else {}
            return {place: "unknown" if tree.doubts else content, "cwd": self._cwd, **seen}
        content = tree.fingerprint(place) if kind == "directory" else "unknown" if tree.doubts else "absent"
        return {place: content, "cwd": self._cwd}

    def describe(self) -> JsonDict:
        """Return the state for people and prompts: JSON data, of bounded size."""
        self.reject()
        tree = Tree(self._shell.kernel, self.state.cwd)
        paths = [posixpath.relpath(path, self.state.cwd) for path in tree.below(self.state.cwd)]
        changed = self._shell.propose("git status --short --branch", self.state.cwd)
        self._shell.kernel.reject()
        unknown = sorted(path for path in tree.table.tainted if within(self.state.cwd, path))
        return {
            "root": self.state.cwd,
            "cwd": self._cwd,
            "files": paths[:_MOST_FILES],
            "more_files": max(0, len(paths) - _MOST_FILES),
            "git_status": changed.observation.text.splitlines()[:_MOST_FILES],
            "read": sorted(self._seen)[:_MOST_FILES],
            "unknown": unknown[:_MOST_FILES],
            "test_runs": len(self._outcomes),
        }

    def close(self) -> None:
        """Free what the kernel holds. Forks live on."""
        self._trial = None
        self._shell.kernel.close()


def _writer(writes: Mapping[str, bytes]) -> Callable[[KernelFiles], None]:
    def change(files: KernelFiles) -> None:
        for path, data in writes.items():
            missing, place = [], posixpath.dirname(path)
            while not files.exists(place):
                missing.append(place)
                place = posixpath.dirname(place)
            for folder in reversed(missing):
                files.mkdir(folder)
            files.write(path, data)

    return change


def _telling(proposal: Proposal) -> bool:
    """Whether a guess that turned out right says enough to be believed in what it did, too."""
    return len(proposal.observation.text) > 30 and not proposal.details.get("limited")


def _agree(told: Observation, seen: Observation) -> bool:
    """Whether two answers are the same, process numbers aside."""
    if compare(told, seen).exact:
        return told.is_error == seen.is_error or seen.is_error is None
    ours, theirs = _GROUP.sub("0", told.text), _GROUP.sub("0", seen.text)
    return ours == theirs
