"""The kinds of work an explorer does: surveys, fixes, changes and histories."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from worldline.record.swe.calls import Calls
from worldline.record.swe.sources import Change, Sources
from worldline.types import Action

__all__ = ["WORK", "Worker"]

_LINES = {"output_mode": "content"}
_MOST_EDITS = 4
"""Replacements in one file; where more are needed it is written anew."""
_WORDS = ("ledger", "parcel", "cursor", "beacon", "anchor", "ticket", "marker", "window", "bucket", "signal", "lattice")
_VERBS = ("collect", "merge", "split", "rank", "filter", "measure", "trim", "expand", "fold", "sample", "pair", "label")


@dataclass(slots=True)
class Worker:
    """What the kinds of work share."""

    calls: Calls
    sources: Sources
    dice: random.Random
    task: dict[str, Any]
    seen: str = ""
    """What reality answered last."""
    failed: bool = False
    """Whether that was an error."""
    read: set[str] = field(default_factory=set)

    # --- small steps

    def look(self, name: str | None = None) -> Iterator[Action]:
        """Read a file, whole or in part, as assistants do."""
        name = name or self.sources.pick(tests=self.dice.random() < 0.25)
        self.read.add(name)
        count = self.sources.texts.get(name, "").count("\n")
        if count > 120 or self.dice.random() < 0.3:
            first = self.dice.randint(1, max(1, count - 30))
            yield self.calls.read(name, first, self.dice.choice([20, 30, 40, 60]))
        else:
            yield self.calls.read(name)

    def locate(self, word: str) -> Iterator[Action]:
        """Search for a word in one of several ways."""
        calls, dice = self.calls, self.dice
        options = [
            lambda: calls.search(word),
            lambda: calls.search(f"(def|class) {word}", files="*.py", options=_LINES),
            lambda: calls.search(rf"\b{word}\b", options={**_LINES, "-n": True}),
            lambda: calls.search(word.lower(), options={**_LINES, "-i": True, "-C": 2, "head_limit": 40}),
            lambda: calls.search(word, options={"output_mode": "count"}),
            lambda: calls.search(rf"{word}\(", files="*.py", options={**_LINES, "head_limit": 15}),
            lambda: calls.shell(f"grep -rn '{word}' --include=*.py . | head -20"),
            lambda: calls.shell(f"grep -rln {word} ."),
            lambda: calls.shell(f"git grep -n {word}"),
        ]
        yield dice.choice(options)()

    def overview(self) -> Iterator[Action]:
        """See what there is."""
        calls, dice = self.calls, self.dice
        folders = sorted({name.rpartition("/")[0] for name in self.sources.texts if "/" in name})
        folder = dice.choice(folders) if folders else "."
        options = [
            lambda: calls.list(),
            lambda: calls.list(folder),
            lambda: calls.list(folder, ["__init__.py", "*.txt"]),
            lambda: calls.find("**/*.py"),
            lambda: calls.find("*.*"),
            lambda: calls.find("**/test*.py"),
            lambda: calls.find("**/*.{toml,cfg,ini}"),
            lambda: calls.find("*.py", folder),
            lambda: calls.find("**/*README*"),
            lambda: calls.shell("git log --oneline | head -5"),
            lambda: calls.shell("git status"),
            lambda: calls.shell("ls -la"),
            lambda: calls.shell(f"ls -l {folder}"),
            lambda: calls.shell("find . -name '*.py' -not -path './.git/*' | sort | head -30"),
            lambda: calls.shell(f"wc -l {folder}/*.py"),
            lambda: calls.shell("git ls-files | head -25"),
            lambda: calls.shell("pwd && ls"),
            lambda: calls.shell("cat setup.cfg" if "setup.cfg" in self.sources.texts else "head -30 pyproject.toml"),
        ]
        yield dice.choice(options)()

    def peek(self) -> Iterator[Action]:
        """Look at a stretch of a file by a command."""
        name = self.sources.pick()
        word, first = self.sources.symbol(name), self.dice.randint(1, 60)
        command = self.dice.choice(
            [
                f"head -{self.dice.randint(5, 25)} {name}",
                f"tail -n {self.dice.randint(5, 20)} {name}",
                f"sed -n '{first},{first + 15}p' {name}",
                f"grep -n '^class \\|^def ' {name}",
                f"grep -c import {name}; wc -c {name}",
                f"grep -n -A3 'def {word}' {name} | head -12",
                f"git log --oneline -- {name}",
                f"awk 'NR>={first} && NR<={first + 8}' {name}",
                f"git blame -L {first},{first + 3} {name}",
                f"python -c \"import ast; print(len(ast.parse(open('{name}').read()).body))\"",
            ]
        )
        yield self.calls.shell(command)

    def run_tests(self, target: str | None = None) -> Iterator[Action]:
        """Run tests: a file, one test, some by name, all; or print what a file defines."""
        test = target or self.sources.pick(tests=True)
        names = [word for kind, word in self.sources.defined(test) if kind == "def" and word.startswith("test")]
        word = self.dice.choice(names) if names else "test"
        command = self.dice.choice(
            [
                f"python -m pytest -q {test}",
                f"python -m pytest {test} -q 2>&1 | tail -5",
                f"python -m pytest -q {test} -k {word}",
                f"pytest -q {test} -x",
                f"python -m pytest -q {test} -k 'not {word}'",
            ]
        )
        yield self.calls.shell(command)

    def probe(self) -> Iterator[Action]:
        """Ask the machine, or run some of the package's code."""
        calls, dice, sources = self.calls, self.dice, self.sources
        name, test = sources.pick(), sources.pick(tests=True)
        module = name.removesuffix(".py").removeprefix("src/").removesuffix("/__init__").replace("/", ".")
        word = sources.symbol(name)
        command = dice.choice(
            [
                f'python -c "import {module}; print({module}.__name__)"',
                f'python -c "from {module} import {word}; print({word})"',
                f'python -c "import {module} as m; print(sorted(n for n in dir(m) if n[0].isupper()))"',
                f"python -m pytest --collect-only -q {test} | tail -3",
                f"pytest {test}",
                f"python -m pytest {test} -v | head -20",
                "python --version && git --version",
                "which python pytest; python -c 'import sys; print(sys.version_info[:2])'",
                f"python -m py_compile {name} && echo compiled",
                "ruff check . | tail -3",
                "python -m flake8 --version",
                "env | grep -i python",
                "git config --list | head -5",
                "ls -a && cat .git/HEAD",
                "du -sh . && date",
                f"python -m json.tool {name}",
                "whoami; uname -s; echo $HOME",
                f"stat -c '%n %s %a' {name}",
                "for f in *; do echo $f; done",
                f"cut -c1-40 {name} | sort | uniq -c | sort -rn | head -5",
                f"find . -name '*.py' -not -path './.git/*' | xargs grep -l {word} | sort",
                f"md5sum {name}",
                f"tr -s ' ' '\\n' < {name} | grep -c self",
                "make -n 2>&1 | head -3",
                "pip list 2>/dev/null | head -3",
            ]
        )
        yield calls.shell(command)

    def script(self) -> Iterator[Action]:
        """Write a script that uses the package, and run it."""
        name = self.sources.pick()
        module = name.removesuffix(".py").removeprefix("src/").removesuffix("/__init__").replace("/", ".")
        word, file = self.dice.choice(_WORDS), f"try_{self.dice.choice(_VERBS)}.py"
        body = self.dice.choice(
            [
                f"import {module}\n\nprint({module}.__name__)\nprint(len(dir({module})) > 5)\n",
                f"from collections import Counter\n\ncounts = Counter('{word}')\nprint(counts.most_common(2))\n",
                f"total = 0\nfor number in range(5):\n    total += number\nprint('{word}', total)\nexit(3)\n",
                f"def {word}(n):\n    return 1 / n\n\n\nprint({word}(0))\n",
                f"import json\n\nprint(json.dumps({{'{word}': [1, 2, None]}}, indent=2))\n",
                f"print('{word}'\n",
            ]
        )
        yield self.calls.write(file, body)
        yield self.calls.shell(f"python {file}")
        yield self.calls.shell(f"rm {file} && git status --short")

    def inspect_changes(self) -> Iterator[Action]:
        """See what has changed."""
        name = self.sources.edited[-1] if self.sources.edited else self.sources.pick()
        command = self.dice.choice(
            [
                "git diff",
                "git status --short",
                "git status",
                "git diff --stat",
                f"git diff {name}",
                f"git diff -U1 -- {name}",
                "git diff --name-only",
            ]
        )
        yield self.calls.shell(command)

    def open_file(self, name: str) -> Iterator[Action]:
        """Read a file where the family asks for that before an edit, or now and then."""
        if name not in self.read and (self.calls.editing or self.dice.random() < 0.5):
            self.read.add(name)
            count = self.sources.texts.get(name, "").count("\n")
            yield self.calls.read(name, 1, 60) if count > 250 else self.calls.read(name)

    def change(self, one: Change) -> Iterator[Action]:
        """Apply a replacement, now and then with a slip first."""
        yield from self.open_file(one.path)
        if self.dice.random() < 0.2:
            slip = one.old.replace(" ", "", 1) if " " in one.old else one.old + "?"
            if slip not in self.sources.texts.get(one.path, ""):
                yield self.calls.edit(one.path, slip, one.new)
        yield self.calls.edit(one.path, one.old, one.new)

    def rewrite(self, path: str, changes: list[Change]) -> Iterator[Action]:
        """Write a file as many replacements make it."""
        yield from self.open_file(path)
        text = self.sources.texts[path]
        for one in changes:
            text = text.replace(one.old, one.new, 1)
        yield self.calls.write(path, text)

    def small_edit(self, name: str) -> Iterator[Action]:
        """Change a line of a file."""
        yield from self.open_file(name)
        line = self.sources.unique_line(name)
        if line is None:
            return
        pad = line[: len(line) - len(line.lstrip())]
        word = self.dice.choice(_WORDS)
        new = self.dice.choice(
            [f"{pad}# {word}: kept for callers\n{line}", f"{line}  # {word}", f"{line}\n{pad}# {word}"]
        )
        yield self.calls.edit(name, line, new)

    def rename(self, name: str) -> Iterator[Action]:
        """Rename a word throughout a file."""
        yield from self.open_file(name)
        word = self.sources.repeated(name)
        if word is not None:
            times = self.sources.texts[name].count(word)
            yield self.calls.edit(name, word, f"{word}_{self.dice.choice(_WORDS)}", times)

    def fresh_module(self, folder: str) -> tuple[str, str]:
        """Path and content of a new module."""
        word, verb = self.dice.choice(_WORDS), self.dice.choice(_VERBS)
        number = self.dice.randint(2, 9)
        name = f"{folder}/{verb}_{word}.py" if folder else f"{verb}_{word}.py"
        content = (
            f'"""Helpers that {verb} {word}s."""\n\n\nLIMIT = {number}\n\n\ndef {verb}_{word}(items, limit=LIMIT):\n'
            f'    """Return at most `limit` items."""\n    return list(items)[:limit]\n'
        )
        return name, content

    def again(self, name: str) -> Iterator[Action]:
        """Look at what was written."""
        text = self.sources.texts.get(name, "")
        options = [
            lambda: self.calls.read(name),
            lambda: self.calls.read(name, 1, 15),
            lambda: self.calls.shell(f"cat {name}" if text.count("\n") < 60 else f"head -20 {name}"),
            lambda: self.calls.search("def |class ", name if self.calls.editing else None, options=_LINES),
        ]
        yield self.dice.choice(options)()


