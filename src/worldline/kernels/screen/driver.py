"""The terminal driver in its own line mode: what a program that reads plain lines leaves to the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.domains.terminal.ps1 import width

__all__ = ["LineDriver", "echoed"]


def echoed(text: str) -> str:
    """Text as the driver shows it: control characters by their names."""
    return "".join(
        "\r\n" if c == "\n" else f"^{chr(ord(c) ^ 64)}" if (c < " " and c != "\t") or c == "\x7f" else c for c in text
    )


@dataclass(slots=True)
class LineDriver:
    """A line that is being typed, not yet given to anybody."""

    text: str = ""
    pushed: str = ""
    """What was typed before while a line editor read: it begins the next line, its Enters as they came."""
    literal: bool = False
    """C-v was pressed: the next key stands for itself."""
    tabbed: bool = False
    """The line holds a tab, whose width on the screen depends on where it stands."""

    def key(self, key: str) -> tuple[str, str | None]:
        """Take a character; return what is shown, and the line if the key ended it.

        The line is without its newline.
        """
        if self.literal:
            self.literal = False
            self.text += key
            return echoed(key), None
        if key in ("\r", "\n"):
            line, self.text, self.pushed = self.pushed + self.text, "", ""
            return "\r\n", line
        if key in ("\x7f", "\x08") and (key == "\x7f"):
            return self._erase(1), None
        if key == "\x15":
            return self._erase(len(self.text)), None
        if key == "\x17":
            kept = self.text.rstrip(" \t")
            while kept and (kept[-1].isalnum() or kept[-1] == "_"):
                kept = kept[:-1]
            count = len(self.text) - len(kept)
            return self._erase(max(count, 1 if self.text else 0)), None
        if key == "\x16":
            self.literal = True
            return "^\b", None
        if key == "\x12":
            return f"^R\r\n{echoed(self.text)}", None
        self.text += key
        self.tabbed |= key == "\t"
        return echoed(key), None

    def _erase(self, count: int) -> str:
        out = ""
        for _ in range(min(count, len(self.text))):
            letter, self.text = self.text[-1], self.text[:-1]
            out += "\b \b" * (2 if letter < " " and letter != "\t" else max(1, width(letter)))
        return out
