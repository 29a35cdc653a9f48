"""The texts of the collection: what Debian packages on this machine hold, as pages."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from worldline.domains.search import DocumentSpec
from worldline.errors import SandboxError, StorageError, boundary

__all__ = ["SOURCES", "Source", "read_source"]

_DIGITS = {c: n for n, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
_DICTIONARIES = Path("/usr/share/dictd")
_WORDNET = Path("/usr/share/wordnet")
_PYTHON = Path("/usr/share/doc/python3.11/html/_sources")
_FOLDOC_DATE = re.compile(r"\((\d{4})-(\d\d)-(\d\d)\)\s*$")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HEADING = re.compile(r"^(\S.*)\n([=\-~^*#]{4,})$", re.MULTILINE)
_LINK = re.compile(r"<?\b(?:https?|ftp)://[^\s>)]*>?")
"""Addresses are taken out of the texts: nothing but the collection can be opened."""
_MOST = 20_000
"""Most characters of a page."""

Source = Callable[[], Iterator[DocumentSpec]]


def _page(site: str, name: str, title: str, text: str, date: str = "N/A") -> DocumentSpec:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "page"
    plain = _LINK.sub("", text).strip()[:_MOST]
    return DocumentSpec(url=f"https://{site}.test/{slug}", title=" ".join(title.split()), text=plain, date=date)


def _number(digits: str) -> int:
    """A number of a dictionary's index, in base64 digits (dictfmt(1))."""
    value = 0
    for digit in digits:
        value = value * 64 + _DIGITS[digit]
    return value


def _dictionary(name: str) -> Iterator[DocumentSpec]:
    """Entries of a DICT database: `NAME.index` gives word, offset and length within `NAME.dict.dz`, which is gzip."""
    data = gzip.decompress((_DICTIONARIES / f"{name}.dict.dz").read_bytes())
    seen: set[tuple[int, int]] = set()
    for line in (_DICTIONARIES / f"{name}.index").read_text(encoding="utf-8", errors="replace").split("\n"):
        parts = line.split("\t")
        if len(parts) < 3 or parts[0].startswith("00"):
            continue
        place = (_number(parts[1]), _number(parts[2]))
        if place in seen:
            continue  # another spelling of the same entry
        seen.add(place)
        text = data[place[0] : place[0] + place[1]].decode("utf-8", "replace")
        yield _page(name, f"{parts[0]} {len(seen)}", parts[0], _tidy(text), _dated(text))


def _tidy(text: str) -> str:
    """Undo the indentation of a dictionary entry; paragraphs stay apart."""
    paragraphs = re.split(r"\n[ \t]*\n", text.strip("\n"))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())


def _dated(text: str) -> str:
    found = _FOLDOC_DATE.search(text.rstrip())
    if found is None or not 1 <= int(found[2]) <= 12:
        return "N/A"
    return f"{_MONTHS[int(found[2]) - 1]} {int(found[3])}, {found[1]}"


def _wordnet() -> Iterator[DocumentSpec]:
    """Senses of WordNet (wndb(5)): words, gloss and examples."""
    for kind in ("noun", "verb", "adj", "adv"):
        with (_WORDNET / f"data.{kind}").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("  ") or " | " not in line:
                    continue
                head, gloss = line.split(" | ", 1)
                fields = head.split()
                words = [fields[4 + 2 * n].replace("_", " ") for n in range(int(fields[3], 16))]
                words = [re.sub(r"\((a|p|ip)\)$", "", word) for word in words]
                meaning, *examples = (part.strip() for part in gloss.strip().split('; "'))
                text = f"{', '.join(words)} ({kind}): {meaning}"
                if examples:
                    text += "\n\nExamples: " + "; ".join(example.rstrip('"') for example in examples)
                yield _page("wordnet", f"{words[0]} {kind} {fields[0]}", words[0], text)


def _packages() -> Iterator[DocumentSpec]:
    """Debian packages that can be had: name, section and description."""
    with boundary(SandboxError, "asking for the list of packages"):
        done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True, timeout=300)
    for record in done.stdout.decode("utf-8", "replace").split("\n\n"):
        name, section, about = (_field(record, key) for key in ("Package", "Section", "Description"))
        if name and about:
            text = f"{about}\n\nSection: {section or 'unknown'}."
            yield _page("packages", name, f"{name} - {about.split(chr(10))[0]}", text)


def _field(record: str, key: str) -> str:
    found = re.search(rf"^{key}(?:-en)?: (.*(?:\n .*)*)", record, re.MULTILINE)
    return "" if found is None else re.sub(r"\n \.?", "\n", found[1]).strip()


def _python() -> Iterator[DocumentSpec]:
    """Sections of Python's documentation."""
    for path in sorted(_PYTHON.rglob("*.rst.txt")):
        text = path.read_text(encoding="utf-8", errors="replace")
        parts = _HEADING.split(text)
        for number in range(1, len(parts) - 2, 3):
            title, body = parts[number], parts[number + 2].strip()
            if len(body) > 80:
                name = f"{path.relative_to(_PYTHON)} {title}".replace(".rst.txt", "")
                yield _page("pydoc", name, re.sub(r":[\w:]+:|`", "", title), body)


SOURCES: dict[str, tuple[Source, str]] = {
    "gcide": (lambda: _dictionary("gcide"), "dict-gcide"),
    "wordnet": (_wordnet, "wordnet-base"),
    "packages": (_packages, "apt"),
    "foldoc": (lambda: _dictionary("foldoc"), "dict-foldoc"),
    "pydoc": (_python, "python3.11-doc"),
    "jargon": (lambda: _dictionary("jargon"), "dict-jargon"),
    "devil": (lambda: _dictionary("devil"), "dict-devil"),
    "elements": (lambda: _dictionary("elements"), "dict-elements"),
}
"""What reads each part of the collection, and the Debian package it comes in."""


def read_source(name: str) -> Iterator[DocumentSpec]:
    """Read a part of the collection.

    Raises:
        SandboxError: Its package is not installed.
    """
    read, package = SOURCES[name]
    try:
        with boundary(StorageError, f"reading {name}"):
            yield from read()
    except StorageError as exc:
        raise SandboxError(f"{name} cannot be read: {exc.message}", hint=f"apt-get install {package}") from exc
