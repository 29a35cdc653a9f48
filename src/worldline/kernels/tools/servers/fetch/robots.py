"""What `robots.txt` lets the fetch server read, for plain files of rules."""

from __future__ import annotations

import re

import httpx

__all__ = ["robots_refusal"]

_AGENT = "ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)"


def robots_refusal(robots: str, url: str, status: int, text: str) -> str | None:
    """Return why a page may not be read: empty where it may, None where the rules are not simulated.

    Args:
        robots: URL of the file.
        url: URL of the page.
        status: What the web server answered for the file.
        text: Content of the file.
    """
    if status in (401, 403):
        return (
            f"When fetching robots.txt ({robots}), received status {status} so assuming that autonomous fetching is "
            "not allowed, the user can try manually fetching by using the fetch prompt"
        )
    if 400 <= status < 500:
        return ""
    allowed = _allows(text, url)
    if allowed is None or allowed:
        return None if allowed is None else ""
    return (
        f"The sites robots.txt ({robots}), specifies that autonomous fetching of this page is not allowed, "
        f"<useragent>{_AGENT}</useragent>\n<url>{url}</url><robots>\n{text}\n</robots>\n"
        "The assistant must let the user know that it failed to view the page. The assistant may provide further "
        "guidance based on the above information.\nThe assistant can tell the user that they can try manually fetching "
        "the page by using the fetch prompt within their UI."
    )


def _allows(text: str, url: str) -> bool | None:
    """Whether the rules for everybody allow a page."""
    rules: list[tuple[str, bool]] = []
    ours, started = False, False
    for line in text.splitlines():
        if not line.strip() or line.strip().startswith("#"):
            continue
        found = re.fullmatch(r"\s*([A-Za-z-]+)\s*:\s*([^#]*?)\s*(?:#.*)?", line)
        if found is None:
            return None
        key, value = found[1].lower(), found[2]
        if key == "user-agent":
            if value.lower() in "modelcontextprotocol" and value:
                return None
            ours = (ours and not started) or value == "*"
            started = False
        elif key in ("allow", "disallow"):
            started = True
            if re.search(r"[*$%]", value):
                return None
            if ours and value:
                rules.append((value, key == "allow"))
    path = httpx.URL(url).raw_path.decode("ascii")
    matching = [(len(rule), allow) for rule, allow in rules if path.startswith(rule)]
    return max(matching)[1] if matching else True