def survey(worker: Worker) -> Iterator[Action]:
    """Find one's way: lists, searches, reads, and in the end a note of what was found."""
    yield from worker.overview()
    while True:
        name = worker.sources.pick(tests=worker.dice.random() < 0.3)
        yield from worker.locate(worker.sources.symbol(name))
        steps = [worker.look, worker.overview, worker.peek, worker.look, worker.peek, worker.probe, worker.probe]
        for step in worker.dice.sample([*steps, worker.run_tests, worker.run_tests, worker.script], 4):
            yield from step()
        found = ", ".join(word for _, word in worker.sources.defined(name)[:6])
        note = f"{worker.dice.choice(_WORDS).upper()}.md"
        yield worker.calls.write(note, f"# {name}\n\nDefines: {found}.\n")
        yield from worker.again(note)


def fix(worker: Worker) -> Iterator[Action]:
    """Make failing tests of the next release pass, as that release did."""
    task, calls, dice = worker.task, worker.calls, worker.dice
    changes = worker.sources.solution(task["new"], list(task["sources"]))
    command = f"python -m pytest -q {' '.join(task['failing'])}"
    if dice.random() < 0.6:
        yield from worker.overview()
    yield calls.shell(command)
    test = task["failing"][0].rpartition("::")[2]
    yield calls.search(test, files="*.py", options={**_LINES, "-A": 8})
    if dice.random() < 0.4:
        yield from worker.locate(worker.sources.symbol(changes[0].path))
    else:
        yield from dice.choice([worker.probe, worker.peek])()
    line = worker.sources.line_of(changes[0].path, changes[0].old)
    yield calls.read(changes[0].path, max(1, line - 10), 30)
    worker.read.add(changes[0].path)
    for path in dict.fromkeys(one.path for one in changes):
        mine = [one for one in changes if one.path == path]
        if len(mine) > _MOST_EDITS:
            yield from worker.rewrite(path, mine)
            continue
        for one in mine:
            yield from worker.change(one)
            if dice.random() < 0.15:
                yield from worker.inspect_changes()
    if dice.random() < 0.5:
        yield from worker.inspect_changes()
    yield calls.shell(command)
    if dice.random() < 0.5:
        yield from worker.again(changes[-1].path)
    if dice.random() < 0.4:
        yield calls.shell(f"python -m pytest -q {task['failing'][0].partition('::')[0]}")
    yield calls.shell(f"git add -A && git commit -q -m 'Fix {test}' && git log --oneline")
    yield calls.shell("git show --stat HEAD | tail -6")
    yield calls.shell(command)


