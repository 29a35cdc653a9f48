"""Calls that go wrong, as assistants make them: wrong paths, texts, arguments, tools and commands."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from worldline.record.swe.calls import Calls
from worldline.record.swe.sources import Sources
from worldline.types import Action

__all__ = ["mistake"]

_TOOLS = ("read", "ReadFile", "str_replace_editor", "list_files", "open_file", "view", "TodoRead", "search", "execute")
_PATTERNS = ("(def ", "[a-z", "*args", "class (", "foo(?P<x", "a)b")
_WORDS = ("handle_overflow", "legacy_mode", "todo_later", "retry_count", "spam_eggs", "frobnicate", "merge_all_now")
_OUTSIDE = ("/etc/hosts", "/tmp/notes.txt", "/home/user/other.py", "/usr/lib/python3/x.py", "/opt/settings.ini")


def mistake(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    """One mistake, now and then with what leads to it."""
    return dice.choice(_MAKERS)(calls, sources, dice)


def _wrong_path(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick(tests=dice.random() < 0.3)
    folder, _, base = name.rpartition("/")
    stem = base.removesuffix(".py")
    wrong = dice.choice([f"{stem}s.py", f"{stem}.pyi", f"_{base}", f"core/{base}", f"{stem}/__init__.py", base[::-1]])
    return [calls.read(f"{folder}/{wrong}" if folder and dice.random() < 0.8 else wrong)]


def _directory(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    folders = sorted({name.rpartition("/")[0] for name in sources.texts if "/" in name})
    return [calls.read(dice.choice(folders or ["."]))]


def _not_found(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick()
    line = sources.unique_line(name) or "import os"
    wrong = dice.choice([line.replace(" ", "  ", 1) + " ", line.upper(), line.strip() + ";", f"    {line}  # done"])
    if wrong in sources.texts[name]:
        wrong = "this line is not there"
    return [calls.read(name, 1, 40), calls.edit(name, wrong, line + "  # checked")]


def _not_unique(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick()
    word = sources.repeated(name) or "return"
    return [calls.read(name, 1, 30), calls.edit(name, word, word + "_new")]


def _unread(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick(tests=True)
    line = sources.unique_line(name) or "import os"
    return [calls.edit(name, line + " ~", line)]


def _missing_file(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    return [calls.edit(f"{dice.choice(_WORDS)}.py", "x = 1", "x = 2")]


def _same(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick()
    line = sources.unique_line(name) or "import os"
    return [calls.edit(name, line, line)]


def _unknown_tool(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    return [Action(name=dice.choice(_TOOLS), arguments={"path": calls.path(sources.pick())})]


def _no_argument(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    good = dice.choice(
        [calls.read(sources.pick()), calls.search(sources.symbol(sources.pick())), calls.shell("git status")]
    )
    first = next(iter(good.arguments))
    return [Action(name=good.name, arguments={dice.choice(["file", "query", "cmd"]): good.arguments[first]})]


def _wrong_type(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    good = calls.read(sources.pick(), 5, 10)
    spoiled: dict[str, Any] = dice.choice([{"offset": "5"}, {"limit": [10]}, {"limit": True}, {"offset": {"line": 5}}])
    return [Action(name=good.name, arguments={**good.arguments, **spoiled})]


def _relative(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick()
    tool, key = ("Read", "file_path") if calls.editing else ("read_file", "absolute_path")
    return [Action(name=tool, arguments={key: f"../{name}" if calls.editing else name})]


def _bad_pattern(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    return [calls.search(dice.choice(_PATTERNS))]


def _bad_place(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    place = dice.choice(_WORDS)
    return [dice.choice([calls.search("import", place), calls.find("*.py", place), calls.list(place)])]


def _outside(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    tool = "Write" if calls.editing else "write_file"
    return [Action(name=tool, arguments={"file_path": dice.choice(_OUTSIDE), "content": "x = 1\n"})]


def _escape(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    link = dice.choice(["shared", "vendor_link", "outside", "mirror"])
    return [calls.shell(f"ln -s /tmp {link}"), calls.write(f"{link}/{dice.choice(_WORDS)}.py", "x = 1\n")]


def _beyond(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name = sources.pick()
    return [calls.read(name, sources.texts[name].count("\n") + dice.randint(20, 400), 20)]


def _shell(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    name, word = sources.pick(), dice.choice(_WORDS)
    command = dice.choice(
        [
            f"cat {word}.py",
            f"ls {word}/",
            f"git checkout {word}",
            f"git show {word}",
            f"grep -n {word} {name}",
            f"git diff {word}..HEAD",
            f"git commit -m '{word}'",
            f"git branch -d {word}",
            f"python {word}.py",
            f"rm {word}.txt",
            f"mv {word}.py {name}/",
            f"cd {word}",
            "git log --onelin",
            "git stash pop",
            f"git merge {word}",
            f"test -d {word}",
            f"sed -n '5,10p' {word}.cfg",
            f"head -3 {name} {word}.py",
            f"git rm {word}.py",
            f"git restore {word}.py",
            f"mkdir {name.partition('/')[0]}",
            f"diff {name} {word}.py",
        ]
    )
    return [calls.shell(command)]


def _tests(calls: Calls, sources: Sources, dice: random.Random) -> list[Action]:
    word = dice.choice(_WORDS)
    return [
        calls.shell(
            dice.choice(
                [
                    f"python -m pytest -q test_{word}.py",
                    f"python -m pytest -q tests/test_{word}.py",
                    f"pytest -q tests/{word}",
                    f"python -m pytest -q {word}.py -x",
                ]
            )
        )
    ]


_MAKERS: tuple[Callable[[Calls, Sources, random.Random], list[Action]], ...] = (
    _wrong_path,
    _wrong_path,
    _directory,
    _not_found,
    _not_found,
    _not_unique,
    _unread,
    _missing_file,
    _same,
    _unknown_tool,
    _no_argument,
    _wrong_type,
    _relative,
    _bad_pattern,
    _bad_place,
    _outside,
    _escape,
    _beyond,
    _shell,
    _shell,
    _shell,
    _tests,
)
