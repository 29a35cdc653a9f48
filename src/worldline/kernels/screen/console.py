"""The keyboard's side of a terminal: who gets a key, what is shown of it, and the prompts."""

from __future__ import annotations

import re

from worldline.domains.terminal.ps1 import Surrounds, decode, prompt_width
from worldline.domains.terminal.state import ScreenSpec, TerminalState
from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.kernels.screen.completing import complete
from worldline.kernels.screen.driver import LineDriver, echoed
from worldline.kernels.screen.foreground import told_first
from worldline.kernels.screen.forking import forks
from worldline.kernels.screen.history import EventNotFound, joined
from worldline.kernels.screen.lines import LineEditor, parted_keys
from worldline.kernels.screen.running import Runner
from worldline.kernels.screen.state import State
from worldline.kernels.screen.tasks import Task
from worldline.kernels.shell import ShellKernel

__all__ = ["Console"]

_WHOLE_LINES = frozenset(("read", "bash script", "python script"))
"""Programs that wait for a newline, whatever they have got already."""
_MISPLACED = re.compile(
    r"(?:^|[;&|]|\b(?:then|do|else)\s)\s*(?:if|while|until|then|do|elif|else)\s+(?:then|do|done|fi|esac|elif|else)\b",
    re.MULTILINE,
)
"""Words of the shell with nothing between them where a command belongs."""
_WRITTEN = re.compile(r">\s*([^\s;&|<>()]+)")
_INTERRUPT, _SUSPEND, _QUIT, _END = "\x03", "\x1a", "\x1c", "\x04"