def change(worker: Worker) -> Iterator[Action]:
    """Add a module with a test, change others, look at it all again."""
    calls, dice, sources = worker.calls, worker.dice, worker.sources
    folders = sorted({name.rpartition("/")[0] for name in sources.python(tests=False)})
    yield from worker.overview()
    while True:
        name, content = worker.fresh_module(dice.choice(folders or [""]))
        yield calls.write(name, content)
        yield from worker.again(name)
        yield calls.edit(name, "list(items)[:limit]", "[item for item in items][:limit]")
        target = sources.pick()
        yield from dice.choice([worker.small_edit, worker.rename])(target)
        yield from worker.inspect_changes()
        if dice.random() < 0.5:
            word = name.rpartition("/")[2].removesuffix(".py")
            place = dice.choice([f"test_{word}.py", f"tests/test_{word}.py"])
            wrong = dice.choice(["", "", " + 1"])
            yield calls.write(place, f"def test_{word}():\n    assert len('{word}') == {len(word)}{wrong}\n")
            yield calls.shell(f"python -m pytest -q {place}")
        if dice.random() < 0.4:
            yield calls.shell(f"sed -i 's/LIMIT/MOST/g' {name}")
            yield from dice.choice([worker.again, worker.small_edit])(name)
        yield from worker.again(target)
        yield calls.shell(dice.choice(["git add -A && git status --short", "git stash list", "git diff --stat HEAD"]))
        yield from dice.choice([worker.run_tests, worker.run_tests, worker.probe, worker.script])()
        yield calls.shell(
            dice.choice([f"git checkout -- {target} && git status -s", f"rm {name} && ls", f"mv {name} moved.py && ls"])
        )


