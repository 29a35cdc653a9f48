"""Questions that programs ask before they overwrite or remove (`-i`), answered from standard input."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.shared.messages import Report

__all__ = ["Answers"]


class Answers:
    """Reads one line of standard input per question; at its end the answer is no."""

    def __init__(self, call: Call, report: Report) -> None:
        self._lines = (call.stdin or "").split("\n")
        self._report = report

    def yes(self, question: str) -> bool:
        """Ask on stderr and return whether the answer starts with `y`."""
        return self.asked(f"{self._report.name}: {question}? ")

    def asked(self, prompt: str) -> bool:
        """Write a prompt to stderr and return whether the answer starts with `y`."""
        self._report.raw_err(prompt)
        answer = self._lines.pop(0) if self._lines else ""
        return answer[:1] in ("y", "Y")
