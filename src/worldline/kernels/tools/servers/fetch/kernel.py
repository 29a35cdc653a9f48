"""The kernel of the fetch server."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

import httpx
from pydantic import AnyUrl, BaseModel, Field, ValidationError, create_model

from worldline.domains.mcp.state import FetchServer, Page
from worldline.errors import KernelError
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.fetch.document import simplified
from worldline.kernels.tools.servers.fetch.markdown import markdown
from worldline.kernels.tools.servers.fetch.robots import robots_refusal
from worldline.kernels.tools.servers.python_server import PythonServer, ToolFailed
from worldline.kernels.tools.servers.replies import Unsure
from worldline.types import JsonDict, Observation, content_id

__all__ = ["FetchKernel"]

_FAILED = "<error>Page failed to be simplified from HTML</error>"
_NO_MORE = "<error>No more content available.</error>"
_CUT = "\n\n<error>Content truncated. Call the fetch tool with a start_index of "
_RAW = re.compile(
    r"Content type (.*) cannot be simplified to markdown, but here is the raw content:\nContents of (.*):\n(.*)",
    re.DOTALL,
)
_SIMPLE = re.compile(r"Contents of (.*):\n(.*)", re.DOTALL)
_STATUS = re.compile(r"Error executing tool fetch: Failed to fetch (\S+) - status code (\d{3})")
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 20


class FetchKernel(PythonServer):
    """The declared pages, and what was seen of others.

    Args:
        declared: What the world says.
    """

    kind = "fetch"
    models: ClassVar[Mapping[str, type[BaseModel]]] = {
        "fetch": create_model(
            "fetchArguments",
            url=(AnyUrl, ...),
            max_length=(Annotated[int, Field(ge=1, le=999999, strict=True)], 5000),
            start_index=(Annotated[int, Field(ge=0, strict=True)], 0),
            raw=(Annotated[bool, Field(strict=True)], False),
        )
    }

    def __init__(self, declared: FetchServer | None = None) -> None:
        declared = declared or FetchServer(kind="fetch")
        self._port, self._whole, self._robots = declared.port, declared.complete, not declared.ignore_robots
        self._pages: Mapping[str, Page] = dict(declared.pages)
        self._texts: Mapping[str, str] = {}
        """Simplified pages as they were seen, by path."""

    # --- calls

    def run(self, tool: str, value: Any) -> str:
        """Fetch a page."""
        url = str(value.url)
        try:
            if self._robots:
                self._ask_robots(url)
            place, page = self._get(url)
            content, prefix = self._content(place, page, value.raw)
        except _Guess as guess:
            text = guess.text if guess.failed else _shown(url, value, *guess.page)
            raise Unsure(guess.why, text, failed=guess.failed) from guess
        return _shown(url, value, content, prefix)

    def _get(self, url: str) -> tuple[str, Page]:
        """Follow redirects to a page.

        Raises:
            ToolFailed: Nothing can be fetched there.
        """
        target = _target(url)
        for _ in range(_MOST_REDIRECTS + 1):
            place = self._place(url, target)
            page = self._page(place, url)
            if page.status not in _REDIRECTS or not page.location:
                if page.status >= 400:
                    raise ToolFailed(f"Failed to fetch {url} - status code {page.status}")
                return place, page
            target = _target(page.location, target)
            if self._robots:
                self._ask_robots(str(target))
        raise ToolFailed(f"Failed to fetch {url}: TooManyRedirects('Exceeded maximum allowed redirects.')")

    def _page(self, place: str, url: str) -> Page:
        page = self._pages.get(place)
        if page is not None:
            return page
        if not self._whole and place not in self._texts:
            text = f"Failed to fetch {url} - status code 404"
            raise _Guess(f"it is not known whether there is a page {place}", text, failed=True)
        return Page(status=200 if place in self._texts else 404)

    def _place(self, url: str, target: httpx.URL) -> str:
        """Path and query that the declared web server is asked for."""
        scheme = target.scheme
        if scheme not in ("http", "https"):
            what = (
                f"has an unsupported protocol '{scheme}://'."
                if target.host
                else ("is missing an 'http://' or 'https://' protocol.")
            )
            raise ToolFailed(f"Failed to fetch {url}: UnsupportedProtocol({f'Request URL {what}'!r})")
        error = _unreachable(target.host)
        if not error and (target.port or (443 if scheme == "https" else 80)) != self._port:
            error = "All connection attempts failed"
        if error:
            raise ToolFailed(f"Failed to fetch {url}: ConnectError({error!r})")
        if scheme == "https":
            text = (
                f"Failed to fetch {url}: ConnectError('[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:992)')"
            )
            raise _Guess("the words of another library", text, failed=True)
        return target.raw_path.decode("ascii")

    def _ask_robots(self, url: str) -> None:
        parts = urlsplit(url)
        robots = urlunsplit((parts.scheme, parts.netloc, "/robots.txt", "", ""))
        try:
            place = self._place(robots, _target(robots))
        except ToolFailed as failure:
            raise ToolFailed(f"Failed to fetch robots.txt {robots} due to a connection issue") from failure
        page = self._page(place, url)
        if page.status in _REDIRECTS:
            raise _Guess("robots.txt lies elsewhere")
        refusal = robots_refusal(robots, url, page.status, _decoded(page))
        if refusal is None:
            raise _Guess("this form of robots.txt is not simulated")
        if refusal:
            raise ToolFailed(refusal)

    def _content(self, place: str, page: Page, raw: bool) -> tuple[str, str]:
        """Content of a page and what is said before it."""
        if place not in self._pages:
            if raw:
                raise _Guess("only the simplified page was seen")
            return self._texts[place], ""
        text, kind = _decoded(page), page.content_type
        if raw or not ("<html" in text[:100] or "text/html" in kind or not kind):
            return text, f"Content type {kind} cannot be simplified to markdown, but here is the raw content:\n"
        if place in self._texts:
            return self._texts[place], ""
        try:
            simple = markdown(simplified(text))
        except Unsure as unsure:
            raise _Guess(str(unsure), page=(re.sub(r"<[^>]*>", "", text).strip(), "")) from unsure
        return simple if simple.strip() else _FAILED, ""

    # --- following reality

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take a page from an answer that shows it whole."""
        try:
            value: Any = self.checked(tool, arguments) if tool in self.models else None
        except ValidationError:
            return
        if value is None:
            return
        try:
            target = _target(str(value.url))
        except _Guess:
            return
        if target.scheme != "http" or target.port != self._port or _unreachable(target.host):
            return
        place, text = target.raw_path.decode("ascii"), observation.text
        status = _STATUS.fullmatch(text)
        if status is not None:
            self._pages = {**self._pages, place: Page(status=int(status[2]))}
            return
        if observation.is_error or value.start_index or _CUT in text:
            return
        raw, simple = _RAW.fullmatch(text), _SIMPLE.fullmatch(text)
        if raw is not None:
            self._pages = {**self._pages, place: Page(body=raw[3], content_type=raw[1])}
        elif simple is not None:
            self._texts = {**self._texts, place: simple[2]}

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The page that would be read."""
        try:
            value: Any = self.checked(tool, arguments) if tool in self.models else None
            if value is None:
                return {}
            place, page = self._get(str(value.url))
        except ValidationError:
            return {}
        except ToolFailed as failure:
            return {"page": f"refused {failure}"}
        except _Guess:
            return {"page": "unknown"}
        return {"page": content_id([page.model_dump(mode="json"), self._texts.get(place, "")])}

    # --- copies

    def fork(self) -> FetchKernel:
        """Share the pages, which are never changed in place."""
        twin = object.__new__(FetchKernel)
        twin._port, twin._whole, twin._robots = self._port, self._whole, self._robots
        twin._pages, twin._texts = self._pages, self._texts
        return twin

    def dump(self) -> JsonDict:
        """Return the pages."""
        pages = {path: page.model_dump(mode="json") for path, page in self._pages.items()}
        return {"pages": pages, "texts": dict(self._texts)}

    def load(self, data: JsonDict) -> None:
        """Take pages."""
        try:
            self._pages = {str(path): Page.model_validate(page) for path, page in data["pages"].items()}
            self._texts = {str(path): str(text) for path, text in data["texts"].items()}
        except (KeyError, AttributeError, ValidationError) as exc:
            raise KernelError("damaged state of a fetch server") from exc

    def describe(self) -> JsonDict:
        """Paths of the pages."""
        shown = {path: page.status for path, page in list(self._pages.items())[:50]}
        return {"port": self._port, "pages": shown, "complete": self._whole}

    def close(self) -> None:
        """Nothing to free."""


class _Guess(Exception):
    """The answer is not known; the likeliest one is a text or a page."""

    def __init__(self, why: str, text: str = "", *, failed: bool = False, page: tuple[str, str] = ("", "")) -> None:
        super().__init__(why)
        self.why, self.text, self.failed, self.page = why, text, failed, page


def _decoded(page: Page) -> str:
    found = re.search(r"charset=[\"']?([\w.:-]+)", page.content_type, re.I)
    name = found[1] if found is not None else "utf-8"
    data = page.body.encode()
    try:
        return data.decode(name, "replace")
    except (LookupError, UnicodeError):  # no such encoding, or one that is not of texts
        return data.decode("utf-8", "replace")


def _target(url: str, base: httpx.URL | None = None) -> httpx.URL:
    """Read an address, or one relative to another.

    Raises:
        _Guess: No request can be made of it (too long, for instance).
    """
    try:
        return base.join(url) if base is not None else httpx.URL(url)
    except httpx.InvalidURL as exc:
        raise _Guess(f"the words of another library: {exc}", failed=True) from exc


def _unreachable(host: str) -> str:
    """Why a host cannot be reached; empty for the loopback."""
    if host == "localhost":
        return ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "[Errno -3] Temporary failure in name resolution"
    near = address.is_loopback or address.is_unspecified
    return "" if near and address.version == 4 else "All connection attempts failed"


def _shown(url: str, value: Any, content: str, prefix: str) -> str:
    """What is asked for of a content."""
    start, most = value.start_index, value.max_length
    if start >= len(content):
        return f"{prefix}Contents of {url}:\n{_NO_MORE}"
    piece = content[start : start + most]
    left = len(content) - start - len(piece)
    if len(piece) == most and left > 0:
        piece += f"{_CUT}{start + len(piece)} to get more content.</error>"
    return f"{prefix}Contents of {url}:\n{piece}"