def history(worker: Worker) -> Iterator[Action]:
    """Commit, branch, compare, take back."""
    calls, dice, sources = worker.calls, worker.dice, worker.sources
    yield calls.shell("git log --oneline && git status")
    while True:
        branch = f"{dice.choice(_VERBS)}-{dice.choice(_WORDS)}"
        yield calls.shell(
            dice.choice(
                [f"git checkout -b {branch}", f"git switch -c {branch}", f"git checkout -q -b {branch}; git branch"]
            )
        )
        target = sources.pick()
        yield from worker.small_edit(target)
        yield from worker.inspect_changes()
        yield calls.shell(
            dice.choice([f"git commit -am 'Touch {target}'", f"git add {target} && git commit -m 'Touch {branch}'"])
        )
        yield calls.shell(
            dice.choice(
                [
                    "git log --stat -1",
                    "git show HEAD",
                    "git log -2",
                    "git log --oneline --graph",
                    "git log -1 --format='%an %s'",
                ]
            )
        )
        name, content = worker.fresh_module("")
        yield calls.write(name, content)
        yield calls.shell(
            dice.choice(
                [
                    "git stash -u && git stash list",
                    f"git add {name} && git commit -q -m 'Add {name}' && git log --oneline | head -3",
                    "git status --porcelain",
                    "git add -N . && git diff --stat",
                ]
            )
        )
        yield calls.shell(dice.choice(["git checkout main", "git switch main", "git checkout - 2>&1"]))
        yield calls.shell(
            dice.choice(
                [
                    f"git diff main {branch} --stat",
                    f"git log main..{branch} --oneline",
                    f"git merge {branch}",
                    f"git diff main..{branch} -- {target}",
                ]
            )
        )
        yield from worker.again(target)
        yield calls.shell(
            dice.choice(
                [
                    "git reset --hard HEAD~1",
                    "git revert --no-edit HEAD",
                    f"git tag v{dice.randint(2, 9)}.0 && git tag",
                    "git branch -v",
                    f"git branch -D {branch}",
                    "git reflog | head -4",
                    "git describe --always",
                ]
            )
        )
        yield from dice.choice([worker.look, worker.run_tests, worker.probe])()


WORK: dict[str, Callable[[Worker], Iterator[Action]]] = {
    "survey": survey,
    "fix": fix,
    "change": change,
    "history": history,
}
"""By kind of task."""