class Console:
    """A keyboard and a screen for a shell.

    Args:
        shell: The shell and its files.
        state: The terminal; changed in place.
        spec: Size and prompt.
    """

    def __init__(self, shell: ShellKernel, state: State, spec: ScreenSpec) -> None:
        self.shell = shell
        self.state = state
        self.spec = spec
        self.world: TerminalState = shell.state
        self.runner = Runner(shell, state, self.prompt)
        self.racing = False
        """A command was entered when a job was about to do something."""
        self._fresh = False
        """What runs was started by keys of this very write."""

    # --- prompts

    def around(self) -> Surrounds:
        """What a prompt may name."""
        state, world = self.state, self.world
        history = state.history
        return Surrounds(
            user=world.user,
            host=world.hostname,
            home=self.shell.variable("HOME") or world.home,
            cwd=self.shell.settled.cwd,
            now=self.shell.settled.clock,
            root=world.user_id == 0,
            number=history.first + len(history.lines),
            command=state.commands + 1,
            jobs=len(state.jobs.jobs),
        )

    def prompt(self) -> None:
        """Show the shell's prompt and begin a line."""
        state = self.state
        variable = "PS2" if state.pending else "PS1"
        if not state.pending:
            command = self.shell.variable("PROMPT_COMMAND")
            if command:
                self._prompt_command(command)
        pattern = self.shell.variable(variable)
        shown = decode(pattern or "", self.around())
        if re.search(r"(?<!\\)[$`](?=[\w({?!`])|\$\?", shown):
            shown = self._expanded(shown)
        offset = state.display.column if "\n" not in shown else 0
        if offset >= state.display.columns:
            offset = 0
        state.display.write(shown)
        state.editor = LineEditor(prompt_width(shown) % state.display.columns, state.display.columns, offset)
        state.editor.shown = shown.rpartition("\n")[2]

    def _prompt_command(self, command: str) -> None:
        status = self.shell.settled.status
        run = self.runner.execute(command)
        self.runner.count(Task(""), command, run.programs)
        self.state.display.write(run.text, run.why)
        self.shell.adjust(status=status)

    def _expanded(self, shown: str) -> str:
        text = shown.replace("\\", "\\\\").replace('"', '\\"')
        run = self.runner.execute(f'printf %s "{text}"', keep=False)
        self.runner.fork(Task(""), forks(f'printf %s "{text}"'))
        if not run.known:
            self.runner.doubt("the prompt")
        return run.text

    # --- time

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        state = self.state
        end = round(state.now + seconds, 6)
        self.runner.until(state.now)
        self._settle()
        while state.now < end or self._due(end):
            before = state.now
            self.runner.until(end)
            self._settle()
            if state.now == before and not self._due(end):
                break
        self.runner.tick()

    def _due(self, end: float) -> bool:
        return any(task.next is not None and task.next <= end for task in self.runner.tasks()) and not (
            self.state.lost or self.state.ended
        )

    def soon(self) -> bool:
        """Whether something happens so soon that it may have happened already.

        What sleeps goes on sleeping while a screen is read, so each entry since its start makes its end less certain.
        In the background that is of no account as long as nothing is typed.
        """
        tasks = [task for task in self.runner.tasks() if not task.background or self.runner.features]
        return self.racing or any(self._near(task) for task in tasks) or self._ahead()

    def _ahead(self) -> bool:
        """Whether a command names a file that a job goes on writing: the shell kernel has written all of it at once."""
        runs = " ".join(ran.command for ran in self.runner.ran)
        for task in self.runner.tasks():
            if not task.background or task.wake is None or task.wake <= self.state.now or task.script is not None:
                continue
            names = [name.strip("'\"").rpartition("/")[2] for name in _WRITTEN.findall(task.simple)]
            if any(name and re.search(rf"\b{re.escape(name)}\b", runs.replace(task.simple, "")) for name in names):
                return True
        return False

    def _near(self, task: Task) -> bool:
        state = self.state
        margin = 0.2 + 0.1 * max(0, state.entries - task.born - 1)
        return task.next is not None and state.now < task.next <= state.now + margin

    # --- keys

    def type(self, text: str) -> None:
        """Send keys in one go."""
        state = self.state
        self._fresh = False
        state.entries += 1
        if "\r" in text and any(task.background and self._near(task) for task in self.runner.tasks()):
            self.racing = True
        if state.lost:
            self.runner.doubts.append(state.lost)
            self._blind(text)
            return
        keys = parted_keys(text)
        if _INTERRUPT in keys[1:]:
            # The driver throws away what it holds when it sees C-c, however much a program has read of it.
            self.runner.doubt("how much was read before C-c came")
        while keys and not state.ended and not state.lost:
            if state.editor is not None:
                self._edit(keys.pop(0))
            elif self._fresh and not (len(keys) == 1 and keys[0] in (_INTERRUPT, _SUSPEND)):
                state.queue += "".join(keys)
                keys = []
                self._settle()
            else:
                keys = self._drive(keys)
        self._settle()

    def _blind(self, text: str) -> None:
        """Guess what keys show while it is not known what has the terminal: lines are echoed, C-c brings the prompt."""
        state = self.state
        if state.display.alternate or re.search(r"full-screen|pager|editor|shell inside", state.lost):
            return
        if text == _INTERRUPT:
            state.display.feed("^C\r\n")
            self.prompt()
            state.editor = None
        elif re.fullmatch(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+", text):
            state.display.feed(echoed(text.replace("\r", "\n")))

    def _settle(self) -> None:
        """Let whoever reads take what was typed before."""
        state = self.state
        while state.queue and not state.ended and not state.lost:
            task = state.task
            if state.editor is not None:
                key = parted_keys(state.queue)[0]
                state.queue = state.queue[len(key) :]
                self._edit(key)
            elif task is not None and task.program is not None and task.wake is None:
                queue, state.queue = state.queue, ""
                if task.program.raw:
                    self._raw(parted_keys(queue))
                elif task.program.readline:
                    state.queue = queue
                    self._program_line()
                elif task.program.name in _WHOLE_LINES and "\n" not in queue:
                    state.driver.pushed += queue
                else:
                    # What was typed while a line was being edited comes in one piece, with its Enters as they are.
                    self._lines(queue.replace("\r", "\n"))
                    self.runner.doubt("what was typed ahead of a program that reads lines")
            else:
                return
        if state.editor is None and state.task is not None and not state.lost and not state.ended:
            self._program_line()

    def _program_line(self) -> None:
        """Begin a line for a program that edits lines as readline does."""
        state = self.state
        task = state.task
        if task is None or task.program is None or task.wake is not None or state.editor is not None:
            return
        if not task.program.raw and task.program.readline:
            column = state.display.column % state.display.columns
            state.editor = LineEditor(column, state.display.columns)
            state.editor.shown = state.display.line(state.display.row).ljust(column)[:column]
            state.editor.tabs = True

    # --- keys for a line editor

    def _edit(self, key: str) -> None:
        state, editor = self.state, self.state.editor
        assert editor is not None
        task = state.task
        if key == _INTERRUPT and task is None and self.runner.trap("INT") == "":
            return
        if key == _INTERRUPT:
            silent = task is not None and task.program is not None and task.program.silent
            state.display.feed("" if silent else "^C")
            state.queue = ""
            if task is None:
                self._abandon()
            else:
                state.editor = None
                self._interrupted_program()
            return
        if key in (_SUSPEND, _QUIT):
            if task is not None:
                state.editor = None
                self._signal(key)
            return
        history = state.history if task is None else state.program_history
        state.display.feed(self._pressed(editor, key, history.lines))
        if editor.unsure:
            self.runner.doubt(editor.unsure)
            if key == "\t" or editor.unsure.startswith("the key"):
                self.runner.lose(editor.unsure)
            editor.unsure = ""
        if editor.accepted:
            state.editor = None
            if task is None:
                self._entered(editor.text)
            else:
                self._feed_line(editor.text)
        elif editor.ended:
            state.editor = None
            if task is None:
                self._end()
            else:
                assert task.program is not None
                self.runner.show(task, task.program.end_of_input(self.runner.host))
                self._after_program()

    def _pressed(self, editor: LineEditor, key: str, lines: list[str]) -> str:
        """What a line editor writes for a key; Tab and C-l need more than the line."""
        if key == "\t" and self.state.task is None and not editor.searching:
            self.runner.features.add("completion")
            self.runner.doubted = ""
            shown = complete(editor, self.runner)
            if shown is not None:
                if self.runner.doubted and shown != "\x07":
                    self.runner.doubt(self.runner.doubted)
                return shown
        if key == "\x0c" and not editor.searching:
            return "\x1b[H\x1b[2J" + editor.again()
        return editor.key(key, lines)

    def _feed_line(self, line: str) -> None:
        task = self.state.task
        assert task is not None and task.program is not None
        self.state.program_history.add(line)
        self.runner.features.add(task.program.name)
        self.runner.show(task, task.program.feed(f"{line}\n", self.runner.host))
        self._after_program()

    def _after_program(self) -> None:
        """See whether a program has ended."""
        task = self.state.task
        if task is None or self.state.lost or self.state.ended:
            return
        if task.program is None and task.wake is None:
            self.runner.go()
        self._program_line()

    def _abandon(self) -> None:
        """C-c at the shell's prompt."""
        state = self.state
        state.jobs.settle()
        trap = self.runner.trap("INT")
        if trap:
            state.display.feed("\r")
            run = self.runner.execute(trap)
            state.display.write(run.text.removesuffix("exit\n") if self.runner.exited else run.text, run.why)
            if self.runner.exited:
                self.runner.exited = False
                self.runner.shell_ended(run.status)
                if state.ended:
                    return
        state.display.feed("\r\n")
        state.pending.clear()
        state.pending_kinds.clear()
        state.entry = ""
        self.shell.adjust(status=130)
        self.runner.features.add("interrupt")
        state.editor = None
        self.runner.finish()

    def _end(self) -> None:
        """C-d at the shell's prompt."""
        state = self.state
        state.display.feed("\r\n")
        if state.pending:
            kind = state.pending_kinds[-1]
            if kind != "command":
                self.runner.lose("the end of the input inside a quote or here-document")
                return
            state.display.write("bash: syntax error: unexpected end of file\n")
        elif any(job.state == "Stopped" for job in state.jobs.jobs) and not state.warned:
            state.warned = True
            state.display.write("exit\nThere are stopped jobs.\n")
            self.runner.finish()
            return
        run = self.runner.execute("exit")
        state.display.write(told_first(run.text), run.why)
        self.runner.exited = False
        self.runner.shell_ended(run.status)
        if not state.ended:
            self.runner.finish()

    # --- lines for the shell

    def _entered(self, line: str) -> None:
        """A line was entered at the shell's prompt."""
        state = self.state
        self._fresh = True
        state.jobs.settle()
        self.runner.features.add("line")
        inside = state.pending_kinds[-1] if state.pending else ""
        if inside != "heredoc":
            quote = inside if inside in ("'", '"') else ""
            try:
                expanded, only_shown = state.history.expand(line, quote)
            except EventNotFound as error:
                state.display.write(f"bash: {error}\n")
                self._forget()
                return
            if expanded != line:
                self.runner.features.add("history")
                state.display.write(f"{expanded}\n")
                line = expanded
                if only_shown:
                    state.history.add(line)
                    self._forget()
                    return
        self._take(line, inside)

    def _forget(self) -> None:
        state = self.state
        state.pending.clear()
        state.pending_kinds.clear()
        state.entry = ""
        state.editor = None
        self.runner.finish()

    def _take(self, line: str, inside: str) -> None:
        """Add a line to the command, and run it when it is whole."""
        state = self.state
        state.pending.append(line)
        if "verbose" in self.shell.settled.options:
            state.display.write(f"{line}\n")
        text = "\n".join(state.pending)
        first = not state.entry
        if first:
            state.entry = line
            state.history.add(line)
        else:
            state.entry = joined(state.entry, inside, line)
            state.history.replace_last(state.entry)
        if not line.strip() and len(state.pending) == 1:
            self._forget()
            return
        try:
            parse(text)
        except Incomplete as error:
            if _MISPLACED.search(re.sub(r"'[^']*'|\"[^\"]*\"", "x", text)) and error.kind == "command":
                self._whole(text, first)
                return
            state.pending_kinds.append(error.kind)
            self.runner.features.add("continuation")
            self.prompt()
            return
        except Fault:
            pass
        self._whole(text, first)

    def _whole(self, text: str, first: bool) -> None:
        """Run a command that is whole, or whose fault cannot be mended by what comes."""
        state = self.state
        if not first and state.pending_kinds[-1:] == ["heredoc"]:
            state.history.replace_last(state.entry + "\n")
        state.pending.clear()
        state.pending_kinds.clear()
        state.entry = ""
        if not re.match(r"\s*(?:exit|logout)\b", text):
            state.warned = False
        self.runner.start(text)
        self._program_line()

    # --- keys for the terminal driver

    def _drive(self, keys: list[str]) -> list[str]:
        """Give keys to what runs; returns those that are left over when it is over."""
        state, task = self.state, self.state.task
        assert task is not None
        if task.program is not None and task.program.raw and task.wake is None:
            return self._raw(keys)
        reads = task.program is not None and task.wake is None
        lines = ""
        while keys:
            key = keys.pop(0)
            if key in (_INTERRUPT, _SUSPEND, _QUIT):
                self._signal(key)
                return keys
            if key == _END and not state.driver.literal:
                if reads and not state.driver.text and not lines:
                    assert task.program is not None
                    self.runner.show(task, task.program.end_of_input(self.runner.host))
                    self._after_program()
                    return keys
                self.runner.doubt("C-d within a line, or when nobody reads")
                lines += state.driver.text
                state.driver.text = ""
                continue
            for letter in key:
                if state.driver.tabbed and letter in "\x7f\x15\x17":
                    self.runner.doubt("erasing a tab")
                shown, line = state.driver.key(letter)
                if state.echo:
                    state.display.feed(shown)
                if line is not None:
                    state.driver.tabbed = False
                    lines += line + "\n"
        if reads:
            self._lines(lines)
        else:
            state.queue += lines
        return []

    def _lines(self, text: str) -> None:
        """Give whole lines to a program; what it leaves is there for whoever reads next."""
        rest = re.findall(r"[^\n]*\n|[^\n]+", text)
        while rest:
            task = self.state.task
            if task is None or task.program is None or task.wake is not None or task.program.readline:
                self.state.queue += "".join(rest)
                return
            line = rest.pop(0)
            self.runner.features.add(task.program.name)
            self.runner.show(task, task.program.feed(line, self.runner.host))
            if task.program is None and task.wake is None:
                self.state.queue += "".join(rest)
                rest = []
                self._after_program()

    def _raw(self, keys: list[str]) -> list[str]:
        while keys:
            task = self.state.task
            if task is None or task.program is None or not task.program.raw or task.wake is not None:
                return keys
            key = keys.pop(0)
            self.runner.features.add(task.program.name)
            if key == _SUSPEND and getattr(task.program, "commanding", False):
                self.runner.suspend()
                self.state.queue += "".join(keys)
                return []
            self.runner.show(task, task.program.feed(key, self.runner.host))
            self._after_program()
        return []

    def _signal(self, key: str) -> None:
        state, task = self.state, self.state.task
        assert task is not None
        if key == _INTERRUPT and task.program is None and self.runner.trap("INT") == "":
            state.driver, state.queue = LineDriver(), ""
            state.display.feed("^C")
            return
        if key == _QUIT:
            self.runner.quit()
        elif key == _SUSPEND:
            if task.program is not None and task.program.name in ("read", "select"):
                state.driver, state.queue = LineDriver(), ""  # the shell itself is not stopped
                state.display.feed("^Z")
                return
            self.runner.suspend()
        elif task.program is not None and (task.ending is None or hasattr(task.program, "interrupt_sleep")):
            state.driver = LineDriver()
            state.queue = ""
            if not task.program.silent or task.wake is not None:
                state.display.feed("^C")
            self._interrupted_program()
        else:
            state.driver = LineDriver()
            if task.program is not None and task.program.name != "bash script":
                self.runner.doubt("where a program was interrupted")
            self.runner.interrupt()

    def _interrupted_program(self) -> None:
        """C-c for a program that reads lines; if it dies of it, the whole line that was entered does."""
        task = self.state.task
        assert task is not None and task.program is not None
        sleeper = getattr(task.program, "interrupt_sleep", None) if task.wake is not None else None
        if task.wake is not None and task.program.name != "bash script" and sleeper is None:
            self.runner.doubt("where a program was interrupted")
        left = len(task.later) + 1
        task.wake, task.later, task.output = None, [], ""
        host = self.runner.host
        shown = sleeper(left, host) if sleeper is not None else task.program.interrupt(host)
        self.runner.features.add("interrupt")
        self.runner.show(task, shown)
        if task.program is None and task.wake is None:
            if shown.status == 130:
                if task.simple.split(" ")[0] not in ("read", "select"):
                    self.runner.hear()
                task.frames.clear()
                self.state.display.feed("\r\n")
            self.runner.go()
        self._program_line()
