"""Markdown of a simplified page, as the fetch server's library writes it (markdownify 1, headings with `#`)."""

from __future__ import annotations

import re

from worldline.kernels.tools.servers.fetch.document import Block

__all__ = ["markdown"]

_NEWLINES = re.compile(r"^(\n*)((?:.*[^\n])?)(\n*)$", re.DOTALL)
_LINE = re.compile(r"^(.*)", re.MULTILINE)
_HEADING = re.compile(r"h([1-6])")
_LISTS = ("ul", "ol")
_BULLETS = "*+-"
_BETWEEN = "\n\n"


def markdown(root: Block) -> str:
    """Write a page."""
    return _block(root, frozenset()).strip("\n")


def _block(block: Block, around: frozenset[str]) -> str:
    inside = around | {block.name}
    if _HEADING.fullmatch(block.name) or block.name in ("td", "th"):
        inside |= {"_inline"}
    if block.name == "pre":
        inside |= {"_plain"}
    pieces = [_text(child, inside) if isinstance(child, str) else _block(child, inside) for child in block.children]
    text = "".join(pieces) if "pre" in inside else _joined(pieces)
    return _written(block, text, around)


def _text(text: str, inside: frozenset[str]) -> str:
    return text if "_plain" in inside else text.replace("*", r"\*").replace("_", r"\_")


def _joined(pieces: list[str]) -> str:
    """Join pieces; between two of them stand at most two newlines."""
    found = [""]
    for piece in filter(None, pieces):
        match = _NEWLINES.match(piece)
        assert match is not None
        before, content, after = match.groups()
        if found[-1] and before:
            before = "\n" * min(2, max(len(found.pop()), len(before)))
        found += [before, content, after]
    return "".join(found)


def _written(block: Block, text: str, around: frozenset[str]) -> str:
    name, inline = block.name, "_inline" in around
    heading = _HEADING.fullmatch(name)
    if heading is not None:
        plain = re.sub(r"[\t \r\n]+", " ", text.strip())
        return text if inline else f"\n\n{'#' * int(heading[1])} {plain}\n\n"
    if name in ("p", "div", "article", "section", "dl"):
        text = text.strip()
        return f" {text} " if inline else f"\n\n{text}\n\n" if text else ""
    if name in _LISTS:
        return _list(block, text, around)
    if name == "li":
        return _item(block, text)
    if name in ("td", "th"):
        return f" {text.strip()} |".replace("\n", " ")
    if name in ("table", "figcaption", "caption"):
        return f"{'' if name == 'caption' else _BETWEEN}{text.strip()}{_BETWEEN}"
    if name == "tr":
        return _row(block, text)
    if name == "blockquote":
        text = text.strip(" \t\r\n")
        return f" {text} " if inline else f"\n{_indented(text, '> ', '>')}\n\n" if text else "\n"
    if name == "pre":
        return f"\n\n```\n{text}\n```\n\n" if text else ""
    if name in ("dt", "dd"):
        return _definition(name, text.strip(), inline)
    return text


def _indented(text: str, margin: str, empty: str) -> str:
    return _LINE.sub(lambda line: margin + line[1] if line[1] else empty, text)


def _list(block: Block, text: str, around: frozenset[str]) -> str:
    if "li" in around:
        return "\n" + text.rstrip()
    following = _after(block)
    return "\n\n" + text + ("\n" if following is not None and following.name not in _LISTS else "")


def _after(block: Block) -> Block | None:
    siblings = [child for child in block.parent.children if isinstance(child, Block)] if block.parent else []
    place = next((at for at, child in enumerate(siblings) if child is block), len(siblings))
    return siblings[place + 1] if place + 1 < len(siblings) else None


def _item(block: Block, text: str) -> str:
    text = text.strip()
    if not text:
        return "\n"
    parent = block.parent
    if parent is not None and parent.name == "ol":
        items = [child for child in parent.children if isinstance(child, Block) and child.name == "li"]
        bullet = f"{next(at for at, child in enumerate(items, 1) if child is block)}. "
    else:
        depth, place = -1, parent
        while place is not None:
            depth += place.name == "ul"
            place = place.parent
        bullet = _BULLETS[depth % len(_BULLETS)] + " "
    return bullet + _indented(text, " " * len(bullet), "")[len(bullet) :] + "\n"


def _definition(name: str, text: str, inline: bool) -> str:
    if name == "dt":
        text = re.sub(r"[\t \r\n]+", " ", text)
    if inline:
        return f" {text} "
    if not text:
        return "\n"
    return f"\n\n{text}\n" if name == "dt" else ":" + _indented(text, "    ", "")[1:] + "\n"


def _row(block: Block, text: str) -> str:
    cells = [child for child in block.children if isinstance(child, Block) and child.name in ("td", "th")]
    parent = block.parent
    assert parent is not None
    first = block is next((child for child in parent.children if isinstance(child, Block)), None)
    rows = [child for child in parent.children if isinstance(child, Block) and child.name == "tr"]
    heads = all(cell.name == "th" for cell in cells) or (parent.name == "thead" and len(rows) == 1)
    table = parent.parent
    thead = table is not None and any(isinstance(one, Block) and one.name == "thead" for one in table.children)
    missing = first and (parent.name != "tbody" or not thead)
    rule = "| " + " | ".join(["---"] * len(cells)) + " |\n"
    if heads and first:
        return f"|{text}\n{rule}"
    leading = parent.name == "tbody" and table is not None and table.children[0] is parent
    if missing or (first and leading):
        return "| " + " | ".join([""] * len(cells)) + f" |\n{rule}|{text}\n"
    return f"|{text}\n"
