"""Running what was entered: command by command where time passes or input is read, otherwise as a whole."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from worldline.domains.terminal.commands import AndOr, Case, If, List, Loop, Node, Other, Pipe, Simple
from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.kernels.screen.builtins import BUILTINS, history_listed, jobs_listed
from worldline.kernels.screen.calling import body_of, call, localised
from worldline.kernels.screen.confirming import Confirmation, Removal, asks, protected
from worldline.kernels.screen.foreground import Foreground, told_first
from worldline.kernels.screen.nesting import begin, replace, starts_shell
from worldline.kernels.screen.programs import PAGERS, PROGRAMS, find_program
from worldline.kernels.screen.programs.base import Operator, Program, Run
from worldline.kernels.screen.programs.replay import timed
from worldline.kernels.screen.tasks import Frame, Task
from worldline.kernels.screen.writing import written
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.shell.core import MARKING
from worldline.kernels.shell.script import SHELL_BUILTINS, Script, read_script

__all__ = ["Runner"]

_BLOCKING_WORDS = (
    "vim vi nano top htop watch man ssh less more most screen tmux ed ex view emacs mc info ipython node irb gdb psql "
    "mysql ftp telnet nc su passwd yes dialog"
)
_BLOCKING = frozenset(_BLOCKING_WORDS.split())
"""Programs that may keep the terminal when it is not known what they do."""
_MOST_STEPS = 20_000
_UNREPLACED = re.compile(r"^bash: exec: [^\n]+: (?:not found|cannot execute[^\n]*)\n\Z", re.MULTILINE)
"""What an `exec` says that replaced nothing."""
_QUOTED = re.compile(r"('[^']*'|\"(?:\\.|[^\"\\])*\"|\\.)", re.DOTALL)
_COMMAND_PLACE = r"(?:^|[;&|(){}]|\b(?:do|then|else|elif|if|while|until|time)\s|!\s)\s*"
_MENU = re.compile(rf"{_COMMAND_PLACE}select\s+\w+\s", re.MULTILINE)
_DEFINED = re.compile(r"\s*(?:function\s+[\w-]+|[\w-]+\s*\(\))[^;&|]*\{")
_JOBS = re.compile(rf"{_COMMAND_PLACE}jobs\b", re.MULTILINE)
_ANYWHERE = frozenset(("python3", "python3.11", "bash", "sh", "dash"))
"""Programs of which only the file that they are given tells whether they read the terminal."""


_FATAL = re.compile(r": line \d+: (\w+): (?:(unbound variable)|[^\n]*)\n\Z")
"""The last thing that is said by a script that ends of it."""
_SERVING = re.compile(r"\bhttp\.server\b|\btail\s+(?:-\w+\s+)*-[fF]|\bwatch\s|\b(?:nc|ncat)\s+-l|\bping\s|\bsleep inf")
_ENDLESS = re.compile(r"\bwhile\s+(?:True|1|true|:)\s*[:;\n]|serve_forever|signal\.pause|\.run\(host|app\.run\(")
"""What programs do that do not end by themselves."""
_SINGLE = frozenset(("python3", "python script", "bc", "sqlite3", "ed", "less", "vim", "nano", "more", "cat"))
"""Programs that start no others, unless they are told to."""


_READERS = frozenset(("filter", "bc", "ed", "sqlite3", "python3"))
"""Programs that read the terminal whatever they are given."""


class Runner(Foreground):
    """Runs what was entered at a terminal: as a whole, or command by command."""

    def start(self, text: str) -> None:
        """Begin with what was entered at the prompt."""
        state = self.state
        state.commands += 1
        text = self._unaliased(text)
        try:
            tree: List | None = parse(text)
        except (Fault, Incomplete):
            tree = None
        if tree is not None and not tree.items:
            state.task = None
            self.finish()
            return
        self._parted = re.search(r"\bchmod\s", text) is not None
        stepped = tree is not None and (self._parted or self.steps_through(tree))
        stepped = stepped or (tree is not None and any(job.over for job in state.jobs.jobs))
        node: Node = tree if tree is not None and stepped else Other(text)
        state.task = Task(text, [Frame("list" if stepped else "node", node)], born=state.entries)
        self.go()

    def _unaliased(self, text: str) -> str:
        """Put in what aliases stand for, as an interactive shell does with first words."""
        aliases = self.shell.aliases() if "alias" in " ".join(self.state.history.lines) else {}
        asked = re.fullmatch(r"\s*type((?:\s+[\w.-]+)+)\s*", text)
        if asked is not None and aliases.keys() & set(asked[1].split()):
            return "; ".join(
                f"printf %s {shlex.quote(f'{name} is aliased to `{aliases[name]}{chr(39)}{chr(10)}')}"
                if name in aliases
                else f"type {name}"
                for name in asked[1].split()
            )
        done: set[str] = set()
        while aliases.keys() - done:
            names = "|".join(re.escape(name) for name in sorted(aliases.keys() - done, key=len, reverse=True))
            pattern = re.compile(rf"({_COMMAND_PLACE})({names})(?=[\s;&|)<>]|\Z)", re.MULTILINE)
            used: set[str] = set()

            def fill(match: re.Match[str], used: set[str] = used) -> str:
                used.add(match[2])
                return match[1] + aliases[match[2]]

            parts = _QUOTED.split(text)
            parts[::2] = [pattern.sub(fill, part) for part in parts[::2]]
            if not used:
                break
            text, done = "".join(parts), done | used
        return text

    def steps_through(self, node: Node | AndOr) -> bool:
        """Whether it has to be gone through command by command."""
        if isinstance(node, AndOr) and node.background:
            return True
        if isinstance(node, List) and any(self.steps_through(item) for item in node.items):
            return True
        if isinstance(node, AndOr):
            return (self._parted and len(node.parts) > 1) or any(self.steps_through(part) for _, part in node.parts)
        if isinstance(node, Pipe):
            return self._reads_terminal(node)
        if isinstance(node, Other) and node.kind in ("(", "{") and node.text.endswith((")", "}")):
            try:
                return self.steps_through(parse(node.text[1:-1].strip()))
            except (Fault, Incomplete):
                return False
        if isinstance(node, Simple):
            name = node.name
            if (
                name in BUILTINS
                or _replacing(node)
                or name.startswith("%")
                or (name == "kill" and re.search(r"%|\$!|\s\d+$", node.text) is not None)
            ):
                return True
            return self._calls(name) or self._reads_terminal(node)
        if isinstance(node, Case):
            return any(self.steps_through(body) for _, body, _ in node.clauses)
        if isinstance(node, Loop):
            return (
                node.kind == "select"
                or (node.test is not None and self.steps_through(node.test))
                or self.steps_through(node.body)
            )
        if isinstance(node, If):
            parts = [part for clause in node.clauses for part in clause]
            parts += [node.otherwise] if node.otherwise is not None else []
            return any(self.steps_through(part) for part in parts)
        return False

    def _calls(self, name: str) -> bool:
        """Whether a name is that of a function that has to be gone through."""
        if name not in self.shell.settled.functions or name in self._examined:
            return False
        body = body_of(self, name)
        self._examined.add(name)
        try:
            return body is not None and self.steps_through(body)
        finally:
            self._examined.discard(name)

    def _reads_terminal(self, node: Simple | Pipe) -> bool:
        """Whether a program may read the terminal, going by the words as they were typed."""
        parts = node.parts if isinstance(node, Pipe) else (node,)
        first = parts[0]
        if isinstance(node, Pipe) and _pager(node):
            return True
        if not isinstance(first, Simple) or (isinstance(node, Pipe) and not node.text.startswith(first.text)):
            return False
        name = first.words[0] if first.words else ""
        if name in ("history", "jobs", "fc") or asks(first.words) or protected(self, first.words, typed=True):
            return True
        if name in ("bash", "sh", "dash"):
            return True
        if "/" in name or (name in _ANYWHERE and len(first.words) > 1):
            return True
        if name.rpartition("/")[2] not in PROGRAMS:
            return False
        words: list[str] = []
        for number, part in enumerate(parts):
            if not isinstance(part, Simple):
                return True
            words += [Operator("|")] if number else []
            words += [Operator(token) if operator else token for token, operator in part.tokens]
        return find_program(words, self.host) is not None

    def would_read(self, node: Simple) -> bool:
        """Whether a command reads the terminal at once."""
        if any(operator and token.startswith("<") for token, operator in node.tokens):
            return False
        if node.name == "read":
            return "-t" not in node.words
        words = self.expanded(node.tokens) if node.words[:1] == (node.name,) else None
        found = find_program(words, self.host) if words else None
        return found is not None and found.name in _READERS

    def takes_terminal(self, words: list[str]) -> bool:
        """Whether a command reads the terminal, or sleeps, as a script does."""
        if find_program(words, self.host) is not None:
            return True
        name = words[1] if words[0] in ("bash", "sh") and len(words) > 1 else words[0]
        try:
            return "sleep" in self.shell.read_file(name).decode("utf-8", "replace")
        except (OSError, Unknown):
            return False

    def whole(self, task: Task, text: str) -> None:
        """Run a text in the shell kernel; time that passes in it delays all it writes."""
        script = task.script
        text = localised(self, task, text)
        redirect = next(
            (frame.values[1] for frame in reversed(task.frames) if frame.kind == "script" and frame.values[1]), ""
        )
        if self.state.jobs.jobs and _JOBS.search(_QUOTED.sub("", text)):
            self.doubt("`jobs` called in this way")
        if not task.background and script is None and self._shows_menu(text):
            self.lose("a menu that `select` shows")
            return
        before = self.shell.mark()
        command = self.with_last_word(self.with_pid(f"{{ {text}\n}} {redirect}" if redirect else text))
        run = self.execute(command)
        self.count(task, text, run.programs)
        task.status = run.status
        doubt, said = run.why, run.text
        if self.exited and script is None and not task.background and _UNREPLACED.search(said):
            self.exited = False  # a shell that is typed at stays where `exec` finds nothing
        if self.exited and (script is not None or task.background):
            said = said.removesuffix("exit\n")
        elif self.exited:
            said = told_first(said)
        if "parse error at line" in said:
            doubt = doubt or "the wording of a syntax error"
        if task.script is not None and "bash: " in said:
            said, unclear = self._placed(task, text, said)
            doubt = doubt or unclear
        if (doubt or not run.status) and not task.background and self._may_block(text, doubt):
            doubt = doubt or "what a full-screen program shows"
            self.write(task, said, doubt)
            self.lose(f"{doubt}; it may have the terminal")
            return
        if task.background and not run.known and self._goes_on(text):
            self.doubt("a program that goes on in the background")
            task.forever = True
            return
        if run.seconds >= 0.01:
            self.features.add("timing")
            task.wake, task.output, task.output_doubt = self.state.now + run.seconds, said, doubt
            task.timing = "when within a command its output comes" if said else ""
            task.simple = text
            parts = self._parts(command, run, before) if said and said == run.text else None
            if parts is not None:
                task.wake, task.timing = None, ""
                task.output_doubt = doubt
                self.deliver(task, parts)
            return
        self.write(task, said, doubt)
        self._tell(task, text)
        fatal = _FATAL.search(said) if _file_of(task) is not None and not self.exited else None
        if fatal is not None and (fatal[2] or re.search(rf"\$\{{{fatal[1]}:?\?", text)):
            self.leave(task, 1)
            return
        if self.exited:
            self.exited = False
            if task.script is not None or task.background:
                self.leave(task, run.status)
            else:
                task.frames.clear()
                self.shell_ended(run.status)

    def _goes_on(self, text: str) -> bool:
        """Whether a command that is not known looks as if it did not end by itself."""
        return _SERVING.search(text) is not None or any(_ENDLESS.search(source) for source in self._sources(text))

    def catches(self, text: str) -> bool:
        """Whether a command runs a program that may catch signals."""
        return any(re.search(r"\bsignal\.|\btrap\s|%SIG", source) for source in self._sources(text))

    def _sources(self, text: str) -> Iterator[str]:
        """Texts of the files that a command names."""
        for word in re.findall(r"[\w./~-]+\.\w+", text):
            try:
                yield self.shell.read_file(word).decode("utf-8", "replace")
            except (OSError, Unknown):
                continue

    def _placed(self, task: Task, text: str, said: str) -> tuple[str, str]:
        """Let messages of a script name it and the line; tell why the line is not known, if it is not."""
        frame = _file_of(task)
        if frame is None:
            return said, ""
        path, source = frame.values[2], frame.values[3]
        first = text.split("\n")[0]
        found = [match.start() for match in re.finditer(re.escape(first), source)]
        line = source.count("\n", 0, found[0]) + 1 if found else 1
        sure = len(found) == 1 and "\n" not in text
        return re.sub(r"^bash: ", f"{path}: line {line}: ", said, flags=re.M), "" if sure else "the line of a message"

    def with_last_word(self, text: str) -> str:
        """Let `$_` be the last word of the command that was entered before."""
        lines = self.state.history.lines
        if re.search(r"\$_\b", text) is None or len(lines) < 2:
            return text
        try:
            tree = parse(lines[-2])
        except (Fault, Incomplete):
            return text
        last = tree.items[-1].parts[-1][1] if tree.items else None
        found = self.words(last.words[-1]) if isinstance(last, Simple) and last.words else None
        return f": {shlex.quote(found[-1])}; {text}" if found and "$_" not in found[-1] else text

    def _shows_menu(self, text: str) -> bool:
        """Whether a `select` in a text asks at the terminal."""
        bare = _QUOTED.sub("", text)
        found = _MENU.search(bare)
        return found is not None and not _DEFINED.match(bare) and "|" not in bare[: found.start() + 1]

    def _parts(self, command: str, run: Run, before: object) -> list[tuple[float, str]] | None:
        """When the parts of an output come: it runs again as a trial in which each `sleep` leaves a mark.

        None where the marks do not tell: they went elsewhere, or what is written waits in a pipe.
        """
        if re.search(r"(?<!\|)\|(?!\|)|\$\(|`", _QUOTED.sub("", command)):
            return None
        after = self.shell.mark()
        self.shell.go_back(before)  # type: ignore[arg-type]
        trial = self.execute(f"export {MARKING}=1; {command}", keep=False)
        self.shell.go_back(after)
        first, later = timed(trial.text)
        parts = [(0.0, first), *later]
        if "".join(text for _, text in parts) != run.text:
            return None
        if abs(sum(seconds for seconds, _ in parts) - run.seconds) > 0.01:
            return None
        return parts

    def _tell(self, task: Task, text: str) -> None:
        """Tell of jobs that ended, as the shell does after each program that it has waited for."""
        if (
            task.background
            or task.script is not None
            or not any(job.over or job.coming for job in self.state.jobs.jobs)
        ):
            return
        found = read_script(text)
        if isinstance(found, Script) and found.programs - SHELL_BUILTINS - found.functions:
            self.hear()

    def _may_block(self, text: str, doubt: str) -> bool:
        script = read_script(text)
        if isinstance(script, Script) and "git" in script.programs and "a pager" in doubt:
            return True
        return isinstance(script, Script) and any(script.shows(name) for name in script.programs & _BLOCKING)

    def ask(self, task: Task, program: Program, text: str) -> None:
        """Let a part of the shell itself read a line."""
        self.features.add(program.name)
        task.program, task.simple = program, written(text)
        self.show(task, program.start(self.host))

    def simple(self, task: Task, node: Simple) -> None:
        name = node.name
        if name == "exec" and _replacing(node) and task.script is None and not task.background:
            replace(self, node.words[1:])
            task.frames.clear()
            self.features.add("shell")
            return
        builtin = BUILTINS["fg"] if re.match(r"%[\w+%?-]*$", name) else BUILTINS.get(name)
        if builtin is None and name == "kill":
            builtin = BUILTINS["kill "]
        if name == "read" and any(operator and token.startswith("<") for token, operator in node.tokens):
            builtin = None
        if builtin is not None:
            if any(operator for _, operator in node.tokens) and name not in ("sleep", "read", "nohup", "yes", "su"):
                self.whole(task, node.text)
                self.doubt("the terminal's own commands with redirections")
                return
            typed = node.words[node.words.index(name) :] if name == "sleep" else node.words
            words = self.words(" ".join(typed))
            if words is None or typed[0] != name:
                self.unclear(task, node)
                return
            builtin(self, task, node, words if name.startswith("%") else words[1:])
            return
        if name == "read":
            self.whole(task, node.text)
            return
        if node.words[:1] != (name,):
            self.unclear(task, node)
            return
        words = self.expanded(node.tokens)
        if words and name in self.shell.settled.functions and not any(operator for _, operator in node.tokens):
            body = body_of(self, name)
            if body is not None and self.steps_through(body):
                call(self, task, body, words[1:])
                return
        self.program(task, node.text, words)

    def unclear(self, task: Task, node: Simple) -> None:
        """A command of the terminal that is called in a way that is not gone into."""
        self.whole(task, node.text)
        if not self.state.lost:
            self.doubt(f"{node.name} called in this way")

    def pipe(self, task: Task, node: Pipe) -> None:
        first = node.parts[0]
        listed = (
            jobs_listed(self, list(first.words[1:])) if isinstance(first, Simple) and first.name == "jobs" else None
        )
        if listed is not None and not _pager(node):
            self.features.add("job")
            self.whole(task, f"printf %s {shlex.quote(listed)}{node.text[len(first.text) :]}")
            return
        if isinstance(first, Simple) and first.name in ("history", "fc"):
            self.features.add("history")
            listed = history_listed(self.state.history, first.words)
            if listed is None:
                self.unclear(task, first)
                return
            rest = node.text[len(first.text) :]
            if _pager(node):
                self._paged(task, node, f"printf %s {shlex.quote(listed)}{rest}")
            else:
                self.whole(task, f"printf %s {shlex.quote(listed)}{rest}")
            return
        if _pager(node):
            self._paged(task, node, node.text)
            return
        words: list[str] | None = []
        for number, part in enumerate(node.parts):
            more = self.expanded(part.tokens) if isinstance(part, Simple) else None
            if more is None or words is None:
                words = None
                break
            words += [Operator("|"), *more] if number else more
        self.program(task, node.text, words)

    def _paged(self, task: Task, node: Pipe, text: str) -> None:
        """Run a pipe that ends in a pager: what comes before may be any command."""
        last = node.parts[-1]
        assert isinstance(last, Simple)
        own = self.expanded(last.tokens)
        source = text[: len(text) - len(last.text)].rstrip()
        source = f"{source[:-2]} 2>&1" if source.endswith("|&") else source.removesuffix("|")
        self.program(task, node.text, own and [Operator(source.rstrip()), Operator("|"), *own])

    def _script(self, task: Task, text: str, words: list[str]) -> bool:
        """Go through a shell script step by step if time passes in it; tell whether it was begun."""
        plain, redirect = _redirected(words)
        if plain is None:
            return False
        rest = plain[1:] if plain[0].rpartition("/")[2] in ("bash", "sh") else plain
        if not rest or rest[0].startswith("-"):
            return False
        try:
            source = self.shell.read_file(rest[0]).decode()
        except (OSError, Unknown, UnicodeDecodeError):
            return False
        if "sleep" not in source:
            return False
        if rest is plain:
            first = re.match(r"#!\s*(?:\S*/env\s+)?(?:\S*/)?(?:bash|sh)\s*\n", source)
            if first is None or self.execute(f"test -x {shlex.quote(rest[0])}", keep=False).status:
                return False
        try:
            tree = parse(re.sub(r"\$0\b|\$\{0\}", rest[0], source).rstrip("\n"))
        except (Fault, Incomplete):
            return False
        if not self.steps_through(tree):
            return False
        self.features.add("script")
        if redirect:
            self.execute(f": {redirect.replace('>>', '>', 1) if '>>' not in text else redirect}")
        self.fork(task)
        self.enter(task, tree, rest[1:], written(text), redirect, (rest[0], source))
        return True

    def program(self, task: Task, text: str, words: list[str] | None) -> None:
        """Start a program that may take the terminal, or let the shell kernel run it."""
        if not words:
            self.whole(task, text)
            self.doubt("the words of a command")
            return
        found: Program | None = None if task.background or not words[0] else find_program(words, self.host)
        if found is None and not task.background and asks(words):
            found = Confirmation(text)
        if found is None and not task.background and words[0] == "rm" and self.shell.state.user_id:
            guarded = protected(self, words)
            found = Removal(guarded, words) if guarded else None
        if found is None and words[0] in ("bash", "sh", "dash") and not task.background and _bare_shell(words):
            if not starts_shell(words) or task.script is not None:
                self.lose("a shell inside the shell")
                return
            begin(self, words)
            task.frames.clear()
            self.features.add("shell")
            return
        if found is None:
            if not self._script(task, text, words):
                self.whole(task, text)
            return
        self.features.add(getattr(found, "name", words[0]))
        self.fork(task, 1 if found.name in _SINGLE else None)
        task.program, task.simple = found, written(text)
        self.state.editor = None
        self.show(task, found.start(self.host))


def _replacing(node: Simple) -> bool:
    """Whether another bash takes the place of the shell."""
    plain = len(node.words) == len(node.tokens) > 1 and node.words[0] == "exec"
    return plain and _bare_shell(node.words[1:]) and starts_shell(node.words[1:])


def _file_of(task: Task) -> Frame | None:
    """The innermost script that a task is in which is a file."""
    return next((frame for frame in reversed(task.frames) if frame.kind == "script" and len(frame.values) > 2), None)


def _pager(node: Pipe) -> bool:
    """Whether a pager stands at the end of a pipe."""
    last = node.parts[-1]
    return (
        isinstance(last, Simple)
        and bool(last.words)
        and last.words[0].rpartition("/")[2] in PAGERS
        and node.text.endswith(last.text)
    )


def _bare_shell(words: Sequence[str]) -> bool:
    """Whether a shell is started to be typed at."""
    return all(
        not isinstance(word, Operator) and re.match(r"--(?:norc|noprofile|login)$|-[il]$", word) for word in words[1:]
    )


def _redirected(words: Sequence[str]) -> tuple[list[str] | None, str]:
    """Tell a script's output to one file from its words; None for other redirections."""
    plain: list[str] = []
    target = ""
    rest = list(words)
    both = False
    while rest:
        word = rest.pop(0)
        if not isinstance(word, Operator):
            plain.append(word)
        elif word in (">", ">>", "&>", "&>>", "1>") and rest and not target:
            target, both = rest.pop(0), both or word.startswith("&")
        elif word == "2>&1" and target:
            both = True
        else:
            return None, ""
    return plain, f">> {shlex.quote(target)}{' 2>&1' if both else ''}" if target else ""
