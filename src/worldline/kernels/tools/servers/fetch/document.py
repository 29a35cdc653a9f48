"""HTML as the fetch server simplifies it before it writes Markdown: blocks of plain text, no links, no styles.

The server reads HTML by html5lib; here only pages are read whose tags are closed in order, so that there is nothing to
repair. Everything else is left to memory.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser

from worldline.kernels.tools.servers.replies import Unsure

__all__ = ["Block", "simplified"]

_DELETED_NAMES = (
    "button datalist fieldset form input label legend meter optgroup option output progress select textarea area img "
    "map picture source audio track video embed iframe math object param svg details dialog summary canvas noscript "
    "script template data link style nav"
)
_UNWRAPPED_NAMES = (
    "a abbr address b bdi bdo center cite code del dfn em i ins kbs mark s samp small span strong time u var wbr"
)
_BLOCK_NAMES = (
    "article aside blockquote caption colgroup col div dl dt dd figure figcaption footer h1 h2 h3 h4 h5 h6 header li "
    "main ol p pre section table tbody thead tfoot tr td th ul"
)
_DELETED, _UNWRAPPED, _BLOCKS = (frozenset(names.split()) for names in (_DELETED_NAMES, _UNWRAPPED_NAMES, _BLOCK_NAMES))
_STRUCTURE = frozenset({"html", "head", "body"})
_VOID = frozenset({"meta", "base", "link", "img", "input", "source", "area", "track", "embed", "param", "wbr", "col"})
_AROUND = {"q": ('"', '"'), "sub": ("_", ""), "sup": ("^", "")}
_CELLS = {"td", "th"}
_INSIDE = {
    "li": {"ul", "ol"}, "tr": {"tbody", "thead", "tfoot"}, "td": {"tr"}, "th": {"tr"}, "dt": {"dl"}, "dd": {"dl"},
    "tbody": {"table"}, "thead": {"table"}, "tfoot": {"table"}, "caption": {"table"},
}  # fmt: skip
"""Where the parser leaves an element where it stands."""
_MOST = 20_000


@dataclass(slots=True)
class Block:
    """An element of the simplified page."""

    name: str
    children: list[Block | str] = field(default_factory=list)
    parent: Block | None = None

    def add(self, child: Block | str) -> None:
        """Put a child behind the others; texts side by side become one."""
        if isinstance(child, str) and self.children and isinstance(self.children[-1], str):
            self.children[-1] += child
            return
        if isinstance(child, Block):
            child.parent = self
        self.children.append(child)


class _Reader(HTMLParser):
    """Builds the tree, without what is deleted and unwrapped.

    Raises:
        Unsure: A real parser would have to repair the page.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Block("")
        self.head, self.body = Block("head"), Block("body")
        self.at = self.body
        self.open: list[str] = []
        self.skipped = 0
        self.count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count += 1
        if self.count > _MOST:
            raise Unsure("the page is too long")
        if self.skipped or tag in _DELETED:
            self.skipped += tag not in _VOID
            self.open += [] if tag in _VOID else [tag]
            return
        if tag in ("meta", "base", "wbr"):
            return
        if tag in _STRUCTURE:
            self._structure(tag)
        elif tag == "title" or tag in _BLOCKS:
            self._block(tag, attrs)
        elif tag in _AROUND:
            self.at.add(_AROUND[tag][0])
        elif tag == "br":
            self._break()
            return
        elif tag not in _UNWRAPPED:
            raise Unsure(f"the element {tag} is not simulated")
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID and tag != "br":
            raise Unsure(f"the element {tag} is closed where it begins")

    def _structure(self, tag: str) -> None:
        if tag in self.open or (tag != "html" and self.at.parent is not None):
            raise Unsure("a page within a page")
        self.at = self.head if tag == "head" else self.body

    def _block(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("col", "colgroup") or any(name in ("colspan", "start") for name, _ in attrs):
            raise Unsure(f"this form of {tag} is not simulated")
        if "p" in self.open or (tag[0] == "h" and self.at.name[:1] == "h" and self.at.name not in _STRUCTURE):
            raise Unsure("a block within a paragraph or heading")
        if tag == "title" and self.at is not self.head:
            raise Unsure("a title outside the head")
        if self.at is self.head and tag != "title":
            raise Unsure("a block within the head")
        if tag == "tr" and self.at.name == "table":
            last = self.at.children[-1] if self.at.children else None
            body = last if isinstance(last, Block) and last.name == "tbody" else Block("tbody")
            if body is not last:
                self.at.add(body)
            self.at = body
        if self.at.name not in _INSIDE.get(tag, {self.at.name}) or (
            self.at.name in ("table", "tbody", "thead", "tfoot", "tr", "ul", "ol") and tag not in _INSIDE
        ):
            raise Unsure(f"{tag} within {self.at.name}")
        block = Block(tag)
        self.at.add(block)
        self.at = block

    def _break(self) -> None:
        last = self.at.children[-1] if self.at.children else ""
        if isinstance(last, str) and last.endswith("\0"):
            raise Unsure("several line breaks in a row")
        self.at.add(" \0")

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID or tag == "br":
            raise Unsure(f"an end of {tag}")
        if not self.open or self.open.pop() != tag:
            raise Unsure(f"{tag} is closed out of order")
        if self.skipped:
            self.skipped -= 1
        elif tag in _AROUND:
            self.at.add(_AROUND[tag][1])
        elif tag in _STRUCTURE:
            self.at = self.body
        elif tag == "title" or tag in _BLOCKS:
            parent = self.at.parent
            assert parent is not None
            implied = tag == "tr" and parent.name == "tbody" and "tbody" not in self.open
            self.at = parent.parent if implied and parent.parent is not None else parent

    def handle_data(self, data: str) -> None:
        if self.skipped:
            return
        if self.at is self.head and not data.strip():
            return
        if data.strip() and (self.at is self.head or self.at.name in ("table", "tbody", "thead", "tfoot", "tr")):
            raise Unsure("text where none may be")
        self.at.add(data)

    def unknown_decl(self, data: str) -> None:
        raise Unsure("a declaration within the page")


def simplified(html: str) -> Block:
    """Read a page into blocks of plain text.

    Raises:
        Unsure: The page is not one that can be read here.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    if reader.open:
        raise Unsure("an element is not closed")
    flat = Block("div")
    for child in [*reader.head.children, *reader.body.children]:
        flat.add(child)
    _clean(flat)
    _wrap(flat, top=True)
    return flat


def _clean(block: Block) -> None:
    """Normalise texts; drop those that are blank, and elements without content."""
    kept: list[Block | str] = []
    for child in block.children:
        if isinstance(child, Block):
            _clean(child)
            if child.children:
                kept.append(child)
        else:
            text = _normal(child.replace("\0", ""))
            if text:
                kept.append(text)
    block.children = kept


def _wrap(block: Block, *, top: bool = False) -> None:
    """Make a paragraph of each text that is not all of its block."""
    alone = len(block.children) == 1 and block.name in _BLOCKS and not top
    for place, child in enumerate(block.children):
        if isinstance(child, Block):
            _wrap(child)
        elif not alone:
            block.children[place] = Block("p", [child], block)


def _normal(text: str) -> str:
    kept = "".join(
        char for char in text if char in "\t\n\r\f" or unicodedata.category(char) not in ("Cc", "Cf", "Cn", "Co", "Cs")
    )
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", kept)).strip()
