"""Filling the slots of a command template with files and words that exist in the session.

A slot is written `@KIND@`, `@KIND2@` (a second one of the kind), `@KIND.b@` (base name), `@KIND.s@` (base name
without suffix) or `@pick:a|b|c@`; `⟦a¦b¦c⟧` is a choice whose pieces may hold slots. A file is made, and declared in
the world, when a slot first asks for it, so a session's files are those that its commands are about.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from worldline.record.plans import fixtures
from worldline.record.plans.vocabulary import BASICS, CSV_SCHEMAS, STEMS, Split, deal, words

__all__ = ["CHOICE", "SLOT", "Scene"]

SLOT = re.compile(r"@(?P<kind>[a-z]+)(?P<index>[0-9]*)(?:\.(?P<part>[bsd]))?(?::(?P<argument>[^@\n]*))?@")
"""A slot in a template."""

CHOICE = re.compile(r"⟦([^⟧]*)⟧")
"""A choice of pieces of text that may hold slots and vertical bars."""

_PLACES = {
    **dict.fromkeys(("csv", "tsv", "json", "ndjson"), "data"),
    **dict.fromkeys(("log", "access"), "logs"),
    **dict.fromkeys(("py", "sh"), "scripts"),
    **dict.fromkeys(("conf", "obj"), "etc"),
    "txt": "docs",
}

_COLUMNS = ("cid", "citem", "ccat", "cnum", "cdate", "cval", "ival")


class Scene:
    """The files, names and words of one session.

    Args:
        rng: Source of every choice.
        split: Whose share of the vocabulary to use.
    """

    def __init__(self, rng: Random, split: Split) -> None:
        self.rng = rng
        self.split = split
        self.clock = datetime(2026, 1, 5, 7, tzinfo=UTC) + timedelta(minutes=rng.randint(0, 120 * 24 * 60))
        self.project = self._name("project")
        self.home = "/home/user"
        self.cwd = f"{self.home}/{self.project}"
        self.structured = rng.random() < 0.3
        self.files: dict[str, dict[str, Any]] = {}
        self._slots: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._fresh = list(deal(STEMS["new"], split))
        rng.shuffle(self._fresh)
        self._used_stems: set[str] = set()
        self._makers: dict[str, Callable[[str], str]] = {
            "txt": self._text, "md": self._markdown, "list": self._list, "nums": self._numbers, "csv": self._csv,
            "tsv": self._tsv, "colon": self._colon, "log": self._log, "access": self._access, "json": self._json,
            "ndjson": self._ndjson, "obj": self._object, "conf": self._conf, "env": self._env, "dir": self._dir,
            "py": self._py, "sh": self._sh, "old": self._versions, "neu": self._versions, "mess": self._mess,
        }  # fmt: skip

    def fill(self, template: str, block: int = 0) -> str:
        """Replace every slot of `template`.

        Args:
            template: A command with slots.
            block: Number of the block of commands it stands in; `@a@`, `@b@`, ... are fresh names per block, `@x@`,
                `@y@` and `@z@` hold for the session.

        Raises:
            KeyError: A slot is of no known kind.
        """
        chosen = CHOICE.sub(lambda match: self.rng.choice(match[1].split("¦")), template)
        return SLOT.sub(lambda match: self._value(match, block), chosen)

    def _value(self, match: re.Match[str], block: int) -> str:
        kind, index, part, argument = match["kind"], match["index"], match["part"], match["argument"]
        if kind == "pick":
            return str(self.rng.choice((argument or "").split("|")))
        if kind == "n":
            low, high = (int(bound) for bound in (argument or "2-6").split("-"))
            return str(self.rng.randint(low, high))
        key = f"{kind}{index}" if len(kind) > 1 or kind in "xyz" else f"{kind}{index}#{block}"
        if key not in self._slots:
            self._slots[key] = self._make(kind, index)
        return _part(self._slots[key], part)

    def _make(self, kind: str, index: str) -> str:
        if len(kind) == 1:
            return self._fresh.pop() if self._fresh else f"{self.rng.choice(STEMS['new'])}{self.rng.randint(2, 99)}"
        if kind in self._makers:
            return self._makers[kind](index)
        if kind in _COLUMNS:
            self._require(f"csv{index}")
            return self._known[f"{kind}{index}"]
        if kind in ("ip", "path"):
            self._require(f"access{index}")
            return self._known[f"{kind}{index}"]
        if kind in ("w", "word"):
            text = self._content(f"txt{index}")
            found: list[str] = sorted(set(re.findall(r"[a-z]{4,}", text)))
            return self.rng.choice(found)
        if kind == "lw":
            return self.rng.choice(self._content(f"list{index}").split())
        if kind == "sub":
            directory = self._require(f"dir{index}")
            inside = [path for path in self.files if path.startswith(f"{self.cwd}/{directory}/")]
            return posixpath.relpath(self.rng.choice(sorted(inside)), self.cwd)
        if kind == "proj":
            return self.project
        if kind == "comp":
            return self.rng.choice(BASICS["component"])
        if kind == "branch":
            return self.rng.choice(deal(_BRANCHES, self.split))
        if kind == "tag":
            return f"v{self.rng.randint(0, 3)}.{self.rng.randint(0, 9)}"
        raise KeyError(f"no slot of kind {kind!r}")

    def _require(self, key: str) -> str:
        return self.fill(f"@{key}@")

    def _content(self, key: str) -> str:
        return str(self.files[posixpath.join(self.cwd, self._require(key))]["content"])

    def _name(self, kind: str) -> str:
        return self.rng.choice(deal(STEMS[kind], self.split))

    def _add(self, kind: str, stem: str, suffix: str, content: str, **more: Any) -> str:
        """Declare a file and return its path relative to the working directory."""
        while stem + suffix in self._used_stems:
            stem += self.rng.choice(("2", "_old", "-b", "_new"))
        self._used_stems.add(stem + suffix)
        place = _PLACES.get(kind, "") if self.structured else ""
        relative = posixpath.join(place, stem + suffix)
        self.files[posixpath.join(self.cwd, relative)] = {"content": content, "mtime": self._mtime(), **more}
        return relative

    def _mtime(self) -> str:
        """A moment before the session: mostly within the last weeks, sometimes long ago."""
        low, high = self.rng.choice(((5, 3000), (3000, 60000), (60000, 500000)))
        return f"{self.clock - timedelta(minutes=self.rng.randint(low, high)):%Y-%m-%dT%H:%M:%SZ}"

    def clutter(self) -> None:
        """Add a few files that the session is not about."""
        kinds = ("txt", "md", "list", "csv", "obj", "sh", "log", "conf", "dir")
        for kind in self.rng.sample(kinds, self.rng.choice((0, 1, 1, 2, 3))):
            self._require(f"{kind}9")
        while len(self.files) < 2:
            self._require(self.rng.choice(("txt", "md", "list", "csv")) + str(len(self.files) + 6))

    def _text(self, index: str) -> str:
        return self._add("txt", self._name("text"), self.rng.choice((".txt", ".txt", ".md")), fixtures.prose(self.rng))

    def _markdown(self, index: str) -> str:
        title = self._name("text")
        body = (
            f"# {title}\n\n"
            + fixtures.prose(self.rng, (3, 5))
            + f"\n## Usage\n\n- run `make {title}`\n- see [docs](docs/)\n"
        )
        return self._add("md", title.upper() if self.rng.random() < 0.3 else title, ".md", body)

    def _list(self, index: str) -> str:
        return self._add("list", self._name("list"), ".txt", fixtures.word_list(self.rng))

    def _numbers(self, index: str) -> str:
        return self._add("nums", self._name("nums"), ".txt", fixtures.number_list(self.rng))

    def _csv(self, index: str) -> str:
        schema = self.rng.choice([number for number in range(len(CSV_SCHEMAS)) if number in self._schemas()])
        text, known = fixtures.csv_table(self.rng, schema)
        self._known.update({f"{name}{index}": value for name, value in known.items()})
        stem = CSV_SCHEMAS[schema][0] + self.rng.choice(("", "", "_2025", "_q3", "-may"))
        return self._add("csv", stem, ".csv", text)

    def _schemas(self) -> tuple[int, ...]:
        numbers = tuple(str(number) for number in range(len(CSV_SCHEMAS)))
        return tuple(int(number) for number in deal(numbers, self.split))

    def _tsv(self, index: str) -> str:
        schema = self.rng.choice(self._schemas())
        text, _ = fixtures.csv_table(self.rng, schema, "\t")
        return self._add("tsv", CSV_SCHEMAS[schema][0], ".tsv", text)

    def _colon(self, index: str) -> str:
        return self._add("colon", "accounts-" + self._name("list"), ".db", fixtures.colon_table(self.rng))

    def _log(self, index: str) -> str:
        return self._add("log", self._name("log"), ".log", fixtures.app_log(self.rng))

    def _access(self, index: str) -> str:
        text, known = fixtures.access_log(self.rng)
        self._known.update({f"{name}{index}": value for name, value in known.items()})
        return self._add("access", self._name("access"), ".log", text)

    def _json(self, index: str) -> str:
        indent = self.rng.choice((2, 2, None))
        return self._add(
            "json", self._name("json"), ".json", json.dumps(fixtures.records(self.rng), indent=indent) + "\n"
        )

    def _ndjson(self, index: str) -> str:
        return self._add("ndjson", self._name("json"), ".jsonl", fixtures.ndjson(self.rng))

    def _object(self, index: str) -> str:
        return self._add("obj", self._name("object"), ".json", fixtures.config_object(self.rng))

    def _conf(self, index: str) -> str:
        return self._add(
            "conf", self._name("conf"), self.rng.choice((".conf", ".ini", ".cfg")), fixtures.config_ini(self.rng)
        )

    def _env(self, index: str) -> str:
        return self._add("env", self.rng.choice((".env", "app", "local", "vars")), ".env", fixtures.env_file(self.rng))

    def _py(self, index: str) -> str:
        stem = self._name("py")
        return self._add("py", stem, ".py", fixtures.python_module(self.rng).replace("PROG", stem + ".py"))

    def _sh(self, index: str) -> str:
        return self._add("sh", self._name("sh"), ".sh", fixtures.shell_script(self.rng))

    def _versions(self, index: str) -> str:
        old, new = fixtures.two_versions(self.rng)
        stem = self._name("text")
        self._slots[f"old{index}"] = self._add("versions", stem, self.rng.choice((".orig", ".v1", ".old")), old)
        self._slots[f"neu{index}"] = self._add("versions", stem, self.rng.choice((".txt", ".v2", ".new")), new)
        return self._slots[f"old{index}"]

    def _mess(self, index: str) -> str:
        """A text with blanks at line ends, tabs, runs of blanks and empty lines."""
        lines = fixtures.prose(self.rng, (6, 10)).splitlines()
        lines = [
            self.rng.choice(("  ", "\t", "")) + line.replace(" ", "  ", 1) + self.rng.choice(("", "  "))
            for line in lines
        ]
        lines.insert(3, "")
        lines.insert(3, "")
        return self._add("mess", self._name("text") + "-raw", ".txt", "\n".join(lines) + "\n")

    def _dir(self, index: str) -> str:
        name = self._name("dir")
        while name in self._used_stems:
            name = self._name("dir") + self.rng.choice(("", "2", "-old"))
        self._used_stems.add(name)
        makers: tuple[tuple[str, str, Callable[[], str]], ...] = (
            (".txt", "text", lambda: fixtures.prose(self.rng, (2, 6))),
            (".md", "text", lambda: "# title\n\n" + fixtures.prose(self.rng, (2, 4))),
            (".csv", "list", lambda: fixtures.csv_table(self.rng, self.rng.choice(self._schemas()))[0]),
            (".py", "py", lambda: fixtures.python_module(self.rng)),
            (".log", "log", lambda: fixtures.app_log(self.rng, 8)),
            (".sh", "sh", lambda: fixtures.shell_script(self.rng)),
            (".json", "object", lambda: fixtures.config_object(self.rng)),
            (".bak", "text", lambda: fixtures.prose(self.rng, (1, 3))),
        )
        chosen = [makers[0], *self.rng.sample(makers, self.rng.randint(3, 5))]
        inner = self.rng.choice(("", "old", "lib", "img", "2025"))
        for position, (suffix, kind, make) in enumerate(chosen):
            place = posixpath.join(name, inner) if inner and position % 2 else name
            self.files[f"{self.cwd}/{place}/{self._name(kind)}{suffix}"] = {"content": make(), "mtime": self._mtime()}
        return name


_BRANCHES = words(
    "feature fix-typo experiment topic develop cleanup login search wip hotfix docs-update refactor "
    "new-parser release faster colors export-csv cache retry dark-mode"
)


def _part(path: str, part: str | None) -> str:
    if part == "b":
        return posixpath.basename(path)
    if part == "s":
        return posixpath.splitext(posixpath.basename(path))[0]
    if part == "d":
        return posixpath.dirname(path) or "."
    return path
